use flashtwin_ftl::{CacheBytes, Rng};
use flashtwin_sim::WriteCompletes;
use flashtwin_sim::engine::{Charge, Ledger};

use crate::bench::{
    Ask, Bench, Command, Levels, PROGRAM, READ_ALL, SENSE, WRITE_ALL, ledger, pick, read, served, write,
    write_part,
};

pub(crate) fn paged() -> Bench {
    paged_on([1, 1, 1, 1, 24, 8])
}

/// A translation page holds 1,024 LPNs or 682 VPNs; RAM has room for one, that of LPN 1,024.
pub(crate) fn paged_on(levels: Levels) -> Bench {
    Bench::new(levels).with(|bench| {
        bench.ftl.mapping_cache.bytes = CacheBytes::Limited(4096);
        bench.footprint = 3_000;
        bench.before = vec![(0, 0), (1, 1), (1_024, 2)];
    })
}

fn read_after(reads_ns: u64, tables_ns: u64) -> Ledger {
    served(&[(Charge::HostRead, reads_ns), (Charge::Tables, tables_ns)], SENSE)
}

#[test]
fn read_waits_for_its_entry_and_eviction_follows() {
    let outcome = paged().serve(&[read(0, 0)]);
    let expected = [(0, "read", 0), (READ_ALL, "read", 0), (2 * READ_ALL, "program", 0)];
    assert_eq!(outcome.log.commands, expected);
    // The host fills block 0; translation pages are in block 1.
    assert_eq!(outcome.places(), [(1, 0), (0, 0), (1, 1)]);
    assert_eq!(outcome.log.responses, [read_after(0, READ_ALL)]);
    assert_eq!((outcome.counts.tables.waits, outcome.counts.table_wait_ns), (1, READ_ALL));
}

#[test]
fn a_page_that_is_on_its_way_is_not_read_twice() {
    let outcome = paged().serve(&[read(0, 0), read(10_000, 1)]);
    let expected =
        [(0, "read", 0), (READ_ALL, "read", 0), (2 * READ_ALL, "read", 0), (3 * READ_ALL, "program", 0)];
    assert_eq!(outcome.log.commands, expected);
    // The second read waits for the rest of the first one's, and then for its turn.
    assert_eq!(outcome.log.responses, [read_after(0, READ_ALL), read_after(READ_ALL, READ_ALL - 10_000)]);
    assert_eq!((outcome.counts.tables.waits, outcome.counts.table_wait_ns), (2, 2 * READ_ALL - 10_000));
}

#[test]
fn a_page_in_ram_costs_nothing() {
    let outcome = paged().serve(&[read(0, 1_024)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0)]);
    assert_eq!((outcome.log.responses, outcome.counts.tables.waits), (vec![read_after(0, 0)], 0));
}

#[test]
fn write_waits_for_its_entry_and_delays_its_block() {
    let outcome = paged().serve(&[write(0, 0, 5), write(0, 1, 6)]);
    // Both wait for one page; the second, for the first.
    let second = READ_ALL + WRITE_ALL;
    let expected = [(0, "read", 0), (READ_ALL, "program", 0), (second, "program", 0)];
    assert_eq!(outcome.log.commands[..3], expected);
    assert_eq!(outcome.log.commands[3..], [(second + WRITE_ALL, "program", 0)], "the page that gave way");
    let after =
        |programs_ns| served(&[(Charge::HostProgram, programs_ns), (Charge::Tables, READ_ALL)], PROGRAM);
    assert_eq!(outcome.log.responses, [after(0), after(WRITE_ALL)]);
}

#[test]
fn a_buffered_write_keeps_nobody_waiting() {
    let bench = paged().with(|bench| bench.engine.write_completes = WriteCompletes::Buffered);
    let outcome = bench.serve(&[write(0, 0, 5)]);
    assert_eq!(outcome.log.response_times(), [0]);
    assert_eq!(outcome.log.commands[..2], [(0, "read", 0), (READ_ALL, "program", 0)]);
}

#[test]
fn the_tables_come_before_the_old_page_of_a_partial_write() {
    let outcome = paged().serve(&[write_part(0, 0, 5)]);
    let expected = [(0, "read", 0), (READ_ALL, "read", 0), (2 * READ_ALL, "program", 0)];
    assert_eq!(outcome.log.commands[..3], expected);
    assert_eq!(outcome.places()[..3], [(1, 0), (0, 0), (0, 3)]);
    let tables_ns = outcome.log.responses[0].of(Charge::Tables);
    assert_eq!((tables_ns, outcome.log.response_times()), (READ_ALL, vec![2 * READ_ALL + WRITE_ALL]));
}

/// 700 contents, so that the secondary table has two pages. The second one is in RAM.
fn paged_contents() -> Bench {
    let bench = Bench::new([1, 1, 1, 1, 130, 8]).deduplicating();
    bench.with(|bench| {
        bench.ftl.mapping_cache.bytes = CacheBytes::Limited(4096);
        (bench.footprint, bench.contents) = (3_000, 800);
        bench.before = (0..700).map(|lpn| (lpn, lpn)).collect();
    })
}

#[test]
fn content_read_waits_for_both_tables_in_sequence() {
    let outcome = paged_contents().serve(&[read(0, 0)]);
    let expected =
        [(0, "read", 0), (READ_ALL, "read", 0), (2 * READ_ALL, "read", 0), (3 * READ_ALL, "program", 0)];
    assert_eq!(outcome.log.commands, expected);
    assert_eq!(outcome.log.responses, [read_after(0, 2 * READ_ALL)]);
}

#[test]
fn duplicate_waits_for_entry_and_hash_but_not_for_counts() {
    let bench = paged_contents().with(|bench| bench.engine.hash_us = 12.0);
    let outcome = bench.serve(&[write(0, 0, 699)]);
    assert_eq!(outcome.log.response_times(), [READ_ALL + 12_000]);
    // The pages of VPN 0 and VPN 699, whose references change, are read behind it once the hash is known.
    let found = READ_ALL + 12_000;
    assert_eq!(
        outcome.log.commands[..3],
        [(0, "read", 0), (found, "read", 0), (found + READ_ALL, "program", 0)]
    );
    assert_eq!(outcome.counts.tables.waits, 1);
}

/// A second, by which everything before is done.
const LATER: u64 = 1_000_000_000;
/// Contents with fingerprints in different pages of the store; the second one is on flash.
const FIRST: u32 = 750;
const KNOWN: u32 = 5;

/// The fingerprint store has seven pages on flash; RAM has room for three pages of tables. A hash takes 12 us. The
/// write of [`FIRST`] leaves the pages of LPN 0, VPN 682 and its fingerprint, changed, the last used last.
fn paged_fingerprints(later: &[Ask]) -> (Vec<Command>, Vec<Ledger>) {
    let bench = paged_contents().with(|bench| {
        bench.engine.hash_us = 12.0;
        bench.ftl.mapping_cache.bytes = CacheBytes::Limited(3 * 4096);
        bench.ftl.mapping_cache.fingerprints = true;
    });
    let outcome = bench.serve(&[&[write(0, 700, FIRST)], later].concat());
    let commands = outcome.log.commands.into_iter().filter(|&(time_ns, ..)| time_ns >= LATER);
    (commands.collect(), outcome.log.responses[1..].to_vec())
}

#[test]
fn new_content_is_looked_up_after_its_hash_then_programmed() {
    let (commands, responses) = paged_fingerprints(&[write(LATER as i64, 701, 751)]);
    let hashed = LATER + 12_000;
    // The page of VPNs gives way and is taken back for the new VPN, so that of the first fingerprint goes.
    let expected = [
        (hashed, "read", 0),
        (hashed + READ_ALL, "program", 0),
        (hashed + READ_ALL + WRITE_ALL, "program", 0),
    ];
    assert_eq!(commands, expected);
    assert_eq!(responses, [served(&[(Charge::Hash, 12_000), (Charge::Tables, READ_ALL)], PROGRAM)]);
}

#[test]
fn duplicate_completes_with_the_read_of_its_fingerprint() {
    let (commands, responses) = paged_fingerprints(&[write(LATER as i64, 701, KNOWN)]);
    let found = LATER + 12_000 + READ_ALL;
    // The page that counts its references is read behind it; two pages give way.
    let expected = [
        (LATER + 12_000, "read", 0),
        (found, "read", 0),
        (found + READ_ALL, "program", 0),
        (found + READ_ALL + WRITE_ALL, "program", 0),
    ];
    assert_eq!(commands, expected);
    assert_eq!(responses, [ledger(&[(Charge::Hash, 12_000), (Charge::Tables, READ_ALL)])]);
}

#[test]
fn cached_fingerprint_waits_only_for_earlier_writes() {
    let at = LATER as i64;
    let (commands, responses) = paged_fingerprints(&[write(at, 701, FIRST)]);
    assert_eq!((commands, responses), (vec![], vec![ledger(&[(Charge::Hash, 12_000)])]));
    let (_, responses) = paged_fingerprints(&[write(at, 701, KNOWN), write(at, 701, FIRST)]);
    // Its hash comes 12 us after the first one's, for the page of which the first one still waits.
    let second = [(Charge::Hash, 12_000), (Charge::HashQueue, 12_000), (Charge::Order, READ_ALL - 12_000)];
    assert_eq!(responses, [ledger(&[(Charge::Hash, 12_000), (Charge::Tables, READ_ALL)]), ledger(&second)]);
}

#[test]
fn checkpoints_come_when_due_and_only_after_changes() {
    let bench = Bench::new([1, 1, 1, 1, 24, 8]).with(|bench| bench.ftl.mapping_cache.checkpoint_s = 0.001);
    let outcome =
        bench.serve(&[write(0, 0, 0), read(3_500_000, 0), write(3_600_000, 0, 1), read(9_000_000, 0)]);
    assert_eq!(outcome.kinds(), "program program read program program read");
    assert_eq!(outcome.starts(), [0, 1_000_000, 3_500_000, 3_600_000, 4_000_000, 9_000_000]);
    assert_eq!(outcome.counts.tables.waits, 0);
}

#[test]
fn empty_checkpoint_does_not_cancel_the_next_one() {
    let bench = Bench::new([1, 1, 1, 1, 24, 8]).deduplicating().with(|bench| {
        bench.ftl.mapping_cache.checkpoint_s = 0.001;
        bench.engine.hash_us = 5_500.0;
    });
    let outcome = bench.serve(&[write(0, 0, 0), read(9_500_000, 0)]);
    let programs =
        [(5_500_000, "program", 0), (6_000_000, "program", 0), (6_000_000 + WRITE_ALL, "program", 0)];
    assert_eq!(outcome.log.commands[..3], programs, "the page, then a page of each table");
    assert_eq!(outcome.log.commands[3..], [(9_500_000, "read", 0)]);
}

#[test]
fn years_without_a_request_take_no_time() {
    let bench = Bench::new([1, 1, 1, 1, 24, 8]).with(|bench| bench.ftl.mapping_cache.checkpoint_s = 0.001);
    let years = 1_000_000_000_000_000_000;
    let outcome = bench.serve(&[write(0, 0, 0), write(years, 0, 1)]);
    let programs = [0, 1_000_000, years as u64].map(|at| (at, "program", 0));
    assert_eq!(outcome.log.commands[..3], programs);
}

#[test]
fn every_page_gets_its_tables_in_any_order() {
    // Chips are busy for different times, so a page of the second table may be there before one of the first.
    for seed in 0..20 {
        let mut rng = Rng::stream(seed, "tables");
        let bench = Bench::new([4, 1, 1, 1, 160, 8]).deduplicating().with(|bench| {
            bench.ftl.mapping_cache.bytes = CacheBytes::Limited(6 * 4096);
            (bench.footprint, bench.contents) = (20_000, 2_000);
            bench.before = (0..2_000).map(|at| (at * 10, at)).collect();
        });
        let mut now = 0;
        let asks: Vec<Ask> = (0..600)
            .map(|_| {
                now += i64::from(pick(&mut rng, &[0, 1_000, 40_000, 250_000]));
                let lpn = rng.below(2_000) * 10;
                if rng.below(3) == 0 { write(now, lpn, rng.below(2_000)) } else { read(now, lpn) }
            })
            .collect();
        let outcome = bench.serve(&asks);
        assert_eq!(outcome.log.responses.len(), asks.len(), "seed {seed}");
        assert!(outcome.counts.tables.waits > 300);
    }
}
