//! How a trace is to be read.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::error::{ErrorCause, TraceError};
use crate::layout::Layout;
use crate::operations::Vocabulary;
use crate::units::Units;

/// A trace format, by name, and the units that it was read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) units: Units,
}

impl Format {
    /// Traces made in memory.
    pub const MEMORY: Format = Format { name: "memory", units: Units::BASE };

    /// Its name, as `--format` takes it.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The units of its numbers.
    pub fn units(self) -> Units {
        self.units
    }

    /// The format, read in other units.
    #[must_use]
    pub fn with_units(self, units: Units) -> Format {
        Format { units, ..self }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How to treat a malformed line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadLine {
    /// Stop with an error that names the line.
    #[default]
    Fail,
    /// Leave the line out, count it and list the first few in [`crate::Quality::bad_lines`].
    Skip,
}

/// Which of the events that a request causes in the kernel stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlkparseAction {
    /// Q: a program or file system asks. Before requests are merged, split and scheduled.
    Queued,
    /// D: issued to the driver, as the drive sees requests.
    #[default]
    Issued,
    /// C: completed by the drive.
    Completed,
}

impl BlkparseAction {
    pub(crate) fn letter(self) -> u8 {
        match self {
            BlkparseAction::Queued => b'Q',
            BlkparseAction::Issued => b'D',
            BlkparseAction::Completed => b'C',
        }
    }
}

impl FromStr for BlkparseAction {
    type Err = TraceError;

    fn from_str(letter: &str) -> Result<BlkparseAction, TraceError> {
        match letter {
            "Q" => Ok(BlkparseAction::Queued),
            "D" => Ok(BlkparseAction::Issued),
            "C" => Ok(BlkparseAction::Completed),
            _ => Err(TraceError::new(
                ErrorCause::Argument,
                "blkparse_action",
                format!("'{letter}' is not an action that requests can be taken from"),
                "use Q (queued), D (issued to the driver) or C (completed)",
            )),
        }
    }
}

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// The format; `None` (default) finds out from the content.
    pub format: Option<Format>,
    /// How to treat malformed lines; default: fail.
    pub on_bad_line: OnBadLine,
    /// Requests up to this much earlier than the latest one before them are sorted into place and
    /// counted; anything earlier is an error. Nanoseconds; default one second.
    pub sort_window_ns: u64,
    /// Which event of a request in blkparse text is taken; default: issued to the driver.
    pub blkparse_action: BlkparseAction,
    /// The columns of a text of any layout; `None` for the formats.
    pub layout: Option<Layout>,
    /// Nanoseconds of a unit of the times of a text; default: as the format says.
    pub time_unit_ns: Option<u64>,
    /// Bytes of a unit of its offsets, 1 or more; the same.
    pub offset_unit_bytes: Option<u64>,
    /// Bytes of a unit of its lengths, 1 or more; the same.
    pub length_unit_bytes: Option<u64>,
    /// Words of operations, beside those that every reader knows.
    pub op_words: Vocabulary,
    /// Only the requests of the volume of this name, as a trace of its own (SWC 2.2: volumes of one server are
    /// analysed apart); default: all volumes.
    pub volume: Option<String>,
    /// Only requests that arrive in this span, in nanoseconds after the first request; default:
    /// all.
    pub excerpt_ns: Option<Range<i64>>,
    /// Whether decompression runs in a thread of its own; default yes. The result is the same.
    pub threaded: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            format: None,
            on_bad_line: OnBadLine::Fail,
            sort_window_ns: 1_000_000_000,
            blkparse_action: BlkparseAction::Issued,
            layout: None,
            time_unit_ns: None,
            offset_unit_bytes: None,
            length_unit_bytes: None,
            op_words: Vocabulary::default(),
            volume: None,
            excerpt_ns: None,
            threaded: true,
        }
    }
}

impl OpenOptions {
    /// The units to read in, where those of the format are `usual`.
    pub(crate) fn units(&self, usual: Units) -> Units {
        Units {
            time_ns: self.time_unit_ns.unwrap_or(usual.time_ns),
            offset_bytes: self.offset_unit_bytes.unwrap_or(usual.offset_bytes),
            length_bytes: self.length_unit_bytes.unwrap_or(usual.length_bytes),
        }
    }
}
