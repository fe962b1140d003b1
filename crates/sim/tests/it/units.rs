//! Program units, flash pages, types of pages and parity: command sequences by hand and closed forms.

use flashtwin_ftl::Rng;
use flashtwin_ftl::allocation::AllocationPolicy;
use flashtwin_sim::engine::Ledger;
use flashtwin_sim::{Suspend, WriteCompletes};

use crate::bench::{
    Ask, Bench, COMMAND, Levels, Outcome, PROGRAM, SENSE, TRANSFER, flush, read, read_pages, write,
};
use crate::bench::{write_durable, write_part};

/// A unit of four pages passes over the channel and is programmed.
const UNIT: u64 = COMMAND + 4 * TRANSFER + PROGRAM;

/// Units of four pages; writes are complete when controller RAM has them.
fn bench(levels: Levels) -> Bench {
    Bench::new(levels).with(|bench| {
        bench.ftl.allocation.policy = AllocationPolicy::Dynamic;
        bench.engine.write_completes = WriteCompletes::Buffered;
        bench.nand.program_pages = 4;
    })
}

fn writes(pages: std::ops::Range<u32>) -> Vec<Ask> {
    pages.map(|lpn| write(0, lpn, lpn)).collect()
}

fn programs(outcome: &Outcome) -> Vec<(u64, u32)> {
    let programs = outcome.log.commands.iter().filter(|command| command.1 == "program");
    let mut begun: Vec<(u64, u32)> = programs.map(|&(ns, _, unit)| (ns, unit)).collect();
    begun.dedup();
    begun
}

#[test]
fn full_unit_is_one_command_and_dies_take_turns() {
    let outcome = bench([1, 2, 1, 1, 16, 8]).serve(&writes(0..8));
    assert_eq!(programs(&outcome), [(0, 0), (0, 1)]);
    // The second die's data wait for the channel.
    assert_eq!(outcome.end_ns, COMMAND + 4 * TRANSFER + UNIT);
    assert_eq!(outcome.counts.flash_ops, [0, 8, 0]);
    assert_eq!(outcome.log.response_times(), [0; 8]);
}

#[test]
fn gathered_pages_are_read_from_ram_and_programmed_in_the_end() {
    let mut asks = writes(0..3);
    asks.push(read(1_000_000, 1));
    let outcome = bench([1, 2, 1, 1, 16, 8]).serve(&asks);
    assert_eq!(outcome.counts.pages.buffer_reads, 1);
    assert_eq!(programs(&outcome), [(1_000_000, 0)]);
    assert_eq!(outcome.end_ns, 1_000_000 + COMMAND + 3 * TRANSFER + PROGRAM);
}

#[test]
fn volatile_ram_pads_units_for_a_flush_and_for_fua() {
    let cached = |protected: bool| {
        bench([1, 2, 1, 1, 16, 8]).with(|bench| {
            bench.engine.write_completes = WriteCompletes::Programmed;
            (bench.engine.write_cache_pages, bench.engine.write_cache_protected) = (64, protected);
        })
    };
    let mut asks = writes(0..2);
    asks.push(flush(1_000));
    let outcome = cached(false).serve(&asks);
    assert_eq!(outcome.log.flushes.iter().map(Ledger::total_ns).collect::<Vec<_>>(), [UNIT]);
    assert_eq!(outcome.counts.flash_ops, [0, 4, 0], "two pages of padding");
    let outcome = cached(true).serve(&asks);
    assert_eq!(outcome.log.flushes.iter().map(Ledger::total_ns).collect::<Vec<_>>(), [0]);
    assert_eq!(outcome.counts.flash_ops, [0, 2, 0]);
    let buffered =
        |protected| bench([1, 2, 1, 1, 16, 8]).with(|bench| bench.engine.write_cache_protected = protected);
    let outcome = buffered(false).serve(&asks);
    assert_eq!(outcome.log.flushes.iter().map(Ledger::total_ns).collect::<Vec<_>>(), [UNIT]);
    assert_eq!(outcome.counts.flash_ops, [0, 4, 0], "two pages of padding");
    let outcome = buffered(true).serve(&asks);
    assert_eq!(outcome.log.flushes.iter().map(Ledger::total_ns).collect::<Vec<_>>(), [0]);
    assert_eq!(outcome.counts.flash_ops, [0, 2, 0]);
    assert_eq!(buffered(false).serve(&[write_durable(0, 3, 3)]).log.response_times(), [UNIT]);
    let outcome = cached(false).serve(&[write_durable(0, 3, 3)]);
    assert_eq!(outcome.log.response_times(), [UNIT]);
    assert_eq!(outcome.counts.flash_ops, [0, 4, 0]);
}

#[test]
fn page_that_waits_for_a_place_is_not_left_in_an_open_unit() {
    // One place for units of four, one request at a time: the second page would wait for ever.
    let bench = bench([1, 2, 1, 1, 16, 8]).with(|bench| {
        bench.engine.write_completes = WriteCompletes::Hashed;
        bench.engine.write_buffer_pages = 1;
        bench.queue_depth = 1;
    });
    let outcome = bench.serve(&writes(0..3));
    assert_eq!(outcome.log.response_times(), [0, UNIT, 0]);
    assert_eq!(outcome.counts.flash_ops, [0, 4 + 1, 0]);
}

#[test]
fn reads_of_one_flash_page_are_one_sense() {
    let bench = bench([1, 1, 1, 1, 16, 8]).holding(8).with(|bench| bench.nand.sense_pages = 4);
    let outcome = bench.serve(&[read_pages(0, 0, 6)]);
    let second = COMMAND + SENSE + 4 * TRANSFER;
    assert_eq!(outcome.starts(), [0, 0, 0, 0, second, second]);
    assert_eq!(outcome.end_ns, second + COMMAND + SENSE + 2 * TRANSFER);
    assert_eq!(outcome.counts.reads_with_others, 6);
}

#[test]
fn sense_takes_the_time_of_its_type_of_page() {
    let bench =
        Bench::new([1, 1, 1, 1, 16, 8]).holding(3).with(|bench| bench.nand.read_types_us = vec![60.0, 100.0]);
    let outcome = bench.serve(&[read(0, 0), read(1_000_000, 1), read(2_000_000, 2)]);
    let rest = COMMAND + TRANSFER;
    assert_eq!(outcome.log.response_times(), [60_000 + rest, 100_000 + rest, 60_000 + rest]);
}

#[test]
fn one_of_so_many_units_is_parity_and_goes_to_the_dies_in_turn() {
    let bench = bench([2, 1, 1, 1, 16, 8]).with(|bench| bench.nand.parity_stripe = 3);
    let outcome = bench.serve(&writes(0..16));
    assert_eq!(outcome.counts.parity_pages, 2 * 4);
    assert_eq!(outcome.counts.flash_ops, [0, 16, 0], "parity has no page");
    // Two units of data and one of parity on each die.
    assert_eq!(outcome.end_ns, 3 * UNIT);
    let mut dies: Vec<u32> = programs(&outcome).into_iter().map(|(_, die)| die).collect();
    dies.sort_unstable();
    assert_eq!(dies, [0, 0, 0, 1, 1, 1]);
}

/// Saturated with writes of new pages, no collection: when all are programmed.
fn saturated_ns(dies: u32, pages: u32, change: impl FnOnce(&mut Bench)) -> u64 {
    let bench = bench([dies, 1, 1, 1, 600, 48]).with(|bench| {
        (bench.nand.program_pages, bench.footprint, bench.contents) = (48, pages, pages);
        bench.verify = false;
    });
    bench.with(change).serve(&writes(0..pages)).end_ns
}

#[test]
fn saturated_writes_take_all_dies_at_once() {
    let (dies, units) = (6, 50);
    let pages = dies * units * 48;
    let unit_ns = COMMAND + 48 * TRANSFER + PROGRAM;
    assert_eq!(saturated_ns(dies, pages, |_| ()), u64::from(units) * unit_ns);
    // With parity, (N - 1) / N of it are the host's.
    for stripe in [2, 4, 11] {
        let found = saturated_ns(dies, pages, |bench| bench.nand.parity_stripe = stripe) as f64;
        let share = f64::from(stripe - 1) / f64::from(stripe);
        let expected = f64::from(units) * unit_ns as f64 / share;
        assert!((found / expected - 1.0).abs() < 0.03, "{stripe}: {found}, expected {expected}");
    }
}

/// Four dies with a channel each, of which programs take a share; the mean wait of random reads in ns, and that share.
fn mean_read_wait(change: impl FnOnce(&mut Bench)) -> (f64, f64) {
    let (dies, held, written) = (4, 4_000, 60_000);
    let bench = bench([dies, 1, 1, 1, 2_500, 8]).holding(held).with(|bench| {
        (bench.footprint, bench.contents) = (held + written, held + written);
        bench.verify = false;
        bench.nand.program_us = 2_000.0;
        bench.nand.bus_mt_s = 4096.0;
    });
    let bench = bench.with(change);
    // Pages come at such a rate that programs take half of the time of all dies; reads take hardly any.
    let unit_ns = 2_000_000 + COMMAND + 4 * TRANSFER / 10;
    let gap_ns = unit_ns / 4 * 2 / u64::from(dies);
    let mut rng = Rng::stream(3, "reads");
    let mut asks: Vec<Ask> = Vec::new();
    let mut now = 0;
    for lpn in held..held + written {
        now += i64::from(rng.below(2 * gap_ns as u32));
        asks.push(write(now, lpn, lpn));
    }
    let mut at = 0;
    while at < now {
        at += i64::from(rng.below(2 * 700_000));
        asks.push(read(at, rng.below(held)));
    }
    asks.sort_by_key(|ask| ask.time_ns);
    let outcome = bench.serve(&asks);
    let service = COMMAND + SENSE + TRANSFER / 10;
    let reads: Vec<u64> = outcome.log.response_times().into_iter().filter(|&ns| ns > 0).collect();
    let waits: u64 = reads.iter().map(|&ns| ns - service).sum();
    let share = f64::from(written / 4) * unit_ns as f64 / (f64::from(dies) * now as f64);
    (waits as f64 / reads.len() as f64, share)
}

#[test]
fn read_waits_for_half_a_program_where_the_die_is_busy() {
    let (wait, share) = mean_read_wait(|_| ());
    let expected = share * (2_000_000.0 + 4_000.0 + 100.0) / 2.0;
    assert!((wait / expected - 1.0).abs() < 0.05, "{wait}, expected {expected} at {share}");
}

#[test]
fn read_waits_for_a_slice_where_programs_are_suspended() {
    let (slice_us, suspend_us) = (70.0, 10.0);
    let (wait, share) = mean_read_wait(|bench| {
        bench.engine.suspend = Suspend::ProgramErase;
        (bench.engine.suspend_us, bench.engine.suspend_slice_us) = (suspend_us, slice_us);
        (bench.engine.suspend_times, bench.engine.resume_us) = (0, 0.0);
    });
    // Slices are cut at five means. A read that comes near the end of a program waits for the end only.
    let cut = 1.0 - (-5f64).exp();
    let square = 2.0 * slice_us * slice_us * (1.0 - 6.0 * (-5f64).exp());
    let stop_us = suspend_us + slice_us * cut;
    let ends = (suspend_us * suspend_us + 2.0 * suspend_us * slice_us * cut + square) / (2.0 * 2_000.0);
    let expected = share * (stop_us - ends) * 1e3;
    assert!((wait / expected - 1.0).abs() < 0.05, "{wait}, expected {expected} at {share}");
    assert!((stop_us - ends) / stop_us > 0.95, "nearly the whole stop");
}

#[test]
fn partial_write_finds_its_old_page_in_an_open_unit() {
    let outcome = bench([1, 1, 1, 1, 16, 8]).serve(&[write(0, 1, 1), write_part(1_000, 1, 2)]);
    assert_eq!((outcome.counts.old_page_buffer_reads, outcome.counts.flash_ops), (1, [0, 2, 0]));
}
