//! Read amplification and flash read cost against plain simulations, and by hand.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use flashtwin_analysis::{
    LogicalLocality, LogicalLocalityOptions, ReadAmplification, logical_locality, read_amplification,
    read_cost,
};
use flashtwin_trace::{Op, Request, Trace, TraceBuilder};

use crate::common::{Random, floats, seed, trace_of, u32s, u64s};

/// Requests in sectors: many near each other, some long, some off the grid of sectors.
fn random_trace(random: &mut Random, sector_bytes: u64) -> Trace {
    let mut builder = TraceBuilder::new("random");
    let (footprint, longest) = (1 + random.below(400), [1, 4, 300][random.below(3) as usize]);
    let mut next = 0;
    for number in 0..random.below(60) {
        let op = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Trim][random.below(5) as usize];
        let sector = if random.below(4) == 0 { next } else { random.below(footprint) };
        let sectors = 1 + random.below(longest);
        next = sector + sectors;
        let off_grid = if sector_bytes == 512 && random.below(10) == 0 { 100 } else { 0 };
        let request = Request {
            time_ns: number as i64,
            volume: random.below(2) as u32,
            op,
            offset_bytes: sector * sector_bytes + off_grid,
            length_bytes: (sectors * sector_bytes) as u32,
        };
        builder.push(request, &[]);
    }
    builder.build().unwrap()
}

/// Sector size of SWC sections 4.3 to 5.2, for every trace.
const SECTOR: u64 = 512;

/// Kind, volume, first and last sector of all requests but trims.
fn requests(trace: &Trace) -> Vec<(Op, u32, u64, u64)> {
    (0..trace.len())
        .map(|index| trace.request(index))
        .filter(|request| request.op != Op::Trim)
        .map(|request| {
            let last = request.offset_bytes + u64::from(request.length_bytes) - 1;
            (request.op, request.volume, request.offset_bytes / SECTOR, last / SECTOR)
        })
        .collect()
}

/// Sectors read with pages of `page` sectors and a cache of `cache_pages` pages: page by page.
fn sectors_missed(trace: &Trace, page: u64, cache_pages: usize) -> u64 {
    let mut cache: Vec<(u32, u64)> = Vec::new();
    let mut missed = 0;
    for (op, volume, first, last) in requests(trace) {
        for number in first / page..=last / page {
            let place = cache.iter().position(|&held| held == (volume, number));
            match place {
                Some(place) => drop(cache.remove(place)),
                None if op == Op::Read => missed += page,
                None => {}
            }
            cache.insert(0, (volume, number));
            cache.truncate(cache_pages);
        }
    }
    missed
}

fn locality(trace: &Trace, sector_bytes: u32) -> LogicalLocality {
    // As far as read amplification looks.
    let options = LogicalLocalityOptions {
        distance_pages_max: 128,
        time_requests_max: 16,
        ..LogicalLocalityOptions::new(sector_bytes)
    };
    logical_locality(trace, options)
}

fn check_amplification(trace: &Trace, granularity_bytes: u32) {
    let found = read_amplification(trace, &locality(trace, granularity_bytes));
    // P(D, T) with D in sectors, however coarse the pages on which locality was measured.
    let sectors = locality(trace, SECTOR as u32);
    let reads: Vec<u64> = requests(trace)
        .iter()
        .filter(|request| request.0 == Op::Read)
        .map(|request| request.3 - request.2 + 1)
        .collect();
    let asked: u64 = reads.iter().sum();
    assert_eq!((found.sector_bytes, found.reads, found.sectors_asked), (512, reads.len() as u64, asked));
    let (pages, caches) = (u32s(&found.table(), "page_bytes"), u32s(&found.table(), "cache_pages"));
    let missed = u64s(&found.table(), "sectors_missed");
    let expected: Vec<(u32, u32)> =
        (0..8).flat_map(|power| [0, 1, 2, 4, 8, 16].map(|cache| (512 << power, cache))).collect();
    assert_eq!(pages.iter().copied().zip(caches.iter().copied()).collect::<Vec<_>>(), expected);
    let ratio = |missed: u64, of: u64| (of > 0).then(|| missed as f64 / of as f64);
    for row in 0..pages.len() {
        let page = u64::from(pages[row]) / SECTOR;
        let what = format!("{page} sectors, cache {}, granularity {granularity_bytes}", caches[row]);
        let expected = sectors_missed(trace, page, caches[row] as usize);
        assert_eq!(missed[row], expected, "{what}");
        assert_eq!(floats(&found.table(), "read_amplification")[row], ratio(expected, asked));
        let of_sectors = sectors_missed(trace, 1, caches[row] as usize);
        assert_eq!(floats(&found.table(), "normalised")[row], ratio(expected, of_sectors), "{what}");
        let small = reads.iter().filter(|&&size| size < page).count() as u64;
        let large: u64 = reads.iter().filter(|&&size| size >= page).sum();
        let estimated = ratio(small * page + large, asked);
        assert_eq!(floats(&found.table(), "estimated")[row], estimated, "{what}");
        let probability = sectors.read.probability(page as u32, caches[row]);
        let discount = estimated.map(|estimated| estimated * probability.unwrap());
        assert_eq!(floats(&found.table(), "locality_discount")[row], discount, "{what}");
    }
    let half = (0..pages.len())
        .filter(|&row| caches[row] == 1 && pages[row] >= 4096)
        .all(|row| missed[row] as f64 <= asked as f64 * f64::from(pages[row] / 512) / 2.0);
    assert_eq!(found.within_half_page, (asked > 0).then_some(half));
}

#[test]
fn amplification_agrees_with_a_page_by_page_simulation() {
    check_amplifications(1, 40);
}

#[test]
#[ignore = "a minute"]
fn amplification_of_many_traces_agrees_with_a_page_by_page_simulation() {
    check_amplifications(seed(), 400);
}

fn check_amplifications(seed: u64, rounds: usize) {
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        for sector_bytes in [512, 4096] {
            let trace = random_trace(&mut random, u64::from(sector_bytes));
            check_amplification(&trace, sector_bytes);
        }
    }
}

fn reads(sectors: &[(u64, u64)]) -> Trace {
    trace_of(sectors.iter().map(|&(first, sectors)| (Op::Read, first * 512, sectors * 512)))
}

fn amplified(trace: &Trace) -> ReadAmplification {
    read_amplification(trace, &logical_locality(trace, LogicalLocalityOptions::new(512)))
}

fn at(found: &ReadAmplification, column: &str, page_bytes: u32, cache_pages: u32) -> Option<f64> {
    let (pages, caches) = (u32s(&found.table(), "page_bytes"), u32s(&found.table(), "cache_pages"));
    let row = (0..pages.len()).find(|&row| (pages[row], caches[row]) == (page_bytes, cache_pages));
    floats(&found.table(), column)[row.unwrap()]
}

#[test]
fn two_neighbouring_sectors_are_one_read_of_a_page_of_two() {
    // The example of SWC section 4.3: sector 0, then sector 1.
    let found = amplified(&reads(&[(0, 1), (1, 1)]));
    assert_eq!(at(&found, "read_amplification", 512, 1), Some(1.0));
    assert_eq!(at(&found, "read_amplification", 1024, 1), Some(1.0));
    assert_eq!(at(&found, "read_amplification", 1024, 0), Some(2.0));
    // Pages of 128 sectors are read once instead of twice; that is half the page's size.
    assert_eq!(at(&found, "read_amplification", 65_536, 1), Some(64.0));
    assert_eq!((found.highest_percent_of_page, found.within_half_page), (Some(50.0), Some(true)));
    // Two small requests: a page each; the first of them is followed by one nearby.
    assert_eq!(at(&found, "estimated", 65_536, 1), Some(128.0));
    assert_eq!(at(&found, "locality_discount", 65_536, 1), Some(64.0));
    assert_eq!(at(&found, "locality_discount", 65_536, 0), Some(0.0));
    assert_eq!(found.read_amplification_16_kb, Some(16.0));
    assert!(!found.enough_reads);
}

#[test]
fn single_sectors_far_apart_go_beyond_half_a_page() {
    let found = amplified(&reads(&[(0, 1), (1000, 1), (2000, 1)]));
    assert_eq!(at(&found, "read_amplification", 4096, 16), Some(8.0));
    assert_eq!((found.highest_percent_of_page, found.within_half_page), (Some(100.0), Some(false)));
}

#[test]
fn without_reads_ratios_are_missing() {
    let trace = trace_of([(Op::Write, 0, 512)]);
    let found = amplified(&trace);
    assert_eq!((found.within_half_page, found.read_amplification_16_kb), (None, None));
    assert_eq!(found.table()["read_amplification"].null_count(), found.table().num_rows());
    assert_eq!(found.table()["locality_discount"].null_count(), found.table().num_rows());
    let cost = read_cost(&trace);
    assert_eq!((cost.reads, cost.cheapest_full_page_bytes), (0, None));
    assert_eq!(cost.partial_cost_percent_16_kb, None);
    assert!(u64s(&cost.table, "full_ns").iter().all(|&ns| ns == 0));
}

/// Full reads, their time, the time of partial reads, and these.
type Cost = (u64, u64, u64, u64);

/// Cost of reads, sector by sector.
fn cost(trace: &Trace, page: u64, sense_ns: u64, sector_ns: f64) -> Cost {
    let (mut full_reads, mut partial_reads, mut full_ns, mut partial_ns) = (0, 0, 0, 0);
    let mut page_held = None;
    let mut sectors_held: Vec<(u32, u64)> = Vec::new();
    let time = |sectors: u64| sense_ns + (sectors as f64 * sector_ns) as u64;
    for (op, volume, first, last) in requests(trace) {
        for number in first / page..=last / page {
            let segment: Vec<(u32, u64)> = (first..=last)
                .filter(|sector| sector / page == number)
                .map(|sector| (volume, sector))
                .collect();
            if op == Op::Read && page_held != Some((volume, number)) {
                full_reads += 1;
                full_ns += time(page);
            }
            page_held = Some((volume, number));
            let served = op == Op::Read && segment.iter().all(|sector| sectors_held.contains(sector));
            if served {
                continue;
            }
            if op == Op::Read {
                partial_reads += 1;
                partial_ns += time(segment.len() as u64);
            }
            sectors_held = segment;
        }
    }
    (full_reads, full_ns, partial_ns, partial_reads)
}

fn cost_rows(table: &RecordBatch) -> Vec<(String, u32, Cost)> {
    let chips = table["chip"].as_string::<i32>();
    let [full_reads, full_ns, partial_ns, partial_reads] =
        ["full_reads", "full_ns", "partial_ns", "partial_reads"].map(|name| u64s(table, name));
    let pages = u32s(table, "page_bytes");
    (0..table.num_rows())
        .map(|row| {
            let values = (full_reads[row], full_ns[row], partial_ns[row], partial_reads[row]);
            (chips.value(row).to_owned(), pages[row], values)
        })
        .collect()
}

/// Table 2 of the SWC paper: tR in ns, and ns a sector with its code.
fn parameters(chip: &str, page_bytes: u32) -> (u64, f64) {
    match (chip, page_bytes) {
        ("tlc", _) => (91_000, (512.0 + 7.5) * 20.0),
        (_, 512..=4096) => (25_000, (512.0 + 16.0) * 25.0),
        _ => (45_000, (512.0 + 64.0) * 25.0),
    }
}

#[test]
fn cost_agrees_with_a_sector_by_sector_simulation() {
    check_costs(2, 40);
}

#[test]
#[ignore = "a minute"]
fn cost_of_many_traces_agrees_with_a_sector_by_sector_simulation() {
    check_costs(seed(), 400);
}

fn check_costs(seed: u64, rounds: usize) {
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        for sector_bytes in [512, 4096] {
            let trace = random_trace(&mut random, u64::from(sector_bytes));
            let rows = cost_rows(&read_cost(&trace).table);
            // A request of 4 KB, too, is evaluated on pages of 1 to 128 sectors (SWC 4.4).
            let sizes: Vec<u32> = rows.iter().filter(|row| row.0 == "slc-mlc").map(|row| row.1).collect();
            assert_eq!(sizes, (0..8).map(|power| 512 << power).collect::<Vec<_>>());
            let amplification = read_amplification(&trace, &locality(&trace, sector_bytes));
            for (chip, page_bytes, values) in rows {
                let (sense_ns, sector_ns) = parameters(&chip, page_bytes);
                let expected = cost(&trace, u64::from(page_bytes / 512), sense_ns, sector_ns);
                assert_eq!(values, expected, "{chip}, {page_bytes}");
                // Full reads are the misses of the one-page buffer of read-simulator.
                let missed = u64s(&amplification.table(), "sectors_missed");
                let (pages, caches) =
                    (u32s(&amplification.table(), "page_bytes"), u32s(&amplification.table(), "cache_pages"));
                let row = (0..pages.len()).find(|&row| (pages[row], caches[row]) == (page_bytes, 1));
                assert_eq!(values.0 * u64::from(page_bytes / 512), missed[row.unwrap()]);
            }
        }
    }
}

#[test]
fn costs_by_hand() {
    // Sectors 6 to 17: with pages of 8 sectors the end of one, a whole one and the beginning of one.
    let rows = cost_rows(&read_cost(&reads(&[(6, 12)])).table);
    let row = |chip: &str, page_bytes: u32| {
        rows.iter().find(|row| row.0 == chip && row.1 == page_bytes).map(|row| row.2).unwrap()
    };
    assert_eq!(row("slc-mlc", 4096), (3, 3 * 25_000 + 24 * 13_200, 3 * 25_000 + 12 * 13_200, 3));
    // 16 sectors: two pages, and the slower chip.
    assert_eq!(row("slc-mlc", 8192), (2, 2 * 45_000 + 32 * 14_400, 2 * 45_000 + 12 * 14_400, 2));
    assert_eq!(row("tlc", 16_384), (1, 91_000 + 32 * 10_390, 91_000 + 12 * 10_390, 1));
    assert_eq!(rows.iter().filter(|row| row.0 == "tlc").count(), 1);
}

#[test]
fn larger_pages_pay_up_to_the_size_of_requests() {
    // Aligned random reads of 4 KB: the sensing of more sectors is shared, until more are read than asked.
    let mut random = Random::new(4);
    let sectors: Vec<(u64, u64)> = (0..500).map(|_| (random.below(1 << 30) * 8, 8)).collect();
    let found = read_cost(&reads(&sectors));
    assert_eq!(found.cheapest_full_page_bytes, Some(4096));
    assert_eq!(found.cheapest_partial_page_bytes, Some(4096));
    let expected = (45_000 + 8 * 14_400) as f64 / (45_000 + 32 * 14_400) as f64 * 100.0;
    assert!((found.partial_cost_percent_16_kb.unwrap() - expected).abs() < 1e-9);
}
