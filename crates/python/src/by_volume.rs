//! The volumes of a trace: split into files, and each characterized by itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use flashtwin_analysis::{InMemory, Input, Streamed, characterize_volumes};
use flashtwin_trace::{Format, OpenOptions, RequestsByVolume, Source, TraceError, Units};
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::characterize::parse;
use crate::enter::{Job, Patience};
use crate::errors;
use crate::trace::{Reading, Trace, open_options, watched};

/// The volumes of a trace by their places: numbers in the trace, or the order of the files that it was split into.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct VolumeSet(Arc<Held>);

/// Format and units of the trace.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ReadAs {
    format: String,
    time_unit_ns: u64,
    offset_unit_bytes: u64,
    length_unit_bytes: u64,
}

enum Held {
    Memory(Arc<flashtwin_trace::Trace>, RequestsByVolume),
    /// Name and format of the trace, and the files.
    Files(String, Format, Vec<PathBuf>),
}

/// A volume of as many requests is read again for each pass, a smaller one is held.
const STREAMED_REQUESTS: u64 = 1 << 22;

impl Held {
    fn open(
        &self,
        &(ref volume, requests, place): &(String, u64, usize),
        job: &Job<'_>,
    ) -> Result<Box<dyn Input + Send>, TraceError> {
        let (name, format, files) = match self {
            Held::Memory(trace, by_volume) => {
                return Ok(Box::new(InMemory::owned(by_volume.take(trace, place as u32))));
            }
            Held::Files(name, format, files) => (format!("{name}:{volume}"), *format, files),
        };
        let source = Source::File(files[place].clone());
        let options = OpenOptions { threaded: false, ..OpenOptions::default() };
        if requests >= STREAMED_REQUESTS {
            return Ok(Box::new(Streamed::open(source, options, job)?.named(&name, format)));
        }
        let trace = flashtwin_trace::Trace::open(&source, &options, job)?;
        Ok(Box::new(InMemory::owned(flashtwin_trace::Trace { name, format, ..trace })))
    }
}

#[pymethods]
impl VolumeSet {
    #[staticmethod]
    fn of_trace(py: Python<'_>, trace: &Trace) -> Self {
        let trace = Arc::clone(&trace.trace);
        let by_volume = py.detach(|| RequestsByVolume::of(&trace));
        Self(Arc::new(Held::Memory(trace, by_volume)))
    }

    /// Of the files that a trace of this name was split into; `read_as` is the manifest's.
    #[staticmethod]
    fn of_files(name: String, read_as: ReadAs, files: Vec<PathBuf>) -> PyResult<Self> {
        let format: Format = read_as.format.parse().map_err(errors::trace)?;
        let format = format.with_units(Units {
            time_ns: read_as.time_unit_ns,
            offset_bytes: read_as.offset_unit_bytes,
            length_bytes: read_as.length_unit_bytes,
        });
        Ok(Self(Arc::new(Held::Files(name, format, files))))
    }

    /// The summary of each of these volumes (name, requests, place) as JSON text, and the tables of all of them.
    #[pyo3(signature = (volumes, options_json="{}"))]
    fn characterize(
        &self,
        py: Python<'_>,
        volumes: Vec<(String, u64, usize)>,
        options_json: &str,
    ) -> PyResult<(Vec<String>, BTreeMap<String, Table>)> {
        let (options, held) = (parse(options_json)?, Arc::clone(&self.0));
        let named = volumes.iter().map(|(name, requests, _)| (name.clone(), *requests)).collect::<Vec<_>>();
        let work = move |job: &Job<'_>| {
            characterize_volumes(&named, &|at| held.open(&volumes[at], job), &options, job)
        };
        let found = watched(py, None, Patience::Unlimited, work)?;
        let tables = found.tables.into_iter().map(|(name, batch)| (name, Table::new(batch)));
        Ok((found.summaries, tables.collect()))
    }
}

/// Splits a trace into files of a folder, by volume or into `hashed` parts; returns the manifest as JSON text.
#[pyfunction]
#[pyo3(signature = (path, reading, hashed, folder, progress=None))]
pub(crate) fn split(
    py: Python<'_>,
    path: PathBuf,
    reading: Reading,
    hashed: Option<u64>,
    folder: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (source, options) = (Source::from_argument(&path), open_options(reading)?);
    let work = move |job: &Job<'_>| flashtwin_trace::split(&source, &options, hashed, &folder, job);
    watched(py, progress, Patience::Unlimited, work).map(|manifest| manifest.to_string())
}
