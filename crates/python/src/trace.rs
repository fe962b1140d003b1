//! Traces: opening, looking at, converting.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use flashtwin_analysis::TraceInfo;
use flashtwin_trace::{
    ContentSource, Layout, OnBadLine, OpenOptions, PageTrace, Progress, SampleBy, Source, TraceError,
    TraceStream, Vocabulary, time_unit_ns,
};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{self, Table};
use crate::characterize::{self, Characterization};
use crate::columns;
use crate::enter::{self, Job, Patience};
use crate::errors;

/// A trace: requests sorted by time, with contents where the trace has them.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Trace {
    pub(crate) trace: Arc<flashtwin_trace::Trace>,
    cuts: Mutex<Vec<(Cut, Arc<PageTrace>)>>,
    info: Arc<OnceLock<TraceInfo>>,
    digest: OnceLock<String>,
}

/// Parameters of a cut: the page size in bytes and the source of contents.
type Cut = (u32, ContentSource);

/// How many cuts are kept: the page sizes of a usual comparison.
const CUTS_KEPT: usize = 2;

#[pymethods]
impl Trace {
    /// Reads a trace; `-` is standard input.
    #[staticmethod]
    #[pyo3(signature = (path, reading, progress=None))]
    fn open(py: Python<'_>, path: PathBuf, reading: Reading, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let source = Source::from_argument(&path);
        let options = open_options(reading)?;
        let opened = move |job: &Job<'_>| flashtwin_trace::Trace::open(&source, &options, job);
        watched(py, progress, Patience::Brief, opened).map(Self::new)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.trace.name
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.trace.format.name()
    }

    /// Format, units and volumes, in words.
    #[getter]
    fn read_as(&self) -> String {
        self.trace.read_as().text
    }

    /// A digest of all columns, the same for every file format.
    #[getter]
    fn digest(&self, py: Python<'_>) -> &str {
        py.detach(|| self.digest.get_or_init(|| self.trace.digest()))
    }

    #[getter]
    fn has_content(&self) -> bool {
        self.trace.has_content()
    }

    #[getter]
    fn volumes(&self) -> Vec<String> {
        self.trace.volume_names.clone()
    }

    /// The requests from one time on and before another, nanoseconds, as a trace of its own.
    fn excerpt(&self, py: Python<'_>, from_ns: i64, to_ns: i64) -> PyResult<Self> {
        py.detach(|| self.trace.excerpt(&(from_ns..to_ns))).map(Self::new).map_err(errors::trace)
    }

    fn volume(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        py.detach(|| self.trace.of_volume(name)).map(Self::new).map_err(errors::trace)
    }

    fn __len__(&self) -> usize {
        self.trace.len()
    }

    /// Arrival of the last request, in nanoseconds after the first.
    #[getter]
    fn duration_ns(&self) -> i64 {
        self.trace.duration_ns()
    }

    fn info_json(&self, py: Python<'_>) -> PyResult<String> {
        if self.info.get().is_none() {
            let wanted = self.info_wanted();
            watched(py, None, Patience::Unlimited, move |job| wanted.find(job))?;
        }
        serde_json::to_string(&self.info.get()).map_err(errors::internal)
    }

    /// The workload's tables by name, with periods of a length in seconds.
    fn workload(&self, py: Python<'_>, period_s: f64) -> PyResult<BTreeMap<String, Table>> {
        let trace = Arc::clone(&self.trace);
        let tables = move |_: &Job<'_>| Ok(flashtwin_analysis::tables(&trace, period_s));
        let tables = watched(py, None, Patience::Brief, tables)?;
        Ok(tables.into_iter().map(|(name, batch)| (name, Table::new(batch))).collect())
    }

    /// Everything about the workload; options are JSON, missing keys have their defaults.
    #[pyo3(signature = (options_json="{}", progress=None))]
    fn characterize(
        &self,
        py: Python<'_>,
        options_json: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Characterization> {
        characterize::in_memory(py, Arc::clone(&self.trace), options_json, progress)
    }

    /// The share `rate` of its 4 KB pages (`by` is `address`) or contents (`content`), chosen by hash.
    fn sample(&self, py: Python<'_>, rate: f64, seed: u64, by: &str) -> PyResult<Self> {
        let by: SampleBy = by.parse().map_err(errors::trace)?;
        let trace = Arc::clone(&self.trace);
        watched(py, None, Patience::Brief, move |_| trace.sample(rate, seed, by)).map(Self::new)
    }

    /// Contents by keyed digest, addresses shifted, names replaced.
    fn anonymize(&self, py: Python<'_>, key: [u8; 32]) -> PyResult<Self> {
        py.detach(|| self.trace.anonymize(&key)).map(Self::new).map_err(errors::trace)
    }

    /// Writes the canonical Parquet file, complete or not at all.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let trace = Arc::clone(&self.trace);
        watched(py, None, Patience::Unlimited, move |job| flashtwin_trace::write_parquet(&trace, &path, job))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        arrow::capsule(py, columns::reader(&self.trace))
    }
}

impl Trace {
    pub(crate) fn new(trace: flashtwin_trace::Trace) -> Self {
        Self { trace: Arc::new(trace), cuts: Mutex::default(), info: Arc::default(), digest: OnceLock::new() }
    }

    /// A handle that computes the workload's numbers on another thread.
    pub(crate) fn info_wanted(&self) -> InfoWanted {
        InfoWanted { trace: Arc::clone(&self.trace), info: Arc::clone(&self.info) }
    }

    /// The trace cut into pages. Cuts are kept, so that systems and replays share them.
    pub(crate) fn cut(
        &self,
        py: Python<'_>,
        page_bytes: u32,
        content: ContentSource,
    ) -> PyResult<Arc<PageTrace>> {
        let wanted = (page_bytes, content);
        let kept = || self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cut)) = kept().iter().find(|(cut, _)| *cut == wanted) {
            return Ok(Arc::clone(cut));
        }
        let trace = Arc::clone(&self.trace);
        let build = move |_: &Job<'_>| PageTrace::build(&trace, page_bytes, content);
        let made = Arc::new(watched(py, None, Patience::Brief, build)?);
        self.digest.get_or_init(|| made.outline.digest.clone());
        let mut cuts = kept();
        cuts.truncate(CUTS_KEPT - 1);
        cuts.insert(0, (wanted, Arc::clone(&made)));
        Ok(made)
    }
}

pub(crate) struct InfoWanted {
    trace: Arc<flashtwin_trace::Trace>,
    info: Arc<OnceLock<TraceInfo>>,
}

impl InfoWanted {
    /// Works them out and keeps them with the trace, unless that has been done.
    pub(crate) fn find(&self, progress: &dyn Progress) -> Result<(), TraceError> {
        if self.info.get().is_none() {
            let found = flashtwin_analysis::trace_info_aside(&self.trace, progress)?;
            self.info.get_or_init(|| found);
        }
        Ok(())
    }
}

/// Nanoseconds of a unit of time, by its name.
#[pyfunction(name = "time_unit_ns")]
pub(crate) fn nanoseconds_of(name: &str) -> PyResult<u64> {
    time_unit_ns(name).map_err(errors::trace)
}

/// The option `--columns` that would read a table with columns of these names.
#[pyfunction]
pub(crate) fn columns_option(names: Vec<String>) -> String {
    flashtwin_trace::columns_option(&names)
}

/// What words stand for: number of the operation (none: no request), whether a flush comes first, whether it is durable.
/// `own` words win; `numbers`: 0 to 3 are those of the canonical column.
#[pyfunction]
#[pyo3(signature = (words, own=BTreeMap::new(), numbers=true))]
pub(crate) fn operations(
    words: Vec<String>,
    own: BTreeMap<String, String>,
    numbers: bool,
) -> PyResult<Vec<(Option<u8>, bool, bool)>> {
    let pairs = own.iter().map(|(word, meaning)| (word.as_str(), meaning.as_str()));
    let vocabulary = Vocabulary::default().with(pairs).map_err(errors::trace)?;
    let vocabulary = if numbers { vocabulary.with_numbers() } else { vocabulary };
    let meanings = vocabulary.operations(&words).map_err(errors::trace)?;
    Ok(meanings.iter().map(|one| (one.op.map(|op| op as u8), one.flush_first, one.durable)).collect())
}

/// Requests to each volume of a trace, by name; the file is read once, and not held.
#[pyfunction]
#[pyo3(signature = (path, progress=None))]
pub(crate) fn requests_by_volume(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<(String, u64)>> {
    let source = Source::from_argument(&path);
    watched(py, progress, Patience::Brief, move |job| {
        TraceStream::open(&source, &OpenOptions::default(), job)?.requests_by_volume(job)
    })
}

/// How to read a file: the arguments of `flashtwin.open`, in a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    format: Option<String>,
    on_bad_line: String,
    sort_window_ns: u64,
    blkparse_action: String,
    volume: Option<String>,
    excerpt_ns: Option<(i64, i64)>,
    columns: Option<Vec<(String, String)>>,
    delimiter: Option<String>,
    header: bool,
    time_unit: Option<String>,
    offset_unit: Option<u64>,
    length_unit: Option<u64>,
    op_words: Vec<(String, String)>,
}

pub(crate) fn open_options(reading: Reading) -> PyResult<OpenOptions> {
    let on_bad_line = match reading.on_bad_line.as_str() {
        "fail" => OnBadLine::Fail,
        "skip" => OnBadLine::Skip,
        other => {
            let message = format!("on_bad_line is '{other}'; use fail or skip");
            return Err(errors::TraceError::new_err(message));
        }
    };
    core_options(reading, on_bad_line).map_err(errors::trace)
}

fn core_options(reading: Reading, on_bad_line: OnBadLine) -> Result<OpenOptions, TraceError> {
    let words = reading.op_words.iter().map(|(word, meaning)| (word.as_str(), meaning.as_str()));
    let columns = reading.columns.as_ref().map(|columns| {
        let columns = columns.iter().map(|(part, column)| (part.as_str(), column.as_str()));
        Layout::new(columns, reading.delimiter.as_deref(), reading.header)
    });
    Ok(OpenOptions {
        volume: reading.volume,
        excerpt_ns: reading.excerpt_ns.map(|(from, to)| from..to),
        format: reading.format.map(|format| format.parse()).transpose()?,
        on_bad_line,
        sort_window_ns: reading.sort_window_ns,
        blkparse_action: reading.blkparse_action.parse()?,
        layout: columns.transpose()?,
        time_unit_ns: match reading.time_unit.as_deref() {
            // Of a table that Python has converted.
            Some("dates") => Some(0),
            other => other.map(time_unit_ns).transpose()?,
        },
        offset_unit_bytes: reading.offset_unit,
        length_unit_bytes: reading.length_unit,
        op_words: Vocabulary::default().with(words)?,
        ..OpenOptions::default()
    })
}

/// Runs one job on traces in the core, telling `progress` how far it is.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    patience: Patience,
    work: impl FnOnce(&Job<'_>) -> Result<T, TraceError> + Send + 'static,
) -> PyResult<T> {
    enter::watched(py, progress, patience, work)?.map_err(errors::trace)
}

/// Truncates an interrupted recording to its last whole row group. Returns rows, and bytes cut off.
#[pyfunction]
pub(crate) fn recover_recording(py: Python<'_>, path: PathBuf) -> PyResult<(u64, u64)> {
    py.detach(|| flashtwin_trace::recover_recording(&path)).map_err(errors::trace)
}
