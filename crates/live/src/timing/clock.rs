//! The event engine under the wall clock.
//!
//! A thread sleeps until the engine's next event, advances the engine, and wakes complete requests. So does
//! a thread that brings a request.

use std::collections::HashMap;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use flashtwin_sim::{RunResult, SimError, SteppedDrive as Twin, SteppedRequest as TwinRequest};
use flashtwin_trace::Op;

use super::numbers::Numbers;
use super::{Asked, contents_of};
use crate::export::Caller;
use crate::locks::{lock, unpoisoned};

const LOOK: Duration = Duration::from_millis(50);
const NOT_YET: u64 = u64::MAX;
const NEVER: u64 = u64::MAX - 1;

struct Waiter {
    thread: Thread,
    done_ns: AtomicU64,
}

pub(super) struct Ticket(Arc<Waiter>);

impl Ticket {
    /// Waits until the modelled drive completes the request; returns the time by the drive's clock. `None` if the
    /// engine does not have it, or the client has left.
    pub(super) fn wait(&self, caller: &dyn Caller) -> Option<u64> {
        loop {
            match self.0.done_ns.load(Ordering::Acquire) {
                NOT_YET if caller.has_left() => return None,
                NOT_YET => thread::park_timeout(LOOK),
                NEVER => return None,
                done_ns => return Some(done_ns),
            }
        }
    }
}

struct State {
    twin: Option<Twin>,
    numbers: Numbers,
    waiting: HashMap<u64, Arc<Waiter>>,
    done: Vec<(u64, u64)>,
    looks_ns: u64,
    ended: bool,
    failure: Option<String>,
}

struct Shared {
    state: Mutex<State>,
    look: Condvar,
    began: Instant,
}

pub(super) struct Clock {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Shared {
    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    /// Changes the model. The caller wakes those who wait for it.
    fn with(&mut self, what: impl FnOnce(&mut Twin, &mut Numbers) -> Result<(), SimError>) {
        let Some(mut twin) = self.twin.take() else { return };
        let numbers = &mut self.numbers;
        // A panic of the model stops the model, not the drive. The model is not used again.
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| what(&mut twin, numbers)));
        match outcome {
            Err(_) => self.fail("the simulated drive stopped by a mistake of its own".into()),
            Ok(Err(error)) => self.fail(error.to_string()),
            Ok(Ok(())) => {
                twin.take_done(&mut self.done);
                self.twin = Some(twin);
            }
        }
    }

    fn wake(&mut self) {
        for (number, done_ns) in self.done.drain(..) {
            if let Some(waiter) = self.waiting.remove(&number) {
                waiter.done_ns.store(done_ns, Ordering::Release);
                waiter.thread.unpark();
            }
        }
    }

    fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
        self.release();
    }

    fn release(&mut self) {
        for (_, waiter) in self.waiting.drain() {
            waiter.done_ns.store(NEVER, Ordering::Release);
            waiter.thread.unpark();
        }
    }
}

impl Clock {
    pub(super) fn start(twin: Twin, numbers: Numbers) -> io::Result<Self> {
        let state = State {
            twin: Some(twin),
            numbers,
            waiting: HashMap::new(),
            done: Vec::new(),
            looks_ns: u64::MAX,
            ended: false,
            failure: None,
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), look: Condvar::new(), began: Instant::now() });
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new().name("drive-time".to_owned()).spawn(move || tick(&its))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.shared.now_ns()
    }

    /// Hands in a request; `None` if no answer needs to wait for it.
    pub(super) fn arrive(&self, arrived_ns: u64, asked: &Asked) -> Option<Ticket> {
        let mut state = self.shared.lock();
        let waiter = Arc::new(Waiter { thread: thread::current(), done_ns: AtomicU64::new(NOT_YET) });
        let mut number = None;
        state.with(|twin, numbers| {
            let (contents, reused) = contents_of(numbers, asked);
            reused.into_iter().for_each(|content| twin.forget_content(content));
            if asked.op == Op::Trim {
                let first = asked.first_lpn + u32::from(asked.first_is_partial);
                let end = asked.first_lpn + asked.pages - u32::from(asked.last_is_partial);
                numbers.trim(first..end.max(first));
            }
            let lpns: Vec<u32> = (asked.first_lpn..asked.first_lpn + asked.pages).collect();
            let request = TwinRequest {
                op: asked.op,
                bytes: asked.bytes,
                lpns: &lpns,
                contents: &contents,
                first_is_partial: asked.first_is_partial,
                last_is_partial: asked.last_is_partial,
                durable: asked.durable,
            };
            number = Some(twin.arrive(arrived_ns, &request)?);
            Ok(())
        });
        let number = number?;
        state.twin.as_ref()?;
        state.waiting.insert(number, Arc::clone(&waiter));
        // Completes requests that take no time, and overdue ones.
        let now_ns = self.shared.now_ns();
        state.with(|twin, _| twin.advance(now_ns));
        state.wake();
        let next_ns = state.twin.as_ref().and_then(Twin::next_event_ns).unwrap_or(u64::MAX);
        if next_ns < state.looks_ns {
            self.shared.look.notify_one();
        }
        Some(Ticket(waiter))
    }

    /// Or until the client has left. The engine may report a completion ahead of its time if it is certain.
    pub(super) fn sleep_until(&self, then_ns: u64, caller: &dyn Caller) {
        loop {
            let left_ns = then_ns.saturating_sub(self.now_ns());
            if left_ns == 0 || caller.has_left() {
                return;
            }
            sleep_precisely();
            thread::sleep(Duration::from_nanos(left_ns).min(LOOK));
        }
    }

    pub(super) fn end_period(&self) {
        let mut state = self.shared.lock();
        let now_ns = self.shared.now_ns();
        state.with(|twin, _| twin.end_period(now_ns));
        state.wake();
    }

    /// Operations waiting and in service at each chip now; none after the end or a failure.
    pub(super) fn queue_lengths(&self) -> Vec<u32> {
        let mut state = self.shared.lock();
        let now_ns = self.shared.now_ns();
        state.with(|twin, _| twin.advance(now_ns));
        state.wake();
        state.twin.as_ref().map_or_else(Vec::new, |twin| twin.queue_lengths().iter().copied().collect())
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.shared.lock().failure.clone()
    }

    pub(super) fn finish(&self) -> Result<RunResult, String> {
        self.stop();
        let mut state = self.shared.lock();
        let twin = state.twin.take();
        state.release();
        let failure = state.failure.clone();
        drop(state);
        let twin = twin.ok_or_else(|| failure.unwrap_or_else(|| "it has ended already".into()))?;
        twin.finish().map_err(|error| error.to_string())
    }

    fn stop(&self) {
        self.shared.lock().ended = true;
        self.shared.look.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.stop();
    }
}

fn tick(shared: &Shared) {
    sleep_precisely();
    let mut state = shared.lock();
    while !state.ended {
        let now_ns = shared.now_ns();
        state.with(|twin, _| twin.advance(now_ns));
        state.wake();
        state.looks_ns = state.twin.as_ref().and_then(Twin::next_event_ns).unwrap_or(u64::MAX);
        state = match state.looks_ns {
            u64::MAX => unpoisoned(shared.look.wait(state)),
            looks_ns => {
                let left = Duration::from_nanos(looks_ns.saturating_sub(shared.now_ns()));
                unpoisoned(shared.look.wait_timeout(state, left)).0
            }
        };
    }
}

/// Linux may wake a thread up to 50 us late, to wake several together. This asks for precise wake-ups.
fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    // SAFETY: it sets a number of this thread's; of the arguments, only the first two count.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1u64, 0u64, 0u64, 0u64);
    }
}
