use std::collections::BTreeMap;

use serde_json::Value;

use crate::accepts::{accepts, is_list, is_within};
use crate::text::{SettingError, bare_or_toml, shown};

/// Below this likeness (Jaro-Winkler, 0 to 1) a word is not taken for another one.
const LIKE: f64 = 0.7;

/// Every dotted key of a configuration with its accepted values.
#[derive(Debug, Clone)]
pub struct Keys {
    known: BTreeMap<String, Value>,
    listed: String,
}

impl Keys {
    /// The keys of a JSON schema without references. `listed` names the page that lists all of them.
    pub fn new(schema: &Value, listed: &str) -> Keys {
        let mut known = BTreeMap::new();
        collect(schema, "", &mut known);
        Keys { known, listed: listed.to_owned() }
    }

    /// All keys, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    /// Whether there is a key of exactly this name.
    pub fn contains(&self, key: &str) -> bool {
        self.known.contains_key(key)
    }

    /// Whether other keys lie below this one.
    pub fn is_table(&self, key: &str) -> bool {
        let prefix = format!("{key}.");
        self.known.range(prefix.clone()..).next().is_some_and(|(known, _)| known.starts_with(&prefix))
    }

    /// The accepted values of a key, in words; `None` if the schema has no limits.
    pub fn expected(&self, key: &str) -> Option<String> {
        self.known.get(key).map(accepts).filter(|text| !text.is_empty())
    }

    /// TOML or a bare word, for example `0.05` or `greedy`; for a list its text in brackets, or a single value.
    pub fn value(&self, key: &str, text: &str) -> Value {
        let value = bare_or_toml(text);
        if value.is_array() || !self.known.get(key).is_some_and(is_list) {
            return value;
        }
        Some(bare_or_toml(&format!("[{text}]"))).filter(Value::is_array).unwrap_or(value)
    }

    pub(crate) fn is_within(&self, key: &str, value: &Value) -> bool {
        self.known.get(key).is_none_or(|schema| is_within(value, schema))
    }

    /// The full key that `suffix` ends. The error names the nearest key, or all that it could be.
    pub fn full(&self, suffix: &str) -> Result<String, SettingError> {
        if self.contains(suffix) {
            return Ok(suffix.to_owned());
        }
        let ending = format!(".{suffix}");
        let matches: Vec<&str> = self.names().filter(|key| key.ends_with(&ending)).collect();
        match matches.as_slice() {
            [] => Err(SettingError(self.unknown(suffix))),
            [key] => Ok((*key).to_owned()),
            several => Err(SettingError(format!(
                "the key '{suffix}' could be any of {}: write it in full",
                several.join(", ")
            ))),
        }
    }

    /// Says that there is no such key, and which one was probably meant.
    pub fn unknown(&self, key: &str) -> String {
        let best = self.names().max_by(|a, b| likeness(key, a).total_cmp(&likeness(key, b)));
        let hint = best.map_or(String::new(), |best| format!("; did you mean '{best}'?"));
        format!("there is no key '{}'{hint} ({})", shown(key), self.listed)
    }
}

/// How probably one key was written for another: by their looks, and by whole words that they share.
fn likeness(written: &str, known: &str) -> f64 {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let (word, name) = (last(written), last(known));
    let looks = strsim::jaro_winkler(written, known).max(strsim::jaro_winkler(&word, &name));
    let shares = name.split('_').any(|part| part == word);
    looks + if shares { 1.0 } else { 0.0 }
}

/// The word that was probably meant; `None` when none is like it.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.map(|candidate| (strsim::jaro_winkler(word, candidate), candidate));
    scored
        .filter(|(score, _)| *score > LIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn collect(schema: &Value, prefix: &str, known: &mut BTreeMap<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if property.get("properties").is_some() {
            collect(property, &key, known);
        } else {
            known.insert(key, property.clone());
        }
    }
}
