//! Cost-benefit: the space gained times its expected life, over the cost of the collection.
//!
//! M. Rosenblum, J. Ousterhout, ACM TOCS 1992, section 3.5; for flash with two transfers a valid page: A. Kawaguchi et
//! al., USENIX 1995: benefit / cost = age x (1 - u) / (2 u), u being the share of valid pages.

use std::cmp::Ordering;

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, Plane};

use super::VictimSelection;
use super::closed_set::ClosedSet;
use crate::flash::block_table::BlockTable;

/// Age is the number of blocks that the plane has closed since this one changed: the controller has no clock.
#[derive(Clone)]
pub(super) struct CostBenefit {
    geometry: Geometry,
    closed: ClosedSet,
    now: By<Plane, Vec<u64>>,
    /// When each block was closed or lost a page last.
    changed: By<Block, Vec<u64>>,
}

impl CostBenefit {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            closed: ClosedSet::new(geometry),
            now: By::new(vec![0; geometry.planes() as usize]),
            changed: By::new(vec![0; geometry.block_index_len()]),
            geometry: geometry.clone(),
        }
    }

    fn now(&mut self, block: Block) -> &mut u64 {
        &mut self.now[self.geometry.plane_of_block(block)]
    }
}

impl VictimSelection for CostBenefit {
    fn closed(&mut self, block: Block, _valid: u32) {
        *self.now(block) += 1;
        self.changed[block] = *self.now(block);
        self.closed.add(block);
    }

    fn invalidated(&mut self, block: Block, _valid: u32) {
        self.changed[block] = *self.now(block);
    }

    fn withdrawn(&mut self, block: Block, _valid: u32) {
        self.closed.take(block);
    }

    /// Walks through the plane's closed blocks. Of equals the one that changed first.
    fn choose(&mut self, plane: Plane, blocks: &BlockTable) -> Option<Block> {
        let pages = u128::from(self.geometry.pages_per_block);
        let now = self.now[plane];
        let candidate = |&block: &Block| {
            let valid = u128::from(blocks.valid(block));
            // + 1: also the block that was closed last has an age.
            let age = u128::from(now - self.changed[block] + 1);
            (age * (pages - valid), valid, self.changed[block], block)
        };
        // a / (2 u) < b / (2 v) without a division: cross-multiplied. No valid page: free of cost.
        let better = |a: &(u128, u128, u64, Block), b: &(u128, u128, u64, Block)| {
            let benefit = match (a.1, b.1) {
                (0, 0) => Ordering::Equal,
                _ => (a.0 * b.1).cmp(&(b.0 * a.1)),
            };
            benefit.then(b.2.cmp(&a.2)).then(b.3.cmp(&a.3))
        };
        let victim = self.closed.of(plane).iter().map(candidate).max_by(better)?.3;
        self.closed.take(victim);
        Some(victim)
    }
}

flashtwin_bits::state!(CostBenefit { closed, now, changed } kept { geometry });
