//! The history of a drive before the trace: closed forms, and its effect on results.

use flashtwin_ftl::Rng;
use flashtwin_sim::{Resolved, run};

use crate::bench::{Ask, page_trace, system_on, write};

/// One plane of 200 blocks of 64 pages, of which four fifths are in use.
const BLOCKS: u32 = 200;
const BLOCK_PAGES: u32 = 64;
const USED: u32 = BLOCKS * BLOCK_PAGES * 4 / 5;

fn drive(history: &str, victim: &str) -> Resolved {
    let sets = [
        ("preload", "footprint"),
        ("history", history),
        ("ftl.gc.victim", victim),
        ("ftl.gc.start", "0.013"),
        ("ftl.gc.stop", "0.013"),
        ("ftl.wear.policy", "none"),
    ];
    system_on([1, 1, 1, 1, BLOCKS, BLOCK_PAGES], "conventional", &sets)
}

fn uniform() -> Vec<Ask> {
    let mut rng = Rng::stream(7, "uniform");
    (0..USED).map(|at| write(i64::from(at) * 10_000_000, rng.below(USED), at)).collect()
}

fn amplification(history: &str, victim: &str) -> f64 {
    let result = run(&page_trace(&uniform(), USED, USED), &drive(history, victim), &()).unwrap();
    result.summary["write_amplification"].as_f64().unwrap()
}

/// A + W0(-A e^-A) by iteration: FIFO collection of uniform writes (Desnoyers, TOS 2014).
fn closed_form(a: f64) -> f64 {
    let valid = (0..300).fold(0.5, |valid: f64, _| (-a * (1.0 - valid)).exp());
    1.0 / (1.0 - valid)
}

#[test]
fn random_overwrites_amplify_like_the_closed_form() {
    // Three blocks are kept free, and one is open.
    let expected = closed_form(f64::from((BLOCKS - 4) * BLOCK_PAGES) / f64::from(USED));
    for history in ["", "in-order uniform(5)", "shuffled uniform(5)", "uniform(5)"] {
        let found = amplification(history, "fifo");
        assert!((found / expected - 1.0).abs() < 0.06, "'{history}': {found}, not {expected}");
    }
}

#[test]
fn filled_in_order_only_a_drive_has_less_to_move() {
    // The spare fifth takes the first writes: nothing is collected until it is full. The trace writes five fifths.
    let (fresh, used) = (amplification("in-order", "greedy"), amplification("in-order uniform(5)", "greedy"));
    assert!(fresh < 0.95 * used, "{fresh} {used}");
}

#[test]
fn history_depends_on_the_seed_alone() {
    let result = |seed: u64| {
        let mut resolved = drive("shuffled zipf(0.9,3)", "greedy");
        resolved.config.seed = seed;
        run(&page_trace(&uniform(), USED, USED), &resolved, &()).unwrap().summary["erases"].clone()
    };
    assert_eq!(result(1), result(1));
    assert_ne!(result(1), result(2));
}
