//! A configuration as a TOML file that explains itself.

use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::document;
    use crate::resolve::resolve;

    #[test]
    fn keys_and_tables_follow_their_descriptions() {
        let schema = json!({ "properties": {
            "speed": { "description": "How fast.\nMore is more." },
            "inner": { "description": "A table.", "properties": {
                "policy": { "oneOf": [{ "const": "a", "description": "first\nof all" }, { "const": "b" }] },
            } },
            "unknown": {},
        } });
        let config = json!({ "inner": { "policy": "a", "new": true }, "unknown": { "key": 1 }, "speed": 2 });
        let wanted = "# How fast.\n# More is more.\nspeed = 2\n\n# A table.\n[inner]\nnew = true\n\
                      #   \"a\": first of all\n#   \"b\": \npolicy = \"a\"\n";
        let found = document(&config, &schema);
        let lines = |text: &str| text.lines().map(String::from).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(lines(&found), lines(wanted));
        let place = |text: &str| found.find(text).unwrap();
        assert!(
            found.starts_with("# How fast.\n# More is more.\nspeed = 2\n\n# A table.\n[inner]\n"),
            "{found}"
        );
        assert!(place("# A table.") < place("policy"));
    }

    #[test]
    fn the_document_of_a_system_reads_back_as_the_system() {
        let resolved = resolve("rr-ssd", &[]).unwrap();
        let text = resolved.toml_documented();
        let read: Value = toml::from_str(&text).unwrap();
        assert_eq!(read, resolved.json());
        assert!(
            text.contains("# Name of the system, the label of its results.\nname = \"rr-ssd\"\n"),
            "{text}"
        );
    }
}
