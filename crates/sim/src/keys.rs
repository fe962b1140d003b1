//! Properties of each configuration key beside its type and text: when it matters, its effect, and
//! the design it belongs to. They are declared at the key, as extensions of its schema, and read
//! here.
//!
//! * `x-when`: the condition under which another value can change the results; always, if there is
//!   none. A table's condition and design hold for all keys in it that have none of their own. A
//!   condition consists of `KEY = VALUE|VALUE`, `KEY != VALUE` and traits, joined by `and` and,
//!   less tightly, by `or`, for example `ftl.allocation.policy = static|hipa` or `deduplicates and
//!   engine.write_completes != buffered`.
//! * `x-moves`: the direct effect of the key. Keys without it change neither reads nor writes.
//! * `x-design`: why the key defines a system by its paper. Other keys are the ground that systems stand on.
//! * `x-label`: no result depends on it.
//! * `x-traits`: traits of a system with this policy (or with this key true). A system has them
//!   where the key matters.
//!
//! Example: `ftl.gc.choices` says `x-when = "ftl.gc.victim = d-choices"`; so two systems with greedy victims do not differ
//! by it, and a sweep over it is refused.

use std::sync::OnceLock;

use serde_json::Value;

use crate::config::schema;

/// A key and its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Dotted, as in results.
    pub name: String,
    /// The condition under which it matters; "always" where there is none.
    pub when: String,
    /// The direct effect of the key.
    pub moves: Option<String>,
    /// Why it defines a system.
    pub design: Option<String>,
    /// Whether no result depends on it.
    pub label: bool,
}

/// A value of a key that makes a system something.
struct Maker {
    key: usize,
    value: String,
    traits: Vec<String>,
}

struct Declared {
    keys: Vec<Key>,
    makers: Vec<Maker>,
}

const ALWAYS: &str = "always";

/// Every key of the configuration, in its order.
pub fn keys() -> &'static [Key] {
    &declared().keys
}

/// Whether another value of a key can change the results under a configuration from a result file.
/// A key that does not exist matters nowhere.
pub fn matters(key: &str, config: &Value) -> bool {
    let declared = declared();
    declared.keys.iter().any(|one| one.name == key && declared.holds(&one.when, config))
}

/// Why no value of a key can change the results under a configuration, in the form `ftl.replication.policy is "none"`;
/// `None` where it can, and for a key that does not exist.
pub fn ignored_because(key: &str, config: &Value) -> Option<String> {
    let declared = declared();
    let key = declared.keys.iter().find(|one| one.name == key)?;
    let mut causes = Vec::new();
    declared.add_causes(&key.when, config, &mut causes);
    (!declared.holds(&key.when, config)).then(|| causes.join(" and "))
}

/// The traits of a system by its policies, such as `deduplicates` and `weighs-load`, in
/// alphabetical order.
pub fn traits(config: &Value) -> Vec<&'static str> {
    let declared = declared();
    let mut found: Vec<&str> = declared
        .makers
        .iter()
        .filter(|maker| declared.is_made(maker, config))
        .flat_map(|maker| maker.traits.iter().map(String::as_str))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn declared() -> &'static Declared {
    static DECLARED: OnceLock<Declared> = OnceLock::new();
    DECLARED.get_or_init(|| {
        let mut found = Declared { keys: Vec::new(), makers: Vec::new() };
        found.table(&schema(), "", (ALWAYS, None));
        found
    })
}

impl Declared {
    fn table(&mut self, node: &Value, path: &str, (when, design): (&str, Option<&str>)) {
        for (name, one) in node["properties"].as_object().into_iter().flatten() {
            let name = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let text = |what: &str| one[what].as_str();
            let (when, design) = (text("x-when").unwrap_or(when), text("x-design").or(design));
            if one["properties"].is_object() {
                self.table(one, &name, (when, design));
                continue;
            }
            self.makers(one);
            self.keys.push(Key {
                name,
                when: when.into(),
                moves: text("x-moves").map(Into::into),
                design: design.map(Into::into),
                label: one["x-label"].as_bool().unwrap_or_default(),
            });
        }
    }

    fn makers(&mut self, node: &Value) {
        let key = self.keys.len();
        let words = |node: &Value| -> Vec<String> {
            node["x-traits"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(Into::into)
                .collect()
        };
        let options = node["oneOf"].as_array().into_iter().flatten();
        // Policies from outside have no name of their own here, but the beginning of all of them.
        let name = |one: &Value| one["const"].as_str().or(one["pattern"].as_str()).map(ToOwned::to_owned);
        let policies = options.filter_map(|one| Some((name(one)?, words(one))));
        let makers = policies.chain([("true".to_owned(), words(node))]);
        self.makers.extend(makers.filter(|(_, traits)| !traits.is_empty()).map(|(value, traits)| Maker {
            key,
            value,
            traits,
        }));
    }

    fn holds(&self, condition: &str, config: &Value) -> bool {
        condition.split(" or ").any(|all| all.split(" and ").all(|one| self.is_so(one.trim(), config)))
    }

    fn is_so(&self, atom: &str, config: &Value) -> bool {
        let other = |(key, value): (&str, &str)| written(key, config).map(|found| found != value);
        let among = |(key, values): (&str, &str)| {
            written(key, config).map(|found| values.split('|').any(|one| one == found))
        };
        match (atom.split_once(" != "), atom.split_once(" = ")) {
            (Some(unequal), _) => other(unequal).unwrap_or_default(),
            (None, Some(equal)) => among(equal).unwrap_or_default(),
            (None, None) => atom == ALWAYS || self.has(atom, config),
        }
    }

    fn has(&self, wanted: &str, config: &Value) -> bool {
        self.makers
            .iter()
            .any(|maker| maker.traits.iter().any(|one| one == wanted) && self.is_made(maker, config))
    }

    /// Why a condition does not hold: of each alternative the values of the keys that decide its first word that is not so.
    fn add_causes(&self, condition: &str, config: &Value, causes: &mut Vec<String>) {
        for alternative in condition.split(" or ") {
            let mut atoms = alternative.split(" and ").map(str::trim);
            let Some(atom) = atoms.find(|atom| !self.is_so(atom, config)) else { continue };
            let named =
                atom.split_once(" != ").or_else(|| atom.split_once(" = ")).map_or(atom, |(key, _)| key);
            let makers = self.makers.iter().filter(|maker| maker.traits.iter().any(|one| one == atom));
            let deciding = self.keys.iter().filter(|key| key.name == named);
            for key in deciding.chain(makers.map(|maker| &self.keys[maker.key])) {
                let cause =
                    format!("{} is {}", key.name, value_at(&key.name, config).unwrap_or(&Value::Null));
                if !self.holds(&key.when, config) {
                    self.add_causes(&key.when, config, causes);
                } else if !causes.contains(&cause) {
                    causes.push(cause);
                }
            }
        }
    }

    fn is_made(&self, maker: &Maker, config: &Value) -> bool {
        let key = &self.keys[maker.key];
        let is = |found: String| {
            found == maker.value
                || maker.value.strip_prefix('^').is_some_and(|begin| found.starts_with(begin))
        };
        written(&key.name, config).is_some_and(is) && self.holds(&key.when, config)
    }
}

/// A value of a configuration as it is written in conditions; nothing where the configuration has none.
fn written(key: &str, config: &Value) -> Option<String> {
    let found = value_at(key, config)?;
    Some(found.as_str().map_or_else(|| found.to_string(), Into::into))
}

fn value_at<'a>(key: &str, config: &'a Value) -> Option<&'a Value> {
    key.split('.').try_fold(config, |tree, name| tree.get(name))
}

#[cfg(test)]
mod tests;
