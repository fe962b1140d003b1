//! Trains: requests that arrive close behind each other, and the silence between them.

use std::collections::BTreeMap;

use flashtwin_trace::Op;
use schemars::JsonSchema;
use serde::Serialize;

use crate::histogram::LogHistogram;
use crate::value_counts::percent;

pub(crate) const APART_NS: i64 = 1_000_000;
/// A silence up to this is a short one: a flash write's time and a few more.
const SHORT_NS: i64 = 10_000_000;
const LONG: u64 = 16;

/// Trains of requests: a train goes on as long as the next request comes within 1 ms. Flushes,
/// which move no data, are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Trains {
    /// Trains of the trace.
    pub trains: u64,
    /// Requests that come within 1 ms of the one before / requests but the first.
    pub within_1_ms_percent: Option<f64>,
    /// Requests / trains.
    pub mean_requests: Option<f64>,
    /// Median number of requests of a train.
    pub median_requests: Option<u64>,
    /// 90th percentile of the requests of a train.
    pub p90_requests: Option<u64>,
    /// Requests in trains of 16 and more / requests.
    pub requests_in_long_percent: Option<f64>,
    /// Median gap between requests of a train, ns; rounded up by at most 3 %.
    pub gap_median_ns: Option<u64>,
    /// Silences between trains of at most 10 ms / silences.
    pub short_silence_percent: Option<f64>,
    /// Trains of several kinds of requests / trains.
    pub mixed_percent: Option<f64>,
    /// Trains that continue the stream before them (same kind of request, at the end of the
    /// previous one on their volume) / trains but the first.
    pub joined_percent: Option<f64>,
    /// Requests of trains, without each first one, that begin at the end of the one before on their
    /// volume / those requests.
    pub sequential_percent: Option<f64>,
}

/// Counts trains as requests come. Memory: a number for each length that occurs.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrainCounts {
    requests: u64,
    last: Option<(i64, Op)>,
    /// Of the train that goes on.
    length: u64,
    kind: Option<Op>,
    mixes: bool,
    mixed: u64,
    lengths: BTreeMap<u64, u64>,
    gaps: LogHistogram,
    short_silences: u64,
    joined: u64,
    sequential: u64,
}

impl TrainCounts {
    #[inline]
    pub(crate) fn add(&mut self, time_ns: i64, op: Op, sequential: bool) {
        self.requests += 1;
        if let Some((last_ns, last_op)) = self.last.replace((time_ns, op)) {
            let gap = time_ns - last_ns;
            if gap <= APART_NS {
                self.length += 1;
                self.gaps.add(gap as u64);
                self.sequential += u64::from(sequential);
                self.mixes |= self.kind != Some(op);
                return;
            }
            self.close();
            self.short_silences += u64::from(gap <= SHORT_NS);
            self.joined += u64::from(sequential && op == last_op);
        }
        (self.length, self.kind, self.mixes) = (1, Some(op), false);
    }

    fn close(&mut self) {
        *self.lengths.entry(self.length).or_insert(0) += 1;
        self.mixed += u64::from(self.mixes);
    }

    /// With the present train included.
    pub(crate) fn finish(&self) -> Trains {
        let mut all = self.clone();
        if all.length > 0 {
            all.close();
        }
        let trains = all.lengths.values().sum::<u64>();
        let (silences, within) = (trains.saturating_sub(1), all.requests - trains);
        let long: u64 = all.lengths.range(LONG..).map(|(length, trains)| length * trains).sum();
        Trains {
            trains,
            within_1_ms_percent: percent(within, all.requests.saturating_sub(1)),
            mean_requests: (trains > 0).then(|| all.requests as f64 / trains as f64),
            median_requests: all.length_of(trains.div_ceil(2)),
            p90_requests: all.length_of((trains * 9).div_ceil(10)),
            requests_in_long_percent: percent(long, all.requests),
            gap_median_ns: all.gaps.cumulative().find(|&(_, share)| share >= 0.5).map(|(gap, _)| gap),
            short_silence_percent: percent(all.short_silences, silences),
            mixed_percent: percent(all.mixed, trains),
            joined_percent: percent(all.joined, silences),
            sequential_percent: percent(all.sequential, within),
        }
    }

    /// From 1, the shortest first.
    fn length_of(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        self.lengths.iter().find_map(|(&length, &trains)| {
            below += trains;
            (below >= rank).then_some(length)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(requests: &[(i64, Op, bool)]) -> Trains {
        let mut counts = TrainCounts::default();
        requests.iter().for_each(|&(time_us, op, sequential)| counts.add(time_us * 1_000, op, sequential));
        counts.finish()
    }

    #[test]
    fn a_train_ends_where_more_than_a_millisecond_passes() {
        let (read, write) = (Op::Read, Op::Write);
        let found = counted(&[
            (0, write, false),
            (40, write, true),
            (1_040, write, true),
            // 1.001 ms later.
            (2_041, write, true),
            (2_081, read, false),
            (15_000, read, true),
        ]);
        let expected = Trains {
            trains: 3,
            within_1_ms_percent: Some(60.0),
            mean_requests: Some(2.0),
            median_requests: Some(2),
            p90_requests: Some(3),
            requests_in_long_percent: Some(0.0),
            gap_median_ns: found.gap_median_ns,
            short_silence_percent: Some(50.0),
            mixed_percent: Some(1.0 / 3.0 * 100.0),
            joined_percent: Some(100.0),
            sequential_percent: Some(2.0 / 3.0 * 100.0),
        };
        assert_eq!(found, expected);
        let gap = found.gap_median_ns.unwrap();
        assert!((40_000..41_250).contains(&gap), "{gap}");
    }

    #[test]
    fn of_nothing_there_is_no_share() {
        assert_eq!(counted(&[]), Trains::default());
        let one = counted(&[(7, Op::Write, false)]);
        assert_eq!((one.trains, one.median_requests, one.p90_requests), (1, Some(1), Some(1)));
        assert_eq!((one.within_1_ms_percent, one.joined_percent, one.mixed_percent), (None, None, Some(0.0)));
    }

    #[test]
    fn lengths_by_rank() {
        let mut time = 0;
        let mut requests = Vec::new();
        for length in [20, 1, 1, 3] {
            for _ in 0..length {
                requests.push((time, Op::Write, false));
                time += 10;
            }
            time += 50_000;
        }
        let found = counted(&requests);
        assert_eq!((found.median_requests, found.p90_requests), (Some(1), Some(20)));
        assert_eq!(found.requests_in_long_percent, Some(80.0));
        assert_eq!(found.short_silence_percent, Some(0.0));
    }
}
