use flashtwin_ftl::Rng;
use flashtwin_ftl::idle::IdlePolicy;
use flashtwin_nand::NandConfig;
use flashtwin_trace::Op;

use crate::bench::{
    Bench, ERASE, READ_ALL, WRITE_ALL, nand, read, replay, system_with, trace_of_pages, write, write_part,
};
use crate::relations::number;

/// Seven blocks of two pages. Blocks 0, 1 and 2 each hold a valid page (0, 1 and 2) and an
/// outdated copy of page 3; a plane collects when three blocks are free.
fn nearly_full() -> Bench {
    Bench::new([1, 1, 1, 1, 7, 2]).with(|bench| {
        bench.footprint = 4;
        bench.ftl.gc.start = 0.4;
        bench.ftl.gc.stop = 0.4;
        bench.before = [0, 3, 1, 3, 2, 3].map(|lpn| (lpn, 0)).to_vec();
    })
}

#[test]
fn a_relocation_is_read_program_and_then_erase() {
    let outcome = nearly_full().serve(&[write(0, 3, 0)]);
    assert_eq!(outcome.kinds(), "program read program erase");
    assert_eq!(outcome.starts(), [0, WRITE_ALL, WRITE_ALL + READ_ALL, 2 * WRITE_ALL + READ_ALL]);
    // The host's page goes to fresh block 3, page 0 from block 0 to fresh block 4.
    assert_eq!(outcome.places(), [(3, 0), (0, 0), (4, 0), (0, 0)]);
    assert_eq!(outcome.end_ns, 2 * WRITE_ALL + READ_ALL + 100 + ERASE);
}

#[test]
fn page_that_collection_has_not_read_yet_is_read_where_it_lies() {
    // Collection of block 0 waits behind the host's program; RAM does not have page 0 yet.
    for buffer_reads in [true, false] {
        let bench = nearly_full().with(|bench| bench.engine.buffer_reads = buffer_reads);
        let outcome = bench.serve(&[write(0, 3, 0), read(1_000, 0)]);
        let expected = [
            (0, "program", 0),
            (WRITE_ALL, "read", 0),
            (WRITE_ALL + READ_ALL, "read", 0),
            (WRITE_ALL + 2 * READ_ALL, "program", 0),
            (2 * WRITE_ALL + 2 * READ_ALL, "erase", 0),
        ];
        assert_eq!(outcome.log.commands, expected);
        assert_eq!(outcome.places(), [(3, 0), (0, 0), (0, 0), (4, 0), (0, 0)]);
        assert_eq!(outcome.counts.pages.buffer_reads + outcome.counts.pages.awaited_reads, 0);
    }
}

#[test]
fn old_page_not_yet_moved_is_read_in_its_old_place() {
    let outcome = nearly_full().serve(&[write(0, 3, 0), write_part(1_000, 0, 0)]);
    assert_eq!(outcome.log.commands[1], (WRITE_ALL, "read", 0));
    assert_eq!(outcome.places()[1], (0, 0));
}

#[test]
fn idle_die_collects_page_by_page_and_makes_way() {
    // Blocks 0 to 2 hold a valid page each, and four of the seven blocks are wanted free. One write opens block 3.
    // After 300 us without requests block 0 is collected to block 4. A read waits for the program under way and
    // precedes the erase. Three blocks are free then, so block 1 follows at once.
    let bench = nearly_full().with(|bench| {
        (bench.ftl.gc.start, bench.ftl.gc.idle, bench.ftl.gc.idle_reserve) = (0.2, IdlePolicy::Reserve, 0.5);
        bench.engine.idle_us = 300.0;
    });
    let idle = WRITE_ALL + 300_000;
    let outcome = bench.serve(&[write(0, 3, 0), read(700_000, 1), write(9_000_000, 3, 0)]);
    let expected = [
        (0, "program", 0),
        (idle, "read", 0),
        (idle + READ_ALL, "program", 0),
        (idle + READ_ALL + WRITE_ALL, "read", 0),
        (idle + 2 * READ_ALL + WRITE_ALL, "erase", 0),
    ];
    let second = idle + 2 * READ_ALL + WRITE_ALL + 100 + ERASE;
    let more = [
        (second, "read", 0),
        (second + READ_ALL, "program", 0),
        (second + READ_ALL + WRITE_ALL, "erase", 0),
        (9_000_000, "program", 0),
    ];
    assert_eq!(outcome.log.commands, [&expected[..], &more].concat());
    let places = [(3, 0), (0, 0), (4, 0), (1, 0), (0, 0), (1, 0), (4, 1), (1, 0), (3, 1)];
    assert_eq!(outcome.places(), places);
}

/// With collection in batches, the longest wait of a write is the batch's length less the time in which the host fills
/// the RAM, and at a rate that does not fill it no write waits.
#[test]
fn a_write_waits_for_the_rest_of_a_batch_once_the_ram_is_full() {
    const BATCH_NS: u64 = 10_000_000;
    const PLACES: u64 = 80;
    let sets = [
        ("write_completes", "buffered"),
        ("write_buffer_pages", "80"),
        ("preload", "footprint"),
        ("gc.step_pages", "1"),
    ];
    let nand = NandConfig { read_us: 5.0, program_us: 20.0, erase_us: 100.0, ..nand([1, 1, 1, 1, 200, 32]) };
    let mut resolved = system_with(nand, "conventional", &sets);
    resolved.config.engine.collection_batch_us = BATCH_NS as f64 / 1000.0;
    for gap_ns in [140_000, 110_000, 90_000, 80_000] {
        let mut rng = Rng::stream(7, "batches");
        let footprint = 32 * 100;
        // Writes begin after the reads that say which pages there are.
        let touched = (0..footprint).map(|page| (0, Op::Read, u64::from(page), None));
        let writes =
            (3_000..15_000).map(|at| (at * gap_ns as i64, Op::Write, u64::from(rng.below(footprint)), None));
        let result = replay(&trace_of_pages(touched.chain(writes)), &resolved);
        let longest = number(&result, "response.write.max_ns");
        let expected = BATCH_NS.saturating_sub(PLACES * gap_ns);
        // A batch begins between two writes, a place or two are taken then, and the next is free a program after its end.
        let least = expected.saturating_sub(gap_ns) as f64;
        let most = if expected == 0 { 9_000.0 } else { (expected + 2 * gap_ns + 50_000) as f64 };
        assert!((least..=most).contains(&longest), "{gap_ns} ns: {longest}, expected {expected}");
    }
}
