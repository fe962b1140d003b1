//! What is under way on each block: reads that an erase must wait for, and erases that were
//! decided but not carried out.

/// Packed in a word of zeroed memory a block: pending reads below, pending erases above.
#[derive(Debug)]
pub(crate) struct BlockStates {
    words: Vec<u32>,
}

const ERASE: u32 = 1 << 24;

impl BlockStates {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { words: vec![0; blocks] }
    }

    #[inline]
    pub(crate) fn read_begins(&mut self, block: u32) {
        self.words[block as usize] += 1;
    }

    #[inline]
    pub(crate) fn read_ends(&mut self, block: u32) {
        self.words[block as usize] -= 1;
    }

    #[inline]
    pub(crate) fn has_reads(&self, block: u32) -> bool {
        self.words[block as usize] & (ERASE - 1) != 0
    }

    #[inline]
    pub(crate) fn erase_decided(&mut self, block: u32) {
        self.words[block as usize] += ERASE;
    }

    #[inline]
    pub(crate) fn erased(&mut self, block: u32) {
        self.words[block as usize] -= ERASE;
    }

    /// Whether whatever the block still holds is of the past: its tables describe what will
    /// be there after the erase.
    #[inline]
    pub(crate) fn erase_is_pending(&self, block: u32) -> bool {
        self.words[block as usize] >= ERASE
    }
}
