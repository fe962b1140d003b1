//! Pending work of each block, and the life (erase count) that the flash is in.

use flashtwin_bits::{By, HugeSlice};
use flashtwin_nand::Block;

/// A word a block: pending reads in the lowest bits, pending erases, erases carried out (may wrap: only compared).
#[derive(Clone)]
pub(crate) struct BlockStates {
    words: By<Block, HugeSlice<u64>>,
}

const READS: u64 = (1 << 24) - 1;
const ERASE: u64 = 1 << 24;
const DONE: u64 = 1 << 44;
const LIVES: u32 = (1 << 20) - 1;

impl BlockStates {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { words: By::new(HugeSlice::zeroed(blocks)) }
    }

    #[inline]
    pub(crate) fn prefetch(&self, block: Block) {
        self.words.prefetch(block);
    }

    #[inline]
    pub(crate) fn read_begins(&mut self, block: Block) {
        self.words[block] += 1;
    }

    #[inline]
    pub(crate) fn read_ends(&mut self, block: Block) {
        self.words[block] -= 1;
    }

    #[inline]
    pub(crate) fn has_reads(&self, block: Block) -> bool {
        self.words[block] & READS != 0
    }

    #[inline]
    pub(crate) fn erase_decided(&mut self, block: Block) {
        self.words[block] += ERASE;
    }

    #[inline]
    pub(crate) fn erased(&mut self, block: Block) {
        let word = &mut self.words[block];
        *word = word.wrapping_add(DONE) - ERASE;
    }

    fn pending_erases(&self, block: Block) -> u32 {
        (self.words[block] >> 24) as u32 & LIVES
    }

    /// Whether the block's data are obsolete, because its tables describe the data after the erase.
    #[inline]
    pub(crate) fn erase_is_pending(&self, block: Block) -> bool {
        self.pending_erases(block) != 0
    }

    #[inline]
    pub(crate) fn life(&self, block: Block) -> u32 {
        (self.words[block] >> 44) as u32
    }

    pub(crate) fn later(&self, life: u32, erases: u32) -> u32 {
        (life + erases) & LIVES
    }

    /// The life that the tables are in: new decisions belong to it.
    #[inline]
    pub(crate) fn decided_life(&self, block: Block) -> u32 {
        (self.life(block) + self.pending_erases(block)) & LIVES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_knows_its_reads_its_lives_and_the_erases_to_come() {
        let mut states = BlockStates::new(2);
        let [first, second] = [Block::new(0), Block::new(1)];
        states.read_begins(first);
        states.read_begins(first);
        states.read_ends(first);
        assert_eq!([first, second].map(|block| states.has_reads(block)), [true, false]);
        states.read_ends(first);
        assert!(!states.has_reads(first));
        states.erase_decided(second);
        states.erase_decided(second);
        assert_eq!([first, second].map(|block| states.erase_is_pending(block)), [false, true]);
        assert_eq!((states.life(second), states.decided_life(second)), (0, 2));
        states.erased(second);
        assert_eq!((states.life(second), states.decided_life(second)), (1, 2));
        states.erased(second);
        assert!(!states.erase_is_pending(second));
        assert_eq!((states.later(2, 3), states.later(LIVES, 1)), (5, 0));
    }
}
