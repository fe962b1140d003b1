//! What happens first to each page.

use std::ops::Range;

use super::outline::{FirstAccess, PageQuality};
use super::window::{PageColumns, marks};
use crate::request::Op;

/// What a page operation is as the first one of its page; `None` for what does nothing to it.
#[inline]
pub(super) fn as_first(op: Op, partial: bool) -> Option<FirstAccess> {
    match (op, partial) {
        (Op::Read, _) => Some(FirstAccess::Read),
        (Op::Write, false) => Some(FirstAccess::Write),
        (Op::Write, true) => Some(FirstAccess::PartialWrite),
        (Op::Trim, false) => Some(FirstAccess::Trim),
        (Op::Trim, true) | (Op::Flush, _) => None,
    }
}

/// First accesses by page, gathered window by window.
#[derive(Default)]
pub(super) struct FirstAccesses {
    pub(super) first: Vec<FirstAccess>,
    partial_writes: u64,
    partial_trims: u64,
}

impl FirstAccesses {
    /// Notes the page operations of some requests, on pages with numbers below `pages`.
    pub(super) fn add(&mut self, columns: &PageColumns, part: Range<usize>, pages: usize) {
        if pages > self.first.len() {
            self.first.resize(pages, FirstAccess::None);
        }
        for request in part {
            let (op, page_ops) = (columns.op[request], columns.page_ops_of(request));
            // Most are these.
            if let (0, Some(access)) = (columns.marks[request] & !marks::DURABLE, as_first(op, false)) {
                columns.lpn[page_ops].iter().for_each(|&page| self.note(page, access));
                continue;
            }
            for page_op in page_ops {
                let partial = columns.is_partial(request, page_op);
                self.partial_writes += u64::from(op == Op::Write && partial);
                let Some(access) = as_first(op, partial) else {
                    self.partial_trims += 1;
                    continue;
                };
                self.note(columns.lpn[page_op], access);
            }
        }
    }

    /// Notes an access to a page, unless there was one before.
    #[inline]
    fn note(&mut self, page: u32, access: FirstAccess) {
        let first = &mut self.first[page as usize];
        if *first == FirstAccess::None {
            *first = access;
        }
    }

    /// The same for the requests of `later`, too, which come behind these, on as many pages.
    pub(super) fn followed_by(mut self, later: &FirstAccesses) -> FirstAccesses {
        for (first, &later) in self.first.iter_mut().zip(&later.first) {
            *first = if *first == FirstAccess::None { later } else { *first };
        }
        self.partial_writes += later.partial_writes;
        self.partial_trims += later.partial_trims;
        self
    }

    /// Enters what was counted.
    pub(super) fn count(&self, quality: &mut PageQuality) {
        quality.partial_writes = self.partial_writes;
        quality.partial_trims = self.partial_trims;
    }
}
