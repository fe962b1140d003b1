//! Files that people write: systems with their drives, and recipes of workloads.

use std::fs;

use flashtwin_sim::{device_names, device_toml, resolve, system_names, system_toml};
use flashtwin_trace::{Recipe, synthesize, workload_names, workload_toml};

use crate::places::scratch;

/// A system of one's own: refused with a message, or resolved, and then again to the same.
pub(crate) fn system(bytes: &[u8]) {
    let path = scratch("system.toml");
    fs::write(&path, bytes).expect("a folder for temporary files");
    let name = path.to_str().expect("a path of letters");
    match resolve(name, &[]) {
        Ok(resolved) => {
            let again = resolve(name, &[]).expect("what was resolved once");
            assert_eq!(format!("{:?}", resolved.config), format!("{:?}", again.config));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub(crate) fn systems() -> Vec<Vec<u8>> {
    let systems = system_names().into_iter().filter_map(system_toml);
    let devices = device_names().into_iter().filter_map(device_toml);
    let mut seeds: Vec<Vec<u8>> = systems.map(|text| text.as_bytes().to_vec()).collect();
    let first = seeds[0].clone();
    seeds.extend(devices.map(|text| [&first[..], b"\n[nand]\n", text.as_bytes()].concat()));
    seeds
}

/// A recipe: refused, or made into a short trace.
pub(crate) fn recipe(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A recipe may well ask for more than a fuzzer has time for.
    match Recipe::parse("fuzzed", text) {
        Ok(recipe) if recipe.requests.count < 50_000_000 => {
            let _ = synthesize(&recipe, "fuzzed", 0.000_1, 0, &());
        }
        _ => {}
    }
}

pub(crate) fn recipes() -> Vec<Vec<u8>> {
    workload_names().into_iter().filter_map(workload_toml).map(|text| text.as_bytes().to_vec()).collect()
}
