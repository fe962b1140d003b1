//! The clock of a served drive: ends a profiling period each time its length of wall time has
//! passed.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[derive(Default)]
struct State {
    ended: bool,
    periods: u64,
    failure: Option<String>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    look: Condvar,
}

/// Ends periods until it is dropped.
pub struct Periods {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Periods {
    /// Begins the first period; `end` is called as each ends, until it fails.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(
        length: Duration,
        end: impl FnMut() -> std::io::Result<()> + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new().name("periods".to_owned());
        let thread = thread.spawn(move || go_on(&its, length, end))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Periods that have ended.
    pub fn ended(&self) -> u64 {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).periods
    }

    /// Why no more periods end.
    pub fn failure(&self) -> Option<String> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }
}

fn go_on(shared: &Shared, length: Duration, mut end: impl FnMut() -> std::io::Result<()>) {
    // A period beyond the clock's end never ends.
    let mut next = Instant::now().checked_add(length);
    loop {
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.ended {
                return;
            }
            let left = next.map(|next| next.saturating_duration_since(Instant::now()));
            state = match left {
                Some(left) if left.is_zero() => break,
                Some(left) => shared.look.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => shared.look.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        drop(state);
        let outcome = end();
        // Periods that passed while one was being ended are not made up for.
        next = Instant::now().checked_add(length);
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(()) => state.periods += 1,
            Err(error) => {
                state.failure = Some(error.to_string());
                return;
            }
        }
    }
}

impl Drop for Periods {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.shared.look.notify_all();
        if let Some(thread) = self.thread.take() {
            // It would have panicked by a mistake of ours only.
            let _ = thread.join();
        }
    }
}
