//! Copies made one by one in idle time: which command the flash starts when, written out by hand.

use flashtwin_ftl::ReplicationPolicy;
use flashtwin_ftl::redirection::RedirectionPolicy;

use crate::bench::{Bench, READ_ALL, WRITE_ALL, read, write};

/// Two chips of one die each behind a channel each; a content read once has earned a second copy.
fn copying_on_line() -> Bench {
    Bench::new([2, 1, 1, 1, 16, 8]).holding(2).deduplicating().with(|bench| {
        bench.ftl.replication.policy = ReplicationPolicy::OnLine;
        bench.ftl.replication.alpha = 1.0;
        bench.ftl.redirection.policy = RedirectionPolicy::Replicas;
    })
}

#[test]
fn copy_is_read_in_idle_time_and_programmed_elsewhere() {
    let outcome = copying_on_line().serve(&[read(0, 0)]);
    // The host's read, then that of the copy; its program on chip 1 when the page is in RAM.
    assert_eq!(outcome.log.commands, [(0, "read", 0), (60_100, "read", 0), (120_200, "program", 1)]);
    assert_eq!(outcome.log.response_times(), [READ_ALL]);
    assert_eq!(outcome.end_ns, 120_200 + WRITE_ALL);
}

#[test]
fn the_host_goes_before_a_copy_that_waits() {
    let outcome = copying_on_line().serve(&[read(0, 0), read(1_000, 0), read(62_000, 0)]);
    // At 60,100 the second read goes; the third finds the read of the copy in service at its chip
    // (begun at 120,200 it would be later: nothing waited at 60,100 but the host).
    let expected = [(0, "read", 0), (60_100, "read", 0), (120_200, "read", 0), (180_300, "read", 0)];
    assert_eq!(outcome.log.commands[..4], expected);
    assert_eq!(outcome.log.commands[4..], [(240_400, "program", 1)]);
    assert_eq!(outcome.log.response_times(), [READ_ALL, 119_200, 118_300]);
}

#[test]
fn a_copy_just_placed_is_read_from_ram_until_it_is_programmed() {
    // At 121,000 the copy is on its way to chip 1; chip 0 is idle, so the home copy is read.
    let outcome = copying_on_line().serve(&[read(0, 0), read(121_000, 0)]);
    assert_eq!(outcome.log.commands[..3], [(0, "read", 0), (60_100, "read", 0), (120_200, "program", 1)]);
    assert_eq!(outcome.log.commands[3], (121_000, "read", 0));
    assert!(outcome.log.redirected.is_empty());
}

#[test]
fn a_copy_waits_until_its_unit_has_been_idle_long_enough() {
    let bench = || copying_on_line().with(|bench| bench.engine.idle_us = 100.0);
    // The chip of the copy has done nothing yet.
    let outcome = bench().serve(&[read(0, 0)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0), (160_100, "read", 0), (220_200, "program", 1)]);
    // A read just before: the copy waits anew.
    let outcome = bench().serve(&[read(0, 0), read(150_000, 0)]);
    let expected = [(0, "read", 0), (150_000, "read", 0), (310_100, "read", 0), (370_200, "program", 1)];
    assert_eq!(outcome.log.commands, expected);
    // And so does its program behind the write of another page.
    let outcome = bench().serve(&[read(0, 0), write(150_000, 1, 9)]);
    let expected = [(0, "read", 0), (150_000, "program", 1), (160_100, "read", 0), (460_100, "program", 1)];
    assert_eq!(outcome.log.commands, expected);
}

#[test]
fn begun_jobs_continue_without_another_idle_wait() {
    let bench = copying_on_line().holding(3).with(|bench| bench.engine.idle_us = 100.0);
    let outcome = bench.serve(&[read(0, 0), read(0, 2)]);
    assert_eq!(outcome.kinds(), "read read read read program@1 program@1");
    assert_eq!(outcome.starts(), [0, 60_100, 220_200, 280_300, 280_300, 490_400]);
}

#[test]
fn host_request_ends_idle_time_between_read_and_copy() {
    // Chip 1 takes up the host's write before it gets the copy, and another while the copy waits.
    let asks = [read(0, 0), write(119_000, 1, 9), write(121_000, 3, 8)];
    let outcome = copying_on_line().serve(&asks);
    assert_eq!(outcome.kinds(), "read read program@1 program@1 program@1");
    assert_eq!(outcome.starts(), [0, 60_100, 119_000, 329_100, 539_200]);
    assert_eq!(outcome.log.response_times(), [READ_ALL, WRITE_ALL, 208_100 + WRITE_ALL]);
}

fn copying_by_recency() -> Bench {
    copying_on_line().with(|bench| bench.ftl.replication.policy = ReplicationPolicy::PriorityLru)
}

#[test]
fn a_page_read_twice_gets_a_copy_on_the_least_loaded_chip() {
    let outcome = copying_by_recency().serve(&[read(0, 0), read(100_000, 0), read(600_000, 0)]);
    // A third read brings it into the highest class; there is no third chip.
    assert_eq!(outcome.kinds(), "read read read program@1 read");
    assert_eq!(outcome.starts(), [0, 100_000, 160_100, 220_200, 600_000]);
    // With a third chip, which is idle while chip 1 works, the copy goes there.
    let three = copying_by_recency().with(|bench| bench.nand = crate::bench::nand([3, 1, 1, 1, 16, 8]));
    let outcome = three.holding(2).serve(&[read(0, 0), read(100_000, 0), write(200_000, 1, 9)]);
    assert_eq!(outcome.log.commands[3..], [(200_000, "program", 1), (220_200, "program", 2)]);
}

#[test]
fn copies_of_a_page_are_gone_when_nobody_points_to_it() {
    // Page 0 is read twice and copied to chip 1, then overwritten; chip 0 is busy when it is read.
    let asks =
        [read(0, 0), read(100_000, 0), write(1_000_000, 0, 9), write(1_300_000, 2, 8), read(1_301_000, 0)];
    let outcome = copying_by_recency().serve(&asks);
    assert_eq!(outcome.log.commands[6..], [(1_510_100, "read", 0)]);
    // While another page holds the same, the copy is worth as much as before.
    let shared = copying_by_recency().with(|bench| bench.before.push((4, 0)));
    let mut asks = asks.to_vec();
    asks[4] = read(1_301_000, 4);
    let outcome = shared.serve(&asks);
    assert_eq!(outcome.log.commands[6..], [(1_301_000, "read", 1)]);
}

#[test]
fn the_least_recent_copy_makes_room_for_the_next() {
    // Two contents and room for one copy: that of page 0 goes when page 1 has been read twice.
    let bench = copying_by_recency().with(|bench| (bench.footprint, bench.ftl.replication.alpha) = (3, 0.0));
    let asks = [
        read(0, 0),
        read(100_000, 0),
        read(1_000_000, 1),
        read(1_100_000, 1),
        write(2_000_000, 2, 8),
        read(2_001_000, 0),
    ];
    let outcome = bench.serve(&asks);
    let expected = [
        (1_000_000, "read", 1),
        (1_100_000, "read", 1),
        (1_160_100, "read", 1),
        (1_220_200, "program", 0),
        // A third content: now the copy of page 1 must go, too.
        (2_000_000, "program", 0),
        // Page 0 has earned a copy again, but there is no room at all now: nothing is read for it.
        (2_210_100, "read", 0),
    ];
    assert_eq!(outcome.log.commands[4..], expected);
}

#[test]
fn every_earned_copy_is_made_even_for_close_reads() {
    let bench = || copying_on_line().with(|bench| bench.nand = crate::bench::nand([6, 1, 1, 1, 16, 8]));
    let asks: Vec<_> = (0..5).map(|turn| read(turn * 10_000, 0)).collect();
    let outcome = bench().serve(&asks);
    assert_eq!(outcome.units_that_programmed(), [1, 2, 3, 4, 5]);
    // All of them in the idle time after the reads, one after another.
    let last = outcome.log.commands.iter().rfind(|command| command.1 == "program").unwrap();
    assert!(last.0 < 3_000_000, "{last:?}");
}
