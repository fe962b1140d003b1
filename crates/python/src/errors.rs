//! The one place where errors of the core become the exceptions of `python/flashtwin/errors.py`. Messages are
//! unchanged.

use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(flashtwin.errors, FlashtwinError);
import_exception!(flashtwin.errors, TraceError);
import_exception!(flashtwin.errors, ConfigError);
import_exception!(flashtwin.errors, SimError);
import_exception!(flashtwin.errors, LiveError);
import_exception!(flashtwin.errors, InternalError);
import_exception!(flashtwin.errors, ArgumentError);

pub(crate) fn trace(error: flashtwin_trace::TraceError) -> PyErr {
    TraceError::new_err(error.to_string())
}

pub(crate) fn config(error: flashtwin_sim::ConfigError) -> PyErr {
    ConfigError::new_err(error.to_string())
}

pub(crate) fn sim(error: &flashtwin_sim::SimError) -> PyErr {
    use flashtwin_sim::SimError as Cause;
    let message = error.to_string();
    match error {
        Cause::Config(_) => ConfigError::new_err(message),
        Cause::Trace(_) => TraceError::new_err(message),
        Cause::Request(_) => ArgumentError::new_err(message),
        Cause::Nand(_) => InternalError::new_err(message),
        Cause::Ftl(_) | Cause::Write { .. } | Cause::Interrupted => SimError::new_err(message),
    }
}

/// Errors of servers, recordings and media name their own place and cause.
#[cfg(target_os = "linux")]
pub(crate) fn live(error: std::io::Error) -> PyErr {
    LiveError::new_err(error.to_string())
}

pub(crate) fn unknown(kind: &str, name: &str, known: &[&str]) -> PyErr {
    ConfigError::new_err(format!("no {kind} is called '{name}'; there are: {}", known.join(", ")))
}

pub(crate) fn no_table(name: &str, known: &[String]) -> PyErr {
    FlashtwinError::new_err(format!("no table is called '{name}'; there are: {}", known.join(", ")))
}

pub(crate) fn internal(message: impl ToString) -> PyErr {
    InternalError::new_err(message.to_string())
}
