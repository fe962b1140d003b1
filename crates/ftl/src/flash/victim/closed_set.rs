//! The closed blocks of every plane, to be drawn from or walked through.

use flashtwin_nand::Geometry;

const NOWHERE: u32 = u32::MAX;

/// A list of blocks a plane; a block is added and taken out in constant time, so the order of a list is
/// that of its history, not of anything in the blocks.
pub(super) struct ClosedSet {
    geometry: Geometry,
    blocks: Vec<Vec<u32>>,
    /// Where in its plane's list each block stands.
    place: Vec<u32>,
}

impl ClosedSet {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            blocks: vec![Vec::new(); geometry.planes() as usize],
            place: vec![NOWHERE; geometry.block_index_len()],
            geometry: geometry.clone(),
        }
    }

    pub(super) fn add(&mut self, block: u32) {
        let list = &mut self.blocks[self.geometry.plane_of_block(block) as usize];
        self.place[block as usize] = list.len() as u32;
        list.push(block);
    }

    pub(super) fn take(&mut self, block: u32) {
        let list = &mut self.blocks[self.geometry.plane_of_block(block) as usize];
        let place = std::mem::replace(&mut self.place[block as usize], NOWHERE) as usize;
        list.swap_remove(place);
        if let Some(&moved) = list.get(place) {
            self.place[moved as usize] = place as u32;
        }
    }

    /// Closed blocks of a plane, in no particular but a reproducible order.
    pub(super) fn of(&self, plane: u32) -> &[u32] {
        &self.blocks[plane as usize]
    }
}
