//! How often each page is written.

use std::ops::Range;

use flashtwin_trace::{Op, Requests, rows_there};

use super::order::{OrderError, WriteOrder};
use crate::input::Accumulator;
use crate::pages::{NO_PAGE, PageTable};
use crate::sample::Sample;
use flashtwin_bits::prefetch_if_there as prefetch;

/// Enough to ask for memory in time, few enough that the numbers stay in the cache.
const REQUESTS_TOGETHER: usize = 1024;
/// In page writes.
const AHEAD: usize = 16;

/// Counts page writes at one page size: a write request writes each page that it touches once (SWC 3.1, 4.1).
pub(crate) struct CountWrites {
    table: PageTable,
    counted: PageWrites,
    pages: Vec<u32>,
}

impl CountWrites {
    /// Bytes of a page beside its number.
    pub(crate) const PAGE_BYTES: f64 = 4.0;

    /// `in_order` keeps the order of writes as well.
    pub(crate) fn new(page_bytes: u32, in_order: bool, sample: Sample) -> CountWrites {
        let order = in_order.then(|| Ok(WriteOrder::default()));
        let counted = PageWrites { page_bytes, writes: Vec::new(), page_writes: 0, order };
        CountWrites { table: PageTable::new(sample), counted, pages: Vec::new() }
    }

    pub(crate) fn finish(self) -> PageWrites {
        self.counted
    }
}

impl Accumulator for CountWrites {
    fn add(&mut self, requests: &Requests<'_>) {
        for start in (0..requests.len()).step_by(REQUESTS_TOGETHER) {
            let together = part(requests, start..requests.len().min(start + REQUESTS_TOGETHER));
            self.pages.clear();
            let writes = |index: usize| together.op[index] == Op::Write;
            self.table.number(&together, self.counted.page_bytes, writes, &mut self.pages);
            self.counted.add(&self.pages);
        }
    }
}

fn part<'a>(requests: &Requests<'a>, range: Range<usize>) -> Requests<'a> {
    Requests {
        time_ns: &requests.time_ns[range.clone()],
        volume: &requests.volume[range.clone()],
        op: &requests.op[range.clone()],
        offset_bytes: &requests.offset_bytes[range.clone()],
        length_bytes: &requests.length_bytes[range.clone()],
        // One entry more than requests, or empty.
        content_start: requests.content_start.get(range.start..=range.end).unwrap_or(&[]),
        content: requests.content,
        chunk_bytes: requests.chunk_bytes,
        flags: rows_there(requests.flags, range.clone()),
        stream: rows_there(requests.stream, range),
        holes: requests.holes,
        zero_content: requests.zero_content,
    }
}

/// How often each page of one size is written. Pages are numbered in the order of their first write.
#[derive(Debug)]
pub struct PageWrites {
    pub page_bytes: u32,
    /// At least 1 for each page.
    pub writes: Vec<u32>,
    pub page_writes: u64,
    /// The writes in order if they are wanted, or why they are not known.
    pub order: Option<Result<WriteOrder, OrderError>>,
}

impl PageWrites {
    /// Pages without a number are passed over.
    fn add(&mut self, pages: &[u32]) {
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&later) = pages.get(index + AHEAD) {
                prefetch(&self.writes, later as usize);
            }
            if page == NO_PAGE {
                continue;
            }
            match self.writes.get_mut(page as usize) {
                Some(writes) => *writes = writes.saturating_add(1),
                None => self.writes.push(1),
            }
            self.page_writes += 1;
            // An order that cannot be kept is given up, not falsified.
            if let Some(Ok(order)) = &mut self.order
                && let Err(why) = order.push(page)
            {
                self.order = Some(Err(why));
            }
        }
    }

    pub fn per_page(&self) -> Option<f64> {
        (!self.writes.is_empty()).then(|| self.page_writes as f64 / self.writes.len() as f64)
    }
}
