//! Miss-ratio curves from stack distances.

use crate::counts::Counts;
use crate::sample::GROUPS;

#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    counts: Counts,
    /// All accesses, also those without distance (the first of each item).
    pub(super) accesses: u64,
}

impl Histogram {
    #[inline]
    pub(super) fn add(&mut self, distance: Option<u32>) {
        self.accesses += 1;
        if let Some(distance) = distance {
            self.counts.add_one(distance);
        }
    }

    /// `accesses` counts all, of which the share `rate` was expected to be seen.
    pub(super) fn curve(self, accesses: f64, rate: f64) -> MissRatioCurve {
        let used = (0..self.counts.len() as u32).rev().find(|&distance| self.counts.get(distance) > 0);
        let sizes = used.map_or(0, |longest| longest as usize + 1);
        let mut below = 0;
        let mut hits = Vec::with_capacity(sizes + 1);
        hits.push(0);
        for count in self.counts.iter().take(sizes) {
            below += count;
            hits.push(below);
        }
        MissRatioCurve { hits, seen: self.accesses, expected: accesses * rate, rate }
    }
}

/// The miss ratio of an LRU cache of any size: exact, or estimated from a sample of the items. In a sample, a cache of
/// `entries` becomes one of `entries x rate`. Misses are divided by the accesses *expected* in the sample, not those
/// seen (SHARDS-adj, FAST '15), because accesses too many or too few come from hot items, which hit.
#[derive(Clone, Debug, PartialEq)]
pub struct MissRatioCurve {
    /// By the size of the cache, in items seen.
    hits: Vec<u64>,
    seen: u64,
    expected: f64,
    rate: f64,
}

impl MissRatioCurve {
    /// Share of accesses that miss an LRU cache of `entries` items. Sampled, sizes below 1 / rate lie on a straight
    /// line.
    pub fn miss_fraction(&self, entries: u64) -> f64 {
        let size = entries as f64 * self.rate;
        let (whole, part) = (size.floor(), size.fract());
        let lower = self.misses(whole as u64);
        let upper = self.misses((whole as u64).saturating_add(1));
        ((lower + (upper - lower) * part) / self.expected).clamp(0.0, 1.0)
    }

    /// All small sizes, then steps of 1 %, up to the largest useful one. Sampled, from an entry in each group on.
    pub(super) fn grid(&self) -> impl Iterator<Item = u64> {
        let largest = (self.hits.len() as u64 - 1).max(1);
        let first = if self.rate < 1.0 { (GROUPS as u64).min(largest) } else { 1 };
        let next = move |&size: &u64| (size < largest).then(|| (size + 1).max(size * 101 / 100).min(largest));
        std::iter::successors(Some(first), next).map(|size| self.entries(size))
    }

    /// With at least this many of the expected accesses hitting.
    pub(super) fn entries_for(&self, hits: f64) -> Option<u64> {
        let size = self.hits.partition_point(|&seen| self.corrected(seen) < hits);
        (size < self.hits.len()).then(|| self.entries(size as u64))
    }

    /// Expected accesses that hit at all: all but the first of each item.
    pub(super) fn reaccesses(&self) -> f64 {
        self.hits.last().map_or(0.0, |&all| self.corrected(all)).max(0.0)
    }

    pub(super) fn accesses(&self) -> f64 {
        self.expected
    }

    /// Those too many or too few in the sample count as hits.
    fn corrected(&self, hits: u64) -> f64 {
        self.expected - (self.seen - hits) as f64
    }

    fn misses(&self, size: u64) -> f64 {
        let last = self.hits.len() as u64 - 1;
        (self.seen - self.hits[size.min(last) as usize]) as f64
    }

    fn entries(&self, size: u64) -> u64 {
        (size as f64 / self.rate).round() as u64
    }
}
