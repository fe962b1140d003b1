//! A failure after which nothing is written.

use std::io;

/// Something that failed, after which nothing is written.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) kind: io::ErrorKind,
    pub(crate) why: String,
}

impl Failure {
    pub(crate) fn of(error: &io::Error, why: String) -> Self {
        Self { kind: error.kind(), why }
    }

    /// The error of all later writes: a full disk stays a full disk, so that the user knows the
    /// cure.
    pub(crate) fn error(&self) -> io::Error {
        io::Error::new(self.kind, format!("nothing is written since {}", self.why))
    }
}
