//! Collection in batches (`engine.collection_batch_us`): collection waits at the units until it takes half a batch of
//! all of them. For the length of the batch all units collect, and the host's programs wait. Reads go on. Once the RAM
//! of writes is full, a write waits: for the length of a batch at most, less the time in which the host filled the RAM.
//! Half, because units have unequal shares.

use flashtwin_bits::By;
use flashtwin_ftl::{Cause, Unit};
use flashtwin_nand::{Geometry, Timing};

use super::{Op, Work};
use crate::config::EngineConfig;

#[derive(Debug, Clone)]
pub(super) struct Batches {
    length_ns: u64,
    until_ns: u64,
    /// Time of the collection ordered since the last batch began, of all units, one operation after the other.
    collection_ns: u64,
    /// Of each unit, queued operations of the controller's that are no collection. They wait for no batch, nor does
    /// what was ordered before them.
    others: By<Unit, Vec<u32>>,
}

impl Batches {
    pub(super) fn of(config: &EngineConfig, units: usize) -> Option<Box<Self>> {
        let length_ns = config.collection_batch_ns();
        let others = By::new(vec![0; units]);
        (length_ns > 0).then(|| Box::new(Self { length_ns, until_ns: 0, collection_ns: 0, others }))
    }

    /// An operation of the controller's own is about to be queued. Says whether a batch begins with it.
    pub(super) fn queued(
        &mut self,
        unit: Unit,
        op: &mut Op,
        (timing, geometry): (&Timing, &Geometry),
        now_ns: u64,
    ) -> bool {
        if op.offline || !matches!(op.cause, Cause::Gc | Cause::WearLevelling) {
            op.needs_no_batch = true;
            self.others[unit] += 1;
            return false;
        }
        self.collection_ns += match op.work {
            Work::OwnErase => timing.erase_ns,
            Work::OwnProgram => timing.transfer_ns + timing.program_ns / u64::from(geometry.program_pages),
            _ => timing.transfer_ns + timing.read_ns / u64::from(geometry.sense_pages),
        };
        let begins =
            2 * self.collection_ns >= self.others.len() as u64 * self.length_ns && self.until_ns <= now_ns;
        if begins {
            (self.until_ns, self.collection_ns) = (now_ns + self.length_ns, 0);
        }
        begins
    }

    pub(super) fn begun(&mut self, unit: Unit) {
        self.others[unit] -= 1;
    }

    pub(super) fn ends_ns(&self, now_ns: u64) -> Option<u64> {
        Some(self.until_ns).filter(|&until_ns| now_ns < until_ns)
    }

    /// Beside batches, collection makes way for what was ordered behind it, and for a program that waits for its erase.
    pub(super) fn lets_collect(&self, unit: Unit, program_waits: bool, now_ns: u64) -> bool {
        program_waits || self.others[unit] > 0 || self.ends_ns(now_ns).is_some()
    }
}
