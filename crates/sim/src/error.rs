use flashtwin_ftl::FtlError;
use flashtwin_nand::NandRule;
use flashtwin_settings::SettingError;
use flashtwin_trace::{Progress, TraceError};
use thiserror::Error;

/// A configuration that cannot be used: fault, place and cure.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl From<SettingError> for ConfigError {
    fn from(error: SettingError) -> Self {
        ConfigError(error.0)
    }
}

/// A run that could not begin or go on.
#[derive(Debug, Clone, Error)]
pub enum SimError {
    /// The configuration does not fit the trace.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace could not be read again.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The controller could not go on.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// A rule of the medium was broken: the simulator is wrong, not the input.
    #[error("{0}. This is a bug in flashtwin: please report it with the trace and the configuration")]
    Nand(#[from] NandRule),
    /// A drive in virtual time cannot do this. It is as it was before.
    #[error("{0}")]
    Request(String),
    /// The caller asked the run to stop.
    #[error("interrupted")]
    Interrupted,
    /// A result could not be written.
    #[error("{path}: {cause}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
}

pub(crate) fn stop_if_asked(progress: &dyn Progress) -> Result<(), SimError> {
    if progress.cancelled() { Err(SimError::Interrupted) } else { Ok(()) }
}
