use flashtwin_sim::engine::{Charge, Ledger};
use flashtwin_sim::{Concurrency, MultiPlane, Suspend, WriteCompletes};

use crate::bench::{Ask, Bench, COMMAND, Levels, PROGRAM, SENSE, TRANSFER, read, read_pages, served, write};

/// One die of two planes: even pages go to plane 0, odd ones to plane 1.
const TWO_PLANES: Levels = [1, 1, 1, 2, 16, 8];

fn bench(levels: Levels, rule: MultiPlane) -> Bench {
    Bench::new(levels).with(|bench| bench.engine.multi_plane = rule)
}

fn write_pages(time_ns: i64, lpn: u32, pages: u32) -> Ask {
    Ask { contents: (lpn..lpn + pages).collect(), ..write(time_ns, lpn, 0) }
}

fn after(program_ns: u64, channel_ns: u64, array_ns: u64) -> Ledger {
    served(&[(Charge::HostProgram, program_ns), (Charge::Channel, channel_ns)], array_ns)
}

#[test]
fn two_planes_sense_together_and_transfer_in_turn() {
    let asks = [read_pages(0, 0, 2)];
    let outcome = bench(TWO_PLANES, MultiPlane::SamePage).holding(2).serve(&asks);
    assert_eq!(outcome.log.commands, [(0, "read", 0), (0, "read", 0)]);
    assert_eq!(outcome.log.responses, [after(0, COMMAND + TRANSFER, SENSE)]);
    assert_eq!((outcome.counts.pages.multi_plane_commands, outcome.counts.pages.multi_plane_ops), (1, 2));
    let outcome = bench(TWO_PLANES, MultiPlane::None).holding(2).serve(&asks);
    assert_eq!(outcome.log.commands, [(0, "read", 0), (60_100, "read", 0)]);
    assert_eq!((outcome.counts.pages.multi_plane_commands, outcome.end_ns), (0, 120_200));
}

#[test]
fn first_plane_data_reach_the_host_first() {
    // Both wait for the program on plane 1 and then go together.
    let asks = [write(0, 3, 9), read(1_000, 0), read(2_000, 1)];
    let outcome = bench(TWO_PLANES, MultiPlane::SamePage).holding(2).serve(&asks);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (210_100, "read", 0), (210_100, "read", 0)]);
    let begins = 210_100 - 1_000;
    let first = after(begins, COMMAND, SENSE);
    let second = after(begins - 1_000, COMMAND + TRANSFER, SENSE);
    assert_eq!(outcome.log.responses[1..], [first, second]);
}

#[test]
fn two_planes_are_loaded_in_turn_and_program_together() {
    let outcome = bench(TWO_PLANES, MultiPlane::SamePage).serve(&[write_pages(0, 0, 2)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (0, "program", 0)]);
    assert_eq!(outcome.log.responses, [after(0, COMMAND + TRANSFER, PROGRAM)]);
}

#[test]
fn a_busy_die_programs_two_planes_in_the_time_of_one() {
    let pages = 12;
    let took = |rule| bench(TWO_PLANES, rule).serve(&[write_pages(0, 0, pages)]).end_ns;
    let one = COMMAND + TRANSFER + PROGRAM;
    assert_eq!(took(MultiPlane::None), u64::from(pages) * one);
    assert_eq!(took(MultiPlane::SamePage), u64::from(pages) / 2 * (one + COMMAND + TRANSFER));
}

#[test]
fn unequal_page_numbers_combine_only_with_any_page() {
    // Plane 0 is one page ahead: its next page is 1, that of plane 1 is 0.
    let asks = [write(0, 0, 0), write_pages(1_000_000, 0, 2)];
    let starts = |rule| bench(TWO_PLANES, rule).serve(&asks).starts();
    assert_eq!(starts(MultiPlane::SamePage), [0, 1_000_000, 1_210_100]);
    assert_eq!(starts(MultiPlane::AnyPage), [0, 1_000_000, 1_000_000]);
}

#[test]
fn reads_of_one_plane_or_of_two_dies_do_not_go_together() {
    for (levels, second) in [(TWO_PLANES, 2), ([1, 1, 2, 2, 16, 8], 1)] {
        let bench = bench(levels, MultiPlane::AnyPage)
            .holding(4)
            .with(|bench| bench.engine.concurrency = Concurrency::Chip);
        let outcome = bench.serve(&[write(0, 3, 9), read(1_000, 0), read(2_000, second)]);
        assert_eq!(outcome.log.commands[1..], [(210_100, "read", 0), (270_200, "read", 0)], "{levels:?}");
    }
}

#[test]
fn writes_hashed_at_the_same_time_go_together() {
    let hashing = |lanes| {
        let bench = bench(TWO_PLANES, MultiPlane::SamePage).deduplicating();
        let bench = bench.with(|bench| (bench.engine.hash_us, bench.engine.hash_lanes) = (12.0, lanes));
        bench.serve(&[write_pages(0, 0, 2)]).log.commands
    };
    assert_eq!(hashing(2), [(12_000, "program", 0), (12_000, "program", 0)]);
    assert_eq!(hashing(1), [(12_000, "program", 0), (222_100, "program", 0)]);
}

#[test]
fn register_writes_complete_when_both_planes_are_loaded() {
    let bench = bench(TWO_PLANES, MultiPlane::SamePage)
        .with(|bench| bench.engine.write_completes = WriteCompletes::Transferred);
    let outcome = bench.serve(&[write_pages(0, 0, 2)]);
    assert_eq!(outcome.log.responses, [after(0, COMMAND + TRANSFER, 0)]);
    assert_eq!(outcome.end_ns, 2 * (COMMAND + TRANSFER) + PROGRAM);
}

#[test]
fn a_read_stops_both_planes_and_both_go_on() {
    let bench = bench(TWO_PLANES, MultiPlane::SamePage).holding(2).with(|bench| {
        bench.engine.suspend = Suspend::ProgramErase;
        (bench.engine.suspend_us, bench.engine.resume_us) = (20.0, 5.0);
    });
    // Data in until 20,200; the array stops at 120,000, 100,200 ns of its 200,000 left.
    let outcome = bench.serve(&[write_pages(0, 2, 2), read(100_000, 0)]);
    let expected = [(0, "program", 0), (0, "program", 0), (120_000, "read", 0), (180_100, "resume", 0)];
    assert_eq!(outcome.log.commands, expected);
    assert_eq!(outcome.end_ns, 180_100 + 5_000 + (220_200 - 100_000));
    assert_eq!(outcome.log.responses.len(), 2);
}

#[test]
fn an_operation_alone_is_no_command_of_several_planes() {
    let outcome = bench(TWO_PLANES, MultiPlane::SamePage).holding(2).serve(&[read(0, 0), read(1_000_000, 1)]);
    assert_eq!((outcome.counts.pages.multi_plane_commands, outcome.counts.pages.multi_plane_ops), (0, 0));
}
