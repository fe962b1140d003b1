//! Counters of every block, in one word each.

use flashtwin_bits::{By, HugeSlice};
use flashtwin_nand::{Block, Geometry, Plane};

/// A block's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    Free,
    /// Taking the pages of a stream.
    Open,
    /// Programmed to its last page.
    Closed,
    /// Chosen as victim, not yet erased.
    Collecting,
}

/// Where a word's partition begins, and its erase count.
const PARTITION_AT: u32 = 34;
pub(super) const ERASES_AT: u32 = 40;

/// Stands for a partition where the pages of a block are not data.
pub(crate) const METADATA: u8 = 63;

/// A block in a word: valid pages (16 bits), written pages (16), state (2), partition (6), erases (24). So touching
/// a block costs one cache line, and an untouched one no memory.
#[derive(Clone, Copy)]
pub(super) struct Word(pub(super) u64);

impl Word {
    pub(super) fn valid(self) -> u32 {
        (self.0 & 0xffff) as u32
    }

    pub(super) fn written(self) -> u32 {
        (self.0 >> 16 & 0xffff) as u32
    }

    pub(super) fn state(self) -> BlockState {
        match self.0 >> 32 & 3 {
            0 => BlockState::Free,
            1 => BlockState::Open,
            2 => BlockState::Closed,
            _ => BlockState::Collecting,
        }
    }

    pub(super) fn partition(self) -> u8 {
        (self.0 >> PARTITION_AT & 63) as u8
    }

    pub(super) fn erases(self) -> u32 {
        (self.0 >> ERASES_AT) as u32
    }

    pub(super) fn with_state(self, state: BlockState) -> Self {
        Self(self.0 & !(3 << 32) | (state as u64) << 32)
    }
}

/// Every block's counts; indexed by [`Geometry::block_index`].
#[derive(Clone)]
pub struct BlockTable {
    pub(super) words: By<Block, HugeSlice<u64>>,
}

impl BlockTable {
    pub(super) fn word(&self, block: Block) -> Word {
        Word(self.words[block])
    }

    /// Valid pages.
    pub fn valid(&self, block: Block) -> u32 {
        self.word(block).valid()
    }

    /// Pages programmed since the last erase.
    pub fn written(&self, block: Block) -> u32 {
        self.word(block).written()
    }

    /// The state of a block.
    pub fn state(&self, block: Block) -> BlockState {
        self.word(block).state()
    }

    /// How often it was erased.
    pub fn erases(&self, block: Block) -> u32 {
        self.word(block).erases()
    }

    /// The partition to which the block's pages belong.
    pub fn partition(&self, block: Block) -> u8 {
        self.word(block).partition()
    }

    pub(super) fn set_state(&mut self, block: Block, state: BlockState) {
        self.words[block] = self.word(block).with_state(state).0;
    }

    pub(super) fn open(&mut self, block: Block, partition: u8) {
        self.words[block] =
            self.word(block).with_state(BlockState::Open).0 | u64::from(partition) << PARTITION_AT;
    }
}

flashtwin_bits::state!(BlockTable { words });

#[derive(Clone, Default)]
pub(super) struct Retirement {
    /// Blocks to be retired at their next erase.
    pub(super) due: Vec<Block>,
    pub(super) retired: Vec<Block>,
    /// Pages of valid data that the device must be able to hold.
    pub(super) needed_pages: u64,
}

impl Retirement {
    pub(super) fn pages_in(&self, plane: Plane, geometry: &Geometry) -> u32 {
        let blocks = self.retired.iter().filter(|&&block| geometry.plane_of_block(block) == plane).count();
        blocks as u32 * geometry.pages_per_block
    }
}
