//! Collection in batches (`engine.collection_batch_us`): collection waits at the units until one of them has a batch of
//! it. For the length of the batch all units collect, and the host's programs wait. Reads go on. Once the RAM of writes
//! is full, a write waits: for the length of a batch at most, less the time in which the host filled the RAM. Drives of
//! one maker keep to that law (docs/real-drives.md).

use flashtwin_bits::By;
use flashtwin_ftl::{Cause, Unit};
use flashtwin_nand::{Geometry, Timing};

use super::{Op, Work};
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

    /// An operation of the controller's own is about to be queued. Says whether a batch begins with it.
    pub(super) fn queued(
        &mut self,
        unit: Unit,
        op: &mut Op,
        (timing, geometry): (&Timing, &Geometry),
        now_ns: u64,
    ) -> bool {
        let waiting = &mut self.waiting[unit];
        if op.offline || !matches!(op.cause, Cause::Gc | Cause::WearLevelling) {
            op.needs_no_batch = true;
            waiting.others += 1;
            return false;
        }
        waiting.collection_ns += match op.work {
            Work::OwnErase => timing.erase_ns,
            Work::OwnProgram => timing.program_ns / u64::from(geometry.program_pages),
            _ => timing.read_ns / u64::from(geometry.sense_pages),
        };
        let begins = waiting.collection_ns >= self.length_ns && self.until_ns <= now_ns;
        if begins {
            self.until_ns = now_ns + self.length_ns;
            self.waiting.iter_mut().for_each(|waiting| waiting.collection_ns = 0);
        }
        begins
    }

    pub(super) fn begun(&mut self, unit: Unit) {
        self.waiting[unit].others -= 1;
    }

    pub(super) fn ends_ns(&self, now_ns: u64) -> Option<u64> {
        Some(self.until_ns).filter(|&until_ns| now_ns < until_ns)
    }

    /// Beside batches, collection makes way for what was ordered behind it, and for a program that waits for its erase.
    pub(super) fn lets_collect(&self, unit: Unit, program_waits: bool, now_ns: u64) -> bool {
        program_waits || self.waiting[unit].others > 0 || self.ends_ns(now_ns).is_some()
    }
}
