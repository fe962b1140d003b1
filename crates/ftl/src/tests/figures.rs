//! The controller's statistics, counted by hand on tiny drives.

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::copying::{holding, options};
use super::driver::{Driver, Options};
use crate::dedup::{OutOfLinePolicy, TableKind};
use crate::flash::allocation::AllocationPolicy;
use crate::flash::partition::PartitionPolicy;
use crate::flash::victim::VictimPolicy;
use crate::page::spread::SpreadPolicy;
use crate::{
    CacheBytes, Content, Controller, Entries, FtlConfig, Lpn, Mapping, OpKind, ReplicationPolicy, TableSizes,
};

/// Channels of one plane of twelve blocks of eight pages.
fn device(config: &FtlConfig, channels: u32, footprint: u32, contents: u32) -> Driver {
    Driver::new(&Options {
        levels: [channels, 1, 1, 1, 12, 8],
        config: config.clone(),
        footprint,
        contents,
        units_per_chip: 1,
        ..Options::draw(0)
    })
}

fn content_addressed() -> FtlConfig {
    FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() }
}

/// Pages lie where their addresses say, 3/2 of the LPN: 0, 3, 4 and 7 on channel 0 of two, the others on channel 1.
/// Those that hold the same know of each other at once, where one found its channel taken.
fn spreading() -> FtlConfig {
    let mut config = FtlConfig::default();
    (config.spread.policy, config.spread.verify) = (SpreadPolicy::Duplicates, false);
    config.allocation.policy = AllocationPolicy::Static;
    config
}

fn write_all(driver: &mut Driver, pages: &[(u32, u32)]) {
    for &(lpn, content) in pages {
        driver.write(lpn, content, false).unwrap();
    }
}

fn valid_pages(driver: &Driver) -> Vec<u64> {
    driver.ftl.plane_valid_pages().to_vec()
}

/// Bytes of a plane's and of a block's state on such a device, after the first page of a plane was written: its counts,
/// then of the block that was opened a word, two links and the owners of eight pages.
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
    write_all(&mut driver, &[(0, u32::MAX), (1, u32::MAX), (2, u32::MAX), (0, u32::MAX)]);
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
    for (config, bytes) in [(FtlConfig::default(), 8), (content_addressed(), 4), (inverted, 8)] {
        let [small, large] =
            [20, 40].map(|footprint| device(&config, 2, footprint, 9).ftl.table_sizes().page_table_bytes);
        assert!((large - small).is_multiple_of(20), "{:?}", config.dedup.tables);
        let each = (large - small) / 20;
        assert!(each == bytes || config.dedup.tables == TableKind::Inverted && each > 0, "{each}");
        // The flash's own: a plane's counts and its open blocks.
        assert!(small > 20 * each, "{small} bytes, of which pages take 20 times {each}");
    }
}

#[test]
fn a_map_of_contents_says_what_it_holds_and_what_that_takes() {
    let mut driver = device(&content_addressed(), 2, 20, 30);
    let empty = driver.ftl.table_sizes();
    // A byte of history and four of the store for each content, known or not.
    let least = 30 * (1 + 4);
    assert_eq!((empty.mapped_lpns, empty.content_table_bytes), (0, least));
    write_all(&mut driver, &[(0, 5), (1, 6), (2, 5), (3, 7), (4, 8), (5, 9), (6, 10)]);
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
    [1, 3, 4].iter().for_each(|&lpn| driver.ftl.trim(Lpn::new(lpn)));
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
                by_chip[driver.ftl.flash.blocks.chip_of_page(ppn)] += 1;
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
    write_all(&mut driver, &[(0, 4), (1, 4), (2, 4), (3, 5)]);
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
    let mut config = FtlConfig::default();
    config.gc.victim = VictimPolicy::Fifo;
    (config.gc.start, config.gc.stop, config.gc.step_pages) = (0.0, 0.0, 8);
    let mut driver =
        Driver::new(&Options { levels: [1, 1, 1, 1, 8, 2], config, footprint: 8, ..Options::draw(0) });
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
    write_all(&mut driver, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    assert_eq!(driver.ftl.unhashed_pages(), 3, "the sample has one");
    // For each of 30 contents its state and the number of its pages; for each held one its entry,
    // its number in the queue, and its place there.
    let bytes = 30 * (1 + 4 + 4) + 4 * (17 + 4) + 3 * 16;
    assert_eq!(driver.ftl.table_sizes().content_table_bytes, bytes);
    driver.ftl.trim(Lpn::new(2));
    assert_eq!(driver.ftl.unhashed_pages(), 2);
    let (mut ops, mut pages) = (Vec::new(), Vec::new());
    driver.ftl.dedup_by_hand(1, &mut ops, &mut pages);
    driver.ftl.fingerprint_read(pages[0]);
    assert_eq!((ops.len(), driver.ftl.unhashed_pages()), (1, 1));
}

/// Reads of contents read for the first time, and of contents that have copies.
fn new_and_replicated(driver: &Driver) -> (u64, u64) {
    let pages = driver.ftl.counters().pages;
    (pages.new_value_reads, pages.replicated_value_reads)
}

fn read_in_ram(controller: &mut impl Controller, lpn: u32) {
    controller.was_read_in_ram(Lpn::new(lpn));
}

#[test]
fn a_read_counts_towards_its_content_wherever_it_is_served() {
    let mut driver = holding(4, &options(ReplicationPolicy::OnLine));
    read_in_ram(&mut driver.ftl, 1);
    driver.read(2).unwrap();
    assert_eq!(new_and_replicated(&driver), (2, 0), "each for the first time");
    driver.ftl.begin_jobs(&mut driver.ops).unwrap();
    driver.idle(None).unwrap();
    assert_eq!(driver.ftl.copies(), [0, 2, 2], "both have earned a copy");
    read_in_ram(&mut driver.ftl, 1);
    driver.read(2).unwrap();
    driver.read(3).unwrap();
    read_in_ram(&mut driver.ftl, 9);
    assert_eq!(new_and_replicated(&driver), (3, 2));
}

#[test]
fn a_page_map_knows_no_first_reads_and_of_copies_only_twins() {
    let mut driver = device(&spreading(), 2, 8, 10);
    write_all(&mut driver, &[(0, 4), (3, 4), (2, 5)]);
    for (lpn, expected) in [(0, (0, 1)), (2, (0, 1)), (3, (0, 2)), (7, (0, 2))] {
        driver.read(lpn).unwrap();
        assert_eq!(new_and_replicated(&driver), expected, "page {lpn}");
    }
    read_in_ram(&mut driver.ftl, 3);
    assert_eq!(new_and_replicated(&driver), (0, 3));
}

#[test]
fn equal_names_of_data_are_those_of_a_page_or_of_twins() {
    let mut driver = device(&spreading(), 2, 8, 10);
    write_all(&mut driver, &[(0, 4), (3, 4), (2, 5), (4, 6), (7, 6)]);
    let mut name = |lpn| match driver.read(lpn).unwrap() {
        crate::ReadOutcome::Flash { target, data, .. } => (target.ppn, data),
        crate::ReadOutcome::Unmapped => panic!("page {lpn} is mapped"),
    };
    let [first, second, alone, third, fourth] = [0, 3, 2, 4, 7].map(&mut name);
    assert_eq!((first.1, third.1), (second.1, fourth.1), "twins");
    assert_ne!(first.1, third.1, "of another content");
    assert_eq!(alone.1, u64::from(alone.0.number()), "a page is equal to itself");
    for twin in [first.1, third.1] {
        assert!(twin > u64::from(u32::MAX) && twin >> 32 & 1 == 1, "{twin:#x} is no page's");
    }
    for config in [FtlConfig::default(), content_addressed()] {
        let mut driver = device(&config, 2, 8, 10);
        write_all(&mut driver, &[(0, 4), (1, 5), (2, 6)]);
        for lpn in 0..3 {
            let place = driver.ftl.copies_of(Lpn::new(lpn)).unwrap().0;
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
            write_all(&mut driver, &[(0, 4), (1, 5)]);
            driver.read(0).unwrap();
            driver.ftl.trim(Lpn::new(0));
            driver.ftl.trim(Lpn::new(1));
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
        write_all(&mut driver, &[(0, 4), (1, 5)]);
        let place = |driver: &Driver| driver.ftl.copies_of(Lpn::new(0)).unwrap().0;
        let from = place(&driver);
        let to = driver.rewrite(0).unwrap().unwrap();
        assert_eq!((place(&driver), to == from), (to, false));
        assert_eq!(driver.ftl.flash.blocks.owner(from), None);
        assert!(driver.ftl.flash.blocks.owner(to).is_some());
        assert_eq!(driver.rewrite(7).unwrap(), None);
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn a_read_that_ran_ahead_of_an_undecided_write_is_noticed() {
    fn arrived(controller: &mut impl Controller, lpn: u32) {
        controller.arrived(Lpn::new(lpn));
    }
    let mut driver = device(&FtlConfig::default(), 2, 8, 0);
    driver.write(0, u32::MAX, false).unwrap();
    driver.read(0).unwrap();
    arrived(&mut driver.ftl, 0);
    let error = driver.read(0).unwrap_err().to_string();
    assert!(error.contains("while a newer write of it is not decided"), "{error}");
    driver.write(0, u32::MAX, false).unwrap();
    driver.read(0).unwrap();
}

#[test]
fn unknown_contents_are_checked_version_by_version() {
    let stored = |config: &FtlConfig, content: u32| {
        let mut driver = device(config, 2, 8, 10);
        write_all(&mut driver, &[(0, content), (1, content)]);
        [0, 1].map(|lpn| {
            let ppn = driver.ftl.copies_of(Lpn::new(lpn)).unwrap().0;
            driver.ftl.flash.checker.as_ref().unwrap().stored(ppn).unwrap()
        })
    };
    let [first, second] = stored(&spreading(), 4);
    assert_eq!((first, second), (4, 4), "twins are equal in what they hold");
    for (config, content) in [(FtlConfig::default(), 4), (spreading(), 10), (spreading(), u32::MAX)] {
        let [first, second] = stored(&config, content);
        assert_ne!(first, second, "{:?}: a page that is read for another is noticed", config.spread.policy);
    }
}

#[test]
fn content_numbers_beyond_the_limit_count_as_unknown() {
    let mut driver = device(&spreading(), 2, 8, 10);
    write_all(&mut driver, &[(0, 9), (1, 10), (2, 11)]);
    let known: u64 = driver.ftl.plane_contents().unwrap().iter().map(|plane| plane.pages).sum();
    assert_eq!(known, 1);
}

/// A controller with only the methods that an engine requires.
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
    assert_eq!(wants(&Plain), (false, false, false, 1));
    let mut by_turn = FtlConfig::default();
    by_turn.allocation.policy = AllocationPolicy::Dynamic;
    let mut by_address = FtlConfig::default();
    by_address.allocation.policy = AllocationPolicy::Static;
    assert_eq!(wants(&device(&by_turn, 2, 20, 30).ftl), (false, false, false, 1));
    assert_eq!(wants(&device(&by_address, 2, 20, 30).ftl), (false, false, true, 1));
    let limited = CacheBytes::Limited(4 * 64);
    for (mapping, bytes, expected) in [
        (Mapping::Page, limited, (true, false)),
        (Mapping::Content, CacheBytes::Unlimited, (false, false)),
        (Mapping::Content, limited, (true, true)),
    ] {
        let mut config = FtlConfig { mapping, ..by_turn.clone() };
        config.mapping_cache.bytes = bytes;
        config.mapping_cache.fingerprints = expected.1;
        config.dedup.fingerprint_entries = Entries::Limited(4);
        let driver = device(&config, 2, 20, 30);
        assert_eq!(wants(&driver.ftl), (expected.0, expected.1, false, 1), "{mapping:?}, {bytes:?}");
        config.mapping_cache.fingerprints = false;
        assert_eq!(wants(&device(&config, 2, 20, 30).ftl), (expected.0, false, false, 1), "{mapping:?}");
    }
    let mut inverted = FtlConfig { mapping: Mapping::Content, ..by_turn };
    (inverted.dedup.tables, inverted.dedup.sampling_pages) = (TableKind::Inverted, 3);
    assert_eq!(wants(&device(&inverted, 2, 20, 30).ftl), (false, false, false, 3));
}
