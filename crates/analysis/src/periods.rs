//! The workload period by period.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, UInt32Array, UInt64Array};
use flashtwin_trace::{Op, Requests};

use crate::Accumulator;
use crate::page_ops::{at, known, soon};
use crate::sample::Sample;
use crate::table::table;
use flashtwin_bits::prefetch_if_there as prefetch;

/// More periods than this are not a table to look at; periods are made longer instead.
const PERIODS_MAX: i64 = 100_000;

/// Tells periods of equal length apart; the last one ends with the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    period_ns: i64,
    duration_ns: i64,
    period: u32,
}

impl Clock {
    /// Periods of `period_ns` (one when it is not positive) in a trace of `duration_ns`.
    pub(crate) fn new(period_ns: i64, duration_ns: i64) -> Clock {
        let period_ns = if period_ns > 0 { period_ns } else { i64::MAX };
        Clock { period_ns: period_ns.max(duration_ns / PERIODS_MAX + 1), duration_ns, period: 0 }
    }

    /// The period's number, from 0.
    pub(crate) fn period(&self) -> u32 {
        self.period
    }

    /// When the period begins.
    pub(crate) fn start_ns(&self) -> i64 {
        i64::from(self.period) * self.period_ns
    }

    /// When the period ends: the next one begins, or the trace is over (its last request lies at its
    /// duration).
    pub(crate) fn end_ns(&self) -> i64 {
        self.start_ns().saturating_add(self.period_ns).min(self.duration_ns + 1)
    }

    /// Whether a time lies behind the period.
    #[inline]
    pub(crate) fn is_over(&self, time_ns: i64) -> bool {
        time_ns - self.start_ns() >= self.period_ns
    }

    pub(crate) fn next(&mut self) {
        self.period += 1;
    }
}

/// Columns of the table of periods.
#[derive(Default)]
struct Columns {
    start_ns: Vec<i64>,
    end_ns: Vec<i64>,
    requests: [Vec<u64>; 3],
    bytes: [Vec<u64>; 3],
    pages: [Vec<u64>; 3],
    distinct: [Vec<u64>; 3],
    new_read: Vec<u64>,
    new: Vec<u64>,
}

/// Counts requests and contents of each period. 8 bytes a content.
pub(crate) struct Periods {
    sample: Sample,
    clock: Clock,
    columns: Columns,
    /// Last period (from 1; 0 = never) in which a content was read and written.
    last: Vec<[u32; 2]>,
}

impl Periods {
    pub(crate) fn new(clock: Clock, sample: Sample) -> Periods {
        Periods { sample, clock, columns: Columns::default(), last: Vec::new() }
    }

    fn begin(&mut self) {
        let columns = &mut self.columns;
        columns.start_ns.push(self.clock.start_ns());
        columns.end_ns.push(self.clock.end_ns());
        for column in [&mut columns.requests, &mut columns.bytes, &mut columns.pages, &mut columns.distinct] {
            column.iter_mut().for_each(|kind| kind.push(0));
        }
        columns.new_read.push(0);
        columns.new.push(0);
    }

    fn content(&mut self, row: usize, op: Op, content: u32) {
        let number = self.clock.period() + 1;
        let [read, written] = at(&mut self.last, content, [0, 0]);
        let columns = &mut self.columns;
        columns.pages[op as usize][row] += 1;
        columns.new[row] += u64::from(*read == 0 && *written == 0);
        columns.new_read[row] += u64::from(*read == 0 && op == Op::Read);
        let last = if op == Op::Read { read } else { written };
        columns.distinct[op as usize][row] += u64::from(*last != number);
        *last = number;
    }

    /// The table `periods`, see [`crate::Basics::periods`]; page and content counts are estimates when
    /// sampled.
    pub(crate) fn finish(self) -> RecordBatch {
        let columns = self.columns;
        let rows = columns.start_ns.len() as u32;
        let rate = self.sample.rate;
        let exact = |values: Vec<u64>| Arc::new(UInt64Array::from(values)) as _;
        let scaled = |values: Vec<u64>| {
            let estimate = |count: u64| (count as f64 / rate).round() as u64;
            Arc::new(UInt64Array::from_iter_values(values.into_iter().map(estimate))) as _
        };
        let [reads, writes, trims] = columns.requests;
        let [read_bytes, write_bytes, _] = columns.bytes;
        let [page_reads, page_writes, _] = columns.pages;
        let [distinct_read, distinct_written, _] = columns.distinct;
        table(vec![
            ("period", Arc::new(UInt32Array::from_iter_values(0..rows))),
            ("start_ns", Arc::new(Int64Array::from(columns.start_ns))),
            ("end_ns", Arc::new(Int64Array::from(columns.end_ns))),
            ("reads", exact(reads)),
            ("writes", exact(writes)),
            ("trims", exact(trims)),
            ("read_bytes", exact(read_bytes)),
            ("write_bytes", exact(write_bytes)),
            ("page_reads", scaled(page_reads)),
            ("page_writes", scaled(page_writes)),
            ("distinct_contents_read", scaled(distinct_read)),
            ("distinct_contents_written", scaled(distinct_written)),
            ("new_contents_read", scaled(columns.new_read)),
            ("new_contents", scaled(columns.new)),
        ])
    }
}

impl Accumulator for Periods {
    fn add(&mut self, requests: &Requests<'_>) {
        let sample = self.sample;
        for index in 0..requests.len() {
            if self.columns.start_ns.is_empty() {
                self.begin();
            }
            while self.clock.is_over(requests.time_ns[index]) {
                self.clock.next();
                self.begin();
            }
            let row = self.clock.period() as usize;
            let op = requests.op[index];
            self.columns.requests[op as usize][row] += 1;
            self.columns.bytes[op as usize][row] += u64::from(requests.length_bytes[index]);
            if op == Op::Trim {
                continue;
            }
            for &content in soon(requests, index) {
                prefetch(&self.last, content as usize);
            }
            for content in known(requests, index).filter(|&content| sample.keeps_content(content)) {
                self.content(row, op, content);
            }
        }
    }
}
