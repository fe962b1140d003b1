//! The first access of each page, and whether it is ever written.

use std::ops::Range;

use super::content::Before;
use super::outline::{FirstAccess, PageQuality};
use super::window::{PageColumns, marks};
use crate::request::Op;

/// The first access that a page operation stands for; `None` if it does not affect the page.
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

const WRITTEN: u8 = 1 << 7;

fn first(touched: u8, is_hole: bool) -> FirstAccess {
    let is_written = touched & WRITTEN != 0;
    let is = |access: FirstAccess| touched & !WRITTEN == access as u8;
    if is(FirstAccess::Write) || (is(FirstAccess::PartialWrite) && is_hole) {
        FirstAccess::Write
    } else if is(FirstAccess::PartialWrite) {
        FirstAccess::PartialWrite
    } else if is(FirstAccess::Read) && !is_hole {
        FirstAccess::Read
    } else if !is_written {
        FirstAccess::Never
    } else if is(FirstAccess::Read) {
        FirstAccess::Hole
    } else {
        FirstAccess::Trim
    }
}

#[derive(Clone, Default)]
pub(super) struct FirstAccesses {
    /// By page, 0 (nothing has happened to it) or a [`FirstAccess`], with [`WRITTEN`] once it was written.
    touched: Vec<u8>,
    partial_writes: u64,
    partial_trims: u64,
}

impl FirstAccesses {
    pub(super) fn add(&mut self, columns: &PageColumns, part: Range<usize>, pages: usize) {
        if pages > self.touched.len() {
            self.touched.resize(pages, 0);
        }
        for request in part {
            let (op, page_ops) = (columns.op[request], columns.page_ops_of(request));
            if let (0, Some(access)) = (columns.marks[request] & marks::PARTIAL, as_first(op, false)) {
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

    #[inline]
    fn note(&mut self, page: u32, access: FirstAccess) {
        let touched = &mut self.touched[page as usize];
        if *touched == 0 {
            *touched = access as u8;
        }
        if matches!(access, FirstAccess::Write | FirstAccess::PartialWrite) {
            *touched |= WRITTEN;
        }
    }

    /// The same for the requests of `later`, too, which come behind these, on as many pages.
    pub(super) fn followed_by(mut self, later: &FirstAccesses) -> FirstAccesses {
        for (touched, &later) in self.touched.iter_mut().zip(&later.touched) {
            *touched = if *touched == 0 { later } else { *touched | later & WRITTEN };
        }
        self.partial_writes += later.partial_writes;
        self.partial_trims += later.partial_trims;
        self
    }

    pub(super) fn first(&self, before: &Before) -> Vec<FirstAccess> {
        let touched = self.touched.iter().enumerate();
        touched.map(|(page, &touched)| first(touched, before.is_hole(page))).collect()
    }

    pub(super) fn count(&self, quality: &mut PageQuality) {
        quality.partial_writes = self.partial_writes;
        quality.partial_trims = self.partial_trims;
    }
}
