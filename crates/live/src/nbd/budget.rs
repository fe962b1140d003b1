//! Memory of a connection for requests that do not fit into their thread's own. No connection waits for another's.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::locks::{lock, unpoisoned};

/// Interval of a waiting request's check whether its client is still there.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) struct Budget {
    limit_bytes: usize,
    held_bytes: Mutex<usize>,
    given_back: Condvar,
}

pub(crate) struct Lent<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, held_bytes: Mutex::new(0), given_back: Condvar::new() }
    }

    /// Lends `bytes`, at most the limit, once earlier requests leave room; `None` if the client `has_left` first.
    pub(crate) fn take(&self, bytes: usize, has_left: impl Fn() -> bool) -> Option<Lent<'_>> {
        let mut held = lock(&self.held_bytes);
        while *held + bytes > self.limit_bytes {
            if has_left() {
                return None;
            }
            held = unpoisoned(self.given_back.wait_timeout(held, LOOK)).0;
        }
        *held += bytes;
        Some(Lent { budget: self, bytes })
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        *lock(&self.budget.held_bytes) -= self.bytes;
        self.budget.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::thread;

    use super::*;

    #[test]
    fn what_is_lent_is_never_more_than_there_is() {
        let (budget, held) = (Budget::new(100), AtomicUsize::new(0));
        thread::scope(|scope| {
            for thread in 0..8_usize {
                let (budget, held) = (&budget, &held);
                scope.spawn(move || {
                    for turn in 0..300 {
                        let bytes = (thread * 31 + turn * 17) % 61;
                        let lent = budget.take(bytes, || false).unwrap();
                        assert!(held.fetch_add(bytes, Relaxed) + bytes <= 100);
                        held.fetch_sub(bytes, Relaxed);
                        drop(lent);
                    }
                });
            }
        });
        assert_eq!(*lock(&budget.held_bytes), 0);
        let all = budget.take(100, || false);
        assert!(all.is_some() && budget.take(1, || true).is_none(), "its client has left");
    }
}
