//! The bindings: `flashtwin._core`, what Python sees of the core.
//!
//! Thin on purpose: types, errors, the GIL and Ctrl-C. Traces, systems and results are computed in
//! the crates below; their user interface is in `python/flashtwin`. Bulk data crosses as Arrow
//! tables, everything else as JSON text.

mod arrow;
mod characterize;
mod columns;
#[cfg(target_os = "linux")]
mod drive;
mod enter;
mod errors;
#[cfg(target_os = "linux")]
mod live;
mod overwriting;
mod replay;
mod scan;
mod systems;
mod trace;
mod workloads;

use pyo3::prelude::*;

/// The native core of flashtwin. Private: use the functions of `flashtwin`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    enter::quieten_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrow::Table>()?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<scan::Scan>()?;
    module.add_function(wrap_pyfunction!(scan::memory_in_whole, module)?)?;
    module.add_function(wrap_pyfunction!(trace::requests_by_volume, module)?)?;
    module.add_class::<characterize::Characterization>()?;
    module.add_function(wrap_pyfunction!(characterize::characterize_stream, module)?)?;
    module.add_function(wrap_pyfunction!(characterize::resolve_options, module)?)?;
    module.add_function(wrap_pyfunction!(characterize::options_schema, module)?)?;
    module.add_class::<systems::Resolved>()?;
    module.add_class::<overwriting::Overwriting>()?;
    module.add_class::<replay::RunResult>()?;
    module.add_function(wrap_pyfunction!(systems::systems, module)?)?;
    module.add_function(wrap_pyfunction!(systems::system_toml, module)?)?;
    module.add_function(wrap_pyfunction!(systems::devices, module)?)?;
    module.add_function(wrap_pyfunction!(systems::device_toml, module)?)?;
    module.add_function(wrap_pyfunction!(systems::config_schema, module)?)?;
    module.add_function(wrap_pyfunction!(systems::config_keys, module)?)?;
    module.add_function(wrap_pyfunction!(systems::config_meaning, module)?)?;
    module.add_function(wrap_pyfunction!(systems::results_schema, module)?)?;
    module.add_function(wrap_pyfunction!(systems::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(replay::run, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::workloads, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::workload_toml, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::recipe_schema, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::check_recipe, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::synthesize, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::synthesize_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(trace::recover_recording, module)?)?;
    #[cfg(target_os = "linux")]
    add_live(module)?;
    Ok(())
}

/// Servers and recorders of real bytes. Python checks for them in one place:
/// `flashtwin/live/linux.py`.
#[cfg(target_os = "linux")]
fn add_live(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<live::Server>()?;
    module.add_function(wrap_pyfunction!(live::record, module)?)?;
    module.add_function(wrap_pyfunction!(live::import_log_writes, module)?)?;
    module.add_function(wrap_pyfunction!(drive::create_drive, module)?)?;
    module.add_function(wrap_pyfunction!(drive::expect_drive, module)?)?;
    module.add_function(wrap_pyfunction!(drive::serve_drive, module)?)?;
    module.add_function(wrap_pyfunction!(drive::drive_info_json, module)?)?;
    module.add_function(wrap_pyfunction!(drive::check_drive_json, module)?)?;
    Ok(())
}
