//! Collection in batches (`engine.collection_batch_us`): collection waits at the units until one of them has a batch of
//! it. Then all units do theirs, ahead of the host's programs. Reads go on. Once the RAM of writes is full, a write waits:
//! for the length of a batch at most, less the time in which the host filled the RAM. Drives of one maker keep to that
//! law (docs/real-drives.md).

use flashtwin_bits::By;
use flashtwin_ftl::{Cause, Unit};

use super::{Accounts, Array, NONE, Observer, Queue, Work};
use crate::config::EngineConfig;

#[derive(Debug)]
pub(super) struct Batches {
    length_ns: u64,
    until_ns: u64,
    waiting: By<Unit, Vec<Waiting>>,
}

/// The controller's own operations at a unit.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    /// Time of the collection ordered since the last batch began, one operation after the other.
    collection_ns: u64,
    /// Operations other than collection, which wait for no batch, nor does what was ordered before them.
    others: u32,
}

impl Batches {
    pub(super) fn of(config: &EngineConfig, units: usize) -> Option<Box<Self>> {
        let length_ns = config.collection_batch_ns();
        let waiting = By::new(vec![Waiting::default(); units]);
        (length_ns > 0).then(|| Box::new(Self { length_ns, until_ns: 0, waiting }))
    }
}

impl Array {
    /// An operation of the controller's own is about to be queued. A batch may begin with it.
    #[cold]
    pub(super) fn note_own<O: Observer>(&mut self, unit: Unit, slot: u32, accounts: &mut Accounts<O>) {
        let Some(batches) = &mut self.batches else { return };
        let op = &mut self.ops[slot];
        let waiting = &mut batches.waiting[unit];
        if op.offline || !matches!(op.cause, Cause::Gc | Cause::WearLevelling) {
            op.needs_no_batch = true;
            waiting.others += 1;
            return;
        }
        waiting.collection_ns += match op.work {
            Work::OwnErase => self.timing.erase_ns,
            Work::OwnProgram => self.timing.program_ns / u64::from(self.geometry.program_pages),
            _ => self.timing.read_ns / u64::from(self.geometry.sense_pages),
        };
        if waiting.collection_ns >= batches.length_ns && batches.until_ns <= self.now_ns {
            let until_ns = self.now_ns + batches.length_ns;
            self.begin_batch(until_ns, accounts);
        }
    }

    #[cold]
    fn begin_batch<O: Observer>(&mut self, until_ns: u64, accounts: &mut Accounts<O>) {
        if let Some(batches) = &mut self.batches {
            batches.until_ns = until_ns;
            batches.waiting.iter_mut().for_each(|waiting| waiting.collection_ns = 0);
        }
        for unit in 0..self.units.len() as u32 {
            self.dispatch_or_hold(Unit::new(unit), accounts);
        }
    }

    /// What waits for a batch is done, because nothing will be ordered any more.
    pub(crate) fn end_batches<O: Observer>(&mut self, accounts: &mut Accounts<O>) {
        if self.batches.take().is_some() {
            self.begin_batch(0, accounts);
        }
    }

    #[inline]
    pub(super) fn note_own_begun(&mut self, unit: Unit, slot: u32) {
        if self.ops[slot].needs_no_batch
            && let Some(batches) = &mut self.batches
        {
            batches.waiting[unit].others -= 1;
        }
    }

    fn batch_ends_ns(&self) -> Option<u64> {
        self.batches.as_ref().map(|batches| batches.until_ns).filter(|&until_ns| self.now_ns < until_ns)
    }

    /// Programs of the host wait for the end of the batch under way. If one could start, the unit looks again then.
    #[cold]
    pub(super) fn waits_for_batch(&mut self, unit: Unit, program_may_start: bool) -> bool {
        let Some(ends_ns) = self.batch_ends_ns() else { return false };
        if program_may_start && self.units[unit].suspended.is_none() {
            self.expect(unit, ends_ns);
        }
        true
    }

    /// Beside batches, collection makes way for what was ordered behind it, and for a program that waits for its erase.
    #[cold]
    pub(super) fn may_collect(&self, unit: Unit, program_may_start: bool) -> bool {
        let program_waits = !program_may_start && self.units[unit].head(Queue::Writes) != NONE;
        let others = self.batches.as_ref().map_or(0, |batches| batches.waiting[unit].others);
        program_waits || others > 0 || self.batch_ends_ns().is_some()
    }
}
