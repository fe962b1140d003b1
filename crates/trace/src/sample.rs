//! Thinning a trace out by chance, page by page.

use std::ops::Range;
use std::str::FromStr;

use crate::columns::Columns;
use crate::error::{ErrorCause, TraceError};
use crate::memory::{bytes_in_words, memory_allowed_bytes};
use crate::request::{CHUNK_BYTES, NO_CONTENT, Op, Request};
use crate::trace::Trace;
use crate::volumes::Volumes;
use flashtwin_bits::mix;

/// The attribute by which a sample selects pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleBy {
    /// Its volume and address: all requests of a page stay, or none.
    Address,
    /// Its content: all reads and writes of a content stay, or none. Operations without a content go.
    Content,
}

impl FromStr for SampleBy {
    type Err = TraceError;

    fn from_str(word: &str) -> Result<SampleBy, TraceError> {
        match word {
            "address" => Ok(SampleBy::Address),
            "content" => Ok(SampleBy::Content),
            _ => Err(TraceError::new(
                ErrorCause::Argument,
                "sample",
                format!("a sample cannot be taken by '{word}'"),
                "use address or content",
            )),
        }
    }
}

/// Bytes of memory of a part of a request that stays, while it is sorted.
const PART_BYTES: u64 = 80;
const PAGE_BYTES: u64 = CHUNK_BYTES as u64;

impl Trace {
    /// A spatial sample: the pages of 4,096 bytes whose hashed address (or content) is below a threshold, so that about
    /// `rate` of them stay, with everything that happens to them (SHARDS, FAST '15). A request is cut into the runs of
    /// its pages that stay. A flush stays if something written to its volume has stayed since the flush before. Equal
    /// seeds choose equal pages, and those of a lower rate are among those of a higher one.
    ///
    /// # Errors
    /// A rate that is not above 0 and at most 1, a choice by content in a trace without any, and an empty sample.
    pub fn sample(&self, rate: f64, seed: u64, by: SampleBy) -> Result<Trace, TraceError> {
        if !(rate > 0.0 && rate <= 1.0) {
            let (what, cure) = (format!("{rate} is not a share of pages"), "use a number above 0, up to 1");
            return Err(TraceError::new(ErrorCause::Argument, &self.name, what, cure));
        }
        if by == SampleBy::Content && !self.has_content() {
            let what = "this trace carries no content to choose by";
            return Err(TraceError::new(ErrorCause::NoContent, &self.name, what, "choose by address"));
        }
        let chosen = Chosen::new(rate, seed, by);
        let mut columns = Columns::empty();
        let allowed = memory_allowed_bytes(self.len() as u64);
        let mut unflushed = vec![false; self.volume_names.len()];
        for request in 0..self.len() {
            let (op, written) = (self.op[request], &mut unflushed[self.volume[request] as usize]);
            if op == Op::Flush {
                if std::mem::take(written) {
                    columns.push(self.request(request));
                    columns.mark_last(self.marks_of(request));
                }
                continue;
            }
            let before = columns.len();
            chosen.take(self, request, &mut columns);
            *written |= op == Op::Write && columns.len() > before;
            if columns.len() as u64 * PART_BYTES > allowed {
                return Err(self.too_many_parts(rate, allowed));
            }
        }
        if columns.len() == 0 {
            return Err(TraceError::new(
                ErrorCause::Empty,
                &self.name,
                format!("no page is left in a sample of {rate}"),
                "use a higher rate or another seed",
            ));
        }
        let mut volumes = Volumes::default();
        for volume in &mut columns.volume {
            *volume = volumes.index(u64::from(*volume), |key| {
                let name = self.volume_names.get(key as usize).cloned();
                name.unwrap_or_else(|| key.to_string())
            });
        }
        columns.holes = self.holes.renumbered(|volume| volumes.get(volume.into()));
        Ok(self.part(&format!("{}-sample", self.name), columns, volumes))
    }

    fn too_many_parts(&self, rate: f64, allowed: u64) -> TraceError {
        TraceError::new(
            ErrorCause::TooLarge,
            &self.name,
            format!(
                "a sample of {rate} cuts its {} requests into more than {} parts, for which {} of memory are allowed",
                self.len(),
                allowed / PART_BYTES,
                bytes_in_words(allowed)
            ),
            "check the unit of sizes (the format), or use a lower rate",
        )
    }
}

struct Chosen {
    by: SampleBy,
    salt: u64,
    highest: u64,
}

impl Chosen {
    fn new(rate: f64, seed: u64, by: SampleBy) -> Chosen {
        // Casting stops at the highest number, with which all stay.
        let highest = (rate * 18_446_744_073_709_551_616.0) as u64;
        Chosen { by, salt: mix(seed ^ 0x5851_f42d_4c95_7f2d), highest }
    }

    #[inline]
    fn stays(&self, group: u32, number: u64) -> bool {
        mix(number.wrapping_add(mix(u64::from(group) ^ self.salt))) <= self.highest
    }

    fn take(&self, trace: &Trace, request: usize, columns: &mut Columns) {
        let contents = trace.contents(request);
        let requests = trace.requests(request..request + 1);
        let pages = requests.pages(0, CHUNK_BYTES);
        let count = (pages.end - pages.start) as usize;
        let stays = |nth: usize| match self.by {
            SampleBy::Address => self.stays(trace.volume[request], pages.start + nth as u64),
            SampleBy::Content => match contents.get(nth) {
                Some(&id) if id != NO_CONTENT => self.stays(0, u64::from(id)),
                _ => false,
            },
        };
        let mut nth = 0;
        while nth < count {
            let first = nth;
            while nth < count && stays(nth) {
                nth += 1;
            }
            if nth > first {
                push(trace, request, pages.start, first..nth, columns);
            }
            nth += 1;
        }
    }
}

fn push(trace: &Trace, request: usize, first_page: u64, run: Range<usize>, columns: &mut Columns) {
    let (offset, length) = (trace.offset_bytes[request], u64::from(trace.length_bytes[request]));
    let contents = trace.contents(request);
    let (start, end) = if contents.is_empty() {
        let page = |nth: usize| (first_page + nth as u64) * PAGE_BYTES;
        (page(run.start).max(offset), page(run.end).min(offset + length))
    } else {
        // Contents lie on a grid from the request's start.
        let chunk = |nth: usize| offset + (nth as u64 * PAGE_BYTES).min(length);
        (chunk(run.start), chunk(run.end))
    };
    if !contents.is_empty() {
        columns.content.extend_from_slice(&contents[run]);
    }
    let length_bytes = (end - start) as u32;
    columns.push(Request { offset_bytes: start, length_bytes, ..trace.request(request) });
    columns.mark_last(trace.marks_of(request));
}
