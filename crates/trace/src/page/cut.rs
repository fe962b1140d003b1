//! Cutting requests at page boundaries and numbering the pages they touch densely.

use super::too_large;
use crate::error::{Cause, TraceError};
use crate::memory::{bytes_in_words, memory_allowed_bytes};
use crate::trace::Trace;

pub(super) struct Cut {
    pub(super) partial: Vec<u8>,
    pub(super) first_page_op: Vec<u32>,
    pub(super) lpn: Vec<u32>,
    pub(super) lpn_address: Vec<u64>,
    pub(super) unaligned_content_requests: u64,
}

/// A request's pages on the host's address space, to be sorted by address.
struct Span {
    first_page: u64,
    request: u32,
    pages: u32,
}

pub(super) fn cut(trace: &Trace, page_bytes: u32) -> Result<Cut, TraceError> {
    let requests = trace.len();
    let all = trace.requests(0..requests);
    if requests > (u32::MAX - 1) as usize {
        return Err(too_large(&trace.name, "requests"));
    }
    let base = volume_bases(trace, page_bytes)?;
    let page = u64::from(page_bytes);
    let mut spans = Vec::with_capacity(requests);
    let mut partial = Vec::with_capacity(requests);
    let mut first_page_op = Vec::with_capacity(requests + 1);
    let mut unaligned = 0;
    let mut page_ops = 0u64;
    first_page_op.push(0);
    for request in 0..requests {
        let (start, end) = all.extent(request, page_bytes);
        unaligned += u64::from(start != trace.offset_bytes[request]);
        let (first, last) = (start / page, (end - 1) / page);
        let head = start % page != 0 || (first == last && end % page != 0);
        let tail = end % page != 0 || (first == last && head);
        partial.push(u8::from(head) | u8::from(tail) << 1);
        let pages = last - first + 1;
        page_ops += pages;
        if page_ops >= u64::from(u32::MAX) {
            return Err(too_large(&trace.name, "page operations"));
        }
        first_page_op.push(page_ops as u32);
        spans.push(Span {
            first_page: base[trace.volume[request] as usize] + first,
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
    Ok(Cut { partial, first_page_op, lpn, lpn_address, unaligned_content_requests: unaligned })
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
        Cause::TooLarge,
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
fn volume_bases(trace: &Trace, page_bytes: u32) -> Result<Vec<u64>, TraceError> {
    let volumes = trace.volume.iter().max().map_or(0, |&v| v as usize + 1);
    let mut pages = vec![0u64; volumes];
    let all = trace.requests(0..trace.len());
    for request in 0..trace.len() {
        let (_, end) = all.extent(request, page_bytes);
        let span = &mut pages[trace.volume[request] as usize];
        *span = (*span).max(end.div_ceil(u64::from(page_bytes)));
    }
    let mut next = 0u64;
    for span in &mut pages {
        let base = next;
        next = next.checked_add(*span).ok_or_else(|| {
            TraceError::new(
                Cause::TooLarge,
                &trace.name,
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
