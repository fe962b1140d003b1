//! The one door into the core. Work runs on threads of its own with the GIL released. The calling thread wakes 20 times
//! a second for Ctrl-C and progress. If either asks for it, it cancels the work and waits for its end.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors;
use crate::policies;

/// How often the calling thread looks up: quick to a person, nothing to the machine.
const LOOK_UP: Duration = Duration::from_millis(50);

/// How long work that may hang gets to notice that it was cancelled.
const A_MOMENT: Duration = Duration::from_millis(500);

/// State shared by the work and the waiting thread: the progress of each job, and whether to stop.
pub(crate) struct Control {
    cancelled: AtomicBool,
    jobs: Vec<(AtomicU64, AtomicU64)>,
    /// Threads that call policies in Python, by Python's numbers.
    callers: Mutex<Vec<u64>>,
}

impl Control {
    pub(crate) fn new(jobs: usize) -> Arc<Self> {
        let jobs = (0..jobs).map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
        Arc::new(Self { cancelled: AtomicBool::new(false), jobs, callers: Mutex::default() })
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// This thread calls policies in Python, which may have to be interrupted.
    pub(crate) fn calls_python(&self, thread: u64) {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    /// Interrupts policies in Python: one may be in an endless loop, where it does not ask whether to stop.
    fn interrupt_policies(&self) {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !callers.is_empty() {
            Python::attach(|py| callers.iter().for_each(|&thread| policies::interrupt(py, thread)));
        }
    }

    pub(crate) fn job(&self, index: usize) -> Job<'_> {
        Job { control: self, index }
    }

    /// Steps done and steps in all of one job; in all is 0 until it is known.
    pub(crate) fn progress(&self, index: usize) -> (u64, u64) {
        let (done, total) = &self.jobs[index];
        (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed))
    }
}

pub(crate) struct Job<'a> {
    control: &'a Control,
    index: usize,
}

impl flashtwin_trace::Progress for Job<'_> {
    fn update(&self, done: u64, total: u64) {
        let job = &self.control.jobs[self.index];
        job.0.store(done, Ordering::Relaxed);
        job.1.store(total, Ordering::Relaxed);
    }
    fn cancelled(&self) -> bool {
        self.control.cancelled.load(Ordering::Relaxed)
    }
}

/// How long to wait for cancelled work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Wait: it checks its `Progress` often and must not leave half a file behind.
    Unlimited,
    /// Abandon it after a moment: it may hang in a read from a pipe without a writer, and writes no files.
    Brief,
}

/// Runs `work` with the GIL released and returns its result. `look_up` is called with the GIL about every 50 ms and
/// once after the end. An error from it, or Ctrl-C, cancels the work and is raised once the work has stopped.
pub(crate) fn enter<T: Send + 'static>(
    py: Python<'_>,
    control: &Arc<Control>,
    patience: Patience,
    work: impl FnOnce(&Control) -> T + Send + 'static,
    mut look_up: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let _quiet = Quiet::begin();
    let outcome = py.detach(|| wait_for(start(control, work), control, patience, &mut look_up))?;
    let value = outcome.map_err(errors::internal)?;
    py.check_signals()?;
    look_up(py)?;
    Ok(value)
}

/// Runs work on the calling thread, because most calls are shorter than the start of another. The work looks for Ctrl-C
/// itself, where it asks whether to stop.
pub(crate) fn here<T: Send>(py: Python<'_>, work: impl FnOnce(&Signals) -> T + Send) -> PyResult<T> {
    let _quiet = Quiet::begin();
    let signals = Signals { next: Mutex::new(Instant::now() + LOOK_UP), interruption: OnceLock::new() };
    let outcome = py.detach(|| catch(|| work(&signals)));
    match signals.interruption.into_inner() {
        Some(interruption) => Err(interruption),
        None => outcome.map_err(errors::internal),
    }
}

pub(crate) struct Signals {
    next: Mutex<Instant>,
    interruption: OnceLock<PyErr>,
}

impl flashtwin_trace::Progress for Signals {
    fn update(&self, _: u64, _: u64) {}
    fn cancelled(&self) -> bool {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if Instant::now() < *next {
            return false;
        }
        *next = Instant::now() + LOOK_UP;
        Python::attach(|py| py.check_signals()).is_err_and(|error| self.interruption.set(error).is_ok())
    }
}

/// Runs one job, telling `progress` how far it is.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    patience: Patience,
    work: impl FnOnce(&Job<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let control = Control::new(1);
    let seen = Arc::clone(&control);
    enter(
        py,
        &control,
        patience,
        move |control| work(&control.job(0)),
        move |py| match &progress {
            Some(progress) => progress.call1(py, seen.progress(0)).map(drop),
            None => Ok(()),
        },
    )
}

/// Starts `work` on a thread of its own; the receiver gets its result or its panic.
fn start<T: Send + 'static>(
    control: &Arc<Control>,
    work: impl FnOnce(&Control) -> T + Send + 'static,
) -> Receiver<Result<T, String>> {
    let (sender, receiver) = mpsc::channel();
    let control = Arc::clone(control);
    thread::spawn(move || {
        // Nobody receives it when the work was left behind.
        let _ = sender.send(catch(|| work(&control)));
    });
    receiver
}

/// Waits for the work, looking up 20 times a second. Called without the GIL.
fn wait_for<T: Send>(
    receiver: Receiver<Result<T, String>>,
    control: &Control,
    patience: Patience,
    look_up: &mut (impl FnMut(Python<'_>) -> PyResult<()> + Send),
) -> PyResult<Result<T, String>> {
    let interrupted = loop {
        match receiver.recv_timeout(LOOK_UP) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Disconnected) => return Ok(Err("a thread ended early".to_owned())),
            Err(RecvTimeoutError::Timeout) => {
                let looked = Python::attach(|py| py.check_signals().and_then(|()| look_up(py)));
                if let Err(error) = looked {
                    break error;
                }
            }
        }
    };
    control.cancel();
    // The result no longer matters: the interruption is the outcome.
    match patience {
        Patience::Unlimited => {
            control.interrupt_policies();
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(LOOK_UP) {
                control.interrupt_policies();
            }
        }
        Patience::Brief => drop(receiver.recv_timeout(A_MOMENT)),
    }
    Err(interrupted)
}

/// Calls into the core that are under way: while there are any, panics become exceptions instead of being printed.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

struct Quiet;

impl Quiet {
    fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::Relaxed);
        Quiet
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Installs the panic hook that [`Quiet`] works with; others' panics are printed as before.
pub(crate) fn quieten_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if UNDER_WAY.load(Ordering::Relaxed) == 0 {
            return before(info);
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let payload = info.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panic");
        let mut last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        *last = format!("{what} ({place})");
    }));
}

/// Does some work; if it panics, the panic's message and place.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    })
}
