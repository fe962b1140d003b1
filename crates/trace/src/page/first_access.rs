//! What happens first to each page.

use super::outline::{FirstAccess, PageQuality};
use super::window::PageColumns;
use crate::request::Op;

/// What a page operation is as the first one of its page; `None` for what does nothing to it.
#[inline]
pub(super) fn as_first(op: Op, partial: bool) -> Option<FirstAccess> {
    match (op, partial) {
        (Op::Read, _) => Some(FirstAccess::Read),
        (Op::Write, false) => Some(FirstAccess::Write),
        (Op::Write, true) => Some(FirstAccess::PartialWrite),
        (Op::Trim, false) => Some(FirstAccess::Trim),
        (Op::Trim, true) => None,
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
    /// Notes page operations on pages with numbers below `pages`.
    pub(super) fn add(&mut self, columns: &PageColumns, pages: usize) {
        if pages > self.first.len() {
            self.first.resize(pages, FirstAccess::None);
        }
        for request in 0..columns.requests() {
            let op = columns.op[request];
            for page_op in columns.page_ops_of(request) {
                let partial = columns.is_partial(request, page_op);
                self.partial_writes += u64::from(op == Op::Write && partial);
                let Some(access) = as_first(op, partial) else {
                    self.partial_trims += 1;
                    continue;
                };
                let slot = &mut self.first[columns.lpn[page_op] as usize];
                if *slot == FirstAccess::None {
                    *slot = access;
                }
            }
        }
    }

    /// Enters what was counted.
    pub(super) fn count(&self, quality: &mut PageQuality) {
        quality.partial_writes = self.partial_writes;
        quality.partial_trims = self.partial_trims;
    }
}
