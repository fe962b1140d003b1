use super::*;
use crate::registry::system_names;
use crate::resolve::resolve;

fn config(system: &str, sets: &[(&str, &str)]) -> Value {
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    resolve(system, &sets).unwrap().json()
}

/// Every word of every condition: a key with values that it can have, or a trait that a policy gives.
#[test]
fn conditions_name_keys_values_and_traits_that_exist() {
    let known: Vec<&str> =
        declared().makers.iter().flat_map(|one| one.traits.iter().map(String::as_str)).collect();
    let trees: Vec<Value> = system_names().iter().map(|name| config(name, &[])).collect();
    for key in keys() {
        for atom in key.when.split(" or ").flat_map(|all| all.split(" and ")) {
            let named = atom.split_once(" != ").or_else(|| atom.split_once(" = "));
            let Some((other, values)) = named else {
                assert!(atom == ALWAYS || known.contains(&atom), "{}: no trait '{atom}'", key.name);
                continue;
            };
            assert!(keys().iter().any(|one| one.name == other), "{}: no key '{other}'", key.name);
            for value in values.split('|') {
                let taken = trees.iter().any(|tree| written(other, tree).as_deref() == Some(value));
                let sets = [(other.to_owned(), value.to_owned())];
                let can = system_names().iter().any(|name| resolve(name, &sets).is_ok());
                assert!(taken || can, "{}: no system takes {other} = {value}", key.name);
            }
        }
    }
}

#[test]
fn traits_of_the_presets_are_what_their_papers_say() {
    let of = |name: &str| traits(&config(name, &[]));
    assert_eq!(of("conventional"), [""; 0]);
    assert_eq!(of("ca-ssd"), ["deduplicates", "looks-at-contents"]);
    assert_eq!(
        of("rr-ssd"),
        [
            "breaks-ties",
            "copies-at-period-ends",
            "counts-popularity",
            "deduplicates",
            "looks-at-contents",
            "redirects",
            "replicates",
            "weighs-load",
            "weighs-popularity"
        ]
    );
    assert_eq!(
        of("pblru"),
        ["background-jobs", "deduplicates", "looks-at-contents", "redirects", "replicates", "weighs-load"]
    );
    assert_eq!(of("oracle"), ["bound", "deduplicates", "looks-at-contents", "redirects", "weighs-load"]);
    assert_eq!(of("hipa"), ["merges-page-reads", "weighs-load"]);
    assert_eq!(of("hot-cold"), ["partitions"]);
    assert_eq!(of("caftl"), ["background-jobs", "deduplicates", "looks-at-contents"]);
    assert_eq!(of("modern"), ["collects-in-idle-time"]);
    let spreading = of("ds-ftl");
    assert!(spreading.contains(&"spreads") && spreading.contains(&"looks-at-contents"), "{spreading:?}");
}

/// Keys of copies matter where a policy says that it makes some: one without that trait would use keys that "do not
/// matter".
#[test]
fn every_policy_of_replication_declares_that_it_replicates() {
    for policy in flashtwin_ftl::ReplicationPolicy::ALL {
        let name = serde_json::to_value(policy).unwrap();
        let declared = traits(&config("rr-ssd", &[("replication.policy", name.as_str().unwrap())]));
        let copies = policy != flashtwin_ftl::ReplicationPolicy::None;
        assert_eq!(declared.contains(&"replicates"), copies, "x-traits in the row of {name}");
    }
}

#[test]
fn a_policy_counts_only_where_its_key_matters() {
    // Late fingerprints are of a system that deduplicates.
    let late =
        [("dedup.out_of_line", "unhashed"), ("dedup.sampling_pages", "2"), ("dedup.tables", "two-level")];
    assert!(traits(&config("ca-ssd", &late)).contains(&"background-jobs"));
    let mut plain = config("conventional", &[]);
    plain["ftl"]["dedup"]["out_of_line"] = "unhashed".into();
    assert!(!traits(&plain).contains(&"background-jobs"));
}

#[test]
fn what_a_configuration_does_not_have_meets_no_condition() {
    let nothing = serde_json::json!({});
    assert!(matters("engine.controller_us", &nothing));
    assert!(!matters("ftl.gc.choices", &nothing) && !matters("engine.write_cache_us", &nothing));
    assert!(!matters("no.such.key", &config("ds-ftl", &[])));
    assert!(traits(&nothing).is_empty());
}

/// The cause has keys that matter themselves, with their values.
#[test]
fn every_key_that_is_ignored_has_a_cause_in_the_configuration() {
    for system in system_names() {
        let tree = config(system, &[]);
        for key in keys() {
            let cause = ignored_because(&key.name, &tree);
            assert_eq!(cause.is_none(), matters(&key.name, &tree), "{system}: {}", key.name);
            for part in cause.iter().flat_map(|text| text.split(" and ")) {
                let (other, value) = part.split_once(" is ").unwrap();
                assert_eq!(
                    value_at(other, &tree).unwrap().to_string(),
                    value,
                    "{system}: {}: {part}",
                    key.name
                );
                assert!(matters(other, &tree), "{system}: {}: {part}", key.name);
            }
        }
    }
}
