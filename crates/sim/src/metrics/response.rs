//! Response times of one kind of request.

use hdrhistogram::Histogram;

use crate::engine::Split;

/// Exact sums and a high dynamic range histogram (values to three significant digits), of
/// the period under way and of the whole run.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    whole: Tally,
    period: Tally,
}

/// Count, sums and histogram of response times in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) histogram: Histogram<u64>,
    pub(crate) count: u64,
    pub(crate) sum_ns: u128,
    pub(crate) sum_squares_ns2: u128,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) queueing_ns: u128,
    pub(crate) transfer_ns: u128,
    pub(crate) flash_ns: u128,
    pub(crate) controller_ns: u128,
}

/// Response times of one period: without the histogram, for a trace may have a great many periods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeriodResponse {
    count: u64,
    sum_ns: u128,
    pub(crate) p99_ns: Option<u64>,
}

impl PeriodResponse {
    /// Mean, where anything was measured.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        mean(self.sum_ns, self.count)
    }

    /// Mean of these requests and others together.
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
            sum_squares_ns2: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            queueing_ns: 0,
            transfer_ns: 0,
            flash_ns: 0,
            controller_ns: 0,
        }
    }

    /// Mean, where anything was measured.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        mean(self.sum_ns, self.count)
    }

    /// Standard deviation of the population.
    pub(crate) fn stddev_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| {
            // n x sum of squares - square of the sum, in integers: no cancellation.
            let n = u128::from(self.count);
            let scaled = (n * self.sum_squares_ns2).saturating_sub(self.sum_ns * self.sum_ns);
            (scaled as f64).sqrt() / self.count as f64
        })
    }

    /// A percentile, where anything was measured; never above the largest value seen.
    pub(crate) fn percentile_ns(&self, percent: f64) -> Option<u64> {
        (self.count > 0).then(|| self.histogram.value_at_percentile(percent).min(self.max_ns))
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: &Self) {
        // The histograms resize by themselves, so adding cannot fail.
        self.histogram.add(&other.histogram).unwrap_or_default();
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.queueing_ns += other.queueing_ns;
        self.transfer_ns += other.transfer_ns;
        self.flash_ns += other.flash_ns;
        self.controller_ns += other.controller_ns;
    }
}

impl Response {
    pub(crate) fn new() -> Self {
        Self { whole: Tally::new(), period: Tally::new() }
    }

    #[inline]
    pub(crate) fn record(&mut self, split: Split) {
        let tally = &mut self.period;
        let total = split.total_ns();
        tally.histogram.record(total).unwrap_or_default();
        tally.count += 1;
        tally.sum_ns += u128::from(total);
        tally.sum_squares_ns2 += u128::from(total) * u128::from(total);
        tally.min_ns = tally.min_ns.min(total);
        tally.max_ns = tally.max_ns.max(total);
        tally.queueing_ns += u128::from(split.queueing_ns);
        tally.transfer_ns += u128::from(split.transfer_ns);
        tally.flash_ns += u128::from(split.flash_ns);
        tally.controller_ns += u128::from(split.controller_ns);
    }

    /// Ends the period: what was measured in it.
    pub(crate) fn end_period(&mut self) -> PeriodResponse {
        let Tally { count, sum_ns, .. } = self.period;
        let ended = PeriodResponse { count, sum_ns, p99_ns: self.period.percentile_ns(99.0) };
        if count > 0 {
            self.whole.add(&self.period);
            self.period = Tally::new();
        }
        ended
    }

    /// The whole run, up to the last period that was ended.
    pub(crate) fn whole(&self) -> &Tally {
        &self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_exact_and_percentiles_within_a_thousandth() {
        let mut response = Response::new();
        let values: Vec<u64> = (1..=10_000).map(|i| i * 977).collect();
        for &value in &values {
            response.record(Split { flash_ns: value, ..Split::default() });
        }
        response.end_period();
        let tally = response.whole();
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
    fn nothing_measured_is_missing_not_zero() {
        let response = Response::new();
        assert_eq!(response.whole().mean_ns(), None);
        assert_eq!(response.whole().percentile_ns(99.0), None);
    }
}
