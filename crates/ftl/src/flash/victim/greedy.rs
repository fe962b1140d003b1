//! The block with the fewest valid pages, in constant time.

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, Plane};

use super::VictimSelection;
use crate::flash::block_table::{BlockState, BlockTable};

const NONE: u32 = 0;

/// How a block is stored as a link.
#[inline]
fn link(block: Block) -> u32 {
    block.number() + 1
}

/// The block that a link names.
#[inline]
fn named(link: u32) -> Option<Block> {
    link.checked_sub(1).map(Block::new)
}

/// Buckets of blocks by valid pages, one set a plane, as intrusive doubly linked lists.
///
/// A plane's buckets are filled when it first collects: a device that never runs short of
/// free blocks pays nothing for them. Links are stored plus one, so that zeroed memory
/// (which the system hands out untouched) means "no block".
pub(super) struct Greedy {
    geometry: Geometry,
    armed: By<Plane, Vec<bool>>,
    /// Lowest valid count whose bucket may be occupied, per plane.
    lowest: By<Plane, Vec<u32>>,
    heads: Vec<u32>,
    tails: Vec<u32>,
    next: By<Block, Vec<u32>>,
    previous: By<Block, Vec<u32>>,
}

impl Greedy {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let planes = geometry.planes() as usize;
        let buckets = planes * (geometry.pages_per_block as usize + 1);
        Self {
            armed: By::new(vec![false; planes]),
            lowest: By::new(vec![0; planes]),
            heads: vec![NONE; buckets],
            tails: vec![NONE; buckets],
            next: By::new(vec![NONE; geometry.block_index_len()]),
            previous: By::new(vec![NONE; geometry.block_index_len()]),
            geometry: geometry.clone(),
        }
    }

    fn bucket(&self, plane: Plane, valid: u32) -> usize {
        plane.index() * (self.geometry.pages_per_block as usize + 1) + valid as usize
    }

    fn push(&mut self, plane: Plane, block: Block, valid: u32) {
        let bucket = self.bucket(plane, valid);
        let tail = self.tails[bucket];
        self.previous[block] = tail;
        self.next[block] = NONE;
        match named(tail) {
            None => self.heads[bucket] = link(block),
            Some(tail) => self.next[tail] = link(block),
        }
        self.tails[bucket] = link(block);
        let lowest = &mut self.lowest[plane];
        *lowest = (*lowest).min(valid);
    }

    fn unlink(&mut self, plane: Plane, block: Block, valid: u32) {
        let bucket = self.bucket(plane, valid);
        let (previous, next) = (self.previous[block], self.next[block]);
        match named(previous) {
            None => self.heads[bucket] = next,
            Some(previous) => self.next[previous] = next,
        }
        match named(next) {
            None => self.tails[bucket] = previous,
            Some(next) => self.previous[next] = previous,
        }
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
            if let Some(head) = named(self.heads[self.bucket(plane, valid)]) {
                self.lowest[plane] = valid;
                self.unlink(plane, head, valid);
                return Some(head);
            }
        }
        None
    }
}

flashtwin_bits::state!(Greedy { armed, lowest, heads, tails, next, previous } kept { geometry });
