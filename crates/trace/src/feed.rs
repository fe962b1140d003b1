//! A trace on its way in: requests in the order of the file, some at a time.

use crate::columns::Columns;
use crate::digest::Digests;
use crate::error::TraceError;
use crate::holes::Holes;
use crate::options::Format;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::tally::Tally;
use crate::volumes::Volumes;

/// Rows that are read at a time where most of them may not be wanted.
pub(crate) const ROWS_AT_A_TIME: usize = 1 << 18;

pub(crate) trait Feed: Send {
    /// The next requests in file order: about `rows` or more, fewer only at the end. Volumes are indices into
    /// [`Feed::volumes`]. An input without any request is an error.
    fn read(&mut self, rows: usize, progress: &dyn Progress) -> Result<Columns, TraceError>;

    fn ended(&self) -> bool;

    /// The latest time so far. Later requests may be earlier by the sorting window, not by more.
    fn latest_ns(&self) -> i64;

    fn volumes(&self) -> &Volumes;

    /// Known holes before the first request, by index of [`Feed::volumes`]; complete once some requests were read.
    fn holes(&self) -> &Holes {
        Holes::NONE
    }

    /// The content of nothing but zeroes, if it is known and was met.
    fn zero_content(&self) -> Option<u32> {
        None
    }

    /// Digests of the contents read so far, by the feed's numbers; `None` if it knows none.
    fn digests(&self) -> Option<&[[u8; 16]]> {
        None
    }

    /// Further results, at the end. Digests of contents are read only if wanted.
    fn into_parts(self: Box<Self>, digests: bool) -> Result<Parts, TraceError>;
}

pub(crate) struct Parts {
    pub(crate) volumes: Volumes,
    pub(crate) quality: Quality,
    pub(crate) digests: Digests,
    pub(crate) tally: Option<Tally>,
}

pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) feed: Box<dyn Feed>,
}
