//! Invariants of random recipes.

use crate::common::Folder;
use flashtwin_trace::{Op, Recipe, synthesize, synthesize_parquet};

use super::{count, open};

struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A recipe of some thousand requests with any of the keys that go together.
fn any(seed: u64) -> String {
    let mut draw = Draw(seed);
    let count = 2_000 + draw.below(10_000);
    let writes = 5 + draw.below(90);
    let days = 1 + draw.below(4);
    let footprint = count / 5 + draw.below(count * 3 / 5);
    let sizes = draw.one_of(&["", "pages = [[1, 60.0], [3, 30.0], [8, 10.0]]", "pages = [[2, 100.0]]"]);
    let trains = draw.one_of(&[
        "",
        "[arrivals.trains]\nlengths = [[1, 30], [6, 80], [20, 100]]\ngaps_us = [[40, 80], [1000, 100]]\nmixed_percent = 10",
    ]);
    let space = match draw.below(3) {
        0 => format!("shared_percent = {}", draw.below(40)),
        _ => String::new(),
    };
    let of_writes = draw.one_of(&[
        "popularity = [[50.0, 35.0]]",
        "same_content_percent = 5.0",
        "locality = { percent = 90.0, within_values = 200 }",
        "reborn_percent = 1.0\nof_the_day_percent = 20.0",
        "read_before_percent = 3.0",
    ]);
    let of_reads = draw.one_of(&[
        "live_percent = 100.0",
        "live_percent = 40.0\nwritten_percent = 10.0",
        "of_the_day_percent = 20.0\nwritten_percent = 20.0",
        "unique_within = \"day\"\nrecurring_percent = 60.0",
        "unique_within = \"day\"\nrecurring_percent = 70.0\nrenewed_pages = 2",
        "unique_within = \"day\"\nrecurring_percent = 50.0\nrenewed_pages = 9\nunique_pages_percent = 75.0",
        "unique_within = \"day\"\nrecurring_percent = 80.0\nunique_pages_percent = 70.0\nlive_percent = 30.0",
    ]);
    let trace_days = match draw.below(3) {
        0 => format!("trace_days = {}", 1 + draw.below(9)),
        _ => String::new(),
    };
    format!(
        "name = \"any\"\ndescription = \"\"\n[requests]\ncount = {count}\nwrite_percent = {writes}.0\n\
         sequential_percent = {}.0\n{sizes}\n[arrivals]\ndays = {days}\nburst = 0.7\n{trace_days}\n{trains}\n\
         [addresses]\nfootprint_pages = {footprint}\noverwrite_skew = 0.4\n{space}\n\
         [writes]\nunique_percent = {}.0\n{of_writes}\n[reads]\nunique_percent = {}.0\n{of_reads}\n",
        draw.below(70),
        20 + draw.below(75),
        10 + draw.below(70),
    )
}

#[test]
fn any_recipe_makes_its_requests_and_reads_what_was_written() {
    let folder = Folder::new();
    let mut accepted = 0;
    for seed in 0..600 {
        let text = any(seed);
        let recipe = Recipe::parse("any.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let Ok(trace) = synthesize(&recipe, "any.toml", 1.0, seed, &()) else { continue };
        accepted += 1;
        let counted = count(&trace);
        assert_eq!((counted.wrong_reads, counted.steps_back), (0, 0), "{seed}\n{text}");
        let arrivals = &recipe.arrivals;
        let days = arrivals.trace_days.unwrap_or(arrivals.days);
        let share = trace.len() as f64 / recipe.requests.count as f64 * arrivals.days as f64 / days as f64;
        if days.is_multiple_of(arrivals.days) {
            assert_eq!(share, 1.0, "{seed}\n{text}");
        } else {
            assert!((share - 1.0).abs() < 0.2, "{seed}: {share}\n{text}");
        }
        if days == arrivals.days {
            let writes = trace.op.iter().filter(|&&op| op == Op::Write).count() as f64;
            let wanted = recipe.requests.count as f64 * recipe.requests.write_percent / 100.0;
            assert!((writes - wanted).abs() <= 1.0, "{seed}\n{text}");
            let unique = counted.values[1].len() as f64 / counted.pages[1] as f64 * 100.0;
            assert!((unique - recipe.writes.unique_percent.unwrap()).abs() < 0.1, "{seed}: {unique}\n{text}");
        }
        if seed % 20 == 0 {
            let path = folder.file("any.parquet");
            for threaded in [false, true] {
                synthesize_parquet(&recipe, "any.toml", (1.0, seed), &path, threaded, &()).unwrap();
                assert_eq!(open(&path).digest(), trace.digest(), "{seed}\n{text}");
            }
        }
    }
    // The others ask for the impossible, mostly more pages than requests reach.
    assert!(accepted > 200, "{accepted}");
}
