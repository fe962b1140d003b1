//! Dense numbers for the pages of a whole trace, in the order of their addresses.

use std::ops::Range;
use std::thread;

use flashtwin_bits::{try_with_capacity, zeros};

use crate::parts::{joined, pieces, side_by_side};

/// A request's pages on the host's address space, to be sorted by address.
struct Span {
    first_page: u64,
    request: u32,
    pages: u32,
}

/// Pages on the host's address space, 64 at a time.
#[derive(Clone, Copy, Default)]
struct Word {
    bits: u64,
    /// Touched pages in the words before.
    before: u32,
}

impl Word {
    #[inline]
    fn number(&self, page: u64) -> u32 {
        self.before + (self.bits & ((1 << (page % 64)) - 1)).count_ones()
    }
}

/// Numbers the page operations of a trace. Request `i` begins at page `first_page(i)` of an address space of
/// `space_pages` and has the page operations `first_page_op[i]..first_page_op[i + 1]`. Returns the dense page of each
/// page operation, and the address of each dense page.
pub(super) fn number_pages(
    first_page: impl Fn(usize) -> u64 + Sync,
    first_page_op: &[u32],
    space_pages: u64,
    parts: &[Range<usize>],
) -> (Vec<u32>, Vec<u64>) {
    let words = space_pages.div_ceil(64);
    // Marking each page takes no more memory than sorting, unless the pages lie far apart.
    if words <= first_page_op.len() as u64 + 1024 {
        by_bits(first_page, first_page_op, words as usize, parts)
    } else {
        by_sorting(first_page, first_page_op)
    }
}

fn by_bits(
    first_page: impl Fn(usize) -> u64 + Sync,
    first_page_op: &[u32],
    words: usize,
    parts: &[Range<usize>],
) -> (Vec<u32>, Vec<u64>) {
    let pages_of = |request: usize| first_page_op[request + 1] - first_page_op[request];
    let mark = |part: Range<usize>| {
        let mut bits = vec![0u64; words];
        for request in part {
            let first = first_page(request);
            for page in first..first + u64::from(pages_of(request)) {
                bits[(page / 64) as usize] |= 1 << (page % 64);
            }
        }
        bits
    };
    // Marks of its own for each part, because threads that write to the same ones wait for each other.
    let marked = if words * parts.len() <= first_page_op.len() + 1024 {
        side_by_side(parts.iter().cloned(), mark)
    } else {
        vec![mark(0..first_page_op.len() - 1)]
    };
    let (touched, pages) = counted(&marked, words);
    drop(marked);
    let mut lpn = zeros(first_page_op.last().map_or(0, |&ops| ops as usize));
    let lengths = parts.iter().map(|part| (first_page_op[part.end] - first_page_op[part.start]) as usize);
    let lpn_address = thread::scope(|scope| {
        let addresses = scope.spawn(|| addresses(&touched, pages));
        side_by_side(parts.iter().zip(pieces(&mut lpn, lengths)), |(part, lpn)| {
            let mut at = 0;
            for request in part.clone() {
                let pages = pages_of(request);
                if pages == 0 {
                    // A flush, whose volume may have no pages at all.
                    continue;
                }
                let page = first_page(request);
                let first = touched[(page / 64) as usize].number(page);
                let slots = &mut lpn[at..at + pages as usize];
                slots.iter_mut().zip(first..).for_each(|(slot, number)| *slot = number);
                at += pages as usize;
            }
        });
        joined(addresses)
    });
    (lpn, lpn_address)
}

/// The words of an address space, from tables that each mark some pages, and how many pages those are.
fn counted(marked: &[Vec<u64>], words: usize) -> (Vec<Word>, u32) {
    let mut touched = try_with_capacity(words);
    let mut before = 0;
    for at in 0..words {
        let bits = marked.iter().fold(0, |bits, marks| bits | marks[at]);
        touched.push(Word { bits, before });
        before += bits.count_ones();
    }
    (touched, before)
}

fn addresses(touched: &[Word], pages: u32) -> Vec<u64> {
    let mut addresses = Vec::with_capacity(pages as usize);
    for (at, word) in touched.iter().enumerate() {
        let mut left = word.bits;
        while left != 0 {
            addresses.push(at as u64 * 64 + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    addresses
}

/// A request touches every page of its span, so sorting the spans and walking once over their union numbers all pages.
fn by_sorting(first_page: impl Fn(usize) -> u64, first_page_op: &[u32]) -> (Vec<u32>, Vec<u64>) {
    let span = |(ops, request): (&[u32], u32)| Span {
        first_page: first_page(request as usize),
        request,
        pages: ops[1] - ops[0],
    };
    let all = first_page_op.windows(2).zip(0..);
    let mut spans: Vec<Span> = all.map(span).filter(|span| span.pages > 0).collect();
    spans.sort_unstable_by_key(|span| span.first_page);
    let mut first_lpn = vec![0u32; first_page_op.len() - 1];
    let mut lpn_address: Vec<u64> = Vec::new();
    for span in &spans {
        // Page behind the last one numbered; all pages of the current run end there.
        let end = lpn_address.last().map_or(0, |&address| address + 1);
        let span_end = span.first_page + u64::from(span.pages);
        let new_from = span.first_page.max(end);
        if new_from < span_end {
            lpn_address.extend(new_from..span_end);
        }
        // Pages from span.first_page to the end of the run are numbered without a gap.
        let run_end = lpn_address.last().map_or(0, |&address| address + 1);
        let behind = run_end - span.first_page;
        first_lpn[span.request as usize] = (lpn_address.len() as u64 - behind) as u32;
    }
    let mut lpn = try_with_capacity(first_page_op.last().map_or(0, |&ops| ops as usize));
    for (&first, ops) in first_lpn.iter().zip(first_page_op.windows(2)) {
        lpn.extend(first..first + (ops[1] - ops[0]));
    }
    (lpn, lpn_address)
}
