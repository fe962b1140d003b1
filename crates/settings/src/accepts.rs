//! The accepted values of a schema, in words, and checks of bounds.

use serde_json::Value;

pub(crate) fn accepts(schema: &Value) -> String {
    if let Some(list) = schema.get("oneOf") {
        return format!("one of {}", choices(list).join(", "));
    }
    match kind(schema) {
        Some("integer") => one("a whole number", schema),
        Some("number") => one("a number", schema),
        Some("boolean") => "true or false".into(),
        // A word with a grammar: its parser explains errors.
        Some("string") if schema.get("pattern").is_some() => String::new(),
        Some("string") => "a word".into(),
        Some("array") => list(schema),
        _ if schema.get("anyOf").is_some() => "a whole number or \"unlimited\"".into(),
        _ => String::new(),
    }
}

pub(crate) fn is_within(value: &Value, schema: &Value) -> bool {
    match (value, value.as_f64()) {
        (Value::Array(items), _) => {
            schema.get("items").is_none_or(|each| items.iter().all(|item| is_within(item, each)))
        }
        (_, Some(number)) => {
            let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
            bound("minimum").is_none_or(|least| number >= least)
                && bound("exclusiveMinimum").is_none_or(|below| number > below)
                && bound("maximum").is_none_or(|most| number <= most)
        }
        _ => true,
    }
}

pub(crate) fn is_list(schema: &Value) -> bool {
    kind(schema) == Some("array")
}

fn kind(schema: &Value) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

fn choices(list: &Value) -> Vec<String> {
    let of = |choice: &Value| choice.get("const").and_then(Value::as_str).map(|name| format!("\"{name}\""));
    list.as_array().map_or(Vec::new(), |list| list.iter().filter_map(of).collect())
}

fn one(what: &str, schema: &Value) -> String {
    match range(schema) {
        Some(range) if range.starts_with("from") || range.starts_with("above") => format!("{what} {range}"),
        Some(range) => format!("{what}, {range}"),
        None => what.to_owned(),
    }
}

fn list(schema: &Value) -> String {
    let items = schema.get("items").unwrap_or(&Value::Null);
    let of = match kind(items) {
        Some("integer") => "whole numbers, such as [1, 4, 8]",
        Some("number") => "numbers, such as [2, 2.5]",
        _ => "values in brackets",
    };
    let each = range(items).map_or(String::new(), |range| format!(", each {range}"));
    format!("a list of {of}{each}")
}

/// Bounds of a number: those of the schema, or of its type.
fn range(schema: &Value) -> Option<String> {
    let bound = |name: &str| schema.get(name).filter(|bound| !bound.is_null()).map(number);
    let of_type = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(u64::from(u8::MAX)),
        Some("uint16") => Some(u64::from(u16::MAX)),
        Some("uint32") => Some(u64::from(u32::MAX)),
        _ => None,
    };
    let maximum = bound("maximum").or(of_type.map(|most| most.to_string()));
    match (bound("exclusiveMinimum"), bound("minimum"), maximum) {
        (Some(below), _, Some(most)) => Some(format!("above {below}, up to {most}")),
        (Some(below), _, None) => Some(format!("above {below}")),
        (None, Some(least), Some(most)) => Some(format!("from {least} to {most}")),
        (None, Some(least), None) => Some(format!("{least} or more")),
        (None, None, Some(most)) => Some(format!("{most} at most")),
        (None, None, None) => None,
    }
}

fn number(bound: &Value) -> String {
    match bound.as_f64() {
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => format!("{whole:.0}"),
        _ => bound.to_string(),
    }
}
