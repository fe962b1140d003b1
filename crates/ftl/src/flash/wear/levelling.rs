//! Static wear levelling: moves cold data off a block that hardly wears.
//!
//! After L.-P. Chang, "On efficient wear leveling for large-scale flash-memory storage systems", SAC 2007: when erase
//! counts differ by more than a threshold, the hardly worn block's data go to the most worn one. The paper's pools
//! remember cold blocks. Here a block is cold that has stayed closed for long. Collections in between bound the rate.

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, Plane};

use super::WearConfig;
use crate::flash::block_table::{BlockState, BlockTable};

#[derive(Clone)]
pub(crate) struct Levelling {
    threshold: u32,
    every: u32,
    collected: By<Plane, Vec<u32>>,
    closes: By<Plane, Vec<u32>>,
    /// How many its plane had closed when each block was closed.
    closed_at: By<Block, Vec<u32>>,
}

impl Levelling {
    pub(crate) fn new(config: &WearConfig, geometry: &Geometry) -> Self {
        let planes = geometry.planes() as usize;
        Self {
            threshold: config.threshold,
            every: config.every,
            collected: By::new(vec![0; planes]),
            closes: By::new(vec![0; planes]),
            closed_at: By::new(vec![0; geometry.block_index_len()]),
        }
    }

    pub(crate) fn closed(&mut self, plane: Plane, block: Block) {
        let closes = &mut self.closes[plane];
        *closes = closes.wrapping_add(1);
        self.closed_at[block] = *closes;
    }

    pub(crate) fn collected(&mut self, plane: Plane) {
        self.collected[plane] += 1;
    }

    pub(crate) fn moved(&mut self, plane: Plane) {
        self.collected[plane] = 0;
    }

    /// The block of a plane whose data are to be moved now: erased more than `threshold` times less often than the most
    /// worn one, with cold data. Cold: since it was closed the plane has closed as many blocks as it has, so collection
    /// would have taken it had it lost its pages. (The block last moved off is also little worn, but not cold.) Of
    /// several the one closed first. Costs a pass over the plane, once in `every` collections.
    pub(crate) fn due(&self, plane: Plane, table: &BlockTable, geometry: &Geometry) -> Option<Block> {
        if self.collected[plane] < self.every {
            return None;
        }
        let blocks = || (0..geometry.blocks_per_plane).map(|block| geometry.block_index_of(plane, block));
        let most = blocks().map(|block| table.erases(block)).max()?;
        let age = |block: Block| self.closes[plane].wrapping_sub(self.closed_at[block]);
        blocks()
            .filter(|&block| table.state(block) == BlockState::Closed)
            .filter(|&block| most - table.erases(block) > self.threshold)
            .filter(|&block| age(block) >= geometry.blocks_per_plane)
            .max_by_key(|&block| (age(block), std::cmp::Reverse(block)))
    }

    pub(crate) fn bytes(&self, opened: u64) -> u64 {
        8 * self.closes.len() as u64 + 4 * opened
    }
}

flashtwin_bits::state!(Levelling { collected, closes, closed_at } kept { threshold, every });
