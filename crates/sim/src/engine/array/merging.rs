//! Reads that wait for the same data at the same chip: one is served, all are complete (SSDsim: Hu et al., ICS 2011;
//! for duplicate pages DS-FTL paper, 4.3.2). A read in service cannot be joined, because it began earlier.

use flashtwin_bits::Slab;
use flashtwin_ftl::{ReadTarget, Unit};
use flashtwin_nand::{Chip, Ppn};
use hashbrown::HashMap;

use super::super::accounts::HoldTimes;
use super::{Accounts, Array, NONE, NOT_STARTED, Observer, Op, OpenLedger};
use crate::config::MergeReads;

#[derive(Debug, Clone, Copy)]
pub(crate) struct MergedRead {
    pub(crate) request: u32,
    pub(crate) redirected: bool,
    pub(crate) charged: OpenLedger,
    pub(crate) came_ns: u64,
    /// How long the unit had been held, by holder, when this read joined; once the other begins, held since then.
    pub(crate) held: HoldTimes,
}

#[derive(Debug, Clone)]
struct MergedReads {
    key: (Chip, u64),
    unit: Unit,
    joined: Vec<MergedRead>,
}

/// [`Op::other`] of a read that may be joined is the number of those that joined it.
#[derive(Debug, Clone)]
pub(super) struct Merging {
    twins: bool,
    waiting: HashMap<(Chip, u64), u32>,
    merged: Slab<MergedReads>,
}

impl Merging {
    pub(super) fn of(rule: MergeReads) -> Option<Self> {
        let twins = rule == MergeReads::SameContent;
        let merges = rule != MergeReads::None;
        merges.then(|| Self { twins, waiting: HashMap::new(), merged: Slab::new() })
    }

    /// The chip, and the page or, if duplicate pages count, `data`, the controller's name of its content.
    fn key(&self, chip: Chip, ppn: Ppn, data: u64) -> (Chip, u64) {
        (chip, if self.twins { data } else { u64::from(ppn.number()) })
    }

    fn find(&mut self, key: (Chip, u64)) -> Option<&mut MergedReads> {
        let merged = *self.waiting.get(&key)?;
        self.merged.get_mut(merged as usize)
    }

    fn wait(&mut self, key: (Chip, u64), unit: Unit) -> u32 {
        let merged = self.merged.insert_with(
            || MergedReads { key, unit, joined: Vec::new() },
            |merged| (merged.key, merged.unit) = (key, unit),
        );
        self.waiting.insert(key, merged);
        merged
    }
}

impl Array {
    /// Returns whether the read joined one.
    pub(super) fn join_read<O: Observer>(
        &mut self,
        unit: Unit,
        (target, data): (&ReadTarget, u64),
        request: u32,
        charged: OpenLedger,
        accounts: &mut Accounts<O>,
    ) -> bool {
        let (now, chip) = (self.now_ns, self.units[unit].chip);
        let Some(merging) = &mut self.merging else { return false };
        let Some(merged) = merging.find(merging.key(chip, target.ppn, data)) else { return false };
        let held = self.units[merged.unit].held_until(now);
        let redirected = target.redirected;
        merged.joined.push(MergedRead { request, redirected, charged, came_ns: now, held });
        accounts.counts.pages.merged_reads += 1;
        true
    }

    /// Later reads may join a host read, unless it was taken up at once, by itself or in another's command.
    pub(super) fn may_be_joined(&mut self, unit: Unit, slot: u32, data: u64) {
        let Op { ppn, start_ns, .. } = self.ops[slot];
        if start_ns != NOT_STARTED {
            return;
        }
        let chip = self.units[unit].chip;
        if let Some(merging) = &mut self.merging {
            self.ops[slot].other = merging.wait(merging.key(chip, ppn, data), unit);
        }
    }

    /// The read begins: none can join it any more, and the waits of those that did are over.
    #[inline]
    pub(super) fn close_merged(&mut self, unit: Unit, merged: u32) {
        let Some(merging) = self.merging.as_mut().filter(|_| merged != NONE) else { return };
        let merged = &mut merging.merged[merged as usize];
        merging.waiting.remove(&merged.key);
        let held = &self.units[unit].held;
        for read in &mut merged.joined {
            read.held.iter_mut().zip(held).for_each(|(then, now)| *then = now - *then);
        }
    }

    /// The reads that joined one that is over, in order. Give the list back to [`Array::forget_merged`] for its memory.
    pub(crate) fn take_merged(&mut self, merged: u32) -> Vec<MergedRead> {
        let Some(merging) = &mut self.merging else { return Vec::new() };
        std::mem::take(&mut merging.merged[merged as usize].joined)
    }

    pub(crate) fn forget_merged(&mut self, merged: u32, mut joined: Vec<MergedRead>) {
        joined.clear();
        if let Some(merging) = &mut self.merging {
            merging.merged[merged as usize].joined = joined;
            merging.merged.free(merged);
        }
    }
}
