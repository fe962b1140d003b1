use flashtwin_sim::Suspend;
use flashtwin_sim::engine::{Charge, Ledger};

use flashtwin_trace::Op;

use crate::bench::{Bench, WRITE_ALL, figure, ledger, read, replay, system_on, trace_of_pages, trim};
use crate::bench::{write, write_part};

fn waited(place_ns: u64) -> Ledger {
    ledger(&[(Charge::CachePlace, place_ns)])
}

#[test]
fn cached_write_completes_at_once_and_is_flushed_at_the_end() {
    let outcome = Bench::cached(4).serve(&[write(7, 0, 0), write(500, 1, 1)]);
    assert_eq!(outcome.log.responses, [waited(0), waited(0)]);
    assert_eq!(outcome.log.commands, [(500, "program", 0), (210_600, "program", 0)]);
    assert_eq!(outcome.counts.requests, [0, 2, 0, 0]);
}

#[test]
fn a_page_written_again_is_programmed_once() {
    let outcome = Bench::cached(4).serve(&[write(0, 0, 0), write(10, 1, 1), write(20, 0, 2)]);
    assert_eq!(outcome.log.commands.len(), 2);
    assert_eq!(outcome.counts.pages.absorbed_writes, 1);
    // Page 1 is now the least recently written one, and is the first to leave.
    assert_eq!(outcome.places(), [(0, 0), (0, 1)]);
}

#[test]
fn least_recently_written_pages_leave_above_the_dirty_limit() {
    let bench = Bench::cached(4).with(|bench| bench.engine.write_cache_dirty = 0.5);
    let outcome = bench.serve(&[write(0, 0, 0), write(10, 1, 1), write(20, 2, 2), write(900_000, 0, 3)]);
    // Two may be dirty: the third write sends page 0 off; when it comes again, page 1 goes.
    let expected =
        [(20, "program", 0), (900_000, "program", 0), (1_110_100, "program", 0), (1_320_200, "program", 0)];
    assert_eq!(outcome.log.commands, expected);
    assert_eq!(outcome.log.response_times(), [0; 4]);
    assert_eq!(outcome.counts.pages.absorbed_writes, 0);
}

#[test]
fn reads_of_what_is_held_need_no_flash_even_when_it_is_clean() {
    let bench = Bench::cached(2).with(|bench| bench.engine.write_cache_dirty = 0.01);
    let outcome = bench.serve(&[write(0, 0, 0), read(1_000, 0), read(500_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0)]);
    assert_eq!((outcome.counts.pages.cache_reads, outcome.counts.pages.buffer_reads), (2, 0));
    // Two others push it out: the flash is asked.
    let asks = [write(0, 0, 0), write(300_000, 1, 1), write(600_000, 2, 2), read(900_000, 0)];
    let outcome = bench.serve(&asks);
    assert_eq!(outcome.log.commands[3], (900_000, "read", 0));
}

#[test]
fn a_write_without_a_place_waits_until_a_page_is_programmed() {
    let outcome = Bench::cached(1).serve(&[write(0, 0, 0), write(1_000, 1, 1), write(2_000, 2, 2)]);
    let expected = [(1_000, "program", 0), (211_100, "program", 0), (421_200, "program", 0)];
    assert_eq!(outcome.log.commands, expected);
    let waited = [waited(0), waited(WRITE_ALL), waited(2 * WRITE_ALL - 1_000)];
    assert_eq!(outcome.log.responses, waited);
}

#[test]
fn a_trim_gives_its_place_to_the_write_that_waits() {
    let asks = [write(0, 0, 0), write(1_000, 1, 1), trim(2_000, 1), write(3_000, 2, 2)];
    let outcome = Bench::cached(1).serve(&asks);
    // Page 1 is trimmed before it left: its write is complete by that, and never reaches the flash.
    assert_eq!(outcome.log.commands, [(1_000, "program", 0), (211_100, "program", 0)]);
    assert_eq!(outcome.log.responses[..2], [waited(0), waited(1_000)]);
    assert_eq!((outcome.counts.pages.absorbed_writes, outcome.counts.requests), (1, [0, 3, 1, 0]));
}

#[test]
fn part_of_a_page_needs_the_rest_only_when_it_leaves() {
    let outcome = Bench::cached(4).holding(1).serve(&[write_part(0, 0, 1), read(100, 0)]);
    // The read finds only part of it there; the flash has the rest.
    assert_eq!(outcome.log.commands, [(100, "read", 0), (60_200, "read", 0), (120_300, "program", 0)]);
    assert_eq!(outcome.log.response_times(), [0, 60_100]);
    // Written as a whole before it leaves, the old page does not matter.
    let outcome = Bench::cached(4).holding(1).serve(&[write_part(0, 0, 1), write(100, 0, 2)]);
    assert_eq!(outcome.log.commands, [(100, "program", 0)]);
}

#[test]
fn contents_are_hashed_and_found_when_a_page_leaves() {
    let bench = Bench::cached(4).holding(1).deduplicating().with(|bench| bench.engine.hash_us = 12.0);
    let outcome = bench.serve(&[write(0, 1, 0), write(10, 2, 7)]);
    assert_eq!(outcome.log.response_times(), [0, 0]);
    assert_eq!(outcome.log.commands, [(24_010, "program", 0)]);
}

#[test]
fn a_cache_of_a_page_and_everything_else_on_goes_on() {
    let bench = Bench::cached(1).holding(4).with(|bench| bench.engine.suspend = Suspend::ProgramErase);
    let asks: Vec<_> = (0..40)
        .map(|i| if i % 3 == 0 { read(i * 9_000, 0) } else { write(i * 9_000, (i % 7) as u32, 0) })
        .collect();
    let outcome = bench.serve(&asks);
    assert_eq!(outcome.counts.requests, [14, 26, 0, 0]);
}

#[test]
fn answers_take_the_time_of_dram_and_link() {
    // Two places. The third write waits for the first program; all of them, and the read, take 9 us more.
    let bench = Bench::cached(2).with(|bench| {
        bench.engine.write_cache_us = 9.0;
        bench.engine.write_cache_dirty = 0.01;
    });
    let outcome = bench.serve(&[write(0, 0, 0), write(0, 1, 1), write(0, 2, 2), read(1_000, 1)]);
    let answer = |waited_ns| ledger(&[(Charge::CachePlace, waited_ns), (Charge::Controller, 9_000)]);
    assert_eq!(outcome.log.responses, [answer(0), answer(0), answer(0), answer(WRITE_ALL)]);
    // One request at a time: the next one comes when the host has the answer.
    let mut closed = bench;
    closed.queue_depth = 1;
    let outcome = closed.serve(&[write(0, 0, 0), write(0, 1, 1)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (WRITE_ALL, "program", 0)]);
    assert_eq!(outcome.log.response_times(), [9_000, 9_000]);
}

/// DS-FTL paper 4.2.1: pages are cached in DRAM, and evicted from there; only then their place is chosen and their
/// duplicates are looked for.
#[test]
fn pages_of_ds_ftl_wait_in_dram_before_they_are_spread() {
    // By their addresses pages 0 and 2 share a channel. Page 0 gets another content while all of them wait.
    let asks = [(0, 0, 7), (10, 2, 7), (20, 0, 9)];
    let trace = trace_of_pages(asks.map(|(at, page, content)| (at, Op::Write, page, Some(content))));
    let counted = |pages: &str| {
        let sets = [("preload", "none"), ("write_cache_pages", pages), ("write_cache_dirty", "1")];
        let summary = replay(&trace, &system_on([2, 1, 1, 1, 32, 8], "ds-ftl", &sets)).summary;
        let count = |path: &str| figure(&summary, path).as_u64().unwrap();
        (count("flash_writes.host"), count("page_ops.absorbed_writes"), count("page_ops.redirected_writes"))
    };
    // When page 2 leaves, nobody has its content.
    assert_eq!(counted("4"), (2, 1, 0));
    assert_eq!(counted("0"), (3, 0, 1));
}
