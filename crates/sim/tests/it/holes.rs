//! Holes take no room on a drive and are read without its flash, on any aged drive.

use flashtwin_sim::{Resolved, system_names};
use flashtwin_trace::{Op, Trace, TraceBuilder};

use crate::bench::{replay, system_on};

/// 640 pages; 512 of them for data.
fn system(name: &str, sets: &[(&str, &str)]) -> Resolved {
    system_on([2, 2, 1, 1, 20, 8], name, sets)
}

const READS: u64 = 40;

/// A blank disk that is read all over at once, and a page of it written and read again a second later; 7 is zeroes.
fn blank_disk(knows_holes: bool) -> Trace {
    let mut builder = TraceBuilder::new("blank");
    if knows_holes {
        builder.hole(0, 0..1 << 20);
    }
    for page in 0..READS {
        builder.request(0, Op::Read, page * 4096, 4096, &[7]);
    }
    builder.request(1_000_000_000, Op::Write, 0, 4096, &[8]).request(2_000_000_000, Op::Read, 0, 4096, &[8]);
    builder.build().unwrap()
}

#[test]
fn holes_are_read_without_flash_whatever_the_preload() {
    for name in system_names() {
        for preload in ["first-reads", "footprint", "none"] {
            let run = |trace: &Trace| replay(trace, &system(name, &[("preload", preload)])).summary;
            let summary = run(&blank_disk(true));
            assert_eq!(summary["page_ops"]["unmapped_reads"], READS, "{name}, {preload}");
            // The page that was written may still lie in a cache.
            assert!(summary["flash_reads"]["host"].as_u64() <= Some(1), "{name}, {preload}");
            assert_eq!(summary["trace"]["footprint_pages"], 1);
            assert_eq!(summary["response"]["read"]["p50_ns"], 0, "{name}, {preload}");
        }
    }
}

#[test]
fn deduplicated_unknown_holes_are_one_page_of_zeroes() {
    let reads = |knows: bool| {
        let response = &replay(&blank_disk(knows), &system("ca-ssd", &[])).summary["response"]["read"];
        response["mean_ns"].as_f64().unwrap()
    };
    // One chip reads the page 40 times, one behind another; with known holes one read of 41 goes to flash.
    let (known, unknown) = (reads(true), reads(false));
    assert!(unknown > 400.0 * known, "{known} ns, {unknown} ns");
}

#[test]
fn what_is_let_go_of_is_no_footprint() {
    // A file system trims all of a disk that is larger than this drive.
    let mut builder = TraceBuilder::new("mkfs");
    builder.request(0, Op::Trim, 0, 1 << 30, &[]);
    for page in 0..300_u64 {
        builder.request(1_000_000, Op::Write, page * 17 * 4096, 4096, &[page as u32]);
    }
    let trace = builder.build().unwrap();
    for preload in ["first-reads", "footprint"] {
        let summary = replay(&trace, &system("conventional", &[("preload", preload)])).summary;
        assert_eq!(summary["trace"]["footprint_pages"], 300);
        assert_eq!(summary["space"]["pages_in_use"], 300);
        assert_eq!(summary["page_ops"]["trim"], 1 << 18, "{preload}");
    }
    // Read instead, it is data, for which there is no room.
    builder.request(2_000_000, Op::Read, 0, 4 << 20, &[]);
    let fewer = builder.build().unwrap();
    assert_eq!(replay(&fewer, &system("conventional", &[])).summary["trace"]["footprint_pages"], 300);
}

#[test]
fn full_drive_holds_pages_that_are_written_first() {
    // A drive that was in use before holds something at each address that the trace writes, holes or not.
    let mut builder = TraceBuilder::new("full");
    builder.hole(0, 0..1 << 30);
    for page in 0..400_u64 {
        builder.request(page as i64 * 10_000_000, Op::Write, page * 4096, 4096, &[page as u32]);
    }
    let trace = builder.build().unwrap();
    let collected = |preload: &str| {
        let summary = replay(&trace, &system("conventional", &[("preload", preload)])).summary;
        summary["erases"]["total"].as_u64().unwrap()
    };
    assert_eq!(collected("first-reads"), 0);
    assert!(collected("footprint") > 10);
}
