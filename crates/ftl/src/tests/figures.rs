//! The controller's statistics, counted by hand on tiny drives.

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::copying::{holding, options};
use super::driver::{Driver, late_fifo};
use crate::dedup::{EvictionPolicy, OutOfLinePolicy, TableKind};
use crate::flash::allocation::AllocationPolicy;
use crate::flash::partition::PartitionPolicy;
use crate::page::spread::SpreadPolicy;
use crate::{
    CacheBytes, Content, Controller, Entries, FtlConfig, Lpn, Mapping, OpKind, PlaneContents,
    ReplicationPolicy, TableSizes,
};

/// Channels of one plane of twelve blocks of eight pages.
fn device(config: &FtlConfig, channels: u32, footprint: u32, contents: u32) -> Driver {
    Driver::of([channels, 1, 1, 1, 12, 8], config.clone(), footprint, contents)
}

fn content_addressed() -> FtlConfig {
    FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() }
}

/// Addresses are 3/2 of the LPN: pages 0, 3, 4 and 7 lie on channel 0 of two. Equal pages know of each other at once.
fn spreading() -> FtlConfig {
    let mut config = FtlConfig::default();
    (config.spread.policy, config.spread.verify) = (SpreadPolicy::Duplicates, false);
    config.allocation.policy = AllocationPolicy::Static;
    config
}

fn valid_pages(driver: &Driver) -> Vec<u64> {
    driver.ftl.plane_valid_pages().to_vec()
}

/// Bytes of a plane and its first opened block: counts; a word, two links and eight owners.
fn opened(planes: u64) -> u64 {
    planes * (8 + 8 + 8 * 4)
}

#[test]
fn a_page_map_says_what_it_holds_and_what_that_takes() {
    let mut driver = device(&FtlConfig::default(), 2, 20, 0);
    let before = driver.ftl.table_sizes();
    // A place and a content for each logical page.
    let larger = device(&FtlConfig::default(), 2, 40, 0).ftl.table_sizes();
    assert_eq!(larger.page_table_bytes - before.page_table_bytes, 20 * 8);
    driver.write_all(&[(0, u32::MAX), (1, u32::MAX), (2, u32::MAX), (0, u32::MAX)]);
    let page_table_bytes = before.page_table_bytes + opened(2);
    let expected = TableSizes { mapped_lpns: 3, page_table_bytes, ..TableSizes::default() };
    assert_eq!(driver.ftl.table_sizes(), expected);
    assert_eq!((driver.ftl.pages_in_use(), valid_pages(&driver).iter().sum::<u64>()), (3, 3));
    assert_eq!((driver.ftl.copies(), driver.ftl.unhashed_pages()), (vec![], 0));
    assert!(driver.ftl.chip_replica_pages().iter().all(|&pages| pages == 0));
}

#[test]
fn page_tables_take_bytes_for_each_page_in_every_scheme() {
    let mut inverted = content_addressed();
    inverted.dedup.tables = TableKind::Inverted;
    // Inverted tables have two neighbours in the list of a page beside its place.
    for (config, bytes) in [(FtlConfig::default(), 8), (content_addressed(), 4), (inverted, 12)] {
        let held = |footprint| device(&config, 2, footprint, 9).ftl.table_sizes().page_table_bytes;
        assert_eq!(held(40) - held(20), 20 * bytes, "{:?}", config.dedup.tables);
    }
}

#[test]
fn a_map_of_contents_says_what_it_holds_and_what_that_takes() {
    let mut driver = device(&content_addressed(), 2, 20, 30);
    let empty = driver.ftl.table_sizes();
    // A byte of history and four of the store for each content, known or not.
    let least = 30 * (1 + 4);
    assert_eq!((empty.mapped_lpns, empty.content_table_bytes), (0, least));
    driver.write_all(&[(0, 5), (1, 6), (2, 5), (3, 7), (4, 8), (5, 9), (6, 10)]);
    let page_table_bytes = empty.page_table_bytes + opened(2);
    // For each content held its entry of 16 bytes, and its popularity.
    let expected = TableSizes {
        mapped_lpns: 7,
        vpns: 6,
        fingerprints: 6,
        page_table_bytes,
        content_table_bytes: least + 6 * 17,
        ..TableSizes::default()
    };
    assert_eq!(driver.ftl.table_sizes(), expected);
    assert_eq!((driver.ftl.copies(), driver.ftl.pages_in_use()), (vec![0, 6], 6));
    [1, 3, 4].iter().for_each(|&lpn| driver.trim(lpn));
    let expected = TableSizes {
        mapped_lpns: 4,
        vpns: 3,
        fingerprints: 3,
        content_table_bytes: least + 6 * 17 + 3 * 4,
        ..expected
    };
    assert_eq!(driver.ftl.table_sizes(), expected);
    assert_eq!(valid_pages(&driver).iter().sum::<u64>(), 3);
}

#[test]
fn copies_are_counted_by_content_by_chip_and_in_the_tables() {
    for (policy, listed_pages) in [(ReplicationPolicy::OnLine, 0), (ReplicationPolicy::PriorityLru, 2)] {
        let mut driver = holding(4, &options(policy));
        let before = driver.ftl.table_sizes();
        let more = u32::from(policy == ReplicationPolicy::PriorityLru);
        for (lpn, reads) in [(1, 3 + more), (2, 1 + more)] {
            for _ in 0..reads {
                driver.read(lpn).unwrap();
                driver.idle(None).unwrap();
            }
        }
        let sizes = driver.ftl.table_sizes();
        assert_eq!((sizes.replicas, sizes.replicated_contents, sizes.vpns), (4, 2, 4), "{policy:?}");
        assert_eq!(sizes.listed_pages, listed_pages, "{policy:?}");
        let lists = sizes.content_table_bytes - before.content_table_bytes;
        match policy {
            ReplicationPolicy::OnLine => assert_eq!(lists, 2 * 64),
            _ => assert!(lists >= 2 * 64 + 2 * 12, "{lists}"),
        }
        assert_eq!(driver.ftl.copies(), [0, 2, 1, 0, 1], "{policy:?}");
        let mut by_chip = By::<Chip, _>::new(vec![0; 8]);
        for lpn in [1, 2] {
            for &ppn in driver.ftl.copies_of(Lpn::new(lpn)).unwrap().1 {
                by_chip[driver.chip_of(ppn)] += 1;
            }
        }
        assert_eq!((by_chip.iter().sum::<u64>(), driver.ftl.chip_replica_pages()), (4, by_chip));
        assert_eq!(valid_pages(&driver).iter().sum::<u64>(), 4 + 4, "{policy:?}");
    }
}

#[test]
fn popularity_replication_needs_no_tables_of_its_own() {
    let held = |policy| holding(3, &options(policy)).ftl.table_sizes();
    let without = held(ReplicationPolicy::None);
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::EndOfPeriod] {
        assert_eq!(held(policy), without, "{policy:?}");
    }
    // Four bytes each for the oldest, the newest and the number of pages of a class, 0 unused.
    let classes = held(ReplicationPolicy::PriorityLru).content_table_bytes - without.content_table_bytes;
    assert_eq!(classes, (1 + 8) * 12);
}

#[test]
fn spread_duplicates_are_counted_with_filters_and_lists() {
    let mut driver = device(&spreading(), 2, 8, 10);
    let empty = driver.ftl.table_sizes();
    // Ten bits for each of 96 pages of a channel, in words of 64.
    assert_eq!(empty.filter_bytes, 2 * 960 / 8);
    // Four links of a page; a word for each content and channel; whether others' bits may answer for a content.
    assert_eq!(empty.content_table_bytes, 8 * 16 + 10 * 2 * 4 + 8);
    driver.write_all(&[(0, 4), (1, 4), (2, 4), (3, 5)]);
    let sizes = driver.ftl.table_sizes();
    assert_eq!((sizes.mapped_lpns, sizes.twin_lists, sizes.twin_pages), (4, 1, 3));
    assert_eq!((sizes.filter_bytes, sizes.vpns), (empty.filter_bytes, 0));
    // A list, and the contents in each channel's filter: two or one, with room for up to four.
    let more = sizes.content_table_bytes - empty.content_table_bytes;
    assert!((64 + 3 * 4..=64 + 2 * 4 * 4).contains(&more), "{more}");
}

#[test]
fn partitions_take_what_tells_pages_apart() {
    for policy in [PartitionPolicy::BloomFilters, PartitionPolicy::Offline] {
        let mut config = FtlConfig::default();
        (config.partition.policy, config.partition.partitions) = (policy, 2);
        let mut driver = device(&config, 2, 20, 0);
        driver.write(0, u32::MAX, false).unwrap();
        let (ram, here) = driver.ftl.flash.partitions.bytes();
        let sizes = driver.ftl.table_sizes();
        assert_eq!(sizes.partition_bytes, ram, "{policy:?}");
        let others = driver.ftl.flash.blocks.bytes_in_use() + 20 * 8;
        assert_eq!((sizes.page_table_bytes, here > 0), (others + here, true), "{policy:?}");
        assert!(ram > 0 || policy == PartitionPolicy::Offline);
    }
}

#[test]
fn victims_are_counted_by_the_valid_pages_that_they_held() {
    let mut driver = Driver::of([1, 1, 1, 1, 8, 2], late_fifo(FtlConfig::default()), 8, 0);
    // Of the first blocks one page stays, of the others none; the first are collected first.
    for lpn in [0, 4, 1, 4, 4, 4] {
        driver.write(lpn, u32::MAX, false).unwrap();
    }
    let mut expected = vec![0; 3];
    for _ in 0..12 {
        let (erases, moved) = (driver.ftl.counters().erases, driver.ops.len());
        driver.write(4, u32::MAX, false).unwrap();
        let programs = driver.ops[moved..].iter().filter(|op| op.kind == OpKind::Program).count();
        if driver.ftl.counters().erases > erases {
            expected[programs] += 1;
        }
    }
    assert!(expected.iter().filter(|&&victims| victims > 0).count() >= 2, "{expected:?}");
    assert_eq!(driver.ftl.victim_pages(), expected);
}

#[test]
fn unhashed_pages_are_counted_until_read_or_gone() {
    let mut config = content_addressed();
    (config.dedup.sampling_pages, config.dedup.out_of_line) = (4, OutOfLinePolicy::Unhashed);
    let mut driver = device(&config, 2, 20, 30);
    driver.ftl.refuse_jobs();
    driver.begin_run(4);
    driver.write_all(&[(0, 1), (1, 2), (2, 3), (3, 4)]);
    assert_eq!(driver.ftl.unhashed_pages(), 3, "the sample has one");
    // For each of 30 contents its state and the number of its pages; for each held one its entry,
    // its number in the queue, and its place there.
    let bytes = 30 * (1 + 4 + 4) + 4 * (17 + 4) + 3 * 16;
    assert_eq!(driver.ftl.table_sizes().content_table_bytes, bytes);
    driver.trim(2);
    assert_eq!(driver.ftl.unhashed_pages(), 2);
    let (mut ops, mut pages) = (Vec::new(), Vec::new());
    driver.ftl.dedup_by_hand(1, &mut ops, &mut pages);
    driver.ftl.fingerprint_read(pages[0]);
    assert_eq!((ops.len(), driver.ftl.unhashed_pages()), (1, 1));
}

fn new_and_replicated(driver: &Driver) -> (u64, u64) {
    let pages = driver.ftl.counters().pages;
    (pages.new_value_reads, pages.replicated_value_reads)
}

#[test]
fn a_read_counts_towards_its_content_wherever_it_is_served() {
    let mut driver = holding(4, &options(ReplicationPolicy::OnLine));
    driver.ftl.was_read_in_ram(Lpn::new(1));
    driver.read(2).unwrap();
    assert_eq!(new_and_replicated(&driver), (2, 0), "each for the first time");
    driver.ftl.begin_jobs(&mut driver.ops).unwrap();
    driver.idle(None).unwrap();
    assert_eq!(driver.ftl.copies(), [0, 2, 2], "both have earned a copy");
    driver.ftl.was_read_in_ram(Lpn::new(1));
    driver.read(2).unwrap();
    driver.read(3).unwrap();
    driver.ftl.was_read_in_ram(Lpn::new(9));
    assert_eq!(new_and_replicated(&driver), (3, 2));
}

#[test]
fn a_page_map_knows_no_first_reads_and_of_copies_only_duplicates() {
    let mut driver = device(&spreading(), 2, 8, 10);
    driver.write_all(&[(0, 4), (3, 4), (2, 5)]);
    for (lpn, expected) in [(0, (0, 1)), (2, (0, 1)), (3, (0, 2)), (7, (0, 2))] {
        driver.read(lpn).unwrap();
        assert_eq!(new_and_replicated(&driver), expected, "page {lpn}");
    }
    driver.ftl.was_read_in_ram(Lpn::new(3));
    assert_eq!(new_and_replicated(&driver), (0, 3));
}

#[test]
fn equal_names_of_data_are_those_of_a_page_or_of_duplicates() {
    let mut driver = device(&spreading(), 2, 8, 10);
    driver.write_all(&[(0, 4), (3, 4), (2, 5), (4, 6), (7, 6)]);
    let mut name = |lpn| match driver.read(lpn).unwrap() {
        crate::ReadOutcome::Flash { target, data, .. } => (target.ppn, data),
        crate::ReadOutcome::Unmapped => panic!("page {lpn} is mapped"),
    };
    let [first, second, alone, third, fourth] = [0, 3, 2, 4, 7].map(&mut name);
    assert_eq!((first.1, third.1), (second.1, fourth.1), "duplicates");
    assert_ne!(first.1, third.1, "of another content");
    assert_eq!(alone.1, u64::from(alone.0.number()), "a page is equal to itself");
    for duplicate in [first.1, third.1] {
        assert!(duplicate > u64::from(u32::MAX) && duplicate >> 32 & 1 == 1, "{duplicate:#x} is no page's");
    }
    for config in [FtlConfig::default(), content_addressed()] {
        let mut driver = device(&config, 2, 8, 10);
        driver.write_all(&[(0, 4), (1, 5), (2, 6)]);
        for lpn in 0..3 {
            let place = driver.home(lpn);
            let crate::ReadOutcome::Flash { data, .. } = driver.read(lpn).unwrap() else {
                panic!("it is mapped")
            };
            assert_eq!(data, u64::from(place.number()), "{:?}, page {lpn}", config.mapping);
        }
    }
}

#[test]
fn what_was_forgotten_is_written_as_if_for_the_first_time() {
    for tables in [TableKind::TwoLevel, TableKind::Inverted] {
        for forgotten in [false, true] {
            let mut config = content_addressed();
            config.dedup.tables = tables;
            let mut driver = device(&config, 2, 8, 10);
            driver.write_all(&[(0, 4), (1, 5)]);
            driver.read(0).unwrap();
            driver.trim(0);
            driver.trim(1);
            if forgotten {
                driver.ftl.forget_content(Content::new(4));
            }
            let cause = |driver: &mut Driver, lpn, content| {
                driver.write(lpn, content, false).unwrap().program.unwrap().1
            };
            let expected = if forgotten { crate::Cause::Unique } else { crate::Cause::Reborn };
            assert_eq!(cause(&mut driver, 2, 4), expected, "{tables:?}");
            assert_eq!(cause(&mut driver, 3, 5), crate::Cause::Reborn, "the other was held before");
            let before = new_and_replicated(&driver).0;
            driver.read(2).unwrap();
            assert_eq!(new_and_replicated(&driver).0 - before, u64::from(forgotten), "{tables:?}");
        }
    }
}

#[test]
fn ageing_moves_a_page_and_leaves_what_is_not_mapped() {
    let mut inverted = content_addressed();
    inverted.dedup.tables = TableKind::Inverted;
    for config in [FtlConfig::default(), content_addressed(), inverted] {
        let mut driver = device(&config, 2, 8, 10);
        driver.write_all(&[(0, 4), (1, 5)]);
        let from = driver.home(0);
        let to = driver.rewrite(0).unwrap().unwrap();
        assert_eq!((driver.home(0), to == from), (to, false));
        assert_eq!(driver.ftl.flash.blocks.owner(from), None);
        assert!(driver.ftl.flash.blocks.owner(to).is_some());
        assert_eq!(driver.rewrite(7).unwrap(), None);
        driver.ftl.audit().unwrap();
    }
    // A page of a table that ageing changes is written before it leaves RAM.
    for mut config in [FtlConfig::default(), content_addressed()] {
        config.mapping_cache.bytes = CacheBytes::Limited(64);
        let mut driver = Driver::of([2, 1, 1, 1, 40, 8], config, 160, 160);
        (0..160).for_each(|lpn| assert!(driver.write(lpn, lpn, false).is_ok()));
        for lpn in (0..160).step_by(7) {
            driver.rewrite(lpn).unwrap().unwrap();
            driver.ftl.audit().unwrap();
        }
    }
}

#[test]
fn a_read_that_ran_ahead_of_an_undecided_write_is_noticed() {
    let mut driver = device(&FtlConfig::default(), 2, 8, 0);
    driver.write(0, u32::MAX, false).unwrap();
    driver.read(0).unwrap();
    driver.ftl.arrived(Lpn::new(0));
    let error = driver.read(0).unwrap_err().to_string();
    assert!(error.contains("while a newer write of it is not decided"), "{error}");
    driver.write(0, u32::MAX, false).unwrap();
    driver.read(0).unwrap();
}

#[test]
fn unknown_contents_are_checked_version_by_version() {
    let stored = |config: &FtlConfig, content: u32| {
        let mut driver = device(config, 2, 8, 10);
        driver.write_all(&[(0, content), (1, content)]);
        [0, 1].map(|lpn| driver.ftl.flash.checker.as_ref().unwrap().stored(driver.home(lpn)).unwrap())
    };
    let [first, second] = stored(&spreading(), 4);
    assert_eq!((first, second), (4, 4), "duplicates are equal in what they hold");
    for (config, content) in [(FtlConfig::default(), 4), (spreading(), 10), (spreading(), u32::MAX)] {
        let [first, second] = stored(&config, content);
        assert_ne!(first, second, "{:?}: a page that is read for another is noticed", config.spread.policy);
    }
}

#[test]
fn a_content_takes_as_many_bytes_as_its_tables_say() {
    // Whether it was ever written and read: 1. Its place in the store: 4.
    let least = 1 + 4;
    // How often it is on flash, where the controller may not know: 4.
    let unknown = 4;
    let few = Entries::Limited(3);
    for (tables, entries, eviction, sampling_pages, bytes) in [
        (TableKind::TwoLevel, Entries::Unlimited, EvictionPolicy::LruWrites, 1, least),
        (TableKind::Inverted, Entries::Unlimited, EvictionPolicy::LruWrites, 1, least),
        (TableKind::TwoLevel, Entries::Unlimited, EvictionPolicy::LruWrites, 2, least + unknown),
        // Its neighbours in the order in which entries go: 8; its references and its list: 2.
        (TableKind::TwoLevel, few, EvictionPolicy::LruWrites, 1, least + unknown + 8),
        (TableKind::Inverted, few, EvictionPolicy::LruWrites, 1, least + unknown + 8),
        (TableKind::TwoLevel, few, EvictionPolicy::ReferenceCount, 1, least + unknown + 8 + 2),
    ] {
        let mut config = content_addressed();
        (config.dedup.tables, config.dedup.fingerprint_entries) = (tables, entries);
        (config.dedup.eviction, config.dedup.sampling_pages) = (eviction, sampling_pages);
        let held = |contents| device(&config, 2, 40, contents).ftl.table_sizes().content_table_bytes;
        assert_eq!(held(1_100) - held(100), 1_000 * bytes, "{tables:?}, {entries:?}, {eviction:?}");
    }
}

#[test]
fn a_page_that_was_used_takes_eight_bytes_of_inverted_tables() {
    let mut config = content_addressed();
    config.dedup.tables = TableKind::Inverted;
    let mut driver = device(&config, 2, 40, 40);
    let held =
        |driver: &Driver| driver.ftl.table_sizes().page_table_bytes - driver.ftl.flash.blocks.bytes_in_use();
    assert_eq!(held(&driver), 40 * (4 + 8));
    driver.write(0, 0, false).unwrap();
    assert_eq!(held(&driver), 40 * (4 + 8) + 8 * 8, "the pages of one block");
}

#[test]
fn pages_of_the_tables_take_what_finds_and_orders_them() {
    let mut config = FtlConfig::default();
    assert_eq!(device(&config, 2, 40, 0).ftl.paging_sizes(), None);
    config.mapping_cache.bytes = CacheBytes::Limited(64);
    // 40 LPNs on three pages of 16: the page of each LPN; place, neighbours and flags of each page
    // and the neighbours of the ring's closing entry.
    let sizes = device(&config, 2, 40, 0).ftl.paging_sizes().unwrap();
    assert_eq!((sizes.pages, sizes.simulator_bytes), (3, 40 * 4 + 3 * (4 + 9) + 8));
}

#[test]
fn what_planes_hold_is_known_where_contents_are() {
    let config = FtlConfig::default();
    let mut driver = device(&config, 2, 40, 0);
    driver.write(0, u32::MAX, false).unwrap();
    assert!(driver.ftl.plane_contents().is_none());
    let mut driver = device(&config, 2, 40, 9);
    driver.write_all(&[(0, 5), (1, 5), (2, 5), (3, 7)]);
    let of_planes = driver.ftl.plane_contents().unwrap();
    let pages: u64 = of_planes.iter().map(|plane| plane.pages).sum();
    // Addresses 0, 1, 3 and 4 go to chips 0, 1, 1 and 0.
    let expected = [PlaneContents { pages: 2, contents: 2 }, PlaneContents { pages: 2, contents: 1 }];
    assert_eq!((pages, of_planes.iter().copied().collect::<Vec<_>>()), (4, expected.to_vec()));
}

struct Plain;

impl crate::Hints for Plain {}

impl Controller for Plain {
    fn read(&mut self, _: Lpn, _: &crate::LoadView<'_>) -> Result<crate::ReadOutcome, crate::FtlError> {
        Ok(crate::ReadOutcome::Unmapped)
    }
    fn write(
        &mut self,
        _: crate::Host,
        _: bool,
        _: &crate::LoadView<'_>,
        _: &mut Vec<crate::FlashOp>,
    ) -> Result<crate::WriteOutcome, crate::FtlError> {
        Ok(crate::WriteOutcome { program: None })
    }
    fn trim(&mut self, _: Lpn) {}
    fn end_period(&mut self, _: &mut Vec<crate::FlashOp>) -> Result<(), crate::FtlError> {
        Ok(())
    }
}

/// Whether the engine must wait for pages of tables and of the store; whether addresses are wanted; pages of a sample.
fn wants(controller: &impl Controller) -> (bool, bool, bool, u32) {
    let tables = (controller.pages_tables(), controller.pages_fingerprints());
    (tables.0, tables.1, controller.wants_address(), controller.sampling_pages())
}

#[test]
fn controller_declares_its_waits_and_inputs() {
    use AllocationPolicy::{Dynamic, Hipa, LeastLoaded, Static};
    assert_eq!(wants(&Plain), (false, false, false, 1));
    let by = |policy, mapping| {
        let mut config = FtlConfig { mapping, ..FtlConfig::default() };
        config.allocation.policy = policy;
        config
    };
    for (policy, address) in [(Static, true), (Dynamic, false), (LeastLoaded, false), (Hipa, true)] {
        let driver = device(&by(policy, Mapping::Page), 2, 20, 30);
        assert_eq!(wants(&driver.ftl), (false, false, address, 1), "{policy:?}");
    }
    let (unlimited, limited) = (CacheBytes::Unlimited, CacheBytes::Limited(4 * 64));
    // Tables that are on flash for their checkpoints alone are in RAM as well.
    for (mapping, bytes, checkpoint_s, fingerprints, expected) in [
        (Mapping::Page, limited, 0.0, false, (true, false)),
        (Mapping::Content, unlimited, 0.0, false, (false, false)),
        (Mapping::Content, unlimited, 1.0, false, (false, false)),
        (Mapping::Content, unlimited, 1.0, true, (false, false)),
        (Mapping::Content, limited, 0.0, false, (true, false)),
        (Mapping::Content, limited, 1.0, true, (true, true)),
    ] {
        let mut config = by(Dynamic, mapping);
        config.mapping_cache.bytes = bytes;
        (config.mapping_cache.checkpoint_s, config.mapping_cache.fingerprints) = (checkpoint_s, fingerprints);
        config.dedup.fingerprint_entries = Entries::Limited(4);
        let found = wants(&device(&config, 2, 20, 30).ftl);
        assert_eq!(found, (expected.0, expected.1, false, 1), "{mapping:?}, {bytes:?}, {fingerprints}");
    }
    let mut inverted = by(Dynamic, Mapping::Content);
    (inverted.dedup.tables, inverted.dedup.sampling_pages) = (TableKind::Inverted, 3);
    assert_eq!(wants(&device(&inverted, 2, 20, 30).ftl), (false, false, false, 3));
}
