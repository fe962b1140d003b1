//! Generated contents: follows the content of each page for a trace without its own.

use super::content::Before;
use super::first_access::as_first;
use super::outline::{FirstAccess, PageQuality, TraceProperties, existed};
use super::window::PageColumns;
use super::zipf::Zipf;
use super::{ContentSource, too_large};
use crate::error::TraceError;
use crate::random::Random;
use crate::request::{NO_CONTENT, Op};
use crate::volumes::Appearance;

#[derive(Clone)]
pub(super) struct Made {
    name: String,
    maker: Maker,
    held: Vec<u32>,
    seen: Vec<bool>,
    initial: Vec<u32>,
    page_ops: u64,
}

impl Made {
    /// `None` where the source needs to know all pages beforehand.
    pub(super) fn new(source: ContentSource, known: &TraceProperties<'_>) -> Option<Made> {
        Some(Made {
            name: known.name.to_owned(),
            maker: Maker::new(source, known.first)?,
            held: Vec::new(),
            seen: Vec::new(),
            initial: Vec::new(),
            page_ops: 0,
        })
    }

    pub(super) fn add(
        &mut self,
        columns: &mut PageColumns,
        pages: usize,
        before: &Before,
        quality: &mut PageQuality,
    ) -> Result<(), TraceError> {
        self.page_ops += columns.page_ops() as u64;
        // At most one content an operation and one a page.
        if self.page_ops + pages as u64 >= u64::from(NO_CONTENT) {
            return Err(too_large(&self.name, "contents"));
        }
        if pages > self.held.len() {
            self.held.resize(pages, NO_CONTENT);
            self.seen.resize(pages, false);
            self.initial.resize(pages, NO_CONTENT);
        }
        for request in 0..columns.requests() {
            let op = columns.op[request];
            for page_op in columns.page_ops_of(request) {
                let partial = columns.is_partial(request, page_op);
                let content = self.apply(op, partial, columns.lpn[page_op], before, quality);
                columns.content.push(content);
            }
        }
        Ok(())
    }

    fn apply(&mut self, op: Op, partial: bool, lpn: u32, before: &Before, quality: &mut PageQuality) -> u32 {
        let page = lpn as usize;
        if op == Op::Trim {
            if !partial {
                self.held[page] = NO_CONTENT;
                self.seen[page] = true;
            }
            return NO_CONTENT;
        }
        if !self.seen[page] {
            self.seen[page] = true;
            if as_first(op, partial).is_some_and(existed) && !before.is_hole(page) {
                self.held[page] = self.maker.before(lpn);
                self.initial[page] = self.held[page];
            }
        }
        if op == Op::Write {
            self.held[page] = self.maker.written(lpn);
        } else if self.held[page] == NO_CONTENT {
            quality.reads_of_holes += 1;
        }
        self.held[page]
    }

    pub(super) fn content_count(&self) -> u32 {
        self.maker.count()
    }

    pub(super) fn into_initial(self) -> Vec<u32> {
        self.initial
    }
}

#[derive(Clone)]
enum Maker {
    Unique { next: u32 },
    Drawn(Box<Drawn>),
    Address { numbers: Appearance },
}

#[derive(Clone)]
struct Drawn {
    zipf: Zipf,
    random: Random,
    /// The value each page held before the trace; anything for pages that did not exist.
    before: Vec<u32>,
    numbers: Appearance,
}

// Purposes of random draws: draws of one purpose do not depend on the number of draws of the other.
const WRITES: u64 = 0;
const BEFORE: u64 = 1;
const SEED: u64 = 1;

impl Maker {
    fn new(source: ContentSource, first: Option<&[FirstAccess]>) -> Option<Maker> {
        Some(match source {
            ContentSource::Zipf { exponent_thousandths, values, seed } => {
                let first = first?;
                let zipf = Zipf::new(exponent_thousandths, values);
                let seed = seed.unwrap_or(SEED);
                let mut random = Random::new(seed, BEFORE);
                let draw = |&access| if existed(access) { zipf.draw(&mut random) } else { 0 };
                let before = first.iter().map(draw).collect();
                let numbers = Appearance::default();
                Maker::Drawn(Box::new(Drawn { zipf, random: Random::new(seed, WRITES), before, numbers }))
            }
            ContentSource::SameAsAddress => Maker::Address { numbers: Appearance::default() },
            ContentSource::Unique | ContentSource::Recorded | ContentSource::None => {
                Maker::Unique { next: 0 }
            }
        })
    }

    /// Content of page `lpn` before the trace; called once for each page.
    fn before(&mut self, lpn: u32) -> u32 {
        match self {
            Maker::Drawn(drawn) => drawn.numbers.number(drawn.before[lpn as usize]).0,
            _ => self.written(lpn),
        }
    }

    #[inline]
    fn written(&mut self, lpn: u32) -> u32 {
        match self {
            Maker::Unique { next } => {
                *next += 1;
                *next - 1
            }
            Maker::Drawn(drawn) => drawn.numbers.number(drawn.zipf.draw(&mut drawn.random)).0,
            Maker::Address { numbers } => numbers.number(lpn).0,
        }
    }

    fn count(&self) -> u32 {
        match self {
            Maker::Unique { next } => *next,
            Maker::Drawn(drawn) => drawn.numbers.count(),
            Maker::Address { numbers } => numbers.count(),
        }
    }
}
