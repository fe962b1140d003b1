//! Systems, devices and their configuration.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::replay::Replayed;

#[pyfunction]
pub(crate) fn systems() -> Vec<&'static str> {
    flashtwin_sim::system_names()
}

#[pyfunction]
pub(crate) fn system_toml(name: &str) -> PyResult<&'static str> {
    flashtwin_sim::system_toml(name)
        .ok_or_else(|| errors::unknown("system", name, &flashtwin_sim::system_names()))
}

#[pyfunction]
pub(crate) fn devices() -> Vec<&'static str> {
    flashtwin_sim::device_names()
}

/// A device, by its name or its TOML file, as TOML.
#[pyfunction]
pub(crate) fn device_toml(name: &str) -> PyResult<String> {
    flashtwin_sim::device_file(name).map_err(errors::config)
}

#[pyfunction]
pub(crate) fn config_schema() -> String {
    flashtwin_sim::schema().to_string()
}

/// Properties of every configuration key, as JSON text.
#[pyfunction]
pub(crate) fn config_keys() -> String {
    let keys = flashtwin_sim::keys().iter().map(|key| {
        serde_json::json!({
            "name": key.name, "when": key.when, "moves": key.moves, "design": key.design, "label": key.label,
        })
    });
    serde_json::Value::from_iter(keys).to_string()
}

/// Of a configuration, as JSON text: the keys that matter under it, and the traits of the system.
#[pyfunction]
pub(crate) fn config_meaning(config: &str) -> PyResult<(Vec<&'static str>, Vec<&'static str>)> {
    let config: serde_json::Value =
        serde_json::from_str(config).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let keys = flashtwin_sim::keys().iter().map(|key| key.name.as_str());
    Ok((keys.filter(|key| flashtwin_sim::matters(key, &config)).collect(), flashtwin_sim::traits(&config)))
}

/// Why a configuration, as JSON text, does not look at a key; None where it does.
#[pyfunction]
pub(crate) fn ignored_because(key: &str, config: &str) -> PyResult<Option<String>> {
    let config = serde_json::from_str(config).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(flashtwin_sim::ignored_because(key, &config))
}

/// JSON schema of everything that is written, as text: summaries and rows of tables, by kind of result.
#[pyfunction]
pub(crate) fn results_schema() -> String {
    let schema = serde_json::json!({
        "run": flashtwin_sim::results_schema(),
        "characterization": flashtwin_analysis::characterization_schema(),
        "trace": flashtwin_analysis::trace_schema(),
    });
    schema.to_string()
}

/// Resolves a system (a name or the path of a TOML file) with some of its keys set otherwise.
#[pyfunction]
#[pyo3(signature = (system, sets=Vec::new()))]
pub(crate) fn resolve(system: &str, sets: Vec<(String, String)>) -> PyResult<Resolved> {
    let resolved = flashtwin_sim::resolve(system, &sets).map_err(errors::config)?;
    Ok(Resolved { resolved: Arc::new(resolved) })
}

#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Resolved {
    pub(crate) resolved: Arc<flashtwin_sim::Resolved>,
}

#[pymethods]
impl Resolved {
    #[getter]
    fn json(&self) -> String {
        self.resolved.json().to_string()
    }

    #[getter]
    fn capacity_pages(&self) -> u64 {
        self.resolved.capacity_pages()
    }

    /// The logical pages that a trace touches, and the fewest blocks a plane of which they fill at most `fill`.
    fn filled_by(&self, py: Python<'_>, trace: Replayed<'_>, fill: f64) -> PyResult<(u32, u32)> {
        let pages = trace.cut(py, &self.resolved)?.source().outline().footprint_pages();
        let blocks = self.resolved.blocks_filled_by(u64::from(pages), fill);
        Ok((pages, blocks.map_err(errors::config)?))
    }

    /// The fewest blocks a plane of which `pages` logical pages fill at most `fill`.
    fn blocks_filled_by(&self, pages: u64, fill: f64) -> PyResult<u32> {
        self.resolved.blocks_filled_by(pages, fill).map_err(errors::config)
    }

    /// Every key with its value, unit, description and source, as TOML.
    #[getter]
    fn toml(&self) -> String {
        self.resolved.toml_documented()
    }
}
