//! Characterizing traces, in memory or in passes over a file.

use std::path::PathBuf;
use std::sync::Arc;

use flashtwin_analysis::{Options, Streamed};
use flashtwin_trace::{OpenOptions, Source, TraceError};
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::enter::Patience;
use crate::errors;
use crate::trace::{open_options, watched};

/// A characterized trace: all figures, and the tables behind them.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Characterization {
    found: flashtwin_analysis::Characterization,
}

#[pymethods]
impl Characterization {
    /// All figures, an object a metric, as JSON text.
    #[getter]
    fn summary_json(&self) -> String {
        self.found.summary.to_string()
    }

    /// Names of the tables.
    #[getter]
    fn table_names(&self) -> Vec<String> {
        self.found.tables.iter().map(|(name, _)| name.clone()).collect()
    }

    /// One of the tables.
    fn table(&self, name: &str) -> PyResult<Table> {
        let unknown = || {
            let known = self.table_names().join(", ");
            errors::FlashtwinError::new_err(format!("no table is called '{name}'; there are: {known}"))
        };
        let found = self.found.tables.iter().find(|(known, _)| known == name);
        found.map(|(_, batch)| Table::new(batch.clone())).ok_or_else(unknown)
    }
}

/// Characterizes a trace in memory. Options are JSON; missing keys have their defaults.
pub(crate) fn in_memory(
    py: Python<'_>,
    trace: Arc<flashtwin_trace::Trace>,
    options_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Characterization> {
    let options = parse(options_json)?;
    finish(watched(py, progress, Patience::Unlimited, move |control| {
        flashtwin_analysis::characterize_trace(&trace, &options, &control.job(0))
    })?)
}

/// Characterizes a file in several passes, run by run.
#[pyfunction]
#[pyo3(signature = (path, format=None, on_bad_line="fail", sort_window_ns=1_000_000_000, options_json="{}", progress=None, blkparse_action="D", volume=None, excerpt_ns=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn characterize_stream(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    on_bad_line: &str,
    sort_window_ns: u64,
    options_json: &str,
    progress: Option<Py<PyAny>>,
    blkparse_action: &str,
    volume: Option<String>,
    excerpt_ns: Option<(i64, i64)>,
) -> PyResult<Characterization> {
    let options = parse(options_json)?;
    let reading: OpenOptions =
        open_options(format, on_bad_line, sort_window_ns, blkparse_action, volume, excerpt_ns)?;
    let source = Source::from_argument(&path);
    finish(watched(py, progress, Patience::Unlimited, move |control| {
        let mut input = Streamed::open(source, reading, &control.job(0))?;
        flashtwin_analysis::characterize(&mut input, &options, &control.job(0))
    })?)
}

/// The options of a characterization with some keys set otherwise: every key, checked, as JSON text.
#[pyfunction]
pub(crate) fn resolve_options(sets: Vec<(String, String)>) -> PyResult<String> {
    let options = Options::resolve(&sets).map_err(|error| errors::ConfigError::new_err(error.to_string()))?;
    let json = serde_json::to_string(&options);
    json.map_err(|error| errors::internal(&error.to_string()))
}

/// JSON schema of the options of a characterization, as text.
#[pyfunction]
pub(crate) fn options_schema() -> String {
    Options::schema().to_string()
}

fn parse(options_json: &str) -> PyResult<Options> {
    let wrong = |error: serde_json::Error| errors::ConfigError::new_err(format!("options: {error}"));
    serde_json::from_str(options_json).map_err(wrong)
}

fn finish(found: Result<flashtwin_analysis::Characterization, TraceError>) -> PyResult<Characterization> {
    found.map(|found| Characterization { found }).map_err(|error| errors::trace(&error))
}
