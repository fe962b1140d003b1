//! A trace cut into page operations, with dense ids for logical pages and contents.

mod content;
mod cut;
mod first_access;
mod follow;
mod intake;
mod made;
mod numbering;
mod outline;
mod reader;
mod scan;
mod source;
mod streamed;
mod table;
mod window;
mod zipf;

pub use intake::PageIntake;
pub use outline::{FirstAccess, Outline, PageQuality};
pub use scan::PageScan;
pub use source::ContentSource;
pub use table::{LastRegion, NumberedPage, PageTable};
pub use window::{PageColumns, PageSource, Window, Windows, marks};
pub(crate) use zipf::Zipf;

use std::ops::Range;
use std::thread;

use flashtwin_bits::{SpareMemory, try_with_capacity};

use crate::error::{ErrorCause, TraceError};
use crate::parts::{in_parts, joined, parts, side_by_side};
use crate::request::{CHUNK_BYTES, Op};
use crate::requests::Requests;
use crate::trace::Trace;
use content::Before;
use first_access::FirstAccesses;
use follow::{Followed, Follower};
use outline::TraceProperties;

/// A trace cut into page operations of one size. Read-only, to be shared by all systems replayed.
///
/// **Cutting.** A request becomes one page operation for each page it touches, in ascending order; a flush none. A
/// request with contents is moved down to the next multiple of `chunk_bytes`, so that a misaligned partition does not
/// smear each content over two pages. That is done for any content source, so that all systems see the same page
/// operations.
///
/// **Pages larger than a chunk.** The content of a page is the interned tuple of its chunks' contents. A chunk whose
/// content before the trace is not known has one of its own.
///
/// **Partial operations.** A write of a part of a chunk gives the chunk a new content, since the result is unknown. A
/// trim of a part of a page changes nothing, as in real devices. Its page operation exists, so that every request has
/// one.
#[derive(Clone, Debug, PartialEq)]
pub struct PageTrace {
    /// The pages, and their contents before the trace.
    pub outline: Outline,
    /// All requests and their page operations.
    pub columns: PageColumns,
}

const SECTOR_BYTES: u32 = 512;

impl PageTrace {
    /// Cuts `trace` into pages of `page_bytes` (a multiple of 512; with recorded contents of the trace's
    /// `chunk_bytes`).
    ///
    /// # Errors
    /// A page size that does not fit, contents that the trace does not have, or more pages, page operations or contents
    /// than 32-bit ids can name.
    pub fn build(
        trace: &Trace,
        page_bytes: u32,
        content_source: ContentSource,
    ) -> Result<PageTrace, TraceError> {
        check_arguments(&trace.name, page_bytes, content_source)?;
        check_contents(&trace.name, page_bytes, content_source, trace.has_content())?;
        PageTrace::in_parts(trace, page_bytes, content_source, &parts(trace.len()))
    }

    fn in_parts(
        trace: &Trace,
        page_bytes: u32,
        content_source: ContentSource,
        parts: &[Range<usize>],
    ) -> Result<PageTrace, TraceError> {
        let (mut columns, lpn_address, volumes, unaligned_content_requests) =
            cut::cut(trace, page_bytes, parts)?;
        let pages = lpn_address.len();
        let requests = trace.requests(0..trace.len());
        let mut quality = PageQuality { unaligned_content_requests, ..PageQuality::default() };
        let recorded = content_source == ContentSource::Recorded;
        let (accesses, before) = beginning(&requests, &columns, page_bytes, pages, parts, recorded);
        accesses.count(&mut quality);
        let first_access = accesses.first(&before);
        let first = Some(&first_access[..]);
        let known = TraceProperties { name: &trace.name, page_bytes, chunk_bytes: CHUNK_BYTES, first };
        columns.content = try_with_capacity(columns.lpn.len());
        let rooms = [SpareMemory::of(&columns.content)];
        let mut follower = Follower::new(content_source, &known).unwrap_or(Follower::None);
        let (digest, bytes) = thread::scope(|scope| {
            // Contents are followed by one thread: there is a processor to spare.
            let aside = scope.spawn(|| {
                let mut bytes = [0; Op::COUNT];
                add_bytes(&requests, &mut bytes);
                (trace.digest(), bytes)
            });
            let follow = || follower.add(&requests, &mut columns, pages, &before, &mut quality);
            SpareMemory::touch_while(&rooms, follow)?;
            Ok(joined(aside))
        })?;
        let Followed { initial_content, content_count, zero_content } =
            follower.finish(pages, trace.zero_content);
        let outline = Outline {
            name: trace.name.clone(),
            digest,
            read_as: trace.read_as().text,
            page_bytes,
            requests: trace.len() as u64,
            page_ops: columns.page_ops() as u64,
            bytes,
            duration_ns: trace.duration_ns(),
            lpn_address,
            volumes,
            content_count,
            zero_content,
            initial_content,
            first_access,
            content_source,
            quality,
        };
        Ok(PageTrace { outline, columns })
    }

    /// All of it as the one window that a replay goes through.
    pub fn window(&self) -> Window<'_> {
        self.columns.window(0, &self.outline)
    }
}

/// The first access of each page, and its content before the trace if contents are `recorded`.
fn beginning(
    requests: &Requests<'_>,
    columns: &PageColumns,
    page_bytes: u32,
    pages: usize,
    parts: &[Range<usize>],
    recorded: bool,
) -> (FirstAccesses, Before) {
    // Each part has page tables of its own. Together they must take less memory than following the contents later.
    let whole = in_parts(requests.len(), 1);
    let parts = if pages * parts.len() <= 2 * columns.page_ops() { parts } else { &whole };
    let mut holes = Before::new(page_bytes, CHUNK_BYTES);
    holes.look_up(requests, columns, pages);
    let observed = side_by_side(parts.iter().cloned(), |part| {
        let (mut accesses, mut before) = (FirstAccesses::default(), holes.clone());
        if recorded {
            before.add(requests, columns, part.clone(), pages);
        }
        accesses.add(columns, part, pages);
        (accesses, before)
    });
    let together = observed.into_iter().reduce(|(accesses, before), (later_accesses, later_before)| {
        (accesses.followed_by(&later_accesses), before.followed_by(&later_before))
    });
    together.unwrap_or_else(|| (FirstAccesses::default(), holes))
}

fn add_bytes(requests: &Requests<'_>, bytes: &mut [u64; Op::COUNT]) {
    for (&op, &length) in requests.op.iter().zip(requests.length_bytes) {
        bytes[op as usize] += u64::from(length);
    }
}

fn check_arguments(name: &str, page_bytes: u32, content_source: ContentSource) -> Result<(), TraceError> {
    if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(TraceError::new(
            ErrorCause::Argument,
            name,
            format!("{page_bytes} bytes is not a page size"),
            "use a multiple of 512, such as 4096 or 16384",
        ));
    }
    content_source.check()
}

fn check_contents(
    name: &str,
    page_bytes: u32,
    content_source: ContentSource,
    has_content: bool,
) -> Result<(), TraceError> {
    if content_source != ContentSource::Recorded {
        return Ok(());
    }
    if !has_content {
        return Err(TraceError::new(
            ErrorCause::NoContent,
            name,
            "this trace carries no content, which the system needs",
            "use `--content unique` to give every write a content of its own, `--content 'zipf(0.8,100000)'` to draw them by popularity, or a system that does not look at contents, such as `conventional`",
        ));
    }
    if !page_bytes.is_multiple_of(CHUNK_BYTES) {
        return Err(TraceError::new(
            ErrorCause::Argument,
            name,
            format!("pages of {page_bytes} bytes do not fit contents recorded for {CHUNK_BYTES} bytes each"),
            format!("use a page size that is a multiple of {CHUNK_BYTES}, or `--content unique`"),
        ));
    }
    Ok(())
}

fn too_large(name: &str, what: &str) -> TraceError {
    TraceError::new(
        ErrorCause::TooLarge,
        name,
        format!("more than {} {what}", u32::MAX - 1),
        "replay it with --stream, which counts requests and page operations in 64 bits; or sample it (`flashtwin trace \
         sample`), split it by volume (`flashtwin trace split`), cut it (`flashtwin trace cut`), or use larger pages",
    )
}

#[cfg(test)]
mod tests;
