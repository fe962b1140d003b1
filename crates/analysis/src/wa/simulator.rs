//! WA-simulator: out-of-place updates and greedy garbage collection with partitions, nothing else.
//!
//! SWC paper, section 3.2, algorithms 1 and 2. Our choices where the algorithms leave one:
//!
//! * A block is active until it is full, so the block whose filling starts a collection may be its victim.
//! * Among blocks with equally few valid pages the one that became full first is the victim.
//! * Clean blocks are used in the order of their numbers: the active blocks, then the standby block.
//! * An active block that a copy fills exactly is full: another block takes its place at once.
//! * Every page programmed counts, those written back into their own block too (line 35).
//! * A victim that holds valid pages only ends the simulation. This cannot happen with at least as many
//!   over-provisioned blocks as partitions.

use thiserror::Error;

use super::victims::{BLOCK_PAGES_MAX, Victims};
use flashtwin_bits::prefetch_if_there as prefetch;

const NONE: u32 = u32::MAX;
/// In writes.
const AHEAD: usize = 16;
/// Bits of a validity word; no two blocks share a word.
const WORD_BITS: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaDevice {
    /// 1 to 32,767.
    pub block_pages: u32,
    /// At least one for each partition and a standby block.
    pub physical_blocks: u64,
    /// Of logical pages, 1 to 256.
    pub partitions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum WaError {
    #[error("a block of {0} pages: expected 1 to {BLOCK_PAGES_MAX}")]
    BlockPages(u32),
    #[error("{0} partitions: expected 1 to 256")]
    Partitions(u32),
    #[error(
        "{physical_blocks} physical blocks: {partitions} partitions and the standby block need {}",
        u64::from(*partitions) + 1
    )]
    TooFewBlocks { physical_blocks: u64, partitions: u32 },
    #[error("32 bits cannot number the pages")]
    TooManyPages,
    #[error("a page of partition {0}, which does not exist")]
    UnknownPartition(u8),
    #[error("page {0}, which has no partition")]
    UnknownPage(u32),
    /// Blocks that are still being filled do not count.
    #[error("all full blocks hold valid pages only: nothing to gain")]
    NothingToGain,
    #[error("cancelled")]
    Cancelled,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaCounts {
    /// By the host.
    pub page_writes: u64,
    /// By host and collection.
    pub pages_programmed: u64,
    pub erases: u64,
}

impl WaCounts {
    pub fn write_amplification(&self) -> Option<f64> {
        (self.page_writes > 0).then(|| self.pages_programmed as f64 / self.page_writes as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WaBlockRole {
    Clean,
    Standby,
    Active { partition: u8 },
    Closed { partition: u8 },
}

#[derive(Clone, Copy)]
struct Frontier {
    next: u32,
    end: u32,
}

/// Numbers of physical pages have a power of two for each block, so that shifts find the block.
pub struct WaSimulator<'a> {
    device: WaDevice,
    block_shift: u32,
    /// Looked up only at a page's first write, because blocks know theirs.
    partition_of_page: &'a [u8],
    partition_of_block: Vec<u8>,
    /// Physical page by logical page, and the logical page last written to a physical page.
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    /// Pages of an open block that are still to be written have theirs set.
    valid: Vec<u64>,
    victims: Victims,
    active: Vec<Frontier>,
    standby: Option<u32>,
    next_clean: u32,
    moving: Vec<u32>,
    counts: WaCounts,
    failed: Option<WaError>,
}

impl<'a> WaSimulator<'a> {
    /// Bytes of a page.
    pub(crate) const PAGE_BYTES: f64 = 12.0;

    /// An empty SSD for the logical pages whose partitions are given.
    pub fn new(device: WaDevice, partition_of_page: &'a [u8]) -> Result<WaSimulator<'a>, WaError> {
        let WaDevice { block_pages, physical_blocks, partitions } = device;
        if !(1..=BLOCK_PAGES_MAX).contains(&block_pages) {
            return Err(WaError::BlockPages(block_pages));
        }
        if !(1..=256).contains(&partitions) {
            return Err(WaError::Partitions(partitions));
        }
        if physical_blocks <= u64::from(partitions) {
            return Err(WaError::TooFewBlocks { physical_blocks, partitions });
        }
        let stride = block_pages.next_power_of_two().max(WORD_BITS);
        let numbers = physical_blocks.checked_mul(stride.into()).filter(|&n| n < NONE.into());
        let numbers = numbers.ok_or(WaError::TooManyPages)? as usize;
        if partition_of_page.len() >= NONE as usize {
            return Err(WaError::TooManyPages);
        }
        if let Some(&unknown) = partition_of_page.iter().find(|&&p| u32::from(p) >= partitions) {
            return Err(WaError::UnknownPartition(unknown));
        }
        let blocks = physical_blocks as u32;
        let mut simulator = WaSimulator {
            device,
            block_shift: stride.ilog2(),
            partition_of_page,
            partition_of_block: vec![0; blocks as usize],
            l2p: vec![NONE; partition_of_page.len()],
            p2l: vec![NONE; numbers],
            valid: vec![0; numbers / WORD_BITS as usize],
            victims: Victims::new(blocks, block_pages),
            active: vec![Frontier { next: 0, end: 0 }; partitions as usize],
            standby: Some(partitions),
            next_clean: partitions + 1,
            moving: Vec::with_capacity(block_pages as usize),
            counts: WaCounts::default(),
            failed: None,
        };
        (0..partitions).for_each(|partition| simulator.open(partition, partition as u8));
        Ok(simulator)
    }

    /// Writes a logical page (algorithm 1). After [`WaError::NothingToGain`] every further write fails alike.
    #[inline]
    pub fn write(&mut self, page: u32) -> Result<(), WaError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        self.write_one(page)
    }

    /// The same as, but faster than [`WaSimulator::write`] for each. Pages before an error are written.
    pub fn write_all(&mut self, pages: &[u32]) -> Result<(), WaError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&later) = pages.get(index + AHEAD) {
                prefetch(&self.l2p, later as usize);
            }
            self.write_one(page)?;
        }
        Ok(())
    }

    pub fn counts(&self) -> WaCounts {
        self.counts
    }

    #[inline(always)]
    fn write_one(&mut self, page: u32) -> Result<(), WaError> {
        let Some(&old) = self.l2p.get(page as usize) else {
            return Err(WaError::UnknownPage(page));
        };
        let partition = if old == NONE {
            self.partition_of_page[page as usize]
        } else {
            let block = old >> self.block_shift;
            self.valid[(old / WORD_BITS) as usize] &= !(1 << (old % WORD_BITS));
            self.victims.invalidate(block);
            self.partition_of_block[block as usize]
        };
        let frontier = &mut self.active[usize::from(partition)];
        let new = frontier.next;
        frontier.next += 1;
        let full = frontier.next == frontier.end;
        self.p2l[new as usize] = page;
        self.l2p[page as usize] = new;
        self.counts.page_writes += 1;
        self.counts.pages_programmed += 1;
        if full { self.collect(partition) } else { Ok(()) }
    }

    /// Algorithm 2.
    #[inline(never)]
    fn collect(&mut self, partition: u8) -> Result<(), WaError> {
        self.close(partition);
        if u64::from(self.next_clean) < self.device.physical_blocks {
            self.open(self.next_clean, partition);
            self.next_clean += 1;
            return Ok(());
        }
        let moving = std::mem::take(&mut self.moving);
        let done = self.collect_with(partition, moving);
        self.failed = done.err();
        done
    }

    /// Lines 8 to 21. `pages` is a buffer for the victims' valid pages.
    fn collect_with(&mut self, partition: u8, mut pages: Vec<u32>) -> Result<(), WaError> {
        let victim = self.victim(&mut pages)?;
        let owner = self.partition_of_block[victim as usize];
        if owner == partition {
            self.rewrite(victim, &pages);
        } else {
            let copied = self.copy(owner, &pages);
            if self.is_full(owner) {
                self.close(owner);
                // There always is a standby block between collections.
                let standby = self.standby.take().ok_or(WaError::NothingToGain)?;
                self.open(standby, owner);
                self.copy(owner, &pages[copied..]);
            }
            self.counts.erases += 1;
            self.open(victim, partition);
            self.ensure_clean_block(&mut pages)?;
        }
        self.moving = pages;
        Ok(())
    }

    /// Lines 22 to 31. Every round leaves more free pages behind, so there is a last one.
    fn ensure_clean_block(&mut self, pages: &mut Vec<u32>) -> Result<(), WaError> {
        while self.standby.is_none() {
            let victim = self.victim(pages)?;
            let owner = self.partition_of_block[victim as usize];
            let copied = self.copy(owner, pages);
            if self.is_full(owner) {
                self.close(owner);
                self.rewrite(victim, &pages[copied..]);
            } else {
                self.counts.erases += 1;
                self.standby = Some(victim);
            }
        }
        Ok(())
    }

    /// Lines 32 to 35, and 13 or 31.
    fn rewrite(&mut self, block: u32, pages: &[u32]) {
        self.counts.erases += 1;
        self.open(block, self.partition_of_block[block as usize]);
        self.copy(self.partition_of_block[block as usize], pages);
    }

    /// Lines 9 and 23. Valid pages in their physical order.
    fn victim(&mut self, pages: &mut Vec<u32>) -> Result<u32, WaError> {
        let (victim, valid) = self.victims.take().ok_or(WaError::NothingToGain)?;
        if valid == self.device.block_pages {
            return Err(WaError::NothingToGain);
        }
        pages.clear();
        let first = (victim << self.block_shift) as usize;
        let stride = 1usize << self.block_shift;
        let words = &self.valid[first / WORD_BITS as usize..][..stride / WORD_BITS as usize];
        let p2l = self.p2l[first..first + stride].chunks_exact(WORD_BITS as usize);
        for (&word, p2l) in words.iter().zip(p2l) {
            let mut left = word;
            while left != 0 {
                let page = p2l[left.trailing_zeros() as usize];
                left &= left - 1;
                prefetch(&self.l2p, page as usize);
                pages.push(page);
            }
        }
        Ok(victim)
    }

    /// Returns how many pages fit.
    fn copy(&mut self, partition: u8, pages: &[u32]) -> usize {
        let frontier = &mut self.active[usize::from(partition)];
        let first = frontier.next;
        let copied = pages.len().min((frontier.end - first) as usize);
        frontier.next += copied as u32;
        self.p2l[first as usize..][..copied].copy_from_slice(&pages[..copied]);
        for (new, &page) in (first..).zip(&pages[..copied]) {
            self.l2p[page as usize] = new;
        }
        self.counts.pages_programmed += copied as u64;
        copied
    }

    fn is_full(&self, partition: u8) -> bool {
        let frontier = self.active[usize::from(partition)];
        frontier.next == frontier.end
    }

    fn close(&mut self, partition: u8) {
        self.victims.close((self.active[usize::from(partition)].end - 1) >> self.block_shift);
    }

    fn open(&mut self, block: u32, partition: u8) {
        let (first, pages) = (block << self.block_shift, self.device.block_pages);
        self.active[usize::from(partition)] = Frontier { next: first, end: first + pages };
        self.partition_of_block[block as usize] = partition;
        self.victims.open(block);
        let words = 1usize << self.block_shift >> WORD_BITS.ilog2();
        for (index, word) in self.valid[(first / WORD_BITS) as usize..][..words].iter_mut().enumerate() {
            let left = pages.saturating_sub(index as u32 * WORD_BITS);
            *word = if left >= WORD_BITS { u64::MAX } else { (1 << left) - 1 };
        }
    }
}

/// A look inside, for tests and for people who want to see algorithms 1 and 2 at work.
impl WaSimulator<'_> {
    pub fn role(&self, block: u32) -> Option<WaBlockRole> {
        let partition = *self.partition_of_block.get(block as usize)?;
        let active = self.active[usize::from(partition)];
        Some(if self.standby == Some(block) {
            WaBlockRole::Standby
        } else if block >= self.next_clean {
            WaBlockRole::Clean
        } else if (active.end - 1) >> self.block_shift == block {
            WaBlockRole::Active { partition }
        } else {
            WaBlockRole::Closed { partition }
        })
    }

    /// The logical page that each page of a block holds, if valid, as far as the block is written.
    pub fn pages(&self, block: u32) -> Option<Vec<Option<u32>>> {
        let first = block << self.block_shift;
        let end = match self.role(block)? {
            WaBlockRole::Clean | WaBlockRole::Standby => first,
            WaBlockRole::Active { partition } => self.active[usize::from(partition)].next,
            WaBlockRole::Closed { .. } => first + self.device.block_pages,
        };
        let is_valid = |ppn: u32| self.valid[(ppn / WORD_BITS) as usize] >> (ppn % WORD_BITS) & 1 != 0;
        Some((first..end).map(|ppn| is_valid(ppn).then(|| self.p2l[ppn as usize])).collect())
    }

    /// As the choice of victims counts them; `None` unless closed.
    pub fn valid_pages(&self, block: u32) -> Option<u32> {
        self.victims.valid(block)
    }

    /// The block and the page in it that hold a logical page.
    pub fn place(&self, page: u32) -> Option<(u32, u32)> {
        let ppn = *self.l2p.get(page as usize).filter(|&&ppn| ppn != NONE)?;
        Some((ppn >> self.block_shift, ppn & ((1 << self.block_shift) - 1)))
    }
}
