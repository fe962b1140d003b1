//! When a flush is complete: by hand, and in random traces against the commands that the flash carried out.

use std::collections::VecDeque;

use flashtwin_ftl::Rng;
use flashtwin_sim::engine::{Charge, Ledger};
use flashtwin_sim::{Flush, WriteCompletes};
use flashtwin_trace::Op;

use crate::bench::{
    Ask, Bench, COMMAND, IN_RAM, ONE, PROGRAM, READ_ALL, TRANSFER, WRITE_ALL, flush, ledger, pick, preset,
    read, trim, write, write_durable, write_part,
};

const FOUR: [u32; 6] = [4, 1, 1, 1, 32, 8];

fn waited(ns: u64) -> Ledger {
    ledger(&[(Charge::EarlierWrites, ns)])
}

#[test]
fn a_flush_waits_for_the_rest_of_a_write() {
    let outcome = Bench::new(ONE).serve(&[write(0, 0, 0), flush(1_000)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0)]);
    assert_eq!(outcome.log.flushes, [waited(WRITE_ALL - 1_000)]);
    assert_eq!((outcome.counts.requests, outcome.end_ns), ([0, 1, 0, 1], WRITE_ALL));
}

#[test]
fn a_flush_behind_queued_writes_waits_for_the_last() {
    for writes in [2, 5, 30] {
        let mut asks: Vec<Ask> = (0..writes).map(|at| write(0, at % 16, at)).collect();
        asks.push(flush(500));
        let outcome = Bench::new(ONE).serve(&asks);
        assert_eq!(outcome.log.flushes, [waited(u64::from(writes) * WRITE_ALL - 500)]);
        assert_eq!(outcome.log.commands.len(), writes as usize);
    }
}

#[test]
fn chips_that_write_at_once_are_waited_for_at_once() {
    let mut asks: Vec<Ask> = (0..4).map(|at| write(0, at, at)).collect();
    asks.push(flush(0));
    assert_eq!(Bench::new(FOUR).serve(&asks).log.flushes, [waited(WRITE_ALL)]);
}

#[test]
fn a_flush_with_nothing_before_it_takes_no_time() {
    let asks = [flush(0), read(10, 0), flush(20), write(30, 1, 1), flush(300_000)];
    let outcome = Bench::new(ONE).holding(1).serve(&asks);
    assert_eq!(outcome.log.flushes, [waited(0); 3]);
    assert_eq!(outcome.counts.requests, [1, 1, 0, 3]);
    // The read takes 60 us: the flush does not wait for it. It does not make the write wait either.
    assert_eq!(outcome.log.commands, [(10, "read", 0), (60_110, "program", 0)]);
}

#[test]
fn trims_and_writes_that_come_later_are_not_waited_for() {
    let asks = [write(0, 0, 0), flush(1_000), write(2_000, 1, 1), trim(3_000, 0), read(4_000, 5)];
    let outcome = Bench::new(ONE).serve(&asks);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (210_100, "program", 0)]);
    assert_eq!(outcome.log.flushes, [waited(WRITE_ALL - 1_000)]);
}

#[test]
fn each_of_several_flushes_waits_for_all_writes_before_it() {
    // On four chips the second write ends long before the first, which waits for its old page.
    let asks = [
        write_part(0, 0, 20),
        flush(100),
        write(200, 1, 21),
        flush(300),
        flush(400),
        write(300_000, 2, 22),
        flush(300_100),
    ];
    let outcome = Bench::new(FOUR).holding(4).serve(&asks);
    let first = READ_ALL + WRITE_ALL;
    let expected = [first - 100, first - 300, first - 400, WRITE_ALL - 100];
    assert_eq!(outcome.log.flushes, expected.map(waited));
}

#[test]
fn what_the_key_says_is_counted_and_costs_nothing() {
    let bench = Bench::new(ONE).with(|bench| bench.engine.flush = Flush::None);
    let outcome = bench.serve(&[write(0, 0, 0), flush(1_000), flush(2_000)]);
    assert_eq!((outcome.log.flushes, outcome.counts.requests), (vec![waited(0); 2], [0, 1, 0, 2]));
    let bench = Bench::cached(8).with(|bench| bench.engine.flush = Flush::None);
    let outcome = bench.serve(&[write(0, 0, 0), flush(1_000), write(5_000, 1, 1)]);
    assert_eq!(outcome.log.flushes, [waited(0)]);
    assert_eq!(outcome.log.commands[0], (5_000, "program", 0), "the cache writes when the trace ends");
}

#[test]
fn the_controllers_own_time_is_its_own_charge() {
    let bench = Bench::new(ONE).with(|bench| bench.engine.controller_us = 5.0);
    let outcome = bench.serve(&[flush(0), write(10_000, 0, 0), flush(20_000)]);
    let own = (Charge::Controller, 5_000);
    let second = ledger(&[own, (Charge::EarlierWrites, WRITE_ALL - 10_000)]);
    assert_eq!(outcome.log.flushes, [ledger(&[own]), second]);
}

#[test]
fn a_page_in_the_register_is_not_safe_yet() {
    let complete = |when| Bench::new(ONE).with(|bench| bench.engine.write_completes = when);
    let outcome = complete(WriteCompletes::Transferred).serve(&[write(0, 0, 0), flush(50_000)]);
    assert_eq!(outcome.log.response_times(), [COMMAND + TRANSFER]);
    assert_eq!(outcome.log.flushes, [waited(WRITE_ALL - 50_000)]);
}

fn in_ram(rule: WriteCompletes, is_protected: bool) -> Bench {
    Bench::in_ram(ONE, rule, 0).with(|bench| bench.engine.write_cache_protected = is_protected)
}

#[test]
fn a_flush_waits_for_programs_behind_volatile_ram_only() {
    // Two writes, a flush that covers both, a third write, and a flush when all is programmed.
    let asks = [write(0, 0, 0), write(0, 1, 1), flush(50_000), write(60_000, 2, 2), flush(900_000)];
    for rule in IN_RAM {
        let outcome = in_ram(rule, false).serve(&asks);
        assert_eq!(outcome.starts(), [0, WRITE_ALL, 2 * WRITE_ALL], "{rule:?}");
        assert_eq!(outcome.log.response_times(), [9_000; 3], "{rule:?}");
        assert_eq!(outcome.log.flushes, [waited(2 * WRITE_ALL - 50_000), waited(0)], "{rule:?}");
        let outcome = in_ram(rule, true).serve(&asks);
        assert_eq!(outcome.log.flushes, [waited(0); 2], "{rule:?}");
        // A host sends its flush behind the answers. An earlier one waits for them.
        let outcome = in_ram(rule, true).serve(&[write(0, 0, 0), flush(2_000)]);
        assert_eq!(outcome.log.flushes, [waited(7_000)], "{rule:?}");
        let at_once = in_ram(rule, false).with(|bench| bench.engine.flush = Flush::None).serve(&asks);
        assert_eq!(at_once.log.flushes, [waited(0); 2], "{rule:?}");
    }
}

#[test]
fn a_flush_covers_pages_that_wait_for_a_place() {
    for (is_protected, until) in [(true, WRITE_ALL), (false, 2 * WRITE_ALL)] {
        let bench = in_ram(WriteCompletes::Buffered, is_protected);
        let bench = bench.with(|bench| bench.engine.write_buffer_pages = 1);
        let outcome = bench.serve(&[write(0, 0, 0), write(0, 1, 1), flush(1_000)]);
        assert_eq!(outcome.log.response_times(), [9_000, WRITE_ALL]);
        assert_eq!(outcome.log.flushes, [waited(until - 1_000)], "{is_protected}");
    }
}

#[test]
fn durable_write_bypasses_volatile_ram_and_takes_no_place() {
    let durable = ledger(&[(Charge::Transfer, COMMAND + TRANSFER), (Charge::Flash, PROGRAM)]);
    for rule in IN_RAM {
        let full =
            |is_protected| in_ram(rule, is_protected).with(|bench| bench.engine.write_buffer_pages = 1);
        let outcome = full(false).serve(&[write_durable(0, 0, 0), write(400_000, 1, 1)]);
        assert_eq!(outcome.log.responses[0], durable, "{rule:?}");
        assert_eq!(outcome.log.response_times()[1], 9_000, "{rule:?}");
        // Behind another page it waits for two programs, and the third write for a place.
        let asks = [write(0, 0, 0), write_durable(0, 1, 1), write(0, 2, 2)];
        let outcome = full(false).serve(&asks);
        assert_eq!(outcome.log.response_times(), [9_000, WRITE_ALL, 2 * WRITE_ALL], "{rule:?}");
        let outcome = full(true).serve(&asks);
        assert_eq!(outcome.log.response_times(), [9_000, WRITE_ALL, 2 * WRITE_ALL], "{rule:?}");
        assert_eq!(
            outcome.log.responses[1],
            ledger(&[(Charge::CachePlace, WRITE_ALL)]),
            "protected: a place"
        );
    }
}

#[test]
fn a_page_with_a_place_in_protected_ram_is_safe() {
    let bench = Bench::new(ONE).deduplicating().with(|bench| {
        bench.engine.write_completes = WriteCompletes::Hashed;
        (bench.engine.hash_us, bench.engine.hash_lanes, bench.engine.write_buffer_pages) = (12.0, 0, 1);
        bench.engine.write_cache_protected = true;
    });
    let outcome =
        bench.serve(&[write(0, 0, 0), flush(0), write(0, 1, 1), flush(0), write(0, 2, 2), flush(0)]);
    let answered = [12_000, 12_000 + WRITE_ALL, 12_000 + 2 * WRITE_ALL];
    assert_eq!(outcome.log.response_times(), answered);
    assert_eq!(outcome.log.flushes, answered.map(waited));
}

#[test]
fn duplicates_are_safe_when_they_are_found() {
    // A hash takes 12 us; the content is on flash from the beginning. The second write is new.
    let bench = Bench::new(ONE).holding(1).deduplicating().with(|bench| bench.engine.hash_us = 12.0);
    let asks = [write(0, 1, 0), flush(1_000), write(20_000, 2, 9), flush(21_000)];
    let outcome = bench.serve(&asks);
    assert_eq!(outcome.log.commands, [(32_000, "program", 0)]);
    assert_eq!(outcome.log.flushes, [waited(11_000), waited(11_000 + WRITE_ALL)]);
}

#[test]
fn a_flush_writes_out_what_the_cache_holds_dirty() {
    let asks = [write(0, 0, 0), write(10, 1, 1), write(20, 0, 2), flush(1_000), flush(1_000_000)];
    let outcome = Bench::cached(8).serve(&asks);
    // Two pages: the first write of page 0 was absorbed.
    assert_eq!(outcome.log.commands, [(1_000, "program", 0), (211_100, "program", 0)]);
    assert_eq!(outcome.log.flushes, [waited(2 * WRITE_ALL), waited(0)]);
    assert_eq!(outcome.log.response_times(), [0; 3]);
    // Clean pages stay and are read from RAM.
    let outcome =
        Bench::cached(8).serve(&[write(0, 0, 0), flush(10), read(300_000, 0), write(300_010, 0, 1)]);
    assert_eq!((outcome.counts.pages.cache_reads, outcome.counts.pages.absorbed_writes), (1, 0));
}

#[test]
fn flush_waits_for_pages_that_left_the_cache_only() {
    // One page may be dirty: the second write sends the first page off at 100, its data at 10.2 us.
    let bench = Bench::cached(2).with(|bench| bench.engine.write_cache_dirty = 0.5);
    let asks = [write(0, 0, 0), write(100, 1, 1), flush(200), write(300, 2, 2)];
    let outcome = bench.serve(&asks);
    assert_eq!(outcome.starts(), [100, 100 + WRITE_ALL, 100 + 2 * WRITE_ALL]);
    assert_eq!(outcome.log.flushes, [waited(2 * WRITE_ALL - 100)]);
}

#[test]
fn a_write_that_waits_for_a_place_is_before_the_flush() {
    let outcome = Bench::cached(1).serve(&[write(0, 0, 0), write(1_000, 1, 1), flush(2_000)]);
    assert_eq!(outcome.log.commands, [(1_000, "program", 0), (211_100, "program", 0)]);
    assert_eq!(outcome.log.flushes, [waited(2 * WRITE_ALL - 1_000)]);
}

#[test]
fn a_protected_cache_is_not_written_out() {
    let bench =
        |protected| Bench::cached(8).with(move |bench| bench.engine.write_cache_protected = protected);
    let asks = [write(0, 0, 0), flush(1_000), write(2_000, 0, 1)];
    let outcome = bench(true).serve(&asks);
    assert_eq!((outcome.log.flushes, outcome.log.commands.len()), (vec![waited(0)], 1));
    assert_eq!(bench(false).serve(&asks).log.commands.len(), 2);
    // A write that has no place yet is not in the cache.
    let full = Bench::cached(1).with(|bench| bench.engine.write_cache_protected = true);
    let outcome = full.serve(&[write(0, 0, 0), write(1_000, 1, 1), flush(2_000)]);
    assert_eq!(outcome.log.flushes, [waited(WRITE_ALL - 1_000)]);
}

#[test]
fn a_register_behind_a_cache_is_volatile_too() {
    let bench = Bench::cached(8).with(|bench| bench.engine.write_completes = WriteCompletes::Transferred);
    let outcome = bench.serve(&[write(0, 0, 0), flush(1_000)]);
    assert_eq!(outcome.log.flushes, [waited(WRITE_ALL)]);
}

#[test]
fn a_durable_write_is_answered_when_it_is_on_flash() {
    let durable = ledger(&[(Charge::Transfer, COMMAND + TRANSFER), (Charge::Flash, PROGRAM)]);
    // In the register others are answered; data of a durable one behind it wait for the first one's program.
    let bench = Bench::new(ONE).with(|bench| bench.engine.write_completes = WriteCompletes::Transferred);
    let outcome = bench.serve(&[write_durable(0, 0, 0)]);
    assert_eq!(outcome.log.responses, [durable]);
    let outcome = bench.serve(&[write(0, 0, 0), write_durable(0, 1, 1), flush(0)]);
    assert_eq!(outcome.log.response_times(), [COMMAND + TRANSFER, 2 * WRITE_ALL]);
    assert_eq!(outcome.log.flushes, [waited(2 * WRITE_ALL)]);
    for bench in [Bench::new(ONE), in_ram(WriteCompletes::Buffered, true)] {
        let times = |asks: &[Ask]| bench.serve(asks).log.response_times();
        assert_eq!(times(&[write_durable(0, 0, 0)]), times(&[write(0, 0, 0)]));
    }
}

#[test]
fn durable_write_bypasses_and_invalidates_a_volatile_cache() {
    // Page 0 is dirty; its durable write takes it out, and page 1 stays.
    let asks = [write(0, 0, 0), write(10, 1, 1), write_durable(20, 0, 2), read(30, 0), read(40, 1)];
    let outcome = Bench::cached(8).serve(&asks);
    assert_eq!(outcome.log.commands, [(20, "program", 0), (210_120, "program", 0)]);
    assert_eq!(outcome.log.response_times(), [0, 0, 0, 0, WRITE_ALL]);
    let pages = outcome.counts.pages;
    assert_eq!((pages.absorbed_writes, pages.buffer_reads, pages.cache_reads), (1, 1, 1));
    // A protected cache is as good as flash.
    let outcome = Bench::cached(8).with(|bench| bench.engine.write_cache_protected = true).serve(&asks);
    assert_eq!(outcome.log.response_times(), [0; 5]);
}

#[test]
fn flush_keeps_its_place_in_a_closed_loop() {
    let asks = [write(0, 0, 0), flush(0), write(0, 1, 1), flush(0), write(0, 2, 2)];
    let serve = |depth| Bench::new(ONE).with(|bench| bench.queue_depth = depth).serve(&asks);
    let outcome = serve(1);
    assert_eq!(outcome.log.flushes, [waited(0); 2]);
    assert_eq!(outcome.end_ns, 3 * WRITE_ALL);
    // Two: the write and its flush end together, and the next two begin.
    let outcome = serve(2);
    assert_eq!(outcome.log.flushes, [waited(WRITE_ALL); 2]);
    assert_eq!(outcome.starts(), [0, WRITE_ALL, 2 * WRITE_ALL]);
}

#[test]
fn a_trace_of_flushes_alone_is_served() {
    let outcome = Bench::new(ONE).serve(&[flush(0), flush(0), flush(7)]);
    assert_eq!((outcome.log.flushes.len(), outcome.end_ns), (3, 7));
    let trace = crate::drawn::of_flushes(5);
    let result = crate::bench::replay(&trace, &crate::bench::system_on(ONE, "conventional", &[]));
    assert_eq!(result.summary["requests"]["flush"], 5);
    assert_eq!(result.summary["response"]["flush"]["max_ns"], 0);
}

#[test]
fn flushes_wait_in_every_preset() {
    for system in flashtwin_sim::system_names() {
        let engine = preset(system, &[]).unwrap().config.engine;
        assert_eq!((engine.flush, engine.write_cache_protected), (Flush::Writes, false));
    }
}

/// When a flush must be complete on one chip that only programs: at the end of the last program that is owed for the
/// writes before it.
struct Expected {
    dirty: VecDeque<u32>,
    most_dirty: usize,
    owed: usize,
}

impl Expected {
    fn write(&mut self, lpn: u32) {
        self.dirty.retain(|&page| page != lpn);
        self.dirty.push_back(lpn);
        self.leave(self.most_dirty);
    }

    fn leave(&mut self, most: usize) {
        while self.dirty.len() > most {
            self.dirty.pop_front();
            self.owed += 1;
        }
    }
}

#[test]
fn every_flush_ends_with_the_program_that_it_waits_for() {
    let mut waits = 0;
    for seed in 0..300 {
        let mut rng = Rng::stream(seed, "flushes");
        let completes = pick(&mut rng, &[WriteCompletes::Programmed, WriteCompletes::Transferred]);
        let pages = pick(&mut rng, &[0, 0, 40]);
        let dirty = pick(&mut rng, &[0.1, 0.5, 1.0]);
        let gap_ns = pick(&mut rng, &[1_000, 150_000, 600_000]);
        // More blocks than all writes fill: nothing is collected.
        let bench = Bench::new([1, 1, 1, 1, 64, 16]).with(|bench| {
            bench.engine.write_completes = completes;
            (bench.engine.write_cache_pages, bench.engine.write_cache_dirty) = (pages, dirty);
        });
        let mut now = 0;
        let asks: Vec<Ask> = (0..250)
            .map(|_| {
                now += i64::from(rng.below(gap_ns));
                let lpn = rng.below(12);
                if rng.below(3) == 0 { flush(now) } else { write(now, lpn, lpn) }
            })
            .collect();
        let outcome = bench.serve(&asks);
        let ends: Vec<u64> = outcome.log.commands.iter().map(|command| command.0 + WRITE_ALL).collect();
        let most_dirty = (f64::from(pages) * dirty) as usize;
        let mut expected = Expected { dirty: VecDeque::new(), most_dirty, owed: 0 };
        let mut flushes = outcome.log.flushes.iter();
        for ask in &asks {
            if ask.op == Op::Write {
                expected.write(ask.lpn);
                continue;
            }
            expected.leave(0);
            let end = expected.owed.checked_sub(1).map_or(0, |last| ends[last]);
            let wait = end.saturating_sub(ask.time_ns as u64);
            assert_eq!(flushes.next(), Some(&waited(wait)), "seed {seed} at {}", ask.time_ns);
            waits += u64::from(wait > 0);
        }
        assert_eq!(flushes.next(), None);
        assert_eq!(PROGRAM, WRITE_ALL - COMMAND - TRANSFER);
    }
    assert!(waits > 5_000, "{waits}");
}
