//! The bindings: `flashtwin._core`, what Python sees of the core. Thin on purpose: types, errors, the GIL and Ctrl-C.
//! Bulk data crosses as Arrow tables, everything else as JSON text.

mod arrow;
mod by_volume;
mod characterize;
mod columns;
#[cfg(target_os = "linux")]
mod drive;
mod enter;
mod errors;
#[cfg(target_os = "linux")]
mod live;
mod overwriting;
mod policies;
mod replay;
mod scan;
mod systems;
mod trace;
mod virtual_drive;
mod workloads;

/// The native core of flashtwin. Private: use the functions of `flashtwin`.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arrow::Table;
    #[pymodule_export]
    use crate::by_volume::{VolumeSet, split};
    #[pymodule_export]
    use crate::characterize::{Characterization, characterize_stream, options_schema, resolve_options};
    #[pymodule_export]
    use crate::overwriting::Overwriting;
    #[pymodule_export]
    use crate::replay::{RunResult, run};
    #[pymodule_export]
    use crate::scan::{Scan, memory_in_whole};
    #[pymodule_export]
    use crate::systems::{
        Resolved, config_keys, config_meaning, config_schema, device_toml, devices, ignored_because, resolve,
        results_schema, system_toml, systems,
    };
    #[pymodule_export]
    use crate::trace::{
        Trace, columns_option, nanoseconds_of, operations, recover_recording, requests_by_volume,
    };
    #[pymodule_export]
    use crate::virtual_drive::VirtualDrive;
    #[pymodule_export]
    use crate::workloads::{
        check_recipe, recipe_schema, synthesize, synthesize_parquet, workload_toml, workloads,
    };

    // Python checks for these in one place: `flashtwin/live/linux.py`.
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::drive::{check_drive_json, create_drive, drive_info_json, expect_drive, serve_drive};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::live::{Server, import_log_writes, record, server_limits};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::enter::quieten_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
