//! Page operations as a replay takes them in: window by window, whether the trace is in memory or streamed.

use std::ops::Range;
use std::sync::Arc;

use super::{Outline, PageTrace};
use crate::error::TraceError;
use crate::request::Op;

/// Marks of a request.
pub mod marks {
    /// The first page operation covers only a part of its page.
    pub const FIRST_IS_PARTIAL: u8 = 1;
    /// The last one does.
    pub const LAST_IS_PARTIAL: u8 = 2;
    /// Either of them.
    pub const PARTIAL: u8 = FIRST_IS_PARTIAL | LAST_IS_PARTIAL;
    /// The request is to be on the medium before it is answered (forced unit access).
    pub const DURABLE: u8 = 4;
    /// Bits of the submission queue: where they begin. They lie where [`crate::flags`] has them.
    pub const QUEUE_SHIFT: u32 = crate::flags::QUEUE_SHIFT;
}

/// Consecutive requests cut into page operations, as columns. Columns by request are shared with a trace in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageColumns {
    /// Arrival of each request, in nanoseconds, ascending; that of the trace's first is 0.
    pub time_ns: Arc<Vec<i64>>,
    /// Operation of each request.
    pub op: Arc<Vec<Op>>,
    /// Number of the volume of each request, below that of [`Outline::volumes`].
    pub volume: Arc<Vec<u32>>,
    /// First byte of each request on its volume.
    pub offset_bytes: Arc<Vec<u64>>,
    /// Bytes of each request.
    pub length_bytes: Arc<Vec<u32>>,
    /// [`crate::Trace::stream`] of each request: may be shorter than the others.
    pub stream: Arc<Vec<u16>>,
    /// Of each request, bits of [`marks`]. A request of a single page is partial at both ends or at none.
    pub marks: Vec<u8>,
    /// Request `i` has the page operations `first_page_op[i]..first_page_op[i + 1]`: at least one, none of a flush.
    pub first_page_op: Vec<u32>,
    /// Dense logical page number of each page operation.
    pub lpn: Vec<u32>,
    /// Content of each page operation: of a write the whole page's after it. [`NO_CONTENT`](crate::NO_CONTENT) for
    /// trims, reads after a trim, and without contents.
    pub content: Vec<u32>,
}

impl PageColumns {
    /// The columns as a window whose first request is number `first_request` of the trace.
    pub fn window<'a>(&'a self, first_request: u64, outline: &'a Outline) -> Window<'a> {
        Window {
            first_request,
            time_ns: &self.time_ns,
            op: &self.op,
            volume: &self.volume,
            offset_bytes: &self.offset_bytes,
            length_bytes: &self.length_bytes,
            stream: &self.stream,
            marks: &self.marks,
            first_page_op: &self.first_page_op,
            lpn: &self.lpn,
            content: &self.content,
            lpn_address: &outline.lpn_address,
        }
    }

    /// Number of requests.
    pub fn requests(&self) -> usize {
        self.time_ns.len()
    }

    /// Number of page operations.
    pub fn page_ops(&self) -> usize {
        self.lpn.len()
    }

    /// Page operations of a request.
    #[inline]
    pub fn page_ops_of(&self, request: usize) -> Range<usize> {
        self.first_page_op[request] as usize..self.first_page_op[request + 1] as usize
    }

    /// Whether page operation `page_op` of `request` covers only a part of its page.
    #[inline]
    pub fn is_partial(&self, request: usize, page_op: usize) -> bool {
        is_partial(self.marks[request], &self.page_ops_of(request), page_op)
    }

    pub(super) fn clear(&mut self) {
        Arc::make_mut(&mut self.time_ns).clear();
        Arc::make_mut(&mut self.op).clear();
        Arc::make_mut(&mut self.volume).clear();
        Arc::make_mut(&mut self.offset_bytes).clear();
        Arc::make_mut(&mut self.length_bytes).clear();
        Arc::make_mut(&mut self.stream).clear();
        self.marks.clear();
        self.first_page_op.clear();
        self.lpn.clear();
        self.content.clear();
    }
}

#[inline]
fn is_partial(bits: u8, page_ops: &Range<usize>, page_op: usize) -> bool {
    (page_op == page_ops.start && bits & marks::FIRST_IS_PARTIAL != 0)
        || (page_op + 1 == page_ops.end && bits & marks::LAST_IS_PARTIAL != 0)
}

/// [`PageColumns`], borrowed: the input of a replay. A trace in memory is a single window.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Window<'a> {
    /// Number of the window's first request in the trace.
    pub first_request: u64,
    pub time_ns: &'a [i64],
    pub op: &'a [Op],
    pub volume: &'a [u32],
    pub offset_bytes: &'a [u64],
    pub length_bytes: &'a [u32],
    pub stream: &'a [u16],
    pub marks: &'a [u8],
    pub first_page_op: &'a [u32],
    pub lpn: &'a [u32],
    pub content: &'a [u32],
    /// [`Outline::lpn_address`], of the whole trace.
    pub lpn_address: &'a [u64],
}

impl Window<'_> {
    /// Whether a request is to be on the medium before it is answered.
    #[inline]
    pub fn is_durable(&self, request: usize) -> bool {
        self.marks[request] & marks::DURABLE != 0
    }

    /// The submission queue of a request, 0 to 31.
    #[inline]
    pub fn queue(&self, request: usize) -> u8 {
        self.marks[request] >> marks::QUEUE_SHIFT
    }

    /// The stream of a request, or [`crate::NO_STREAM`].
    #[inline]
    pub fn stream_of(&self, request: usize) -> u16 {
        self.stream.get(request).copied().unwrap_or(crate::NO_STREAM)
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// Page operations of a request.
    #[inline]
    pub fn page_ops_of(&self, request: usize) -> Range<usize> {
        self.first_page_op[request] as usize..self.first_page_op[request + 1] as usize
    }

    /// Whether page operation `page_op` of `request` covers only a part of its page.
    #[inline]
    pub fn is_partial(&self, request: usize, page_op: usize) -> bool {
        is_partial(self.marks[request], &self.page_ops_of(request), page_op)
    }
}

/// A trace cut into pages that can be gone through from its beginning, as often as needed.
pub trait PageSource: Sync {
    /// The trace as a whole, but for its page operations.
    fn outline(&self) -> &Outline;

    /// The windows of the trace, one behind another. Fails when a file cannot be read again.
    fn windows(&self) -> Result<Box<dyn Windows + '_>, TraceError>;

    /// The contents of page operations, by their numbers in the trace. Fails as [`Windows::next`].
    fn contents_at(&self, page_ops: &[u64]) -> Result<Vec<u32>, TraceError> {
        let mut order: Vec<usize> = (0..page_ops.len()).collect();
        order.sort_unstable_by_key(|&at| page_ops[at]);
        let mut contents = vec![crate::NO_CONTENT; page_ops.len()];
        let mut wanted = order.into_iter().peekable();
        let mut windows = self.windows()?;
        let mut first = 0u64;
        while wanted.peek().is_some() {
            let Some(window) = windows.next()? else { break };
            let end = first + window.content.len() as u64;
            while let Some(at) = wanted.next_if(|&at| page_ops[at] < end) {
                contents[at] = window.content[(page_ops[at] - first) as usize];
            }
            first = end;
        }
        Ok(contents)
    }
}

/// The windows of a trace, in order.
pub trait Windows {
    /// The next one; `None` at the end. Fails when the file cannot be read, or has changed since it was read first.
    fn next(&mut self) -> Result<Option<Window<'_>>, TraceError>;
}

impl PageSource for PageTrace {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn windows(&self) -> Result<Box<dyn Windows + '_>, TraceError> {
        Ok(Box::new(Whole(Some(self.window()))))
    }

    fn contents_at(&self, page_ops: &[u64]) -> Result<Vec<u32>, TraceError> {
        Ok(page_ops.iter().map(|&at| self.columns.content[at as usize]).collect())
    }
}

struct Whole<'a>(Option<Window<'a>>);

impl Windows for Whole<'_> {
    fn next(&mut self) -> Result<Option<Window<'_>>, TraceError> {
        Ok(self.0.take())
    }
}
