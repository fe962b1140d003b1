//! Popularity of contents.

use std::ops::Range;

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::counts::Counts;
use crate::error;
use crate::input::whole;
use crate::rows::batch_of;
use crate::sample::Sample;
use crate::value_counts::ValueCounts;

const POINTS_MAX: u64 = 1000;

/// Value popularity (CA-SSD paper, Fig. 2; RR-SSD paper, Fig. 4): the distribution of page reads
/// and page writes over contents.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Popularity {
    /// For reads, over the contents read; missing without any.
    pub read: Option<Concentration>,
    /// For writes, over the contents written; missing without any.
    pub write: Option<Concentration>,
    /// The table of `PopularityRow`.
    #[serde(skip)]
    pub table: RecordBatch,
}

crate::rows! {
    /// Curves of at most 1,000 points, denser where contents are most popular; absent without contents.
    ///
    /// Contents of equal popularity stay in order of first appearance.
    pub(crate) struct PopularityRow in "popularity" {
        /// `read`: page reads, over the contents read, by reads; `write`: page writes, over those
        /// written, by writes; `read_by_read_order`, `write_by_read_order`: page reads and page
        /// writes, over all contents, by reads.
        kind: &'static str,
        /// Share of the contents, the most popular first, 0 to 1.
        value_fraction: f64,
        /// Share of the accesses that they receive, 0 to 1.
        access_fraction: f64,
    }
}

/// Concentration of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Concentration {
    /// Contents accessed.
    pub contents: u64,
    /// Page accesses.
    pub accesses: u64,
    /// Smallest share of these contents that receives at least half of the accesses; percent.
    pub contents_for_50_percent: f64,
    /// Smallest share of these contents that receives at least 80 % of the accesses; percent.
    pub contents_for_80_percent: f64,
}

/// `None` when no read or write carries a known content. Exact.
pub fn popularity(trace: &Trace) -> Option<Popularity> {
    of_counts(&whole(ValueCounts::new(Sample::ALL), trace))
}

/// Of the contents of a sample when they are sampled.
pub(crate) fn of_counts(values: &ValueCounts) -> Option<Popularity> {
    if values.accesses == [0, 0] {
        return None;
    }
    let (reads, writes) = (values.of(Op::Read), values.of(Op::Write));
    let own_reads = reads.descending();
    let own_writes = writes.descending();
    let accessed = (0..reads.len().max(writes.len()) as u32)
        .filter(|&content| reads.get(content) > 0 || writes.get(content) > 0);
    let read_order = reads.ranks(accessed);
    let along = |counts: &Counts| read_order.iter().map(|&content| counts.get(content)).collect();
    let mut curves = Curves::default();
    curves.add("read", &own_reads);
    curves.add("write", &own_writes);
    curves.add("read_by_read_order", &along(reads));
    curves.add("write_by_read_order", &along(writes));
    Some(Popularity {
        read: concentration(&own_reads),
        write: concentration(&own_writes),
        table: batch_of(&curves.0),
    })
}

/// Standard errors of `contents_for_50_percent` and `contents_for_80_percent` when sampled.
pub(crate) fn concentration_errors(values: &ValueCounts, op: Op) -> [Option<f64>; 2] {
    let of_groups = values.groups(op).map(|counts| concentration(&counts.descending()));
    let error = |of: fn(&Concentration) -> f64| error::of_mean(of_groups.iter().map(|c| c.as_ref().map(of)));
    [error(|group| group.contents_for_50_percent), error(|group| group.contents_for_80_percent)]
}

/// The ranks that each of at most `points` points adds. Steps are quadratic: the curve bends at popular contents.
pub(crate) fn curve_steps(contents: usize, points: u64) -> impl Iterator<Item = Range<usize>> {
    let (contents, points) = (contents as u128, u128::from(points));
    let ends = (1..=points).map(move |point| (contents * point * point).div_ceil(points * points) as usize);
    let mut taken = 0;
    ends.filter_map(move |end| {
        let start = std::mem::replace(&mut taken, end);
        (start < end).then_some(start..end)
    })
}

fn concentration(counts: &Counts) -> Option<Concentration> {
    let accesses: u64 = counts.iter().sum();
    if accesses == 0 {
        return None;
    }
    let contents = counts.len() as u64;
    let holding = |percent: u128| {
        let mut sum = 0;
        // Integers, so that "at least" means just that.
        let needed = counts.iter().position(|count| {
            sum += u128::from(count);
            sum * 100 >= u128::from(accesses) * percent
        });
        needed.map_or(100.0, |last| (last + 1) as f64 / contents as f64 * 100.0)
    };
    Some(Concentration {
        contents,
        accesses,
        contents_for_50_percent: holding(50),
        contents_for_80_percent: holding(80),
    })
}

#[derive(Default)]
struct Curves(Vec<PopularityRow>);

impl Curves {
    /// Adds the curve of `counts` in their order; nothing when there are no accesses.
    fn add(&mut self, kind: &'static str, counts: &Counts) {
        let accesses: u64 = counts.iter().sum();
        if accesses == 0 {
            return;
        }
        let (mut sum, mut left) = (0u64, counts.iter());
        for ranks in curve_steps(counts.len(), POINTS_MAX) {
            sum += left.by_ref().take(ranks.len()).sum::<u64>();
            self.0.push(PopularityRow {
                kind,
                value_fraction: ranks.end as f64 / counts.len() as f64,
                access_fraction: sum as f64 / accesses as f64,
            });
        }
    }
}
