//! A trim in every mapping scheme: the mapping, shared contents, copies, collection. It orders no operations.

use flashtwin_nand::{NO_PPN, Plane, Ppn};

use super::driver::{Driver, Options, Workload, late_fifo};
use crate::dedup::TableKind;
use crate::{Cause, FlashOp, FtlConfig, Mapping, OpKind, ReadOutcome, ReadTarget};

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
