//! How unevenly contents are used.

use std::sync::Arc;

use arrow_array::{Float64Array, RecordBatch, StringArray};
use flashtwin_trace::{Op, Trace};
use serde::Serialize;

use crate::basics::known;
use crate::table::table;

/// Most points of a curve in the table.
const POINTS_MAX: u64 = 1000;

/// Value popularity (CA-SSD paper, Fig. 2; RR-SSD paper, Fig. 4): how page reads and page writes
/// are spread over contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    /// Of reads, over the contents that are read; missing without any.
    pub read: Option<Concentration>,
    /// Of writes, over the contents that are written; missing without any.
    pub write: Option<Concentration>,
    /// The curves: `kind`, `value_fraction`, `access_fraction` (both 0 to 1, ascending): the share of
    /// accesses that the most popular share of contents receives. At most 1,000 points a kind, denser
    /// where contents are most popular.
    ///
    /// | kind | accesses | contents | sorted by |
    /// | --- | --- | --- | --- |
    /// | `read` | page reads | those read | reads |
    /// | `write` | page writes | those written | writes |
    /// | `read_by_read_order` | page reads | all | reads |
    /// | `write_by_read_order` | page writes | all | reads |
    ///
    /// Contents of equal popularity stay in order of first appearance.
    pub table: RecordBatch,
}

/// How concentrated accesses are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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

/// Computes [`Popularity`]; `None` when no read or write carries a known content. Exact.
pub fn popularity(trace: &Trace) -> Option<Popularity> {
    let contents = trace.content_count() as usize;
    let mut counts = [vec![0u64; contents], vec![0u64; contents]];
    for request in (0..trace.len()).filter(|&request| trace.op[request] != Op::Trim) {
        let kind = &mut counts[trace.op[request] as usize];
        for &content in known(trace, request) {
            kind[content as usize] += 1;
        }
    }
    let [reads, writes] = counts;
    if reads.iter().chain(&writes).all(|&count| count == 0) {
        return None;
    }
    let own_reads = descending(&reads);
    let own_writes = descending(&writes);
    let mut read_order: Vec<usize> =
        (0..contents).filter(|&content| reads[content] + writes[content] > 0).collect();
    read_order.sort_by_key(|&content| std::cmp::Reverse(reads[content]));
    let along = |counts: &[u64]| read_order.iter().map(|&c| counts[c]).collect::<Vec<_>>();
    let mut curves = Curves::default();
    curves.add("read", &own_reads);
    curves.add("write", &own_writes);
    curves.add("read_by_read_order", &along(&reads));
    curves.add("write_by_read_order", &along(&writes));
    Some(Popularity {
        read: concentration(&own_reads),
        write: concentration(&own_writes),
        table: curves.table(),
    })
}

/// The counts above 0, highest first.
fn descending(counts: &[u64]) -> Vec<u64> {
    let mut counts: Vec<u64> = counts.iter().copied().filter(|&count| count > 0).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

fn concentration(counts: &[u64]) -> Option<Concentration> {
    let accesses: u64 = counts.iter().sum();
    if accesses == 0 {
        return None;
    }
    let contents = counts.len() as u64;
    let holding = |percent: u128| {
        let mut sum = 0;
        // Integers, so that "at least" means just that.
        let needed = counts.iter().position(|&count| {
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

/// Points of all curves, one kind behind another.
#[derive(Default)]
struct Curves {
    kind: Vec<&'static str>,
    value_fraction: Vec<f64>,
    access_fraction: Vec<f64>,
}

impl Curves {
    /// Adds the curve of `counts` in their order; nothing when there are no accesses.
    fn add(&mut self, kind: &'static str, counts: &[u64]) {
        let accesses: u64 = counts.iter().sum();
        if accesses == 0 {
            return;
        }
        let contents = counts.len() as u128;
        let points = u128::from(POINTS_MAX);
        let (mut taken, mut sum) = (0usize, 0u64);
        for point in 1..=points {
            // Quadratic steps: the popular contents, where the curve bends, get more points.
            let rank = (contents * point * point).div_ceil(points * points) as usize;
            if rank == taken {
                continue;
            }
            sum += counts[taken..rank].iter().sum::<u64>();
            taken = rank;
            self.kind.push(kind);
            self.value_fraction.push(rank as f64 / contents as f64);
            self.access_fraction.push(sum as f64 / accesses as f64);
        }
    }

    fn table(self) -> RecordBatch {
        table(vec![
            ("kind", Arc::new(StringArray::from(self.kind))),
            ("value_fraction", Arc::new(Float64Array::from(self.value_fraction))),
            ("access_fraction", Arc::new(Float64Array::from(self.access_fraction))),
        ])
    }
}
