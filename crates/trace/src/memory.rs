//! How much memory work on a trace may take, known before it is taken.

use flashtwin_bits::memory_limits;

use crate::error::{ErrorCause, TraceError};

const LEAST_BYTES: u64 = 1 << 30;
/// Memory that a request may add: distinct pages of a mebibyte in sectors of 512 bytes are far below.
const REQUEST_BYTES: u64 = 64 << 10;

/// Bytes of memory that work on `requests` requests may take: a gibibyte, or 64 KiB a request if that is more, and
/// never more than the machine has free. This stops a few lines of text that ask for terabytes.
pub fn memory_allowed_bytes(requests: u64) -> u64 {
    allowed_bytes(requests, memory_available_bytes())
}

fn allowed_bytes(requests: u64, available_bytes: Option<u64>) -> u64 {
    let by_requests = requests.saturating_mul(REQUEST_BYTES).max(LEAST_BYTES);
    by_requests.min(available_bytes.unwrap_or(u64::MAX))
}

/// Memory that this process can still have without swapping, by machine, control group and own limits, if it is known.
pub fn memory_available_bytes() -> Option<u64> {
    memory_limits().least_bytes()
}

/// Advice if a trace is too large to be read whole.
const CURE: &str = "go through it in parts (--stream where the command has it), read a span of its time (--from, --to) or \
                    one volume (--volume), or give this process more memory";
/// Memory that must stay free beside the requested memory: other threads read ahead meanwhile.
const MARGIN_BYTES: u64 = 64 << 20;
/// Growth below this is not checked: asking for the free memory costs system calls.
const ASKED_FROM_BYTES: u64 = 4 << 20;

/// The free memory, if these bytes are too many for it.
fn too_little_for(bytes: u64) -> Option<u64> {
    let left = if bytes < ASKED_FROM_BYTES { None } else { memory_available_bytes() };
    left.filter(|&left| bytes.saturating_add(MARGIN_BYTES) > left)
}

/// Stops reading if the next requests outgrow the free memory: `(held, more)` bytes, at `requests` so far.
pub(crate) fn check_growth(name: &str, requests: usize, (held, more): (u64, u64)) -> Result<(), TraceError> {
    let Some(left) = too_little_for(more) else { return Ok(()) };
    let [held, more, left] = [held, more, left].map(bytes_in_words);
    let next = format!("the next ones {more} more, and {left} are left");
    let what = format!("its first {requests} requests take {held} of memory, {next}");
    Err(TraceError::new(ErrorCause::TooLarge, name, what, CURE))
}

/// Contents that get a number.
pub(crate) const IDS_MAX: usize = if cfg!(test) { 100_000 } else { u32::MAX as usize - 1 };

/// Refuses a trace whose contents 32 bits cannot number.
pub(crate) fn too_many_contents(name: &str) -> TraceError {
    let what = format!("it has {IDS_MAX} distinct contents or more, which 32 bits do not number");
    TraceError::new(ErrorCause::TooLarge, name, what, "cut the file in time, for example day by day")
}

/// Bytes of a request in columns, and of each of its contents.
const COLUMNS_REQUEST_BYTES: u64 = 33;
const COLUMNS_CONTENT_BYTES: u64 = 4;

/// Refuses to read requests whole that need more than the free memory.
pub(crate) fn check_whole(name: &str, requests: u64, contents: u64) -> Result<(), TraceError> {
    let needed = requests.saturating_mul(COLUMNS_REQUEST_BYTES);
    let needed = needed.saturating_add(contents.saturating_mul(COLUMNS_CONTENT_BYTES));
    let Some(left) = too_little_for(needed) else { return Ok(()) };
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
    use crate::{OpenOptions, Source, Trace};

    #[test]
    fn few_requests_get_a_gibibyte_and_many_more() {
        assert_eq!(allowed_bytes(65, None), LEAST_BYTES);
        assert_eq!(allowed_bytes(1_000_000, None), 1_000_000 * REQUEST_BYTES);
        assert_eq!(allowed_bytes(u64::MAX, None), u64::MAX);
    }

    #[test]
    fn no_more_is_allowed_than_is_free() {
        let free_bytes = 3 << 29;
        assert_eq!(allowed_bytes(65, Some(free_bytes)), LEAST_BYTES);
        assert_eq!(allowed_bytes(65, Some(1000)), 1000);
        assert_eq!(allowed_bytes(1_000_000, Some(free_bytes)), free_bytes);
    }

    #[test]
    fn contents_beyond_the_last_number_are_refused() {
        let read = |contents: usize| {
            let line = |nth| format!("{nth} 1 p {} 8 W 6 0 {nth:032x}\n", nth * 8);
            let text: String = (0..contents).map(line).collect();
            let source = Source::Bytes("many.fiu".to_owned(), text.into_bytes().into());
            Trace::open(&source, &OpenOptions::default(), &())
        };
        assert_eq!(read(IDS_MAX - 1).map(|trace| trace.content_count() as usize), Ok(IDS_MAX - 1));
        let error = read(IDS_MAX + 1).unwrap_err();
        assert_eq!((error.cause, error.place.input.as_str()), (ErrorCause::TooLarge, "many.fiu"));
    }

    #[test]
    fn bytes_have_one_digit_behind_the_point() {
        assert_eq!(bytes_in_words(3 << 29), "1.5 GiB");
        assert_eq!(bytes_in_words(1000), "1000 bytes");
        assert_eq!(bytes_in_words(u64::MAX), "16777216.0 TiB");
    }
}
