//! When requests come.

use serde::Serialize;

use crate::histogram::LogHistogram;

const NS_PER_SECOND: i64 = 1_000_000_000;

/// How fast requests come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    /// Requests / duration; missing when all come at once.
    pub mean: Option<f64>,
    /// Most requests in one second, seconds counted from the first request.
    pub peak: Option<u64>,
    /// `peak` / `mean`; missing when the trace is shorter than a second.
    pub peak_to_mean: Option<f64>,
    /// Variance / mean of the number of requests in a second, over the whole seconds of the trace:
    /// 1 for a Poisson process, more for bursts. Missing below two seconds.
    pub index_of_dispersion: Option<f64>,
}

/// Counts requests a second and the time between requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    requests: u64,
    last_ns: i64,
    /// Second of the last request, and requests in it so far.
    second: i64,
    in_second: u64,
    peak: u64,
    /// Of all seconds before that one: sum of requests and of their squares.
    counted: u64,
    squares: f64,
    intervals: LogHistogram,
}

impl Arrivals {
    pub(crate) fn add(&mut self, time_ns: &[i64]) {
        for &time in time_ns {
            let second = time / NS_PER_SECOND;
            if second != self.second {
                self.close_second();
                self.second = second;
            }
            self.in_second += 1;
            if self.requests > 0 {
                self.intervals.add((time - self.last_ns) as u64);
            }
            self.requests += 1;
            self.last_ns = time;
        }
    }

    fn close_second(&mut self) {
        self.peak = self.peak.max(self.in_second);
        self.counted += self.in_second;
        self.squares += (self.in_second as f64).powi(2);
        self.in_second = 0;
    }

    pub(crate) fn rate(&self) -> Rate {
        if self.requests == 0 {
            return Rate::default();
        }
        let whole_seconds = self.last_ns / NS_PER_SECOND;
        let mean = (self.last_ns > 0).then(|| self.requests as f64 / (self.last_ns as f64 / 1e9));
        let peak = self.peak.max(self.in_second);
        // The last second is not whole, so the seconds that were closed are just the whole ones.
        let mean_count = self.counted as f64 / whole_seconds as f64;
        Rate {
            mean,
            peak: Some(peak),
            peak_to_mean: mean.filter(|_| whole_seconds >= 1).map(|mean| peak as f64 / mean),
            index_of_dispersion: (whole_seconds >= 2 && self.counted > 0)
                .then(|| (self.squares / whole_seconds as f64 - mean_count.powi(2)) / mean_count),
        }
    }

    /// Time between requests, in nanoseconds, with the share of intervals up to it; to 3 %.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (u64, f64)> {
        self.intervals.cumulative()
    }
}
