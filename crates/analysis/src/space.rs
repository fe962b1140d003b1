//! Duplicates and space over time, for a store that keeps every content once.

use arrow_array::RecordBatch;
use flashtwin_trace::{NO_CONTENT, Op, PageQuality, Requests, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::before::{AHEAD, Footprint, NAMELESS, NOT_KEPT, NOTHING, PagesBefore, keeps};
use crate::error;
use crate::input::{Accumulator, whole};
use crate::metric::{FirstPass, Metric, Table};
use crate::page_ops::{PAGE_BYTES, PageOp, at, page_ops, soon};
use crate::pages::{NO_PAGE, PageTable};
use crate::periods::Clock;
use crate::rows::batch_of;
use crate::sample::{GROUPS, Sample};
use crate::value_counts::percent;
use flashtwin_bits::prefetch_if_there as prefetch;

/// Duplicates among writes, and the space of a content-addressed store.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Space {
    /// Page writes of a content that some page holds at that moment / page writes; percent. This is
    /// the share of writes that deduplication with an unlimited fingerprint store saves. A page
    /// first read is taken to have held that content from the beginning.
    pub duplicate_write_percent: Option<f64>,
    /// Of these duplicates, those that rewrite the page's own content; percent of page writes.
    pub rewrite_percent: Option<f64>,
    /// Page reads of a content that another page holds, too, at that moment / page reads; percent. A drive that
    /// keeps duplicates on several chips can serve no more reads than these from another chip.
    pub duplicate_read_percent: Option<f64>,
    /// Distinct contents held / pages that hold data, at the end; percent: the space of a store
    /// that keeps every content once, relative to one that keeps all pages.
    pub contents_of_pages_held_percent: Option<f64>,
    /// The table of `SpaceRow`.
    #[serde(skip)]
    pub table: RecordBatch,
}

crate::rows! {
    /// One row a period, at its end. Counts are estimates when sampled.
    pub(crate) struct SpaceRow in "space" {
        /// Number, from 0.
        period: u32,
        /// End, on the trace's clock.
        end_ns: i64,
        /// Pages that hold data.
        pages_held: u64,
        /// Distinct contents that those pages hold.
        contents_held: u64,
        /// `contents_held` / `pages_held`.
        share_percent: Option<f64>,
    }
}

/// [`Space`] (missing without contents) and irregularities of 4 KB pages; one period if `period_ns` is not positive.
pub fn space(trace: &Trace, period_ns: i64) -> (Option<Space>, Option<PageQuality>) {
    let footprint = whole(PagesBefore::new(Sample::ALL), trace).finish();
    let clock = Clock::new(period_ns, trace.duration_ns());
    let follower = whole(SpaceFollower::new(footprint, clock, Sample::ALL), trace);
    let quality = follower.quality();
    (follower.finish(), quality)
}

pub(crate) struct SpaceFollower {
    sample: Sample,
    clock: Clock,
    pages: PageTable,
    held: Vec<u32>,
    holders: Vec<u32>,
    /// Contents with holders, and pages with a nameless content, which counts as one more each.
    distinct_held: u64,
    nameless_held: u64,
    pages_held: u64,
    has_content: bool,
    /// Page writes and duplicates among them, by group of items.
    writes: [(u64, u64); GROUPS],
    rewrites: [u64; GROUPS],
    /// Page reads and those of duplicates among them, by group of items.
    reads: [(u64, u64); GROUPS],
    quality: PageQuality,
    rows: Vec<SpaceRow>,
    ids: Vec<u32>,
}

impl SpaceFollower {
    pub(crate) fn new(footprint: Footprint, clock: Clock, sample: Sample) -> SpaceFollower {
        let Footprint { pages, held, .. } = footprint;
        let mut follower = SpaceFollower {
            sample,
            clock,
            pages,
            held: Vec::new(),
            holders: Vec::new(),
            distinct_held: 0,
            nameless_held: 0,
            pages_held: 0,
            has_content: false,
            writes: [(0, 0); GROUPS],
            rewrites: [0; GROUPS],
            reads: [(0, 0); GROUPS],
            quality: PageQuality::default(),
            rows: Vec::new(),
            ids: Vec::new(),
        };
        held.iter().for_each(|&content| follower.hold(content));
        follower.held = held;
        follower
    }

    fn hold(&mut self, content: u32) {
        match content {
            NOTHING | NOT_KEPT => return,
            NAMELESS => self.nameless_held += 1,
            content => {
                let holders = at(&mut self.holders, content, 0);
                *holders += 1;
                self.distinct_held += u64::from(*holders == 1);
            }
        }
        self.pages_held += 1;
    }

    fn release(&mut self, content: u32) {
        match content {
            NOTHING | NOT_KEPT => return,
            NAMELESS => self.nameless_held -= 1,
            content => {
                let holders = &mut self.holders[content as usize];
                *holders -= 1;
                self.distinct_held -= u64::from(*holders == 0);
            }
        }
        self.pages_held -= 1;
    }

    /// `id` is the page's number, if it has one.
    #[inline]
    fn page_op(&mut self, volume: u32, op: Op, page_op: PageOp, kept: bool, id: Option<u32>) {
        if op == Op::Write && kept {
            self.count_write(volume, page_op);
        }
        if !page_op.whole {
            self.quality.partial_writes += u64::from(op == Op::Write);
            self.quality.partial_trims += u64::from(op == Op::Trim);
            if op == Op::Trim {
                return;
            }
        }
        let Some(id) = id else { return };
        let held = *at(&mut self.held, id, NOTHING);
        if op == Op::Read {
            if kept {
                self.count_read(volume, page_op, held);
            }
            self.compare(held, page_op.content);
            return;
        }
        let brought = match (op, page_op.content) {
            (Op::Trim, _) => NOTHING,
            _ if !kept => NOT_KEPT,
            (_, NO_CONTENT) => NAMELESS,
            (_, content) => content,
        };
        if brought == held && brought < NOT_KEPT {
            self.rewrites[self.sample.group_of_content(brought)] += 1;
        }
        self.hold(brought);
        self.release(held);
        self.held[id as usize] = brought;
    }

    /// Everything is kept: all pages of the run are numbered at once.
    fn add_all(&mut self, requests: &Requests<'_>) {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        self.pages.number(requests, PAGE_BYTES, |_| true, &mut ids);
        let mut nth = 0;
        for index in 0..requests.len() {
            self.request(requests, index);
            for page_op in page_ops(requests, index) {
                if let Some(&ahead) = ids.get(nth + AHEAD) {
                    prefetch(&self.held, ahead as usize);
                }
                if let Some(&near) = ids.get(nth + AHEAD / 2)
                    && let Some(&held) = self.held.get(near as usize)
                {
                    prefetch(&self.holders, held as usize);
                }
                let id = Some(ids[nth]).filter(|&id| id != NO_PAGE);
                self.page_op(requests.volume[index], requests.op[index], page_op, true, id);
                nth += 1;
            }
        }
        self.ids = ids;
    }

    fn add_sampled(&mut self, requests: &Requests<'_>) {
        for index in 0..requests.len() {
            self.request(requests, index);
            let (op, volume) = (requests.op[index], requests.volume[index]);
            for page_op in page_ops(requests, index) {
                let kept = keeps(self.sample, volume, page_op);
                let page = self.pages.page(volume, page_op.page, kept && op == Op::Write);
                self.page_op(volume, op, page_op, kept, page.map(|page| page.id));
            }
        }
    }

    #[inline]
    fn request(&mut self, requests: &Requests<'_>, index: usize) {
        while self.clock.is_over(requests.time_ns[index]) {
            self.end_period();
            self.clock.next();
        }
        let contents = requests.contents(index);
        self.has_content |= !contents.is_empty();
        let (start, _) = requests.extent(index, PAGE_BYTES);
        self.quality.unaligned_content_requests += u64::from(start != requests.offset_bytes[index]);
        for &content in soon(requests, index) {
            prefetch(&self.holders, content as usize);
        }
    }

    fn count_write(&mut self, volume: u32, page_op: PageOp) {
        let (group, holders) = self.holders_of(volume, page_op);
        self.writes[group].0 += u64::from(holders > 0);
        self.writes[group].1 += 1;
    }

    /// The page holds `held` as far as is known.
    fn count_read(&mut self, volume: u32, page_op: PageOp, held: u32) {
        let (group, holders) = self.holders_of(volume, page_op);
        let itself = u32::from(held == page_op.content);
        self.reads[group].0 += u64::from(holders > itself);
        self.reads[group].1 += 1;
    }

    /// Without holders if the content is not known.
    #[inline]
    fn holders_of(&self, volume: u32, page_op: PageOp) -> (usize, u32) {
        match page_op.content {
            NO_CONTENT => (self.sample.group_of_page(volume, page_op.page), 0),
            content => {
                let holders = self.holders.get(content as usize).copied().unwrap_or(0);
                (self.sample.group_of_content(content), holders)
            }
        }
    }

    fn compare(&mut self, held: u32, found: u32) {
        match held {
            NOTHING => self.quality.reads_of_holes += 1,
            _ if found == NO_CONTENT || found == held || held == NOT_KEPT => {}
            NAMELESS => self.quality.unknown_content_reads += 1,
            _ => self.quality.read_mismatches += 1,
        }
    }

    /// When sampled, in the order of [`Space`].
    fn errors(&self) -> [Option<f64>; 4] {
        let mut held = [(0u64, 0u64); GROUPS];
        for (content, &holders) in self.holders.iter().enumerate().filter(|&(_, &holders)| holders > 0) {
            let group = &mut held[self.sample.group_of_content(content as u32)];
            *group = (group.0 + 1, group.1 + u64::from(holders));
        }
        let mut rewrites = self.writes;
        rewrites.iter_mut().zip(self.rewrites).for_each(|(group, rewrites)| group.0 = rewrites);
        [self.writes, rewrites, self.reads, held].map(|groups| error::of_percent(&groups))
    }

    fn end_period(&mut self) {
        let scale = |count: u64| (count as f64 / self.sample.rate).round() as u64;
        let pages_held = scale(self.pages_held);
        let contents_held = scale(self.distinct_held + self.nameless_held);
        self.rows.push(SpaceRow {
            period: self.clock.period(),
            end_ns: self.clock.end_ns(),
            pages_held,
            contents_held,
            share_percent: percent(contents_held, pages_held),
        });
    }

    /// Missing when sampled.
    pub(crate) fn quality(&self) -> Option<PageQuality> {
        let mut quality = self.quality.clone();
        if !self.has_content {
            // Nothing is known of contents, so nothing is missed either.
            quality.reads_of_holes = 0;
        }
        self.sample.is_all().then_some(quality)
    }

    /// Missing without contents.
    pub(crate) fn finish(mut self) -> Option<Space> {
        self.end_period();
        if !self.has_content {
            return None;
        }
        let sum = |groups: &[(u64, u64); GROUPS]| {
            groups.iter().fold((0, 0), |sum, group| (sum.0 + group.0, sum.1 + group.1))
        };
        let ((duplicates, writes), (duplicates_read, reads)) = (sum(&self.writes), sum(&self.reads));
        let contents = self.distinct_held + self.nameless_held;
        Some(Space {
            duplicate_write_percent: percent(duplicates, writes),
            rewrite_percent: percent(self.rewrites.iter().sum(), writes),
            duplicate_read_percent: percent(duplicates_read, reads),
            contents_of_pages_held_percent: percent(contents, self.pages_held),
            table: batch_of(&self.rows),
        })
    }
}

/// Where there are contents to follow.
impl Metric for Option<SpaceFollower> {
    type Figures = Option<Space>;
    const TABLES: &'static [Table<Self::Figures>] =
        &[Table::of::<SpaceRow>(|found| Some(found.as_ref()?.table.clone()))];

    fn begin(first_pass: &mut FirstPass<'_>) -> Self {
        let footprint = first_pass.footprint.take()?;
        Some(SpaceFollower::new(footprint, first_pass.clock, first_pass.sample))
    }

    fn standard_errors(&self) -> Vec<(&'static str, Option<f64>)> {
        let figures = [
            "duplicate_write_percent",
            "rewrite_percent",
            "duplicate_read_percent",
            "contents_of_pages_held_percent",
        ];
        let errors = self.as_ref().map_or([None; 4], SpaceFollower::errors);
        figures.into_iter().zip(errors).collect()
    }

    fn finish(self) -> Option<Space> {
        self?.finish()
    }
}

impl Accumulator for Option<SpaceFollower> {
    fn add(&mut self, requests: &Requests<'_>) {
        if let Some(follower) = self {
            follower.add(requests);
        }
    }
}

impl Accumulator for SpaceFollower {
    fn add(&mut self, requests: &Requests<'_>) {
        if self.sample.is_all() { self.add_all(requests) } else { self.add_sampled(requests) }
    }
}
