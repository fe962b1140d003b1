//! The block with the fewest valid pages of some drawn at random. B. Van Houdt, "A mean field model for a class of
//! garbage collection algorithms in flash-based solid state drives", SIGMETRICS 2013. One choice is random collection.

use flashtwin_nand::{Block, Geometry, Plane};

use super::VictimSelection;
use super::closed_set::ClosedSet;
use crate::flash::block_table::BlockTable;
use crate::rng::Rng;

#[derive(Clone)]
pub(super) struct DChoices {
    closed: ClosedSet,
    choices: u32,
    pages_per_block: u32,
    rng: Rng,
}

impl DChoices {
    pub(super) fn new(geometry: &Geometry, choices: u32, seed: u64) -> Self {
        Self {
            closed: ClosedSet::new(geometry),
            choices,
            pages_per_block: geometry.pages_per_block,
            rng: Rng::stream(seed, "victim"),
        }
    }
}

impl VictimSelection for DChoices {
    fn closed(&mut self, block: Block, _valid: u32) {
        self.closed.add(block);
    }

    fn invalidated(&mut self, _block: Block, _valid: u32) {}

    fn withdrawn(&mut self, block: Block, _valid: u32) {
        self.closed.take(block);
    }

    /// Draws with replacement, of equals the first. Wholly valid blocks are no choice: if only such were drawn it tries
    /// again, and after as many tries as there are blocks takes the best of all.
    fn choose(&mut self, plane: Plane, blocks: &BlockTable) -> Option<Block> {
        let closed = self.closed.of(plane);
        let drawn = |rng: &mut Rng| closed[rng.below(closed.len() as u32) as usize];
        let tries = (0..closed.len()).find_map(|_| {
            let mut choices = (0..self.choices).map(|_| drawn(&mut self.rng));
            let best = fewest_valid(&mut choices, blocks)?;
            (blocks.valid(best) < self.pages_per_block).then_some(best)
        });
        let victim = tries.or_else(|| fewest_valid(&mut closed.iter().copied(), blocks))?;
        self.closed.take(victim);
        Some(victim)
    }
}

fn fewest_valid(candidates: &mut dyn Iterator<Item = Block>, blocks: &BlockTable) -> Option<Block> {
    candidates.min_by_key(|&block| blocks.valid(block))
}

flashtwin_bits::state!(DChoices { closed, rng } kept { choices, pages_per_block });
