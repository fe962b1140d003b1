//! The workload in numbers: what all papers' workload tables show, and a row a period.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, UInt32Array, UInt64Array};
use flashtwin_trace::{ContentSource, NO_CONTENT, Op, PageQuality, PageTrace, Quality, Trace};
use serde::Serialize;

use crate::table::table;

/// Page size of the footprint and of everything about contents, in bytes.
const PAGE_BYTES: u32 = 4096;
const NS_PER_SECOND: i64 = 1_000_000_000;
/// More periods than this are not a table to look at; periods are made longer instead.
const PERIODS_MAX: i64 = 100_000;

/// The workload in numbers. Percentages are 0 to 100; what is undefined is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// Name of the trace.
    pub name: String,
    /// Format it was read from.
    pub format: String,
    /// Hash over all its columns, see [`Trace::digest`].
    pub digest: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Trim requests.
    pub trims: u64,
    /// Bytes asked for by reads.
    pub read_bytes: u64,
    /// Bytes brought by writes.
    pub write_bytes: u64,
    /// Time of the last request, the first being at 0.
    pub duration_ns: i64,
    /// Volumes addressed.
    pub volumes: u64,
    /// Distinct 4 KB pages touched; missing when 32 bits cannot count the trace's page operations.
    pub footprint_pages: Option<u64>,
    /// Bytes from each volume's beginning to the end of its furthest request, summed over volumes.
    pub span_bytes: u64,
    /// Whether requests carry contents.
    pub has_content: bool,
    /// Distinct contents.
    pub contents: u64,
    /// Distinct contents among page reads / page reads (the papers' "unique values, reads";
    /// CA-SSD Table 2, RR-SSD Table I).
    pub unique_values_read_percent: Option<f64>,
    /// Distinct contents among page writes / page writes.
    pub unique_values_write_percent: Option<f64>,
    /// Page writes of a content that some page holds at that moment, as far as the trace tells (pages
    /// first read held what was read from the beginning) / page writes. It is the share of writes
    /// that deduplication with an unlimited fingerprint store would save.
    pub duplicate_write_percent: Option<f64>,
    /// Requests that begin where the previous request to their volume ended / requests.
    pub sequential_percent: Option<f64>,
    /// Sizes of requests.
    pub request_bytes: SizesOfKinds,
    /// Rate of requests.
    pub requests_per_second: Rate,
    /// What was noticed on reading.
    pub quality: Quality,
    /// What was noticed on following 4 KB pages; missing as `footprint_pages` is.
    pub page_quality: Option<PageQuality>,
}

/// Request sizes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct SizesOfKinds {
    pub read: RequestBytes,
    pub write: RequestBytes,
    pub trim: RequestBytes,
}

/// Sizes of the requests of one kind, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RequestBytes {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median; of an even number of requests the mean of the middle two.
    pub median: Option<f64>,
}

/// How fast requests come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    /// Requests / duration; missing when all come at once.
    pub mean: Option<f64>,
    /// Most requests in one second, seconds counted from the first request.
    pub peak: Option<u64>,
    /// Variance / mean of the number of requests in a second, over the whole seconds of the trace:
    /// 1 for a Poisson process, more for bursts. Missing below two seconds.
    pub index_of_dispersion: Option<f64>,
}

/// The workload in numbers, and by period.
#[derive(Clone, Debug, PartialEq)]
pub struct Basics {
    /// Over the whole trace.
    pub info: TraceInfo,
    /// One row a period: `period`, `start_ns`, `end_ns`, `reads`, `writes`, `trims` (requests),
    /// `read_bytes`, `write_bytes`, and of pages with known content: `page_reads`, `page_writes`,
    /// `distinct_contents_read`, `distinct_contents_written` (within the period),
    /// `new_contents_read` (contents never read before), `new_contents` (never seen before).
    pub periods: RecordBatch,
}

/// Computes [`Basics`] with periods of `period_ns` (one when it is not positive). Exact; one pass over the
/// requests, one over the page operations.
pub fn basics(trace: &Trace, period_ns: i64) -> Basics {
    let info = whole(trace);
    let periods = by_period(trace, period_ns);
    Basics { info, periods }
}

/// a / b in percent.
fn percent(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64 * 100.0)
}

fn whole(trace: &Trace) -> TraceInfo {
    let of = |op: Op| trace.op.iter().filter(|&&o| o == op).count() as u64;
    let bytes = |op: Op| sizes(trace, op).map(u64::from).sum();
    let source = if trace.has_content() { ContentSource::Recorded } else { ContentSource::None };
    let pages = PageTrace::build(trace, PAGE_BYTES, source).ok();
    let (read_pages, read_values) = values(trace, Op::Read);
    let (written_pages, written_values) = values(trace, Op::Write);
    TraceInfo {
        name: trace.name.clone(),
        format: trace.format.name().to_owned(),
        digest: trace.digest(),
        requests: trace.len() as u64,
        reads: of(Op::Read),
        writes: of(Op::Write),
        trims: of(Op::Trim),
        read_bytes: bytes(Op::Read),
        write_bytes: bytes(Op::Write),
        duration_ns: trace.duration_ns(),
        volumes: trace.volume_names.len() as u64,
        footprint_pages: pages.as_ref().map(|p| u64::from(p.footprint_pages())),
        span_bytes: span_bytes(trace),
        has_content: trace.has_content(),
        contents: u64::from(trace.content_count()),
        unique_values_read_percent: percent(read_values, read_pages),
        unique_values_write_percent: percent(written_values, written_pages),
        duplicate_write_percent: pages
            .as_ref()
            .filter(|_| trace.has_content())
            .and_then(duplicate_write_percent),
        sequential_percent: percent(sequential(trace), trace.len() as u64),
        request_bytes: SizesOfKinds {
            read: request_bytes(trace, Op::Read),
            write: request_bytes(trace, Op::Write),
            trim: request_bytes(trace, Op::Trim),
        },
        requests_per_second: rate(trace),
        quality: trace.quality.clone(),
        page_quality: pages.map(|pages| pages.quality),
    }
}

/// Sizes of the requests of one kind.
fn sizes(trace: &Trace, op: Op) -> impl Iterator<Item = u32> {
    let ops = trace.op.iter();
    ops.zip(&trace.length_bytes).filter(move |&(&o, _)| o == op).map(|(_, &length)| length)
}

/// Pages of known content in the requests of one kind, and how many contents are among them.
fn values(trace: &Trace, op: Op) -> (u64, u64) {
    let mut seen = vec![false; trace.content_count() as usize];
    let (mut pages, mut distinct) = (0, 0);
    for request in (0..trace.len()).filter(|&request| trace.op[request] == op) {
        for &content in known(trace, request) {
            pages += 1;
            distinct += u64::from(!std::mem::replace(&mut seen[content as usize], true));
        }
    }
    (pages, distinct)
}

/// The known contents of a request.
pub(crate) fn known(trace: &Trace, request: usize) -> impl Iterator<Item = &u32> {
    trace.contents(request).iter().filter(|&&content| content != NO_CONTENT)
}

fn span_bytes(trace: &Trace) -> u64 {
    let mut ends = vec![0u64; trace.volume_names.len()];
    for (request, &volume) in trace.volume.iter().enumerate() {
        let end = trace.offset_bytes[request] + u64::from(trace.length_bytes[request]);
        ends[volume as usize] = ends[volume as usize].max(end);
    }
    ends.into_iter().fold(0, u64::saturating_add)
}

fn sequential(trace: &Trace) -> u64 {
    let mut ends = vec![None; trace.volume_names.len()];
    let mut sequential = 0;
    for (request, &volume) in trace.volume.iter().enumerate() {
        let start = trace.offset_bytes[request];
        let end = start + u64::from(trace.length_bytes[request]);
        let previous = ends[volume as usize].replace(end);
        sequential += u64::from(previous == Some(start));
    }
    sequential
}

/// Follows how many pages hold each content; a write of a content that some page holds is a duplicate.
fn duplicate_write_percent(pages: &PageTrace) -> Option<f64> {
    let mut holders = vec![0u32; pages.content_count as usize];
    let mut held = pages.initial_content.clone();
    for &content in held.iter().filter(|&&content| content != NO_CONTENT) {
        holders[content as usize] += 1;
    }
    let (mut writes, mut duplicates) = (0, 0);
    for request in 0..pages.requests() {
        if pages.op[request] == Op::Read {
            continue;
        }
        for page_op in pages.page_ops_of(request) {
            let trim = pages.op[request] == Op::Trim;
            if trim && pages.is_partial(request, page_op) {
                continue;
            }
            let content = pages.content[page_op];
            if !trim {
                writes += 1;
                duplicates += u64::from(holders[content as usize] > 0);
                holders[content as usize] += 1;
            }
            let lpn = pages.lpn[page_op] as usize;
            let before = std::mem::replace(&mut held[lpn], content);
            if before != NO_CONTENT {
                holders[before as usize] -= 1;
            }
        }
    }
    percent(duplicates, writes)
}

fn request_bytes(trace: &Trace, op: Op) -> RequestBytes {
    let mut sizes: Vec<u32> = sizes(trace, op).collect();
    if sizes.is_empty() {
        return RequestBytes::default();
    }
    let count = sizes.len();
    let sum: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    let (below, &mut upper, _) = sizes.select_nth_unstable(count / 2);
    let lower = match below.iter().max() {
        Some(&lower) if count.is_multiple_of(2) => lower,
        _ => upper,
    };
    RequestBytes {
        mean: Some(sum as f64 / count as f64),
        median: Some((f64::from(lower) + f64::from(upper)) / 2.0),
    }
}

fn rate(trace: &Trace) -> Rate {
    if trace.is_empty() {
        return Rate::default();
    }
    let duration_ns = trace.duration_ns();
    let whole_seconds = duration_ns / NS_PER_SECOND;
    let (mut peak, mut squares, mut counted) = (0, 0.0, 0);
    // Requests are sorted, so those of one second lie together.
    for second in trace.time_ns.chunk_by(|a, b| a / NS_PER_SECOND == b / NS_PER_SECOND) {
        let requests = second.len() as u64;
        peak = peak.max(requests);
        if second[0] / NS_PER_SECOND < whole_seconds {
            squares += (requests as f64).powi(2);
            counted += requests;
        }
    }
    let mean_count = counted as f64 / whole_seconds as f64;
    Rate {
        mean: (duration_ns > 0).then(|| trace.len() as f64 / (duration_ns as f64 / 1e9)),
        peak: Some(peak),
        index_of_dispersion: (whole_seconds >= 2 && counted > 0)
            .then(|| (squares / whole_seconds as f64 - mean_count.powi(2)) / mean_count),
    }
}

/// Columns of the table of periods.
#[derive(Default)]
struct Periods {
    requests: [Vec<u64>; 3],
    bytes: [Vec<u64>; 3],
    pages: [Vec<u64>; 3],
    distinct: [Vec<u64>; 3],
    new_read: Vec<u64>,
    new: Vec<u64>,
}

impl Periods {
    fn begin(&mut self) {
        for column in [&mut self.requests, &mut self.bytes, &mut self.pages, &mut self.distinct] {
            column.iter_mut().for_each(|kind| kind.push(0));
        }
        self.new_read.push(0);
        self.new.push(0);
    }
}

fn by_period(trace: &Trace, period_ns: i64) -> RecordBatch {
    let duration_ns = trace.duration_ns();
    let period_ns = if period_ns > 0 { period_ns } else { i64::MAX };
    let period_ns = period_ns.max(duration_ns / PERIODS_MAX + 1);
    // Last period (1-based; 0 = never) in which a content was read and written.
    let contents = trace.content_count() as usize;
    let mut last = [vec![0u32; contents], vec![0u32; contents]];
    let mut periods = Periods::default();
    let mut started = 0u32;
    for request in 0..trace.len() {
        let number = (trace.time_ns[request] / period_ns) as u32 + 1;
        while started < number {
            periods.begin();
            started += 1;
        }
        let row = number as usize - 1;
        let kind = trace.op[request] as usize;
        periods.requests[kind][row] += 1;
        periods.bytes[kind][row] += u64::from(trace.length_bytes[request]);
        if trace.op[request] == Op::Trim {
            continue;
        }
        for &content in known(trace, request) {
            let content = content as usize;
            periods.pages[kind][row] += 1;
            let never_read = last[Op::Read as usize][content] == 0;
            let never_written = last[Op::Write as usize][content] == 0;
            periods.new[row] += u64::from(never_read && never_written);
            periods.new_read[row] += u64::from(never_read && kind == Op::Read as usize);
            let before = std::mem::replace(&mut last[kind][content], number);
            periods.distinct[kind][row] += u64::from(before != number);
        }
    }
    periods_table(periods, started, period_ns, duration_ns)
}

fn periods_table(periods: Periods, rows: u32, period_ns: i64, duration_ns: i64) -> RecordBatch {
    let start = |row: u32| i64::from(row) * period_ns;
    let starts: Int64Array = (0..rows).map(start).collect();
    // The last period ends with the trace: its last request lies at `duration_ns`.
    let ends: Int64Array =
        (0..rows).map(|row| start(row).saturating_add(period_ns).min(duration_ns + 1)).collect();
    let column = |values: Vec<u64>| Arc::new(UInt64Array::from(values)) as _;
    let [reads, writes, trims] = periods.requests;
    let [read_bytes, write_bytes, _] = periods.bytes;
    let [page_reads, page_writes, _] = periods.pages;
    let [distinct_read, distinct_written, _] = periods.distinct;
    table(vec![
        ("period", Arc::new(UInt32Array::from_iter_values(0..rows))),
        ("start_ns", Arc::new(starts)),
        ("end_ns", Arc::new(ends)),
        ("reads", column(reads)),
        ("writes", column(writes)),
        ("trims", column(trims)),
        ("read_bytes", column(read_bytes)),
        ("write_bytes", column(write_bytes)),
        ("page_reads", column(page_reads)),
        ("page_writes", column(page_writes)),
        ("distinct_contents_read", column(distinct_read)),
        ("distinct_contents_written", column(distinct_written)),
        ("new_contents_read", column(periods.new_read)),
        ("new_contents", column(periods.new)),
    ])
}
