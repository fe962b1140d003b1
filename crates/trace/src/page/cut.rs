//! Cutting requests at page boundaries and numbering the pages they touch densely.

use std::ops::Range;

use super::too_large;
use super::window::PageColumns;
use crate::error::{ErrorCause, TraceError};
use crate::memory::{bytes_in_words, memory_allowed_bytes};
use crate::requests::Requests;
use crate::trace::Trace;

/// How a request lies on pages.
pub(super) struct OnPages {
    /// The pages it touches, by number on its volume.
    pub(super) pages: Range<u64>,
    /// The bits of [`PageColumns::partial`].
    pub(super) partial: u8,
    /// Whether the request was moved down to the grid of contents.
    pub(super) unaligned: bool,
}

#[inline]
pub(super) fn on_pages(requests: &Requests<'_>, index: usize, page_bytes: u32) -> OnPages {
    let page = u64::from(page_bytes);
    let (start, end) = requests.extent(index, page_bytes);
    let (first, last) = (start / page, (end - 1) / page);
    let head = start % page != 0 || (first == last && end % page != 0);
    let tail = end % page != 0 || (first == last && head);
    OnPages {
        pages: first..last + 1,
        partial: u8::from(head) | u8::from(tail) << 1,
        unaligned: start != requests.offset_bytes[index],
    }
}

/// A request's pages on the host's address space, to be sorted by address.
struct Span {
    first_page: u64,
    request: u32,
    pages: u32,
}

/// A whole trace cut: its columns without contents, the address of each dense page, and how many requests were
/// moved down to the grid of contents.
pub(super) fn cut(trace: &Trace, page_bytes: u32) -> Result<(PageColumns, Vec<u64>, u64), TraceError> {
    let requests = trace.len();
    let all = trace.requests(0..requests);
    if requests > (u32::MAX - 1) as usize {
        return Err(too_large(&trace.name, "requests"));
    }
    let base = bases_of(trace, page_bytes)?;
    let mut spans = Vec::with_capacity(requests);
    let mut partial = Vec::with_capacity(requests);
    let mut first_page_op = Vec::with_capacity(requests + 1);
    let mut unaligned = 0;
    let mut page_ops = 0u64;
    first_page_op.push(0);
    for request in 0..requests {
        let on = on_pages(&all, request, page_bytes);
        unaligned += u64::from(on.unaligned);
        partial.push(on.partial);
        let pages = on.pages.end - on.pages.start;
        page_ops += pages;
        if page_ops >= u64::from(u32::MAX) {
            return Err(too_large(&trace.name, "page operations"));
        }
        first_page_op.push(page_ops as u32);
        spans.push(Span {
            first_page: base[trace.volume[request] as usize] + on.pages.start,
            request: request as u32,
            pages: pages as u32,
        });
    }
    check_memory(&trace.name, requests as u64, page_ops, page_bytes)?;
    let (first_lpn, lpn_address) = number_pages(spans);
    let mut lpn = Vec::with_capacity(page_ops as usize);
    for (request, &first) in first_lpn.iter().enumerate() {
        let pages = first_page_op[request + 1] - first_page_op[request];
        lpn.extend(first..first + pages);
    }
    let (time_ns, op) = (trace.time_ns.clone(), trace.op.clone());
    let columns = PageColumns { time_ns, op, partial, first_page_op, lpn, content: Vec::new() };
    Ok((columns, lpn_address, unaligned))
}

/// Bytes of a cut trace for each page operation, if each is of another page.
const PAGE_OP_BYTES: u64 = 21;

/// Refuses a trace whose page operations would take more memory than its requests let expect.
fn check_memory(name: &str, requests: u64, page_ops: u64, page_bytes: u32) -> Result<(), TraceError> {
    let (needed, allowed) = (page_ops * PAGE_OP_BYTES, memory_allowed_bytes(requests));
    if needed <= allowed {
        return Ok(());
    }
    Err(TraceError::new(
        ErrorCause::TooLarge,
        name,
        format!(
            "its {requests} requests are {page_ops} page operations of {page_bytes} bytes, for which a replay takes \
             about {} of memory, {} is allowed",
            bytes_in_words(needed),
            bytes_in_words(allowed)
        ),
        "check the unit of sizes (the format), thin the trace out with `flashtwin trace sample`, or use larger pages",
    ))
}

/// First page of each volume on the host's address space.
fn bases_of(trace: &Trace, page_bytes: u32) -> Result<Vec<u64>, TraceError> {
    let mut pages = Vec::new();
    let all = trace.requests(0..trace.len());
    lengthen_volumes(&mut pages, &all, page_bytes);
    volume_bases(&trace.name, pages)
}

/// Lengthens volumes, in pages, so that the requests fit.
pub(super) fn lengthen_volumes(pages: &mut Vec<u64>, requests: &Requests<'_>, page_bytes: u32) {
    for request in 0..requests.len() {
        let (_, end) = requests.extent(request, page_bytes);
        let volume = requests.volume[request] as usize;
        if volume >= pages.len() {
            pages.resize(volume + 1, 0);
        }
        pages[volume] = pages[volume].max(end.div_ceil(u64::from(page_bytes)));
    }
}

/// First page of each volume, one behind another, from the pages that each needs.
pub(super) fn volume_bases(name: &str, mut pages: Vec<u64>) -> Result<Vec<u64>, TraceError> {
    let mut next = 0u64;
    for span in &mut pages {
        let base = next;
        next = next.checked_add(*span).ok_or_else(|| {
            TraceError::new(
                ErrorCause::TooLarge,
                name,
                "the volumes together are larger than 2^64 pages",
                "check the unit of the offsets (the format)",
            )
        })?;
        *span = base;
    }
    Ok(pages)
}

/// Dense number of each request's first page, and the address of each dense page.
///
/// A request touches every page of its span, so dense numbers run on within it: sorting the spans and
/// walking once over their union numbers all pages, without looking at each page operation.
fn number_pages(mut spans: Vec<Span>) -> (Vec<u32>, Vec<u64>) {
    spans.sort_unstable_by_key(|span| span.first_page);
    let mut first_lpn = vec![0u32; spans.len()];
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
    (first_lpn, lpn_address)
}
