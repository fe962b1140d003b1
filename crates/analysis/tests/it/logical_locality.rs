//! Logical locality against all pairs of requests, and by hand.

use arrow_array::cast::AsArray;
use flashtwin_analysis::{Direction, LocalityOfKind, LogicalLocalityOptions, logical_locality};
use flashtwin_trace::{Op, Trace};

use crate::common::{Random, Shape, floats, shaped_trace, trace_of, u32s};

/// A request's volume, first and last page.
type Extent = (u32, u64, u64);

fn extents(trace: &Trace, op: Op, page_bytes: u64) -> Vec<Extent> {
    let mine = (0..trace.len()).filter(|&index| trace.op[index] == op);
    mine.map(|index| {
        let first = trace.offset_bytes[index];
        let last = first + u64::from(trace.length_bytes[index]) - 1;
        (trace.volume[index], first / page_bytes, last / page_bytes)
    })
    .collect()
}

fn distance(a: Extent, b: Extent) -> Option<u64> {
    let gap = a.1.saturating_sub(b.2).max(b.1.saturating_sub(a.2));
    (a.0 == b.0).then_some(gap)
}

/// Requests that hit another, by distance and time - 1: every request beside every one within the time.
fn reference(requests: &[Extent], options: LogicalLocalityOptions) -> Vec<Vec<u64>> {
    let (distances, times) = (options.distance_pages_max as usize + 1, options.time_requests_max as usize);
    let mut hits = vec![vec![0; times]; distances];
    for (now, &request) in requests.iter().enumerate() {
        // For each distance the soonest request within it.
        let mut soonest = vec![times; distances];
        for time in (1..=times).rev() {
            let other = match options.direction {
                Direction::Forward => requests.get(now + time),
                Direction::Backward => now.checked_sub(time).map(|before| &requests[before]),
            };
            let near = other.and_then(|&other| distance(request, other));
            for place in soonest.iter_mut().skip(near.map_or(distances, |near| near as usize)) {
                *place = time - 1;
            }
        }
        for (row, soonest) in hits.iter_mut().zip(soonest) {
            row.iter_mut().skip(soonest).for_each(|count| *count += 1);
        }
    }
    hits
}

fn check(found: &LocalityOfKind, requests: &[Extent], options: LogicalLocalityOptions, what: &str) {
    assert_eq!(found.requests, requests.len() as u64, "{what}");
    let expected = reference(requests, options);
    for distance in 0..=options.distance_pages_max {
        for time in 1..=options.time_requests_max {
            let expected = expected[distance as usize][time as usize - 1];
            let probability = (!requests.is_empty()).then(|| expected as f64 / requests.len() as f64);
            assert_eq!(
                found.probability(distance, time),
                probability,
                "{what}, distance {distance}, time {time}"
            );
        }
    }
}

fn both_directions(trace: &Trace, options: LogicalLocalityOptions, what: &str) {
    let page_bytes = u64::from(options.sector_bytes);
    for direction in [Direction::Forward, Direction::Backward] {
        let options = LogicalLocalityOptions { direction, ..options };
        let found = logical_locality(trace, options);
        assert_eq!(found.options, options);
        let what = format!("{what}, {direction:?}");
        check(&found.read, &extents(trace, Op::Read, page_bytes), options, &what);
        check(&found.write, &extents(trace, Op::Write, page_bytes), options, &what);
    }
}

#[test]
fn agrees_with_all_pairs_on_small_traces() {
    let mut random = Random::new(1);
    for round in 0..2000 {
        let shape = Shape {
            requests: 1 + random.below(60),
            volumes: 1 + random.below(3),
            pages: [4, 40, 400][random.below(3) as usize],
            longest: [1, 3, 40][random.below(3) as usize],
        };
        let options = LogicalLocalityOptions {
            distance_pages_max: random.below(70) as u32,
            time_requests_max: 1 + random.below(40) as u32,
            ..LogicalLocalityOptions::new(512)
        };
        let trace = shaped_trace(&mut random, shape, 512);
        both_directions(&trace, options, &format!("round {round}"));
    }
}

#[test]
fn agrees_with_all_pairs_for_long_requests_and_many_chunks() {
    let mut random = Random::new(2);
    for round in 0..60 {
        let shape = Shape {
            requests: 200,
            volumes: 1 + random.below(2),
            pages: 20_000,
            longest: [1, 64, 3000][random.below(3) as usize],
        };
        let options = LogicalLocalityOptions {
            distance_pages_max: [200, 1024, 1500][random.below(3) as usize],
            time_requests_max: 1 + random.below(60) as u32,
            ..LogicalLocalityOptions::new(4096)
        };
        let trace = shaped_trace(&mut random, shape, 4096);
        both_directions(&trace, options, &format!("round {round}"));
    }
}

#[test]
fn agrees_with_all_pairs_across_blocks() {
    let mut random = Random::new(3);
    // Reads and writes fill more than one block each.
    let shape = Shape { requests: 300_000, volumes: 2, pages: 30_000, longest: 20 };
    let options = LogicalLocalityOptions {
        distance_pages_max: 40,
        time_requests_max: 12,
        ..LogicalLocalityOptions::new(4096)
    };
    let trace = shaped_trace(&mut random, shape, 4096);
    assert!(trace.op.iter().filter(|&&op| op == Op::Read).count() > 80_000);
    both_directions(&trace, options, "blocks");
}

fn writes(pages: &[(u64, u64)]) -> Trace {
    trace_of(pages.iter().map(|&(page, pages)| (Op::Write, page * 4096, pages * 4096)))
}

#[test]
fn page_j_hits_page_i_within_its_distance_and_time() {
    // Fig. 13 of the SWC paper: page i is written at t, page j = i + 3 at t' = t + 2.
    let trace = writes(&[(100, 1), (5000, 1), (103, 1)]);
    let found = logical_locality(&trace, LogicalLocalityOptions::new(4096)).write;
    let third = Some(1.0 / 3.0);
    assert_eq!(found.probability(3, 2), third);
    assert_eq!(found.probability(2, 2), Some(0.0));
    assert_eq!(found.probability(3, 1), Some(0.0));
    assert_eq!(found.probability(1024, 5000), third);
    assert_eq!(found.probability(1024, 0), Some(0.0));
    assert_eq!(found.probability(1025, 1), None);
    assert_eq!(found.probability(0, 5001), None);
}

#[test]
fn the_whole_range_counts_but_not_against_itself() {
    // Sixteen pages, then a page beside their middle, then one right behind them.
    let trace = writes(&[(64, 16), (70, 1), (80, 1)]);
    let found = logical_locality(&trace, LogicalLocalityOptions::new(4096)).write;
    assert_eq!(found.hits(0, 1), Some(1));
    assert_eq!(found.hits(1, 2), Some(1));
    // The second request lies 10 pages before the third.
    assert_eq!((found.hits(9, 2), found.hits(10, 2)), (Some(1), Some(2)));
    let backward =
        LogicalLocalityOptions { direction: Direction::Backward, ..LogicalLocalityOptions::new(4096) };
    let found = logical_locality(&trace, backward).write;
    // The third request continues the first, two requests before it.
    assert_eq!((found.hits(1, 1), found.hits(1, 2)), (Some(1), Some(2)));
}

#[test]
fn a_sequential_stream_is_hit_at_once() {
    let requests: Vec<(u64, u64)> = (0..1000).map(|number| (number * 8, 8)).collect();
    let found = logical_locality(&writes(&requests), LogicalLocalityOptions::new(4096));
    assert_eq!(found.write.probability(0, 5000), Some(0.0));
    assert_eq!(found.write.probability(1, 1), Some(0.999));
    assert_eq!(found.write.highest_probability, Some(0.999));
    assert_eq!(found.read.requests, 0);
    assert_eq!(found.read.highest_probability, None);
}

#[test]
fn tables_say_what_the_full_result_says() {
    let mut random = Random::new(4);
    let shape = Shape { requests: 3000, volumes: 1, pages: 5000, longest: 8 };
    let trace = shaped_trace(&mut random, shape, 4096);
    let found = logical_locality(&trace, LogicalLocalityOptions::new(4096));
    let table = &found.table;
    let kinds = table["kind"].as_string::<i32>();
    let (distances, times) = (u32s(table, "distance_pages"), u32s(table, "time_requests"));
    let probabilities = floats(table, "probability");
    let of = |kind: &str| if kind == "read" { &found.read } else { &found.write };
    for row in 0..table.num_rows() {
        let expected = of(kinds.value(row)).probability(distances[row], times[row]);
        assert_eq!(probabilities[row], expected);
    }
    for corner in [(0, 1), (1, 1), (64, 16), (1024, 5000)] {
        let rows = (0..table.num_rows()).filter(|&row| (distances[row], times[row]) == corner).count();
        assert_eq!(rows, 2, "{corner:?}");
    }
    let gain = &found.gain;
    let (kinds, along) = (gain["kind"].as_string::<i32>(), gain["along"].as_string::<i32>());
    let (at, gains) = (u32s(gain, "at"), floats(gain, "gain"));
    for row in 0..gain.num_rows() {
        let kind = of(kinds.value(row));
        let probability = |distance, time| kind.probability(distance, time).unwrap();
        let at = at[row];
        let expected = match along.value(row) {
            "time" => probability(at, 5000) - probability(at, 1),
            _ => probability(1024, at) - probability(0, at),
        };
        assert_eq!(gains[row], Some(expected));
    }
    assert_eq!(gain.num_rows(), 22);
}
