//! Cutting requests at page boundaries and numbering the pages they touch densely.

use std::ops::Range;
use std::sync::Arc;

use flashtwin_bits::zeros;

use super::numbering::number_pages;
use super::too_large;
use super::window::{PageColumns, marks};
use crate::error::{ErrorCause, TraceError};
use crate::memory::{bytes_in_words, memory_allowed_bytes};
use crate::parts::{pieces, side_by_side};
use crate::requests::Requests;
use crate::trace::Trace;

/// How a request lies on pages.
pub(super) struct OnPages {
    pub(super) pages: Range<u64>,
    pub(super) marks: u8,
    pub(super) unaligned: bool,
}

#[inline]
pub(super) fn on_pages(requests: &Requests<'_>, index: usize, page_bytes: u32) -> OnPages {
    let (start, end) = requests.extent(index, page_bytes);
    if start == end {
        return OnPages { pages: 0..0, marks: requests.queue(index) << marks::QUEUE_SHIFT, unaligned: false };
    }
    let (first, before) = divided(start, page_bytes);
    let (last, behind) = divided(end - 1, page_bytes);
    let ends_within = behind + 1 != u64::from(page_bytes);
    let head = before != 0 || (first == last && ends_within);
    let tail = ends_within || (first == last && head);
    OnPages {
        pages: first..last + 1,
        marks: marks_of(head, tail, requests.is_durable(index), requests.queue(index)),
        unaligned: start != requests.offset_bytes[index],
    }
}

#[inline]
fn marks_of(first_is_partial: bool, last_is_partial: bool, durable: bool, queue: u8) -> u8 {
    (u8::from(first_is_partial) * marks::FIRST_IS_PARTIAL)
        | (u8::from(last_is_partial) * marks::LAST_IS_PARTIAL)
        | (u8::from(durable) * marks::DURABLE)
        | (queue << marks::QUEUE_SHIFT)
}

/// The page of a byte, and its place there. Most page sizes are powers of two, by which dividing takes one cycle.
#[inline]
fn divided(byte: u64, page_bytes: u32) -> (u64, u64) {
    if page_bytes.is_power_of_two() {
        (byte >> page_bytes.trailing_zeros(), byte & u64::from(page_bytes - 1))
    } else {
        (byte / u64::from(page_bytes), byte % u64::from(page_bytes))
    }
}

/// Names of volumes, each with its first dense page.
pub(super) type FirstPages = Vec<(String, u32)>;

/// A whole trace cut: its columns without contents, the address of each dense page, the first page of each volume, and
/// the requests moved down to the grid of contents. Goes through `parts` of the requests side by side.
pub(super) fn cut(
    trace: &Trace,
    page_bytes: u32,
    parts: &[Range<usize>],
) -> Result<(PageColumns, Vec<u64>, FirstPages, u64), TraceError> {
    let requests = trace.len();
    let all = trace.requests(0..requests);
    if requests > (u32::MAX - 1) as usize {
        return Err(too_large(&trace.name, "requests"));
    }
    let Laid { marks, first_page_op, volume_pages, unaligned } = lay(&all, &trace.name, page_bytes, parts)?;
    let page_ops: u64 = first_page_op.last().copied().unwrap_or(0).into();
    check_memory(&trace.name, requests as u64, page_ops * PAGE_OP_BYTES, || {
        format!("its {requests} requests are {page_ops} page operations of {page_bytes} bytes")
    })?;
    let space_pages = volume_pages.iter().fold(0u64, |sum, &pages| sum.saturating_add(pages));
    let base = volume_bases(&trace.name, volume_pages)?;
    // Worked out again where it is wanted, instead of 8 bytes a request written down.
    let first_page = |request: usize| {
        let (start, _) = all.extent(request, page_bytes);
        base[all.volume[request] as usize] + divided(start, page_bytes).0
    };
    let (lpn, lpn_address) = number_pages(first_page, &first_page_op, space_pages, parts);
    let volumes = volumes(trace.volume_names.clone(), &base, &lpn_address);
    let columns = PageColumns {
        time_ns: Arc::clone(&trace.time_ns),
        op: Arc::clone(&trace.op),
        volume: Arc::clone(&trace.volume),
        offset_bytes: Arc::clone(&trace.offset_bytes),
        length_bytes: Arc::clone(&trace.length_bytes),
        stream: Arc::clone(&trace.stream),
        marks,
        first_page_op,
        lpn,
        content: Vec::new(),
    };
    Ok((columns, lpn_address, volumes, unaligned))
}

/// Of volumes that begin at these pages of the host's address space.
pub(super) fn volumes(names: Vec<String>, bases: &[u64], lpn_address: &[u64]) -> FirstPages {
    let first = |volume: usize| {
        let base = bases.get(volume).copied().unwrap_or(u64::MAX);
        lpn_address.partition_point(|&address| address < base) as u32
    };
    names.into_iter().enumerate().map(|(volume, name)| (name, first(volume))).collect()
}

struct Laid {
    marks: Vec<u8>,
    first_page_op: Vec<u32>,
    volume_pages: Vec<u64>,
    unaligned: u64,
}

fn lay(all: &Requests<'_>, name: &str, page_bytes: u32, parts: &[Range<usize>]) -> Result<Laid, TraceError> {
    let mut marks = zeros(all.len());
    let mut first_page_op = zeros(all.len() + 1);
    let lengths = || parts.iter().map(Range::len);
    let pieces = pieces(&mut marks, lengths()).zip(pieces(&mut first_page_op[1..], lengths()));
    let laid = side_by_side(parts.iter().zip(pieces), |(part, (marks, ends))| {
        lay_part(all, page_bytes, part.clone(), marks, ends)
    });
    let (mut volume_pages, mut unaligned, mut page_ops) = (Vec::new(), 0, 0);
    let mut firsts = Vec::new();
    for part in laid {
        firsts.push(page_ops as u32);
        page_ops += part.page_ops;
        unaligned += part.unaligned;
        if page_ops >= u64::from(u32::MAX) {
            return Err(too_large(name, "page operations"));
        }
        for (volume, pages) in (0..).zip(part.volume_pages) {
            lengthen(&mut volume_pages, volume, pages);
        }
    }
    let pieces = self::pieces(&mut first_page_op[1..], lengths());
    side_by_side(firsts.into_iter().zip(pieces).skip(1), |(first, ends)| {
        ends.iter_mut().for_each(|end| *end += first);
    });
    Ok(Laid { marks, first_page_op, volume_pages, unaligned })
}

struct LaidPart {
    page_ops: u64,
    volume_pages: Vec<u64>,
    unaligned: u64,
}

/// Lays the requests of a part on pages; `ends` becomes the page operations of the part up to each request's end.
fn lay_part(
    all: &Requests<'_>,
    page_bytes: u32,
    part: Range<usize>,
    marks: &mut [u8],
    ends: &mut [u32],
) -> LaidPart {
    let mut laid = LaidPart { page_ops: 0, volume_pages: Vec::new(), unaligned: 0 };
    for (request, (marks, end)) in part.zip(marks.iter_mut().zip(ends)) {
        let on = on_pages(all, request, page_bytes);
        laid.unaligned += u64::from(on.unaligned);
        *marks = on.marks;
        laid.page_ops += on.pages.end - on.pages.start;
        // A trace with more page operations than fit is refused, so the value does not matter.
        *end = laid.page_ops as u32;
        lengthen(&mut laid.volume_pages, all.volume[request], on.pages.end);
    }
    laid
}

/// Bytes of a cut trace for each page operation, if each is of another page.
const PAGE_OP_BYTES: u64 = 21;

/// Refuses a trace whose pages or page operations, as `what` says, take more memory than its requests let expect.
pub(super) fn check_memory(
    name: &str,
    requests: u64,
    needed_bytes: u64,
    what: impl FnOnce() -> String,
) -> Result<(), TraceError> {
    let allowed_bytes = memory_allowed_bytes(requests);
    if needed_bytes <= allowed_bytes {
        return Ok(());
    }
    let [needed, allowed] = [needed_bytes, allowed_bytes].map(bytes_in_words);
    Err(TraceError::new(
        ErrorCause::TooLarge,
        name,
        format!("{}, for which a replay takes about {needed} of memory, {allowed} is allowed", what()),
        "check the unit of sizes (the format), thin the trace out with `flashtwin trace sample`, or use larger pages",
    ))
}

pub(super) fn lengthen_volumes(pages: &mut Vec<u64>, requests: &Requests<'_>, page_bytes: u32) {
    for request in 0..requests.len() {
        lengthen(pages, requests.volume[request], requests.pages(request, page_bytes).end);
    }
}

#[inline]
fn lengthen(pages: &mut Vec<u64>, volume: u32, end: u64) {
    let volume = volume as usize;
    if volume >= pages.len() {
        pages.resize(volume + 1, 0);
    }
    pages[volume] = pages[volume].max(end);
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

/// Page operations of a window: few long requests are as much work as many short ones.
const WINDOW_PAGE_OPS: u64 = 1 << 18;
/// Distance of the prefetch of page slots, in requests.
const AHEAD: usize = 12;

/// The requests of a batch that make the next window, from `first` on: at most `most` of them, at least one.
pub(super) fn window_of(batch: &Trace, first: usize, most: usize, page_bytes: u32) -> Range<usize> {
    let all = batch.requests(0..batch.len());
    let (mut end, mut page_ops) = (first, 0);
    while end < batch.len() && end - first < most && page_ops < WINDOW_PAGE_OPS {
        let pages = all.pages(end, page_bytes);
        page_ops += pages.end - pages.start;
        end += 1;
    }
    first..end
}

pub(super) trait Numbering {
    fn ask_for(&mut self, volume: u32, page: u64);

    /// Appends the numbers of a run of pages; false where one has none.
    fn number(&mut self, volume: u32, pages: Range<u64>, ids: &mut Vec<u32>) -> bool;
}

/// Cuts requests into page operations; how many were moved to the grid of contents, `None` if a page has no number.
pub(super) fn cut_window(
    requests: &Requests<'_>,
    page_bytes: u32,
    numbering: &mut impl Numbering,
    columns: &mut PageColumns,
) -> Option<u64> {
    columns.clear();
    Arc::make_mut(&mut columns.time_ns).extend_from_slice(requests.time_ns);
    Arc::make_mut(&mut columns.op).extend_from_slice(requests.op);
    Arc::make_mut(&mut columns.volume).extend_from_slice(requests.volume);
    Arc::make_mut(&mut columns.offset_bytes).extend_from_slice(requests.offset_bytes);
    Arc::make_mut(&mut columns.length_bytes).extend_from_slice(requests.length_bytes);
    Arc::make_mut(&mut columns.stream).extend_from_slice(requests.stream);
    columns.first_page_op.push(0);
    let mut unaligned = 0;
    for request in 0..requests.len() {
        if let Some(&volume) = requests.volume.get(request + AHEAD) {
            numbering.ask_for(volume, requests.pages(request + AHEAD, page_bytes).start);
        }
        let on = on_pages(requests, request, page_bytes);
        unaligned += u64::from(on.unaligned);
        columns.marks.push(on.marks);
        if !numbering.number(requests.volume[request], on.pages, &mut columns.lpn) {
            return None;
        }
        columns.first_page_op.push(columns.lpn.len() as u32);
    }
    Some(unaligned)
}
