//! Writes without a clock.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::enter;
use crate::errors;
use crate::policies;
use crate::systems::Resolved;

/// A drive to which pages are written as fast as the controller decides.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Overwriting(Mutex<flashtwin_sim::Overwriting>);

#[pymethods]
impl Overwriting {
    /// An erased drive of which the host uses `pages` pages.
    #[new]
    fn new(system: &Resolved, pages: u32) -> PyResult<Self> {
        policies::refuse(&system.resolved)?;
        let drive = flashtwin_sim::Overwriting::new(&system.resolved, pages);
        drive.map(|drive| Self(Mutex::new(drive))).map_err(|error| errors::sim(&error))
    }

    /// Writes pages in this order. Returns pages written, pages programmed, pages read by collection, blocks erased.
    fn write(&self, py: Python<'_>, pages: &[u8]) -> PyResult<(u64, u64, u64, u64)> {
        let (numbers, rest) = pages.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(PyValueError::new_err("pages are given as 32-bit numbers"));
        }
        let lpns: Vec<u32> = numbers.iter().map(|&bytes| u32::from_ne_bytes(bytes)).collect();
        let done = enter::here(py, |signals| {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(&lpns, signals)
        })?;
        let done = done.map_err(|error| errors::sim(&error))?;
        Ok((done.host_pages, done.programs, done.gc_reads, done.erases))
    }
}
