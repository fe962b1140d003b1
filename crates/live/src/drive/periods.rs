//! The clock of a served drive: ends a profiling period each time its length of wall time has passed.

use crate::locks::{lock, unpoisoned};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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

pub struct Periods {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Periods {
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

    pub fn ended(&self) -> u64 {
        lock(&self.shared.state).periods
    }

    pub fn failure(&self) -> Option<String> {
        lock(&self.shared.state).failure.clone()
    }
}

fn go_on(shared: &Shared, length: Duration, mut end: impl FnMut() -> std::io::Result<()>) {
    loop {
        // Periods that passed while one was being ended are not made up for.
        let waited = shared.look.wait_timeout_while(lock(&shared.state), length, |state| !state.ended);
        if unpoisoned(waited).0.ended {
            return;
        }
        let outcome = end();
        let mut state = lock(&shared.state);
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
        lock(&self.shared.state).ended = true;
        self.shared.look.notify_all();
        if let Some(thread) = self.thread.take() {
            // It would have panicked by a mistake of ours only.
            let _ = thread.join();
        }
    }
}
