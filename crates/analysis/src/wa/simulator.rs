//! WA-simulator: out-of-place updates and greedy garbage collection with partitions, nothing else.
//!
//! SWC paper, section 3.2, algorithms 1 and 2. Our choices where the algorithms leave one:
//!
//! * A block is active until it is full (section 3.1: "erased and was not fully written yet"). So the
//!   block whose filling starts a collection may be its victim.
//! * Among blocks with equally few valid pages the one that was closed (became full) first is the victim.
//! * Clean blocks are used in the order of their numbers; the first ones are the active blocks, the
//!   next one is the standby block, which line 7 does not count among the clean ones.
//! * An active block that a copy fills exactly is full: another block takes its place at once.
//! * Every page programmed counts, those written back into their own block too (line 35).
//! * A victim that holds valid pages only ends the simulation, as erasing it gains nothing. This cannot
//!   happen as long as there are at least as many over-provisioned blocks as partitions.

use std::fmt;

use super::victims::{BLOCK_PAGES_MAX, Victims};
use flashtwin_bits::prefetch_if_there as prefetch;

/// A page that was never written.
const NONE: u32 = u32::MAX;
/// Distance of the prefetch, in writes.
const AHEAD: usize = 16;
/// Bits of a validity word; no two blocks share a word.
const WORD_BITS: u32 = 64;

/// Size of the simulated SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaDevice {
    /// Pages of a block, 1 to 32,767.
    pub block_pages: u32,
    /// Blocks: at least one for each partition and a standby block.
    pub physical_blocks: u64,
    /// Partitions of logical pages, 1 to 256.
    pub partitions: u32,
}

/// Why a simulation cannot begin or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WaError {
    /// An impossible number of pages in a block.
    BlockPages(u32),
    /// An impossible number of partitions.
    Partitions(u32),
    /// Not even the active blocks and the standby block are there.
    TooFewBlocks { physical_blocks: u64, partitions: u32 },
    /// 32 bits cannot number the pages.
    TooManyPages,
    /// A page belongs to a partition that does not exist.
    UnknownPartition(u8),
    /// The page has no partition.
    UnknownPage(u32),
    /// No block holds an invalid page but those still being filled, so collecting gains nothing.
    NothingToGain,
    /// The user gave up.
    Cancelled,
}

impl fmt::Display for WaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaError::BlockPages(pages) => {
                write!(f, "a block of {pages} pages: expected 1 to {BLOCK_PAGES_MAX}")
            }
            WaError::Partitions(partitions) => write!(f, "{partitions} partitions: expected 1 to 256"),
            WaError::TooFewBlocks { physical_blocks, partitions } => write!(
                f,
                "{physical_blocks} physical blocks: {partitions} partitions and the standby block need {}",
                u64::from(*partitions) + 1
            ),
            WaError::TooManyPages => write!(f, "32 bits cannot number the pages"),
            WaError::UnknownPartition(partition) => {
                write!(f, "a page of partition {partition}, which does not exist")
            }
            WaError::UnknownPage(page) => write!(f, "page {page}, which has no partition"),
            WaError::NothingToGain => write!(f, "all full blocks hold valid pages only: nothing to gain"),
            WaError::Cancelled => write!(f, "cancelled"),
        }
    }
}

impl std::error::Error for WaError {}

/// Operation counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaCounts {
    /// Pages written by the host.
    pub page_writes: u64,
    /// Pages programmed, by host and by collection.
    pub pages_programmed: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl WaCounts {
    /// Pages programmed / pages written.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.page_writes > 0).then(|| self.pages_programmed as f64 / self.page_writes as f64)
    }
}

/// Use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WaBlockRole {
    /// Never used.
    Clean,
    /// Erased and held ready.
    Standby,
    /// Being filled for a partition.
    Active { partition: u8 },
    /// Full.
    Closed { partition: u8 },
}

/// Where a partition's next page goes, and where its active block ends.
#[derive(Clone, Copy)]
struct Frontier {
    next: u32,
    end: u32,
}

/// The simulated SSD.
///
/// Numbers of physical pages have a power of two for each block, so that shifts find the block; the last
/// of them are not used unless `block_pages` is one.
pub struct WaSimulator<'a> {
    device: WaDevice,
    block_shift: u32,
    /// Partition by logical page; looked up only at a page's first write, as blocks know theirs.
    partition_of_page: &'a [u8],
    partition_of_block: Vec<u8>,
    /// Physical page by logical page, and the reverse: the logical page last written to a physical
    /// page.
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    /// A bit by physical page. Pages of an open block that are still to be written have theirs set.
    valid: Vec<u64>,
    victims: Victims,
    active: Vec<Frontier>,
    standby: Option<u32>,
    next_clean: u32,
    /// Pages on their way out of a victim.
    moving: Vec<u32>,
    counts: WaCounts,
    failed: Option<WaError>,
}

impl<'a> WaSimulator<'a> {
    /// An empty SSD for the logical pages whose partitions are given (hottest partition 0, though the
    /// order does not matter).
    ///
    /// # Errors
    /// When the device cannot exist or be simulated, or a page has no such partition.
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

    /// Writes a logical page (algorithm 1).
    ///
    /// # Errors
    /// [`WaError::UnknownPage`], which changes nothing; [`WaError::NothingToGain`], after which every
    /// further write fails alike.
    #[inline]
    pub fn write(&mut self, page: u32) -> Result<(), WaError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        self.write_one(page)
    }

    /// Writes logical pages one after another: the same as, but faster than [`WaSimulator::write`] for
    /// each.
    ///
    /// # Errors
    /// As for one page; those before it are written.
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

    /// Counters so far.
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

    /// Gives a partition whose active block is full another one (algorithm 2).
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

    /// Erases a block, writes pages back into it and makes it the active block of its partition (lines
    /// 32 to 35, and 13 or 31).
    fn rewrite(&mut self, block: u32, pages: &[u32]) {
        self.counts.erases += 1;
        self.open(block, self.partition_of_block[block as usize]);
        self.copy(self.partition_of_block[block as usize], pages);
    }

    /// Chooses a victim and collects its valid pages in their physical order (lines 9 and 23).
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

    /// Writes as many of the pages as fit to the active block of a partition; how many it were.
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

    /// A partition's active block is full.
    fn close(&mut self, partition: u8) {
        self.victims.close((self.active[usize::from(partition)].end - 1) >> self.block_shift);
    }

    /// Makes an erased block the active block of a partition.
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
    /// Use of a block; `None` if there is no such block.
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

    /// The logical page that each page of a block holds, if valid, as far as the block is written;
    /// `None` when there is no such block.
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

    /// Valid pages of a closed block as the choice of victims counts them; `None` for other blocks.
    pub fn valid_pages(&self, block: u32) -> Option<u32> {
        self.victims.valid(block)
    }

    /// Number of the physical page that holds a logical page, as block and page in the block; `None`
    /// when it was not written.
    pub fn place(&self, page: u32) -> Option<(u32, u32)> {
        let ppn = *self.l2p.get(page as usize).filter(|&&ppn| ppn != NONE)?;
        Some((ppn >> self.block_shift, ppn & ((1 << self.block_shift) - 1)))
    }
}
