//! Counters, wait ledgers and the observer of a device. They decide nothing.

mod counts;
mod ledger;
mod observer;

use flashtwin_bits::Slab;
use flashtwin_nand::Chip;
use flashtwin_trace::Op as HostOp;

use crate::error::SimError;
pub use counts::{EngineCounts, EnginePageCounts, TableWaitCounts};
pub use ledger::{Charge, Ledger};
pub(super) use ledger::{HoldTimes, UnitWaits, charge_wait};
pub use observer::{Arrived, Command, Completed, Extent, Hashing, Observer, ServedBy};

const NOT_YET: u64 = u64::MAX;

/// The open ledger of a page operation. Most have none, because their waits follow from their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenLedger(u32);

impl OpenLedger {
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) fn is_some(self) -> bool {
        self != Self::NONE
    }
}

#[derive(Debug, Clone)]
pub struct Accounts<O> {
    pub observer: O,
    pub counts: EngineCounts,
    pub(super) unit_waits: UnitWaits,
    open: Slab<Ledger>,
    /// When the first request arrived; [`NOT_YET`] before it.
    first_arrival_ns: u64,
    last_response_ns: u64,
    /// The first error met in an event, which the next call of the engine returns.
    failed: Option<SimError>,
}

pub(super) struct Books<'a, O> {
    pub(super) now_ns: u64,
    pub(super) accounts: &'a mut Accounts<O>,
}

impl<O: Observer> Accounts<O> {
    pub fn new(observer: O) -> Self {
        Self {
            observer,
            counts: EngineCounts::default(),
            unit_waits: UnitWaits::default(),
            open: Slab::new(),
            first_arrival_ns: NOT_YET,
            last_response_ns: 0,
            failed: None,
        }
    }

    pub(super) fn served_ns(&self) -> Option<(u64, u64)> {
        (self.first_arrival_ns != NOT_YET).then_some((self.first_arrival_ns, self.last_response_ns))
    }

    /// Times of service begin with the next request.
    pub(crate) fn restart(&mut self) {
        self.first_arrival_ns = NOT_YET;
    }

    #[inline]
    pub(super) fn arrived(&mut self, arrival_ns: u64) {
        self.first_arrival_ns = self.first_arrival_ns.min(arrival_ns);
    }

    #[inline]
    pub(super) fn left(&mut self, kind: HostOp, now_ns: u64) {
        self.counts.requests[kind as usize] += 1;
        self.last_response_ns = now_ns;
    }

    #[cold]
    pub(super) fn fail(&mut self, error: impl Into<SimError>) {
        self.failed.get_or_insert(error.into());
    }

    #[inline]
    pub(super) fn take_failure(&mut self) -> Result<(), SimError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    pub(super) fn redirected(&mut self, chip: Chip) {
        self.counts.pages.redirected_reads += 1;
        self.observer.redirected(chip);
    }

    pub(super) fn charge(&mut self, open: &mut OpenLedger, ledger: &Ledger) {
        if open.is_some() {
            self.open[open.0 as usize].add(ledger);
        } else {
            *open = OpenLedger(self.open.insert(*ledger));
        }
    }

    #[inline]
    pub(super) fn close(&mut self, open: OpenLedger) -> Option<Ledger> {
        if open.is_some() { Some(self.take_open(open)) } else { None }
    }

    #[cold]
    fn take_open(&mut self, open: OpenLedger) -> Ledger {
        self.open.free(open.0);
        self.open[open.0 as usize]
    }

    pub(super) fn open_ledgers(&self) -> u32 {
        self.open.taken()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;
    impl Observer for Nobody {}

    #[test]
    fn open_ledger_collects_charges_until_closed() {
        let mut accounts = Accounts::new(Nobody);
        let mut open = OpenLedger::NONE;
        assert_eq!(accounts.close(open), None);
        accounts.charge(&mut open, &Ledger::only(Charge::Tables, 7));
        accounts.charge(&mut open, &Ledger::only(Charge::PageProgram, 5));
        let mut other = OpenLedger::NONE;
        accounts.charge(&mut other, &Ledger::only(Charge::Hash, 1));
        assert_eq!((open.is_some(), accounts.open_ledgers()), (true, 2));
        let ledger = accounts.close(open).unwrap();
        assert_eq!((ledger.of(Charge::Tables), ledger.of(Charge::PageProgram)), (7, 5));
        assert_eq!(accounts.close(other).map(|ledger| ledger.total_ns()), Some(1));
        assert_eq!(accounts.open_ledgers(), 0);
    }

    #[test]
    fn the_first_failure_counts_and_is_told_once() {
        let mut accounts = Accounts::new(Nobody);
        accounts.fail(SimError::Interrupted);
        accounts.fail(flashtwin_ftl::FtlError::Broken("later".into()));
        assert!(matches!(accounts.take_failure(), Err(SimError::Interrupted)));
        assert!(accounts.take_failure().is_ok());
    }
}
