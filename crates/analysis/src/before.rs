//! Page contents before the trace, as far as its reads show them.

use flashtwin_trace::{Holes as PageRuns, NO_CONTENT, Op, Requests};

use crate::input::Accumulator;
use crate::page_ops::{PAGE_BYTES, PageOp, page_ops};
use crate::pages::{NO_PAGE, PageTable};
use crate::sample::Sample;
use flashtwin_bits::prefetch_if_there as prefetch;

/// The page held something that the sample does not keep.
pub(crate) const NOT_KEPT: u32 = u32::MAX - 3;
/// The page held something that no record names; it counts as a content of its own.
pub(crate) const NAMELESS: u32 = u32::MAX - 2;
/// (Until the end of the pass:) the page existed, and its content is unknown so far.
const READ: u32 = u32::MAX - 1;
/// The page did not exist, or it does not matter whether it did.
pub(crate) const NOTHING: u32 = NO_CONTENT;
/// (Until the end of the pass:) only parts of the page were trimmed, which does nothing.
const UNTOUCHED: u32 = u32::MAX - 4;
/// (Until the end of the pass:) the page was trimmed, and neither read nor written.
const TRIMMED: u32 = u32::MAX - 5;

/// In page operations.
pub(crate) const AHEAD: usize = 24;

/// Finds the footprint and the content of every 4 KB page before the trace: that of its first read without an earlier
/// write. Every other page that existed held a nameless content.
pub(crate) struct PagesBefore {
    sample: Sample,
    /// All pages, or (sampled) those that ever hold a content of the sample.
    pages: PageTable,
    held: Vec<u32>,
    /// Sampled pages for the size of the footprint; unused without sampling.
    footprint: PageTable,
    ids: Vec<u32>,
}

/// Requests of at least this many pages are kept as runs if single pages do not matter.
const LONG_PAGES: u64 = 64;

/// Counts the footprint alone: pages of long requests by runs, so that memory does not grow with them.
pub(crate) struct CountPages {
    sample: Sample,
    short: PageTable,
    long: PageRuns,
    ids: Vec<u32>,
}

impl CountPages {
    pub(crate) fn new(sample: Sample) -> CountPages {
        CountPages { sample, short: PageTable::new(sample), long: PageRuns::default(), ids: Vec::new() }
    }

    pub(crate) fn finish(self) -> Option<u64> {
        if self.long.is_empty() {
            return count(&self.short, self.sample);
        }
        let others = self.short.count_unless(|volume, page| self.long.cover(volume, &(page..page + 1)));
        let others = (others as f64 / self.sample.rate).round() as u64;
        (!self.short.is_full()).then(|| self.long.bytes() + others)
    }
}

impl Accumulator for CountPages {
    fn add(&mut self, requests: &Requests<'_>) {
        let pages = |index: usize| requests.pages(index, PAGE_BYTES);
        let counts = |index: usize| requests.op[index].moves_data();
        let is_long = |index: usize| {
            let pages = pages(index);
            pages.end - pages.start >= LONG_PAGES
        };
        self.ids.clear();
        self.short.number(requests, PAGE_BYTES, |index| counts(index) && !is_long(index), &mut self.ids);
        for index in (0..requests.len()).filter(|&index| counts(index) && is_long(index)) {
            self.long.add(requests.volume[index], pages(index));
        }
    }
}

/// Pages of a table of sampled pages, estimated for all; missing when 32 bits cannot count them.
fn count(pages: &PageTable, sample: Sample) -> Option<u64> {
    (!pages.is_full()).then(|| (f64::from(pages.len()) / sample.rate).round() as u64)
}

pub(crate) struct Footprint {
    pub(crate) pages: PageTable,
    /// Of each page a content, [`NAMELESS`], [`NOT_KEPT`] or [`NOTHING`].
    pub(crate) held: Vec<u32>,
    /// Distinct pages read or written, estimated when sampled; missing when 32 bits cannot count them.
    pub(crate) footprint_pages: Option<u64>,
}

impl PagesBefore {
    pub(crate) fn new(sample: Sample) -> PagesBefore {
        PagesBefore {
            sample,
            pages: PageTable::new(Sample::ALL),
            held: Vec::new(),
            footprint: PageTable::new(sample),
            ids: Vec::new(),
        }
    }

    pub(crate) fn finish(mut self) -> Footprint {
        let mut never = 0;
        for held in &mut self.held {
            never += u64::from(matches!(*held, UNTOUCHED | TRIMMED));
            *held = match *held {
                READ => NAMELESS,
                UNTOUCHED | TRIMMED => NOTHING,
                other => other,
            };
        }
        let footprint_pages = match self.sample.is_all() {
            true => count(&self.pages, self.sample).map(|pages| pages - never),
            false => count(&self.footprint, self.sample),
        };
        Footprint { pages: self.pages, held: self.held, footprint_pages }
    }

    /// Everything is kept: all pages of the run are numbered at once.
    fn add_all(&mut self, requests: &Requests<'_>) {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        self.pages.number(requests, PAGE_BYTES, |_| true, &mut ids);
        let mut nth = 0;
        for index in 0..requests.len() {
            for page_op in page_ops(requests, index) {
                if let Some(&ahead) = ids.get(nth + AHEAD) {
                    prefetch(&self.held, ahead as usize);
                }
                self.note(ids[nth], requests, index, page_op, true);
                nth += 1;
            }
        }
        self.ids = ids;
    }

    fn add_sampled(&mut self, requests: &Requests<'_>) {
        for index in 0..requests.len() {
            let volume = requests.volume[index];
            if requests.op[index].moves_data() {
                self.footprint.run(volume, requests.pages(index, PAGE_BYTES), |_| {});
            }
            for page_op in page_ops(requests, index) {
                let kept = keeps(self.sample, volume, page_op);
                if let Some(page) = self.pages.page(volume, page_op.page, kept) {
                    self.note(page.id, requests, index, page_op, kept);
                }
            }
        }
    }

    #[inline]
    fn note(&mut self, id: u32, requests: &Requests<'_>, index: usize, page_op: PageOp, kept: bool) {
        let (op, PageOp { whole, content, .. }) = (requests.op[index], page_op);
        if id == NO_PAGE {
            return;
        }
        let Some(held) = self.held.get_mut(id as usize) else {
            let is_hole = is_hole(requests, index, page_op.page);
            self.held.push(if is_hole && op != Op::Trim { NOTHING } else { first(op, whole, content) });
            return;
        };
        if *held == READ {
            match op {
                Op::Read if content == NO_CONTENT => {}
                Op::Read => *held = if kept { content } else { NOT_KEPT },
                Op::Trim if !whole => {}
                _ => *held = NAMELESS,
            }
        } else if *held == UNTOUCHED {
            let is_hole = is_hole(requests, index, page_op.page);
            *held = if is_hole && op != Op::Trim { NOTHING } else { first(op, whole, content) };
        } else if *held == TRIMMED && op != Op::Trim {
            *held = NOTHING;
        }
    }
}

#[inline]
fn is_hole(requests: &Requests<'_>, index: usize, page: u64) -> bool {
    let page_bytes = u64::from(PAGE_BYTES);
    !requests.holes.is_empty()
        && requests.holes.cover(requests.volume[index], &(page * page_bytes..(page + 1) * page_bytes))
}

fn first(op: Op, whole: bool, content: u32) -> u32 {
    match op {
        Op::Read if content == NO_CONTENT => READ,
        Op::Read => content,
        Op::Write if whole => NOTHING,
        Op::Write => NAMELESS,
        Op::Trim if whole => TRIMMED,
        Op::Trim | Op::Flush => UNTOUCHED,
    }
}

/// A known content is selected by its own hash, an unknown one by that of the page.
#[inline]
pub(crate) fn keeps(sample: Sample, volume: u32, page_op: PageOp) -> bool {
    match page_op.content {
        NO_CONTENT => sample.keeps_page(volume, page_op.page),
        content => sample.keeps_content(content),
    }
}

impl Accumulator for PagesBefore {
    fn add(&mut self, requests: &Requests<'_>) {
        if self.sample.is_all() { self.add_all(requests) } else { self.add_sampled(requests) }
    }
}
