//! The workload in numbers, as in the workload tables of the papers.

mod arrivals;
mod busiest;
mod requested;
mod sizes;
mod trains;

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, PageQuality, Progress, Quality, ReadAs, Trace, TraceError};
use schemars::JsonSchema;
use serde::Serialize;

pub use arrivals::Rate;
pub(crate) use requested::{Requested, VolumeRow};
pub use sizes::RequestBytes;
pub use trains::Trains;

use crate::before::{CountPages, Footprint, PagesBefore};
use crate::input::{About, Accumulator, InMemory, Input, pass};
use crate::memory;
use crate::periods::{Clock, Periods};
use crate::popularity::{self, Popularity};
use crate::rows::batch_of;
use crate::sample::Sample;
use crate::space::{Space, SpaceFollower};
use crate::value_counts::{ValueCounts, percent};

/// The workload in numbers. Percentages are 0 to 100; an undefined figure is missing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceInfo {
    /// Name of the trace.
    pub name: String,
    /// Format it was read from.
    pub format: String,
    /// Format, units, volumes and assumptions.
    pub read_as: ReadAs,
    /// Hash over all its columns, the same for every format and compression.
    pub digest: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Trim requests.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes with forced unit access (FUA): answered when they are on the medium.
    pub durable_writes: u64,
    /// Writes / flushes; missing without flushes.
    pub writes_per_flush: Option<f64>,
    /// Bytes of reads.
    pub read_bytes: u64,
    /// Bytes of writes.
    pub write_bytes: u64,
    /// Time of the last request, the first being at 0.
    pub duration_ns: i64,
    /// Volumes addressed.
    pub volumes: u64,
    /// Distinct 4 KB pages read or written; trims do not count. Missing if the trace has more page
    /// operations than 32 bits can count.
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
    /// Page reads of zeroes / page reads with a known content; missing if no content is known to be
    /// zeroes.
    pub zero_read_percent: Option<f64>,
    /// Page writes of zeroes / page writes with a known content; missing if no content is known to
    /// be zeroes.
    pub zero_write_percent: Option<f64>,
    /// Bytes known to be empty when the trace begins: a recorder saw that they were never written,
    /// or trimmed.
    pub hole_bytes: u64,
    /// Page writes of a content that some page holds at that moment / page writes: the share of
    /// writes that deduplication with an unlimited fingerprint store saves. A page first read is
    /// taken to have held that content from the beginning.
    pub duplicate_write_percent: Option<f64>,
    /// Requests that begin at the end of the previous request to their volume / requests without
    /// flushes.
    pub sequential_percent: Option<f64>,
    /// Sizes of requests.
    pub request_bytes: SizesOfKinds,
    /// Arrival rate of requests, flushes included.
    pub requests_per_second: Rate,
    /// Trains of requests, without flushes.
    pub trains: Trains,
    /// Irregularities of the requests, found while reading.
    pub quality: Quality,
    /// Irregularities of the 4 KB pages; missing as `footprint_pages` is.
    pub page_quality: Option<PageQuality>,
}

/// Request sizes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SizesOfKinds {
    /// Of reads.
    pub read: RequestBytes,
    /// Of writes.
    pub write: RequestBytes,
    /// Of trims.
    pub trim: RequestBytes,
}

/// The workload in numbers, and by period.
#[derive(Clone, Debug, PartialEq)]
pub struct Basics {
    /// Over the whole trace.
    pub info: TraceInfo,
    /// The table of `WorkloadPeriodRow`.
    pub periods: RecordBatch,
}

/// Computes [`Basics`] with periods of `period_ns` (one if it is not positive) and [`Popularity`] in one pass. Exact.
pub fn basics(trace: &Trace, period_ns: i64) -> (Basics, Option<Popularity>) {
    let mut input = InMemory::new(trace);
    let mut survey = Survey::new(input.about(), period_ns, Sample::ALL);
    survey.pages = SurveyedPages::Count(CountPages::new(Sample::ALL));
    // A pass over memory without a progress callback cannot fail.
    let _ = pass(&mut input, &(), &mut survey.accumulators());
    let Survey { about, mut requested, values, periods, pages } = survey;
    let info = TraceInfo::assemble(&about, &mut requested, &values, pages.finish().0, None, None);
    (Basics { info, periods: periods.finish() }, popularity::of_counts(&values))
}

/// Everything about the requests of a trace in memory: [`basics`] and duplicates. Duplicates and page irregularities
/// are missing if following each page would exceed the memory limit.
pub fn trace_info(trace: &Trace) -> TraceInfo {
    let mut input = InMemory::new(trace);
    let mut survey = Survey::to_inform(input.about());
    // Passes over memory without a progress callback cannot fail.
    let _ = pass(&mut input, &(), &mut survey.accumulators());
    let mut informed = Informed::of(survey);
    let _ = pass(&mut input, &(), &mut informed.accumulators());
    informed.finish()
}

/// [`trace_info`] on one thread, while replays use the others; `progress` can stop it.
pub fn trace_info_aside(trace: &Trace, progress: &dyn Progress) -> Result<TraceInfo, TraceError> {
    let find = || trace_info_of(&mut InMemory::new(trace), progress);
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(one) => one.install(find),
        // Without a thread it runs on this one.
        Err(_) => find(),
    }
}

/// [`trace_info`] of a trace in memory or streamed, in two passes.
pub fn trace_info_of(
    input: &mut (dyn Input + Send),
    progress: &dyn Progress,
) -> Result<TraceInfo, TraceError> {
    let mut survey = Survey::to_inform(input.about());
    pass(input, progress, &mut survey.accumulators())?;
    let mut informed = Informed::of(survey);
    pass(input, progress, &mut informed.accumulators())?;
    Ok(informed.finish())
}

struct Informed {
    about: About,
    requested: Requested,
    values: ValueCounts,
    footprint_pages: Option<u64>,
    space: Option<SpaceFollower>,
}

impl Informed {
    fn of(survey: Survey) -> Informed {
        let Survey { about, requested, values, pages, .. } = survey;
        let (footprint_pages, footprint) = pages.finish();
        let clock = Clock::new(0, about.duration_ns);
        let space = footprint.map(|footprint| SpaceFollower::new(footprint, clock, Sample::ALL));
        Informed { about, requested, values, footprint_pages, space }
    }

    fn accumulators(&mut self) -> Vec<&mut dyn Accumulator> {
        self.space.iter_mut().map(|space| space as &mut dyn Accumulator).collect()
    }

    fn finish(self) -> TraceInfo {
        let Informed { about, mut requested, values, footprint_pages, space } = self;
        let quality = match &space {
            Some(space) => space.quality(),
            None => (!about.has_content).then(|| requested.page_quality()),
        };
        let space = space.and_then(SpaceFollower::finish);
        TraceInfo::assemble(&about, &mut requested, &values, footprint_pages, space.as_ref(), quality)
    }
}

pub(crate) struct Survey {
    pub(crate) about: About,
    pub(crate) requested: Requested,
    pub(crate) values: ValueCounts,
    pub(crate) periods: Periods,
    pub(crate) pages: SurveyedPages,
}

pub(crate) enum SurveyedPages {
    Before(PagesBefore),
    Count(CountPages),
}

impl SurveyedPages {
    pub(crate) fn finish(self) -> (Option<u64>, Option<Footprint>) {
        match self {
            SurveyedPages::Count(pages) => (pages.finish(), None),
            SurveyedPages::Before(before) => {
                let footprint = before.finish();
                (footprint.footprint_pages, Some(footprint))
            }
        }
    }
}

impl Survey {
    pub(crate) fn new(about: &About, period_ns: i64, sample: Sample) -> Survey {
        Survey {
            about: about.clone(),
            requested: Requested::default(),
            values: ValueCounts::new(sample),
            periods: Periods::new(Clock::new(period_ns, about.duration_ns), sample),
            pages: match about.has_content {
                true => SurveyedPages::Before(PagesBefore::new(sample)),
                false => SurveyedPages::Count(CountPages::new(sample)),
            },
        }
    }

    /// For the figures about a whole trace, pages followed only where that is allowed.
    fn to_inform(about: &About) -> Survey {
        let survey = Survey::new(about, 0, Sample::ALL);
        match memory::pages_can_be_followed(about) {
            true => survey,
            false => Survey { pages: SurveyedPages::Count(CountPages::new(Sample::ALL)), ..survey },
        }
    }

    /// The slowest first.
    pub(crate) fn accumulators(&mut self) -> [&mut dyn Accumulator; 4] {
        let pages: &mut dyn Accumulator = match &mut self.pages {
            SurveyedPages::Before(pages) => pages,
            SurveyedPages::Count(pages) => pages,
        };
        [pages, &mut self.values, &mut self.periods, &mut self.requested]
    }
}

impl TraceInfo {
    pub(crate) fn assemble(
        about: &About,
        requested: &mut Requested,
        values: &ValueCounts,
        footprint_pages: Option<u64>,
        space: Option<&Space>,
        page_quality: Option<PageQuality>,
    ) -> TraceInfo {
        let [reads, writes, trims, flushes] = Op::ALL.map(|op| requested.of(op));
        let [read, write, trim] =
            requested.sizes.each_mut().map(|kind| sizes::request_bytes(&kind.ascending()));
        TraceInfo {
            name: about.name.clone(),
            format: about.read_as.format.clone(),
            read_as: about.read_as.clone(),
            digest: about.digest.clone(),
            requests: reads + writes + trims + flushes,
            reads,
            writes,
            trims,
            flushes,
            durable_writes: requested.durable_writes,
            writes_per_flush: (flushes > 0).then(|| writes as f64 / flushes as f64),
            read_bytes: requested.bytes[Op::Read as usize],
            write_bytes: requested.bytes[Op::Write as usize],
            duration_ns: about.duration_ns,
            volumes: about.volume_names.len() as u64,
            footprint_pages,
            span_bytes: requested.span_bytes(),
            has_content: about.has_content,
            contents: values.contents,
            unique_values_read_percent: values.unique_percent(Op::Read),
            unique_values_write_percent: values.unique_percent(Op::Write),
            zero_read_percent: about.knows_zeroes.then(|| requested.zero_percent(Op::Read)).flatten(),
            zero_write_percent: about.knows_zeroes.then(|| requested.zero_percent(Op::Write)).flatten(),
            hole_bytes: about.hole_bytes,
            duplicate_write_percent: space.and_then(|space| space.duplicate_write_percent),
            sequential_percent: percent(requested.sequential, reads + writes + trims),
            request_bytes: SizesOfKinds { read, write, trim },
            requests_per_second: requested.arrivals.rate(),
            trains: requested.trains.finish(),
            quality: about.quality.clone(),
            page_quality,
        }
    }
}

const SIZES_MAX: usize = 1000;

crate::rows! {
    /// Request sizes: one row a kind and size, at most 1,000 sizes a kind.
    pub(crate) struct RequestSizeRow in "request_sizes" {
        /// `read`, `write`.
        kind: &'static str,
        /// Size.
        bytes: u64,
        /// Share of the requests of that kind up to this size, 0 to 1.
        fraction: f64,
    }
}

pub(crate) fn request_sizes(requested: &mut Requested) -> RecordBatch {
    let mut rows = Vec::new();
    for op in [Op::Read, Op::Write] {
        let sizes = requested.sizes[op as usize].ascending();
        let all = requested.of(op) as f64;
        let step = sizes.len().div_ceil(SIZES_MAX).max(1);
        let mut below = 0;
        for (nth, &(size, count)) in sizes.iter().enumerate() {
            below += count;
            if (nth + 1) % step == 0 || nth + 1 == sizes.len() {
                let (kind, fraction) = (op.name(), below as f64 / all);
                rows.push(RequestSizeRow { kind, bytes: u64::from(size), fraction });
            }
        }
    }
    batch_of(&rows)
}

crate::rows! {
    /// Times between requests.
    pub(crate) struct IntervalRow in "interarrival" {
        /// Time between a request and the next, rounded up by at most 3 %.
        interval_ns: u64,
        /// Share of these times up to this interval, 0 to 1.
        fraction: f64,
    }
}

pub(crate) fn interarrival(requested: &Requested) -> RecordBatch {
    let intervals = requested.arrivals.intervals();
    let rows = intervals.map(|(interval_ns, fraction)| IntervalRow { interval_ns, fraction });
    batch_of(&rows.collect::<Vec<_>>())
}
