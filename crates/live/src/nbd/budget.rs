//! Memory that the requests of all connections share.
//!
//! Requests that fit into their thread's own memory need none of it, so a stalled client delays only large requests.

use crate::locks::{lock, unpoisoned};
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Interval of a waiting request's check whether its client is still there.
const LOOK: Duration = Duration::from_millis(50);

struct State {
    left_bytes: usize,
    /// The first is served first, so that small requests do not pass a large one for ever.
    waiting: BTreeSet<u64>,
    next: u64,
}

pub(crate) struct Pool {
    state: Mutex<State>,
    given_back: Condvar,
}

pub(crate) struct Budget<'a> {
    pool: &'a Pool,
    limit_bytes: usize,
    /// Changed under the pool's lock.
    held_bytes: Mutex<usize>,
}

pub(crate) struct Lent<'a> {
    budget: &'a Budget<'a>,
    bytes: usize,
}

impl Pool {
    pub(crate) fn new(bytes: usize) -> Self {
        let state = State { left_bytes: bytes, waiting: BTreeSet::new(), next: 0 };
        Self { state: Mutex::new(state), given_back: Condvar::new() }
    }
}

impl<'a> Budget<'a> {
    /// For a connection that may have `limit_bytes` at a time, no more than there are in all.
    pub(crate) fn new(pool: &'a Pool, limit_bytes: usize) -> Self {
        Self { pool, limit_bytes, held_bytes: Mutex::new(0) }
    }

    /// Lends `bytes`, at most the limit; `None` if `has_left` first. One thread of a connection asks at a time.
    pub(crate) fn take(&self, bytes: usize, has_left: impl Fn() -> bool) -> Option<Lent<'_>> {
        if bytes == 0 {
            return Some(Lent { budget: self, bytes });
        }
        let mut state = lock(&self.pool.state);
        let mut turn = None;
        loop {
            // A connection takes its turn only when it no longer waits for its own memory: others would wait with it.
            if turn.is_none() && *lock(&self.held_bytes) + bytes <= self.limit_bytes {
                turn = Some(state.next);
                let next = state.next;
                state.waiting.insert(next);
                state.next += 1;
            }
            let is_first = turn.is_some() && state.waiting.first() == turn.as_ref();
            let found = is_first && state.left_bytes >= bytes;
            if found || has_left() {
                turn.iter().for_each(|turn| {
                    state.waiting.remove(turn);
                });
                self.pool.given_back.notify_all();
                if found {
                    state.left_bytes -= bytes;
                    *lock(&self.held_bytes) += bytes;
                }
                return found.then(|| Lent { budget: self, bytes });
            }
            state = unpoisoned(self.pool.given_back.wait_timeout(state, LOOK)).0;
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let pool = self.budget.pool;
            let mut state = lock(&pool.state);
            state.left_bytes += self.bytes;
            *lock(&self.budget.held_bytes) -= self.bytes;
            pool.given_back.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
    use std::thread;

    use super::*;

    #[test]
    fn what_is_lent_is_never_more_than_there_is() {
        let pool = Pool::new(100);
        let held = AtomicUsize::new(0);
        thread::scope(|scope| {
            for thread in 0..8_usize {
                let (pool, held) = (&pool, &held);
                scope.spawn(move || {
                    let budget = Budget::new(pool, 60);
                    for turn in 0..300 {
                        let bytes = 1 + (thread * 31 + turn * 17) % 60;
                        let lent = budget.take(bytes, || false).unwrap();
                        assert!(held.fetch_add(bytes, Relaxed) + bytes <= 100);
                        held.fetch_sub(bytes, Relaxed);
                        drop(lent);
                    }
                });
            }
        });
        assert_eq!(lock(&pool.state).left_bytes, 100);
        assert!(lock(&pool.state).waiting.is_empty());
    }

    #[test]
    fn large_request_keeps_its_turn_until_its_client_leaves() {
        let pool = Pool::new(100);
        let (first, large, small) =
            (Budget::new(&pool, 100), Budget::new(&pool, 100), Budget::new(&pool, 100));
        let held = first.take(60, || false).unwrap();
        let left = AtomicBool::new(false);
        thread::scope(|scope| {
            let waits = scope.spawn(|| large.take(100, || left.load(Relaxed)).is_some());
            while lock(&pool.state).waiting.is_empty() {
                thread::yield_now();
            }
            let behind = scope.spawn(|| small.take(10, || false).is_some());
            thread::sleep(Duration::from_millis(30));
            assert!(!waits.is_finished() && !behind.is_finished(), "40 bytes are left, for 10 behind 100");
            left.store(true, Relaxed);
            assert!(!waits.join().unwrap(), "its client has left");
            assert!(behind.join().unwrap());
        });
        drop(held);
        assert_eq!(lock(&pool.state).left_bytes, 100);
    }

    #[test]
    fn a_connection_that_waits_for_itself_holds_nobody() {
        let pool = Pool::new(100);
        let (one, other) = (Budget::new(&pool, 50), Budget::new(&pool, 50));
        let held = one.take(40, || false).unwrap();
        thread::scope(|scope| {
            let own = scope.spawn(|| one.take(20, || false).is_some());
            assert!(other.take(50, || false).is_some());
            assert!(!own.is_finished());
            drop(held);
            assert!(own.join().unwrap());
        });
    }
}
