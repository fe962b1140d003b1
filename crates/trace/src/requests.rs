//! A run of requests, borrowed: the input of analyses, from memory or from a stream.

use std::ops::Range;

use crate::flags;
use crate::holes::Holes;
use crate::request::{NO_STREAM, Op};

/// Consecutive requests of a trace as columns; the fields are those of [`crate::Trace`]. A streamed trace is read run
/// by run, so a metric that takes runs works on traces larger than memory.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Requests<'a> {
    pub time_ns: &'a [i64],
    pub volume: &'a [u32],
    pub op: &'a [Op],
    pub offset_bytes: &'a [u64],
    pub length_bytes: &'a [u32],
    /// Empty without contents; otherwise one entry more than there are requests, indices into `content`.
    pub content_start: &'a [u64],
    pub content: &'a [u32],
    pub chunk_bytes: u32,
    /// As [`crate::Trace::flags`]: may be shorter than the others.
    pub flags: &'a [u8],
    /// As [`crate::Trace::stream`]: may be shorter than the others.
    pub stream: &'a [u16],
    pub holes: &'a Holes,
    /// As [`crate::Trace::zero_content`]; in a stream, of the requests so far.
    pub zero_content: Option<u32>,
}

/// The rows of a column that may be shorter than the others.
pub fn rows_there<T>(column: &[T], rows: Range<usize>) -> &[T] {
    column.get(rows.start..column.len().min(rows.end)).unwrap_or_default()
}

impl<'a> Requests<'a> {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// Whether request `index` of the run is to be on the medium before it is answered.
    #[inline]
    pub fn is_durable(&self, index: usize) -> bool {
        self.flags_of(index) & flags::DURABLE != 0
    }

    /// The submission queue of request `index` of the run, 0 to 31.
    #[inline]
    pub fn queue(&self, index: usize) -> u8 {
        flags::queue(self.flags_of(index))
    }

    #[inline]
    pub(crate) fn flags_of(&self, index: usize) -> u8 {
        self.flags.get(index).copied().unwrap_or(0)
    }

    /// The stream of request `index` of the run, or [`NO_STREAM`].
    #[inline]
    pub fn stream_of(&self, index: usize) -> u16 {
        self.stream.get(index).copied().unwrap_or(NO_STREAM)
    }

    /// The contents that request `index` of the run carries; empty when none are recorded.
    #[inline]
    pub fn contents(&self, index: usize) -> &'a [u32] {
        match self.content_start.get(index..index + 2) {
            Some(&[start, end]) => &self.content[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The contents of all requests of the run, one behind another.
    pub fn all_contents(&self) -> &'a [u32] {
        match *self.content_start {
            [first, .., end] => &self.content[first as usize..end as usize],
            _ => &[],
        }
    }

    /// First byte of request `index` and the byte behind its last one; the same of a flush. Requests with contents are
    /// moved down to the grid of contents when pages are made of whole chunks; see [`crate::PageTrace`].
    #[inline]
    pub fn extent(&self, index: usize, page_bytes: u32) -> (u64, u64) {
        let offset = self.offset_bytes[index];
        let chunk = self.chunk_bytes;
        let on_grid = page_bytes.is_multiple_of(chunk) && !self.contents(index).is_empty();
        let start = if on_grid { offset - offset % u64::from(chunk) } else { offset };
        (start, start + u64::from(self.length_bytes[index]))
    }

    /// The pages that request `index` touches, by number on its volume; none of a flush.
    #[inline]
    pub fn pages(&self, index: usize, page_bytes: u32) -> Range<u64> {
        let (start, end) = self.extent(index, page_bytes);
        let page = u64::from(page_bytes);
        start / page..end.div_ceil(page)
    }

    /// Advances `holes` from before requests `rows` of the run to after them.
    pub(crate) fn pass(&self, rows: Range<usize>, holes: &mut Holes) {
        for row in rows {
            let (volume, start) = (self.volume[row], self.offset_bytes[row]);
            let bytes = start..start + u64::from(self.length_bytes[row]);
            match self.op[row] {
                Op::Write => holes.remove(volume, &bytes),
                Op::Trim => holes.add(volume, bytes),
                Op::Read | Op::Flush => {}
            }
        }
    }
}
