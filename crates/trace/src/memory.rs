//! How much memory work on a trace may take, known before it is taken.

use std::sync::atomic::{AtomicU64, Ordering};

use flashtwin_bits::memory_limits;

use crate::error::{ErrorCause, TraceError};
use crate::input::{Input, Source};
use crate::progress::Progress;
use crate::stream::TraceStream;
use crate::trace::OpenOptions;

/// What any trace may take.
const LEAST_BYTES: u64 = 1 << 30;
/// What a request may take beyond that: distinct pages of a mebibyte in sectors of 512 bytes are far below.
const REQUEST_BYTES: u64 = 64 << 10;

/// Bytes of memory that work on so many requests may take: a gibibyte, or 64 KiB a request where that is
/// more, and not more than the machine has left. A few lines of text that ask for terabytes stay below.
pub fn memory_allowed_bytes(requests: u64) -> u64 {
    let by_requests = requests.saturating_mul(REQUEST_BYTES).max(LEAST_BYTES);
    by_requests.min(available_bytes().unwrap_or(u64::MAX))
}

/// Bytes that work on a request takes while a trace is read whole, cut into pages and replayed, beside its pages:
/// its columns, twice while they grow, and how it lies on pages.
const WHOLE_REQUEST_BYTES: u64 = 100;
/// The same for each 4 KB that a request touches: contents, page numbers and contents of pages.
const WHOLE_PAGE_BYTES: u64 = 24;
/// The page that those are counted in.
const PAGE_BYTES: u32 = 4096;
/// No file of a trace takes this many times its own size in memory, unless it is compressed, and hardly one of those
/// takes so many.
const MOST_TIMES_FILE: u64 = 64;
const MOST_TIMES_COMPRESSED: u64 = 1 << 12;
/// Batches of a stream by which the whole is judged: half a million requests.
const BATCHES_LOOKED_AT: usize = 8;

/// Bytes of memory that reading a trace whole and replaying it takes, without the tables of a system: estimated
/// from its first requests and the size of the file. 0 for what cannot be read twice (standard input, say) and for
/// files so small that there is memory enough however well they are compressed.
///
/// # Errors
/// As [`TraceStream::open`].
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
    let times = if bytes > 0 && Input::open(source)?.is_compressed() {
        MOST_TIMES_COMPRESSED
    } else {
        MOST_TIMES_FILE
    };
    if bytes == 0 || bytes.saturating_mul(times) < available_bytes().unwrap_or(0) {
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

/// Notes how much of a file has been read.
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

/// Memory that this process can still have without swapping, by the machine, its control group (a container) and its own
/// limits; `None` where the system does not say.
pub fn memory_available_bytes() -> Option<u64> {
    available_bytes()
}

fn available_bytes() -> Option<u64> {
    memory_limits().least_bytes()
}

/// What helps where a trace is too large to be read whole.
const CURE: &str = "go through it in parts (--stream where the command has it), read a span of its time (--from, --to) or \
                    one volume (--volume), or give this process more memory";
/// What must be left beside that which is asked for: other threads read ahead meanwhile.
const MARGIN_BYTES: u64 = 64 << 20;
/// Asking what is left costs calls of the system, which less than this is not worth.
const ASKED_FROM_BYTES: u64 = 4 << 20;

/// Refuses to read on where the next requests make what is held of a trace grow beyond what is left: `(held, more)` bytes,
/// of `requests` so far. Lines that are few bytes when compressed may be many.
///
/// # Errors
/// [`ErrorCause::TooLarge`] with the figures.
pub(crate) fn check_growth(name: &str, requests: usize, (held, more): (u64, u64)) -> Result<(), TraceError> {
    if more < ASKED_FROM_BYTES {
        return Ok(());
    }
    let left = available_bytes().unwrap_or(u64::MAX);
    if more.saturating_add(MARGIN_BYTES) <= left {
        return Ok(());
    }
    let [held, more, left] = [held, more, left].map(bytes_in_words);
    Err(TraceError::new(
        ErrorCause::TooLarge,
        name,
        format!(
            "its first {requests} requests take {held} of memory, the next ones {more} more, and {left} are left"
        ),
        CURE,
    ))
}

/// Bytes of a request in columns, and of each of its contents.
const COLUMNS_REQUEST_BYTES: u64 = 33;
const COLUMNS_CONTENT_BYTES: u64 = 4;

/// Refuses to read so many requests with so many contents whole where they take more than what is left.
///
/// # Errors
/// [`ErrorCause::TooLarge`] with the figures.
pub(crate) fn check_whole(name: &str, requests: u64, contents: u64) -> Result<(), TraceError> {
    let needed = requests.saturating_mul(COLUMNS_REQUEST_BYTES);
    let needed = needed.saturating_add(contents.saturating_mul(COLUMNS_CONTENT_BYTES));
    if needed < ASKED_FROM_BYTES {
        return Ok(());
    }
    let left = available_bytes().unwrap_or(u64::MAX);
    if needed.saturating_add(MARGIN_BYTES) <= left {
        return Ok(());
    }
    let [needed, left] = [needed, left].map(bytes_in_words);
    let what = format!("its {requests} requests take {needed} of memory, and {left} are left");
    Err(TraceError::new(ErrorCause::TooLarge, name, what, CURE))
}

/// A number of bytes as people read it.
pub fn bytes_in_words(bytes: u64) -> String {
    for (unit, name) in [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")] {
        if bytes >= unit {
            return format!("{:.1} {name}", bytes as f64 / unit as f64);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_requests_get_a_gibibyte_and_many_more() {
        let available = available_bytes().unwrap_or(u64::MAX);
        assert_eq!(memory_allowed_bytes(65), LEAST_BYTES.min(available));
        assert_eq!(memory_allowed_bytes(1_000_000), (1_000_000 * REQUEST_BYTES).min(available));
        assert_eq!(memory_allowed_bytes(u64::MAX), available);
    }

    #[test]
    fn bytes_have_one_digit_behind_the_point() {
        assert_eq!(bytes_in_words(3 << 29), "1.5 GiB");
        assert_eq!(bytes_in_words(1000), "1000 bytes");
        assert_eq!(bytes_in_words(u64::MAX), "16777216.0 TiB");
    }
}
