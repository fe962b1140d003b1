//! The two-level and the inverted tables of CA-SSD: contents, equal effect on the flash, changes by collection.

use flashtwin_nand::NO_PPN;

use super::driver::{Driver, Options, Workload, geometry, late_fifo};
use super::reach::Map;
use crate::dedup::{EvictionPolicy, OutOfLinePolicy, TableKind};
use crate::ids::{Content, Lpn, Owner};
use crate::inverted::InvertedMap;
use crate::{Cause, Entries, FlashOp, FtlConfig, Mapping, OpKind, ReplicationPolicy};

fn with_tables(options: &Options, tables: TableKind) -> Options {
    let mut options = options.clone();
    options.config.dedup.tables = tables;
    options
}

fn draw(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.config.mapping = Mapping::Content;
    options.config.spread = crate::SpreadConfig::default();
    options.config.replication.policy = ReplicationPolicy::None;
    options.config.mapping_cache = crate::MappingCacheConfig::default();
    let limits = [1, 2, 7, 40].map(Entries::Limited);
    let dedup = &mut options.config.dedup;
    dedup.fingerprint_entries = limits.get(seed as usize % 5).copied().unwrap_or(Entries::Unlimited);
    dedup.eviction = EvictionPolicy::LruWrites;
    dedup.out_of_line = OutOfLinePolicy::None;
    options
}

#[test]
fn both_forms_do_the_same_to_the_flash() {
    let (mut gc, mut evictions, mut shared) = (0, 0, 0);
    for seed in 0..300 {
        let options = draw(seed);
        let mut drivers =
            [TableKind::TwoLevel, TableKind::Inverted].map(|form| Driver::new(&with_tables(&options, form)));
        let mut workload = Workload::new(&options);
        for step in 0..options.steps {
            let next = workload.next();
            let loads = workload.rng.clone();
            let run = (options.config.dedup.sampling_pages > 1 && step % 9 == 0).then_some(4);
            let outcomes = drivers.each_mut().map(|driver| {
                if let Some(pages) = run {
                    driver.begin_run(pages);
                }
                driver.shake_loads(&mut loads.clone());
                driver.outcome(next)
            });
            assert_eq!(outcomes[0], outcomes[1], "step {step} of {options:?}");
            let sizes = drivers.each_ref().map(|driver| {
                let sizes = driver.ftl.table_sizes();
                (sizes.mapped_lpns, sizes.vpns, sizes.fingerprints, driver.ftl.pages_in_use())
            });
            assert_eq!(sizes[0], sizes[1], "step {step} of {options:?}");
        }
        drivers.iter().for_each(|driver| driver.ftl.audit().unwrap());
        let [two_level, inverted] = drivers;
        assert!(two_level.ops == inverted.ops, "seed {seed}: {options:?}");
        assert_eq!(two_level.ftl.counters(), inverted.ftl.counters(), "seed {seed}");
        assert_eq!(two_level.ftl.wear(), inverted.ftl.wear());
        assert_eq!(two_level.ftl.copies(), inverted.ftl.copies());
        let counters = inverted.ftl.counters();
        gc += counters.programs[Cause::Gc as usize];
        evictions += counters.programs[Cause::MissedDuplicate as usize];
        shared += counters.pages.duplicate_writes;
    }
    assert!(gc > 10_000 && evictions > 10_000 && shared > 10_000, "{gc} {evictions} {shared}");
}

fn tiny(blocks: u32, entries: Entries, tables: TableKind) -> Driver {
    let mut config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
    config.dedup.fingerprint_entries = entries;
    config.dedup.tables = tables;
    Driver::of([1, 1, 1, 1, blocks, 2], late_fifo(config), 8, 10)
}

fn inverted(driver: &Driver) -> &InvertedMap {
    match driver.ftl.map() {
        Map::Inverted(map) => map,
        _ => unreachable!("the options say inverted"),
    }
}

#[test]
fn the_example_of_the_paper() {
    // CA-SSD paper, Figure 5 (b): L1 holds V1 in P1, L2 holds V2 in P2.
    let mut driver = tiny(8, Entries::Limited(4), TableKind::Inverted);
    let mut write = |lpn, content| driver.write(lpn, content, false).unwrap().program;
    let (p1, p2) = (write(1, 1).unwrap().0, write(2, 2).unwrap().0);
    // (L3, V3): a new value; an entry in all four tables.
    let (p3, cause) = write(3, 3).unwrap();
    assert_eq!(cause, Cause::Unique);
    // (L2, V1): known, so L2 goes from P2's list to P1's; P2's is empty, so P2 and H2 go.
    assert_eq!(write(2, 1), None);
    let map = inverted(&driver);
    assert_eq!([1, 2, 3].map(|lpn| map.get(Lpn::new(lpn))), [p1, p1, p3]);
    assert_eq!(
        [p1, p2, p3].map(|ppn| map.lpns_of(ppn).collect::<Vec<_>>()),
        [vec![Lpn::new(2), Lpn::new(1)], vec![], vec![Lpn::new(3)]]
    );
    assert_eq!([1, 2, 3].map(|content| map.hashes.peek(Content::new(content))), [p1, NO_PPN, p3]);
    assert_eq!([p1, p2, p3].map(|ppn| map.is_known(ppn)), [true, false, true]);
    assert_eq!(
        [p1, p2, p3].map(|ppn| driver.ftl.flash.blocks.owner(ppn).map(Owner::number)),
        [Some(1), None, Some(3)]
    );
    assert!(driver.ops.is_empty());
    driver.ftl.audit().unwrap();
}

#[test]
fn collection_updates_one_entry_or_one_for_each_lpn() {
    let forms = [TableKind::TwoLevel, TableKind::Inverted];
    // LPNs 0, 2 and 3 and the list of their page; with HPT and iHPT where the content is known.
    let limits = [(Entries::Limited(2), 4), (Entries::Unlimited, 6)];
    for (tables, (entries, inverted)) in forms.iter().flat_map(|&form| limits.map(|limit| (form, limit))) {
        let mut driver = tiny(6, entries, tables);
        let writes = [(0, 0), (1, 1), (2, 0), (3, 0), (1, 2), (4, 3), (4, 4), (4, 5)];
        for (lpn, content) in writes {
            driver.write(lpn, content, false).unwrap();
        }
        assert!(driver.ops.is_empty(), "{:?}", driver.ops);
        // The fourth block is opened and two are free: the first one goes, which holds content 0.
        driver.write(4, 6, false).unwrap();
        let op = |kind, ppn, source| FlashOp::new(kind, ppn, source, Cause::Gc);
        let moved = op(OpKind::Program, driver.page(4, 0), driver.page(0, 0));
        let erased = op(OpKind::Erase, driver.page(0, 0), NO_PPN);
        assert_eq!(driver.ops, [op(OpKind::Read, driver.page(0, 0), NO_PPN), moved, erased]);
        let counters = driver.ftl.counters();
        assert_eq!((counters.dedup.gc_updates_two_level, counters.dedup.gc_updates_inverted), (1, inverted));
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn inverted_tables_refuse_what_they_cannot_hold() {
    let geometry = geometry([2, 1, 1, 1, 8, 4]);
    let mut config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
    config.dedup.tables = TableKind::Inverted;
    config.check(&geometry).unwrap();
    let refused = |change: &dyn Fn(&mut FtlConfig), cure: &str| {
        let mut config = config.clone();
        change(&mut config);
        let (key, value, expected) = config.check(&geometry).unwrap_err();
        assert_eq!((key, value.as_str()), ("dedup.tables", "inverted"));
        assert!(expected.contains("two-level") && expected.contains(cure), "{expected}");
    };
    refused(&|c| c.replication.policy = ReplicationPolicy::EndOfPeriod, "ftl.replication.policy = \"none\"");
    refused(&|c| c.dedup.eviction = EvictionPolicy::ReferenceCount, "ftl.dedup.eviction = \"lru-writes\"");
    refused(&|c| c.dedup.out_of_line = OutOfLinePolicy::Unhashed, "ftl.dedup.out_of_line = \"none\"");
    config.dedup.sampling_pages = 0;
    assert_eq!(config.check(&geometry).unwrap_err().0, "dedup.sampling_pages");
}
