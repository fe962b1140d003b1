//! Irregularities found while reading a trace. Oddities are never dropped in silence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::Op;

/// Skipped lines listed in full; further ones are only counted.
pub const BAD_LINES_LISTED: usize = 10;

/// Counters of irregularities in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quality {
    /// Lines (text) or rows (Parquet) read, blank ones and headers included.
    pub lines: u64,
    /// Malformed lines that were skipped (`on_bad_line = skip`).
    pub bad_lines_skipped: u64,
    /// The first ten of them, each as its error message.
    pub bad_lines: Vec<String>,
    /// Lines without a request: other events of a recorder, its summaries, files opened and closed.
    pub passed_lines: u64,
    /// Requests earlier than their predecessor in the file; they were sorted into place.
    pub reordered_requests: u64,
    /// Largest distance of such a request from the latest one before it, in nanoseconds.
    pub largest_step_back_ns: u64,
    /// Lines joined with the line before, as parts of one request (FIU).
    pub joined_lines: u64,
    /// Requests without bytes that are no flushes; they are left out.
    pub empty_requests: u64,
    /// Requests with contents that do not begin on the grid of contents (4 KB).
    pub unaligned_content: u64,
    /// Choices made in reading, in words, for example files that were merged.
    pub notes: Vec<String>,
    /// Signs of wrong units or a wrong format, in words.
    pub warnings: Vec<String>,
}

pub(crate) const NS_PER_YEAR: f64 = 365.25 * 86_400.0 * 1e9;
const YEARS_BELIEVABLE: f64 = 100.0;
const YEARS_OF_SILENCE_BELIEVABLE: f64 = 1.0;
pub(crate) const REQUESTS_PER_SECOND_BELIEVABLE: f64 = 20e6;
pub(crate) const BYTES_PER_SECOND_BELIEVABLE: f64 = 200e9;
pub(crate) const ADDRESS_BELIEVABLE: u64 = 1 << 60;
const REQUEST_BYTES_BELIEVABLE: u32 = 1 << 30;
const REQUESTS_FOR_A_RATE: u64 = 1000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    requests: u64,
    duration_ns: i64,
    offset_bytes_max: u64,
    length_bytes_max: u32,
    bytes: u128,
    gap_ns_max: i64,
}

impl Figures {
    /// Adds requests. The sizes of trims do not count: making a file system trims all of a drive at once.
    pub(crate) fn add(&mut self, time_ns: &[i64], op: &[Op], offset_bytes: &[u64], length_bytes: &[u32]) {
        self.requests += time_ns.len() as u64;
        let gap = time_ns.first().map_or(0, |first| first - self.duration_ns);
        let gaps = time_ns.windows(2).map(|pair| pair[1] - pair[0]);
        self.gap_ns_max = gaps.fold(self.gap_ns_max.max(gap), i64::max);
        self.duration_ns = time_ns.last().copied().unwrap_or(self.duration_ns);
        let furthest = offset_bytes.iter().copied().max().unwrap_or(0);
        self.offset_bytes_max = self.offset_bytes_max.max(furthest);
        let moved = op.iter().zip(length_bytes).map(|(&op, &length)| if op == Op::Trim { 0 } else { length });
        let (longest, bytes) =
            moved.fold((0, 0), |(longest, bytes), length| (longest.max(length), bytes + u64::from(length)));
        self.length_bytes_max = self.length_bytes_max.max(longest);
        self.bytes += u128::from(bytes);
    }
}

impl Quality {
    pub(crate) fn judge(&mut self, figures: &Figures) {
        let duration_ns = figures.duration_ns as f64;
        if duration_ns > YEARS_BELIEVABLE * NS_PER_YEAR {
            self.warnings.push(format!(
                "the trace lasts {:.0} years: its times are probably in another unit (see `read as`, and --time-unit, --offset-unit, --length-unit)",
                duration_ns / NS_PER_YEAR
            ));
        }
        if figures.gap_ns_max as f64 > YEARS_OF_SILENCE_BELIEVABLE * NS_PER_YEAR {
            self.warnings.push(format!(
                "{:.0} years pass between two requests: the clock was probably set while recording (cut the trace there)",
                figures.gap_ns_max as f64 / NS_PER_YEAR
            ));
        }
        if figures.requests >= REQUESTS_FOR_A_RATE {
            self.judge_rate(figures);
        }
        let furthest = figures.offset_bytes_max;
        if furthest >= ADDRESS_BELIEVABLE {
            self.warnings.push(format!(
                "the highest address is {furthest} bytes, over an exbibyte: offsets are probably in another unit (see `read as`, and --time-unit, --offset-unit, --length-unit)"
            ));
        }
        let longest = figures.length_bytes_max;
        if longest >= REQUEST_BYTES_BELIEVABLE {
            self.warnings.push(format!(
                "the longest request is {longest} bytes, a gibibyte or more: sizes are probably in another unit (see `read as`, and --time-unit, --offset-unit, --length-unit)"
            ));
        }
    }

    fn judge_rate(&mut self, figures: &Figures) {
        let requests = figures.requests;
        if figures.duration_ns == 0 {
            self.warnings
                .push(format!("all {requests} requests have the same time: times are missing or too coarse"));
            return;
        }
        let seconds = figures.duration_ns as f64 / 1e9;
        let per_second = requests as f64 / seconds;
        if per_second > REQUESTS_PER_SECOND_BELIEVABLE {
            self.warnings.push(format!(
                "{per_second:.1e} requests a second on average: times are probably in another unit (see `read as`, and --time-unit, --offset-unit, --length-unit)"
            ));
        }
        let bytes_per_second = figures.bytes as f64 / seconds;
        if bytes_per_second > BYTES_PER_SECOND_BELIEVABLE {
            self.warnings.push(format!(
                "{bytes_per_second:.1e} bytes a second on average: times or sizes are probably in another unit (see `read as`, and --time-unit, --offset-unit, --length-unit)"
            ));
        }
    }
}
