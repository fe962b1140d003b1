//! The cache of what was read.

use flashtwin_ftl::Rng;
use flashtwin_sim::engine::Charge;
use flashtwin_trace::{Op, Trace};

use crate::bench::{Bench, COMMAND, ONE, READ_ALL, SENSE, TRANSFER, figure, ledger, pick, read, read_pages};
use crate::bench::{replay, served, system_on, trace_of_pages, trim, write, write_part};

fn keeping(pages: u32) -> Bench {
    Bench::new(ONE)
        .holding(4)
        .with(|bench| (bench.engine.read_cache_pages, bench.engine.write_cache_us) = (pages, 9.0))
}

fn from_dram() -> flashtwin_sim::engine::Ledger {
    ledger(&[(Charge::Controller, 9_000)])
}

#[test]
fn a_page_that_was_read_comes_from_dram_once_the_flash_has_sent_it() {
    let outcome = keeping(2).serve(&[read(0, 0), read(1_000, 0), read(500_000, 0)]);
    // The second read comes before the data of the first.
    assert_eq!(outcome.log.commands, [(0, "read", 0), (READ_ALL, "read", 0)]);
    assert_eq!(outcome.log.responses[0], served(&[], SENSE));
    assert_eq!(outcome.log.responses[2], from_dram());
    assert_eq!((outcome.counts.pages.read_cache_hits, outcome.end_ns), (1, 509_000));
}

#[test]
fn the_least_recently_read_page_leaves() {
    let times = [(0, 0), (100, 1), (200, 0), (300, 2), (400, 0), (500, 1)];
    let outcome = keeping(2).serve(&times.map(|(us, page)| read(us * 1_000, page)));
    // Page 1 is older than page 0, which was read again, when page 2 comes.
    assert_eq!(outcome.starts(), [0, 100_000, 300_000, 500_000]);
    assert_eq!(outcome.counts.pages.read_cache_hits, 2);
}

#[test]
fn a_write_a_part_of_one_and_a_trim_make_it_out_of_date() {
    for (change, flash_reads) in [(write(200_000, 0, 9), 2), (write_part(200_000, 0, 9), 3)] {
        let outcome = keeping(2).serve(&[read(0, 0), change, read(900_000, 0)]);
        let reads = outcome.log.commands.iter().filter(|command| command.1 == "read").count();
        assert_eq!((reads, outcome.counts.pages.read_cache_hits), (flash_reads, 0));
    }
    let outcome = keeping(2).serve(&[read(0, 0), trim(200_000, 0), read(300_000, 0)]);
    assert_eq!((outcome.log.commands.len(), outcome.counts.pages.read_cache_hits), (1, 0));
    // What the flash sends after the write is the old page.
    let outcome = keeping(2).serve(&[read(0, 0), write(1_000, 0, 9), read(900_000, 0)]);
    assert_eq!(outcome.kinds(), "read program read");
}

#[test]
fn pages_of_one_content_share_a_place_where_the_drive_knows_it() {
    let before = vec![(0, 5), (1, 5), (2, 6)];
    let asks = [read(0, 0), read(100_000, 1), read(200_000, 2), read(300_000, 0)];
    let shared = keeping(2).deduplicating().with(|bench| bench.before.clone_from(&before)).serve(&asks);
    assert_eq!((shared.log.commands.len(), shared.counts.pages.read_cache_hits), (2, 2));
    let apart = keeping(2).with(|bench| bench.before = before).serve(&asks);
    assert_eq!((apart.log.commands.len(), apart.counts.pages.read_cache_hits), (4, 0));
    // Written somewhere else, the content is still the same.
    let again = [read(0, 0), write(200_000, 0, 7), write(600_000, 3, 5), read(900_000, 3)];
    let moved = keeping(2).deduplicating().with(|bench| bench.before = vec![(0, 5), (1, 5)]).serve(&again);
    assert_eq!(moved.counts.pages.read_cache_hits, 1);
}

#[test]
fn a_request_is_complete_with_its_slower_page() {
    let outcome = keeping(2).serve(&[read(0, 0), read_pages(200_000, 0, 2)]);
    assert_eq!(outcome.log.responses[1], served(&[], SENSE));
    assert_eq!(outcome.log.commands, [(0, "read", 0), (200_000, "read", 0)]);
    assert_eq!(outcome.end_ns, 200_000 + COMMAND + SENSE + TRANSFER);
}

const PAGES: u64 = 60;

/// All pages are written; then requests that never meet, of which some write.
fn apart(rng: &mut Rng) -> Trace {
    let fill = (0..PAGES).map(|page| (page as i64 * 1_000_000, Op::Write, page, Some(page as u32 % 23)));
    let requests = (0..3_000).map(|at| {
        let page = u64::from(rng.below(PAGES as u32).min(rng.below(PAGES as u32)));
        let write = rng.below(12) == 0;
        let op = if write { Op::Write } else { Op::Read };
        ((PAGES as i64 + 1_000 + at) * 3_000_000, op, page, write.then(|| rng.below(23)))
    });
    trace_of_pages(fill.chain(requests).collect::<Vec<_>>())
}

/// Hits of a list of names, the latest last. A page's name is its own or, where the drive looks at contents, its content.
fn hits_of_a_list(trace: &Trace, by_content: bool, capacity: usize) -> u64 {
    let (mut kept, mut written, mut hits) = (Vec::new(), vec![(0, 0); PAGES as usize], 0);
    for request in 0..trace.len() {
        let page = (trace.request(request).offset_bytes / 4096) as usize;
        if trace.request(request).op == Op::Write {
            kept.retain(|&name| by_content || name != written[page]);
            let content = trace.contents(request)[0] as usize;
            written[page] = if by_content { (content, 0) } else { (page, request) };
            continue;
        }
        let name = written[page];
        hits += u64::from(kept.contains(&name));
        kept.retain(|&other| other != name);
        kept.push(name);
        if kept.len() > capacity {
            kept.remove(0);
        }
    }
    hits
}

#[test]
fn hits_are_those_of_a_list_and_more_places_never_have_fewer() {
    let systems = ["conventional", "static", "ds-ftl", "ca-ssd", "ca-ssd-inverted", "rr-ssd", "modern"];
    for seed in 0..6 {
        let mut rng = Rng::stream(seed, "read cache");
        let trace = apart(&mut rng);
        let scan = pick(&mut rng, &[1, 2, 3]);
        for system in systems {
            let mut last = (0, u64::MAX);
            for capacity in [0, scan, 7, 20, 45, 1_000] {
                let pages = capacity.to_string();
                let sets =
                    [("read_cache_pages", pages.as_str()), ("preload", "none"), ("write_cache_pages", "0")];
                let result = replay(&trace, &system_on([2, 1, 1, 1, 40, 16], system, &sets));
                let count = |path: &str| figure(&result.summary, path).as_u64().unwrap();
                let hits = count("page_ops.read_cache_hits");
                let flash = count("flash_reads.host");
                assert_eq!(hits + flash + count("page_ops.buffer_reads"), count("page_ops.read"), "{system}");
                assert!(hits >= last.0 && flash <= last.1, "seed {seed}: {system} with {capacity} pages");
                last = (hits, flash);
                let by_content = system.starts_with("ca-ssd") || system == "rr-ssd";
                if system != "ds-ftl" {
                    let list = hits_of_a_list(&trace, by_content, capacity as usize);
                    assert_eq!(hits, list, "seed {seed}: {system} with {capacity} pages");
                }
            }
            assert!(last.0 > 500, "{system} hardly hits");
        }
    }
}
