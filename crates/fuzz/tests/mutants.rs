//! Mutants of every target's seeds, the same ones in every run. `FLASHTWIN_SEED` and `FLASHTWIN_MUTANTS` ask for others.

#![allow(clippy::print_stdout, reason = "the study `reliability` states what was tried")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use flashtwin_bits::SplitMix64;
use flashtwin_fuzz::{ALL, Target, mutant};

fn asked(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn withstands(target: &Target, mutants: u64) {
    let seeds = (target.seeds)();
    for seed in &seeds {
        (target.run)(seed);
    }
    let begin = asked("FLASHTWIN_SEED", 0);
    let mutants = asked("FLASHTWIN_MUTANTS", mutants);
    for number in begin..begin + mutants {
        let bytes = mutant(&seeds, &mut SplitMix64(number));
        let done = catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes)));
        assert!(done.is_ok(), "mutant {number} of {}: {bytes:?}", target.name);
    }
    println!("counted {mutants} mutants");
}

#[test]
fn no_mutant_of_any_input_breaks_its_reader() {
    std::thread::scope(|scope| {
        for target in &ALL {
            scope.spawn(|| withstands(target, 200));
        }
    });
}

#[test]
#[ignore = "minutes"]
fn a_hundred_thousand_mutants_of_each() {
    std::thread::scope(|scope| {
        for target in &ALL {
            scope.spawn(|| withstands(target, 100_000));
        }
    });
}
