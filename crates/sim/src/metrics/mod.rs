mod blocks;
mod by_volume;
mod course;
mod ledgers;
mod queues;
mod receivers;
mod response;

pub(crate) use blocks::BlockRow;
pub(crate) use by_volume::{ByVolume, VOLUME_BYTES};
pub(crate) use course::Course;
pub(crate) use ledgers::{Ledgers, Share};
pub(crate) use queues::QueueSeries;
pub(crate) use receivers::Receivers;
pub(crate) use response::{PeriodResponse, Response, Tally};

use std::ops::Range;

use crate::engine::{Arrived, Command, Completed, Hashing, Observer};
use flashtwin_bits::By;
use flashtwin_ftl::{Lpn, Unit};
use flashtwin_nand::{Block, Chip};
use flashtwin_trace::Op;

/// The hash unit is measured as a chip in a series of its own.
const HASH_UNIT: Chip = Chip::new(0);

#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    pub(crate) reads: Response,
    pub(crate) writes: Response,
    pub(crate) flushes: Response,
    pub(crate) queues: QueueSeries,
    pub(crate) hash_queue: QueueSeries,
    pub(crate) chip_reads: By<Chip, Vec<u64>>,
    pub(crate) chip_programs: By<Chip, Vec<u64>>,
    pub(crate) chip_redirected: By<Chip, Vec<u64>>,
    pub(crate) receivers: Receivers,
    /// Requests that another drive answers.
    pub(crate) elsewhere: Elsewhere,
}

/// Numbers of requests, in the order of the trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Elsewhere(Vec<Range<u64>>);

impl Elsewhere {
    #[inline]
    fn has(&self, number: u64) -> bool {
        !self.0.is_empty() && self.finds(number)
    }

    #[inline(never)]
    fn finds(&self, number: u64) -> bool {
        let begun = self.0.partition_point(|span| span.start <= number);
        begun > 0 && self.0[begun - 1].contains(&number)
    }

    pub(crate) fn add(&mut self, number: u64) {
        match self.0.last_mut().filter(|span| span.end == number) {
            Some(span) => span.end += 1,
            None => self.0.push(number..number + 1),
        }
    }
}

impl Metrics {
    /// Of a trace of so many requests; `None`: not known yet.
    pub(crate) fn new(chips: u32, requests: Option<u64>) -> Self {
        Self {
            reads: Response::new(requests),
            writes: Response::new(requests),
            flushes: Response::new(requests),
            queues: QueueSeries::new(chips),
            hash_queue: QueueSeries::new(1),
            chip_reads: By::new(vec![0; chips as usize]),
            chip_programs: By::new(vec![0; chips as usize]),
            chip_redirected: By::new(vec![0; chips as usize]),
            receivers: Receivers::default(),
            elsewhere: Elsewhere::default(),
        }
    }

    #[inline(always)] // A call would copy the report of each request to memory.
    fn record(&mut self, done: &Completed<'_>) {
        let kind = match done.kind {
            Op::Read => &mut self.reads,
            Op::Write | Op::Trim => &mut self.writes,
            Op::Flush => &mut self.flushes,
        };
        kind.record(done.number, done.arrival_ns, done.total_ns, done.ledger);
    }

    /// Takes an answer of another drive, if the request is one of those.
    pub(crate) fn answered_by_another(&mut self, arrived: &Arrived, done: &Completed<'_>) {
        if self.elsewhere.has(done.number) {
            self.record(done);
            self.receivers.answered(arrived, done);
        }
    }

    /// The warm-up has ended: all so far is forgotten, and requests before `first` do not count.
    pub(crate) fn restart(&mut self, first: u64, now_ns: u64) {
        [&mut self.reads, &mut self.writes, &mut self.flushes]
            .into_iter()
            .for_each(|kind| kind.restart(first));
        [&mut self.queues, &mut self.hash_queue].into_iter().for_each(|queues| queues.restart(now_ns));
        for served in [&mut self.chip_reads, &mut self.chip_programs, &mut self.chip_redirected] {
            served.fill(0);
        }
        self.receivers.restart(first);
    }

    pub(crate) fn blocks(&self) -> Vec<BlockRow> {
        Response::block_rows([&self.reads, &self.writes, &self.flushes])
    }
}

impl Observer for Metrics {
    #[inline]
    fn follows_requests(&self) -> bool {
        self.receivers.is_wanted()
    }

    fn arrived(&mut self, request: u32, arrived: &Arrived) {
        self.receivers.arrived(request, arrived);
    }

    fn trimmed(&mut self, arrived: &Arrived, now_ns: u64) {
        self.receivers.trimmed(arrived, now_ns);
    }

    fn programmed(&mut self, lpn: Lpn) {
        self.receivers.programmed(lpn);
    }

    #[inline(always)] // A call would copy the report of each request to memory.
    fn completed(&mut self, done: &Completed<'_>) {
        let elsewhere = self.elsewhere.has(done.number);
        if !elsewhere {
            self.record(done);
        }
        self.receivers.completed(done, elsewhere);
    }

    #[inline]
    fn follows_commands(&self) -> bool {
        self.receivers.timeline.is_some()
    }

    fn command_begins(&mut self, command: &Command<'_>) {
        self.receivers.command_begins(command);
    }

    fn data_come_out(&mut self, unit: Unit, channel_ns: (u64, u64)) {
        self.receivers.timeline.iter_mut().for_each(|it| it.data_come_out(unit, channel_ns));
    }

    fn command_stops(&mut self, unit: Unit, at_ns: u64) {
        self.receivers.timeline.iter_mut().for_each(|it| it.command_stops(unit, at_ns));
    }

    fn command_goes_on(&mut self, unit: Unit, span_ns: (u64, u64)) {
        self.receivers.timeline.iter_mut().for_each(|it| it.command_goes_on(unit, span_ns));
    }

    fn erased(&mut self, block: Block, now_ns: u64) {
        self.receivers.timeline.iter_mut().for_each(|it| it.erased(block, now_ns));
    }

    fn hashing(&mut self, hashing: &Hashing) {
        self.receivers.hashing(hashing);
    }

    #[inline]
    fn queue_changed(&mut self, chip: Chip, now_ns: u64, length: u32) {
        self.queues.change(chip, now_ns, length);
    }

    #[inline]
    fn hash_queue_changed(&mut self, now_ns: u64, length: u32) {
        self.hash_queue.change(HASH_UNIT, now_ns, length);
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
