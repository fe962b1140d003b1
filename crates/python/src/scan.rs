//! Traces that stay in their files: read again for each replay, in memory that does not grow with the requests.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use flashtwin_analysis::Streamed;
use flashtwin_trace::{ContentSource, OpenOptions, PageScan, PageSource, Source, TraceStream};
use pyo3::prelude::*;

use crate::enter::Patience;
use crate::errors;
use crate::systems::Resolved;
use crate::trace::{open_options, watched};

/// A trace in a file. Queries of the whole trace read the file once.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Scan {
    source: Source,
    options: OpenOptions,
    name: String,
    format: &'static str,
    /// Whether the first requests carry contents.
    begins_with_content: bool,
    /// Requests of a window; 0: as many as is usual.
    window_requests: usize,
    /// Scans so far, by page size and source of contents.
    scans: Mutex<Vec<PageScan>>,
}

/// How many are kept: the page sizes of a usual comparison, for systems with and without contents.
const SCANS_KEPT: usize = 4;

/// Page size of queries that name no system.
const ANY_PAGE_BYTES: u32 = 4096;

#[pymethods]
impl Scan {
    /// Opens a trace and reads its first requests.
    #[staticmethod]
    #[pyo3(signature = (path, format=None, on_bad_line="fail", sort_window_ns=1_000_000_000, blkparse_action="D", volume=None, excerpt_ns=None, window_requests=0))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        on_bad_line: &str,
        sort_window_ns: u64,
        blkparse_action: &str,
        volume: Option<String>,
        excerpt_ns: Option<(i64, i64)>,
        window_requests: usize,
    ) -> PyResult<Self> {
        let source = Source::from_argument(&path);
        let options = open_options(format, on_bad_line, sort_window_ns, blkparse_action, volume, excerpt_ns)?;
        let (from, how) = (source.clone(), options.clone());
        let stream = watched(py, None, Patience::Brief, move |control| {
            let mut stream = TraceStream::open(&from, &how, &control.job(0))?;
            let first = stream.next(&control.job(0))?;
            let has_content = first.is_some_and(|batch| batch.has_content());
            Ok((stream.name().to_owned(), stream.format().name(), has_content))
        })?;
        let (name, format, begins_with_content) = stream.map_err(|error| errors::trace(&error))?;
        Ok(Self {
            source,
            options,
            name,
            format,
            begins_with_content,
            window_requests,
            scans: Mutex::default(),
        })
    }

    /// The trace's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The format it is read as.
    #[getter]
    fn format(&self) -> &'static str {
        self.format
    }

    /// A digest of all columns, the same for every file format.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.any(py)?.outline().digest.clone())
    }

    /// Whether pages carry contents.
    #[getter]
    fn has_content(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.begins_with_content || self.any(py)?.has_content())
    }

    /// Arrival of the last request in nanoseconds after the first one.
    #[getter]
    fn duration_ns(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.any(py)?.outline().duration_ns)
    }

    /// Number of requests.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.any(py)?.outline().requests).unwrap_or(usize::MAX))
    }

    /// Reads the file as often as replays on these systems must have it read before they begin.
    #[pyo3(signature = (systems, progress=None))]
    fn read(
        &self,
        py: Python<'_>,
        mut systems: Vec<PyRef<'_, Resolved>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        // Scans with contents first: the others then need no reading of their own.
        systems.sort_by_key(|system| system.resolved.content_source(true) == ContentSource::None);
        for system in systems {
            let heard = progress.as_ref().map(|progress| progress.clone_ref(py));
            self.cut(py, &system.resolved, heard)?;
        }
        Ok(())
    }

    /// The workload in numbers, as JSON text.
    #[pyo3(signature = (progress=None))]
    fn info_json(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<String> {
        let (source, options) = (self.source.clone(), self.options.clone());
        let found = watched(py, progress, Patience::Unlimited, move |control| {
            let mut input = Streamed::open(source, options, &control.job(0))?;
            flashtwin_analysis::trace_info_of(&mut input, &control.job(0))
        })?
        .map_err(|error| errors::trace(&error))?;
        serde_json::to_string(&found).map_err(|error| errors::internal(&error.to_string()))
    }
}

impl Scan {
    /// The trace cut into pages for a system. The scan is kept.
    pub(crate) fn cut(
        &self,
        py: Python<'_>,
        system: &flashtwin_sim::Resolved,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PageScan> {
        let resolved = system.clone();
        let content = move |has_content| resolved.content_source(has_content);
        self.scanned(py, system.config.nand.page_bytes, content, progress)
    }

    /// A scan of the trace, for any page size and source.
    fn any(&self, py: Python<'_>) -> PyResult<PageScan> {
        let known = self.kept(|_| true);
        known.map_or_else(|| self.scanned(py, ANY_PAGE_BYTES, |_| ContentSource::None, None), Ok)
    }

    fn kept(&self, wanted: impl Fn(&PageScan) -> bool) -> Option<PageScan> {
        let scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        scans.iter().find(|scan| wanted(scan)).cloned()
    }

    fn scanned(
        &self,
        py: Python<'_>,
        page_bytes: u32,
        content: impl Fn(bool) -> ContentSource + Send + 'static,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PageScan> {
        let fits = |scan: &PageScan| {
            scan.outline().page_bytes == page_bytes && scan.content_source() == content(scan.has_content())
        };
        if let Some(scan) = self.kept(fits) {
            return Ok(scan);
        }
        let same_pages = |scan: &PageScan| scan.outline().page_bytes == page_bytes;
        if let Some(scan) =
            self.kept(same_pages).filter(|scan| content(scan.has_content()) == ContentSource::None)
        {
            return Ok(self.keep(scan.without_contents()));
        }
        let (source, options, window) = (self.source.clone(), self.options.clone(), self.window_requests);
        let made = watched(py, progress, Patience::Unlimited, move |control| match window {
            0 => PageScan::open(&source, &options, page_bytes, content, &control.job(0)),
            some => PageScan::in_windows(&source, &options, page_bytes, content, some, &control.job(0)),
        })?;
        let made = made.map_err(|error| errors::trace(&error))?;
        Ok(self.keep(made))
    }

    fn keep(&self, scan: PageScan) -> PageScan {
        let mut scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        scans.truncate(SCANS_KEPT - 1);
        scans.insert(0, scan.clone());
        scan
    }
}

/// Bytes of memory for reading a trace whole and replaying it, estimated from its beginning, and
/// free bytes, if the system reports them.
#[pyfunction]
#[pyo3(signature = (path, format=None, on_bad_line="fail", sort_window_ns=1_000_000_000, blkparse_action="D", volume=None, excerpt_ns=None))]
#[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
pub(crate) fn memory_in_whole(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    on_bad_line: &str,
    sort_window_ns: u64,
    blkparse_action: &str,
    volume: Option<String>,
    excerpt_ns: Option<(i64, i64)>,
) -> PyResult<(u64, Option<u64>)> {
    let source = Source::from_argument(&path);
    let options = open_options(format, on_bad_line, sort_window_ns, blkparse_action, volume, excerpt_ns)?;
    let needed = watched(py, None, Patience::Brief, move |control| {
        flashtwin_trace::memory_in_whole(&source, &options, &control.job(0))
    })?;
    Ok((needed.map_err(|error| errors::trace(&error))?, flashtwin_trace::memory_available_bytes()))
}
