//! Errors of a recipe's keys: the fault and the possible values.

use crate::error::{ErrorCause, TraceError};

pub(super) struct Keys<'a>(pub(super) &'a str);

impl Keys<'_> {
    pub(super) fn wrong(&self, key: &str, what: impl std::fmt::Display, cure: &str) -> TraceError {
        TraceError::new(ErrorCause::Argument, self.0, format!("{key} {what}"), cure)
    }

    pub(super) fn between(&self, key: &str, value: f64, least: f64, most: f64) -> Result<f64, TraceError> {
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(self.wrong(key, format!("is {value}"), &format!("give a number from {least} to {most}")))
    }

    pub(super) fn share(&self, key: &str, percent: f64) -> Result<f64, TraceError> {
        Ok(self.between(key, percent, 0.0, 100.0)? / 100.0)
    }
}
