//! Characterizing traces, in memory or in passes over a file.

use std::path::PathBuf;
use std::sync::Arc;

use flashtwin_analysis::{Options, Streamed};
use flashtwin_trace::Source;
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::enter::{Job, Patience};
use crate::errors;
use crate::trace::{Reading, open_options, watched};

#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Characterization {
    found: flashtwin_analysis::Characterization,
}

#[pymethods]
impl Characterization {
    #[getter]
    fn summary_json(&self) -> String {
        self.found.summary.to_string()
    }

    #[getter]
    fn table_names(&self) -> Vec<String> {
        self.found.tables.iter().map(|(name, _)| name.clone()).collect()
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        let found = self.found.tables.iter().find(|(known, _)| known == name);
        found
            .map(|(_, batch)| Table::new(batch.clone()))
            .ok_or_else(|| errors::no_table(name, &self.table_names()))
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
    let work = move |job: &Job<'_>| flashtwin_analysis::characterize_trace(&trace, &options, job);
    watched(py, progress, Patience::Unlimited, work).map(|found| Characterization { found })
}

/// Characterizes a file in several passes, run by run.
#[pyfunction]
#[pyo3(signature = (path, reading, options_json="{}", progress=None))]
pub(crate) fn characterize_stream(
    py: Python<'_>,
    path: PathBuf,
    reading: Reading,
    options_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Characterization> {
    let options = parse(options_json)?;
    let (source, reading) = (Source::from_argument(&path), open_options(reading)?);
    let work = move |job: &Job<'_>| {
        flashtwin_analysis::characterize(&mut Streamed::open(source, reading, job)?, &options, job)
    };
    watched(py, progress, Patience::Unlimited, work).map(|found| Characterization { found })
}

/// The options of a characterization with some keys set otherwise: every key, checked, as JSON text.
#[pyfunction]
pub(crate) fn resolve_options(sets: Vec<(String, String)>) -> PyResult<String> {
    let options = Options::resolve(&sets).map_err(|error| errors::ConfigError::new_err(error.to_string()))?;
    let json = serde_json::to_string(&options);
    json.map_err(errors::internal)
}

#[pyfunction]
pub(crate) fn options_schema() -> String {
    Options::schema().to_string()
}

pub(crate) fn parse(options_json: &str) -> PyResult<Options> {
    let wrong = |error: serde_json::Error| errors::ConfigError::new_err(format!("options: {error}"));
    serde_json::from_str(options_json).map_err(wrong)
}
