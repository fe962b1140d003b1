//! Flash operations of garbage collection, command by command.

use flashtwin_ftl::Cause;

use flashtwin_ftl::idle::IdlePolicy;

use crate::bench::{Bench, ERASE, READ_ALL, WRITE_ALL, read, write, write_part};

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
    let expected = [
        (0, "program", 0),
        (WRITE_ALL, "read", 0),
        (WRITE_ALL + READ_ALL, "program", 0),
        (2 * WRITE_ALL + READ_ALL, "erase", 0),
    ];
    assert_eq!(outcome.log.commands, expected);
    // The host's page goes to fresh block 3, page 0 from block 0 to fresh block 4.
    assert_eq!(outcome.places(), [(3, 0), (0, 0), (4, 0), (0, 0)]);
    assert_eq!(outcome.end_ns, 2 * WRITE_ALL + READ_ALL + 100 + ERASE);
}

#[test]
fn host_reads_precede_collection_and_delay_the_erase() {
    // The read of page 0 is decided before collection moves the page: it goes to block 0.
    let outcome = nearly_full().serve(&[read(0, 1), read(0, 0), write(0, 3, 0), read(300_000, 2)]);
    let expected = [
        (0, "read", 0),
        (60_100, "read", 0),
        (120_200, "program", 0),
        (330_300, "read", 0),
        (390_400, "read", 0),
        (450_500, "program", 0),
        (660_600, "erase", 0),
    ];
    assert_eq!(outcome.log.commands, expected);
    assert_eq!(outcome.places(), [(1, 0), (0, 0), (3, 0), (2, 0), (0, 0), (4, 0), (0, 0)]);
}

#[test]
fn page_being_moved_is_read_from_ram_until_programmed() {
    let outcome = nearly_full().serve(&[write(0, 3, 0), read(300_000, 0), read(490_000, 0)]);
    assert_eq!(outcome.counts.pages.buffer_reads, 1);
    // The second read finds the page programmed in block 4, behind the erase under way.
    assert_eq!(outcome.log.commands[4], (480_300 + 100 + ERASE, "read", 0));
    assert_eq!(outcome.places()[4], (4, 0));
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
fn urgent_collection_goes_before_the_hosts_writes() {
    let kinds = |urgent| {
        let bench = nearly_full().with(|bench| {
            (bench.ftl.gc.start, bench.ftl.gc.urgent) = (0.99, urgent);
        });
        let outcome = bench.serve(&[write(0, 3, 0), write(0, 3, 0)]);
        outcome.log.commands.iter().take(4).map(|command| command.1).collect::<Vec<_>>()
    };
    assert_eq!(kinds(6), ["program", "read", "program", "erase"]);
    assert_eq!(kinds(1), ["program", "program", "read", "program"]);
}

#[test]
fn only_writes_to_an_erased_block_wait_for_the_erase() {
    // Five blocks of two pages and a single logical page, written over and over: every
    // second write finds a block without valid pages and orders its erase. Before time 0
    // blocks 0 to 3 were filled and 0 and 1 erased again.
    let bench = Bench::new([1, 1, 1, 1, 5, 2]).with(|bench| {
        bench.footprint = 1;
        bench.before = vec![(0, 0); 8];
    });
    let outcome = bench.serve(&vec![write(0, 0, 0); 7]);
    // Blocks 4, 0 and 1 can be written at once. The seventh write is for block 2, whose
    // erase was ordered by the first and has waited for all the writes since.
    let mut expected: Vec<_> = (0..6).map(|nth| (nth * WRITE_ALL, "program", 0)).collect();
    expected.push((6 * WRITE_ALL, "erase", 0));
    expected.push((6 * WRITE_ALL + 100 + ERASE, "program", 0));
    assert_eq!(outcome.log.commands[..8], expected);
    let places = [(4, 0), (4, 1), (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 0)];
    assert_eq!(outcome.places()[..8], places);
}

#[test]
fn write_never_takes_a_page_of_an_earlier_block_life() {
    // A burst of writes on a device that collects all the time. The host's writes go first,
    // so collection falls behind by several lives of a block; the block that the host writes
    // next was meanwhile filled by collection and emptied again, in the tables only.
    let bench = Bench::new([1, 1, 1, 1, 6, 3]).with(|bench| {
        bench.footprint = 5;
        (bench.ftl.gc.start, bench.ftl.gc.step_pages) = (0.6, 100);
        bench.before = (0..5).map(|lpn| (lpn, 0)).collect();
    });
    let burst: Vec<_> = (0..16).map(|nth| write(0, nth * nth % 5, 0)).collect();
    let outcome = bench.serve(&burst);
    assert_eq!(outcome.counts.requests, [0, 16, 0, 0]);
    let programs = outcome.log.commands.iter().filter(|command| command.1 == "program");
    assert!(programs.count() > 16, "collection moved nothing: the scenario shows nothing");
}

#[test]
fn ready_program_passes_one_that_waits_for_an_erase() {
    // As above, and a write to the die's other plane behind all others: it need not wait for the erase.
    let bench = Bench::new([1, 1, 1, 2, 5, 2]).with(|bench| {
        bench.footprint = 2;
        bench.before = vec![(0, 0); 8];
    });
    let mut burst = vec![write(0, 0, 0); 7];
    burst.push(write(0, 1, 0));
    let outcome = bench.serve(&burst);
    let mut expected: Vec<_> = (0..7).map(|nth| (nth * WRITE_ALL, "program", 0)).collect();
    expected.push((7 * WRITE_ALL, "erase", 0));
    expected.push((7 * WRITE_ALL + 100 + ERASE, "program", 0));
    assert_eq!(outcome.log.commands[..9], expected);
    let (host, other, waiting) = (outcome.places()[5], outcome.places()[6], outcome.places()[8]);
    assert_eq!((host, other, waiting), ((1, 1), (0, 0), (2, 0)));
}

#[test]
fn collection_takes_from_ram_what_is_not_programmed_yet() {
    // Eight blocks of two pages, three of them full of pages 0 to 5. Four writes at once: pages 0
    // and 1 to block 3, page 0 to block 4 (which leaves three blocks free: block 0 has no valid
    // page left and is erased), and again. Now blocks 3 and 4 have one valid page each, none of it
    // programmed yet: the pages that collection moves are in RAM.
    let bench = Bench::new([1, 1, 1, 1, 8, 2]).holding(6).with(|bench| {
        bench.footprint = 6;
        (bench.ftl.gc.start, bench.ftl.gc.stop) = (0.375, 0.9);
    });
    let outcome = bench.serve(&[write(0, 0, 0), write(0, 1, 0), write(0, 0, 0), write(0, 0, 0)]);
    let erased = 4 * WRITE_ALL + 100 + ERASE;
    let mut expected: Vec<_> = (0..4).map(|nth| (nth * WRITE_ALL, "program", 0)).collect();
    expected.extend([(4 * WRITE_ALL, "erase", 0), (erased, "program", 0), (erased + WRITE_ALL, "erase", 0)]);
    assert_eq!(outcome.log.commands, expected);
    assert_eq!(outcome.places()[4..6], [(0, 0), (5, 0)]);
    assert_eq!(outcome.counts.own_buffer_reads[Cause::Gc as usize], 1);
}

#[test]
fn idle_die_collects_page_by_page_and_makes_way() {
    // Blocks 0 to 2 hold a valid page each, beside outdated ones; half of the seven blocks are wanted free, which is
    // four. One write opens block 3. Then nothing comes for 300 us: block 0 is collected, to block 4. A read waits for
    // the program under way and goes before the erase. Three blocks are free, so block 1 follows, without another 300
    // us.
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

#[test]
fn collection_that_idle_time_has_finished_does_not_go_on() {
    // The first write opens block 3, which leaves three free blocks: block 0 is collected, and one more would be behind
    // the next write. Idle time brings the fourth free block first, and with it the end.
    let bench = nearly_full().with(|bench| {
        (bench.ftl.gc.idle, bench.ftl.gc.idle_reserve) = (IdlePolicy::Reserve, 0.5);
        bench.engine.idle_us = 300.0;
    });
    let outcome = bench.serve(&[write(0, 3, 0), write(9_000_000, 3, 0)]);
    let erased: Vec<u32> = outcome
        .log
        .commands
        .iter()
        .zip(outcome.places())
        .filter(|(command, _)| command.1 == "erase")
        .map(|(_, place)| place.0)
        .collect();
    assert_eq!(erased, [0, 1]);
    assert_eq!(*outcome.log.commands.last().unwrap(), (9_000_000, "program", 0));
}
