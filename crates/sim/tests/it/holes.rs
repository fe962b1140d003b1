//! Holes take no room on a drive and are read without its flash, on any aged drive.

use flashtwin_ftl::Rng;
use flashtwin_sim::{Resolved, system_names};
use flashtwin_trace::{Op, Trace, TraceBuilder};

use crate::bench::{figure, pick, replay, seeds, system_on};

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

/// Requests of a page each among 300 pages and 20 contents, of which 0 is zeroes. With `trims`, trims stand in the place
/// of writes of zeroes.
fn with_zeroes(seed: u64, trims: bool) -> Trace {
    let (mut rng, mut now) = (Rng::stream(seed, "zeroes"), 0);
    let mut builder = TraceBuilder::new("zeroes");
    builder.zeroes(0);
    let mean_ns = pick(&mut rng, &[20_000, 200_000, 1_000_000]);
    for request in 0..2_500_u64 {
        now += i64::from(rng.below(2 * mean_ns));
        let (page, kind, content) = (u64::from(rng.below(300)), rng.below(100), rng.below(20));
        let page = if request < 300 { request } else { page };
        let (op, contents) = match kind {
            _ if request < 300 => (Op::Write, &[1 + content][..]),
            0..40 => (Op::Read, &[][..]),
            40..43 => (Op::Trim, &[][..]),
            _ if content == 0 && trims => (Op::Trim, &[][..]),
            _ => (Op::Write, &[content][..]),
        };
        builder.request(now, op, page * 4096, 4096, contents);
    }
    builder.build().unwrap()
}

#[test]
fn a_mapped_page_of_zeroes_is_a_trim_that_is_answered() {
    let (mut mapped, mut read) = (0, 0);
    for (name, seed) in system_names().into_iter().flat_map(|name| seeds(4).map(move |seed| (name, seed))) {
        // A place in RAM that zeroes take is one that others wait for.
        let sets =
            [("engine.write_cache_pages", "0"), ("engine.write_buffer_pages", "0"), ("zero_page", "mapped")];
        let run = |trims| replay(&with_zeroes(seed, trims), &system(name, &sets)).summary;
        let (zeroes, trims) = (run(false), run(true));
        for figures in ["flash_reads", "flash_writes", "erases", "dedup", "replication"] {
            assert_eq!(zeroes[figures], trims[figures], "{name}, {seed}: {figures}");
        }
        assert_eq!(zeroes["response"]["read"], trims["response"]["read"], "{name}, {seed}");
        for figure in ["unmapped_reads", "pages_hashed", "duplicate_writes", "redirected_reads"] {
            assert_eq!(zeroes["page_ops"][figure], trims["page_ops"][figure], "{name}, {seed}: {figure}");
        }
        let written = |summary| figure(summary, "page_ops.write").as_u64().unwrap();
        let count = figure(&zeroes, "page_ops.zero_writes").as_u64().unwrap();
        assert_eq!(written(&zeroes), written(&trims) + count, "{name}, {seed}");
        mapped += count;
        read += figure(&zeroes, "page_ops.unmapped_reads").as_u64().unwrap();
    }
    assert!(mapped > 1_000 && read > 1_000, "{mapped}, {read}");
}

/// Four pages in a request, two of them zeroes; then all four are read.
#[test]
fn zeroes_take_no_hash_and_no_flash() {
    let mut builder = TraceBuilder::new("four");
    builder.zeroes(5).request(0, Op::Write, 0, 4 * 4096, &[1, 5, 2, 5]);
    builder.request(1_000_000_000, Op::Read, 0, 4 * 4096, &[1, 5, 2, 5]);
    let trace = builder.build().unwrap();
    for (name, hashes) in [("conventional", 0), ("ca-ssd", 2), ("rr-ssd", 2), ("ds-ftl", 0)] {
        for (key, pages) in [("stored", [4, 4]), ("mapped", [2, 2])] {
            let summary = replay(&trace, &system(name, &[("zero_page", key)])).summary;
            let shared = u64::from(hashes > 0 && key == "stored");
            let written = |cause: &str| summary["flash_writes"][cause].as_u64().unwrap();
            assert_eq!(written("host") + written("unique"), pages[0] - shared, "{name}, {key}");
            assert_eq!(summary["flash_reads"]["host"], pages[1], "{name}, {key}");
            assert_eq!(summary["page_ops"]["pages_hashed"], hashes * pages[0] / 2, "{name}, {key}");
            assert_eq!(summary["page_ops"]["zero_writes"], 4 - pages[0], "{name}, {key}");
        }
    }
}
