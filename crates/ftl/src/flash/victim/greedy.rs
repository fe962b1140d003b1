//! The block with the fewest valid pages, in constant time.

use flashtwin_nand::Geometry;

use super::VictimSelection;
use crate::flash::blocks::{BlockTable, State};

const NONE: u32 = 0;

/// Buckets of blocks by valid pages, one set a plane, as intrusive doubly linked lists.
///
/// A plane's buckets are filled when it first collects: a device that never runs short of
/// free blocks pays nothing for them. Links are stored plus one, so that zeroed memory
/// (which the system hands out untouched) means "no block".
pub(super) struct Greedy {
    geometry: Geometry,
    armed: Vec<bool>,
    /// Lowest valid count whose bucket may be occupied, per plane.
    lowest: Vec<u32>,
    heads: Vec<u32>,
    tails: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Greedy {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let planes = geometry.planes() as usize;
        let buckets = planes * (geometry.pages_per_block as usize + 1);
        Self {
            armed: vec![false; planes],
            lowest: vec![0; planes],
            heads: vec![NONE; buckets],
            tails: vec![NONE; buckets],
            next: vec![NONE; geometry.block_index_len()],
            previous: vec![NONE; geometry.block_index_len()],
            geometry: geometry.clone(),
        }
    }

    fn bucket(&self, plane: u32, valid: u32) -> usize {
        plane as usize * (self.geometry.pages_per_block as usize + 1) + valid as usize
    }

    fn push(&mut self, plane: u32, block: u32, valid: u32) {
        let bucket = self.bucket(plane, valid);
        let tail = self.tails[bucket];
        self.previous[block as usize] = tail;
        self.next[block as usize] = NONE;
        if tail == NONE {
            self.heads[bucket] = block + 1;
        } else {
            self.next[tail as usize - 1] = block + 1;
        }
        self.tails[bucket] = block + 1;
        let lowest = &mut self.lowest[plane as usize];
        *lowest = (*lowest).min(valid);
    }

    fn unlink(&mut self, plane: u32, block: u32, valid: u32) {
        let bucket = self.bucket(plane, valid);
        let (previous, next) = (self.previous[block as usize], self.next[block as usize]);
        if previous == NONE {
            self.heads[bucket] = next;
        } else {
            self.next[previous as usize - 1] = next;
        }
        if next == NONE {
            self.tails[bucket] = previous;
        } else {
            self.previous[next as usize - 1] = previous;
        }
    }

    fn arm(&mut self, plane: u32, blocks: &BlockTable) {
        self.armed[plane as usize] = true;
        for block in 0..self.geometry.blocks_per_plane {
            let index = self.geometry.block_index_of(plane, block);
            if blocks.state(index) == State::Closed {
                self.push(plane, index, blocks.valid(index));
            }
        }
    }
}

impl VictimSelection for Greedy {
    #[inline]
    fn closed(&mut self, block: u32, valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        if self.armed[plane as usize] {
            self.push(plane, block, valid);
        }
    }

    #[inline]
    fn invalidated(&mut self, block: u32, valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        if self.armed[plane as usize] {
            self.unlink(plane, block, valid + 1);
            self.push(plane, block, valid);
        }
    }

    fn withdrawn(&mut self, block: u32, valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        if self.armed[plane as usize] {
            self.unlink(plane, block, valid);
        }
    }

    fn choose(&mut self, plane: u32, blocks: &BlockTable) -> Option<u32> {
        if !self.armed[plane as usize] {
            self.arm(plane, blocks);
        }
        for valid in self.lowest[plane as usize]..=self.geometry.pages_per_block {
            let head = self.heads[self.bucket(plane, valid)];
            if head != NONE {
                self.lowest[plane as usize] = valid;
                self.unlink(plane, head - 1, valid);
                return Some(head - 1);
            }
        }
        None
    }
}
