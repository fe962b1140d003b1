//! Logical locality: the probability that a request is followed by another one nearby.

mod chunks;
mod hits;
pub(crate) mod options;
mod pages;
mod recency;
mod tables;

pub(crate) use tables::{GainRow, LocalityRow};

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, Requests, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use self::options::{Direction, LogicalLocalityOptions};
use crate::input::Accumulator;
use crate::metric::{FirstPass, Metric, Table};
use hits::Hits;
use pages::Pages;
use recency::Recency;

const BLOCK_REQUESTS: usize = 1 << 16;
/// In requests.
const AHEAD: usize = 6;

/// Logical (spatial) locality of a trace (SWC paper, section 5.1).
///
/// A request *hits* another one of its kind and volume within distance D and time T if both have
/// pages i and j with |i - j| <= D, and at most T requests of the kind separate them; the next one
/// is at time 1. Pages of one request never hit each other. P(D, T) is the share of all requests of
/// the kind that hit one within D and T. Requests at the end of the trace (at its beginning when
/// looking backward) have fewer others to hit and still count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LogicalLocality {
    /// How it was computed.
    pub options: LogicalLocalityOptions,
    /// Reads hitting reads.
    pub read: LocalityOfKind,
    /// Writes hitting writes.
    pub write: LocalityOfKind,
    /// The table of `LocalityRow`.
    #[serde(skip)]
    pub table: RecordBatch,
    /// The table of `GainRow`.
    #[serde(skip)]
    pub gain: RecordBatch,
}

/// Logical locality of the requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LocalityOfKind {
    /// Requests of the kind.
    pub requests: u64,
    /// P(0, T max): share of requests whose own pages are touched again.
    pub same_page_probability: Option<f64>,
    /// P(1, 1): share of requests whose next request touches or continues them.
    pub next_request_probability: Option<f64>,
    /// P(D max, T max): the largest value.
    pub highest_probability: Option<f64>,
    #[serde(skip)]
    time_requests_max: u32,
    /// Columns of `hits`: no request hits another after more requests of the kind than there are.
    #[serde(skip)]
    times: usize,
    /// Distances that are kept, ascending.
    #[serde(skip)]
    distances: Vec<u32>,
    /// Row = place in `distances`, column = time - 1.
    #[serde(skip)]
    hits: Vec<u64>,
}

impl LocalityOfKind {
    fn new(options: LogicalLocalityOptions, hits: Hits, distances: &[u32]) -> LocalityOfKind {
        let mut kind = LocalityOfKind {
            requests: hits.requests,
            same_page_probability: None,
            next_request_probability: None,
            highest_probability: None,
            time_requests_max: options.time_requests_max,
            times: hits.times(),
            distances: distances.to_vec(),
            hits: if hits.requests > 0 { hits.counts(distances) } else { Vec::new() },
        };
        let (distance_max, time_max) = (options.distance_pages_max, options.time_requests_max);
        kind.same_page_probability = kind.probability(0, time_max);
        kind.next_request_probability = kind.probability(1, 1);
        kind.highest_probability = kind.probability(distance_max, time_max);
        kind
    }

    /// Requests that hit another within this distance and time; `None` beyond the window. [`logical_locality`] keeps all
    /// distances, a characterization those of its tables.
    pub fn hits(&self, distance_pages: u32, time_requests: u32) -> Option<u64> {
        if time_requests > self.time_requests_max {
            return None;
        }
        let row = self.distances.binary_search(&distance_pages).ok()? * self.times;
        let within = self.hits.get(row..row + self.times)?;
        Some(if time_requests == 0 { 0 } else { within[self.times.min(time_requests as usize) - 1] })
    }

    /// P(D, T); `None` without requests, and where [`LocalityOfKind::hits`] is.
    pub fn probability(&self, distance_pages: u32, time_requests: u32) -> Option<f64> {
        let hits = self.hits(distance_pages, time_requests)?;
        (self.requests > 0).then(|| hits as f64 / self.requests as f64)
    }
}

/// Exact; one pass.
pub fn logical_locality(trace: &Trace, options: LogicalLocalityOptions) -> LogicalLocality {
    let of = |kind| trace.op.iter().filter(|&&op| op == kind).count() as u64;
    let all = (0..=options.within_limits().distance_pages_max).collect();
    crate::input::whole(LogicalLocalityMeter::new(options, [Op::Read, Op::Write].map(of), all), trace)
        .finish()
}

/// Memory: about 40 MB for the two tables, less if there are fewer requests than the longest time, and 4.4 KB a chunk of 1,024 pages that the window's requests touch.
pub(crate) struct LogicalLocalityMeter {
    options: LogicalLocalityOptions,
    kinds: [Kind; 2],
    distances: Vec<u32>,
}

impl LogicalLocalityMeter {
    /// Bytes of a chunk of pages in the window.
    pub(crate) const CHUNK_BYTES: f64 = 4400.0;

    /// `requests` are the reads and the writes, `distances` those that are kept.
    fn new(options: LogicalLocalityOptions, requests: [u64; 2], distances: Vec<u32>) -> LogicalLocalityMeter {
        let options = options.within_limits();
        LogicalLocalityMeter {
            options,
            kinds: requests.map(|requests| Kind::new(options, requests)),
            distances,
        }
    }
}

impl Metric for LogicalLocalityMeter {
    type Figures = LogicalLocality;
    const TABLES: &'static [Table<Self::Figures>] = &[
        Table::of::<LocalityRow>(|figures| Some(figures.table.clone())),
        Table::of::<GainRow>(|figures| Some(figures.gain.clone())),
    ];

    fn begin(first_pass: &mut FirstPass<'_>) -> Self {
        let (about, asked) = (first_pass.about, &first_pass.options.locality);
        let options = LogicalLocalityOptions {
            sector_bytes: about.sector_bytes,
            direction: asked.direction,
            distance_pages_max: asked.distance_max,
            time_requests_max: asked.time_max,
        };
        let requests = [Op::Read, Op::Write].map(|op| about.asked[op as usize].requests);
        LogicalLocalityMeter::new(options, requests, tables::distances(options.within_limits()))
    }

    fn finish(self) -> LogicalLocality {
        let options = self.options;
        let of = |kind: Kind| LocalityOfKind::new(options, kind.finish(), &self.distances);
        let [read, write] = self.kinds.map(of);
        let kinds = [("read", &read), ("write", &write)];
        let (table, gain) = (tables::locality(options, &kinds), tables::gain(options, &kinds));
        LogicalLocality { options, read, write, table, gain }
    }
}

impl Accumulator for LogicalLocalityMeter {
    fn add(&mut self, requests: &Requests<'_>) {
        for index in 0..requests.len() {
            if !requests.op[index].moves_data() {
                continue;
            }
            let pages = requests.pages(index, self.options.sector_bytes);
            let pages = Pages { volume: requests.volume[index], first: pages.start, last: pages.end - 1 };
            self.kinds[requests.op[index] as usize].add(pages);
        }
    }
}

/// The requests of one kind. Those that can be hit are shown to [`Recency`] first. To look forward is to go through
/// time backward, block by block: first the requests that follow the block within T, and then the block.
struct Kind {
    options: LogicalLocalityOptions,
    /// The block, and up to T requests behind it (before it when looking backward).
    waiting: Vec<Pages>,
    /// How many of the first in `waiting` are only there to be hit (looking backward).
    counted: usize,
    recency: Recency,
    hits: Hits,
}

impl Kind {
    fn new(asked: LogicalLocalityOptions, requests: u64) -> Kind {
        let times = u64::from(asked.time_requests_max).min(requests).max(1) as u32;
        let options = LogicalLocalityOptions { time_requests_max: times, ..asked };
        Kind {
            options,
            waiting: Vec::new(),
            counted: 0,
            recency: Recency::new(options.time_requests_max),
            hits: Hits::new(options.distance_pages_max, options.time_requests_max),
        }
    }

    #[inline]
    fn add(&mut self, pages: Pages) {
        self.waiting.push(pages);
        if self.waiting.len() == BLOCK_REQUESTS + self.options.time_requests_max as usize {
            self.block(BLOCK_REQUESTS);
        }
    }

    fn finish(mut self) -> Hits {
        self.block(self.waiting.len());
        self.hits
    }

    fn block(&mut self, requests: usize) {
        self.recency.restart(self.waiting.len() as u32);
        let time_max = self.options.time_requests_max as usize;
        let waiting = self.waiting.len();
        match self.options.direction {
            Direction::Forward => {
                for nth in (0..waiting).rev() {
                    self.look(nth, nth.checked_sub(AHEAD), nth < requests);
                }
                self.waiting.drain(..requests);
            }
            Direction::Backward => {
                for nth in 0..waiting {
                    self.look(nth, Some(nth + AHEAD), nth >= self.counted);
                }
                self.waiting.drain(..waiting.saturating_sub(time_max));
                self.counted = self.waiting.len();
            }
        }
    }

    /// The next request in the order of looking: it may count, and can be hit by those that come.
    #[inline]
    fn look(&mut self, nth: usize, ahead: Option<usize>, counts: bool) {
        let (pages, distance_max) = (self.waiting[nth], self.options.distance_pages_max);
        if let Some(&ahead) = ahead.and_then(|ahead| self.waiting.get(ahead)) {
            self.recency.prepare(ahead, distance_max);
        }
        if counts {
            let now = self.recency.now();
            let mut staircase = self.hits.request();
            self.recency.surroundings(pages, distance_max, |step| staircase.step(step, now));
        }
        self.recency.touch(pages);
    }
}
