//! The closed blocks of every plane, to be drawn from or walked through.

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, Plane};

const NOWHERE: u32 = u32::MAX;

/// Lists of blocks by plane. Changes take constant time, so the order of a list depends on its history.
#[derive(Clone)]
pub(super) struct ClosedSet {
    geometry: Geometry,
    blocks: By<Plane, Vec<Vec<Block>>>,
    place: By<Block, Vec<u32>>,
}

impl ClosedSet {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            blocks: By::new(vec![Vec::new(); geometry.planes() as usize]),
            place: By::new(vec![NOWHERE; geometry.block_index_len()]),
            geometry: geometry.clone(),
        }
    }

    pub(super) fn add(&mut self, block: Block) {
        let list = &mut self.blocks[self.geometry.plane_of_block(block)];
        self.place[block] = list.len() as u32;
        list.push(block);
    }

    pub(super) fn take(&mut self, block: Block) {
        let list = &mut self.blocks[self.geometry.plane_of_block(block)];
        let place = std::mem::replace(&mut self.place[block], NOWHERE) as usize;
        list.swap_remove(place);
        if let Some(&moved) = list.get(place) {
            self.place[moved] = place as u32;
        }
    }

    /// Closed blocks of a plane, in no particular but a reproducible order.
    pub(super) fn of(&self, plane: Plane) -> &[Block] {
        &self.blocks[plane]
    }
}

flashtwin_bits::state!(ClosedSet { blocks, place } kept { geometry });
