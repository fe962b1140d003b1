//! Temporal value locality: reuse of contents and of addresses.

mod curve;
mod popular;
mod stack;
mod stream;

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, Requests, Trace};
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::input::Accumulator;
use crate::metric::{FirstPass, Metric, Table};
use crate::page_ops::{PAGE_BYTES, known};
use crate::pages::{NO_PAGE, PageTable};
use crate::rows::batch_of;
use crate::sample::Sample;
use crate::value_counts::ValueCounts;
pub use curve::MissRatioCurve;
pub(crate) use popular::PopularContents;
pub use stack::StackDistances;
use stream::{Curves, GroupPositions, Stream};

const KINDS: usize = 2;
/// Entries of the fingerprint cache with which CA-SSD states miss rates (section 4.1).
const CA_SSD_ENTRIES: u64 = 64 * 1024;

/// Temporal value locality (CA-SSD paper, Fig. 3 and 4), and temporal locality of addresses beside it.
///
/// Four streams of 4 KB page accesses: reads and writes, by content (if known) and by address (a
/// part of a page counts); trims are no accesses. Each stream has an LRU list of its own. Cache
/// sizes are in items: one content or one page.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValueLocality {
    /// The sample.
    pub sample: Sample,
    /// Page reads.
    pub read: ReuseOfKind,
    /// Page writes.
    pub write: ReuseOfKind,
    /// The table of `MissRatioRow`.
    #[serde(skip)]
    pub miss_ratio: RecordBatch,
    /// The table of `PopularMissRatioRow`.
    #[serde(skip)]
    pub popular_miss_ratio: RecordBatch,
}

crate::rows! {
    /// LRU caches of all small sizes, then in steps of 1 %, up to the largest that gains hits.
    ///
    /// First accesses are misses. Sampled, the smallest size is 16 / rate.
    pub(crate) struct MissRatioRow in "miss_ratio" {
        /// `read`, `write`.
        kind: &'static str,
        /// The cached items: `content`, `address`.
        of: &'static str,
        /// Entries of the cache.
        entries: u64,
        /// Share of the accesses that miss, 0 to 1.
        miss_fraction: f64,
        /// Standard error of `miss_fraction`; missing unless sampled.
        miss_fraction_error: Option<f64>,
    }
}

crate::rows! {
    /// The same as `miss_ratio` for accesses to popular contents, in caches that all contents pass through.
    pub(crate) struct PopularMissRatioRow in "popular_miss_ratio" {
        /// `read`, `write`.
        kind: &'static str,
        /// Entries of the cache.
        entries: u64,
        /// Share of the accesses that miss, 0 to 1.
        miss_fraction: f64,
    }
}

/// Reuse among the accesses of one kind; missing without any.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReuseOfKind {
    /// Of contents.
    pub content: Option<Reuse>,
    /// Of addresses.
    pub address: Option<Reuse>,
}

/// Reuse of items. All counts but `accesses` are estimates if sampled.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reuse {
    /// Page accesses.
    pub accesses: u64,
    /// Distinct items.
    pub items: u64,
    /// Accesses that are not the first to their item; percent.
    pub reaccess_percent: f64,
    /// Smallest LRU cache in which 90 % of these re-accesses hit: the position in the LRU list
    /// within which CA-SSD finds 90 % of writes (first writes of a content are not in the list).
    /// Missing without re-accesses.
    pub entries_for_90_percent_of_reaccesses: Option<u64>,
    /// How much smaller that cache is than one for all items; percent.
    pub memory_saved_percent: Option<f64>,
    /// Smallest LRU cache in which 90 % of *all* accesses hit; missing where none does.
    pub entries_for_90_percent_of_accesses: Option<u64>,
    /// The fewest contents that make up half of the accesses (contents only, in the sample).
    pub popular_items: Option<u64>,
    /// Misses among accesses to these in an LRU cache of 65,536 entries; percent.
    pub popular_miss_percent_of_65536_entries: Option<f64>,
    /// Every cache size.
    #[serde(skip)]
    pub curve: MissRatioCurve,
    /// Every cache size, accesses to popular contents only.
    #[serde(skip)]
    pub popular_curve: Option<MissRatioCurve>,
}

impl Reuse {
    fn new(curves: &Curves, popular_items: Option<u64>) -> Reuse {
        let curve = &curves.all;
        let reaccesses = curve.reaccesses();
        let entries = curve.entries_for(reaccesses * 0.9).filter(|_| reaccesses > 0.0);
        let popular_misses = |curve: &MissRatioCurve| curve.miss_fraction(CA_SSD_ENTRIES) * 100.0;
        Reuse {
            accesses: curves.accesses,
            items: curves.items,
            reaccess_percent: reaccesses / curve.accesses() * 100.0,
            entries_for_90_percent_of_reaccesses: entries,
            memory_saved_percent: entries
                .map(|entries| (1.0 - entries as f64 / curves.items as f64).max(0.0) * 100.0),
            entries_for_90_percent_of_accesses: curve.entries_for(curve.accesses() * 0.9),
            popular_items,
            popular_miss_percent_of_65536_entries: curves.popular.as_ref().map(popular_misses),
            curve: curve.clone(),
            popular_curve: curves.popular.clone(),
        }
    }
}

/// Of the pages that `sample` keeps. Two passes: one finds the popular contents.
pub fn value_locality(trace: &Trace, sample: Sample) -> ValueLocality {
    let counts = crate::input::whole(ValueCounts::new(sample), trace);
    let popular = PopularContents::new([counts.of(Op::Read), counts.of(Op::Write)]);
    crate::input::whole(ValueLocalityMeter::new(sample, popular), trace).finish()
}

/// For each kind about 5 bytes a content and a page, and 4 for each distance up to the longest.
pub(crate) struct ValueLocalityMeter {
    sample: Sample,
    popular: PopularContents,
    content: [Stream; KINDS],
    address: [Stream; KINDS],
    pages: PageTable,
    ids: Vec<u32>,
    /// Where sampled: groups of pages, numbers of contents and groups of contents.
    page_places: GroupPositions,
    contents: HashMap<u32, u32>,
    content_places: GroupPositions,
}

impl ValueLocalityMeter {
    /// `popular` is about the same sample.
    pub(crate) fn new(sample: Sample, popular: PopularContents) -> ValueLocalityMeter {
        let streams = || [Stream::new(sample), Stream::new(sample)];
        ValueLocalityMeter {
            sample,
            popular,
            content: streams(),
            address: streams(),
            pages: PageTable::new(sample),
            ids: Vec::new(),
            page_places: GroupPositions::default(),
            contents: HashMap::new(),
            content_places: GroupPositions::default(),
        }
    }

    fn exact(&mut self, op: Op, requests: &Requests<'_>) {
        let kind = op as usize;
        self.ids.clear();
        for index in (0..requests.len()).filter(|&index| requests.op[index] == op) {
            self.ids.extend(known(requests, index));
        }
        self.content[kind].access_all(&self.ids, |content| self.popular.contains(kind, content));
        self.ids.clear();
        self.pages.number(requests, PAGE_BYTES, |index| requests.op[index] == op, &mut self.ids);
        if self.pages.is_full() {
            self.ids.retain(|&id| id != NO_PAGE);
        }
        self.address[kind].access_all(&self.ids, |_| false);
    }

    fn sampled(&mut self, op: Op, requests: &Requests<'_>, index: usize) {
        let kind = op as usize;
        let stream = &mut self.content[kind];
        for content in known(requests, index) {
            stream.accesses += 1;
            if !self.sample.keeps_content(content) {
                continue;
            }
            let id = *self.contents.entry(content).or_insert_with_key(|&content| {
                let id = self.content_places.len();
                self.content_places.push(self.sample.group_of_content(content));
                id
            });
            stream.sampled(self.content_places.item(id), self.popular.contains(kind, content));
        }
        let stream = &mut self.address[kind];
        let volume = requests.volume[index];
        for page in requests.pages(index, PAGE_BYTES) {
            stream.accesses += 1;
            if !self.sample.keeps_page(volume, page) {
                continue;
            }
            // One by one, because the group depends on the page's number.
            self.pages.run(volume, page..page + 1, |found| {
                if found.new {
                    self.page_places.push(self.sample.group_of_page(volume, page));
                }
                stream.sampled(self.page_places.item(found.id), false);
            });
        }
    }
}

impl Metric for ValueLocalityMeter {
    type Figures = ValueLocality;
    const TABLES: &'static [Table<Self::Figures>] = &[
        Table::of::<MissRatioRow>(|figures| Some(figures.miss_ratio.clone())),
        Table::of::<PopularMissRatioRow>(|figures| Some(figures.popular_miss_ratio.clone())),
    ];

    fn begin(first_pass: &mut FirstPass<'_>) -> Self {
        let popular = PopularContents::new([first_pass.values.of(Op::Read), first_pass.values.of(Op::Write)]);
        ValueLocalityMeter::new(first_pass.sample, popular)
    }

    fn finish(self) -> ValueLocality {
        let content = self.content.map(Stream::finish);
        let address = self.address.map(Stream::finish);
        let reuse = |kind: Op| ReuseOfKind {
            content: content[kind as usize]
                .as_ref()
                .map(|curves| Reuse::new(curves, Some(self.popular.count(kind as usize)))),
            address: address[kind as usize].as_ref().map(|curves| Reuse::new(curves, None)),
        };
        ValueLocality {
            sample: self.sample,
            read: reuse(Op::Read),
            write: reuse(Op::Write),
            miss_ratio: miss_ratio(&content, &address),
            popular_miss_ratio: popular_miss_ratio(&content),
        }
    }
}

impl Accumulator for ValueLocalityMeter {
    fn add(&mut self, requests: &Requests<'_>) {
        if self.sample.is_all() {
            self.exact(Op::Read, requests);
            self.exact(Op::Write, requests);
            return;
        }
        for index in 0..requests.len() {
            let op = requests.op[index];
            if op.moves_data() {
                self.sampled(op, requests, index);
            }
        }
    }
}

const KIND_NAMES: [&str; KINDS] = ["read", "write"];

fn miss_ratio(content: &[Option<Curves>; KINDS], address: &[Option<Curves>; KINDS]) -> RecordBatch {
    let mut rows = Vec::new();
    for (index, kind) in KIND_NAMES.into_iter().enumerate() {
        for (of, curves) in [("content", &content[index]), ("address", &address[index])] {
            let Some(curves) = curves else { continue };
            rows.extend(curves.all.grid().map(|entries| MissRatioRow {
                kind,
                of,
                entries,
                miss_fraction: curves.all.miss_fraction(entries),
                miss_fraction_error: curves.error(entries),
            }));
        }
    }
    batch_of(&rows)
}

fn popular_miss_ratio(content: &[Option<Curves>; KINDS]) -> RecordBatch {
    let mut rows = Vec::new();
    for (kind, curves) in KIND_NAMES.into_iter().zip(content) {
        let Some(popular) = curves.as_ref().and_then(|curves| curves.popular.as_ref()) else { continue };
        rows.extend(popular.grid().map(|entries| PopularMissRatioRow {
            kind,
            entries,
            miss_fraction: popular.miss_fraction(entries),
        }));
    }
    batch_of(&rows)
}
