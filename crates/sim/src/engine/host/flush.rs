//! Flushes: the answer tells the host that its earlier writes survive a power cut (NVM Express Base Specification,
//! Flush; T13 ACS, FLUSH CACHE; docs/model.md). Even a drive without a volatile cache waits for writes under way,
//! because a host sends its flush after their answers and a replay has no host to wait. A write with forced unit access
//! (FUA) bypasses a volatile cache or buffer, and the register of a chip is not enough for it.
//!
//! Writes are counted by epoch, and every flush ends one. A flush is complete when nothing is left of its epoch and of
//! those before. So the table of waits ([`super::waits`]) has no flushes.

use std::collections::VecDeque;

use crate::config::{EngineConfig, Flush, WriteCompletes};

/// Epochs before their numbers repeat. The old ones are long over by then.
const EPOCHS: u32 = 1 << 30;
const DURABLE: u32 = 1 << 30;
const NONE: u32 = u32::MAX;

/// An epoch's number in the lower bits, and whether the write is answered only when it is on flash ([`DURABLE`]). Four
/// bytes fit into requests and operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u32);

/// The epoch of operations that no flush waits for.
pub(super) const NO_EPOCH: Epoch = Epoch(NONE);

impl Epoch {
    #[inline]
    pub(super) fn is_durable(self) -> bool {
        self.0 != NONE && self.0 & DURABLE != 0
    }

    #[inline]
    pub(super) fn bits(self) -> u32 {
        self.0
    }

    #[inline]
    pub(super) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

#[derive(Debug, Clone, Copy)]
struct WaitingFlush {
    request: u32,
    /// How many writes of the epoch that it ended are not safe yet.
    at_risk: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Flushes {
    rule: Flush,
    /// A power cut would lose pages of the write cache or the write buffer: a flush writes them out.
    ram_is_volatile: bool,
    /// It would lose data in the register of a chip that the host counts as written.
    register_is_volatile: bool,
    present: u32,
    at_risk: u32,
    /// The oldest first. Each ended an epoch, and waits for it and those before.
    waiting: VecDeque<WaitingFlush>,
}

impl Flushes {
    pub(super) fn new(config: &EngineConfig) -> Self {
        Self {
            rule: config.flush,
            ram_is_volatile: config.answers_from_ram() && !config.write_cache_protected,
            register_is_volatile: config.write_completes == WriteCompletes::Transferred,
            present: 0,
            at_risk: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Returns the epoch of a write that begins. `durable`: it must be on flash before it is answered.
    #[inline]
    pub(super) fn write_begins(&mut self, durable: bool) -> Epoch {
        self.at_risk += 1;
        let durable = durable && (self.register_is_volatile || self.ram_is_volatile);
        Epoch(if durable { self.present | DURABLE } else { self.present })
    }

    pub(super) fn answers_at_once(&self) -> bool {
        self.rule == Flush::None
    }

    pub(super) fn empties_ram(&self) -> bool {
        self.ram_is_volatile && !self.answers_at_once()
    }

    #[inline]
    pub(super) fn register_is_volatile(&self) -> bool {
        self.register_is_volatile
    }

    #[inline]
    pub(super) fn passes_ram(&self, durable: bool) -> bool {
        durable && self.ram_is_volatile
    }

    pub(super) fn page_leaves_cache(&mut self) -> Epoch {
        if self.ram_is_volatile { self.write_begins(false) } else { NO_EPOCH }
    }

    /// The epoch of a page in the write buffer.
    pub(super) fn page_is_buffered(&mut self, write: Epoch) -> Epoch {
        if self.ram_is_volatile { self.program_begins(write) } else { NO_EPOCH }
    }

    /// The epoch of a write's program, which flushes wait for longer than for the write.
    #[inline]
    pub(super) fn program_begins(&mut self, write: Epoch) -> Epoch {
        if write == NO_EPOCH {
            return NO_EPOCH;
        }
        *self.count(write) += 1;
        write
    }

    /// A write or a program is safe. Returns whether a flush may be complete by that.
    #[inline]
    pub(super) fn is_safe(&mut self, epoch: Epoch) -> bool {
        let left = self.count(epoch);
        *left -= 1;
        *left == 0 && !self.waiting.is_empty()
    }

    #[inline]
    fn count(&mut self, epoch: Epoch) -> &mut u32 {
        match self.present.wrapping_sub(epoch.0) % EPOCHS {
            0 => &mut self.at_risk,
            before => self.count_before(before as usize),
        }
    }

    #[cold]
    fn count_before(&mut self, before: usize) -> &mut u32 {
        let at = self.waiting.len() - before;
        &mut self.waiting[at].at_risk
    }

    pub(super) fn wait(&mut self, request: u32) {
        self.waiting.push_back(WaitingFlush { request, at_risk: std::mem::take(&mut self.at_risk) });
        self.present = (self.present + 1) % EPOCHS;
    }

    /// The flush that waits longest, if it need wait no longer.
    pub(super) fn next_complete(&mut self) -> Option<u32> {
        match self.waiting.front() {
            Some(oldest) if oldest.at_risk == 0 => self.waiting.pop_front().map(|oldest| oldest.request),
            _ => None,
        }
    }
}
