//! A configuration as a TOML file that explains itself.

use serde_json::Value;

/// Every key of `config` with the description that `schema` has for it.
pub(crate) fn document(config: &Value, schema: &Value) -> String {
    let mut out = String::new();
    table(&mut out, "", config, schema);
    out
}

fn table(out: &mut String, name: &str, config: &Value, schema: &Value) {
    let (Some(values), Some(properties)) = (config.as_object(), schema.get("properties")) else { return };
    if !name.is_empty() {
        out.push_str(&format!("\n{}[{name}]\n", comment(schema)));
    }
    let (tables, plain): (Vec<_>, Vec<_>) = values.iter().partition(|(_, value)| value.is_object());
    for (key, value) in plain {
        if let Some(property) = properties.get(key) {
            out.push_str(&comment(property));
        }
        out.push_str(&format!("{key} = {value}\n"));
    }
    for (key, value) in tables {
        let full = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        if let Some(property) = properties.get(key) {
            table(out, &full, value, property);
        }
    }
}

fn comment(property: &Value) -> String {
    let mut text = String::new();
    for line in property.get("description").and_then(Value::as_str).unwrap_or_default().lines() {
        text.push_str(&format!("# {line}\n"));
    }
    let choices = property.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    for choice in &choices {
        if let Some(name) = choice.get("const").and_then(Value::as_str) {
            let meaning = choice.get("description").and_then(Value::as_str).unwrap_or_default();
            text.push_str(&format!("#   \"{name}\": {}\n", meaning.replace('\n', " ")));
        }
    }
    text
}
