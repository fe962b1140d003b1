//! The effect of a trim in every mapping scheme: on the mapping, on shared contents, on copies, and
//! on collection. It orders no operations itself.

use flashtwin_nand::{NO_PPN, Plane, Ppn};

use super::driver::{Driver, Options, Workload, late_fifo};
use super::reach::Map;
use crate::content::replication::degree::DegreePolicy;
use crate::dedup::{OutOfLinePolicy, TableKind};
use crate::flash::allocation::AllocationPolicy;
use crate::ids::{Lpn, NO_VPN};
use crate::page::spread::SpreadPolicy;
use crate::redirection::RedirectionPolicy;
use crate::{Cause, FlashOp, FtlConfig, Mapping, OpKind, ReadOutcome, ReadTarget, ReplicationPolicy};

/// Channels of one plane, blocks and pages of a block; first closed, first collected, as late as possible.
fn driver([channels, blocks, pages]: [u32; 3], change: impl Fn(&mut FtlConfig)) -> Driver {
    let mut config = late_fifo(FtlConfig::default());
    change(&mut config);
    Driver::of([channels, 1, 1, 1, blocks, pages], config, 8, 10)
}

fn sharing(tables: TableKind) -> Driver {
    driver([1, 6, 2], |config| {
        config.mapping = Mapping::Content;
        config.dedup.tables = tables;
    })
}

fn write(driver: &mut Driver, lpn: u32, content: u32) -> Option<(Ppn, Cause)> {
    driver.write(lpn, content, false).unwrap().program
}

fn target(driver: &mut Driver, lpn: u32) -> ReadTarget {
    match driver.read(lpn).unwrap() {
        ReadOutcome::Flash { target, .. } => target,
        ReadOutcome::Unmapped => panic!("LPN {lpn} is not mapped"),
    }
}

fn trim(driver: &mut Driver, lpn: u32) {
    let flash = |driver: &Driver| {
        let counters = driver.ftl.counters();
        (driver.ops.len(), counters.programs, counters.reads, counters.erases, counters.host_pages_written)
    };
    let before = flash(driver);
    driver.trim(lpn);
    assert_eq!(flash(driver), before, "a trim orders nothing");
    driver.ftl.audit().unwrap();
    assert_eq!(driver.read(lpn).unwrap(), ReadOutcome::Unmapped);
}

fn gc(kind: OpKind, ppn: Ppn, source: Ppn) -> FlashOp {
    FlashOp::new(kind, ppn, source, Cause::Gc)
}

#[test]
fn trimmed_page_is_unmapped_and_not_moved_by_collection() {
    for trims in [vec![], vec![0], vec![0, 1]] {
        let mut driver = driver([1, 6, 2], |_| {});
        // Block 0 holds pages 0 and 1, the others ever newer versions of page 2.
        for lpn in [0, 1, 2, 2, 2, 2] {
            write(&mut driver, lpn, u32::MAX);
        }
        let (first, second, free) = (driver.page(0, 0), driver.page(0, 1), driver.page(4, 0));
        for &lpn in &trims {
            trim(&mut driver, lpn);
            // Once more, and a page that was never written: nothing is left to forget.
            trim(&mut driver, lpn);
            trim(&mut driver, 7);
        }
        let left = 3 - trims.len() as u64;
        assert_eq!((driver.ftl.pages_in_use(), driver.ftl.table_sizes().mapped_lpns), (left, left));
        assert_eq!(driver.ftl.flash.blocks.valid_pages(Plane::new(0)), left);
        assert!(driver.ops.is_empty());
        // Block 3 is opened and two blocks are free: block 0 is the first victim.
        write(&mut driver, 2, u32::MAX);
        let erased = gc(OpKind::Erase, first, NO_PPN);
        let moved = [gc(OpKind::Read, second, NO_PPN), gc(OpKind::Program, free, second)];
        match trims.len() {
            // Wholly valid: put back; block 1 is tried when there is no room.
            0 => assert!(driver.ops.is_empty(), "{:?}", driver.ops),
            1 => assert_eq!(driver.ops, [moved[0], moved[1], erased]),
            _ => assert_eq!(driver.ops, [erased]),
        }
        driver.ftl.audit().unwrap();
        write(&mut driver, 0, u32::MAX).unwrap();
        assert!(!target(&mut driver, 0).redirected);
    }
}

#[test]
fn a_page_trimmed_while_its_block_is_collected_stays_behind() {
    let mut driver = driver([1, 6, 4], |config| config.gc.step_pages = 1);
    // Block 0 holds pages 0, 1 and 2 and an outdated page 3; all that follows is page 3.
    for lpn in [0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3] {
        write(&mut driver, lpn, u32::MAX);
    }
    assert!(driver.ops.is_empty());
    let (from, to) = ([driver.page(0, 0), driver.page(0, 2)], [driver.page(4, 0), driver.page(4, 1)]);
    write(&mut driver, 3, u32::MAX);
    assert_eq!(driver.ops, [gc(OpKind::Read, from[0], NO_PPN), gc(OpKind::Program, to[0], from[0])]);
    driver.ops.clear();
    // Two of three pages are still to be moved.
    trim(&mut driver, 1);
    write(&mut driver, 3, u32::MAX);
    let urgent = |op: FlashOp| FlashOp { urgent: true, ..op };
    let expected = [
        gc(OpKind::Read, from[1], NO_PPN),
        gc(OpKind::Program, to[1], from[1]),
        gc(OpKind::Erase, from[0], NO_PPN),
    ];
    assert_eq!(driver.ops, expected.map(urgent));
    trim(&mut driver, 0);
    assert_eq!(driver.ftl.flash.blocks.owner(to[0]), None);
    assert_eq!(target(&mut driver, 2).ppn, to[1]);
}

#[test]
fn a_shared_page_lives_until_its_last_logical_page_is_trimmed() {
    for tables in [TableKind::TwoLevel, TableKind::Inverted] {
        let mut driver = sharing(tables);
        let (shared, _) = write(&mut driver, 0, 5).unwrap();
        assert_eq!([write(&mut driver, 1, 5), write(&mut driver, 2, 5)], [None, None]);
        for (trimmed, left) in [(1, 2), (0, 1)] {
            trim(&mut driver, trimmed);
            assert_eq!(target(&mut driver, 2).ppn, shared, "{tables:?}");
            let references = match driver.ftl.map() {
                Map::Content(map) => u64::from(map.references(map.vpn_of(Lpn::new(2)))),
                Map::Inverted(map) => map.lpns_of(shared).count() as u64,
                Map::Page(_) => unreachable!("the tables share"),
            };
            assert_eq!((references, driver.ftl.table_sizes().mapped_lpns), (left, left));
        }
        assert_eq!(write(&mut driver, 1, 5), None);
        trim(&mut driver, 1);
        trim(&mut driver, 2);
        let sizes = driver.ftl.table_sizes();
        assert_eq!((sizes.mapped_lpns, sizes.vpns, sizes.fingerprints), (0, 0, 0), "{tables:?}");
        assert_eq!((driver.ftl.pages_in_use(), driver.ftl.flash.blocks.owner(shared)), (0, None));
        match driver.ftl.map() {
            Map::Content(map) => assert_eq!(map.vpn_of(Lpn::new(2)), NO_VPN),
            Map::Inverted(map) => {
                assert_eq!((map.get(Lpn::new(2)), map.lpns_of(shared).count()), (NO_PPN, 0))
            }
            Map::Page(_) => unreachable!("the tables share"),
        }
        // The content is gone, not out of sight: it is programmed again, as one that was held before.
        assert_eq!(write(&mut driver, 3, 5).map(|program| program.1), Some(Cause::Reborn));
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn collection_of_a_shared_page_goes_by_who_is_left() {
    for tables in [TableKind::TwoLevel, TableKind::Inverted] {
        let mut driver = sharing(tables);
        // Block 0: contents 0 and 1, each of two pages. Then other contents of page 4.
        for (lpn, content) in [(0, 0), (1, 1), (2, 0), (3, 1), (4, 2), (4, 3), (4, 4), (4, 5)] {
            write(&mut driver, lpn, content);
        }
        // Content 0 keeps page 2, content 1 has no page.
        [0, 1, 3].iter().for_each(|&lpn| trim(&mut driver, lpn));
        write(&mut driver, 4, 6);
        let (kept, to) = (driver.page(0, 0), driver.page(4, 0));
        let expected = [
            gc(OpKind::Read, kept, NO_PPN),
            gc(OpKind::Program, to, kept),
            gc(OpKind::Erase, driver.page(0, 0), NO_PPN),
        ];
        assert_eq!(driver.ops, expected, "{tables:?}");
        // In two levels the VPN; inverted, LPN 2 and its page's list, and both tables of the fingerprint.
        let counters = driver.ftl.counters();
        assert_eq!((counters.dedup.gc_updates_two_level, counters.dedup.gc_updates_inverted), (1, 4));
        assert_eq!(target(&mut driver, 2).ppn, to);
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn a_duplicate_that_is_trimmed_is_read_no_more() {
    let mut driver = driver([3, 8, 2], |config| {
        config.allocation.policy = AllocationPolicy::Static;
        config.spread.policy = SpreadPolicy::Duplicates;
        config.redirection.policy = RedirectionPolicy::Replicas;
    });
    // Pages that the allocation would put on one channel; the tests' host address is 3/2 of the LPN.
    let duplicates = [0, 2, 4];
    let home = duplicates.map(|lpn| write(&mut driver, lpn, 4).unwrap().0);
    driver.idle(None).unwrap();
    let places = home.map(|ppn| driver.chip_of(ppn));
    assert_eq!((places.len(), driver.ftl.table_sizes().twin_pages), (3, 3));
    // The other two are busy: the second page is read for the first.
    let idle = |driver: &mut Driver, lpn: usize| {
        driver.chip.iter_mut().for_each(|load| *load = 9);
        driver.chip[places[lpn].index()] = 0;
        driver.unit.copy_from_slice(&driver.chip.clone());
    };
    idle(&mut driver, 1);
    assert_eq!(target(&mut driver, 0).ppn, home[1]);
    trim(&mut driver, duplicates[1]);
    assert_eq!(driver.ftl.table_sizes().twin_pages, 2);
    assert_eq!(driver.ftl.flash.blocks.owner(home[1]), None);
    assert_ne!(places[0], places[1]);
    assert_ne!(target(&mut driver, 0).ppn, home[1]);
    idle(&mut driver, 2);
    assert_eq!(target(&mut driver, 0).ppn, home[2]);
    trim(&mut driver, duplicates[2]);
    let sizes = driver.ftl.table_sizes();
    assert_eq!((sizes.twin_lists, sizes.twin_pages), (0, 0));
    assert_eq!(target(&mut driver, 0).ppn, home[0]);
}

#[test]
fn pages_trimmed_while_they_are_compared_are_no_duplicates() {
    let mut driver = driver([2, 8, 2], |config| config.spread.policy = SpreadPolicy::Duplicates);
    write(&mut driver, 0, 4);
    write(&mut driver, 1, 4);
    // The third finds both channels taken; its comparison is ordered and not yet done.
    write(&mut driver, 2, 4);
    assert!(driver.ftl.counters().spread.comparisons > 0);
    trim(&mut driver, 1);
    trim(&mut driver, 2);
    driver.idle(None).unwrap();
    let counters = driver.ftl.counters();
    assert_eq!((counters.spread.twins_found, driver.ftl.table_sizes().twin_pages), (0, 0));
    assert!(counters.spread.comparisons_void > 0);
    driver.ftl.audit().unwrap();
}

/// Four chips; content 3, of pages 0 and 1, has a copy on each.
fn replicated(policy: ReplicationPolicy) -> Driver {
    let mut driver = driver([4, 8, 2], |config| {
        config.mapping = Mapping::Content;
        config.replication.policy = policy;
        config.replication.alpha = 1.0;
        config.replication.degree = DegreePolicy::ManyOfFew;
        config.redirection.policy = RedirectionPolicy::Replicas;
    });
    write(&mut driver, 0, 3);
    write(&mut driver, 1, 3);
    for _ in 0..8 {
        driver.read(0).unwrap();
        driver.idle(None).unwrap();
    }
    driver.end_period().unwrap();
    driver
}

#[test]
fn copies_die_with_the_last_logical_page_of_their_content() {
    for policy in ReplicationPolicy::ALL.into_iter().filter(|&policy| policy != ReplicationPolicy::None) {
        let mut driver = replicated(policy);
        let (copies, made) = (driver.ftl.replica_pages(), driver.ftl.counters().replication.copies);
        assert!(copies > 0 && copies == made, "{policy:?}: {copies} of {made}");
        trim(&mut driver, 1);
        assert_eq!(driver.ftl.replica_pages(), copies, "page 0 holds the content still");
        trim(&mut driver, 0);
        assert_eq!((driver.ftl.replica_pages(), driver.ftl.pages_in_use()), (0, 0));
        assert!(driver.ftl.chip_valid_pages().iter().all(|&valid| valid == 0));
        // Not dropped: there is nothing that they would be copies of.
        assert_eq!(driver.ftl.counters().replication.dropped, 0);
        driver.idle(None).unwrap();
        driver.end_period().unwrap();
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn page_trimmed_during_its_fingerprint_read_is_not_merged() {
    let mut driver = driver([1, 8, 2], |config| {
        config.mapping = Mapping::Content;
        (config.dedup.sampling_pages, config.dedup.out_of_line) = (2, OutOfLinePolicy::Unhashed);
    });
    // Content 1 is known. Of the next run the sample is new, so that the other page, content 1 again, is
    // written without a fingerprint.
    write(&mut driver, 0, 1);
    driver.begin_run(2);
    write(&mut driver, 1, 2);
    write(&mut driver, 2, 1);
    assert_eq!(driver.ftl.counters().programs[Cause::MissedDuplicate as usize], 1);
    assert!(driver.ops.iter().any(|op| op.cause == Cause::Fingerprint), "{:?}", driver.ops);
    trim(&mut driver, 2);
    driver.idle(None).unwrap();
    assert_eq!(driver.ftl.counters().dedup.duplicates_out_of_line, 0);
    assert_eq!(driver.read(2).unwrap(), ReadOutcome::Unmapped);
    driver.ftl.audit().unwrap();
}

/// Trimming every page leaves nothing, and a device on which everything can be written again.
#[test]
fn whatever_was_done_trimming_everything_leaves_nothing() {
    for seed in 0..120 {
        let options = Options::draw(seed);
        let mut driver = Driver::new(&options);
        let mut workload = Workload::new(&options);
        for _ in 0..options.steps / 4 {
            driver.serve(workload.next()).unwrap();
        }
        (0..options.footprint).for_each(|lpn| driver.trim(lpn));
        let ftl = &driver.ftl;
        let sizes = ftl.table_sizes();
        assert_eq!((ftl.pages_in_use(), ftl.replica_pages(), sizes.mapped_lpns), (0, 0, 0), "{options:?}");
        assert_eq!((sizes.vpns, sizes.fingerprints, sizes.replicas), (0, 0, 0), "{options:?}");
        assert_eq!((sizes.replicated_contents, sizes.twin_lists, sizes.twin_pages), (0, 0, 0));
        assert!(ftl.plane_valid_pages().iter().all(|&valid| valid == 0));
        ftl.audit().unwrap();
        // Jobs that were under way find their results unwanted.
        driver.idle(None).unwrap();
        assert_eq!(driver.ftl.pages_in_use(), 0, "{options:?}");
        for lpn in 0..options.footprint {
            driver.write(lpn, lpn % options.contents, false).unwrap();
        }
        driver.ftl.audit().unwrap();
    }
}
