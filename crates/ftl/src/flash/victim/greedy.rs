//! The block with the fewest valid pages, in constant time.

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, Plane};

use super::VictimSelection;
use crate::flash::block_table::{BlockState, BlockTable};
use crate::lists::Lists;

/// Buckets of blocks by valid pages, one set a plane. A plane's are filled when it first collects, so a device that
/// never runs short of free blocks pays nothing.
#[derive(Clone)]
pub(super) struct Greedy {
    geometry: Geometry,
    armed: By<Plane, Vec<bool>>,
    /// Lowest valid count whose bucket may be occupied, per plane.
    lowest: By<Plane, Vec<u32>>,
    buckets: Lists<Block>,
}

impl Greedy {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let planes = geometry.planes() as usize;
        let buckets = planes * (geometry.pages_per_block as usize + 1);
        Self {
            armed: By::new(vec![false; planes]),
            lowest: By::new(vec![0; planes]),
            buckets: Lists::new(geometry.block_index_len(), buckets),
            geometry: geometry.clone(),
        }
    }

    fn bucket(&self, plane: Plane, valid: u32) -> usize {
        plane.index() * (self.geometry.pages_per_block as usize + 1) + valid as usize
    }

    fn push(&mut self, plane: Plane, block: Block, valid: u32) {
        self.buckets.push(self.bucket(plane, valid), block);
        let lowest = &mut self.lowest[plane];
        *lowest = (*lowest).min(valid);
    }

    fn unlink(&mut self, plane: Plane, block: Block, valid: u32) {
        self.buckets.unlink(self.bucket(plane, valid), block);
    }

    fn arm(&mut self, plane: Plane, blocks: &BlockTable) {
        self.armed[plane] = true;
        for block in 0..self.geometry.blocks_per_plane {
            let index = self.geometry.block_index_of(plane, block);
            if blocks.state(index) == BlockState::Closed {
                self.push(plane, index, blocks.valid(index));
            }
        }
    }
}

impl VictimSelection for Greedy {
    #[inline]
    fn closed(&mut self, block: Block, valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        if self.armed[plane] {
            self.push(plane, block, valid);
        }
    }

    #[inline]
    fn invalidated(&mut self, block: Block, valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        if self.armed[plane] {
            self.unlink(plane, block, valid + 1);
            self.push(plane, block, valid);
        }
    }

    fn withdrawn(&mut self, block: Block, valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        if self.armed[plane] {
            self.unlink(plane, block, valid);
        }
    }

    fn choose(&mut self, plane: Plane, blocks: &BlockTable) -> Option<Block> {
        if !self.armed[plane] {
            self.arm(plane, blocks);
        }
        for valid in self.lowest[plane]..=self.geometry.pages_per_block {
            if let Some(oldest) = self.buckets.oldest(self.bucket(plane, valid)) {
                self.lowest[plane] = valid;
                self.unlink(plane, oldest, valid);
                return Some(oldest);
            }
        }
        None
    }
}

flashtwin_bits::state!(Greedy { armed, lowest, buckets } kept { geometry });
