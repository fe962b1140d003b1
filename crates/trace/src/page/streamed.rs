//! The page operations of a file, window by window, once it is known which pages there are.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::PageSource;
use super::cut::on_pages;
use super::follow::{Followed, Follower, Known};
use super::outline::{Outline, PageQuality};
use super::scan::{PageScan, Scanned};
use super::table::LastRegion;
use super::window::{PageColumns, Window, Windows};
use crate::CHUNK_BYTES;
use crate::error::TraceError;
use crate::progress::Progress;
use crate::requests::Requests;
use crate::stream::TraceStream;
use crate::trace::Trace;

/// Page operations of a window: few long requests are as much work as many short ones.
const WINDOW_PAGE_OPS: u64 = 1 << 18;
/// How many requests ahead the slots of pages are asked for.
const AHEAD: usize = 12;
/// Windows that wait for the replay.
const WINDOWS_AHEAD: usize = 2;

/// The requests of a batch that make the next window, from `first` on: at most `most` of them, at least one.
pub(super) fn window_of(batch: &Trace, first: usize, most: usize, page_bytes: u32) -> Range<usize> {
    let all = batch.requests(0..batch.len());
    let (mut end, mut page_ops) = (first, 0);
    while end < batch.len() && end - first < most && page_ops < WINDOW_PAGE_OPS {
        let pages = all.pages(end, page_bytes);
        page_ops += pages.end - pages.start;
        end += 1;
    }
    first..end
}

/// Whoever numbers pages.
pub(super) trait Numbering {
    /// Asks the memory for what the number of a page will need.
    fn ask_for(&mut self, volume: u32, page: u64);

    /// Appends the numbers of a run of pages; false where one has none.
    fn number(&mut self, volume: u32, pages: Range<u64>, ids: &mut Vec<u32>) -> bool;
}

/// Cuts requests into page operations, without their contents. How many were moved down to the grid of contents;
/// `None` when a page has no number.
pub(super) fn cut_window(
    requests: &Requests<'_>,
    page_bytes: u32,
    numbering: &mut impl Numbering,
    columns: &mut PageColumns,
) -> Option<u64> {
    columns.clear();
    Arc::make_mut(&mut columns.time_ns).extend_from_slice(requests.time_ns);
    Arc::make_mut(&mut columns.op).extend_from_slice(requests.op);
    columns.first_page_op.push(0);
    let mut unaligned = 0;
    for request in 0..requests.len() {
        if let Some(&volume) = requests.volume.get(request + AHEAD) {
            numbering.ask_for(volume, requests.pages(request + AHEAD, page_bytes).start);
        }
        let on = on_pages(requests, request, page_bytes);
        unaligned += u64::from(on.unaligned);
        columns.marks.push(on.marks);
        if !numbering.number(requests.volume[request], on.pages, &mut columns.lpn) {
            return None;
        }
        columns.first_page_op.push(columns.lpn.len() as u32);
    }
    Some(unaligned)
}

/// One way through a file that has been scanned.
pub(super) struct Reader {
    scanned: Arc<Scanned>,
    stream: TraceStream,
    batch: Option<Trace>,
    /// Requests of the batch that are cut already.
    taken: usize,
    last: LastRegion,
    follower: Follower,
    quality: PageQuality,
}

impl Reader {
    pub(super) fn open(scanned: &Arc<Scanned>, progress: &dyn Progress) -> Result<Reader, TraceError> {
        scanned.check_unchanged()?;
        let stream = TraceStream::open(&scanned.source, &scanned.options, progress);
        let stream = stream.map_err(|error| scanned.blame(error))?;
        let outline = &scanned.outline;
        let first = Some(&outline.first_access[..]);
        let known =
            Known { name: &outline.name, page_bytes: outline.page_bytes, chunk_bytes: CHUNK_BYTES, first };
        Ok(Reader {
            // With the first accesses known, every source can make its contents.
            follower: Follower::new(outline.content_source, &known).unwrap_or(Follower::None),
            scanned: Arc::clone(scanned),
            stream,
            batch: None,
            taken: 0,
            last: LastRegion::default(),
            quality: PageQuality::default(),
        })
    }

    /// Puts the next window into `columns`; false at the end, where the file is known to be what it was.
    pub(super) fn next(
        &mut self,
        columns: &mut PageColumns,
        progress: &dyn Progress,
    ) -> Result<bool, TraceError> {
        if self.batch.as_ref().is_none_or(|batch| self.taken == batch.len()) {
            self.batch = self.stream.next(progress).map_err(|error| self.scanned.blame(error))?;
            self.taken = 0;
        }
        let outline = &self.scanned.outline;
        let Some(batch) = &self.batch else {
            let same = self.stream.requests() == outline.requests && self.stream.digest() == outline.digest;
            return if same { Ok(false) } else { Err(self.scanned.changed()) };
        };
        let window = window_of(batch, self.taken, self.scanned.window_requests, outline.page_bytes);
        self.taken = window.end;
        let requests = batch.requests(window);
        let mut numbers = Numbers { scanned: &self.scanned, last: &mut self.last };
        if cut_window(&requests, outline.page_bytes, &mut numbers, columns).is_none() {
            return Err(self.scanned.changed());
        }
        let (pages, before) = (outline.lpn_address.len(), &self.scanned.before);
        self.follower.add(&requests, columns, pages, before, &mut self.quality)?;
        if self.follower.content_count() > outline.content_count {
            return Err(self.scanned.changed());
        }
        Ok(true)
    }

    /// What following all windows told.
    pub(super) fn finish(self) -> (Followed, PageQuality) {
        let pages = self.scanned.outline.lpn_address.len();
        (self.follower.finish(pages), self.quality)
    }
}

struct Numbers<'a> {
    scanned: &'a Scanned,
    last: &'a mut LastRegion,
}

impl Numbering for Numbers<'_> {
    #[inline]
    fn ask_for(&mut self, volume: u32, page: u64) {
        self.scanned.table.ask_for_known(self.last, volume, page);
    }

    #[inline]
    fn number(&mut self, volume: u32, pages: Range<u64>, ids: &mut Vec<u32>) -> bool {
        self.scanned.table.look_up(self.last, volume, pages, ids)
    }
}

impl PageSource for PageScan {
    fn outline(&self) -> &Outline {
        &self.scanned.outline
    }

    fn windows(&self) -> Result<Box<dyn Windows + '_>, TraceError> {
        let stop = Arc::new(AtomicBool::new(false));
        let reader = Reader::open(&self.scanned, &())?;
        let (send, ready) = sync_channel(WINDOWS_AHEAD);
        let (used, recycled) = sync_channel(WINDOWS_AHEAD * 2);
        let watch = Watch(Arc::clone(&stop));
        let thread = thread::spawn(move || read_all(reader, &watch, &send, &recycled));
        Ok(Box::new(Ahead {
            ready,
            used,
            thread: Some(thread),
            stop,
            window: PageColumns::default(),
            next_request: 0,
            outline: &self.scanned.outline,
        }))
    }
}

type Made = Result<PageColumns, TraceError>;

/// Makes windows until the file ends or nobody wants them any more.
fn read_all(mut reader: Reader, watch: &Watch, ready: &SyncSender<Made>, recycled: &Receiver<PageColumns>) {
    loop {
        let mut columns = recycled.try_recv().unwrap_or_default();
        let made = match reader.next(&mut columns, watch) {
            Ok(true) => Ok(columns),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        let last = made.is_err();
        if ready.send(made).is_err() || last {
            return;
        }
    }
}

/// Stops reading when the windows are not wanted any more.
struct Watch(Arc<AtomicBool>);

impl Progress for Watch {
    fn update(&self, _done: u64, _total: u64) {}

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Windows that a thread of their own makes while the one before is replayed.
struct Ahead<'a> {
    ready: Receiver<Made>,
    used: SyncSender<PageColumns>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    window: PageColumns,
    /// Number of the request behind the window.
    next_request: u64,
    outline: &'a Outline,
}

impl Windows for Ahead<'_> {
    fn next(&mut self) -> Result<Option<Window<'_>>, TraceError> {
        // A full channel means that there are buffers enough.
        let _ = self.used.try_send(std::mem::take(&mut self.window));
        let Ok(made) = self.ready.recv() else {
            // The thread has ended: with the file, unless it panicked, which then goes on here.
            if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                std::panic::resume_unwind(panic);
            }
            return Ok(None);
        };
        self.window = made?;
        let first = self.next_request;
        self.next_request += self.window.requests() as u64;
        Ok(Some(self.window.window(first, self.outline)))
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
