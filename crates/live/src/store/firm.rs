//! A medium whose writes are tried again: some errors are over a moment later, as after a lost frame on the way to a disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::medium::Medium;

/// Pauses before further tries. A place that fails them all counts as bad.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];

pub(crate) struct Firm {
    medium: Arc<dyn Medium>,
    retries: AtomicU64,
}

/// Whether another place may do where one failed. A full disk is full everywhere.
pub(crate) fn is_of_its_place(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    !matches!(
        error.kind(),
        Kind::BrokenPipe
            | Kind::FileTooLarge
            | Kind::InvalidInput
            | Kind::PermissionDenied
            | Kind::QuotaExceeded
            | Kind::ReadOnlyFilesystem
            | Kind::StorageFull
            | Kind::UnexpectedEof
    )
}

impl Firm {
    pub(crate) fn new(medium: Arc<dyn Medium>) -> Self {
        Self { medium, retries: AtomicU64::new(0) }
    }

    pub(crate) fn retries(&self) -> u64 {
        self.retries.load(Relaxed)
    }
}

impl Medium for Firm {
    fn size_bytes(&self) -> io::Result<u64> {
        self.medium.size_bytes()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.medium.read_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let written = self.medium.write_at(bytes, offset);
            let is_bad = written.as_ref().is_err_and(is_of_its_place);
            let Some(pause) = pauses.next().filter(|_| is_bad) else { return written };
            self.retries.fetch_add(1, Relaxed);
            self.medium.pause(pause);
        }
    }

    /// Not tried again: a disk that failed it may have dropped what it was to keep, and would then say that all is well.
    fn sync(&self) -> io::Result<()> {
        self.medium.sync()
    }

    fn next_data(&self, offset: u64) -> u64 {
        self.medium.next_data(offset)
    }
}
