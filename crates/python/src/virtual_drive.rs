//! Drives in virtual time.

use std::sync::{Arc, Mutex, PoisonError};

use flashtwin_sim::{SimError, VirtualDriveOptions};
use flashtwin_trace::{CHUNK_BYTES, Holes, Op, Progress, Requests};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::enter::{self, Job, Patience};
use crate::errors;
use crate::replay::RunResult;
use crate::systems::Resolved;

/// A drive whose time its caller lets pass.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct VirtualDrive {
    state: Arc<Mutex<State>>,
}

enum State {
    Open(Box<flashtwin_sim::VirtualDrive>),
    /// With the reason.
    Closed(String),
}

enum Failure {
    /// Nothing has changed.
    Argument(String),
    /// The drive is of no use any more.
    Sim(SimError),
    Closed(String),
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        Failure::Sim(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Argument(text) => errors::ArgumentError::new_err(text),
            Failure::Sim(error) => errors::sim(&error),
            Failure::Closed(text) => errors::SimError::new_err(text),
        }
    }
}

type Outcome<T> = Result<T, Failure>;
type Inner = flashtwin_sim::VirtualDrive;

/// Works with the drive if it is open; an error of the core closes it.
fn with_drive<T>(state: &Mutex<State>, work: impl FnOnce(&mut Inner) -> Outcome<T>) -> Outcome<T> {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let panicked = State::Closed("an earlier call failed by a mistake of its own: make a new drive".into());
    match std::mem::replace(&mut *state, panicked) {
        State::Closed(why) => {
            *state = State::Closed(why.clone());
            Err(Failure::Closed(why))
        }
        State::Open(mut drive) => {
            let outcome = work(&mut drive);
            *state = match &outcome {
                Err(Failure::Sim(error)) => {
                    State::Closed(format!("an earlier call failed ({error}): make a new drive"))
                }
                _ => State::Open(drive),
            };
            outcome
        }
    }
}

/// Requests of one submission, as columns.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Submission {
    time_ns: Vec<u8>,
    op: Vec<u8>,
    flags: Vec<u8>,
    offset_bytes: Vec<u8>,
    length_bytes: Vec<u8>,
    /// The first content of each request, and the end of the last; the contents.
    content: Option<(Vec<u8>, Vec<u8>)>,
}

struct Batch {
    time_ns: Vec<i64>,
    op: Vec<Op>,
    flags: Vec<u8>,
    volume: Vec<u32>,
    offset_bytes: Vec<u64>,
    length_bytes: Vec<u32>,
    content_start: Vec<u64>,
    content: Vec<u32>,
    holes: Holes,
}

fn numbers<const N: usize, T>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|&bytes| number(bytes)).collect()
}

impl Batch {
    /// `None` for columns of different lengths, or an unknown operation.
    fn of(rows: Submission) -> Option<Self> {
        let op: Option<Vec<Op>> = rows.op.iter().map(|&op| Op::from_number(op)).collect();
        let content = rows.content.unwrap_or_default();
        let batch = Self {
            time_ns: numbers(&rows.time_ns, i64::from_ne_bytes),
            op: op?,
            flags: rows.flags,
            volume: vec![0; rows.op.len()],
            offset_bytes: numbers(&rows.offset_bytes, u64::from_ne_bytes),
            length_bytes: numbers(&rows.length_bytes, u32::from_ne_bytes),
            content_start: numbers(&content.0, u64::from_ne_bytes),
            content: numbers(&content.1, u32::from_ne_bytes),
            holes: Holes::default(),
        };
        let rows = batch.op.len();
        let lengths =
            [batch.time_ns.len(), batch.offset_bytes.len(), batch.length_bytes.len(), batch.flags.len()];
        let ends = batch.content_start.is_empty() || batch.content_start.len() == rows + 1;
        let within = batch.content_start.last().is_none_or(|&end| end as usize == batch.content.len());
        (lengths == [rows; 4] && ends && within && batch.content_start.is_sorted()).then_some(batch)
    }

    fn requests(&self) -> Requests<'_> {
        Requests {
            time_ns: &self.time_ns,
            volume: &self.volume,
            op: &self.op,
            offset_bytes: &self.offset_bytes,
            length_bytes: &self.length_bytes,
            content_start: &self.content_start,
            content: &self.content,
            chunk_bytes: CHUNK_BYTES,
            flags: &self.flags,
            holes: &self.holes,
            zero_content: None,
        }
    }
}

impl VirtualDrive {
    /// Short work stays on this thread. Other work is cancelled by Ctrl-C, which closes the drive.
    fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        is_brief: impl FnOnce(&mut Inner) -> bool + Send,
        work: impl FnOnce(&mut Inner, &dyn Progress) -> Outcome<T> + Send + 'static,
    ) -> PyResult<T> {
        let state = Arc::clone(&self.state);
        let mut work = Some(work);
        let done = enter::briefly(py, || {
            with_drive(&state, |drive| {
                let work = if is_brief(drive) { work.take() } else { None };
                work.map(|work| work(drive, &())).transpose()
            })
        })??;
        if let Some(done) = done {
            return Ok(done);
        }
        let run = move |job: &Job<'_>| {
            with_drive(&state, |drive| match work {
                Some(work) => work(drive, job),
                None => unreachable!("it is taken where it is done"),
            })
        };
        Ok(enter::watched(py, None, Patience::Unlimited, run)??)
    }

    fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&mut Inner) -> T + Send) -> PyResult<T> {
        Ok(enter::briefly(py, || with_drive(&self.state, |drive| Ok(look(drive))))??)
    }

    /// The drive itself, which is closed from now on, as a caller is told who uses it again.
    fn take(&self, why: &str) -> Option<Box<Inner>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Closed(why.to_owned())) {
            State::Open(drive) => Some(drive),
            State::Closed(why) => {
                *state = State::Closed(why);
                None
            }
        }
    }
}

#[pymethods]
impl VirtualDrive {
    #[new]
    fn new(
        py: Python<'_>,
        system: &Resolved,
        name: String,
        pages: u32,
        contents: Option<u32>,
        per_request: bool,
    ) -> PyResult<Self> {
        let resolved = Arc::clone(&system.resolved);
        let options = VirtualDriveOptions { name, pages, contents, per_request };
        let make = move |job: &Job<'_>| flashtwin_sim::VirtualDrive::new(&resolved, &options, job);
        let drive =
            enter::watched(py, None, Patience::Unlimited, make)?.map_err(|error| errors::sim(&error))?;
        Ok(Self { state: Arc::new(Mutex::new(State::Open(Box::new(drive)))) })
    }

    /// Takes requests in, each at its time; the number of the first.
    fn submit(&self, py: Python<'_>, requests: Submission) -> PyResult<u64> {
        let batch = Batch::of(requests);
        let batch =
            batch.ok_or_else(|| PyValueError::new_err("columns of requests do not fit each other"))?;
        let (to_ns, count) = (batch.time_ns.last().map_or(0, |&last_ns| last_ns as u64), batch.op.len());
        let is_brief = move |drive: &mut Inner| drive.is_brief(to_ns, count);
        self.work(py, is_brief, move |drive, progress| {
            let requests = batch.requests();
            drive.refusal(&requests).map_or(Ok(()), |text| Err(Failure::Argument(text)))?;
            Ok(drive.submit(&requests, progress)?)
        })
    }

    fn advance(&self, py: Python<'_>, to_ns: u64) -> PyResult<()> {
        self.work(
            py,
            move |drive| drive.is_brief(to_ns, 0),
            move |drive, progress| {
                let refusal = drive.time_refusal(to_ns);
                refusal.map_or(Ok(()), |text| Err(Failure::Argument(format!("to_ns: {text}"))))?;
                Ok(drive.advance(to_ns, progress)?)
            },
        )
    }

    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |drive| drive.now_ns())
    }

    #[getter]
    fn next_event_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.look(py, Inner::next_event_ns)
    }

    #[getter]
    fn under_way(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, Inner::under_way)
    }

    /// The requests completed by now since the last call.
    fn completed(&self, py: Python<'_>) -> PyResult<Table> {
        self.look(py, Inner::take_completed).map(Table::new)
    }

    /// Serves everything under way and closes the drive.
    fn finish(&self, py: Python<'_>) -> PyResult<RunResult> {
        self.look(py, |_| ())?;
        let drive = py.detach(|| {
            self.take("the drive is finished: `finish` has returned its result; make a new drive")
        });
        let drive = drive.ok_or_else(|| errors::internal("the drive was closed meanwhile"))?;
        let result = enter::watched(py, None, Patience::Unlimited, move |_| drive.finish())?;
        let result = result.map_err(|error| errors::sim(&error))?;
        Ok(RunResult::of(Arc::new(result)))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.take("the drive is closed: make a new one")));
    }
}
