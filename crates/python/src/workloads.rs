//! Synthetic workloads: their recipes, and traces made from them.

use std::path::PathBuf;

use flashtwin_trace::{Recipe, workload_names};
use pyo3::prelude::*;

use crate::enter::{Job, Patience};
use crate::errors;
use crate::trace::{Trace, watched};

#[pyfunction]
pub(crate) fn workloads() -> Vec<&'static str> {
    workload_names()
}

#[pyfunction]
pub(crate) fn workload_toml(name: &str) -> PyResult<&'static str> {
    flashtwin_trace::workload_toml(name).ok_or_else(|| errors::unknown("workload", name, &workload_names()))
}

#[pyfunction]
pub(crate) fn recipe_schema() -> String {
    Recipe::schema().to_string()
}

/// Refuses a text that is no recipe; `place` names it in messages.
#[pyfunction]
pub(crate) fn check_recipe(toml: &str, place: &str) -> PyResult<()> {
    Recipe::parse(place, toml).map(drop).map_err(errors::trace)
}

/// The recipe, with `days` days instead of its own.
fn of_days(toml: &str, place: &str, days: Option<u64>) -> PyResult<Recipe> {
    let mut recipe = Recipe::parse(place, toml).map_err(errors::trace)?;
    recipe.arrivals.trace_days = days.or(recipe.arrivals.trace_days);
    Ok(recipe)
}

/// Makes the trace of a recipe, of `days` if given; `place` names the recipe in messages.
#[pyfunction]
#[pyo3(signature = (toml, place, scale, seed, days=None, progress=None))]
pub(crate) fn synthesize(
    py: Python<'_>,
    toml: &str,
    place: String,
    scale: f64,
    seed: u64,
    days: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Trace> {
    let recipe = of_days(toml, &place, days)?;
    let made = move |job: &Job<'_>| flashtwin_trace::synthesize(&recipe, &place, scale, seed, job);
    watched(py, progress, Patience::Unlimited, made).map(Trace::new)
}

/// Makes the trace of a recipe as a canonical Parquet file, without holding it; its number of requests.
#[pyfunction]
#[pyo3(signature = (toml, place, scale, seed, path, threaded=true, days=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
pub(crate) fn synthesize_parquet(
    py: Python<'_>,
    toml: &str,
    place: String,
    scale: f64,
    seed: u64,
    path: PathBuf,
    threaded: bool,
    days: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let recipe = of_days(toml, &place, days)?;
    watched(py, progress, Patience::Unlimited, move |job| {
        flashtwin_trace::synthesize_parquet(&recipe, &place, (scale, seed), &path, threaded, job)
    })
}
