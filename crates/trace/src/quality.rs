//! What was noticed while a trace was read. Nothing that is odd is dropped in silence.

use serde::{Deserialize, Serialize};

/// How many skipped lines are listed in full; the rest is counted.
pub const BAD_LINES_LISTED: usize = 10;

/// Counters of everything that was unusual in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quality {
    /// Lines (text) or rows (Parquet) read, blank ones and headers included.
    pub lines: u64,
    /// Lines that could not be understood and were skipped (`on_bad_line = skip`).
    pub bad_lines_skipped: u64,
    /// The first [`BAD_LINES_LISTED`] of them, each as its error message.
    pub bad_lines: Vec<String>,
    /// Requests earlier than one before them in the file; they were sorted into place.
    pub reordered_requests: u64,
    /// The furthest such a request was behind the latest one before it, in nanoseconds.
    pub largest_step_back_ns: u64,
    /// Lines that were joined to the line before, being parts of one request (FIU).
    pub joined_lines: u64,
    /// Requests of no bytes at all (flushes, mostly); they are left out of the trace.
    pub empty_requests: u64,
    /// Requests with contents that do not begin on the grid of contents (4 KB).
    pub unaligned_content: u64,
    /// What looks like wrong units or a wrong format, in words.
    pub warnings: Vec<String>,
}

const NS_PER_YEAR: f64 = 365.25 * 86_400.0 * 1e9;
const YEARS_BELIEVABLE: f64 = 100.0;
const REQUESTS_PER_SECOND_BELIEVABLE: f64 = 1e9;
const BYTES_PER_SECOND_BELIEVABLE: f64 = 1e15;
const ADDRESS_BELIEVABLE: u64 = 1 << 60;
const REQUEST_BYTES_BELIEVABLE: u32 = 1 << 30;
const REQUESTS_FOR_A_RATE: usize = 1000;

impl Quality {
    /// Adds a warning for each figure that no real trace has: the sign of a wrong unit or format.
    pub(crate) fn judge(&mut self, time_ns: &[i64], offset_bytes: &[u64], length_bytes: &[u32]) {
        let duration_ns = time_ns.last().copied().unwrap_or(0) as f64;
        let requests = time_ns.len();
        if duration_ns > YEARS_BELIEVABLE * NS_PER_YEAR {
            self.warnings.push(format!(
                "the trace lasts {:.0} years: its times are probably in another unit (check the format)",
                duration_ns / NS_PER_YEAR
            ));
        }
        if requests >= REQUESTS_FOR_A_RATE {
            self.judge_rate(duration_ns, requests, length_bytes);
        }
        if let Some(&furthest) = offset_bytes.iter().max()
            && furthest >= ADDRESS_BELIEVABLE
        {
            self.warnings.push(format!(
                "the highest address is {furthest} bytes, over an exbibyte: offsets are probably in another unit (check the format)"
            ));
        }
        if let Some(&longest) = length_bytes.iter().max()
            && longest >= REQUEST_BYTES_BELIEVABLE
        {
            self.warnings.push(format!(
                "the longest request is {longest} bytes, a gibibyte or more: sizes are probably in another unit (check the format)"
            ));
        }
    }

    fn judge_rate(&mut self, duration_ns: f64, requests: usize, length_bytes: &[u32]) {
        if duration_ns == 0.0 {
            self.warnings
                .push(format!("all {requests} requests have the same time: times are missing or too coarse"));
            return;
        }
        let per_second = requests as f64 / (duration_ns / 1e9);
        if per_second > REQUESTS_PER_SECOND_BELIEVABLE {
            self.warnings.push(format!(
                "{per_second:.1e} requests a second on average: times are probably in another unit (check the format)"
            ));
        }
        let bytes: f64 = length_bytes.iter().map(|&length| f64::from(length)).sum();
        let bytes_per_second = bytes / (duration_ns / 1e9);
        if bytes_per_second > BYTES_PER_SECOND_BELIEVABLE {
            self.warnings.push(format!(
                "{bytes_per_second:.1e} bytes a second on average: times or sizes are probably in another unit (check the format)"
            ));
        }
    }
}
