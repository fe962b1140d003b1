use std::cell::OnceCell;

use hdrhistogram::Histogram;

use super::blocks::{BlockRow, BlockTimes, Blocks};
use super::ledgers::{step_ns, step_of};
use super::{Course, Ledgers};
use crate::engine::Ledger;

/// Exact sums and a histogram (three significant digits), of the period and of the run. Only the run has the charges.
///
/// Blocks of the trace are counted at their end only, by the increase of sum and buckets.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) whole: Tally,
    /// Its count and its histogram follow from `buckets` at the end.
    period: Tally,
    buckets: Vec<u64>,
    blocks: Blocks,
    pub(crate) course: Course,
    /// Sums over the course, computed on first use, at the end of the run.
    ledgers: OnceCell<Ledgers>,
}

/// Buckets of each doubling of the time, as a power of two: those of a histogram with three significant digits.
const BUCKETS_SHIFT: u32 = 10;

/// The bucket of the histogram for a time. The library's own function takes three times as many instructions.
#[inline]
fn bucket_of(time_ns: u64) -> usize {
    step_of::<BUCKETS_SHIFT>(time_ns)
}

#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) histogram: Histogram<u64>,
    pub(crate) count: u64,
    pub(crate) sum_ns: u128,
    pub(crate) sum_squares_ns2: WideSum,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
}

/// A sum of squares that never overflows, because the squares of 2^64 times need more than 128 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WideSum {
    low: u128,
    carries: u64,
}

impl WideSum {
    #[inline]
    fn add(&mut self, value: u128) {
        let (low, carry) = self.low.overflowing_add(value);
        self.low = low;
        self.carries += u64::from(carry);
    }

    fn add_all(&mut self, other: &Self) {
        self.carries += other.carries;
        self.add(other.low);
    }

    fn exact(&self) -> Option<u128> {
        (self.carries == 0).then_some(self.low)
    }

    fn approximate(&self) -> f64 {
        self.carries as f64 * 2.0_f64.powi(128) + self.low as f64
    }
}

/// Response times of one period. Without the histogram, because a trace may have a great many periods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeriodResponse {
    pub(crate) count: u64,
    sum_ns: u128,
    pub(crate) p99_ns: Option<u64>,
}

impl PeriodResponse {
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        mean(self.sum_ns, self.count)
    }

    pub(crate) fn mean_with_ns(&self, other: &Self) -> Option<f64> {
        mean(self.sum_ns + other.sum_ns, self.count + other.count)
    }
}

fn mean(sum_ns: u128, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64)
}

impl Tally {
    fn new() -> Self {
        let mut histogram = Histogram::new_from(
            &Histogram::<u64>::new_with_bounds(1, 1 << 34, 3)
                .unwrap_or_else(|_| unreachable!("the bounds are constants that satisfy the library")),
        );
        histogram.auto(true);
        Self {
            histogram,
            count: 0,
            sum_ns: 0,
            sum_squares_ns2: WideSum::default(),
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    pub(crate) fn mean_ns(&self) -> Option<f64> {
        mean(self.sum_ns, self.count)
    }

    pub(crate) fn stddev_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| {
            // n x sum of squares - square of the sum: no cancellation in integers. Numbers too large are far apart.
            let n = u128::from(self.count);
            let squares = self.sum_squares_ns2.exact().and_then(|sum| sum.checked_mul(n));
            let scaled = match (squares, self.sum_ns.checked_mul(self.sum_ns)) {
                (Some(squares), Some(square)) => squares.saturating_sub(square) as f64,
                _ => {
                    let squares = self.sum_squares_ns2.approximate() * self.count as f64;
                    (squares - (self.sum_ns as f64).powi(2)).max(0.0)
                }
            };
            scaled.sqrt() / self.count as f64
        })
    }

    pub(crate) fn percentile_ns(&self, percent: f64) -> Option<u64> {
        (self.count > 0).then(|| self.histogram.value_at_percentile(percent).min(self.max_ns))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        // The histograms resize by themselves, so adding cannot fail.
        self.histogram.add(&other.histogram).unwrap_or_default();
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares_ns2.add_all(&other.sum_squares_ns2);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Response {
    /// Of a trace of so many requests; `None`: not known yet.
    pub(crate) fn new(requests: Option<u64>) -> Self {
        let (whole, period, blocks) = (Tally::new(), Tally::new(), Blocks::new(requests));
        let buckets = vec![0; bucket_of(whole.histogram.high()) + 1];
        Self { whole, period, buckets, blocks, course: Course::default(), ledgers: OnceCell::new() }
    }

    #[inline]
    pub(crate) fn record(&mut self, number: u64, arrival_ns: u64, total: u64, ledger: &Ledger) {
        if !self.blocks.is_of_another(number) {
            self.blocks.note_arrival(arrival_ns);
        } else if !self.leave_block(number, arrival_ns, total) {
            return;
        }
        let bucket = bucket_of(total);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        let tally = &mut self.period;
        tally.sum_ns += u128::from(total);
        tally.sum_squares_ns2.add(u128::from(total) * u128::from(total));
        tally.min_ns = tally.min_ns.min(total);
        tally.max_ns = tally.max_ns.max(total);
        self.course.record(arrival_ns, total, ledger);
    }

    /// Returns whether the request counts.
    #[cold]
    #[inline(never)]
    fn leave_block(&mut self, number: u64, arrival_ns: u64, total: u64) -> bool {
        let counts = self.blocks.counts(number);
        if counts && !self.blocks.move_to_earlier(number, arrival_ns, total) {
            let counted = self.counted();
            self.blocks.count(&counted);
            self.blocks.open(number, &counted);
            self.blocks.note_arrival(arrival_ns);
        }
        counts
    }

    /// Forgets all requests. Those before `first` will not count.
    pub(crate) fn restart(&mut self, first: u64) {
        *self = Self { blocks: self.blocks.restarted(first), ..Self::new(None) };
    }

    /// The requests of the period so far, as coarsely as blocks have them.
    fn counted(&self) -> BlockTimes {
        let Tally { sum_ns, min_ns, max_ns, .. } = self.period;
        if min_ns > max_ns {
            return BlockTimes::default();
        }
        let last = self.buckets.len() - 1;
        BlockTimes::of(sum_ns, (min_ns, max_ns), |lower_ns, upper_ns| {
            self.buckets[bucket_of(lower_ns)..=bucket_of(upper_ns).min(last)].iter().sum()
        })
    }

    pub(crate) fn ledgers(&self) -> &Ledgers {
        self.ledgers.get_or_init(|| self.course.ledgers())
    }

    fn fill_histogram(&mut self) {
        self.period.count = self.buckets.iter().sum();
        for (bucket, times) in self.buckets.iter_mut().enumerate().filter(|(_, times)| **times > 0) {
            // The histogram resizes by itself, so recording cannot fail.
            let times = std::mem::take(times);
            self.period.histogram.record_n(step_ns::<BUCKETS_SHIFT>(bucket), times).unwrap_or_default();
        }
    }

    pub(crate) fn end_period(&mut self) -> PeriodResponse {
        if self.period.min_ns <= self.period.max_ns {
            self.blocks.count(&self.counted());
            self.fill_histogram();
        }
        let Tally { count, sum_ns, .. } = self.period;
        let ended = PeriodResponse { count, sum_ns, p99_ns: self.period.percentile_ns(99.0) };
        if count > 0 {
            self.whole.add(&self.period);
            self.period = Tally::new();
        }
        ended
    }

    /// The blocks of reads, writes and flushes after the last period, kind by kind of each block.
    pub(crate) fn block_rows([reads, writes, flushes]: [&Self; 3]) -> Vec<BlockRow> {
        Blocks::rows([("read", &reads.blocks), ("write", &writes.blocks), ("flush", &flushes.blocks)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Charge;

    fn flash(ns: u64) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.charge(Charge::Flash, ns);
        ledger
    }

    #[test]
    fn buckets_are_those_of_the_histogram() {
        let mut response = Response::new(None);
        let mut histogram = Tally::new().histogram;
        for time in (0..70_000u64).chain((5..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])) {
            response.record(0, 0, time, &flash(time));
            histogram.record(time).unwrap();
            assert!(histogram.equivalent(time, step_ns::<BUCKETS_SHIFT>(bucket_of(time))), "{time}");
        }
        response.end_period();
        let all = |histogram: &Histogram<u64>| -> Vec<(u64, u64)> {
            let recorded = histogram.iter_recorded();
            recorded.map(|at| (at.value_iterated_to(), at.count_since_last_iteration())).collect()
        };
        let ours = &response.whole.histogram;
        assert_eq!((all(ours), ours.max()), (all(&histogram), histogram.max()));
    }

    #[test]
    fn times_of_centuries_have_a_mean_and_a_deviation() {
        // Half of the requests took 2^62 ns, half 2^63: mean 1.5 x 2^62, deviation half of 2^62.
        let mut response = Response::new(None);
        (0..1_000).for_each(|at| response.record(0, 0, 1 << (62 + at % 2), &flash(1 << (62 + at % 2))));
        response.end_period();
        let unit = 2.0_f64.powi(62);
        assert_eq!(response.whole.mean_ns(), Some(1.5 * unit));
        assert!((response.whole.stddev_ns().unwrap() / unit - 0.5).abs() < 1e-9);
        // Where all are equal there is none, however long they took.
        let mut equal = Response::new(None);
        (0..3).for_each(|_| equal.record(0, 0, 83_725, &flash(83_725)));
        equal.end_period();
        assert_eq!(equal.whole.stddev_ns(), Some(0.0));
    }

    #[test]
    fn moments_are_exact_and_percentiles_within_a_thousandth() {
        let mut response = Response::new(None);
        let values: Vec<u64> = (1..=10_000).map(|i| i * 977).collect();
        for &value in &values {
            response.record(0, 0, value, &flash(value));
        }
        response.end_period();
        let tally = &response.whole;
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        let variance = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert_eq!(tally.mean_ns(), Some(mean));
        assert!((tally.stddev_ns().unwrap() / variance.sqrt() - 1.0).abs() < 1e-9);
        for percent in [1.0, 50.0, 99.0, 99.99] {
            let exact = values[(percent / 100.0 * values.len() as f64).ceil() as usize - 1] as f64;
            let found = tally.percentile_ns(percent).unwrap() as f64;
            assert!((found / exact - 1.0).abs() < 1e-3, "p{percent}: {found} for {exact}");
        }
    }

    #[test]
    fn deviation_of_long_similar_times_is_exact() {
        let mut response = Response::new(None);
        (0..1_000).for_each(|at| response.record(0, 0, (1 << 40) + at % 2, &flash((1 << 40) + at % 2)));
        response.end_period();
        assert_eq!(response.whole.stddev_ns(), Some(0.5));
    }

    #[test]
    fn two_kinds_together_have_the_mean_of_all_their_requests() {
        let period = |times: &[u64]| {
            let mut response = Response::new(None);
            times.iter().for_each(|&time| response.record(0, 0, time, &flash(time)));
            response.end_period()
        };
        let (one, other, none) = (period(&[10, 20, 60]), period(&[70]), period(&[]));
        assert_eq!((one.mean_ns(), other.mean_ns()), (Some(30.0), Some(70.0)));
        assert_eq!((one.mean_with_ns(&other), other.mean_with_ns(&one)), (Some(40.0), Some(40.0)));
        assert_eq!((one.mean_with_ns(&none), none.mean_with_ns(&none)), (Some(30.0), None));
    }

    #[test]
    fn nothing_measured_is_missing_not_zero() {
        let response = Response::new(None);
        assert_eq!(response.whole.mean_ns(), None);
        assert_eq!(response.whole.percentile_ns(99.0), None);
    }
}
