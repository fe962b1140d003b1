//! Writes without a clock.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::enter::{self, Job, Patience};
use crate::errors;
use crate::systems::Resolved;

/// A drive to which pages are written as fast as the controller decides.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Overwriting {
    drive: Arc<Mutex<flashtwin_sim::Overwriting>>,
}

#[pymethods]
impl Overwriting {
    /// An erased drive of which the host uses `pages` pages.
    #[new]
    fn new(system: &Resolved, pages: u32) -> PyResult<Self> {
        let drive =
            flashtwin_sim::Overwriting::new(&system.resolved, pages).map_err(|error| errors::sim(&error))?;
        Ok(Self { drive: Arc::new(Mutex::new(drive)) })
    }

    /// Writes pages in this order. Returns pages written, pages programmed, pages read by collection, blocks erased.
    fn write(&self, py: Python<'_>, pages: &[u8]) -> PyResult<(u64, u64, u64, u64)> {
        let (numbers, rest) = pages.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(PyValueError::new_err("pages are given as 32-bit numbers"));
        }
        let lpns: Vec<u32> = numbers.iter().map(|&bytes| u32::from_ne_bytes(bytes)).collect();
        let drive = Arc::clone(&self.drive);
        let work =
            move |job: &Job<'_>| drive.lock().unwrap_or_else(PoisonError::into_inner).write(&lpns, job);
        let done = enter::watched(py, None, Patience::Unlimited, work)?;
        let done = done.map_err(|error| errors::sim(&error))?;
        Ok((done.host_pages, done.programs, done.gc_reads, done.erases))
    }
}
