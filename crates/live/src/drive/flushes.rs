//! Flushes of all clients: those that are asked for while one is under way are carried out together, as the next one.

use std::io;
use std::sync::{Condvar, Mutex};

use crate::locks::{lock, unpoisoned};

#[derive(Default)]
struct State {
    is_under_way: bool,
    begun: u64,
    ended: u64,
    /// Of the last one that ended.
    failure: Option<(io::ErrorKind, String)>,
}

#[derive(Default)]
pub(crate) struct Flushes {
    state: Mutex<State>,
    end: Condvar,
}

impl Flushes {
    /// Returns when a flush that began after this call has ended. Once `work` has failed, it must fail for ever.
    pub(crate) fn flush(&self, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = lock(&self.state);
        let own = state.begun + 1;
        state = unpoisoned(self.end.wait_while(state, |state| state.is_under_way && state.ended < own));
        if state.ended >= own {
            return state
                .failure
                .as_ref()
                .map_or(Ok(()), |(kind, text)| Err(io::Error::new(*kind, text.clone())));
        }
        (state.is_under_way, state.begun) = (true, own);
        drop(state);
        let stopped = Some((io::ErrorKind::Other, "a thread stopped in the middle of a flush".to_owned()));
        let mut end = End { flushes: self, failure: stopped };
        let outcome = work();
        end.failure = outcome.as_ref().err().map(|error| (error.kind(), error.to_string()));
        outcome
    }
}

struct End<'a> {
    flushes: &'a Flushes,
    failure: Option<(io::ErrorKind, String)>,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.flushes.state);
        (state.is_under_way, state.ended) = (false, state.begun);
        state.failure = self.failure.take();
        self.flushes.end.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn flushes_that_come_meanwhile_are_one_that_began_later() {
        let (flushes, carried_out) = (Flushes::default(), AtomicU32::new(0));
        let (go, gate) = channel::<()>();
        thread::scope(|scope| {
            let (its, count) = (&flushes, &carried_out);
            scope.spawn(move || {
                its.flush(|| {
                    gate.recv().unwrap();
                    count.fetch_add(1, SeqCst);
                    Ok(())
                })
            });
            while !lock(&flushes.state).is_under_way {
                thread::yield_now();
            }
            let later = || its.flush(|| Err(io::Error::other(count.fetch_add(1, SeqCst).to_string())));
            let others: Vec<_> = (0..8).map(|_| scope.spawn(later)).collect();
            thread::sleep(std::time::Duration::from_millis(50));
            assert!(others.iter().all(|other| !other.is_finished()), "the first began before they came");
            go.send(()).unwrap();
            let texts = others.into_iter().map(|other| other.join().unwrap().unwrap_err().to_string());
            assert!(texts.into_iter().all(|text| text == "1"), "one failed for all");
        });
        assert_eq!(carried_out.into_inner(), 2);
    }
}
