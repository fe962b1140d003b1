//! What a run measures while it goes.

mod ledgers;
mod queues;
mod response;

pub(crate) use ledgers::{Ledgers, Share};
pub(crate) use queues::QueueSeries;
pub(crate) use response::{PeriodResponse, Response, Tally};

use crate::engine::{Ledger, Observer};
use flashtwin_bits::By;
use flashtwin_nand::Chip;

/// Everything that is measured per event; periods are cut by the runner.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) reads: Response,
    pub(crate) writes: Response,
    pub(crate) queues: QueueSeries,
    /// The hash unit, as if it were a chip.
    pub(crate) hash_queue: QueueSeries,
    /// Host reads and programs served per chip, and reads redirected to it.
    pub(crate) chip_reads: By<Chip, Vec<u64>>,
    pub(crate) chip_programs: By<Chip, Vec<u64>>,
    pub(crate) chip_redirected: By<Chip, Vec<u64>>,
}

impl Metrics {
    pub(crate) fn new(chips: u32) -> Self {
        Self {
            reads: Response::new(),
            writes: Response::new(),
            queues: QueueSeries::new(chips),
            hash_queue: QueueSeries::new(1),
            chip_reads: By::new(vec![0; chips as usize]),
            chip_programs: By::new(vec![0; chips as usize]),
            chip_redirected: By::new(vec![0; chips as usize]),
        }
    }
}

impl Observer for Metrics {
    #[inline]
    fn completed(&mut self, is_read: bool, total_ns: u64, ledger: &Ledger) {
        let kind = if is_read { &mut self.reads } else { &mut self.writes };
        kind.record(total_ns, ledger);
    }

    #[inline]
    fn queue_changed(&mut self, chip: Chip, now_ns: u64, length: u32) {
        self.queues.change(chip.number(), now_ns, length);
    }

    #[inline]
    fn hash_queue_changed(&mut self, now_ns: u64, length: u32) {
        self.hash_queue.change(0, now_ns, length);
    }

    #[inline]
    fn served(&mut self, chip: Chip, program: bool) {
        let counts = if program { &mut self.chip_programs } else { &mut self.chip_reads };
        counts[chip] += 1;
    }

    #[inline]
    fn redirected(&mut self, chip: Chip) {
        self.chip_redirected[chip] += 1;
    }
}
