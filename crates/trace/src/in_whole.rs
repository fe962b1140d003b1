//! How much memory a trace takes that is read whole, estimated before it is.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::TraceError;
use crate::input::{Input, Source};
use crate::memory::memory_available_bytes;
use crate::options::OpenOptions;
use crate::progress::Progress;
use crate::stream::TraceStream;

/// Bytes for a request while a trace is read whole, cut and replayed: its columns, twice while they grow, and more.
const WHOLE_REQUEST_BYTES: u64 = 100;
/// The same for each 4 KB that a request touches: contents, page numbers and contents of pages.
const WHOLE_PAGE_BYTES: u64 = 24;
const PAGE_BYTES: u32 = 4096;
/// Times its own size that a trace file takes in memory at most; compressed ones hardly reach it either.
const MOST_TIMES_FILE: u64 = 64;
const MOST_TIMES_COMPRESSED: u64 = 1 << 12;
/// Batches of a stream by which the whole is judged: half a million requests.
const BATCHES_LOOKED_AT: usize = 8;

/// Bytes of memory for reading a trace whole and replaying it, without the tables of a system: estimated from its first
/// requests and the size of the file. 0 for sources that cannot be read twice and for files too small to matter.
pub fn memory_in_whole(
    source: &Source,
    options: &OpenOptions,
    progress: &dyn Progress,
) -> Result<u64, TraceError> {
    let metadata = match source {
        Source::File(path) => path.metadata().ok().filter(|metadata| metadata.is_file()),
        _ => None,
    };
    let bytes = metadata.map_or(0, |metadata| metadata.len());
    let times = if bytes > 0 && Input::open(source, options.format)?.is_packed() {
        MOST_TIMES_COMPRESSED
    } else {
        MOST_TIMES_FILE
    };
    if bytes == 0 || bytes.saturating_mul(times) < memory_available_bytes().unwrap_or(0) {
        return Ok(0);
    }
    let share = Share { progress, read: AtomicU64::new(0), total: AtomicU64::new(0) };
    let mut stream = TraceStream::open(source, options, &share)?;
    let mut bytes = 0;
    let all_is_read = || share.read.load(Ordering::Relaxed) >= share.total.load(Ordering::Relaxed);
    let mut batches = 0;
    // A file of which all is read, and most not yet decompressed, says nothing: its requests have to be counted.
    while batches < BATCHES_LOOKED_AT || all_is_read() {
        let Some(batch) = stream.next(&share)? else { break };
        batches += 1;
        let requests = batch.requests(0..batch.len());
        let pages = (0..batch.len()).map(|index| requests.pages(index, PAGE_BYTES));
        let pages: u64 = pages.map(|pages| pages.end - pages.start).sum();
        bytes += batch.len() as u64 * WHOLE_REQUEST_BYTES + pages * WHOLE_PAGE_BYTES;
    }
    let (read, total) = (share.read.load(Ordering::Relaxed), share.total.load(Ordering::Relaxed));
    let times = if read == 0 { 1.0 } else { (total as f64 / read as f64).max(1.0) };
    Ok((bytes as f64 * times) as u64)
}

struct Share<'a> {
    progress: &'a dyn Progress,
    read: AtomicU64,
    total: AtomicU64,
}

impl Progress for Share<'_> {
    fn update(&self, done: u64, total: u64) {
        self.read.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.progress.cancelled()
    }
}
