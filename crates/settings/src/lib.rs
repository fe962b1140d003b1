//! Keys of a configuration: found by any ending that is unique, set from text, checked against a schema.
//!
//! Shared by the configurations of replays and of characterizations, so that `--set key=value`
//! means the same everywhere and a wrong key or value gets the same message.

mod accepts;
mod keys;
mod text;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use keys::{Keys, nearest};
pub use text::{SettingError, bare_or_toml, shown};

/// Sets a dotted key whose tables exist; another is passed over.
pub fn set(tree: &mut Map<String, Value>, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            tree.insert(key.to_owned(), value);
        }
        Some((table, rest)) => {
            if let Some(Value::Object(inner)) = tree.get_mut(table) {
                set(inner, rest, value);
            }
        }
    }
}

/// Reads a configuration from its tree, within the bounds of its schema. The error names key, value and expected value.
pub fn from_tree<T: DeserializeOwned>(tree: Map<String, Value>, keys: &Keys) -> Result<T, SettingError> {
    let value = Value::Object(tree);
    let read: T = read(&value, keys)?;
    for key in keys.names() {
        let found = at(&value, key);
        if !keys.is_within(key, found) {
            return Err(SettingError::value(key, found, &keys.expected(key).unwrap_or_default()));
        }
    }
    Ok(read)
}

fn read<T: DeserializeOwned>(value: &Value, keys: &Keys) -> Result<T, SettingError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.inner().to_string();
        let prefix = |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
        if let Some(name) = inner.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            let expected = keys.expected(&prefix(name)).unwrap_or_else(|| "a value".to_owned());
            return SettingError(format!("the key {} is missing: expected {expected}", prefix(name)));
        }
        if let Some(name) = inner.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next()) {
            let key = if path.rsplit('.').next() == Some(name) { path.clone() } else { prefix(name) };
            return SettingError(keys.unknown(&key));
        }
        let found = at(value, &path);
        // Of a list that holds something wrong, the list is the key.
        let key = path.split('[').next().unwrap_or(&path);
        let expected = keys.expected(key).unwrap_or_else(|| {
            inner.split_once(", expected ").map_or(inner.clone(), |(_, expected)| expected.to_owned())
        });
        SettingError::value(&path, found, &expected)
    })
}

/// The value at a path such as `wa.partitions[2]`.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    let steps = path.split(['.', '[']).map(|step| step.trim_end_matches(']')).filter(|step| !step.is_empty());
    let found = steps.into_iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    });
    found.unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests;
