//! Requests cut into 4 KB pages with their contents.

use flashtwin_trace::{NO_CONTENT, Requests};

/// Of the footprint and of everything about contents.
pub(crate) const PAGE_BYTES: u32 = 4096;

/// The part of a request on one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageOp {
    pub(crate) page: u64,
    pub(crate) whole: bool,
    /// [`NO_CONTENT`] if it is not recorded, or only a part of the page is touched.
    pub(crate) content: u32,
}

/// Ascending; none of a flush. The rules are those of [`flashtwin_trace::PageTrace`].
#[inline]
pub(crate) fn page_ops(requests: &Requests<'_>, index: usize) -> impl Iterator<Item = PageOp> {
    let contents = requests.contents(index);
    let (start, end) = requests.extent(index, PAGE_BYTES);
    let page_bytes = u64::from(PAGE_BYTES);
    let pages = start / page_bytes..end.div_ceil(page_bytes);
    pages.enumerate().map(move |(nth, page)| {
        let whole = page * page_bytes >= start && (page + 1) * page_bytes <= end;
        let recorded = contents.get(nth).copied().unwrap_or(NO_CONTENT);
        PageOp { page, whole, content: if whole { recorded } else { NO_CONTENT } }
    })
}

#[inline]
pub(crate) fn known<'a>(requests: &Requests<'a>, index: usize) -> impl Iterator<Item = u32> + 'a {
    requests.contents(index).iter().copied().filter(|&content| content != NO_CONTENT)
}

/// In requests.
const AHEAD: usize = 16;

/// For prefetches of their entries.
#[inline]
pub(crate) fn soon<'a>(requests: &Requests<'a>, index: usize) -> &'a [u32] {
    requests.contents(index + AHEAD)
}

/// Item `index` of a column that grows when it must.
#[inline]
pub(crate) fn at<T: Clone>(column: &mut Vec<T>, index: u32, default: T) -> &mut T {
    let index = index as usize;
    if index >= column.len() {
        column.resize((index + 1).max(column.len() + column.len() / 2), default);
    }
    &mut column[index]
}
