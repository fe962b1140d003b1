//! Keys declared not to matter change nothing: a sweep runs only one of their values.

use std::collections::BTreeMap;
use std::ops::Range;

use flashtwin_ftl::Rng;
use flashtwin_sim::{Config, Resolved, RunResult, keys, matters, run};
use flashtwin_trace::PageTrace;
use serde_json::Value;

use crate::bench::{pick, seeds};
use crate::drawn::{self, spaced_trace};
use crate::swarm::random_system;

#[test]
fn keys_that_do_not_matter_change_nothing() {
    try_keys(0..333, 1);
}

#[test]
#[ignore = "a minute"]
fn keys_that_do_not_matter_change_nothing_in_a_thousand_systems() {
    try_keys(seeds(1000), 3);
}

/// Pairs of systems, each with all keys that do not matter set as the other has them. Each must be tried `least` times.
fn try_keys(seeds: Range<u64>, least: u32) {
    let mut tried: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in seeds {
        let mut rng = Rng::stream(seed, "keys that do not matter");
        let spacing = pick(&mut rng, &drawn::SPACINGS);
        let trace = spaced_trace(&mut rng, spacing);
        let (pages, resolved) = random_system(&mut rng, &trace);
        let other = with_more(random_system(&mut rng, &trace).1.json());
        let changed = idle_keys(&resolved, &other);
        let expected = happened(&pages, &resolved);
        if happened(&pages, &with(&resolved, &changed)) == expected {
            changed.iter().for_each(|(key, _)| *tried.entry(key).or_default() += 1);
            continue;
        }
        let guilty =
            changed.iter().filter(|one| happened(&pages, &with(&resolved, &[(*one).clone()])) != expected);
        let guilty: Vec<_> = guilty.collect();
        panic!("seed {seed}: {guilty:?} of {changed:?} change what happens under {}", resolved.json());
    }
    let conditional = keys().iter().filter(|key| key.when != "always").map(|key| key.name.as_str());
    let seldom: Vec<_> =
        conditional.filter(|key| tried.get(key).is_none_or(|&times| times < least)).collect();
    assert_eq!(seldom, NOT_DRAWN, "conditional keys that were hardly tried");
}

/// Refused where it does not matter; read with the trace, before any run.
const NOT_DRAWN: [&str; 2] = ["ftl.mapping_cache.fingerprints", "replay.content"];

fn with_more(mut config: Value) -> Value {
    config["ftl"]["mapping_cache"]["fingerprints"] = true.into();
    config["ftl"]["allocation"]["order"] = "PDWC".into();
    config["ftl"]["allocation"]["hipa_threshold"] = 1.1.into();
    config["ftl"]["allocation"]["hipa_weight"] = 0.9.into();
    config["ftl"]["gc"]["choices"] = 3.into();
    config["ftl"]["dedup"]["tables"] = "inverted".into();
    config["ftl"]["replication"]["few_copies"] = 3.into();
    config["ftl"]["redirection"]["ties"] = "next-in-turn".into();
    config["ftl"]["partition"]["window"] = 0.5.into();
    config["ftl"]["partition"]["isolation"] = "initial".into();
    config["ftl"]["partition"]["filter_bits"] = 4.into();
    config["replay"]["preload_contents"] = "trace".into();
    config["replay"]["mirror"] = "conventional".into();
    config["replay"]["history"] = "shuffled uniform(1)".into();
    config
}

/// Keys that do not matter, with the values that another system has, if they may have them.
fn idle_keys<'k>(resolved: &Resolved, other: &Value) -> Vec<(&'k str, Value)> {
    let config = resolved.json();
    let mut found = Vec::new();
    for key in keys().iter().filter(|key| !key.label && !matters(&key.name, &config)) {
        let value = key.name.split('.').fold(other, |tree, name| &tree[name]).clone();
        let one = (key.name.as_str(), value);
        let after = with(resolved, std::slice::from_ref(&one));
        let same = after.json() == config;
        if !same && after.config.ftl.check(&after.device.geometry).is_ok() && !matters(one.0, &after.json()) {
            found.push(one);
        }
    }
    found
}

fn with(resolved: &Resolved, sets: &[(&str, Value)]) -> Resolved {
    let mut tree = resolved.json();
    for (key, value) in sets {
        *key.split('.').fold(&mut tree, |tree, name| &mut tree[name]) = value.clone();
    }
    let config: Config = serde_json::from_value(tree).unwrap();
    Resolved { config, device: resolved.device.clone() }
}

fn happened(pages: &PageTrace, resolved: &Resolved) -> String {
    let RunResult { mut summary, tables, .. } = run(pages, resolved, &()).unwrap();
    summary["config"] = Value::Null;
    format!("{summary}{tables:?}")
}
