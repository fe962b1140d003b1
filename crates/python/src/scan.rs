//! Traces that stay in their files: read again for each replay, in memory that does not grow with the requests.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use flashtwin_analysis::Streamed;
use flashtwin_trace::{ContentSource, OpenOptions, PageScan, PageSource, Source, TraceStream};
use pyo3::prelude::*;

use crate::enter::{Job, Patience};
use crate::errors;
use crate::systems::Resolved;
use crate::trace::{Reading, open_options, watched};

/// A trace in a file. Queries of the whole trace read the file once.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Scan {
    source: Source,
    options: OpenOptions,
    name: String,
    format: &'static str,
    read_as: String,
    begins_with_content: bool,
    /// Requests of a window; 0: as many as is usual.
    window_requests: usize,
    /// Scans so far, by page size and source of contents.
    scans: Mutex<Vec<PageScan>>,
}

/// How many are kept: the page sizes of a usual comparison, for systems with and without contents.
const SCANS_KEPT: usize = 4;

const ANY_PAGE_BYTES: u32 = 4096;

#[pymethods]
impl Scan {
    /// Opens a trace and reads its first requests.
    #[staticmethod]
    #[pyo3(signature = (path, reading, window_requests=0))]
    fn open(py: Python<'_>, path: PathBuf, reading: Reading, window_requests: usize) -> PyResult<Self> {
        let source = Source::from_argument(&path);
        let options = open_options(reading)?;
        let (from, how) = (source.clone(), options.clone());
        let (name, format, read_as, begins_with_content) = watched(py, None, Patience::Brief, move |job| {
            let mut stream = TraceStream::open(&from, &how, job)?;
            let has_content = stream.next(job)?.is_some_and(|batch| batch.has_content());
            Ok((stream.name().to_owned(), stream.format().name(), stream.read_as().text, has_content))
        })?;
        Ok(Self {
            source,
            options,
            name,
            format,
            read_as,
            begins_with_content,
            window_requests,
            scans: Mutex::default(),
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.format
    }

    /// Format and units in words; with the volumes once the file was read.
    #[getter]
    fn read_as(&self) -> String {
        self.kept(|_| true).map_or_else(|| self.read_as.clone(), |scan| scan.outline().read_as.clone())
    }

    /// A digest of all columns, the same for every file format.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.any(py)?.outline().digest.clone())
    }

    #[getter]
    fn has_content(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.begins_with_content || self.any(py)?.has_content())
    }

    /// Arrival of the last request in nanoseconds after the first one.
    #[getter]
    fn duration_ns(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.any(py)?.outline().duration_ns)
    }

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

    #[pyo3(signature = (progress=None))]
    fn info_json(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<String> {
        let (source, options) = (self.source.clone(), self.options.clone());
        let found = watched(py, progress, Patience::Unlimited, move |job| {
            flashtwin_analysis::trace_info_of(&mut Streamed::open(source, options, job)?, job)
        })?;
        serde_json::to_string(&found).map_err(errors::internal)
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
        let made = watched(py, progress, Patience::Unlimited, move |job| match window {
            0 => PageScan::open(&source, &options, page_bytes, content, job),
            some => PageScan::in_windows(&source, &options, page_bytes, content, some, job),
        })?;
        Ok(self.keep(made))
    }

    fn keep(&self, scan: PageScan) -> PageScan {
        let mut scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        scans.truncate(SCANS_KEPT - 1);
        scans.insert(0, scan.clone());
        scan
    }
}

/// Bytes of memory for reading a trace whole and replaying it, and free bytes, if the system reports them.
#[pyfunction]
pub(crate) fn memory_in_whole(
    py: Python<'_>,
    path: PathBuf,
    reading: Reading,
) -> PyResult<(u64, Option<u64>)> {
    let source = Source::from_argument(&path);
    let options = open_options(reading)?;
    let needed = move |job: &Job<'_>| flashtwin_trace::memory_in_whole(&source, &options, job);
    Ok((watched(py, None, Patience::Brief, needed)?, flashtwin_trace::memory_available_bytes()))
}
