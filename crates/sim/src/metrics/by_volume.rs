//! Requests and programs by volume, of a trace with several.

use flashtwin_ftl::Lpn;
use flashtwin_trace::{Op, Outline};

use super::ledgers::{from_ns, row_of};
use crate::engine::Arrived;

/// Requests of one kind to one volume. Memory: the counts, from the row of the fastest to that of the slowest.
#[derive(Debug, Clone, Default)]
pub(crate) struct VolumeTimes {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    sum_ns: u128,
    max_ns: u64,
    first_row: usize,
    counts: Vec<u64>,
}

impl VolumeTimes {
    fn record(&mut self, total_ns: u64) {
        let row = row_of(total_ns);
        if self.counts.is_empty() {
            self.first_row = row;
        } else if row < self.first_row {
            self.counts.splice(0..0, (row..self.first_row).map(|_| 0));
            self.first_row = row;
        }
        let place = row - self.first_row;
        self.counts.resize(self.counts.len().max(place + 1), 0);
        self.counts[place] += 1;
        self.sum_ns += u128::from(total_ns);
        self.max_ns = self.max_ns.max(total_ns);
    }

    pub(crate) fn mean_ns(&self) -> Option<f64> {
        let count: u64 = self.counts.iter().sum();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    pub(crate) fn max_ns(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.max_ns)
    }

    /// The highest time of the row of the request that so many percent are no slower than.
    pub(crate) fn percentile_ns(&self, percent: u64) -> Option<u64> {
        let count: u64 = self.counts.iter().sum();
        let rank = (u128::from(count) * u128::from(percent)).div_ceil(100);
        let mut below = 0;
        let place = self.counts.iter().position(|&count| {
            below += u128::from(count);
            below >= rank
        })?;
        Some(from_ns(self.first_row + place + 1).wrapping_sub(1).min(self.max_ns))
    }
}

/// One volume, by [`Op`], and the pages programmed because the host wrote its pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct VolumeFigures {
    pub(crate) kinds: [VolumeTimes; Op::COUNT],
    pub(crate) programs: u64,
}

/// Memory of a volume with reads and writes, whose times take some 300 rows each.
pub(crate) const VOLUME_BYTES: u64 = 5_000;

#[derive(Debug, Clone)]
pub(crate) struct ByVolume {
    pub(crate) volumes: Vec<VolumeFigures>,
    first_lpns: Vec<u32>,
}

impl ByVolume {
    /// `None` for a trace of one volume.
    pub(crate) fn of(trace: &Outline) -> Option<Self> {
        let first_lpns: Vec<u32> = trace.volumes.iter().map(|&(_, first)| first).collect();
        let volumes = vec![VolumeFigures::default(); first_lpns.len()];
        (volumes.len() > 1).then_some(Self { volumes, first_lpns })
    }

    /// A request is complete; a trim has no time.
    pub(super) fn completed(&mut self, arrived: &Arrived, total_ns: Option<u64>) {
        let kind = &mut self.volumes[arrived.extent.volume as usize].kinds[arrived.kind as usize];
        kind.requests += 1;
        kind.bytes += u64::from(arrived.extent.length_bytes);
        if let Some(total_ns) = total_ns {
            kind.record(total_ns);
        }
    }

    pub(super) fn programmed(&mut self, lpn: Lpn) {
        let volume = self.first_lpns.partition_point(|&first| first <= lpn.number());
        self.volumes[volume - 1].programs += 1;
    }

    pub(super) fn restart(&mut self) {
        self.volumes.fill(VolumeFigures::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_a_sorted_list_to_its_row() {
        let mut times = VolumeTimes::default();
        assert_eq!((times.mean_ns(), times.max_ns(), times.percentile_ns(50)), (None, None, None));
        // 40 us, 10 us and 70 us, a row each; then 97 of 20 us.
        [40_000, 10_000, 70_000].into_iter().chain((0..97).map(|_| 20_000)).for_each(|ns| times.record(ns));
        assert_eq!((times.mean_ns(), times.max_ns()), (Some(20_600.0), Some(70_000)));
        let top = |ns: u64| from_ns(row_of(ns) + 1) - 1;
        let expected =
            [(1, top(10_000)), (50, top(20_000)), (98, top(20_000)), (99, top(40_000)), (100, 70_000)];
        for (percent, ns) in expected {
            assert_eq!(times.percentile_ns(percent), Some(ns), "{percent}");
        }
    }
}
