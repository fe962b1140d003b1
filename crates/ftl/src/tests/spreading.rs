//! Spreading of duplicates page by page: filter answers, pages read for them, pages compared, moved and aged.

use flashtwin_nand::{NO_PPN, Ppn};

use super::driver::Driver;
use crate::flash::allocation::AllocationPolicy;
use crate::page::spread::SpreadPolicy;
use crate::{Cause, FtlConfig, OpKind};

/// Two channels of one plane, filters that forget nothing. Pages 0, 3, 4 and 7 belong on channel 0 (3/2 of the LPN).
fn driver(change: impl Fn(&mut FtlConfig)) -> Driver {
    let mut config = FtlConfig::default();
    (config.spread.policy, config.spread.bloom_rebuild) = (SpreadPolicy::Duplicates, 1.0);
    config.allocation.policy = AllocationPolicy::Static;
    change(&mut config);
    Driver::of([2, 1, 1, 1, 12, 8], config, 8, 200)
}

fn write(driver: &mut Driver, lpn: u32, content: u32) -> Ppn {
    driver.write(lpn, content, false).unwrap().program.unwrap().0
}

fn channel_of(driver: &Driver, lpn: u32) -> u32 {
    let geometry = driver.geometry();
    geometry.channel_of_chip(driver.chip_of(driver.home(lpn))).number()
}

fn compared(driver: &Driver) -> Vec<Ppn> {
    let reads = driver.ops.iter().filter(|op| op.cause == Cause::Verify);
    reads.inspect(|op| assert_eq!((op.kind, op.source), (OpKind::Read, NO_PPN))).map(|op| op.ppn).collect()
}

/// One bit a page, and one an entry: some contents share theirs with content 0.
fn crowded() -> Driver {
    driver(one_bit)
}

fn one_bit(config: &mut FtlConfig) {
    (config.spread.bloom_bits_per_page, config.spread.bloom_hashes) = (1, 1);
}

fn taken_for_content_0() -> u32 {
    let wrong = (1..200).find(|&content| {
        let mut driver = crowded();
        write(&mut driver, 0, 0);
        write(&mut driver, 3, content);
        driver.ftl.counters().spread.filter_false_positives == 1
    });
    wrong.expect("some do")
}

#[test]
fn false_positive_reads_the_last_page_of_its_channel() {
    let wrong = taken_for_content_0();
    let mut driver = crowded();
    let last = write(&mut driver, 0, 0);
    let new = write(&mut driver, 3, wrong);
    assert_eq!((channel_of(&driver, 3), compared(&driver)), (1, vec![new, last]));
    let mut driver = crowded();
    write(&mut driver, 0, 0);
    driver.trim(0);
    write(&mut driver, 3, wrong);
    let spread = driver.ftl.counters().spread;
    assert_eq!((spread.filter_false_positives, compared(&driver)), (1, vec![]));
}

#[test]
fn false_positive_reads_no_page_on_an_unwritten_channel() {
    let wrong = taken_for_content_0();
    let mut driver = driver(|config| {
        one_bit(config);
        config.allocation.policy = AllocationPolicy::Dynamic;
    });
    write(&mut driver, 0, 0);
    // By turns: to channel 1, which the host has never written to; channel 0 keeps an entry that is dead.
    driver.rewrite(0).unwrap().unwrap();
    assert_eq!(channel_of(&driver, 0), 1);
    write(&mut driver, 3, wrong);
    assert_eq!((driver.ftl.counters().spread.filter_false_positives, compared(&driver)), (2, vec![]));
    driver.ftl.audit().unwrap();
}

#[test]
fn dead_entry_moves_a_page_without_any_read() {
    for own_copy_counts in [false, true] {
        let mut driver = driver(|config| config.spread.own_copy_counts = own_copy_counts);
        write(&mut driver, 0, 4);
        write(&mut driver, 0, 5);
        // The holder of the content on channel 0 is dead, and page 0 has another content.
        write(&mut driver, 0, 4);
        let counters = driver.ftl.counters();
        assert_eq!((channel_of(&driver, 0), counters.pages.redirected_writes), (1, 1), "{own_copy_counts}");
        assert_eq!((counters.spread.filter_stale_positives, counters.spread.filter_positives), (1, 1));
        assert_eq!(compared(&driver), vec![]);
    }
}

#[test]
fn filters_forget_what_is_dead_when_preloading_ends() {
    for (ends, expected) in [(false, (1, 1)), (true, (0, 0))] {
        let mut driver = driver(|_| {});
        write(&mut driver, 0, 4);
        write(&mut driver, 0, 5);
        if ends {
            driver.ftl.end_preload();
        }
        write(&mut driver, 3, 4);
        let stale = driver.ftl.counters().spread.filter_stale_positives;
        assert_eq!((channel_of(&driver, 3), stale), expected);
        // A dead entry is known to be one: the last page of its channel is not read for it.
        assert_eq!(compared(&driver), vec![]);
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn page_moved_by_ageing_avoids_its_duplicates_but_not_itself() {
    let mut driver = driver(|_| {});
    write(&mut driver, 0, 4);
    write(&mut driver, 3, 4);
    write(&mut driver, 4, 5);
    write(&mut driver, 7, u32::MAX);
    assert_eq!([0, 3, 4, 7].map(|lpn| channel_of(&driver, lpn)), [0, 1, 0, 0]);
    // Its address says channel 0, where page 0 holds the same.
    driver.rewrite(3).unwrap().unwrap();
    // Nobody else holds their contents: neither the page they leave nor one they left before counts.
    for lpn in [4, 4, 7, 4, 7] {
        driver.rewrite(lpn).unwrap().unwrap();
    }
    assert_eq!([0, 3, 4, 7].map(|lpn| channel_of(&driver, lpn)), [0, 1, 0, 0]);
    driver.ftl.audit().unwrap();
}

#[test]
fn filter_counts_only_pages_that_leave_its_channel() {
    // A filter is made anew for the first page that leaves.
    let at_once = |config: &mut FtlConfig| config.spread.bloom_rebuild = 1e-9;
    let mut driver = driver(at_once);
    write(&mut driver, 0, 4);
    write(&mut driver, 1, u32::MAX);
    driver.rewrite(0).unwrap().unwrap();
    driver.rewrite(1).unwrap().unwrap();
    assert_eq!((channel_of(&driver, 0), driver.ftl.counters().spread.filter_rebuilds), (0, 0));
    let mut driver = self::driver(|config| {
        at_once(config);
        config.allocation.policy = AllocationPolicy::Dynamic;
    });
    // By turns: on channels 0, 1 and 0, then moved to 1, 0 and 1.
    driver.write_all(&[(0, 4), (1, u32::MAX), (2, 5), (3, u32::MAX)]);
    for (lpn, to) in [(0, 0), (0, 1), (1, 0), (2, 1)] {
        driver.rewrite(lpn).unwrap().unwrap();
        assert_eq!(channel_of(&driver, lpn), to, "page {lpn}");
    }
    assert_eq!(driver.ftl.counters().spread.filter_rebuilds, 2, "pages 0 and 2 left");
    driver.ftl.audit().unwrap();
}

#[test]
fn pages_compared_are_duplicates_where_both_hold_the_content_still() {
    // Pages 0 and 1 hold it on either channel; page 2 is compared with both.
    for (trimmed, expected) in [(None, (0, 2)), (Some(1), (1, 1)), (Some(0), (1, 1)), (Some(2), (2, 0))] {
        let mut driver = driver(|_| {});
        driver.write_all(&[(0, 4), (1, 4), (2, 4)]);
        assert_eq!(compared(&driver).len(), 3);
        trimmed.into_iter().for_each(|lpn| driver.trim(lpn));
        driver.idle(None).unwrap();
        let spread = driver.ftl.counters().spread;
        assert_eq!((spread.comparisons_void, spread.twins_found), expected, "{trimmed:?} is gone");
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn comparisons_without_a_free_job_are_counted() {
    let mut driver = driver(|config| config.background.jobs = 1);
    driver.write_all(&[(0, 4), (1, 4), (2, 4)]);
    for (lpn, dropped) in [(3, 1), (4, 2), (5, 3)] {
        write(&mut driver, lpn, 4);
        let spread = driver.ftl.counters().spread;
        assert_eq!((spread.comparisons, spread.jobs_dropped), (1, dropped));
    }
    assert_eq!(compared(&driver).len(), 3, "those of the first");
}
