//! What follows when the operations of a background job are done.

use super::out_of_line::Candidate;
use super::replication::CopyJob;

/// Work that waits for reads and programs in idle time.
#[derive(Debug)]
pub(crate) enum Background {
    /// A page has been read to be copied.
    Copy(CopyJob),
    /// The copy has been programmed.
    Copied,
    /// A page written without a fingerprint has been read.
    Fingerprint(Candidate),
}

const _: () = assert!(size_of::<Background>() <= 56, "with what is left to do, a job is a cache line");
