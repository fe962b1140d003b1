//! Prefetches the tables of upcoming page operations: a replay knows its future.

use flashtwin_bits::prefetch;
use flashtwin_ftl::{Content, Host, Lpn};
use flashtwin_trace::{Op as HostOp, Window};

use super::{Array, Controller};

/// Distances of table prefetches in page operations, about as many as memory takes to answer. An entry of one table
/// leads to the next: [`flashtwin_ftl::Hints::prefetch_far`], `prefetch_near`, `prefetch_next`, `prefetch_last`.
pub(super) const FAR: usize = 16;
pub(super) const NEAR: usize = 8;
const NEXT: usize = 4;
const LAST: usize = 2;
/// Distances of the prefetches of the trace's columns, in page operations or requests.
pub(super) const COLUMN: usize = 64;
pub(super) const LINE: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct LookAhead {
    pub(super) wants_address: bool,
    wants_kind: bool,
    /// The requests to which the page operations [`FAR`] and [`NEAR`] ahead belong.
    ahead: [usize; 2],
}

impl LookAhead {
    pub(super) fn new<C: Controller>(controller: &C) -> Self {
        Self { wants_address: controller.wants_address(), wants_kind: controller.wants_kind(), ahead: [0; 2] }
    }

    pub(super) fn begin_window(&mut self) {
        self.ahead = [0; 2];
    }

    #[inline]
    pub(super) fn host_page(&self, trace: &Window<'_>, at: usize) -> Host {
        let lpn = trace.lpn[at];
        let address = if self.wants_address { trace.lpn_address[lpn as usize] } else { 0 };
        Host { lpn: Lpn::new(lpn), address, content: Content::new(trace.content[at]) }
    }

    #[inline]
    pub(super) fn ask<C: Controller>(
        &mut self,
        controller: &C,
        array: &Array,
        trace: &Window<'_>,
        at: usize,
    ) {
        if at.is_multiple_of(LINE) {
            prefetch(trace.lpn, at + COLUMN);
            prefetch(trace.content, at + COLUMN);
        }
        if let (Some(lpn), Some(content)) = (Self::ahead(trace.lpn, at), Self::ahead(trace.content, at)) {
            let writes = self.writes_ahead(trace, at);
            controller.prefetch_far(Lpn::new(lpn[FAR]), Content::new(content[FAR]), writes[0]);
            if self.wants_address {
                prefetch(trace.lpn_address, lpn[FAR] as usize);
            }
            controller.prefetch_near(Lpn::new(lpn[NEAR]), Content::new(content[NEAR]), writes[1]);
            controller.prefetch_next(Lpn::new(lpn[NEXT]), Content::new(content[NEXT]));
            controller.prefetch_last(Lpn::new(lpn[LAST]));
            if self.wants_address
                && let Some(ppn) = controller.prefetch_place(trace.lpn_address[lpn[NEXT] as usize])
            {
                array.prefetch(ppn);
            }
        }
    }

    #[inline]
    fn ahead(column: &[u32], at: usize) -> Option<&[u32; FAR + 1]> {
        column.get(at..)?.first_chunk()
    }

    #[inline]
    fn writes_ahead(&mut self, trace: &Window<'_>, at: usize) -> [bool; 2] {
        if !self.wants_kind {
            return [true; 2];
        }
        let mut writes = [true; 2];
        for (write, (request, at)) in writes.iter_mut().zip(self.ahead.iter_mut().zip([at + FAR, at + NEAR]))
        {
            while trace.first_page_op[*request + 1] as usize <= at {
                *request += 1;
            }
            *write = trace.op[*request] == HostOp::Write;
        }
        writes
    }
}
