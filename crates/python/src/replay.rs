//! Replays: one trace on one or several systems.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use flashtwin_sim::{AgedDrives, Recording, RequestsTo, SimError, TimelineTo};
use flashtwin_trace::{PageScan, PageSource, PageTrace};
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::enter::{self, Control, Patience};
use crate::errors;
use crate::policies::{self, Fault};
use crate::scan::Scan;
use crate::systems::Resolved;
use crate::trace::{InfoWanted, Trace};

const REQUESTS: &str = "requests";

#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct RunResult {
    result: Arc<flashtwin_sim::RunResult>,
}

impl RunResult {
    pub(crate) fn of(result: Arc<flashtwin_sim::RunResult>) -> Self {
        Self { result }
    }
}

#[pymethods]
impl RunResult {
    #[getter]
    fn summary_json(&self) -> String {
        self.result.summary.to_string()
    }

    #[getter]
    fn table_names(&self) -> Vec<String> {
        let names = self.result.tables.iter().map(|(name, _)| name.clone());
        names.chain(self.result.requests.as_ref().map(|_| REQUESTS.to_owned())).collect()
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        if let Some(requests) = self.result.requests.as_ref().filter(|_| name == REQUESTS) {
            return py.detach(|| requests.read()).map(Table::new).map_err(|error| errors::sim(&error));
        }
        let batch = self.result.table(name).ok_or_else(|| errors::no_table(name, &self.table_names()))?;
        Ok(Table::new(batch.clone()))
    }

    /// Writes `summary.json` and the tables as Parquet into a folder that exists.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.result.write(&path)).map_err(|error| errors::sim(&error))
    }
}

/// Replays a trace on several systems at once; results come in the order of the systems. The first failure stops the
/// rest.
///
/// * `progress(index, done, total)` is called for every unfinished run about 20 times a second, `finished(index,
///   result)` once for each run soon after it has ended.
/// * `requests`: one entry a system, the file for the table of every request, or none for memory.
/// * `aged`: the store of aged drives: folder, id of the core, least seconds of ageing worth keeping, most bytes of
///   all. `noted(text)` is called for each drive that could not be used or kept.
/// * `informed`: an idle thread computes the numbers of a trace in memory, which the caller will need.
/// * `timelines`: one entry a system: the file, and the window in nanoseconds (none: to the end of the run).
#[pyfunction]
#[pyo3(signature = (trace, systems, threads=0, progress=None, finished=None, requests=None, aged=None, noted=None, informed=false, timelines=None))]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn run(
    py: Python<'_>,
    trace: Replayed<'_>,
    systems: Vec<PyRef<'_, Resolved>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    finished: Option<Py<PyAny>>,
    requests: Option<Vec<Option<PathBuf>>>,
    aged: Option<(PathBuf, String, f64, u64)>,
    noted: Option<Py<PyAny>>,
    informed: bool,
    timelines: Option<Vec<Option<TimelineWanted>>>,
) -> PyResult<Vec<RunResult>> {
    let jobs = jobs(py, &trace, &systems, requests.as_deref(), timelines.as_deref())?;
    let count = jobs.len();
    let aside = match &trace {
        Replayed::Trace(trace) if informed => Some(trace.info_wanted()),
        _ => None,
    };
    let control = Control::new(count + usize::from(aside.is_some()));
    let done = Arc::new(Done::new(count));
    let drives = aged.map(|(folder, core, least_s, most_bytes)| {
        let least = Duration::try_from_secs_f64(least_s).unwrap_or_default();
        Arc::new(AgedDrives::new(folder, core, least, most_bytes))
    });
    let seen = drives.clone();
    let mut reporter = Reporter { told: vec![false; count], progress, finished, drives: seen, noted };
    let (control_seen, done_seen) = (Arc::clone(&control), Arc::clone(&done));
    let done_made = Arc::clone(&done);
    enter::enter(
        py,
        &control,
        Patience::Unlimited,
        move |control| run_all(&jobs, aside.as_ref(), control, &done_made, threads, drives.as_deref()),
        move |py| reporter.look_up(py, &control_seen, &done_seen),
    )?;
    done.all()
}

#[derive(FromPyObject)]
pub(crate) enum Replayed<'py> {
    Trace(PyRef<'py, Trace>),
    Scan(PyRef<'py, Scan>),
}

impl Replayed<'_> {
    pub(crate) fn cut(&self, py: Python<'_>, resolved: &flashtwin_sim::Resolved) -> PyResult<Cut> {
        match self {
            Replayed::Trace(trace) => {
                let content = resolved.content_source(trace.trace.has_content());
                Ok(Cut::Whole(trace.cut(py, resolved.config.nand.page_bytes, content)?))
            }
            Replayed::Scan(scan) => Ok(Cut::Streamed(scan.cut(py, resolved, None)?)),
        }
    }
}

pub(crate) enum Cut {
    Whole(Arc<PageTrace>),
    Streamed(PageScan),
}

impl Cut {
    pub(crate) fn source(&self) -> &dyn PageSource {
        match self {
            Cut::Whole(trace) => trace.as_ref(),
            Cut::Streamed(scan) => scan,
        }
    }
}

/// The file of a timeline, and the part of the run that is in it.
type TimelineWanted = (PathBuf, u64, Option<u64>);

struct Job {
    trace: Cut,
    resolved: Arc<flashtwin_sim::Resolved>,
    /// Failures of its policies in Python.
    fault: Option<Arc<Fault>>,
    recording: Recording,
}

impl Job {
    fn run(&self, control: &Control, index: usize, drives: Option<&AgedDrives>) -> Outcome {
        let progress = Following { job: control.job(index), fault: self.fault.as_deref() };
        let run = || {
            let source = self.trace.source();
            flashtwin_sim::run_following(source, &self.resolved, &progress, &self.recording, drives)
        };
        let caught = match &self.fault {
            Some(_) => policies::calling(control, || enter::catch(run)),
            None => enter::catch(run),
        };
        if let Some(error) = self.fault.as_ref().and_then(|fault| fault.take()) {
            return Err(Failure::Policy(error));
        }
        let stuck = |error: &SimError| policies::stuck(&self.resolved, error).map(Failure::Policy);
        match caught {
            Ok(Ok(result)) => Ok(Arc::new(result)),
            Ok(Err(error)) => Err(stuck(&error).unwrap_or(Failure::Sim(error))),
            Err(panic) => Err(Failure::Panic(panic)),
        }
    }
}

/// Progress that is cancelled by a failure of a policy as well.
struct Following<'a> {
    job: enter::Job<'a>,
    fault: Option<&'a Fault>,
}

impl flashtwin_trace::Progress for Following<'_> {
    fn update(&self, done: u64, total: u64) {
        self.job.update(done, total);
    }

    fn cancelled(&self) -> bool {
        self.fault.is_some_and(Fault::happened) || self.job.cancelled()
    }
}

/// Cuts the trace once for each page size; systems of one page size share the cut.
fn jobs(
    py: Python<'_>,
    trace: &Replayed<'_>,
    systems: &[PyRef<'_, Resolved>],
    requests: Option<&[Option<PathBuf>]>,
    timelines: Option<&[Option<TimelineWanted>]>,
) -> PyResult<Vec<Job>> {
    let requests_to = |index: usize| match requests.map(|files| files.get(index)) {
        None => RequestsTo::Nowhere,
        Some(Some(Some(file))) => RequestsTo::File(file.clone()),
        Some(_) => RequestsTo::Memory,
    };
    let timeline = |index: usize| {
        let (path, from_ns, to_ns) = timelines?.get(index)?.clone()?;
        Some(TimelineTo { path, from_ns, to_ns: to_ns.unwrap_or(u64::MAX) })
    };
    systems
        .iter()
        .enumerate()
        .map(|(index, system)| {
            let (resolved, fault) = policies::fresh(&system.resolved);
            let recording = Recording { requests: requests_to(index), timeline: timeline(index) };
            Ok(Job { trace: trace.cut(py, &resolved)?, resolved, fault, recording })
        })
        .collect()
}

type Outcome = Result<Arc<flashtwin_sim::RunResult>, Failure>;

enum Failure {
    Sim(SimError),
    Panic(String),
    Policy(PyErr),
}

impl Failure {
    /// Whether the run was only stopped because something else had failed.
    fn is_consequence(&self) -> bool {
        matches!(self, Failure::Sim(SimError::Interrupted))
    }

    fn to_exception(&self) -> PyErr {
        match self {
            Failure::Sim(error) => errors::sim(error),
            Failure::Panic(message) => errors::internal(message),
            Failure::Policy(error) => Python::attach(|py| error.clone_ref(py)),
        }
    }
}

struct Done {
    outcomes: Vec<OnceLock<Outcome>>,
}

impl Done {
    fn new(jobs: usize) -> Self {
        Self { outcomes: (0..jobs).map(|_| OnceLock::new()).collect() }
    }

    fn result(&self, index: usize) -> Option<Arc<flashtwin_sim::RunResult>> {
        let outcome = self.outcomes[index].get()?;
        outcome.as_ref().ok().cloned()
    }

    /// All results in order, or the first failure that is not the mere consequence of another.
    fn all(&self) -> PyResult<Vec<RunResult>> {
        let failures = self.outcomes.iter().filter_map(|outcome| outcome.get()?.as_ref().err());
        if let Some(failure) = failures.min_by_key(|failure| failure.is_consequence()) {
            return Err(failure.to_exception());
        }
        let results = (0..self.outcomes.len()).map(|index| self.result(index));
        let all: Option<Vec<_>> = results.map(|result| Some(RunResult::of(result?))).collect();
        all.ok_or_else(|| errors::internal("a run ended without a result"))
    }
}

/// Runs all jobs, then the side work, on at most `threads` threads (0: one a core); the first failure stops the rest.
fn run_all(
    jobs: &[Job],
    aside: Option<&InfoWanted>,
    control: &Control,
    done: &Done,
    threads: usize,
    drives: Option<&AgedDrives>,
) {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores() } else { threads }.min(jobs.len() + usize::from(aside.is_some()));
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                if let Some(wanted) = aside.filter(|_| index == jobs.len()) {
                    // The error appears again when the caller asks for the numbers.
                    let _ = enter::catch(|| wanted.find(&control.job(index)));
                }
                break;
            };
            let outcome = job.run(control, index, drives);
            if outcome.is_err() {
                control.cancel();
            }
            // Each index is drawn once, so the slot is empty.
            let _ = done.outcomes[index].set(outcome);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

/// Tells Python how far the runs are, and once of each that has finished.
struct Reporter {
    told: Vec<bool>,
    progress: Option<Py<PyAny>>,
    finished: Option<Py<PyAny>>,
    drives: Option<Arc<AgedDrives>>,
    noted: Option<Py<PyAny>>,
}

impl Reporter {
    fn look_up(&mut self, py: Python<'_>, control: &Control, done: &Done) -> PyResult<()> {
        let notes = self.drives.as_ref().map(|drives| drives.take_notes()).unwrap_or_default();
        for note in notes {
            if let Some(noted) = &self.noted {
                noted.call1(py, (note,))?;
            }
        }
        for index in 0..self.told.len() {
            let (steps, total) = control.progress(index);
            if let (Some(progress), false) = (&self.progress, self.told[index] || total == 0) {
                progress.call1(py, (index, steps, total))?;
            }
            let Some(result) = done.result(index).filter(|_| !self.told[index]) else {
                continue;
            };
            self.told[index] = true;
            if let Some(finished) = &self.finished {
                finished.call1(py, (index, RunResult::of(result)))?;
            }
        }
        Ok(())
    }
}
