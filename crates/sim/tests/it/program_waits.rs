//! Reads of pages on their way to the flash, which controller RAM does not serve: command by command.

use flashtwin_ftl::redirection::RedirectionPolicy;
use flashtwin_ftl::{CacheBytes, ReplicationPolicy};
use flashtwin_sim::engine::{Charge, Ledger};
use flashtwin_sim::{LoadMeasure, MergeReads, Suspend, WriteCompletes};

use crate::bench::{
    Ask, Bench, COMMAND, ERASE, ONE, READ_ALL, SENSE, WRITE_ALL, read, read_pages, served, write, write_part,
};
use crate::mapping_cache::{paged, paged_on};

fn waiting(bench: Bench) -> Bench {
    bench.with(|bench| bench.engine.buffer_reads = false)
}

fn read_after(program_ns: u64) -> Ledger {
    served(&[(Charge::PageProgram, program_ns)], SENSE)
}

#[test]
fn read_is_served_from_ram_or_waits_for_its_program() {
    let asks = [write(0, 0, 5), read(1_000, 0), read(2_000, 1), read(900_000, 0)];
    let bench = || Bench::new(ONE).with(|bench| bench.before = vec![(1, 1)]);
    let from_ram = bench().serve(&asks);
    let expected = [(0, "program", 0), (WRITE_ALL, "read", 0), (900_000, "read", 0)];
    assert_eq!(from_ram.log.commands, expected);
    assert_eq!(from_ram.log.response_times(), [0, WRITE_ALL, WRITE_ALL + READ_ALL - 2_000, READ_ALL]);
    assert_eq!((from_ram.counts.pages.buffer_reads, from_ram.counts.pages.awaited_reads), (1, 0));

    let waits = waiting(bench()).serve(&asks);
    let second = WRITE_ALL + READ_ALL;
    let expected = [(0, "program", 0), (WRITE_ALL, "read", 0), (second, "read", 0), (900_000, "read", 0)];
    assert_eq!(waits.log.commands, expected);
    assert_eq!(waits.places()[1..3], [(0, 1), (0, 0)]);
    let behind = served(&[(Charge::HostProgram, 208_100), (Charge::HostRead, READ_ALL)], SENSE);
    assert_eq!(waits.log.responses[1..], [read_after(209_100), behind, read_after(0)]);
    assert_eq!((waits.counts.pages.buffer_reads, waits.counts.pages.awaited_reads), (0, 1));
}

#[test]
fn ready_reads_overtake_one_that_waits_for_its_program() {
    // Two dies; pages 0 and 2 go to die 0, one program after the other, page 4 is there already.
    let asks = [write(0, 0, 0), write(0, 2, 2), read(1_000, 2), read(2_000, 4), read(211_000, 0)];
    let bench = Bench::new([1, 1, 2, 1, 16, 8]).with(|bench| bench.before = vec![(4, 4)]);
    let outcome = waiting(bench).serve(&asks);
    let ends = [WRITE_ALL, WRITE_ALL + READ_ALL, WRITE_ALL + 2 * READ_ALL];
    let programmed = ends[2] + WRITE_ALL;
    // Reads go before writes: page 4, then page 0, which is on flash by then; then page 2 is programmed.
    assert_eq!(outcome.kinds(), "program read read program read");
    assert_eq!(outcome.starts(), [0, ends[0], ends[1], ends[2], programmed]);
    assert_eq!(outcome.counts.pages.awaited_reads, 1);
    assert_eq!(*outcome.log.responses.last().unwrap(), read_after(programmed - 1_000));
}

#[test]
fn a_read_that_waits_is_load_of_its_chip() {
    let bench = |waits: bool| {
        Bench::new([2, 1, 1, 1, 16, 8]).deduplicating().with(|bench| {
            bench.before = vec![(1, 1), (2, 2)];
            bench.ftl.replication.policy = ReplicationPolicy::EndOfPeriod;
            bench.ftl.replication.alpha = 1.0;
            bench.ftl.redirection.policy = RedirectionPolicy::Replicas;
            bench.popular = vec![2];
            bench.engine.buffer_reads = !waits;
        })
    };
    // Chip 0 has a program; chip 1 two reads. One more operation on chip 0 makes it the fuller one...
    let asks = [write(0, 0, 9), read(1_000, 0), read(2_000, 1), read(3_000, 2)];
    let from_ram = bench(false).serve(&asks);
    let waits = bench(true).serve(&asks);
    assert_eq!(from_ram.log.redirected, [] as [u32; 0]);
    assert_eq!(waits.log.redirected, [1]);
}

#[test]
fn the_old_page_of_a_partial_write_is_waited_for() {
    let asks = [write(0, 0, 0), write_part(1_000, 0, 1)];
    let from_ram = Bench::new(ONE).serve(&asks);
    assert_eq!(from_ram.log.commands, [(0, "program", 0), (WRITE_ALL, "program", 0)]);
    let waits = waiting(Bench::new(ONE)).serve(&asks);
    let expected = [(0, "program", 0), (WRITE_ALL, "read", 0), (WRITE_ALL + READ_ALL, "program", 0)];
    assert_eq!(waits.log.commands, expected);
    assert_eq!(waits.log.response_times(), [WRITE_ALL, 2 * WRITE_ALL + READ_ALL - 1_000]);
    let buffered = |bench: &mut Bench| bench.engine.write_completes = WriteCompletes::Buffered;
    let buffered = waiting(Bench::new(ONE)).with(buffered).serve(&asks);
    assert_eq!(buffered.log.commands, waits.log.commands);
    assert_eq!(buffered.log.response_times(), [0, 0]);
}

#[test]
fn duplicate_is_read_after_its_first_copys_program() {
    let asks = [write(0, 0, 7), write(1_000, 1, 7), read(2_000, 1)];
    let outcome = waiting(Bench::new(ONE).deduplicating()).serve(&asks);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (WRITE_ALL, "read", 0)]);
    assert_eq!(outcome.log.response_times(), [0, WRITE_ALL, WRITE_ALL + READ_ALL - 2_000]);
}

#[test]
fn a_copy_on_its_way_is_no_choice_while_another_is_there() {
    // The second read earns a copy on idle chip 1. Then chip 0 is given work, so the last read would go to chip 1.
    let bench = || {
        Bench::new([2, 1, 1, 1, 16, 8]).holding(1).deduplicating().with(|bench| {
            bench.ftl.replication.policy = ReplicationPolicy::OnLine;
            bench.ftl.replication.alpha = 5.0;
            bench.ftl.redirection.policy = RedirectionPolicy::Replicas;
        })
    };
    let asks: Vec<Ask> = [read(0, 0), read(130_000, 2), read(130_000, 0)].to_vec();
    let copied = bench().serve(&asks);
    assert_eq!(
        copied.log.commands[..3],
        [(0, "read", 0), (READ_ALL, "read", 0), (2 * READ_ALL, "program", 1)]
    );
    let busy = [read(0, 0), write(121_000, 4, 4), write(121_000, 6, 6), read(130_000, 0)];
    let from_ram = bench().serve(&busy);
    assert_eq!((from_ram.counts.pages.buffer_reads, from_ram.log.commands.len()), (1, 5));
    let waits = waiting(bench()).serve(&busy);
    assert_eq!((waits.counts.pages.buffer_reads, waits.counts.pages.awaited_reads), (0, 0));
    assert_eq!(waits.log.redirected, [] as [u32; 0]);
    assert!(waits.log.commands.contains(&(121_000 + WRITE_ALL, "read", 0)));
}

#[test]
fn oracle_waits_for_the_page_then_reads_its_chosen_chip() {
    let bench = Bench::new([2, 1, 1, 1, 16, 8]);
    let bench = bench.with(|bench| bench.ftl.redirection.policy = RedirectionPolicy::AnyChip);
    let outcome = waiting(bench).serve(&[write(0, 0, 0), read(1_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (WRITE_ALL, "read", 1)]);
    assert_eq!(outcome.log.redirected, [1]);
}

#[test]
fn reads_that_wait_for_one_page_share_its_read() {
    let bench = waiting(Bench::new(ONE)).with(|bench| bench.engine.merge_reads = MergeReads::SamePage);
    let outcome = bench.serve(&[write(0, 0, 0), read(1_000, 0), read(2_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (WRITE_ALL, "read", 0)]);
    assert_eq!(outcome.log.responses[1..], [read_after(209_100), read_after(208_100)]);
    assert_eq!((outcome.counts.pages.awaited_reads, outcome.counts.pages.merged_reads), (2, 1));
}

#[test]
fn a_read_that_waits_for_a_program_does_not_interrupt_it() {
    let bench = waiting(Bench::new(ONE)).with(|bench| bench.engine.suspend = Suspend::ProgramErase);
    let outcome = bench.serve(&[write(0, 0, 0), read(50_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (WRITE_ALL, "read", 0)]);
    assert_eq!(outcome.counts.pages.suspensions, 0);
}

#[test]
fn a_page_that_collection_moves_is_waited_for_in_its_new_place() {
    // As in `garbage_collection`: the host's page goes to block 3, page 0 moves from block 0 to 4.
    let bench = Bench::new([1, 1, 1, 1, 7, 2]).with(|bench| {
        bench.footprint = 4;
        (bench.ftl.gc.start, bench.ftl.gc.stop) = (0.4, 0.4);
        bench.before = [0, 3, 1, 3, 2, 3].map(|lpn| (lpn, 0)).to_vec();
    });
    // The read comes when collection has read the page, and nothing else on flash holds it.
    let outcome = waiting(bench).serve(&[write(0, 3, 0), read(280_000, 0)]);
    let programmed = 2 * WRITE_ALL + READ_ALL;
    assert_eq!(outcome.kinds(), "program read program read erase");
    assert_eq!(outcome.starts(), [0, WRITE_ALL, WRITE_ALL + READ_ALL, programmed, programmed + READ_ALL]);
    assert_eq!(outcome.places(), [(3, 0), (0, 0), (4, 0), (4, 0), (0, 0)]);
    assert_eq!(outcome.end_ns, programmed + READ_ALL + COMMAND + ERASE);
}

#[test]
fn a_read_waits_for_its_tables_and_for_its_page() {
    // The tables of page 0 are on flash, and both wait for them: then the write is programmed.
    let outcome = waiting(paged_on([2, 1, 1, 1, 24, 8])).serve(&[write(0, 0, 5), read(1_000, 0)]);
    // The read waits until the write of its page is decided; the tables are there then.
    assert_eq!((outcome.counts.pages.awaited_reads, outcome.counts.tables.waits), (1, 1));
    let write_ns = outcome.log.responses[0].total_ns();
    let last = outcome.log.responses.last().unwrap();
    assert_eq!(last.total_ns(), write_ns + READ_ALL - 1_000, "{:?}", outcome.log);
}

#[test]
fn each_page_of_a_request_waits_by_itself() {
    let asks = [write(0, 0, 0), read_pages(1_000, 0, 2)];
    let bench = Bench::new([2, 1, 1, 1, 16, 8]).with(|bench| bench.before = vec![(1, 1)]);
    let outcome = waiting(bench).serve(&asks);
    let expected = [(0, "program", 0), (1_000, "read", 1), (WRITE_ALL, "read", 0)];
    assert_eq!(outcome.log.commands, expected);
    assert_eq!(outcome.log.response_times(), [WRITE_ALL, WRITE_ALL + READ_ALL - 1_000]);
}

#[test]
fn tables_may_come_after_the_page_is_programmed() {
    let bench = waiting(Bench::new([2, 1, 1, 1, 24, 8])).with(|bench| {
        bench.ftl.mapping_cache.bytes = CacheBytes::Limited(4096);
        bench.footprint = 3_000;
        bench.before = vec![(1_025, 2), (0, 0)];
    });
    // Five programs on chip 1; meanwhile another page of the tables comes, and theirs goes to chip 0.
    let mut asks: Vec<Ask> = [1, 3, 5, 7, 9].map(|lpn| write(0, lpn, lpn)).to_vec();
    asks.extend([read(100_000, 1_024), read(1_100_000, 9)]);
    let outcome = bench.serve(&asks);
    // The last program ends at 1,110,600, the read of the tables at 1,160,100.
    let last = [(900_500, "program", 1), (1_100_000, "read", 0), (1_160_100, "read", 1)];
    assert_eq!(outcome.log.commands[6..], last);
    assert_eq!(outcome.counts.pages.awaited_reads, 1);
    assert_eq!(*outcome.log.responses.last().unwrap(), served(&[(Charge::Tables, READ_ALL)], SENSE));
}

#[test]
fn earlier_read_is_served_before_a_table_read() {
    // The tables of page 1,024 are in RAM, those of page 0 on flash; all is on one chip.
    let asks = [write(0, 1_025, 5), read(10_000, 1_025), read(50_000, 0)];
    let outcome = waiting(paged()).serve(&asks);
    let after = |reads: u64| WRITE_ALL + reads * READ_ALL;
    let expected = [(0, "program", 0), (after(0), "read", 0), (after(1), "read", 0), (after(2), "read", 0)];
    assert_eq!(outcome.log.commands[..4], expected);
    // The host fills block 0, pages of the tables are in block 1.
    assert_eq!(outcome.places()[..4], [(0, 3), (0, 3), (1, 0), (0, 0)]);
    assert_eq!(outcome.counts.pages.awaited_reads, 1);
}

#[test]
fn read_after_its_program_stays_behind_earlier_reads() {
    let bench = waiting(Bench::new(ONE)).holding(4);
    let outcome = bench.serve(&[write(0, 4, 5), read(5_000, 0), read(10_000, 4), read(15_000, 1)]);
    let after = |reads: u64| (WRITE_ALL + reads * READ_ALL, "read", 0);
    assert_eq!(outcome.log.commands, [(0, "program", 0), after(0), after(1), after(2)]);
    assert_eq!(outcome.places(), [(0, 4), (0, 0), (0, 4), (0, 1)]);
}

#[test]
fn expected_wait_includes_the_transfer_before() {
    // Chip 0 reads from 155 us on and has its data out at 215.1; chip 1 programs until 210.1.
    let bench = Bench::new([2, 1, 1, 1, 16, 8]).holding(4).with(|bench| {
        bench.engine.load = LoadMeasure::ExpectedWait;
        bench.ftl.redirection.policy = RedirectionPolicy::AnyChip;
    });
    let outcome = bench.serve(&[write(0, 5, 5), read(155_000, 0), read(160_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 1), (155_000, "read", 0), (WRITE_ALL, "read", 1)]);
}
