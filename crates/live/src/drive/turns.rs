//! The drive's lock, which connections take in turns.
//!
//! A plain lock goes to whoever asks at the right moment: a client with many long requests keeps it from all others.
//! Here whoever has waited for long gets it next, one of each connection after the other, so that a wait is bounded by
//! [`ROUND`] and a turn of every connection. In between it is left to chance, because the lock lies idle until the thread
//! that it is handed to runs.

use std::collections::VecDeque;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LockResult, Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::export::Caller;
use crate::locks::lock;

/// In this time each connection that waits is handed the lock once, beside what their turns take.
const ROUND: Duration = Duration::from_millis(100);
/// Looks at a lock that is taken before a thread goes to sleep.
const LOOKS: u32 = 100;
/// Interval of a waiting thread's check whether its client is still there.
const LOOK: Duration = Duration::from_millis(200);

/// Who waits, by connection.
struct Line<T>(VecDeque<(u64, VecDeque<T>)>);

impl<T> Line<T> {
    fn add(&mut self, connection: u64, one: T) {
        match self.0.iter_mut().find(|(other, _)| *other == connection) {
            Some((_, its)) => its.push_back(one),
            None => self.0.push_back((connection, VecDeque::from([one]))),
        }
    }

    fn first(&self) -> Option<&T> {
        self.0.front()?.1.front()
    }

    /// The first, whose connection goes behind all others.
    fn take(&mut self) -> Option<T> {
        let (connection, mut its) = self.0.pop_front()?;
        let one = its.pop_front();
        if !its.is_empty() {
            self.0.push_back((connection, its));
        }
        one
    }

    fn remove(&mut self, connection: u64, is_it: impl Fn(&T) -> bool) {
        if let Some((_, its)) = self.0.iter_mut().find(|(other, _)| *other == connection) {
            its.retain(|one| !is_it(one));
        }
        self.0.retain(|(_, its)| !its.is_empty());
    }
}

struct Waiter {
    thread: Thread,
    since: Instant,
    has_turn: AtomicBool,
}

struct State {
    is_taken: bool,
    handed_over: Instant,
    line: Line<Arc<Waiter>>,
}

pub(crate) struct Turns<T> {
    state: Mutex<State>,
    /// As the state has it: for a look.
    is_taken: AtomicBool,
    /// Locked by whoever has the turn.
    inner: Mutex<T>,
}

impl<T> Turns<T> {
    pub(crate) fn new(inner: T) -> Self {
        let state = State { is_taken: false, handed_over: Instant::now(), line: Line(VecDeque::new()) };
        Self { state: Mutex::new(state), is_taken: AtomicBool::new(false), inner: Mutex::new(inner) }
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.is_taken.load(Ordering::Relaxed)
    }

    /// Waits for a turn of the caller's connection, unless the client leaves first.
    pub(crate) fn take(&self, caller: &dyn Caller) -> io::Result<Turn<'_, T>> {
        if self.enter(caller) { Ok(self.turn()) } else { Err(io::ErrorKind::ConnectionAborted.into()) }
    }

    /// A turn of no connection.
    pub(crate) fn take_own(&self) -> Turn<'_, T> {
        // It never leaves.
        self.enter(&());
        self.turn()
    }

    fn turn(&self) -> Turn<'_, T> {
        let leave = Leave { state: &self.state, is_taken: &self.is_taken };
        Turn { inner: self.inner.lock(), _leave: leave }
    }

    /// Returns whether it is the caller's turn now; else the client has left.
    fn enter(&self, caller: &dyn Caller) -> bool {
        for _ in 0..LOOKS {
            if !self.is_taken() {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = lock(&self.state);
        if !std::mem::replace(&mut state.is_taken, true) {
            self.is_taken.store(true, Ordering::Relaxed);
            return true;
        }
        let (thread, since) = (thread::current(), Instant::now());
        let own = Arc::new(Waiter { thread, since, has_turn: AtomicBool::new(false) });
        state.line.add(caller.connection(), Arc::clone(&own));
        drop(state);
        let mut looked = since;
        loop {
            thread::park_timeout(LOOK);
            let has_left = looked.elapsed() >= LOOK && caller.has_left();
            looked = if looked.elapsed() >= LOOK { Instant::now() } else { looked };
            let mut state = lock(&self.state);
            if own.has_turn.load(Ordering::Acquire) {
                return true;
            }
            // It may have been woken because the lock was free, which another may have taken since.
            let is_first = state.line.first().is_some_and(|first| Arc::ptr_eq(first, &own));
            if !state.is_taken && is_first {
                state.is_taken = true;
                self.is_taken.store(true, Ordering::Relaxed);
                state.line.take();
                return true;
            }
            if has_left {
                state.line.remove(caller.connection(), |one| Arc::ptr_eq(one, &own));
                return false;
            }
        }
    }
}

/// A turn, until it is dropped.
pub(crate) struct Turn<'a, T> {
    /// Dropped before the turn ends. Poisoned if a thread panicked in its turn.
    inner: LockResult<MutexGuard<'a, T>>,
    _leave: Leave<'a>,
}

impl<T> Turn<'_, T> {
    pub(crate) fn is_poisoned(&self) -> bool {
        self.inner.is_err()
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().unwrap_or_else(|poisoned| poisoned.get_ref())
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut())
    }
}

struct Leave<'a> {
    state: &'a Mutex<State>,
    is_taken: &'a AtomicBool,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut state = lock(self.state);
        let now = Instant::now();
        let first = state.line.first().map(Arc::clone);
        let patience = ROUND / state.line.0.len().max(1) as u32;
        match &first {
            Some(first) if now - first.since.max(state.handed_over) >= patience => {
                state.handed_over = now;
                state.line.take();
                first.has_turn.store(true, Ordering::Release);
            }
            _ => {
                state.is_taken = false;
                self.is_taken.store(false, Ordering::Relaxed);
            }
        }
        drop(state);
        if let Some(first) = first {
            first.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Client(u64, bool);

    impl Caller for Client {
        fn has_left(&self) -> bool {
            self.1
        }

        fn connection(&self) -> u64 {
            self.0
        }
    }

    fn of<T>(turns: &Turns<T>, connection: u64) -> Turn<'_, T> {
        turns.take(&Client(connection, false)).unwrap()
    }

    #[test]
    fn whoever_leaves_waits_no_longer() {
        let turns = Turns::new(0);
        let turn = of(&turns, 1);
        let left = turns.take(&Client(2, true)).err().unwrap();
        assert_eq!(left.kind(), io::ErrorKind::ConnectionAborted);
        drop(turn);
        assert_eq!(*of(&turns, 3), 0);
    }

    #[test]
    fn connections_come_in_turns_however_many_of_one_wait() {
        let mut line = Line(VecDeque::new());
        let waiting = [(1, "a"), (1, "b"), (1, "c"), (2, "d"), (3, "e"), (2, "f")];
        waiting.into_iter().for_each(|(connection, one)| line.add(connection, one));
        let mut order: Vec<&str> = (0..2).filter_map(|_| line.take()).collect();
        line.add(4, "g");
        line.add(3, "h");
        line.remove(2, |one| *one == "f");
        order.extend(std::iter::from_fn(|| line.take()));
        assert_eq!(order.concat(), "adebghc");
        assert!(line.first().is_none());
    }

    /// Holders that take the lock again at once, of which one has three threads.
    #[test]
    fn nobody_waits_for_more_than_a_round_of_all() {
        let (turns, ended) = (Turns::new(0_u32), AtomicBool::new(false));
        let turn = ROUND / 20;
        thread::scope(|scope| {
            for connection in [1, 1, 1, 2, 3] {
                let (turns, ended) = (&turns, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let mut count = of(turns, connection);
                        *count += 1;
                        thread::sleep(turn);
                    }
                });
            }
            while *of(&turns, 0) < 10 {}
            for _ in 0..10 {
                let before = *of(&turns, 0);
                let passed = *of(&turns, 0) - before;
                // Those of a round, one more of each, and those of a busy machine.
                assert!(passed <= 20 + 5 + 15, "{passed} turns of others");
            }
            ended.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_panic_in_a_turn_is_known_to_the_next() {
        let turns = Turns::new(0);
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _turn = of(&turns, 1);
                panic!("in its turn");
            });
            assert!(panics.join().is_err());
        });
        assert!(of(&turns, 2).is_poisoned());
    }
}
