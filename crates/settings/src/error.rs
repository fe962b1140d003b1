//! Errors of settings, in words for the person who can repair them.

use thiserror::Error;

use crate::text::shown;

/// A setting that cannot be used: fault, expected value, the nearest right one.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{0}")]
pub struct SettingError(pub String);

impl SettingError {
    /// A key with a value that it cannot have.
    pub fn value(key: &str, value: impl std::fmt::Display, expected: &str) -> SettingError {
        SettingError(format!("{key} is {}: expected {expected}", shown(&value.to_string())))
    }
}
