//! The one place where errors of the core become Python exceptions. Messages pass unchanged: the
//! crates below already say what is wrong, where, and what to do.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    flashtwin,
    FlashtwinError,
    PyValueError,
    "Bad input, said in one message: what is wrong, where, and what to do. The parent of all others."
);
create_exception!(
    flashtwin,
    TraceError,
    FlashtwinError,
    "A trace cannot be read, or not in the way asked for."
);
create_exception!(
    flashtwin,
    ConfigError,
    FlashtwinError,
    "A system, a device or a key of the configuration is wrong."
);
create_exception!(
    flashtwin,
    SimError,
    FlashtwinError,
    "A system cannot replay this trace, or results cannot be written."
);
create_exception!(
    flashtwin,
    InternalError,
    PyRuntimeError,
    "A mistake in flashtwin itself; please report it with the message."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("FlashtwinError", py.get_type::<FlashtwinError>())?;
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("SimError", py.get_type::<SimError>())?;
    module.add("InternalError", py.get_type::<InternalError>())
}

pub(crate) fn trace(error: &flashtwin_trace::TraceError) -> PyErr {
    TraceError::new_err(error.to_string())
}

pub(crate) fn config(error: &flashtwin_sim::ConfigError) -> PyErr {
    ConfigError::new_err(error.to_string())
}

pub(crate) fn sim(error: &flashtwin_sim::SimError) -> PyErr {
    use flashtwin_sim::SimError as Cause;
    let message = error.to_string();
    match error {
        Cause::Config(_) => ConfigError::new_err(message),
        Cause::Nand(_) => InternalError::new_err(message),
        Cause::Ftl(_) | Cause::Write { .. } | Cause::Interrupted => SimError::new_err(message),
    }
}

/// There is nothing of this kind with this name.
pub(crate) fn unknown(kind: &str, name: &str, known: &[&str]) -> PyErr {
    ConfigError::new_err(format!("no {kind} is called '{name}'; there are: {}", known.join(", ")))
}

pub(crate) fn internal(message: &str) -> PyErr {
    InternalError::new_err(message.to_owned())
}
