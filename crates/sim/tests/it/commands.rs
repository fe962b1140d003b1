//! Which command the flash starts when, written out by hand.

use flashtwin_ftl::ReplicationPolicy;
use flashtwin_ftl::allocation::AllocationPolicy;
use flashtwin_ftl::redirection::RedirectionPolicy;
use flashtwin_sim::engine::Charge;
use flashtwin_sim::{Suspend, WriteCompletes};

use crate::bench::{
    Ask, Bench, COMMAND, ONE, PROGRAM, READ_ALL, SENSE, TRANSFER, WRITE_ALL, ledger, read, served, write,
    write_part,
};

#[test]
fn a_read_is_command_sensing_and_data_out() {
    let outcome = Bench::new(ONE).holding(1).serve(&[read(0, 0)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0)]);
    assert_eq!(outcome.log.responses, [served(&[], SENSE)]);
    assert_eq!(outcome.end_ns, 60_100);
}

#[test]
fn a_write_is_command_with_data_in_and_programming() {
    let outcome = Bench::new(ONE).serve(&[write(7, 0, 0)]);
    assert_eq!(outcome.log.commands, [(7, "program", 0)]);
    assert_eq!(outcome.log.responses, [served(&[], PROGRAM)]);
    assert_eq!(outcome.end_ns, 210_107);
}

#[test]
fn a_read_behind_a_write_on_the_same_die_waits_for_its_end() {
    let outcome = Bench::new(ONE).holding(1).serve(&[write(0, 1, 1), read(1_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (210_100, "read", 0)]);
    assert_eq!(outcome.log.responses[1], served(&[(Charge::HostProgram, 209_100)], SENSE));
}

#[test]
fn two_dies_of_a_chip_share_the_bus_but_sense_at_the_same_time() {
    // Commands at 0-100 and 100-200; data at 50,100-60,100 and, the bus being taken when
    // sensing ends at 50,200, at 60,100-70,100.
    let outcome = Bench::new([1, 1, 2, 1, 16, 8]).holding(2).serve(&[read(0, 0), read(0, 1)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0), (0, "read", 1)]);
    assert_eq!(outcome.log.responses, [served(&[], SENSE), served(&[(Charge::Channel, 10_000)], SENSE)]);
}

#[test]
fn a_partial_write_reads_the_old_page_first() {
    let outcome = Bench::new(ONE).holding(1).serve(&[write_part(0, 0, 1)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0), (60_100, "program", 0)]);
    let both = [(Charge::Transfer, 20_200), (Charge::Flash, SENSE + PROGRAM)];
    assert_eq!(outcome.log.responses, [ledger(&both)]);
}

#[test]
fn a_partial_write_is_hashed_when_the_page_is_whole() {
    let bench = Bench::new(ONE).holding(1).deduplicating().with(|bench| bench.engine.hash_us = 12.0);
    let outcome = bench.serve(&[write_part(0, 0, 9)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0), (72_100, "program", 0)]);
    let all = [(Charge::Transfer, 20_200), (Charge::Flash, SENSE + PROGRAM), (Charge::Hash, 12_000)];
    assert_eq!(outcome.log.responses, [ledger(&all)]);
    // The whole page turns out to be a duplicate of itself: read and hash, no program.
    let outcome = bench.serve(&[write_part(0, 0, 0)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0)]);
    assert_eq!(outcome.log.responses, [served(&[(Charge::Hash, 12_000)], SENSE)]);
}

#[test]
fn a_partial_write_of_a_page_that_never_was_reads_nothing() {
    let outcome = Bench::new(ONE).serve(&[write_part(0, 3, 1)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0)]);
}

#[test]
fn a_duplicate_write_costs_its_hash_and_no_flash_operation() {
    let bench = Bench::new(ONE).holding(1).deduplicating().with(|bench| bench.engine.hash_us = 12.0);
    let outcome = bench.serve(&[write(0, 1, 0)]);
    assert_eq!(outcome.log.commands, []);
    assert_eq!(outcome.log.responses, [ledger(&[(Charge::Hash, 12_000)])]);
}

#[test]
fn pages_waiting_for_hashes_do_not_all_go_to_one_idle_chip() {
    // Reads keep seven of eight chips busy until 60,100; four pages arrive meanwhile and have their hash at
    // 13, 25, 37 and 49 us. The first finds the eighth chip idle, the others find it as busy as the rest.
    let bench = Bench::new([4, 2, 1, 1, 16, 8]).holding(7).deduplicating().with(|bench| {
        bench.engine.hash_us = 12.0;
        bench.footprint = 32;
    });
    let mut asks: Vec<Ask> = (0..7).map(|lpn| read(0, lpn)).collect();
    asks.push(Ask { contents: vec![20, 21, 22, 23], ..write(1_000, 16, 0) });
    let least_loaded = bench.with(|bench| bench.ftl.allocation.policy = AllocationPolicy::LeastLoaded);
    let outcome = least_loaded.serve(&asks);
    let mut units = outcome.units_that_programmed();
    units.dedup();
    assert_eq!(units.len(), 4, "{:?}", outcome.log.commands);
}

/// Page 3 holds content 6 from the beginning, pages 0 to 2 something else; up to `run` pages share a sample. The sample
/// is 6 if it is among the contents, then 9, then 1.
fn sampled(run: u32, contents: &[u32], partial: bool) -> Vec<(u64, &'static str, u32)> {
    let bench = Bench::new([4, 1, 1, 1, 16, 8]).holding(3).deduplicating().with(|bench| {
        bench.engine.hash_us = 12.0;
        bench.ftl.dedup.sampling_pages = run;
        bench.before = vec![(0, 20), (1, 21), (2, 22), (3, 6)];
    });
    bench.serve(&[Ask { contents: contents.to_vec(), partial, ..write(0, 0, 0) }]).log.commands
}

#[test]
fn pages_whose_sample_is_new_are_not_hashed() {
    // The sample is 9; the others go with it.
    let expected = [(12_000, "program", 2), (12_000, "program", 0), (12_000, "program", 1)];
    assert_eq!(sampled(3, &[1, 5, 9], false), expected);
    assert_eq!(sampled(32, &[1, 5, 9], false), expected);
    // Two runs: 1 and 5, whose sample is 1, and 9, which is its own.
    let expected = [(12_000, "program", 0), (12_000, "program", 1), (24_000, "program", 2)];
    assert_eq!(sampled(2, &[1, 5, 9], false), expected);
    let expected = [(12_000, "program", 0), (24_000, "program", 1), (36_000, "program", 2)];
    assert_eq!(sampled(1, &[1, 5, 9], false), expected);
}

#[test]
fn pages_whose_sample_is_found_are_hashed_after_it() {
    assert_eq!(sampled(3, &[1, 6, 9], false), [(24_000, "program", 0), (36_000, "program", 2)]);
}

#[test]
fn partial_page_is_no_sample_if_another_page_can_be() {
    // 6, which would be found, is not whole at first: the sample is 5, and 6 is written again.
    let expected = [
        (0, "read", 0),
        (0, "read", 2),
        (12_000, "program", 1),
        (60_100, "program", 0),
        (60_100, "program", 2),
    ];
    assert_eq!(sampled(3, &[6, 5, 9], true), expected);
    // No page is whole: 6 is the sample all the same. It is found and costs a hash when it is
    // whole; so does 9, which is hashed after it.
    let expected = [(0, "read", 0), (0, "read", 1), (84_100, "program", 1)];
    assert_eq!(sampled(3, &[6, 9], true), expected);
}

#[test]
fn a_read_goes_to_the_copy_on_the_idle_chip() {
    let bench = Bench::new([2, 1, 1, 1, 16, 8]).holding(2).deduplicating().with(|bench| {
        bench.ftl.replication.policy = ReplicationPolicy::EndOfPeriod;
        bench.ftl.replication.alpha = 1.0;
        bench.ftl.redirection.policy = RedirectionPolicy::Replicas;
        bench.popular = vec![0];
    });
    // Page 2 belongs on chip 0, as does page 0, whose copy lies on chip 1.
    let outcome = bench.serve(&[write(0, 2, 9), read(1_000, 0), read(2_000, 1)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (1_000, "read", 1), (61_100, "read", 1)]);
    assert_eq!(outcome.log.redirected, [1]);
}

#[test]
fn the_oracle_reads_on_any_idle_chip_without_a_copy() {
    let bench = Bench::new([3, 1, 1, 1, 16, 8]).holding(1);
    let bench = bench.with(|bench| bench.ftl.redirection.policy = RedirectionPolicy::AnyChip);
    let outcome = bench.serve(&[read(0, 0), read(0, 0), read(0, 0), read(0, 0)]);
    let expected = [(0, "read", 0), (0, "read", 1), (0, "read", 2), (60_100, "read", 0)];
    assert_eq!(outcome.log.commands, expected);
    assert_eq!(outcome.log.redirected, [1, 2]);
}

#[test]
fn a_write_completes_when_the_configuration_says() {
    for (when, response) in [
        (WriteCompletes::Programmed, WRITE_ALL),
        (WriteCompletes::Transferred, COMMAND + TRANSFER),
        (WriteCompletes::Buffered, 0),
    ] {
        let bench = Bench::new(ONE).holding(1).with(|bench| bench.engine.write_completes = when);
        let outcome = bench.serve(&[write(0, 1, 1), read(1_000, 0)]);
        // The flash is as busy with either answer to the host.
        assert_eq!(outcome.log.commands, [(0, "program", 0), (210_100, "read", 0)], "{when:?}");
        assert_eq!(*outcome.log.response_times().iter().min().unwrap(), response, "{when:?}");
        assert_eq!(outcome.end_ns, 270_200);
    }
}

#[test]
fn a_partial_write_completes_when_the_configuration_says() {
    for (when, response) in [
        (WriteCompletes::Programmed, READ_ALL + WRITE_ALL),
        (WriteCompletes::Transferred, READ_ALL + COMMAND + TRANSFER),
        (WriteCompletes::Buffered, 0),
    ] {
        let bench = Bench::new(ONE).holding(1).with(|bench| bench.engine.write_completes = when);
        let outcome = bench.serve(&[write_part(0, 0, 1)]);
        assert_eq!(outcome.log.commands, [(0, "read", 0), (60_100, "program", 0)], "{when:?}");
        assert_eq!(outcome.log.response_times(), [response], "{when:?}");
    }
}

#[test]
fn a_closed_loop_keeps_as_many_requests_under_way_as_its_depth() {
    let asks: Vec<_> = (0..4).map(|lpn| read(1_000_000, lpn)).collect();
    let starts = |depth| {
        let bench = Bench::new([4, 1, 1, 1, 16, 8]).holding(4).with(|bench| bench.queue_depth = depth);
        let outcome = bench.serve(&asks);
        assert_eq!(outcome.log.response_times(), [READ_ALL; 4]);
        outcome.starts()
    };
    assert_eq!(starts(1), [0, 60_100, 120_200, 180_300]);
    assert_eq!(starts(2), [0, 0, 60_100, 60_100]);
    assert_eq!(starts(4), [0; 4]);
}

#[test]
fn the_controller_adds_its_time_to_every_request() {
    let asks: Vec<_> = (0..4).map(|lpn| read(0, lpn)).collect();
    for (depth, starts) in [
        (0, [5_000; 4]),
        (1, [5_000, 70_100, 135_200, 200_300]),
        (2, [5_000, 5_000, 70_100, 70_100]),
        (4, [5_000; 4]),
    ] {
        let bench = Bench::new([4, 1, 1, 1, 16, 8])
            .holding(4)
            .with(|bench| (bench.queue_depth, bench.engine.controller_us) = (depth, 5.0));
        let outcome = bench.serve(&asks);
        assert_eq!(outcome.starts(), starts, "queue depth {depth}");
        assert_eq!(outcome.log.responses, [served(&[(Charge::Controller, 5_000)], SENSE); 4]);
    }
}

#[test]
fn events_during_controller_time_are_not_lost() {
    // The second request arrives at 0 as well; the first completes while it is in flight.
    let bench =
        Bench::new(ONE).holding(4).with(|bench| (bench.queue_depth, bench.engine.controller_us) = (2, 100.0));
    let outcome = bench.serve(&(0..4).map(|lpn| read(0, lpn)).collect::<Vec<_>>());
    let expected = [(100_000, "read", 0), (160_100, "read", 0), (260_100, "read", 0), (320_200, "read", 0)];
    assert_eq!(outcome.log.commands, expected);
}

fn suspending(bench: Bench) -> Bench {
    bench.with(|bench| bench.engine.suspend = Suspend::ProgramErase)
}

#[test]
fn a_read_stops_the_program_and_the_rest_of_it_follows() {
    let outcome = suspending(Bench::new(ONE).holding(1)).serve(&[write(0, 1, 1), read(100_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (120_000, "read", 0), (180_100, "resume", 0)]);
    // 110,100 of 200,000 ns were left at 100,000.
    let write = served(&[(Charge::Suspension, 85_100)], PROGRAM);
    assert_eq!(outcome.log.responses, [served(&[(Charge::HostProgram, 20_000)], SENSE), write]);
    assert_eq!(outcome.end_ns, 180_100 + 5_000 + 110_100);
    assert_eq!(outcome.counts.pages.suspensions, 1);
}

#[test]
fn data_on_their_way_to_the_register_are_not_stopped() {
    let outcome = suspending(Bench::new(ONE).holding(1)).serve(&[write(0, 1, 1), read(5_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (30_100, "read", 0), (90_200, "resume", 0)]);
    assert_eq!(outcome.end_ns, 90_200 + 5_000 + 200_000);
}

#[test]
fn a_program_that_is_nearly_done_is_not_stopped() {
    let outcome = suspending(Bench::new(ONE).holding(1)).serve(&[write(0, 1, 1), read(190_100, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (210_100, "read", 0)]);
    assert_eq!(outcome.counts.pages.suspensions, 0);
}

#[test]
fn a_program_is_stopped_no_more_often_than_the_limit_says() {
    let bench = suspending(Bench::new(ONE).holding(1)).with(|bench| bench.engine.suspend_times = 1);
    let outcome = bench.serve(&[write(0, 1, 1), read(100_000, 0), read(200_000, 0)]);
    let expected = [(0, "program", 0), (120_000, "read", 0), (180_100, "resume", 0), (295_200, "read", 0)];
    assert_eq!(outcome.log.commands, expected);
}

#[test]
fn suspended_program_is_overtaken_up_to_the_limit() {
    let bench = suspending(Bench::new(ONE).holding(1))
        .with(|bench| (bench.engine.suspend_times, bench.engine.suspend_reads) = (1, 2));
    let asks = [write(0, 1, 1), read(100_000, 0), read(101_000, 0), read(102_000, 0)];
    let outcome = bench.serve(&asks);
    assert_eq!(outcome.kinds(), "program read read resume read");
    assert_eq!(outcome.starts(), [0, 120_000, 180_100, 240_200, 355_300]);
}

#[test]
fn reads_without_end_do_not_starve_a_program() {
    let bench = suspending(Bench::new(ONE).holding(1));
    let mut asks = vec![write(0, 1, 1)];
    // A read every 30 us, twice the rate of the chip.
    asks.extend((1..2_000).map(|nth| read(nth * 30_000, 0)));
    let outcome = bench.serve(&asks);
    let resumed = outcome.log.commands.iter().filter(|command| command.1 == "resume").count();
    assert_eq!(resumed, 4, "as often as suspend_times says");
    // Four times 16 reads of 60,100 ns, their stops and starts, and the program.
    let write_ns = outcome.log.response_times()[outcome.log.responses.len() - 2_000..]
        .iter()
        .copied()
        .find(|&ns| ns > 4 * 16 * 60_100)
        .expect("the write");
    assert!(write_ns < 4 * (16 * 60_100 + 25_000) + 300_000, "{write_ns}");
}

#[test]
fn erases_alone_are_stopped_where_only_they_may_be() {
    let bench = Bench::new(ONE).holding(1).with(|bench| bench.engine.suspend = Suspend::Erase);
    let outcome = bench.serve(&[write(0, 1, 1), read(100_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (210_100, "read", 0)]);
}
