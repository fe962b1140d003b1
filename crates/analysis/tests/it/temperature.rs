//! Temperature ranges against references that are too simple to be wrong, and the paper's example.

use std::collections::BTreeMap;

use flashtwin_analysis::{Frequencies, OrderError, Ratio, page_writes, temperature};
use flashtwin_trace::{Op, Request, Trace, TraceBuilder};

use crate::common::{Random, Shape, floats, shaped_trace, trace_of, u32s, u64s};

impl Random {
    /// Few pages or many, alike or very unlike, hot ones and whole multiples among them.
    fn frequencies(&mut self) -> Vec<u32> {
        let pages = 1 + self.below(if self.0.0.is_multiple_of(4) { 60 } else { 12 });
        let most = [3, 10, 100, 5000, 100_000, u64::from(u32::MAX)][self.below(6) as usize];
        (0..pages)
            .map(|_| match self.below(4) {
                0 => 1 << self.below(most.ilog2().into()),
                1 => 1 + self.below(most.min(12)) as u32,
                _ => 1 + self.below(most) as u32,
            })
            .collect()
    }
}

/// Whether f_j >= f_i / (numerator / denominator).
fn fits(high: u32, low: u32, (numerator, denominator): (u64, u64)) -> bool {
    u128::from(low) * u128::from(numerator) >= u128::from(high) * u128::from(denominator)
}

/// The partition of each page, page by page as the paper says it.
fn greedy(writes: &[u32], ratio: (u64, u64)) -> Vec<u8> {
    let mut partitions = vec![None; writes.len()];
    for partition in 0.. {
        let left = (0..writes.len()).filter(|&page| partitions[page].is_none());
        let Some(hottest) = left.max_by_key(|&page| writes[page]) else { break };
        for page in 0..writes.len() {
            if partitions[page].is_none() && fits(writes[hottest], writes[page], ratio) {
                partitions[page] = Some(partition);
            }
        }
    }
    partitions.into_iter().map(Option::unwrap).collect()
}

fn count(partitions: &[u8]) -> u32 {
    partitions.iter().max().map_or(0, |&last| u32::from(last) + 1)
}

/// Tries every ratio of two frequencies, lowest first.
fn lowest_ratio(writes: &[u32], partitions: u32) -> Option<(u64, u64)> {
    let pairs = writes.iter().flat_map(|&a| writes.iter().map(move |&b| (u64::from(a), u64::from(b))));
    let mut ratios: Vec<(u64, u64)> = pairs.filter(|&(a, b)| a >= b).collect();
    ratios.sort_by_key(|&(a, b)| (u128::from(a) << 64) / u128::from(b));
    ratios.into_iter().find(|&ratio| count(&greedy(writes, ratio)) <= partitions)
}

#[test]
fn partitions_agree_with_the_reference() {
    let mut random = Random::new(1);
    for round in 0..2000 {
        let writes = random.frequencies();
        let frequencies = Frequencies::of(&writes);
        let mut histogram: BTreeMap<u32, u64> = BTreeMap::new();
        writes.iter().for_each(|&f| *histogram.entry(f).or_default() += 1);
        assert_eq!(frequencies.levels(), histogram.into_iter().rev().collect::<Vec<_>>());
        for (numerator, denominator) in [(1, 1), (3, 2), (2, 1), (5, 2), (3, 1), (5, 1), (1000, 1)] {
            let ratio = Ratio::new(numerator as f64 / denominator as f64).unwrap();
            let found = frequencies.partitions(ratio);
            let expected = greedy(&writes, (numerator, denominator));
            assert_eq!(found.len() as u32, count(&expected), "round {round}: {writes:?}");
            assert_eq!(found.of_pages(&writes).unwrap(), expected, "round {round}: {writes:?}");
            assert!(found.ratio.unwrap() <= ratio);
        }
    }
}

#[test]
fn f_min_agrees_with_the_reference() {
    let mut random = Random::new(2);
    for round in 0..2000 {
        let writes = random.frequencies();
        let writes = &writes[..writes.len().min(16)];
        let frequencies = Frequencies::of(writes);
        for partitions in [1, 2, 3, 4, 5, 8] {
            let found = frequencies.lowest_ratio(partitions).unwrap();
            let (a, b) = lowest_ratio(writes, partitions).unwrap();
            assert_eq!(found.value(), a as f64 / b as f64, "round {round}: {writes:?}");
            // The very same rational, not one that rounds to the same number.
            let used = frequencies.partitions(found);
            assert_eq!(used.ratio, Some(found));
            assert!(used.len() as u32 <= partitions);
            assert_eq!(used.of_pages(writes).unwrap(), greedy(writes, (a, b)));
            assert_eq!(frequencies.f_min(partitions), Some(found.value()).filter(|_| a <= 1000 * b));
        }
    }
}

#[test]
fn limits_are_met_exactly() {
    let needed = |writes: &[u32], ratio| Frequencies::of(writes).partitions(Ratio::new(ratio).unwrap()).len();
    assert_eq!(needed(&[2, 1], 2.0), 1);
    assert_eq!(needed(&[2_000_001, 1_000_000], 2.0), 2);
    assert_eq!(needed(&[3, 2], 1.5), 1);
    assert_eq!(needed(&[5, 2], 2.5), 1);
    assert_eq!(needed(&[4_294_967_295, 1_431_655_765], 3.0), 1);
    assert_eq!(needed(&[4_294_967_295, 1_431_655_764], 3.0), 2);
    assert_eq!(needed(&[], 2.0), 0);
    // 1 / 3 has no end in binary, 3 x (1 / 3) has.
    let thirds = Frequencies::of(&[10, 3, 1]);
    assert_eq!(thirds.f_min(2), Some(3.0));
    assert_eq!(thirds.f_min(1), Some(10.0));
    // The paper stops at 1,000; the partitions are still known.
    let far = Frequencies::of(&[1000, 1]);
    assert_eq!(far.f_min(1), Some(1000.0));
    let too_far = Frequencies::of(&[1001, 1]);
    assert_eq!(too_far.f_min(1), None);
    assert_eq!(too_far.lowest_ratio(1).map(Ratio::value), Some(1001.0));
    assert_eq!(too_far.f_min(2), Some(1.0));
    assert_eq!(too_far.f_min(0), None);
    assert_eq!(Frequencies::of(&[]).f_min(2), None);
    for not_a_ratio in [0.5, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Ratio::new(not_a_ratio), None);
    }
    // Two ratios hardly above 1, of which the larger decides.
    let [a, b, c, d] = [4_294_967_291, 4_294_967_290, 2_147_483_643, 2_147_483_642];
    let lowest = |writes: &[u32], partitions| Frequencies::of(writes).lowest_ratio(partitions).unwrap();
    assert!(lowest(&[a, b], 1) < lowest(&[c, d], 1));
    assert_eq!(lowest(&[a, b, c, d], 2), lowest(&[c, d], 1));
    // Fibonacci numbers: two ratios that differ by 3e-19, which no floating-point number tells apart.
    let [a, c, d] = [2_971_215_073, 1_836_311_903, 1_134_903_170];
    assert!(lowest(&[c, d], 1) < lowest(&[a, c], 1));
    assert_eq!(lowest(&[a, a - 1, c, d], 2), lowest(&[c, d], 1));
}

#[test]
fn as_many_pages_as_a_byte_can_tell_apart() {
    let powers: Vec<u32> = (0..256).map(|page| 10_000 + page * 10_000).collect();
    let all = Frequencies::of(&powers).partitions(Ratio::new(1.0).unwrap());
    assert_eq!(all.len(), 256);
    assert_eq!(all.of_pages(&powers).unwrap(), (0..=255).rev().collect::<Vec<u8>>());
    let more: Vec<u32> = (1..=257).collect();
    let all = Frequencies::of(&more).partitions(Ratio::new(1.0).unwrap());
    assert_eq!((all.len(), all.of_pages(&more)), (257, None));
}

/// Each page with its number of writes.
fn writes_of(pages: &[(u64, u32)]) -> Trace {
    let writes = pages.iter().flat_map(|&(page, writes)| (0..writes).map(move |_| page));
    trace_of(writes.map(|page| (Op::Write, page * 4096, 4096)))
}

/// SWC paper, Fig. 5: alignment raises the skew of A and lowers that of B.
#[test]
fn the_example_of_two_workloads() {
    let a = writes_of(&[(0, 4), (1, 3), (2, 2), (3, 1)]);
    let b = writes_of(&[(0, 4), (1, 1), (2, 3), (3, 2)]);
    let frequencies = |trace, page_bytes| Frequencies::of(&page_writes(trace, page_bytes, false).writes);
    assert_eq!(frequencies(&a, 4096), frequencies(&b, 4096));
    assert_eq!(frequencies(&a, 4096).levels(), [(4, 1), (3, 1), (2, 1), (1, 1)]);
    assert_eq!(frequencies(&a, 8192).levels(), [(7, 1), (3, 1)]);
    assert_eq!(frequencies(&b, 8192).levels(), [(5, 2)]);
    let partitions = |trace: &Trace, page_bytes: u32| {
        let table = temperature(trace, 4096).partitions;
        let rows = u32s(&table, "page_bytes").into_iter().zip(u64s(&table, "partitions"));
        rows.filter(|row| row.0 == page_bytes).map(|row| row.1).collect::<Vec<_>>()
    };
    // For f_r <= 1.5, 2, 2.5, 3, 5.
    assert_eq!(partitions(&a, 4096), [3, 2, 2, 2, 1]);
    assert_eq!(partitions(&a, 8192), [2, 2, 1, 1, 1]);
    assert_eq!(partitions(&b, 8192), [1, 1, 1, 1, 1]);
    let result = temperature(&a, 4096);
    assert_eq!((result.sectors_written, result.sector_writes), (4, 10));
    assert_eq!((result.writes_per_sector_mean, result.writes_per_sector_max), (Some(2.5), Some(4)));
    assert_eq!((result.partitions_for_ratio_1_5, result.partitions_for_ratio_3), (3, 2));
    assert_eq!((result.f_min_2, result.f_min_4), (Some(2.0), Some(1.0)));
}

/// Every page write: byte by byte, which pages does a request touch?
fn reference_writes(trace: &Trace, page_bytes: u32) -> Vec<(u32, u64)> {
    let mut writes = Vec::new();
    for request in (0..trace.len()).filter(|&request| trace.op[request] == Op::Write) {
        let start = trace.offset_bytes[request];
        let sectors = (start..start + u64::from(trace.length_bytes[request])).step_by(512);
        let mut pages: Vec<u64> = sectors.map(|byte| byte / u64::from(page_bytes)).collect();
        pages.dedup();
        writes.extend(pages.into_iter().map(|page| (trace.volume[request], page)));
    }
    writes
}

#[test]
fn page_writes_agree_with_the_reference() {
    for seed in 0..120 {
        let grid_bytes = if seed % 2 == 0 { 512 } else { 4096 };
        let mut random = Random::new(seed);
        let requests = 1 + random.below(120);
        let shape = Shape { requests, volumes: 2, pages: 400_000 / grid_bytes, longest: 20 };
        let trace = shaped_trace(&mut random, shape, grid_bytes);
        let result = temperature(&trace, grid_bytes as u32);
        let mut sizes = u32s(&result.f_min, "page_bytes");
        sizes.dedup();
        assert_eq!(sizes.len(), if grid_bytes == 512 { 8 } else { 5 });
        let (mut histogram, mut f_min) = (Vec::new(), Vec::new());
        for page_bytes in sizes {
            let expected = reference_writes(&trace, page_bytes);
            let found = page_writes(&trace, page_bytes, true);
            let mut numbers: Vec<(u32, u64)> = Vec::new();
            let mut counts: Vec<u32> = Vec::new();
            let in_order: Vec<u32> = expected
                .iter()
                .map(|page| {
                    let number = numbers.iter().position(|known| known == page).unwrap_or(numbers.len());
                    if number == numbers.len() {
                        numbers.push(*page);
                        counts.push(0);
                    }
                    counts[number] += 1;
                    number as u32
                })
                .collect();
            assert_eq!(found.writes, counts, "seed {seed}, {page_bytes} B");
            assert_eq!(found.page_writes as usize, expected.len());
            let mut order = Vec::new();
            let visited: Result<(), OrderError> =
                found.order.as_ref().unwrap().as_ref().unwrap().batches(|pages| {
                    order.extend_from_slice(pages);
                    Ok(())
                });
            assert_eq!((visited, order), (Ok(()), in_order), "seed {seed}, {page_bytes} B");
            let mut levels: BTreeMap<u32, u64> = BTreeMap::new();
            counts.iter().for_each(|&count| *levels.entry(count).or_default() += 1);
            histogram.extend(levels.into_iter().map(|(f, pages)| (page_bytes, f, pages)));
            f_min.extend((2..=32).map(|n| lowest(&counts, n)));
        }
        let table = &result.frequencies;
        let rows = u32s(table, "page_bytes").into_iter().zip(u32s(table, "writes_per_page"));
        let rows: Vec<_> = rows.zip(u64s(table, "pages")).map(|((a, b), c)| (a, b, c)).collect();
        assert_eq!(rows, histogram, "seed {seed}");
        assert_eq!(floats(&result.f_min, "f_min"), f_min, "seed {seed}");
    }
}

/// Requests with contents are moved to the grid of contents, wherever they stand in a long trace.
#[test]
fn long_traces_with_contents_are_counted_in_parts() {
    let mut random = Random::new(9);
    let mut builder = TraceBuilder::new("long");
    for time_ns in 0..5000 {
        let request = Request {
            time_ns,
            volume: 0,
            op: if random.below(3) == 0 { Op::Read } else { Op::Write },
            offset_bytes: random.below(4000) * 512,
            length_bytes: 4096,
        };
        let contents = [random.below(9) as u32];
        builder.push(request, if random.below(2) == 0 { &contents } else { &[] });
    }
    let trace = builder.build().unwrap();
    let whole = trace.requests(0..trace.len());
    let writes = (0..trace.len()).filter(|&index| trace.op[index] == Op::Write);
    let mut expected: BTreeMap<u64, u32> = BTreeMap::new();
    writes
        .flat_map(|index| whole.pages(index, 4096))
        .for_each(|page| *expected.entry(page).or_default() += 1);
    let mut found = page_writes(&trace, 4096, false).writes;
    let mut expected: Vec<u32> = expected.into_values().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// The reference of f_min over distinct frequencies, as others change nothing.
fn lowest(counts: &[u32], partitions: u32) -> Option<f64> {
    let mut distinct = counts.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    lowest_ratio(&distinct, partitions).map(|(a, b)| a as f64 / b as f64)
}
