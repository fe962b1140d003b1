//! The batch that a flush makes durable without the drive's lock. The next one is written after it.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::locks::{lock, unpoisoned};

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

    /// The error of all later writes: a full disk stays a full disk, so that the user knows the cure.
    pub(crate) fn error(&self) -> io::Error {
        io::Error::new(self.kind, format!("nothing is written since {}", self.why))
    }
}

/// Copies of a batch that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    Both,
    /// The place of the other one is bad.
    One,
}

#[derive(Default)]
struct State {
    under_way: bool,
    /// Batches of which one copy was written.
    lone: u64,
    failed: Option<Failure>,
}

/// A waiting thread may hold the drive's lock, because ending a batch takes none.
#[derive(Default)]
pub(crate) struct InFlight {
    state: Mutex<State>,
    ended: Condvar,
}

impl InFlight {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn begin(&self) {
        self.state().under_way = true;
    }

    pub(crate) fn end(&self, outcome: &io::Result<Copies>) {
        let mut state = self.state();
        state.under_way = false;
        match outcome {
            Ok(Copies::Both) => {}
            Ok(Copies::One) => state.lone += 1,
            Err(error) => {
                let why =
                    format!("a flush failed ({error}); open the drive again: it has what was flushed before");
                state.failed = Some(Failure::of(error, why));
            }
        }
        self.ended.notify_all();
    }

    pub(crate) fn lone(&self) -> u64 {
        self.state().lone
    }

    /// Waits until nothing is on its way. Fails if a batch failed, now or earlier.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let waited = self.ended.wait_while(self.state(), |state| state.under_way);
        unpoisoned(waited).failed.as_ref().map_or(Ok(()), |failure| Err(failure.error()))
    }

    pub(crate) fn failed(&self) -> Option<Failure> {
        self.state().failed.clone()
    }
}
