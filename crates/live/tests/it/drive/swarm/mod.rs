//! A swarm: one seed makes a drive, its clients, their schedule and what fails. The same seed makes the same run.
//!
//! `FLASHTWIN_SEED` and `FLASHTWIN_SEEDS` ask for others, of which the first and how many.

mod run;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flashtwin_live::drive::{DriveOptions, Omission, Plan};

use self::run::{Reached, Run};
use self::world::World;
use crate::drive::scene::SYSTEMS;

const SEEDS: u64 = 200;
/// Runs of a failing world with fewer steps.
const SHORTER_RUNS: u32 = 300;

fn seeds(usual: u64) -> Range<u64> {
    let asked = |name: &str| std::env::var(name).ok()?.parse().ok();
    let first = asked("FLASHTWIN_SEED").unwrap_or(0);
    first..first + asked("FLASHTWIN_SEEDS").unwrap_or(usual)
}

fn outcome(world: &World) -> Result<Reached, String> {
    let panicked = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    };
    catch_unwind(AssertUnwindSafe(|| Run::whole(world))).map_err(panicked)?
}

/// The world without steps that the failure can do without.
fn shortest(mut world: World) -> (World, String) {
    let mut error = outcome(&world).unwrap_err();
    let mut part = world.steps.len().div_ceil(2);
    let (mut from, mut left) = (0, SHORTER_RUNS);
    while part > 0 && left > 0 {
        let mut shorter = world.clone();
        shorter.steps.drain(from.min(world.steps.len())..(from + part).min(world.steps.len()));
        left -= 1;
        match outcome(&shorter) {
            Err(its) if shorter.steps.len() < world.steps.len() => (world, error) = (shorter, its),
            _ => from += part,
        }
        if from >= world.steps.len() {
            (from, part) = (0, part / 2);
        }
    }
    (world, error)
}

fn swarm(usual: u64) {
    let seeds = seeds(usual);
    let count = seeds.end - seeds.start;
    // Others may miss something by chance.
    let are_usual = seeds.start == 0 && count >= SEEDS;
    let mut reached = Reached::new();
    let mut failed = Vec::new();
    for seed in seeds {
        match outcome(&World::of(seed)) {
            Ok(run) => run.into_iter().for_each(|(what, times)| *reached.entry(what).or_default() += times),
            Err(_) => failed.push(seed),
        }
    }
    if let Some(&seed) = failed.first() {
        let (world, error) = shortest(World::of(seed));
        panic!(
            "{} of {count} seeds fail: {:?}. Seed {seed}, {error}\n{world:?}\nAgain: FLASHTWIN_SEED={seed} \
             FLASHTWIN_SEEDS=1 cargo test --release --config .cargo/test.toml -p flashtwin-live swarm",
            failed.len(),
            &failed[..failed.len().min(20)]
        );
    }
    if are_usual {
        let never: Vec<_> = reached.iter().filter(|(_, times)| **times == 0).collect();
        assert!(never.is_empty(), "what never happens is not tried: {never:?}");
    }
}

#[test]
fn a_drive_keeps_its_promises_whatever_comes_and_fails() {
    swarm(SEEDS);
}

/// A log that cannot be written ends writing under the reads of a check, while a copy of the page is made.
#[test]
fn a_drive_may_end_writing_while_it_is_checked() {
    let run = outcome(&World::of(171_164)).unwrap();
    assert!(run["drives that ended writing"] > 0, "the seed is another world now");
}

#[test]
#[ignore = "minutes"]
fn a_hundred_thousand_drives_keep_their_promises() {
    swarm(100_000);
}

#[test]
fn the_swarm_knows_every_system_that_can_be_served() {
    let served = |name: &&str| Plan::new(name, 64 << 20, &Default::default()).is_ok();
    let mut found: Vec<&str> = flashtwin_sim::system_names().into_iter().filter(served).collect();
    let mut known = SYSTEMS.to_vec();
    found.sort_unstable();
    known.sort_unstable();
    assert_eq!(found, known);
}

fn broken(omission: Omission, mut world: World, compare_duplicates: bool) -> Result<Reached, String> {
    let omission = Some(omission);
    world.options = DriveOptions { omission, compare_duplicates, ..DriveOptions::default() };
    outcome(&world)
}

/// Tests the test.
#[test]
fn the_swarm_finds_each_rule_that_is_broken_on_purpose() {
    for omission in [
        Omission::LogSync,
        Omission::DataSync,
        Omission::EraseBarrier,
        Omission::CountDownFirst,
        Omission::Tombstone,
        Omission::OrderedAsProgrammed,
        Omission::LostAsWhole,
    ] {
        let found = (0..SEEDS).find_map(|seed| broken(omission, World::of(seed), true).err());
        let found = found.unwrap_or_else(|| panic!("nobody saw {omission:?}"));
        // Data that the medium did not keep are an error, and never made up.
        assert!(!found.contains("WRONG") || omission != Omission::DataSync, "{found}");
    }
}

#[test]
fn pages_whose_digests_collide_keep_their_bytes() {
    let mut lost = 0;
    for seed in 0..SEEDS / 3 {
        let kept = broken(Omission::Collision, World::calm(seed), true);
        kept.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        lost += u32::from(broken(Omission::Collision, World::calm(seed), false).is_err());
    }
    assert!(lost > 0, "different pages were taken for equal and nobody saw");
}
