//! Contents made up: following what each page holds when the trace does not say.

use super::zipf::Zipf;
use super::{ContentSource, PageTrace, too_large};
use crate::error::TraceError;
use crate::random::Random;
use crate::request::{NO_CONTENT, Op};
use crate::volumes::Appearance;

/// Gives every page operation a content from `source`, which is neither recorded nor none.
pub(super) fn follow(source: ContentSource, pages: &mut PageTrace) -> Result<(), TraceError> {
    let footprint = pages.lpn_address.len();
    // At most one content an operation and one a page, of which there are fewer than 2^32 - 1 each.
    if pages.lpn.len() as u64 + footprint as u64 >= u64::from(NO_CONTENT) {
        return Err(too_large(&pages.name, "contents"));
    }
    let mut maker = Maker::new(source, pages);
    let mut held = vec![NO_CONTENT; footprint];
    let mut seen = vec![false; footprint];
    pages.initial_content = vec![NO_CONTENT; footprint];
    pages.content = Vec::with_capacity(pages.lpn.len());
    for request in 0..pages.requests() {
        for page_op in pages.page_ops_of(request) {
            let lpn = pages.lpn[page_op];
            let page = lpn as usize;
            if pages.op[request] == Op::Trim {
                if !pages.is_partial(request, page_op) {
                    held[page] = NO_CONTENT;
                    seen[page] = true;
                }
                pages.content.push(NO_CONTENT);
                continue;
            }
            if !seen[page] {
                seen[page] = true;
                if pages.existed_before(lpn) {
                    held[page] = maker.before(lpn);
                    pages.initial_content[page] = held[page];
                }
            }
            if pages.op[request] == Op::Write {
                held[page] = maker.written(lpn);
            } else if held[page] == NO_CONTENT {
                pages.quality.reads_after_trim += 1;
            }
            pages.content.push(held[page]);
        }
    }
    pages.content_count = maker.count();
    Ok(())
}

/// Makes contents, numbered in order of first appearance.
enum Maker {
    Unique { next: u32 },
    Drawn(Box<Drawn>),
    Address { numbers: Appearance },
}

/// Values by popularity.
struct Drawn {
    zipf: Zipf,
    random: Random,
    /// The value each page held before the trace; anything for pages that did not exist.
    before: Vec<u32>,
    numbers: Appearance,
}

// What is drawn for: draws of one purpose do not depend on how many there are of the other.
const WRITES: u64 = 0;
const BEFORE: u64 = 1;
const SEED: u64 = 1;

impl Maker {
    fn new(source: ContentSource, pages: &PageTrace) -> Maker {
        match source {
            ContentSource::Zipf { exponent_thousandths, values, seed } => {
                let zipf = Zipf::new(exponent_thousandths, values);
                let seed = seed.unwrap_or(SEED);
                let mut random = Random::new(seed, BEFORE);
                let draw = |lpn| if pages.existed_before(lpn) { zipf.draw(&mut random) } else { 0 };
                let before = (0..pages.footprint_pages()).map(draw).collect();
                let numbers = Appearance::default();
                Maker::Drawn(Box::new(Drawn { zipf, random: Random::new(seed, WRITES), before, numbers }))
            }
            ContentSource::SameAsAddress => Maker::Address { numbers: Appearance::default() },
            ContentSource::Unique | ContentSource::Recorded | ContentSource::None => {
                Maker::Unique { next: 0 }
            }
        }
    }

    /// What page `lpn` held before the trace; asked once.
    fn before(&mut self, lpn: u32) -> u32 {
        match self {
            Maker::Drawn(drawn) => drawn.numbers.number(drawn.before[lpn as usize]).0,
            _ => self.written(lpn),
        }
    }

    /// What a write brings to page `lpn`.
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

    /// How many contents there are.
    fn count(&self) -> u32 {
        match self {
            Maker::Unique { next } => *next,
            Maker::Drawn(drawn) => drawn.numbers.count(),
            Maker::Address { numbers } => numbers.count(),
        }
    }
}
