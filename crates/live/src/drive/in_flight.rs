//! The batch that a flush is making durable without the drive's lock: at most one at a time, and no other batch is
//! written before it is durable.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::failure::Failure;

#[derive(Default)]
struct State {
    under_way: bool,
    failed: Option<Failure>,
}

/// Whether a batch is on its way. A waiting thread may hold the drive's lock: ending a batch takes
/// none.
#[derive(Default)]
pub(crate) struct InFlight {
    state: Mutex<State>,
    ended: Condvar,
}

impl InFlight {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self) {
        self.state().under_way = true;
    }

    pub(crate) fn end(&self, outcome: &io::Result<()>) {
        let mut state = self.state();
        state.under_way = false;
        if let Err(error) = outcome {
            let why =
                format!("a flush failed ({error}); open the drive again: it has what was flushed before");
            state.failed = Some(Failure::of(error, why));
        }
        self.ended.notify_all();
    }

    /// Waits until nothing is on its way.
    ///
    /// # Errors
    /// An error if a batch failed, now or earlier.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let waited = self.ended.wait_while(self.state(), |state| state.under_way);
        match &waited.unwrap_or_else(PoisonError::into_inner).failed {
            None => Ok(()),
            Some(failure) => Err(failure.error()),
        }
    }

    /// Why nothing that was written since is durable.
    pub(crate) fn failed(&self) -> Option<Failure> {
        self.state().failed.clone()
    }
}
