//! Keys, values and messages on a small configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Small {
    alpha: f64,
    engine: Engine,
    nand: Nand,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Engine {
    #[schemars(range(min = 1, max = 65_536))]
    hash_lanes: u32,
    queue: u32,
    #[schemars(inner(range(min = 1.0)))]
    ratios: Vec<f64>,
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    share: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nand {
    planes_per_die: u32,
    queue: u32,
}

fn keys() -> Keys {
    let settings =
        schemars::generate::SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<Small>();
    Keys::new(&serde_json::to_value(schema).unwrap(), "`list` lists every key")
}

fn tree() -> Map<String, Value> {
    let small = Small {
        alpha: 0.5,
        engine: Engine { hash_lanes: 1, queue: 2, ratios: vec![2.0], share: 0.5 },
        nand: Nand { planes_per_die: 2, queue: 3 },
    };
    serde_json::to_value(small).unwrap().as_object().unwrap().clone()
}

fn with(key: &str, value: &str) -> Result<Small, SettingError> {
    let mut tree = tree();
    let key = keys().full(key)?;
    set(&mut tree, &key, keys().value(&key, value));
    from_tree(tree, &keys())
}

fn wrong(key: &str, value: &str) -> String {
    with(key, value).unwrap_err().0
}

#[test]
fn a_key_is_found_by_any_ending_that_is_unique() {
    assert_eq!(with("hash_lanes", "4").unwrap().engine.hash_lanes, 4);
    assert_eq!(with("nand.queue", "4").unwrap().nand.queue, 4);
    assert_eq!(with("ratios", "[1.5, 3]").unwrap().engine.ratios, [1.5, 3.0]);
    assert_eq!(
        wrong("queue", "4"),
        "the key 'queue' could be any of engine.queue, nand.queue: write it in full"
    );
}

#[test]
fn a_wrong_key_gets_the_nearest_one() {
    assert_eq!(
        wrong("alpah", "1"),
        "there is no key 'alpah'; did you mean 'alpha'? (`list` lists every key)"
    );
    // One word of a name says more than letters in common.
    assert!(wrong("lanes", "1").contains("did you mean 'engine.hash_lanes'?"));
    assert!(wrong("engine.lanes", "1").contains("did you mean 'engine.hash_lanes'?"));
}

#[test]
fn a_wrong_value_gets_the_real_range() {
    let range = "expected a whole number from 1 to 65536";
    assert_eq!(
        wrong("hash_lanes", "1_000_000_000_000"),
        format!("engine.hash_lanes is 1000000000000: {range}")
    );
    assert_eq!(wrong("hash_lanes", "many"), format!("engine.hash_lanes is \"many\": {range}"));
    assert_eq!(wrong("nand.queue", "-1"), "nand.queue is -1: expected a whole number from 0 to 4294967295");
    assert_eq!(wrong("alpha", "lots"), "alpha is \"lots\": expected a number");
    assert_eq!(wrong("hash_lanes", "0"), format!("engine.hash_lanes is 0: {range}"));
    assert_eq!(wrong("hash_lanes", "70000"), format!("engine.hash_lanes is 70000: {range}"));
    assert_eq!(wrong("share", "0"), "engine.share is 0: expected a number above 0, up to 1");
    let list = "expected a list of numbers, such as [2, 2.5], each 1 or more";
    assert_eq!(wrong("ratios", "[2, 0.5]"), format!("engine.ratios is [2,0.5]: {list}"));
    assert_eq!(wrong("ratios", "two"), format!("engine.ratios is \"two\": {list}"));
    assert_eq!(wrong("ratios", "[2, \"x\"]"), format!("engine.ratios[1] is \"x\": {list}"));
}

#[test]
fn a_list_needs_no_brackets() {
    for text in ["[1.5, 3]", "1.5,3", "1.5, 3"] {
        assert_eq!(with("ratios", text).unwrap().engine.ratios, [1.5, 3.0], "{text}");
    }
    assert_eq!(with("ratios", "2").unwrap().engine.ratios, [2.0]);
    assert_eq!(with("ratios", "[]").unwrap().engine.ratios, [0.0; 0]);
}

#[test]
fn a_missing_key_is_named() {
    let mut without = tree();
    without["nand"].as_object_mut().unwrap().remove("planes_per_die");
    let error = from_tree::<Small>(without, &keys()).unwrap_err();
    assert_eq!(
        error.0,
        "the key nand.planes_per_die is missing: expected a whole number from 0 to 4294967295"
    );
}

#[test]
fn an_unknown_key_in_a_tree_is_named_once() {
    let mut more = tree();
    more["nand"].as_object_mut().unwrap().insert("queues".into(), 1.into());
    let error = from_tree::<Small>(more, &keys()).unwrap_err().0;
    assert!(error.starts_with("there is no key 'nand.queues'; did you mean 'nand.queue'?"), "{error}");
}

#[test]
fn what_is_long_is_cut_short() {
    let long = "x".repeat(100_000);
    assert!(wrong(&long, "1").len() < 300);
    let message = wrong("alpha", &long);
    assert!(message.len() < 300 && message.contains("(100002 characters)"), "{message}");
    assert_eq!(shown("ä".repeat(80).as_str()), "ä".repeat(80));
}
