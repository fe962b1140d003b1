//! Drives in virtual time.

use std::sync::{Arc, Mutex, PoisonError};

use flashtwin_sim::SimError;
use flashtwin_trace::{Columns, Op};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::Table;
use crate::enter::{self, Signals};
use crate::errors;
use crate::policies::{self, Fault};
use crate::replay::RunResult;
use crate::systems::Resolved;

type Inner = flashtwin_sim::VirtualDrive;

const CLOSED: &str =
    "the drive is closed, because it was finished or closed, or an earlier call failed: make a new one";

/// A drive whose time its caller lets pass. `None` once it is closed.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct VirtualDrive {
    drive: Mutex<Option<Inner>>,
    /// Failures of its policies in Python.
    fault: Option<Arc<Fault>>,
}

fn failed(fault: Option<&Arc<Fault>>) -> PyResult<()> {
    fault.and_then(|fault| fault.take()).map_or(Ok(()), Err)
}

fn argument<T: for<'py> FromPyObjectOwned<'py>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let cure = "expected whole numbers from 0, below 2^32 for length_bytes and contents";
    let refused = |error: PyErr| errors::ArgumentError::new_err(format!("{name}: {error}; {cure}"));
    value.extract::<T>().map_err(Into::into).map_err(refused)
}

/// A column: numbers, or the bytes of an array of them, which cost no object each.
fn column<T: for<'py> FromPyObjectOwned<'py>, const N: usize>(
    name: &str,
    value: &Bound<'_, PyAny>,
    number: fn([u8; N]) -> T,
) -> PyResult<Vec<T>> {
    match value.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes().as_chunks().0.iter().copied().map(number).collect()),
        Err(_) => argument(name, value),
    }
}

impl VirtualDrive {
    /// Works with the drive, which an error closes if its state has no meaning any more.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner, &Signals) -> Result<T, SimError> + Send,
    ) -> PyResult<T> {
        enter::here(py, |signals| {
            let mut held = self.drive.lock().unwrap_or_else(PoisonError::into_inner);
            let mut drive = held.take().ok_or_else(|| errors::SimError::new_err(CLOSED))?;
            let outcome = work(&mut drive, signals);
            failed(self.fault.as_ref())?;
            if matches!(outcome, Ok(_) | Err(SimError::Request(_))) {
                *held = Some(drive);
            }
            outcome.map_err(|error| errors::sim(&error))
        })?
    }

    fn take(&self, py: Python<'_>) -> Option<Inner> {
        py.detach(|| self.drive.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

#[pymethods]
impl VirtualDrive {
    #[new]
    fn new(
        py: Python<'_>,
        system: &Resolved,
        pages: u32,
        contents: &Bound<'_, PyAny>,
        per_request: bool,
    ) -> PyResult<Self> {
        let contents = argument("contents", contents)?;
        let (resolved, fault) = policies::fresh(&system.resolved);
        let drive = enter::here(py, |signals| Inner::new(&resolved, pages, contents, per_request, signals))?;
        failed(fault.as_ref())?;
        drive.map(|drive| Self { drive: Mutex::new(Some(drive)), fault }).map_err(|error| errors::sim(&error))
    }

    /// Takes requests in, each at its time; the number of the first. All columns have a value for each request.
    #[allow(clippy::too_many_arguments, reason = "Python names them")]
    fn submit(
        &self,
        py: Python<'_>,
        time_ns: &Bound<'_, PyAny>,
        op: &[u8],
        flags: &[u8],
        offset_bytes: &Bound<'_, PyAny>,
        length_bytes: &Bound<'_, PyAny>,
        content: Option<Vec<Vec<u32>>>,
        stream: Vec<u16>,
    ) -> PyResult<u64> {
        let ends = content.iter().flatten().scan(0, |end, one| {
            *end += one.len() as u64;
            Some(*end)
        });
        let columns = Columns {
            time_ns: column("time_ns", time_ns, i64::from_ne_bytes)?,
            volume: vec![0; op.len()],
            op: op.iter().copied().filter_map(Op::from_number).collect(),
            offset_bytes: column("offset_bytes", offset_bytes, u64::from_ne_bytes)?,
            length_bytes: column("length_bytes", length_bytes, u32::from_ne_bytes)?,
            content_start: content.iter().map(|_| 0).chain(ends).collect(),
            content: content.iter().flatten().flatten().copied().collect(),
            flags: flags.to_vec(),
            stream,
            ..Columns::default()
        };
        self.with(py, |drive, signals| drive.submit(&columns.as_run(), signals))
    }

    fn advance(&self, py: Python<'_>, to_ns: &Bound<'_, PyAny>) -> PyResult<()> {
        let to_ns = argument("to_ns", to_ns)?;
        self.with(py, |drive, signals| drive.advance(to_ns, signals))
    }

    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |drive, _| Ok(drive.now_ns()))
    }

    #[getter]
    fn next_event_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |drive, _| Ok(drive.next_event_ns()))
    }

    /// The requests completed by now since the last call.
    fn completed(&self, py: Python<'_>, parts: bool) -> PyResult<Table> {
        let done = self.with(py, |drive, _| Ok(drive.take_completed(parts)))?;
        done.map(Table::new).map_err(errors::internal)
    }

    /// Another drive in the same state.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Self> {
        let (drive, fault) =
            self.with(py, |drive, _| policies::copied(self.fault.as_ref(), || drive.snapshot()))?;
        failed(fault.as_ref())?;
        Ok(Self { drive: Mutex::new(Some(drive)), fault })
    }

    /// Serves everything under way and closes the drive.
    fn finish(&self, py: Python<'_>) -> PyResult<RunResult> {
        let drive = self.take(py).ok_or_else(|| errors::SimError::new_err(CLOSED))?;
        let result = enter::here(py, |_| drive.finish())?;
        failed(self.fault.as_ref())?;
        result.map(|result| RunResult::of(Arc::new(result))).map_err(|error| errors::sim(&error))
    }

    fn close(&self, py: Python<'_>) {
        drop(self.take(py));
    }
}
