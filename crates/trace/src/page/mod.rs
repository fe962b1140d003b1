//! A trace cut into page operations, with dense ids for logical pages and contents.

mod content;
mod cut;
mod made;
mod source;
mod zipf;

use schemars::JsonSchema;
use serde::Serialize;

pub use source::ContentSource;
pub(crate) use zipf::Zipf;

use crate::error::{Cause, TraceError};
use crate::request::{NO_CONTENT, Op};
use crate::trace::Trace;

/// What the first access to a page is, which tells whether the page existed before the trace.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstAccess {
    /// It is trimmed, in part only: the trim does nothing and nothing else happens to the page.
    None,
    /// It is read: it existed.
    Read,
    /// It is written as a whole: whether it existed does not matter.
    Write,
    /// A part of it is written: it existed, and the rest is kept (read-modify-write).
    PartialWrite,
    /// It is trimmed: whether it existed does not matter.
    Trim,
}

/// What was noticed while pages and their contents were followed through a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PageQuality {
    /// Page reads whose recorded content differs from what is known to be in the page. The known
    /// content wins.
    pub read_mismatches: u64,
    /// Page reads with a recorded content of a page that was last written with an unknown one (a
    /// part of it was written, or the trace does not say). The page keeps its nameless content.
    pub unknown_content_reads: u64,
    /// Page reads of pages that were trimmed and not written since; they have no content.
    pub reads_after_trim: u64,
    /// Requests with contents that do not begin on the grid of contents; they were moved down to it.
    pub unaligned_content_requests: u64,
    /// Page writes that cover only a part of their page.
    pub partial_writes: u64,
    /// Page trims that cover only a part of their page; they change nothing.
    pub partial_trims: u64,
}

/// A trace cut into page operations of one size. Read-only, to be shared by all systems replayed.
///
/// **Cutting.** A request becomes one page operation for each page it touches, in ascending order. A
/// request that carries contents is cut on the grid of its contents: content `k` belongs to the page
/// that holds the first byte of its chunk. In effect the request is moved down to the next multiple
/// of `chunk_bytes`, so that a misaligned partition does not smear each content over two pages. That
/// is done for any content source, so that all systems see the same page operations.
///
/// **Pages larger than a chunk.** The content of a page is the tuple of its chunks' contents, interned.
/// A chunk whose content before the trace is not known has one of its own.
///
/// **Partial operations.** A write of a part of a chunk gives the chunk a content never seen before,
/// since nobody knows the result. A trim of a part of a page changes nothing, as in real devices; its
/// page operation is there (with its bit in `partial`) so that no request is without one.
#[derive(Clone, Debug, PartialEq)]
pub struct PageTrace {
    /// The trace's name.
    pub name: String,
    /// [`Trace::digest`] of the trace.
    pub digest: String,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Arrival of each request, in nanoseconds, ascending from 0.
    pub time_ns: Vec<i64>,
    /// What each request asks.
    pub op: Vec<Op>,
    /// Bytes that all requests of a kind address, as the trace has them: reads, writes, trims.
    pub bytes: [u64; 3],
    /// Of each request, bit 0: the first page operation covers only a part of its page; bit 1: the
    /// last one does. A request of a single page has both or none.
    pub partial: Vec<u8>,
    /// Request `i` has the page operations `first_page_op[i]..first_page_op[i + 1]`, at least one.
    pub first_page_op: Vec<u32>,
    /// Dense logical page number of each page operation.
    pub lpn: Vec<u32>,
    /// Content of each page operation: what a write brings (the whole page's content after it), what
    /// a read finds. [`NO_CONTENT`] for trims, for reads after a trim, and without contents.
    pub content: Vec<u32>,
    /// Page number on the host's address space of each dense logical page, ascending. Volumes lie one
    /// behind another in the order of their numbers, each as long as its highest page needs.
    pub lpn_address: Vec<u64>,
    /// Number of contents; ids are below it, in order of first appearance.
    pub content_count: u32,
    /// For each dense logical page that existed before the trace, the content it held; otherwise, and
    /// without contents, [`NO_CONTENT`].
    pub initial_content: Vec<u32>,
    /// What happens first to each dense logical page.
    pub first_access: Vec<FirstAccess>,
    /// Where the contents come from.
    pub content_source: ContentSource,
    /// What was noticed.
    pub quality: PageQuality,
}

const SECTOR_BYTES: u32 = 512;

impl PageTrace {
    /// Cuts `trace` into pages of `page_bytes` (a multiple of 512; with recorded contents a multiple
    /// of the trace's `chunk_bytes`).
    ///
    /// # Errors
    /// A page size that does not fit, contents asked for that the trace does not have, or more pages,
    /// page operations or contents than 32-bit ids can name.
    pub fn build(
        trace: &Trace,
        page_bytes: u32,
        content_source: ContentSource,
    ) -> Result<PageTrace, TraceError> {
        check_arguments(trace, page_bytes, content_source)?;
        let cut = cut::cut(trace, page_bytes)?;
        let mut pages = PageTrace {
            name: trace.name.clone(),
            digest: trace.digest(),
            page_bytes,
            time_ns: trace.time_ns.clone(),
            op: trace.op.clone(),
            bytes: bytes_by_kind(trace),
            partial: cut.partial,
            first_page_op: cut.first_page_op,
            content: Vec::new(),
            lpn: cut.lpn,
            content_count: 0,
            initial_content: Vec::new(),
            first_access: Vec::new(),
            lpn_address: cut.lpn_address,
            content_source,
            quality: PageQuality {
                unaligned_content_requests: cut.unaligned_content_requests,
                ..PageQuality::default()
            },
        };
        pages.note_first_accesses();
        match content_source {
            ContentSource::Recorded => content::follow_recorded(trace, &mut pages)?,
            ContentSource::None => {
                pages.content = vec![NO_CONTENT; pages.lpn.len()];
                pages.initial_content = vec![NO_CONTENT; pages.lpn_address.len()];
            }
            made_up => made::follow(made_up, &mut pages)?,
        }
        Ok(pages)
    }

    /// Number of distinct logical pages touched.
    pub fn footprint_pages(&self) -> u32 {
        self.lpn_address.len() as u32
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
    pub fn page_ops_of(&self, request: usize) -> std::ops::Range<usize> {
        self.first_page_op[request] as usize..self.first_page_op[request + 1] as usize
    }

    /// Whether page operation `page_op` of `request` covers only a part of its page.
    #[inline]
    pub fn is_partial(&self, request: usize, page_op: usize) -> bool {
        let ops = self.page_ops_of(request);
        let bits = self.partial[request];
        (page_op == ops.start && bits & 1 != 0) || (page_op + 1 == ops.end && bits & 2 != 0)
    }

    /// Whether a dense logical page is read before anything is written to it.
    pub fn first_access_is_read(&self, lpn: u32) -> bool {
        self.first_access[lpn as usize] == FirstAccess::Read
    }

    /// Whether a dense logical page must have existed before the trace: it is first read, or a part
    /// of it is first written.
    pub fn existed_before(&self, lpn: u32) -> bool {
        matches!(self.first_access[lpn as usize], FirstAccess::Read | FirstAccess::PartialWrite)
    }

    fn note_first_accesses(&mut self) {
        let mut first = vec![FirstAccess::None; self.lpn_address.len()];
        let mut quality = std::mem::take(&mut self.quality);
        for request in 0..self.requests() {
            for page_op in self.page_ops_of(request) {
                let partial = self.is_partial(request, page_op);
                let access = match (self.op[request], partial) {
                    (Op::Read, _) => FirstAccess::Read,
                    (Op::Write, false) => FirstAccess::Write,
                    (Op::Write, true) => {
                        quality.partial_writes += 1;
                        FirstAccess::PartialWrite
                    }
                    (Op::Trim, false) => FirstAccess::Trim,
                    (Op::Trim, true) => {
                        quality.partial_trims += 1;
                        continue;
                    }
                };
                let slot = &mut first[self.lpn[page_op] as usize];
                if *slot == FirstAccess::None {
                    *slot = access;
                }
            }
        }
        self.first_access = first;
        self.quality = quality;
    }
}

/// Bytes that the requests of each kind address.
fn bytes_by_kind(trace: &Trace) -> [u64; 3] {
    let mut bytes = [0; 3];
    for (&op, &length) in trace.op.iter().zip(&trace.length_bytes) {
        bytes[op as usize] += u64::from(length);
    }
    bytes
}

fn check_arguments(trace: &Trace, page_bytes: u32, content_source: ContentSource) -> Result<(), TraceError> {
    if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(TraceError::new(
            Cause::Argument,
            &trace.name,
            format!("{page_bytes} bytes is not a page size"),
            "use a multiple of 512, such as 4096 or 16384",
        ));
    }
    content_source.check()?;
    if content_source != ContentSource::Recorded {
        return Ok(());
    }
    if !trace.has_content() {
        return Err(TraceError::new(
            Cause::NoContent,
            &trace.name,
            "this trace carries no content, which the system needs",
            "use `--content unique` to give every write a content of its own, `--content 'zipf(0.8,100000)'` to draw them by popularity, or a system that does not look at contents, such as `conventional`",
        ));
    }
    if !page_bytes.is_multiple_of(trace.chunk_bytes) {
        return Err(TraceError::new(
            Cause::Argument,
            &trace.name,
            format!(
                "pages of {page_bytes} bytes do not fit contents recorded for {} bytes each",
                trace.chunk_bytes
            ),
            format!("use a page size that is a multiple of {}, or `--content unique`", trace.chunk_bytes),
        ));
    }
    Ok(())
}

/// More of something than 32-bit ids can name.
fn too_large(name: &str, what: &str) -> TraceError {
    TraceError::new(
        Cause::TooLarge,
        name,
        format!("more than {} {what}", u32::MAX - 1),
        "cut the trace into shorter parts, or use larger pages",
    )
}
