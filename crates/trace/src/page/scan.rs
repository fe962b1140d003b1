//! A trace in a file, cut into pages without loading it: the scan before its replay.

use std::ops::Range;
use std::sync::Arc;

use super::content::Before;
use super::cut::{Numbering, check_memory, cut_window, lengthen_volumes, volume_bases, volumes, window_of};
use super::first_access::FirstAccesses;
use super::follow::{Followed, Follower};
use super::outline::{FirstAccess, Outline, PageQuality, TraceProperties};
use super::reader::{Reader, Scanned, stamp};
use super::table::PageTable;
use super::window::PageColumns;
use super::{ContentSource, add_bytes, check_arguments, check_contents, too_large};
use crate::error::TraceError;
use crate::input::Source;
use crate::options::Format;
use crate::options::OpenOptions;
use crate::progress::Progress;
use crate::request::{CHUNK_BYTES, NO_CONTENT, Op};
use crate::stream::TraceStream;

const WINDOW_REQUESTS: usize = 1 << 16;

/// Bytes for a page of the footprint: its number, address, contents, first access, and the controller's entries.
const PAGE_BYTES: u64 = 56;

/// A trace cut into pages as [`super::PageTrace`] is, but read from its file each time it is gone through.
///
/// Memory: about 50 bytes a page of the footprint, 8 bytes a distinct content (56 and more with digests), and a few
/// windows. The scan reads the file once, and so does each pass. Values drawn by popularity, and recorded contents of a
/// page read in part before its content is known, take another reading.
#[derive(Clone)]
pub struct PageScan {
    pub(super) scanned: Arc<Scanned>,
}

impl PageScan {
    /// Reads the trace once. `content` chooses the source of contents, given whether the trace carries any.
    ///
    /// # Errors
    /// As [`TraceStream::open`], [`TraceStream::next`] and [`super::PageTrace::build`].
    pub fn open(
        source: &Source,
        options: &OpenOptions,
        page_bytes: u32,
        content: impl Fn(bool) -> ContentSource,
        progress: &dyn Progress,
    ) -> Result<PageScan, TraceError> {
        PageScan::in_windows(source, options, page_bytes, content, WINDOW_REQUESTS, progress)
    }

    /// [`PageScan::open`] with windows of at most `window_requests` requests. The size changes only memory and time.
    pub fn in_windows(
        source: &Source,
        options: &OpenOptions,
        page_bytes: u32,
        content: impl Fn(bool) -> ContentSource,
        window_requests: usize,
        progress: &dyn Progress,
    ) -> Result<PageScan, TraceError> {
        // A likely case: generated contents do not depend on it, and traces without contents need none.
        let likely = content(true);
        let stamp = stamp(source)?;
        check_arguments(&source.label(), page_bytes, likely)?;
        let mut stream = TraceStream::open(source, options, progress)?;
        let mut first = First::new(stream.name(), page_bytes, likely);
        while let Some(batch) = stream.next(progress)? {
            let mut taken = 0;
            while taken < batch.len() {
                let window = window_of(&batch, taken, window_requests.max(1), page_bytes);
                taken = window.end;
                first.add(&batch.requests(window))?;
                if progress.cancelled() {
                    return Err(TraceError::cancelled(stream.name()));
                }
            }
        }
        let chosen = content(first.has_content);
        check_contents(stream.name(), page_bytes, chosen, first.has_content)?;
        let mut scanned = first.finish(&stream, chosen)?;
        scanned.source = source.clone();
        scanned.options = options.clone();
        scanned.window_requests = window_requests.max(1);
        scanned.stamp = stamp;
        if scanned.outline.content_count == UNDECIDED {
            follow(scanned, progress)
        } else {
            Ok(PageScan { scanned: Arc::new(scanned) })
        }
    }

    /// The same trace for systems that ignore contents, without reading it again.
    #[must_use]
    pub fn without_contents(&self) -> PageScan {
        let Scanned { source, options, outline, volume_order, table, before, .. } = self.scanned.as_ref();
        let outline = Outline {
            content_count: 0,
            zero_content: None,
            initial_content: vec![NO_CONTENT; outline.lpn_address.len()],
            content_source: ContentSource::None,
            quality: without_followed(&outline.quality),
            ..outline.clone()
        };
        let scanned = Scanned {
            source: source.clone(),
            options: options.clone(),
            outline,
            volume_order: volume_order.clone(),
            table: Arc::clone(table),
            before: Arc::clone(before),
            ..*self.scanned
        };
        PageScan { scanned: Arc::new(scanned) }
    }

    /// The format that the trace is read from.
    pub fn format(&self) -> Format {
        self.scanned.format
    }

    /// Whether any request carries contents.
    pub fn has_content(&self) -> bool {
        self.scanned.has_content
    }

    /// Where the contents come from.
    pub fn content_source(&self) -> ContentSource {
        self.scanned.outline.content_source
    }
}

/// A number of contents that is not known yet.
const UNDECIDED: u32 = u32::MAX;

fn follow(scanned: Scanned, progress: &dyn Progress) -> Result<PageScan, TraceError> {
    let scanned = Arc::new(scanned);
    let mut reader = Reader::open(&scanned, progress)?;
    let mut columns = PageColumns::default();
    while reader.next(&mut columns, progress)? {}
    let (followed, quality) = reader.finish();
    let mut scanned = scanned;
    if let Some(scanned) = Arc::get_mut(&mut scanned) {
        let outline = &mut scanned.outline;
        let Followed { initial_content, content_count, zero_content } = followed;
        (outline.initial_content, outline.content_count) = (initial_content, content_count);
        outline.zero_content = zero_content;
        outline.quality = PageQuality {
            read_mismatches: quality.read_mismatches,
            unknown_content_reads: quality.unknown_content_reads,
            reads_of_holes: quality.reads_of_holes,
            ..outline.quality.clone()
        };
    }
    Ok(PageScan { scanned })
}

fn without_followed(quality: &PageQuality) -> PageQuality {
    PageQuality { read_mismatches: 0, unknown_content_reads: 0, reads_of_holes: 0, ..quality.clone() }
}

/// The first way through a file. Pages are numbered by first appearance.
struct First {
    /// Of the requests so far, without the pages.
    outline: Outline,
    table: PageTable,
    volume_pages: Vec<u64>,
    accesses: FirstAccesses,
    before: Before,
    /// `None` where contents are followed only when the file is gone through again.
    follower: Option<Follower>,
    has_content: bool,
    columns: PageColumns,
}

impl First {
    fn new(name: &str, page_bytes: u32, content_source: ContentSource) -> First {
        let known = TraceProperties { name, page_bytes, chunk_bytes: CHUNK_BYTES, first: None };
        // Recorded contents of another size than pages are refused at the end, if there are any.
        let fits = content_source != ContentSource::Recorded || page_bytes.is_multiple_of(CHUNK_BYTES);
        let outline = Outline {
            name: name.to_owned(),
            digest: String::new(),
            read_as: String::new(),
            page_bytes,
            requests: 0,
            page_ops: 0,
            bytes: [0; Op::COUNT],
            duration_ns: 0,
            lpn_address: Vec::new(),
            volumes: Vec::new(),
            content_count: UNDECIDED,
            zero_content: None,
            initial_content: Vec::new(),
            first_access: Vec::new(),
            content_source,
            quality: PageQuality::default(),
        };
        First {
            outline,
            table: PageTable::default(),
            volume_pages: Vec::new(),
            accesses: FirstAccesses::default(),
            before: Before::new(page_bytes, CHUNK_BYTES),
            follower: if fits { Follower::new(content_source, &known) } else { None },
            has_content: false,
            columns: PageColumns::default(),
        }
    }

    fn add(&mut self, requests: &crate::Requests<'_>) -> Result<(), TraceError> {
        let (columns, outline) = (&mut self.columns, &mut self.outline);
        lengthen_volumes(&mut self.volume_pages, requests, outline.page_bytes);
        let unaligned = cut_window(requests, outline.page_bytes, &mut self.table, columns);
        let pages = self.table.len() as usize;
        outline.requests += requests.len() as u64;
        outline.page_ops += columns.page_ops() as u64;
        add_bytes(requests, &mut outline.bytes);
        outline.duration_ns = columns.time_ns.last().copied().unwrap_or(outline.duration_ns);
        self.has_content |= !requests.all_contents().is_empty();
        let Some(unaligned) = unaligned else {
            return Err(too_large(&outline.name, "pages"));
        };
        outline.quality.unaligned_content_requests += unaligned;
        self.check_memory(pages as u64)?;
        let columns = &mut self.columns;
        self.before.look_up(requests, columns, pages);
        self.accesses.add(columns, 0..columns.requests(), pages);
        if self.outline.content_source == ContentSource::Recorded {
            self.before.add(requests, columns, 0..columns.requests(), pages);
        }
        match &mut self.follower {
            Some(follower) => follower.add(requests, columns, pages, &self.before, &mut self.outline.quality),
            None => Ok(()),
        }
    }

    fn check_memory(&self, pages: u64) -> Result<(), TraceError> {
        let Outline { ref name, requests, page_bytes, .. } = self.outline;
        // Asking for the free memory costs a system call.
        if pages * PAGE_BYTES < 1 << 28 {
            return Ok(());
        }
        check_memory(name, requests, pages * PAGE_BYTES, || {
            format!("its first {requests} requests touch {pages} pages of {page_bytes} bytes")
        })
    }

    /// Numbers pages by address. The number of contents is [`UNDECIDED`] where another reading must find out.
    fn finish(self, stream: &TraceStream, content_source: ContentSource) -> Result<Scanned, TraceError> {
        let First { mut table, mut outline, accesses, before, .. } = self;
        let order = stream.volume_order();
        let mut by_number = vec![0; order.len()];
        for (&number, &pages) in order.iter().zip(&self.volume_pages) {
            by_number[number as usize] = pages;
        }
        let bases = volume_bases(&outline.name, by_number)?;
        let in_order: Vec<u64> = order.iter().map(|&number| bases[number as usize]).collect();
        let (renumbered, lpn_address) = table.number_by_address(&in_order);
        let mut volume_names = vec![String::new(); order.len()];
        for (&number, name) in order.iter().zip(stream.volume_names()) {
            volume_names[number as usize].clone_from(name);
        }
        outline.volumes = volumes(volume_names, &bases, &lpn_address);
        let pages = lpn_address.len();
        // Followed contents are not needed if no contents are wanted.
        let followed = match self.follower {
            _ if content_source == ContentSource::None => Some(Follower::None.finish(pages, None)),
            Some(follower) if content_source == outline.content_source && follower.was_right(&before) => {
                Some(follower.finish(pages, stream.zero_content()))
            }
            _ => None,
        };
        if let Some(Followed { initial_content, content_count, zero_content }) = followed {
            (outline.content_count, outline.zero_content) = (content_count, zero_content);
            outline.initial_content = moved(&initial_content, &renumbered, NO_CONTENT);
        }
        accesses.count(&mut outline.quality);
        if content_source == ContentSource::None {
            outline.quality = without_followed(&outline.quality);
        }
        outline.digest = stream.digest();
        outline.read_as = stream.read_as().text;
        outline.lpn_address = lpn_address;
        outline.first_access = moved(&accesses.first(&before), &renumbered, FirstAccess::Never);
        outline.content_source = content_source;
        Ok(Scanned {
            source: Source::Stdin,
            options: OpenOptions::default(),
            window_requests: 1,
            outline,
            volume_order: order.to_vec(),
            table: Arc::new(table),
            before: Arc::new(before.renumbered(&renumbered)),
            format: stream.format(),
            has_content: self.has_content,
            stamp: None,
        })
    }
}

fn moved<T: Copy>(column: &[T], renumbered: &[u32], default: T) -> Vec<T> {
    let mut moved = vec![default; column.len()];
    for (&item, &to) in column.iter().zip(renumbered) {
        moved[to as usize] = item;
    }
    moved
}

impl Numbering for PageTable {
    #[inline]
    fn ask_for(&mut self, volume: u32, page: u64) {
        PageTable::ask_for(self, volume, page);
    }

    #[inline]
    fn number(&mut self, volume: u32, pages: Range<u64>, ids: &mut Vec<u32>) -> bool {
        let mut all = true;
        self.each(volume, pages, |page| match page {
            Some(page) => ids.push(page.id),
            None => all = false,
        });
        all
    }
}
