//! Values as people type and read them.

use serde_json::{Map, Value};
use thiserror::Error;

const SHOWN: usize = 80;

/// The value that a text means: TOML, or else the text itself, so that words need no quotes.
pub fn bare_or_toml(text: &str) -> Value {
    let parsed: Result<Map<String, Value>, _> = toml::from_str(&format!("value = {text}"));
    // A line break would begin another key.
    let whole = parsed.ok().filter(|table| table.len() == 1);
    whole.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::from(text))
}

/// A text that others wrote, for a message: its beginning and its length when it is long.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

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
