//! Value locality against plain LRU lists, by closed forms and by sample.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use flashtwin_analysis::{Reuse, Sample, StackDistances, ValueLocality, value_locality};
use flashtwin_trace::{NO_CONTENT, Op, Request, Trace, TraceBuilder};

use crate::common::{Random, floats, u64s};

/// The list of items in order of last access, latest first.
#[derive(Default)]
struct LruList<T>(Vec<T>);

impl<T: PartialEq> LruList<T> {
    fn access(&mut self, item: T) -> Option<usize> {
        let depth = self.0.iter().position(|other| *other == item);
        depth.map(|depth| self.0.remove(depth));
        self.0.insert(0, item);
        depth
    }
}

#[test]
fn distances_stay_right_when_slots_run_out() {
    let mut random = Random::new(2);
    // Few items: many renumberings. Many: the table grows in between.
    for (items, accesses) in [(3, 100_000), (300, 100_000), (7000, 60_000), (9000, 60_000)] {
        let (mut stack, mut list) = (StackDistances::default(), LruList::default());
        for number in 0..accesses {
            let item = random.skewed(items) as u32;
            let expected = list.access(item).map(|depth| depth as u32);
            assert_eq!(stack.access(item), expected, "access {number} of {items} items");
        }
    }
}

#[test]
fn a_cycle_returns_when_all_others_have_passed() {
    let items = 300_000;
    let mut stack = StackDistances::new();
    for round in 0..5 {
        for item in 0..items {
            let expected = (round > 0).then_some(items - 1);
            assert_eq!(stack.access(item), expected);
        }
    }
}

/// Requests of 1 to 4 pages; some without contents, some off the grid, some contents unknown.
fn random_trace(random: &mut Random) -> Trace {
    let mut builder = TraceBuilder::new("random");
    let (contents, footprint) = (1 + random.below(30), 1 + random.below(30));
    for number in 0..1 + random.below(120) {
        let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Trim][random.below(5) as usize];
        let pages = 1 + random.below(4);
        let known = random.below(5) > 0 && op != Op::Trim;
        let carried: Vec<u32> = (0..pages)
            .filter(|_| known)
            .map(|_| if random.below(8) == 0 { NO_CONTENT } else { random.skewed(contents) as u32 })
            .collect();
        let off_grid = if carried.is_empty() { random.below(8) * 512 } else { 0 };
        let request = Request {
            time_ns: number as i64,
            volume: random.below(2) as u32,
            op,
            offset_bytes: random.below(footprint) * 4096 + off_grid,
            length_bytes: (pages * 4096) as u32,
        };
        builder.push(request, &carried);
    }
    builder.build().unwrap()
}

fn contents_of(trace: &Trace, op: Op) -> Vec<u32> {
    let mine = (0..trace.len()).filter(|&index| trace.op[index] == op);
    mine.flat_map(|index| trace.contents(index).to_vec()).filter(|&content| content != NO_CONTENT).collect()
}

fn pages_of(trace: &Trace, op: Op) -> Vec<(u32, u64)> {
    let mine = (0..trace.len()).filter(|&index| trace.op[index] == op);
    mine.flat_map(|index| {
        let request = trace.request(index);
        let last = request.offset_bytes + u64::from(request.length_bytes) - 1;
        (request.offset_bytes / 4096..=last / 4096).map(move |page| (request.volume, page))
    })
    .collect()
}

fn depths<T: PartialEq + Clone>(accesses: &[T]) -> Vec<Option<usize>> {
    let mut list = LruList(Vec::new());
    accesses.iter().map(|item| list.access(item.clone())).collect()
}

fn misses(depths: &[Option<usize>], entries: usize) -> usize {
    depths.iter().filter(|depth| depth.is_none_or(|depth| depth >= entries)).count()
}

/// Entries and miss fractions of the rows of a table.
fn curve(table: &RecordBatch, kind: &str, of: Option<&str>) -> Vec<(u64, f64)> {
    let kinds = table["kind"].as_string::<i32>();
    let (entries, fractions) = (u64s(table, "entries"), floats(table, "miss_fraction"));
    (0..table.num_rows())
        .filter(|&row| kinds.value(row) == kind)
        .filter(|&row| of.is_none_or(|of| table["of"].as_string::<i32>().value(row) == of))
        .map(|row| (entries[row], fractions[row].unwrap()))
        .collect()
}

fn check<T: PartialEq + Clone>(found: Option<&Reuse>, rows: &[(u64, f64)], accesses: &[T]) {
    let Some(found) = found else {
        assert!(accesses.is_empty() && rows.is_empty());
        return;
    };
    let depths = depths(accesses);
    let total = accesses.len();
    let first = depths.iter().filter(|depth| depth.is_none()).count();
    assert_eq!((found.accesses, found.items), (total as u64, first as u64));
    let fraction = |entries: usize| misses(&depths, entries) as f64 / total as f64;
    for entries in 0..first + 3 {
        assert_eq!(found.curve.miss_fraction(entries as u64), fraction(entries));
    }
    // Few items, so that every size has its row, up to the one beyond which nothing changes.
    let longest = depths.iter().flatten().max().map_or(1, |depth| depth + 1);
    let expected: Vec<(u64, f64)> = (1..=longest).map(|size| (size as u64, fraction(size))).collect();
    assert_eq!(rows, expected);
    let smallest = |hits: usize| {
        (1..=first).find(|&size| (total - misses(&depths, size)) * 10 >= hits * 9).map(|size| size as u64)
    };
    let again = total - first;
    let expected = if again > 0 { smallest(again) } else { None };
    assert_eq!(found.entries_for_90_percent_of_reaccesses, expected);
    assert_eq!(found.entries_for_90_percent_of_accesses, smallest(total));
    let saved = expected.map(|entries| (1.0 - entries as f64 / first as f64) * 100.0);
    assert_eq!(found.memory_saved_percent, saved);
    assert_eq!(found.reaccess_percent, again as f64 / total as f64 * 100.0);
}

/// The fewest contents that receive half of the accesses.
fn popular(accesses: &[u32]) -> HashSet<u32> {
    let count = |content: u32| accesses.iter().filter(|&&other| other == content).count();
    let distinct: HashSet<u32> = accesses.iter().copied().collect();
    let mut order: Vec<u32> = distinct.into_iter().collect();
    order.sort_by_key(|&content| (std::cmp::Reverse(count(content)), content));
    let mut received = 0;
    let enough = |&content: &u32| {
        let wanted = received * 2 < accesses.len();
        received += count(content);
        wanted
    };
    order.into_iter().take_while(enough).collect()
}

fn check_popular(found: &ValueLocality, kind: &str, accesses: &[u32]) {
    let rows = curve(&found.popular_miss_ratio, kind, None);
    let reuse = if kind == "read" { &found.read.content } else { &found.write.content };
    let popular = popular(accesses);
    assert_eq!(reuse.as_ref().and_then(|reuse| reuse.popular_items).unwrap_or(0), popular.len() as u64);
    let all = depths(accesses);
    let mine: Vec<Option<usize>> = (accesses.iter().zip(all))
        .filter(|(content, _)| popular.contains(content))
        .map(|(_, depth)| depth)
        .collect();
    let longest = mine.iter().flatten().max().map_or(1, |depth| depth + 1);
    let fraction = |size| misses(&mine, size) as f64 / mine.len() as f64;
    let expected: Vec<(u64, f64)> =
        (1..=longest).filter(|_| !accesses.is_empty()).map(|size| (size as u64, fraction(size))).collect();
    assert_eq!(rows, expected);
}

#[test]
fn agrees_with_plain_lru_lists() {
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let trace = random_trace(&mut random);
        let found = value_locality(&trace, Sample::ALL);
        for (op, kind, reuse) in [(Op::Read, "read", &found.read), (Op::Write, "write", &found.write)] {
            let rows = |of| curve(&found.miss_ratio, kind, Some(of));
            check(reuse.content.as_ref(), &rows("content"), &contents_of(&trace, op));
            check(reuse.address.as_ref(), &rows("address"), &pages_of(&trace, op));
            check_popular(&found, kind, &contents_of(&trace, op));
        }
        let errors = found.miss_ratio["miss_fraction_error"].clone();
        assert_eq!(errors.null_count(), errors.len());
    }
}

fn writes_of(contents: &[u32]) -> Trace {
    let mut builder = TraceBuilder::new("writes");
    for (number, &content) in contents.iter().enumerate() {
        builder.request(number as i64, Op::Write, number as u64 * 4096, 4096, &[content]);
    }
    builder.build().unwrap()
}

#[test]
fn large_caches_come_in_steps_of_one_percent() {
    let items = 5000;
    let contents: Vec<u32> = (0..items * 3).map(|number| number % items).collect();
    let found = value_locality(&writes_of(&contents), Sample::ALL);
    let rows = curve(&found.miss_ratio, "write", Some("content"));
    // A cycle hits only where all of it fits.
    assert_eq!(rows.last(), Some(&(u64::from(items), 1.0 / 3.0)));
    assert!(rows[..rows.len() - 1].iter().all(|row| row.1 == 1.0));
    assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[1].0 * 100 <= pair[0].0 * 101 + 100));
    assert!(rows.len() < 600);
}

/// Mostly hot contents and pages, some that are never met again.
fn skewed_trace(seed: u64, requests: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new("skewed");
    for number in 0..requests {
        let op = if random.below(3) == 0 { Op::Read } else { Op::Write };
        let content = if random.below(5) == 0 { 50_000 + number } else { random.skewed(50_000) };
        // Numbers say nothing about popularity.
        let page = random.skewed(40_000).wrapping_mul(0x9e37_79b9) % 1_000_003;
        builder.request(number as i64, op, page * 4096, 4096, &[content as u32]);
    }
    builder.build().unwrap()
}

/// For each row of a sampled curve how far it is off the exact one, in stated errors.
fn errors_off(exact: &ValueLocality, sampled: &ValueLocality) -> Vec<f64> {
    let table = &sampled.miss_ratio;
    let (kinds, of) = (table["kind"].as_string::<i32>(), table["of"].as_string::<i32>());
    let (entries, fractions) = (u64s(table, "entries"), floats(table, "miss_fraction"));
    let errors = floats(table, "miss_fraction_error");
    (0..table.num_rows())
        .map(|row| {
            let reuse = if kinds.value(row) == "read" { &exact.read } else { &exact.write };
            let reuse = if of.value(row) == "content" { &reuse.content } else { &reuse.address };
            let expected = reuse.as_ref().unwrap().curve.miss_fraction(entries[row]);
            (fractions[row].unwrap() - expected) / errors[row].unwrap()
        })
        .collect()
}

#[test]
fn a_sample_is_off_by_no_more_than_its_stated_error_allows() {
    for rate in [0.03, 0.1, 0.3] {
        let mut off = Vec::new();
        for seed in 0..10 {
            let trace = skewed_trace(seed, 300_000);
            let exact = value_locality(&trace, Sample::ALL);
            let sampled = value_locality(&trace, Sample::new(rate, seed));
            off.extend(errors_off(&exact, &sampled));
        }
        let rows = off.len() as f64;
        assert!(rows > 10_000.0);
        let most = off.iter().fold(0.0f64, |most, off| most.max(off.abs()));
        let beyond = off.iter().filter(|off| off.abs() > 2.0).count() as f64;
        let mean_square = off.iter().map(|off| off * off).sum::<f64>() / rows;
        assert!(most < 6.0, "rate {rate}: off by {most} errors");
        assert!(beyond < rows * 0.2, "rate {rate}: {beyond} of {rows} rows off by more than two errors");
        // A standard error: its square is the mean square of the error.
        assert!((0.5..2.0).contains(&mean_square), "rate {rate}: {mean_square}");
    }
}

#[test]
fn a_sample_of_everything_is_exact() {
    let trace = skewed_trace(7, 50_000);
    let exact = value_locality(&trace, Sample::ALL);
    let all = value_locality(&trace, Sample::new(1.0, 99));
    assert_eq!((&all.read, &all.write), (&exact.read, &exact.write));
    assert_eq!(all.miss_ratio, exact.miss_ratio);
    assert_eq!(all.popular_miss_ratio, exact.popular_miss_ratio);
    // So rare to leave anything out that nothing is, but on the way that samples go.
    let nearly = value_locality(&trace, Sample::new(1.0 - 1e-9, 99));
    // The first 15 sizes are too small for 16 groups.
    assert_eq!(nearly.popular_miss_ratio.num_rows(), exact.popular_miss_ratio.num_rows() - 2 * 15);
    for (kind, of) in [("read", "content"), ("write", "content"), ("read", "address"), ("write", "address")] {
        let exact = curve(&exact.miss_ratio, kind, Some(of));
        let nearly = curve(&nearly.miss_ratio, kind, Some(of));
        assert_eq!(nearly.len(), exact.len() - 15);
        for (nearly, exact) in nearly.into_iter().zip(&exact[15..]) {
            assert_eq!(nearly.0, exact.0);
            assert!((nearly.1 - exact.1).abs() < 1e-6);
        }
    }
}
