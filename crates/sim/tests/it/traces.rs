//! Edge cases of traces, and relations between systems on one trace.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use flashtwin_ftl::Rng;
use flashtwin_ftl::spread::SpreadPolicy;
use flashtwin_sim::{Resolved, RunResult, SimError, run, system_names};
use flashtwin_trace::{
    Columns, ContentSource, Format, Op, Outline, PageColumns, PageSource, PageTrace, Progress, Quality,
    Trace, TraceBuilder, TraceError, Window, Windows, rows_there,
};

use crate::bench::{column, replay, system_on, trace_of_pages};
use crate::drawn::random_trace;

fn system(name: &str, sets: &[(&str, &str)]) -> Resolved {
    system_on([2, 2, 2, 1, 40, 8], name, sets)
}

#[test]
fn an_empty_trace_is_a_run_without_figures() {
    let trace = Trace::from_columns("empty", Format::MEMORY, Columns::default(), Quality::default()).unwrap();
    let pages = PageTrace::build(&trace, 4096, ContentSource::Unique).unwrap();
    for name in system_names() {
        let result = run(&pages, &system(name, &[]), &()).unwrap();
        assert_eq!(result.summary["requests"]["completed"], 0, "{name}");
        for part in ["min_ns", "max_ns", "mean_ns", "stddev_ns", "p99_ns"] {
            assert!(result.summary["response"]["read"][part].is_null(), "{name}: {part}");
        }
        assert!(result.summary["throughput"]["requests_per_s"].is_null());
        assert!(result.summary["write_amplification"].is_null());
        assert_eq!(result.table("periods").unwrap().num_rows(), 1);
        for (table, batch) in &result.tables {
            let floats = batch.columns().iter().filter_map(|column| column.as_primitive_opt::<Float64Type>());
            assert!(floats.flat_map(|values| values.iter().flatten()).all(f64::is_finite), "{name}: {table}");
        }
    }
}

struct InWindows(PageTrace, Vec<PageColumns>);

struct Remaining<'a> {
    outline: &'a Outline,
    windows: std::slice::Iter<'a, PageColumns>,
    first_request: u64,
}

impl InWindows {
    fn new(trace: PageTrace, requests: usize) -> InWindows {
        let all = &trace.columns;
        let firsts = (0..all.requests()).step_by(requests);
        let window = |first: usize| {
            let end = (first + requests).min(all.requests());
            let ops = all.first_page_op[first] as usize..all.first_page_op[end] as usize;
            PageColumns {
                time_ns: Arc::new(all.time_ns[first..end].to_vec()),
                op: Arc::new(all.op[first..end].to_vec()),
                volume: Arc::new(all.volume[first..end].to_vec()),
                offset_bytes: Arc::new(all.offset_bytes[first..end].to_vec()),
                length_bytes: Arc::new(all.length_bytes[first..end].to_vec()),
                stream: Arc::new(rows_there(&all.stream, first..end).to_vec()),
                marks: all.marks[first..end].to_vec(),
                first_page_op: all.first_page_op[first..=end]
                    .iter()
                    .map(|at| at - ops.start as u32)
                    .collect(),
                lpn: all.lpn[ops.clone()].to_vec(),
                content: all.content[ops].to_vec(),
            }
        };
        let windows = firsts.map(window).collect();
        InWindows(trace, windows)
    }
}

impl PageSource for InWindows {
    fn outline(&self) -> &Outline {
        self.0.outline()
    }

    fn windows(&self) -> Result<Box<dyn Windows + '_>, TraceError> {
        Ok(Box::new(Remaining { outline: self.outline(), windows: self.1.iter(), first_request: 0 }))
    }
}

impl Windows for Remaining<'_> {
    fn next(&mut self) -> Result<Option<Window<'_>>, TraceError> {
        let Some(columns) = self.windows.next() else { return Ok(None) };
        let first = self.first_request;
        self.first_request += columns.requests() as u64;
        Ok(Some(columns.window(first, self.outline)))
    }
}

#[test]
fn a_trace_in_windows_is_the_trace() {
    for (seed, name) in (0..4).flat_map(|seed| system_names().into_iter().map(move |name| (seed, name))) {
        let mut rng = Rng::stream(seed, "windows");
        let trace = random_trace(&mut rng);
        let resolved = system(name, &[("period_s", "0.01"), ("preload", "footprint")]);
        let source = resolved.content_source(true);
        let whole = PageTrace::build(&trace, resolved.config.nand.page_bytes, source).unwrap();
        let last = whole.columns.requests() * 2 / 3 + 1;
        same_in_windows(&whole, &resolved, &[1, 7, 100, last], name);
    }
}

/// A run of the trace in windows of so many requests has the results of a run of the whole.
pub(crate) fn same_in_windows(whole: &PageTrace, resolved: &Resolved, sizes: &[usize], context: &str) {
    let once = run(whole, resolved, &()).unwrap();
    for &requests in sizes {
        let cut = run(&InWindows::new(whole.clone(), requests), resolved, &()).unwrap();
        assert_eq!(cut.summary, once.summary, "{context}, {requests}");
        assert!(cut.tables == once.tables, "{context}, {requests}");
    }
}

#[test]
fn a_trace_of_one_request_is_served_by_every_system() {
    for op in Op::ALL {
        let contents: &[u32] = if op.moves_data() { &[7] } else { &[] };
        let (offset, length) = if op == Op::Flush { (0, 0) } else { (8192, 4096) };
        let trace = TraceBuilder::new("one").request(0, op, offset, length, contents).build().unwrap();
        for name in system_names() {
            let mut resolved = system(name, &[]);
            if !op.moves_data() && resolved.config.ftl.looks_at_contents() {
                resolved.config.ftl.mapping = flashtwin_ftl::Mapping::Page;
                resolved.config.ftl.replication.policy = flashtwin_ftl::ReplicationPolicy::None;
                resolved.config.ftl.spread.policy = SpreadPolicy::None;
            }
            let result = replay(&trace, &resolved);
            assert_eq!(result.summary["requests"]["completed"], 1, "{name} {op:?}");
        }
    }
}

#[test]
fn reads_find_preloaded_data_and_program_nothing() {
    let read = |at: u32| (i64::from(at) * 1_000, Op::Read, u64::from(at % 50), Some(at % 50 / 3));
    let trace = trace_of_pages((0..200).map(read));
    for name in system_names() {
        let summary = replay(&trace, &system(name, &[("period_s", "1.0")])).summary;
        // With reads alone a controller writes only copies.
        assert_eq!(summary["pages_programmed"], summary["flash_writes"]["replica"], "{name}");
        assert_eq!(summary["pages_programmed"] != 0, ["rr-ssd-online", "pblru"].contains(&name), "{name}");
        assert_eq!(summary["page_ops"]["unmapped_reads"], 0);
        let merged = summary["page_ops"]["merged_reads"].as_u64().unwrap();
        assert_eq!(summary["flash_reads"]["host"], 200 - merged, "{name}");
        // The systems of the paper whose simulator merges the reads of a page.
        assert_eq!(merged > 0, ["static", "dynamic", "hipa", "ds-ftl"].contains(&name), "{name}");
        assert!(summary["write_amplification"].is_null());
        let shares = summary["ram"]["fingerprint_store_bytes"].as_u64().unwrap();
        assert_eq!(shares > 0, resolved_by_content(name), "{name}");
    }
}

fn resolved_by_content(name: &str) -> bool {
    system(name, &[]).config.ftl.mapping == flashtwin_ftl::Mapping::Content
}

#[test]
fn deduplicating_systems_write_equal_pages_and_never_more() {
    for seed in 0..20 {
        let trace = random_trace(&mut Rng::stream(seed, "systems"));
        let sets = [("period_s", "0.003")];
        let host = |name: &str| {
            let summary = replay(&trace, &system(name, &sets)).summary;
            let writes = &summary["flash_writes"];
            let count = |cause: &str| writes[cause].as_u64().unwrap();
            let pages = count("host") + count("unique") + count("reborn");
            assert_eq!(count("missed_duplicate"), 0, "{name} with an unlimited store");
            (pages, summary["page_ops"]["duplicate_writes"].as_u64().unwrap())
        };
        let (conventional, ca_ssd) = (host("conventional"), host("ca-ssd"));
        assert_eq!(conventional.0, ca_ssd.0 + ca_ssd.1, "seed {seed}");
        assert_eq!(ca_ssd, host("ca-ssd-inverted"));
        assert_eq!(ca_ssd, host("rr-ssd"));
        assert_eq!(ca_ssd, host("oracle"));
        assert_eq!(conventional, host("oracle-conventional"));
    }
}

#[test]
fn caftl_finds_what_ca_ssd_finds_and_hashes_less() {
    let mut rng = Rng::stream(5, "caftl");
    let mut trace = TraceBuilder::new("caftl");
    for request in 0..2_000 {
        let contents: Vec<u32> = (0..8).map(|_| rng.below(400)).collect();
        trace.request(request * 10_000_000, Op::Write, u64::from(rng.below(500)) * 4096, 8 * 4096, &contents);
    }
    let trace = trace.build().unwrap();
    let of = |name| {
        let summary = replay(&trace, &system(name, &[("fingerprint_entries", "300")])).summary;
        let n = |key: &str| summary["dedup"][key].as_u64().unwrap();
        assert_eq!(n("hashes_inline"), summary["page_ops"]["pages_hashed"].as_u64().unwrap());
        (n("hashes_inline"), n("duplicates_inline"), n("duplicates_missed"))
    };
    let (ca_ssd, caftl) = (of("ca-ssd"), of("caftl"));
    assert_eq!(ca_ssd.0, 16_000);
    assert!(caftl.0 < 16_000 && caftl.1 < ca_ssd.1 && caftl.2 > ca_ssd.2, "{ca_ssd:?} {caftl:?}");
}

#[test]
fn parallel_runs_give_the_same_results_as_one_alone() {
    let trace = random_trace(&mut Rng::stream(6, "threads"));
    let pages = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap();
    let resolved = system("rr-ssd", &[("period_s", "0.001")]);
    let alone = run(&pages, &resolved, &()).unwrap();
    let together: Vec<RunResult> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| run(&pages, &resolved, &()).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for result in together {
        assert_eq!(result.summary, alone.summary);
        assert!(result.tables == alone.tables);
    }
}

#[test]
fn a_run_writes_the_same_bytes_twice() {
    let trace = random_trace(&mut Rng::stream(5, "bytes"));
    let scratch = std::env::temp_dir().join(format!("flashtwin-bytes-{}", std::process::id()));
    let folders = ["one", "two"].map(|name| scratch.join(name));
    for folder in &folders {
        replay(&trace, &system("rr-ssd", &[("period_s", "0.001")])).write(folder).unwrap();
    }
    let mut files = 0;
    for entry in std::fs::read_dir(&folders[0]).unwrap() {
        let name = entry.unwrap().file_name();
        let [one, two] = folders.each_ref().map(|folder| std::fs::read(folder.join(&name)).unwrap());
        assert!(one == two, "{name:?} differs");
        files += 1;
    }
    assert_eq!(files, 16);
    std::fs::remove_dir_all(&scratch).unwrap();
}

#[test]
fn a_trim_of_part_of_a_page_leaves_the_page() {
    for (length_bytes, unmapped_reads) in [(1024, 0), (4096, 1)] {
        let trace = TraceBuilder::new("trim")
            .request(0, Op::Write, 0, 4096, &[7])
            .request(10_000_000, Op::Trim, 0, length_bytes, &[])
            .request(20_000_000, Op::Read, 0, 4096, &[7])
            .build()
            .unwrap();
        for name in system_names() {
            let result = replay(&trace, &system(name, &[]));
            assert_eq!(result.summary["page_ops"]["unmapped_reads"], unmapped_reads, "{name}");
        }
    }
}

#[test]
fn a_request_counts_in_the_period_in_which_it_completes() {
    // A program takes 400 us: the second one ends in the second period of 1 ms, with no arrival until the sixth.
    let writes = [(0, 0), (850_000, 1), (5_000_000, 2)];
    let trace = trace_of_pages(writes.map(|(time_ns, page)| (time_ns, Op::Write, page, Some(page as u32))));
    let result = replay(&trace, &system("conventional", &[("replay.period_s", "0.001")]));
    assert_eq!(column(&result, "periods", "writes"), [1, 1, 0, 0, 0, 1]);
}

/// Contents drawn by popularity (CA-SSD paper 5.3) stand in for those that a trace lacks.
#[test]
fn skew_increases_deduplication_of_drawn_contents() {
    let mut rng = Rng::stream(5, "drawn contents");
    let trace = trace_of_pages((0..4000).map(|number| {
        let op = if rng.below(4) == 0 { Op::Read } else { Op::Write };
        (number * 50_000, op, u64::from(rng.below(1000)), None)
    }));
    let replayed = |name: &str, content: &str| {
        let result = replay(&trace, &system(name, &[("content", content)]));
        let programmed: u64 = ["host", "unique", "missed_duplicate", "reborn"]
            .iter()
            .map(|cause| result.summary["flash_writes"][cause].as_u64().unwrap())
            .sum();
        (programmed, result.summary["trace"]["content_source"].clone())
    };
    let writes = trace.op.iter().filter(|&&op| op == Op::Write).count() as u64;
    let (conventional, source) = replayed("conventional", "zipf(1,2000)");
    assert_eq!(conventional, writes);
    assert_eq!(source, "zipf(1,2000,1)");
    let skewed = replayed("ca-ssd", "zipf(1,2000)").0;
    let flat = replayed("ca-ssd", "zipf(0,2000)").0;
    let unique = replayed("ca-ssd", "unique").0;
    assert!(skewed < flat && flat < unique, "{skewed} {flat} {unique}");
    assert_eq!(unique, writes);
    // The address as content: the first write of a page, and nothing after it.
    let same = replayed("ca-ssd", "same-as-address").0;
    assert!(same < skewed, "{same} {skewed}");
}

#[test]
fn content_sources_are_checked_and_take_the_runs_seed() {
    let resolved = system("ca-ssd", &[("content", "zipf(0.8,100)"), ("seed", "9")]);
    assert_eq!(resolved.content_source(false).to_string(), "zipf(0.8,100,9)");
    assert_eq!(resolved.json()["replay"]["content"], "zipf(0.8,100)");
}

struct Patience(std::sync::atomic::AtomicU32);

impl Progress for Patience {
    fn update(&self, _done: u64, _total: u64) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1
    }
}

#[test]
fn run_can_be_stopped_in_preloading_and_between_periods() {
    let write = |second: u32| (i64::from(second) * 1_000_000_000, Op::Write, second.into(), Some(second));
    let trace = trace_of_pages((0..20).map(write));
    let pages = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap();
    for (sets, asked) in
        [(&[("preload", "footprint")][..], 2u32), (&[("period_s", "1"), ("preload", "none")][..], 7)]
    {
        let patience = Patience(asked.into());
        let outcome = run(&pages, &system("rr-ssd", sets), &patience);
        assert!(matches!(outcome, Err(SimError::Interrupted)), "{sets:?}");
    }
}

#[test]
fn a_filled_drive_has_the_fewest_blocks_that_hold_the_pages() {
    let mut rng = Rng::stream(5, "filled drives");
    for turn in 0..200 {
        let level = |rng: &mut Rng| 1 + rng.below(3);
        let levels =
            [level(&mut rng), level(&mut rng), level(&mut rng), level(&mut rng), 40, 4 + rng.below(60)];
        let name = system_names()[turn % system_names().len()];
        let resolved = system_on(levels, name, &[]);
        let (pages, fill) = (1 + u64::from(rng.below(20_000)), f64::from(1 + rng.below(100)) / 100.0);
        let blocks = resolved.blocks_filled_by(pages, fill).unwrap();
        // `None` if the drive cannot work.
        let holds = |blocks_per_plane: u32| {
            let [channels, chips, dies, planes, _, pages_per_block] = levels;
            let drive =
                system_on([channels, chips, dies, planes, blocks_per_plane, pages_per_block], name, &[]);
            let works = blocks_per_plane > drive.config.ftl.reserved_blocks(&drive.device.geometry);
            if works { drive.capacity_pages() as f64 * fill } else { 0.0 }
        };
        assert!(holds(blocks) >= pages as f64 - 1e-6, "{name}: {pages} pages, {fill}");
        assert!(blocks == 1 || holds(blocks - 1) < pages as f64, "{name}: {pages} pages, {fill}");
    }
    let error = system("conventional", &[]).blocks_filled_by(1 << 40, 0.5).unwrap_err().to_string();
    assert!(error.contains("2199023255552 pages") && error.contains("nand.blocks_per_plane"), "{error}");
}
