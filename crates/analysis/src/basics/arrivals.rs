//! Arrival times of requests.

use schemars::JsonSchema;
use serde::Serialize;

use super::busiest::Busiest;
use crate::histogram::LogHistogram;

const NS_PER_SECOND: i64 = 1_000_000_000;
const NS_PER_MS: i64 = 1_000_000;

/// Arrival rate of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// Requests / duration; missing if all come at once.
    pub mean: Option<f64>,
    /// Most requests in one second, seconds counted from the first request.
    pub peak: Option<u64>,
    /// `peak` / `mean`; missing when the trace is shorter than a second.
    pub peak_to_mean: Option<f64>,
    /// Variance / mean of the number of requests in a second, over the whole seconds of the trace:
    /// 1 for a Poisson process, more for bursts. Missing below two seconds.
    pub index_of_dispersion: Option<f64>,
    /// The same for 10 ms: bursts of this length cause queues.
    pub index_of_dispersion_10_ms: Option<f64>,
    /// Most requests within any 1 ms of 1,000 requests in a row, a mean over the trace. The fixed
    /// number makes short traces comparable with long ones. Missing below 1,000 requests.
    pub busiest_1_ms: Option<f64>,
    /// The same within any 10 ms.
    pub busiest_10_ms: Option<f64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    requests: u64,
    last_ns: i64,
    seconds: Bins,
    hundredths: Bins,
    busiest: [Busiest; 2],
    intervals: LogHistogram,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals {
            requests: 0,
            last_ns: 0,
            seconds: Bins::new(NS_PER_SECOND),
            hundredths: Bins::new(10 * NS_PER_MS),
            busiest: [Busiest::new(NS_PER_MS), Busiest::new(10 * NS_PER_MS)],
            intervals: LogHistogram::default(),
        }
    }
}

impl Arrivals {
    pub(crate) fn add(&mut self, time_ns: &[i64]) {
        for &time in time_ns {
            self.seconds.add(time);
            self.hundredths.add(time);
            self.busiest.iter_mut().for_each(|busiest| busiest.add(time));
            if self.requests > 0 {
                self.intervals.add((time - self.last_ns) as u64);
            }
            self.requests += 1;
            self.last_ns = time;
        }
    }

    pub(crate) fn rate(&self) -> Rate {
        if self.requests == 0 {
            return Rate::default();
        }
        let mean = (self.last_ns > 0).then(|| self.requests as f64 / (self.last_ns as f64 / 1e9));
        let peak = self.seconds.peak();
        Rate {
            mean,
            peak: Some(peak),
            peak_to_mean: mean.filter(|_| self.last_ns >= NS_PER_SECOND).map(|mean| peak as f64 / mean),
            index_of_dispersion: self.seconds.index_of_dispersion(self.last_ns),
            index_of_dispersion_10_ms: self.hundredths.index_of_dispersion(self.last_ns),
            busiest_1_ms: self.busiest[0].mean(),
            busiest_10_ms: self.busiest[1].mean(),
        }
    }

    /// In nanoseconds to 3 %, each with the share of intervals up to it.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (u64, f64)> {
        self.intervals.cumulative()
    }
}

/// Requests in parts of time of equal length, counted from the first request.
#[derive(Clone, Debug)]
struct Bins {
    width_ns: i64,
    end_ns: i64,
    in_bin: u64,
    peak: u64,
    /// Of all bins before that one: sum of requests and of their squares.
    counted: u64,
    squares: f64,
}

impl Bins {
    fn new(width_ns: i64) -> Bins {
        Bins { width_ns, end_ns: width_ns, in_bin: 0, peak: 0, counted: 0, squares: 0.0 }
    }

    #[inline]
    fn add(&mut self, time: i64) {
        if time >= self.end_ns {
            self.peak = self.peak();
            self.counted += self.in_bin;
            self.squares += (self.in_bin as f64).powi(2);
            self.in_bin = 0;
            self.end_ns = (time / self.width_ns).saturating_add(1).saturating_mul(self.width_ns);
        }
        self.in_bin += 1;
    }

    fn peak(&self) -> u64 {
        self.peak.max(self.in_bin)
    }

    /// Variance / mean over the whole bins, which are just the closed ones.
    fn index_of_dispersion(&self, last_ns: i64) -> Option<f64> {
        let whole = last_ns / self.width_ns;
        let mean = self.counted as f64 / whole as f64;
        (whole >= 2 && self.counted > 0).then(|| (self.squares / whole as f64 - mean.powi(2)) / mean)
    }
}
