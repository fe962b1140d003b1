//! The metrics against references that are too simple to be wrong, on random traces.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use flashtwin_analysis::{Concentration, basics, popularity, trace_info};
use flashtwin_trace::{NO_CONTENT, Op, Trace, TraceBuilder};

use crate::common::{SECOND, floats, page_ops, random_trace, share, trace_of, u64s};

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9 * b.abs().max(1.0),
        (a, b) => a == b,
    }
}

/// All page accesses: (operation, volume and page, content), in order.
fn accesses(trace: &Trace) -> Vec<(Op, (u32, u64), u32)> {
    page_ops(trace).into_iter().map(|(row, page, content)| (trace.op[row], page, content)).collect()
}

/// Share of page writes whose content some page holds, with pages that are read first preloaded.
fn duplicates(trace: &Trace) -> Option<f64> {
    let accesses = accesses(trace);
    let mut held: HashMap<(u32, u64), u32> = HashMap::new();
    let mut touched = HashSet::new();
    for &(op, page, content) in &accesses {
        if touched.insert(page) && op == Op::Read {
            held.insert(page, content);
        }
    }
    let (mut writes, mut duplicates) = (0, 0);
    for &(op, page, content) in &accesses {
        match op {
            Op::Read | Op::Flush => {}
            Op::Trim => {
                held.remove(&page);
            }
            Op::Write => {
                writes += 1;
                duplicates += usize::from(held.values().any(|&other| other == content));
                held.insert(page, content);
            }
        }
    }
    share(duplicates, writes)
}

fn median(mut sizes: Vec<u32>) -> Option<f64> {
    sizes.sort_unstable();
    let middle = sizes.len() / 2;
    match sizes.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(f64::from(sizes[middle])),
        _ => Some((f64::from(sizes[middle - 1]) + f64::from(sizes[middle])) / 2.0),
    }
}

#[test]
fn basics_agree_with_the_reference() {
    for seed in 0..500 {
        let trace = random_trace(seed);
        let info = trace_info(&trace);
        let accesses = accesses(&trace);
        let of = |op: Op| -> Vec<usize> { (0..trace.len()).filter(|&i| trace.op[i] == op).collect() };
        assert_eq!(info.requests as usize, trace.len());
        assert_eq!(info.reads as usize, of(Op::Read).len());
        assert_eq!(info.writes as usize, of(Op::Write).len());
        assert_eq!(info.trims as usize, of(Op::Trim).len());
        let sizes: Vec<u32> = of(Op::Read).iter().map(|&i| trace.length_bytes[i]).collect();
        assert_eq!(info.read_bytes, sizes.iter().map(|&size| u64::from(size)).sum::<u64>());
        assert_eq!(info.request_bytes.read.median, median(sizes));
        let pages: HashSet<_> =
            accesses.iter().filter(|access| access.0 != Op::Trim).map(|access| access.1).collect();
        assert_eq!(info.footprint_pages, Some(pages.len() as u64));
        for (op, unique) in
            [(Op::Read, info.unique_values_read_percent), (Op::Write, info.unique_values_write_percent)]
        {
            let values: Vec<u32> = accesses.iter().filter(|a| a.0 == op).map(|a| a.2).collect();
            let distinct: HashSet<u32> = values.iter().copied().collect();
            assert!(close(unique, share(distinct.len(), values.len())), "seed {seed}");
        }
        assert!(close(info.duplicate_write_percent, duplicates(&trace)), "seed {seed}");
        let sequential = (1..trace.len())
            .filter(|&i| {
                let before = (0..i).rev().find(|&j| trace.volume[j] == trace.volume[i]);
                before.is_some_and(|j| {
                    trace.offset_bytes[j] + u64::from(trace.length_bytes[j]) == trace.offset_bytes[i]
                })
            })
            .count();
        assert!(close(info.sequential_percent, share(sequential, trace.len())));
        check_rate(&trace, info.requests_per_second);
        let close_behind = faster(&trace, 400);
        check_trains(&close_behind, trace_info(&close_behind).trains);
    }
}

fn check_rate(trace: &Trace, rate: flashtwin_analysis::Rate) {
    let dispersion = |width: i64| {
        let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
        trace.time_ns.iter().for_each(|time| *bins.entry(time / width).or_default() += 1);
        let whole = trace.duration_ns() / width;
        let counts: Vec<f64> = (0..whole).map(|bin| bins.get(&bin).copied().unwrap_or(0) as f64).collect();
        let mean = counts.iter().sum::<f64>() / whole as f64;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / whole as f64;
        (bins.values().max().copied(), (whole >= 2 && mean > 0.0).then(|| variance / mean))
    };
    let (peak, index) = dispersion(SECOND);
    assert_eq!(rate.peak, peak);
    assert!(close(rate.index_of_dispersion, index));
    assert!(close(rate.index_of_dispersion_10_ms, dispersion(SECOND / 100).1));
}

/// The same requests, closer to each other by a factor of `times`.
fn faster(trace: &Trace, times: i64) -> Trace {
    let mut builder = TraceBuilder::new("faster");
    for index in 0..trace.len() {
        let mut request = trace.request(index);
        request.time_ns /= times;
        builder.push(request, trace.contents(index));
    }
    builder.build().unwrap()
}

/// Trains again, as lists of requests.
fn check_trains(trace: &Trace, found: flashtwin_analysis::Trains) {
    let mut trains: Vec<Vec<usize>> = Vec::new();
    for index in 0..trace.len() {
        match trains.last_mut() {
            Some(train) if trace.time_ns[index] - trace.time_ns[index - 1] <= 1_000_000 => train.push(index),
            _ => trains.push(vec![index]),
        }
    }
    let mut lengths: Vec<u64> = trains.iter().map(|train| train.len() as u64).collect();
    lengths.sort_unstable();
    let rank = |part: usize, of: usize| lengths.get((lengths.len() * part).div_ceil(of) - 1).copied();
    assert_eq!((found.median_requests, found.p90_requests), (rank(1, 2), rank(9, 10)));
    let mixed =
        trains.iter().filter(|train| train.iter().any(|&at| trace.op[at] != trace.op[train[0]])).count();
    assert!(close(found.mixed_percent, share(mixed, trains.len())));
    let follows = |at: usize| {
        let before = (0..at).rev().find(|&other| trace.volume[other] == trace.volume[at]);
        before.is_some_and(|other| {
            trace.offset_bytes[other] + u64::from(trace.length_bytes[other]) == trace.offset_bytes[at]
        })
    };
    let joined =
        trains[1..].iter().filter(|train| follows(train[0]) && trace.op[train[0]] == trace.op[train[0] - 1]);
    assert!(close(found.joined_percent, share(joined.count(), trains.len() - 1)));
    let inside: Vec<usize> = trains.iter().flat_map(|train| train[1..].to_vec()).collect();
    let sequential = inside.iter().filter(|&&at| follows(at)).count();
    assert!(close(found.sequential_percent, share(sequential, inside.len())));
    assert!(close(found.within_1_ms_percent, share(inside.len(), trace.len() - 1)));
}

#[test]
fn periods_add_up_and_agree_with_the_reference() {
    for seed in 0..300 {
        let trace = random_trace(seed);
        let period = SECOND * 3;
        let table = basics(&trace, period).0.periods;
        let rows = table.num_rows();
        assert_eq!(rows as i64, trace.duration_ns() / period + 1);
        let starts = table["start_ns"].as_primitive::<Int64Type>().values().to_vec();
        let ends = table["end_ns"].as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(starts[0], 0);
        assert_eq!(starts[1..], ends[..rows - 1]);
        let (mut read_before, mut seen_before) = (HashSet::new(), HashSet::new());
        for row in 0..rows {
            let inside: Vec<usize> =
                (0..trace.len()).filter(|&i| (starts[row]..ends[row]).contains(&trace.time_ns[i])).collect();
            let contents = |op: Op| -> Vec<u32> {
                let mine = inside.iter().filter(|&&i| trace.op[i] == op);
                mine.flat_map(|&i| trace.contents(i).to_vec()).collect()
            };
            let distinct = |op: Op| contents(op).into_iter().collect::<HashSet<u32>>();
            let (read, written) = (distinct(Op::Read), distinct(Op::Write));
            let expect = |name: &str, value: usize| {
                assert_eq!(u64s(&table, name)[row], value as u64, "seed {seed}, {name}");
            };
            expect("reads", inside.iter().filter(|&&i| trace.op[i] == Op::Read).count());
            expect("trims", inside.iter().filter(|&&i| trace.op[i] == Op::Trim).count());
            expect("page_reads", contents(Op::Read).len());
            expect("page_writes", contents(Op::Write).len());
            expect("distinct_contents_read", read.len());
            expect("distinct_contents_written", written.len());
            expect("new_contents_read", read.difference(&read_before).count());
            let all: HashSet<u32> = read.union(&written).copied().collect();
            expect("new_contents", all.difference(&seen_before).count());
            read_before.extend(read);
            seen_before.extend(all);
        }
    }
}

fn reference_concentration(mut counts: Vec<u64>) -> Option<Concentration> {
    counts.retain(|&count| count > 0);
    counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
    let total: u64 = counts.iter().sum();
    let holding = |share: u64| {
        let enough = |&n: &usize| counts[..n].iter().sum::<u64>() * 100 >= total * share;
        let needed = (0..=counts.len()).find(enough).unwrap();
        needed as f64 / counts.len() as f64 * 100.0
    };
    (total > 0).then(|| Concentration {
        contents: counts.len() as u64,
        accesses: total,
        contents_for_50_percent: holding(50),
        contents_for_80_percent: holding(80),
    })
}

#[test]
fn popularity_agrees_with_the_reference() {
    for seed in 0..500 {
        let trace = random_trace(seed);
        let accesses = accesses(&trace);
        let count =
            |op: Op, content: u32| accesses.iter().filter(|a| a.0 == op && a.2 == content).count() as u64;
        let counts = |op: Op| (0..trace.content_count()).map(|c| count(op, c)).collect::<Vec<_>>();
        let Some(found) = popularity(&trace) else {
            assert!(accesses.iter().all(|access| access.2 == NO_CONTENT));
            continue;
        };
        assert_eq!(found.read, reference_concentration(counts(Op::Read)));
        assert_eq!(found.write, reference_concentration(counts(Op::Write)));
        let kinds = found.table["kind"].as_string::<i32>().clone();
        let (x, y) = (floats(&found.table, "value_fraction"), floats(&found.table, "access_fraction"));
        let curve = |kind: &str| -> Vec<(f64, f64)> {
            let rows = (0..kinds.len()).filter(|&row| kinds.value(row) == kind);
            rows.map(|row| (x[row].unwrap(), y[row].unwrap())).collect()
        };
        // Few contents, so that every rank has its point.
        let mut order: Vec<u32> = (0..trace.content_count()).collect();
        order.sort_by_key(|&content| std::cmp::Reverse(count(Op::Read, content)));
        for (kind, op) in [("read_by_read_order", Op::Read), ("write_by_read_order", Op::Write)] {
            let total: u64 = counts(op).iter().sum();
            let points = curve(kind);
            let mut sum = 0;
            for (nth, &(x, y)) in points.iter().enumerate() {
                sum += count(op, order[nth]);
                assert!(close(Some(x), Some((nth + 1) as f64 / order.len() as f64)));
                assert!(close(Some(y), Some(sum as f64 / total as f64)));
            }
            assert_eq!(points.len(), if total > 0 { order.len() } else { 0 });
        }
        if let Some(&last) = curve("read").last() {
            assert_eq!(last, (1.0, 1.0));
        }
    }
}

#[test]
fn undefined_ratios_are_missing() {
    let trace = trace_of([(Op::Write, 0, 512)]);
    let info = flashtwin_analysis::info(&trace);
    for key in ["unique_values_read_percent", "unique_values_write_percent", "duplicate_write_percent"] {
        assert!(info[key].is_null(), "{key}: {}", info[key]);
    }
    assert!(info["request_bytes"]["read"]["mean"].is_null());
    assert!(info["requests_per_second"]["mean"].is_null());
    assert_eq!(info["request_bytes"]["write"]["median"], 512.0);
    assert_eq!(popularity(&trace), None);
    let tables = flashtwin_analysis::tables(&trace, f64::NAN);
    assert_eq!(tables.len(), 1);
    assert_eq!(tables[0].1.num_rows(), 1);
}

#[test]
fn a_curve_has_at_most_a_thousand_points() {
    let mut builder = TraceBuilder::new("many");
    for number in 0..5000u32 {
        builder.request(i64::from(number), Op::Write, 0, 4096, &[number]);
        builder.request(i64::from(number), Op::Read, 0, 4096, &[number]);
    }
    let found = popularity(&builder.build().unwrap()).unwrap();
    let kinds = found.table["kind"].as_string::<i32>();
    for kind in ["read", "write", "read_by_read_order", "write_by_read_order"] {
        let points = kinds.iter().filter(|&k| k == Some(kind)).count();
        assert!((500..=1000).contains(&points), "{kind}: {points}");
    }
}
