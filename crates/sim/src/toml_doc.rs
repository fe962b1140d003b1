//! A configuration as a TOML file that explains itself. Keys that the system does not look at are comments, because a file
//! that sets them is refused.

use serde_json::Value;

use crate::keys::ignored_because;

pub(crate) fn document(config: &Value, schema: &Value) -> String {
    let mut out = String::new();
    table(&mut out, "", (config, config), schema);
    out
}

/// A table of the whole configuration.
fn table(out: &mut String, name: &str, (config, whole): (&Value, &Value), schema: &Value) {
    let (Some(values), Some(properties)) = (config.as_object(), schema.get("properties")) else { return };
    if !name.is_empty() {
        out.push_str(&format!("\n{}[{name}]\n", comment(schema)));
    }
    let full = |key: &String| if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
    let (tables, plain): (Vec<_>, Vec<_>) = values.iter().partition(|(_, value)| value.is_object());
    for (key, value) in plain {
        if let Some(property) = properties.get(key) {
            out.push_str(&comment(property));
        }
        match ignored_because(&full(key), whole) {
            None => out.push_str(&format!("{key} = {value}\n")),
            Some(cause) => out.push_str(&format!("# Not looked at, because {cause}:\n# {key} = {value}\n")),
        }
    }
    for (key, value) in tables {
        if let Some(property) = properties.get(key) {
            table(out, &full(key), (value, whole), property);
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
    use serde_json::json;

    use super::document;
    use crate::registry::system_names;
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
        let file = std::env::temp_dir().join(format!("flashtwin-document-{}.toml", std::process::id()));
        for name in system_names() {
            let resolved = resolve(name, &[("device".into(), "tlc-unit-2021".into())]).unwrap();
            std::fs::write(&file, resolved.toml_documented()).unwrap();
            assert_eq!(resolve(&file.to_string_lossy(), &[]).unwrap().json(), resolved.json(), "{name}");
        }
        std::fs::remove_file(&file).unwrap();
        let text = resolve("ca-ssd", &[]).unwrap().toml_documented();
        let label = "# Name of the system, the label of its results.\nname = \"ca-ssd\"\n";
        let ignored = "# Not looked at, because ftl.replication.policy is \"none\":\n# alpha = 0.0\n";
        assert!(text.contains(label) && text.contains(ignored), "{text}");
    }
}
