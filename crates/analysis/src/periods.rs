//! The workload period by period.

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, Requests};

use crate::input::Accumulator;
use crate::page_ops::{at, known, soon};
use crate::rows::batch_of;
use crate::sample::Sample;
use flashtwin_bits::prefetch_if_there as prefetch;

/// A longer trace gets longer periods.
const PERIODS_MAX: i64 = 100_000;

/// Periods of equal length. The last one ends with the trace.
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

    pub(crate) fn period(&self) -> u32 {
        self.period
    }

    pub(crate) fn start_ns(&self) -> i64 {
        i64::from(self.period) * self.period_ns
    }

    /// Where the next period begins, or behind the last request.
    pub(crate) fn end_ns(&self) -> i64 {
        self.start_ns().saturating_add(self.period_ns).min(self.duration_ns + 1)
    }

    #[inline]
    pub(crate) fn is_over(&self, time_ns: i64) -> bool {
        time_ns - self.start_ns() >= self.period_ns
    }

    pub(crate) fn next(&mut self) {
        self.period += 1;
    }
}

crate::rows! {
    /// One row a period.
    pub(crate) struct WorkloadPeriodRow in "periods" {
        /// Number, from 0.
        period: u32,
        /// Begin, on the trace's clock.
        start_ns: i64,
        /// End, on the trace's clock.
        end_ns: i64,
        /// Read requests that arrive.
        reads: u64,
        /// Write requests that arrive.
        writes: u64,
        /// Trim requests that arrive.
        trims: u64,
        /// Flushes that arrive.
        flushes: u64,
        /// Bytes of reads.
        read_bytes: u64,
        /// Bytes of writes.
        write_bytes: u64,
        /// Contents read: one for every 4 KB of known content; 0 in a trace without contents.
        page_reads: u64,
        /// Contents written, likewise.
        page_writes: u64,
        /// Distinct ones among the contents read, within the period.
        distinct_contents_read: u64,
        /// Distinct ones among the contents written, within the period.
        distinct_contents_written: u64,
        /// Distinct contents never read before.
        new_contents_read: u64,
        /// Distinct contents never seen before.
        new_contents: u64,
    }
}

/// By kind of request if there are several.
#[derive(Clone, Copy)]
struct Counts {
    start_ns: i64,
    end_ns: i64,
    requests: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
    pages: [u64; Op::COUNT],
    distinct: [u64; Op::COUNT],
    new_read: u64,
    new: u64,
}

/// 8 bytes a content.
pub(crate) struct Periods {
    sample: Sample,
    clock: Clock,
    counts: Vec<Counts>,
    /// Last period (from 1; 0 = never) in which a content was read and written.
    last: Vec<[u32; 2]>,
}

impl Periods {
    pub(crate) fn new(clock: Clock, sample: Sample) -> Periods {
        Periods { sample, clock, counts: Vec::new(), last: Vec::new() }
    }

    fn begin(&mut self) {
        let (start_ns, end_ns) = (self.clock.start_ns(), self.clock.end_ns());
        let [requests, bytes, pages, distinct] = [[0; Op::COUNT]; 4];
        self.counts.push(Counts { start_ns, end_ns, requests, bytes, pages, distinct, new_read: 0, new: 0 });
    }

    fn content(&mut self, row: usize, op: Op, content: u32) {
        let number = self.clock.period() + 1;
        let [read, written] = at(&mut self.last, content, [0, 0]);
        let counts = &mut self.counts[row];
        counts.pages[op as usize] += 1;
        counts.new += u64::from(*read == 0 && *written == 0);
        counts.new_read += u64::from(*read == 0 && op == Op::Read);
        let last = if op == Op::Read { read } else { written };
        counts.distinct[op as usize] += u64::from(*last != number);
        *last = number;
    }

    /// Page and content counts are estimates when sampled.
    pub(crate) fn finish(self) -> RecordBatch {
        let rate = self.sample.rate;
        let estimate = |count: u64| (count as f64 / rate).round() as u64;
        let row = |(period, counts): (u32, &Counts)| WorkloadPeriodRow {
            period,
            start_ns: counts.start_ns,
            end_ns: counts.end_ns,
            reads: counts.requests[Op::Read as usize],
            writes: counts.requests[Op::Write as usize],
            trims: counts.requests[Op::Trim as usize],
            flushes: counts.requests[Op::Flush as usize],
            read_bytes: counts.bytes[Op::Read as usize],
            write_bytes: counts.bytes[Op::Write as usize],
            page_reads: estimate(counts.pages[Op::Read as usize]),
            page_writes: estimate(counts.pages[Op::Write as usize]),
            distinct_contents_read: estimate(counts.distinct[Op::Read as usize]),
            distinct_contents_written: estimate(counts.distinct[Op::Write as usize]),
            new_contents_read: estimate(counts.new_read),
            new_contents: estimate(counts.new),
        };
        batch_of(&(0..).zip(&self.counts).map(row).collect::<Vec<_>>())
    }
}

impl Accumulator for Periods {
    fn add(&mut self, requests: &Requests<'_>) {
        let sample = self.sample;
        for index in 0..requests.len() {
            if self.counts.is_empty() {
                self.begin();
            }
            while self.clock.is_over(requests.time_ns[index]) {
                self.clock.next();
                self.begin();
            }
            let row = self.clock.period() as usize;
            let op = requests.op[index];
            self.counts[row].requests[op as usize] += 1;
            self.counts[row].bytes[op as usize] += u64::from(requests.length_bytes[index]);
            if !op.moves_data() {
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
