//! Drift, space and duplicates by place against references that are too simple to be wrong.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::common::{Random, SECOND, floats, messy_trace, random_trace, share, u32s, u64s};
use arrow_array::cast::AsArray;
use flashtwin_analysis::{Duplication, Space, drift, duplication, space};
use flashtwin_trace::{ContentSource, NO_CONTENT, Op, PageTrace, Trace};

/// Page accesses with known contents: (period, operation, content).
fn accesses(trace: &Trace, period_ns: i64) -> Vec<(i64, Op, u32)> {
    let requests = (0..trace.len()).filter(|&index| trace.op[index] != Op::Trim);
    let of = |index: usize| {
        let contents = trace.contents(index).iter().filter(|&&content| content != NO_CONTENT);
        contents.map(move |&content| (trace.time_ns[index] / period_ns, trace.op[index], content))
    };
    requests.flat_map(of).collect()
}

#[test]
fn stability_agrees_with_the_reference() {
    for seed in 0..3000 {
        let trace = random_trace(seed);
        let period_ns = (1 + Random::new(seed).below(9) as i64) * SECOND;
        let all = accesses(&trace, period_ns);
        let Some(drift) = drift(&trace, period_ns) else {
            assert!(all.is_empty());
            continue;
        };
        let periods = trace.duration_ns() / period_ns + 1;
        let popular = floats(&drift.stability, "popular_before_percent");
        let read = floats(&drift.stability, "read_before_percent");
        let seen = floats(&drift.stability, "seen_before_percent");
        let first = floats(&drift.stability, "first_read_percent");
        let new = u64s(&drift.stability, "new_contents");
        assert_eq!(popular.len() as i64, periods, "seed {seed}");
        for period in 0..periods {
            let of = |wanted: i64, only_reads: bool| -> Vec<u32> {
                let kept = all.iter().filter(move |a| a.0 == wanted && (!only_reads || a.1 == Op::Read));
                kept.map(|a| a.2).collect()
            };
            let reads = of(period, true);
            let within = |set: &HashSet<u32>| reads.iter().filter(|content| set.contains(content)).count();
            let before_percent =
                |set: &HashSet<u32>| if period > 0 { share(within(set), reads.len()) } else { None };
            let row = period as usize;
            assert_eq!(popular[row], before_percent(&most_read_tenth(&of(period - 1, true))), "seed {seed}");
            assert_eq!(read[row], before_percent(&of(period - 1, true).into_iter().collect()));
            assert_eq!(seen[row], before_percent(&of(period - 1, false).into_iter().collect()));
            let mut known: HashSet<u32> =
                all.iter().filter(|a| a.0 < period && a.1 == Op::Read).map(|a| a.2).collect();
            let firsts = reads.iter().filter(|&&content| known.insert(content)).count();
            assert_eq!(first[row], share(firsts, reads.len()));
            let earlier: HashSet<u32> = all.iter().filter(|a| a.0 < period).map(|a| a.2).collect();
            let now: HashSet<u32> = of(period, false).into_iter().collect();
            assert_eq!(new[row], now.difference(&earlier).count() as u64);
        }
    }
}

/// The tenth (rounded up) of the contents in `reads` that occur most often; ties by number.
fn most_read_tenth(reads: &[u32]) -> HashSet<u32> {
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    reads.iter().for_each(|&content| *counts.entry(content).or_default() += 1);
    let mut order: Vec<(i64, u32)> = counts.into_iter().map(|(content, count)| (-count, content)).collect();
    order.sort_unstable();
    let tenth = order.len().div_ceil(10);
    order.into_iter().take(tenth).map(|(_, content)| content).collect()
}

#[test]
fn later_periods_are_drawn_along_the_order_of_the_first() {
    for seed in 0..500 {
        let trace = random_trace(seed);
        let period_ns = 4 * SECOND;
        let all = accesses(&trace, period_ns);
        let Some(drift) = drift(&trace, period_ns) else { continue };
        let reads_of = |period: i64| -> Vec<u32> {
            all.iter().filter(|a| a.0 == period && a.1 == Op::Read).map(|a| a.2).collect()
        };
        let Some(first) = all.iter().find(|a| a.1 == Op::Read).map(|a| reads_of(a.0)) else { continue };
        let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
        first.iter().for_each(|&content| *counts.entry(content).or_default() -= 1);
        let mut order: Vec<(i64, u32)> = counts.into_iter().map(|(c, count)| (count, c)).collect();
        order.sort_unstable();
        let periods = u32s(&drift.curves, "period");
        let x = floats(&drift.curves, "value_fraction");
        let y = floats(&drift.curves, "access_fraction");
        for point in 0..x.len() {
            let reads = reads_of(i64::from(periods[point]));
            let rank = (x[point].unwrap() * order.len() as f64).round() as usize;
            let leading: HashSet<u32> = order[..rank].iter().map(|&(_, content)| content).collect();
            let hit = reads.iter().filter(|content| leading.contains(content)).count();
            let expected = hit as f64 / reads.len() as f64;
            assert!((y[point].unwrap() - expected).abs() < 1e-12, "seed {seed}");
        }
    }
}

/// Page contents, followed with a map from page to content (nameless ones numbered from 2^40).
fn pages_and_contents(trace: &Trace) -> (usize, usize) {
    let pages = PageTrace::build(trace, 4096, ContentSource::Recorded).unwrap();
    let mut held: HashMap<u32, u32> = HashMap::new();
    for lpn in 0..pages.outline.pages() {
        if pages.outline.existed_before(lpn) {
            held.insert(lpn, pages.outline.initial_content[lpn as usize]);
        }
    }
    for request in 0..pages.columns.requests() {
        for page_op in pages.columns.page_ops_of(request) {
            let lpn = pages.columns.lpn[page_op];
            match pages.columns.op[request] {
                Op::Write => {
                    held.insert(lpn, pages.columns.content[page_op]);
                }
                Op::Trim if !pages.columns.is_partial(request, page_op) => {
                    held.remove(&lpn);
                }
                _ => {}
            }
        }
    }
    let contents: HashSet<u32> = held.values().copied().collect();
    (held.len(), contents.len())
}

#[test]
fn space_agrees_with_the_page_trace() {
    for seed in 0..3000 {
        let trace = messy_trace(seed);
        if !trace.has_content() {
            continue;
        }
        let (space, quality) = space(&trace, 0);
        let Space { table, contents_of_pages_held_percent, .. } = space.unwrap();
        let (pages, contents) = pages_and_contents(&trace);
        assert_eq!(u64s(&table, "pages_held"), [pages as u64], "seed {seed}");
        assert_eq!(u64s(&table, "contents_held"), [contents as u64], "seed {seed}");
        assert_eq!(contents_of_pages_held_percent, share(contents, pages));
        let expected = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap().outline.quality;
        assert_eq!(quality.unwrap(), expected, "seed {seed}");
    }
}

/// Page reads of a content that another page holds, of all page reads; pages by volume and number.
fn duplicate_reads(trace: &Trace) -> (usize, usize) {
    let mut held: HashMap<(u32, u64), u32> = HashMap::new();
    let mut changed = HashSet::new();
    let mut ops = Vec::new();
    for index in 0..trace.len() {
        let first = trace.offset_bytes[index] / 4096;
        let pages = u64::from(trace.length_bytes[index] / 4096);
        for nth in 0..pages {
            let page = (trace.volume[index], first + nth);
            let content = trace.contents(index).get(nth as usize).copied();
            if trace.op[index] != Op::Read {
                changed.insert(page);
            } else if !changed.contains(&page) {
                held.entry(page).or_insert(content.unwrap());
            }
            ops.push((trace.op[index], page, content));
        }
    }
    let (mut reads, mut duplicates) = (0, 0);
    for (op, page, content) in ops {
        match (op, content) {
            (Op::Write, Some(content)) => drop(held.insert(page, content)),
            (Op::Read, Some(content)) => {
                reads += 1;
                let mut others = held.iter().filter(|&(&other, _)| other != page);
                duplicates += usize::from(others.any(|(_, &held)| held == content));
            }
            _ => drop(held.remove(&page)),
        }
    }
    (duplicates, reads)
}

#[test]
fn duplicates_read_agree_with_a_search_of_all_pages() {
    let mut found = 0;
    for seed in 0..2000 {
        let trace = random_trace(seed);
        let (duplicates, reads) = duplicate_reads(&trace);
        let Some(space) = space(&trace, 0).0 else { continue };
        assert_eq!(space.duplicate_read_percent, share(duplicates, reads), "seed {seed}");
        found += duplicates;
    }
    assert!(found > 1000, "{found}");
}

#[test]
fn duplicates_by_plane_agree_with_sets() {
    for seed in 0..2000 {
        let trace = random_trace(seed);
        let planes = [4 + Random::new(seed).below(70) as u32, 3];
        let mut nth = 0;
        let mut sets: HashMap<(&str, u32, u64), (u64, HashSet<u32>)> = HashMap::new();
        let mut everything = (0, HashSet::new());
        for index in (0..trace.len()).filter(|&index| trace.op[index] == Op::Write) {
            for (k, &content) in trace.contents(index).iter().enumerate() {
                everything.0 += 1;
                everything.1.insert(content);
                let page = trace.offset_bytes[index] / 4096 + k as u64;
                for planes in planes {
                    for (allocation, by) in [("static", page), ("round-robin", nth)] {
                        let entry = sets.entry((allocation, planes, by % u64::from(planes))).or_default();
                        entry.0 += 1;
                        entry.1.insert(content);
                    }
                }
                nth += 1;
            }
        }
        let Some(Duplication { by_plane, duplicate_percent, .. }) = duplication(&trace, &planes) else {
            assert_eq!(nth, 0);
            continue;
        };
        assert_eq!(duplicate_percent, share(everything.0 - everything.1.len(), everything.0));
        let (pages, contents) = (u64s(&by_plane, "pages"), u64s(&by_plane, "contents"));
        let allocation = by_plane.column_by_name("allocation").unwrap().as_string::<i32>();
        let (planes, plane) = (u32s(&by_plane, "planes"), u32s(&by_plane, "plane"));
        for row in 0..pages.len() {
            let key = (allocation.value(row), planes[row], u64::from(plane[row]));
            let (written, distinct) = sets.get(&key).map_or((0, 0), |set| (set.0, set.1.len() as u64));
            assert_eq!((pages[row], contents[row]), (written, distinct), "seed {seed} {key:?}");
        }
    }
}
