//! Holes and zeroes: pages that hold nothing are no duplicates, and zeroes are counted.

use std::collections::{HashMap, HashSet};

use crate::common::{Random, page_ops, random_trace, share};
use flashtwin_analysis::trace_info;
use flashtwin_trace::{Op, Trace, TraceBuilder};

/// The same requests, on volumes with holes, one content of which is known to be zeroes.
fn with_holes(trace: &Trace, seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new("holes");
    for _ in 0..random.below(6) {
        let start = random.below(40) * 4096;
        let volume = random.below(trace.volume_names.len() as u64) as u32;
        builder.hole(volume, start..start + (1 + random.below(12)) * 4096);
    }
    builder.zeroes(random.below(4) as u32);
    for index in 0..trace.len() {
        builder.push(trace.request(index), trace.contents(index));
    }
    builder.build().unwrap()
}

/// Content of each page, a page operation at a time, in a plain map.
struct Plain {
    duplicates: usize,
    writes: usize,
    reads_of_holes: u64,
    touched: HashSet<(u32, u64)>,
    /// Page reads and writes with a known content, and zeroes among them.
    known: [usize; 2],
    zeroes: [usize; 2],
}

/// Follows the requests, all of which have whole pages and known contents.
fn plain(trace: &Trace) -> Plain {
    let mut held: HashMap<(u32, u64), Option<u32>> = HashMap::new();
    // A page read before it is written had that content from the beginning.
    for (row, page, content) in page_ops(trace) {
        let is_hole = trace.holes.cover(page.0, &(page.1 * 4096..(page.1 + 1) * 4096));
        let before = if trace.op[row] == Op::Read && !is_hole { Some(content) } else { None };
        held.entry(page).or_insert(before);
    }
    let mut found = Plain {
        duplicates: 0,
        writes: 0,
        reads_of_holes: 0,
        touched: HashSet::new(),
        known: [0; 2],
        zeroes: [0; 2],
    };
    for (row, page, content) in page_ops(trace) {
        let op = trace.op[row];
        if op == Op::Trim {
            held.insert(page, None);
            continue;
        }
        found.touched.insert(page);
        found.known[op as usize] += 1;
        found.zeroes[op as usize] += usize::from(Some(content) == trace.zero_content);
        if op == Op::Write {
            found.writes += 1;
            found.duplicates += usize::from(held.values().any(|&other| other == Some(content)));
            held.insert(page, Some(content));
        } else if held[&page].is_none() {
            found.reads_of_holes += 1;
        }
    }
    found
}

#[test]
fn holes_are_not_held_and_zeroes_are_counted() {
    let (mut of_holes, mut of_zeroes) = (0, 0);
    for seed in 0..300 {
        let trace = with_holes(&random_trace(seed), seed);
        let (info, expected) = (trace_info(&trace), plain(&trace));
        let duplicates = share(expected.duplicates, expected.writes);
        assert_eq!(info.duplicate_write_percent, duplicates, "seed {seed}");
        assert_eq!(info.footprint_pages, Some(expected.touched.len() as u64), "seed {seed}");
        assert_eq!(info.page_quality.unwrap().reads_of_holes, expected.reads_of_holes, "seed {seed}");
        let known = trace.zero_content.is_some();
        let percent = |kind: usize| share(expected.zeroes[kind], expected.known[kind]).filter(|_| known);
        let zeroes = (info.zero_read_percent, info.zero_write_percent);
        assert_eq!(zeroes, (percent(0), percent(1)), "seed {seed}");
        assert_eq!(info.hole_bytes, trace.holes.bytes());
        of_holes += expected.reads_of_holes;
        of_zeroes += expected.zeroes[1];
    }
    assert!(of_holes > 500 && of_zeroes > 500, "{of_holes} reads of holes, {of_zeroes} writes of zeroes");
}
