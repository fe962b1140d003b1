//! The victim: the closed block with the fewest valid pages; among equals, the one closed first. Only blocks with few
//! valid pages are kept in order. When none or too many are left, a scan of every block adds or removes some, but
//! seldom.

use super::min_set::MinSet;

/// Set in the count of valid pages of a block that is not closed: it is then above every limit.
const NOT_CLOSED: u16 = 1 << 15;
pub(super) const BLOCK_PAGES_MAX: u32 = NOT_CLOSED as u32 - 1;
const NONE: u32 = u32::MAX;
/// One block in 32 is kept in order, and at least [`ORDERED_LEAST`].
const BLOCKS_TO_ORDERED: usize = 32;
const ORDERED_LEAST: usize = 64;

pub(super) struct Victims {
    block_pages: u16,
    valid: Vec<u16>,
    place: Vec<u32>,
    block_at: Vec<u32>,
    next_place: u32,
    place_bits: u32,
    /// Closed blocks with fewer valid pages than this are in `ordered`.
    limit: u16,
    /// By valid pages, then place.
    ordered: MinSet,
    ordered_blocks: usize,
    /// With more, the limit is lowered.
    ordered_most: usize,
}

impl Victims {
    pub(super) fn new(blocks: u32, block_pages: u32) -> Victims {
        // Places run out after as many closings as there are blocks, at the earliest.
        let place_bits = (2 * u64::from(blocks)).next_power_of_two().ilog2();
        Victims {
            block_pages: block_pages as u16,
            valid: vec![NOT_CLOSED; blocks as usize],
            place: vec![NONE; blocks as usize],
            block_at: vec![NONE; 1 << place_bits],
            next_place: 0,
            place_bits,
            limit: 0,
            ordered: MinSet::new((block_pages as usize + 1) << place_bits),
            ordered_blocks: 0,
            ordered_most: 0,
        }
    }

    /// `None` unless closed.
    pub(super) fn valid(&self, block: u32) -> Option<u32> {
        self.valid.get(block as usize).filter(|&&valid| valid & NOT_CLOSED == 0).map(|&valid| valid.into())
    }

    /// All of its pages count as valid from now on, because its count is not used before all are written.
    pub(super) fn open(&mut self, block: u32) {
        self.valid[block as usize] = NOT_CLOSED | self.block_pages;
    }

    pub(super) fn close(&mut self, block: u32) {
        if self.next_place as usize == self.block_at.len() {
            self.close_ranks();
        }
        self.place[block as usize] = self.next_place;
        self.block_at[self.next_place as usize] = block;
        self.next_place += 1;
        self.valid[block as usize] &= !NOT_CLOSED;
        let valid = self.valid[block as usize];
        if valid < self.limit {
            self.insert(block, valid);
        }
    }

    #[inline(always)]
    pub(super) fn invalidate(&mut self, block: u32) {
        let valid = &mut self.valid[block as usize];
        *valid -= 1;
        let valid = *valid;
        if valid < self.limit {
            self.sink(block, valid);
        }
    }

    /// The block and its valid pages.
    pub(super) fn take(&mut self) -> Option<(u32, u32)> {
        if self.ordered_blocks == 0 {
            self.choose_limit();
        }
        let key = self.ordered.first()?;
        let place = key & ((1 << self.place_bits) - 1);
        let block = self.block_at[place];
        self.ordered.remove(key);
        self.ordered_blocks -= 1;
        self.block_at[place] = NONE;
        self.valid[block as usize] |= NOT_CLOSED;
        Some((block, (key >> self.place_bits) as u32))
    }

    fn key(&self, block: u32, valid: u16) -> usize {
        usize::from(valid) << self.place_bits | self.place[block as usize] as usize
    }

    fn insert(&mut self, block: u32, valid: u16) {
        self.ordered.insert(self.key(block, valid));
        self.ordered_blocks += 1;
        if self.ordered_blocks > self.ordered_most {
            self.choose_limit();
        }
    }

    fn sink(&mut self, block: u32, valid: u16) {
        if valid + 1 < self.limit {
            self.ordered.remove(self.key(block, valid + 1));
            self.ordered.insert(self.key(block, valid));
        } else {
            self.insert(block, valid);
        }
    }

    fn choose_limit(&mut self) {
        self.forget();
        let closed = || self.valid.iter().filter(|&&valid| valid & NOT_CLOSED == 0);
        let mut blocks = vec![0usize; usize::from(self.block_pages) + 1];
        closed().for_each(|&valid| blocks[usize::from(valid)] += 1);
        let wanted = (self.valid.len() / BLOCKS_TO_ORDERED).max(ORDERED_LEAST);
        let mut ordered = 0;
        let enough = blocks.iter().position(|blocks| {
            ordered += blocks;
            ordered >= wanted
        });
        self.limit = enough.map_or(self.block_pages, |level| level as u16) + 1;
        self.ordered_most = 4 * wanted + ordered;
        self.remember();
    }

    fn forget(&mut self) {
        while let Some(key) = self.ordered.first() {
            self.ordered.remove(key);
        }
        self.ordered_blocks = 0;
    }

    fn remember(&mut self) {
        for block in 0..self.valid.len() as u32 {
            let valid = self.valid[block as usize];
            if valid < self.limit {
                self.ordered.insert(self.key(block, valid));
                self.ordered_blocks += 1;
            }
        }
    }

    /// All places were used: closed blocks move up to the first ones, in the same order.
    fn close_ranks(&mut self) {
        self.forget();
        self.next_place = 0;
        for place in 0..self.block_at.len() {
            let block = std::mem::replace(&mut self.block_at[place], NONE);
            if block != NONE {
                self.place[block as usize] = self.next_place;
                self.block_at[self.next_place as usize] = block;
                self.next_place += 1;
            }
        }
        self.remember();
    }
}
