//! Other days than a recipe's: its first ones, and weeks that go on.

use std::collections::HashSet;

use flashtwin_trace::{Op, Recipe, Trace, synthesize};

use super::{SMALL, count, near, reads_by_day, recipe, with_trains};

fn of_days(recipe: &Recipe, days: u64, scale: f64) -> Trace {
    let mut recipe = recipe.clone();
    recipe.arrivals.trace_days = Some(days);
    synthesize(&recipe, "mine.toml", scale, 2, &()).unwrap()
}

fn begins_with(trace: &Trace, first: &Trace) -> bool {
    let same = |index: usize| {
        trace.request(index) == first.request(index) && trace.contents(index) == first.contents(index)
    };
    trace.len() >= first.len() && (0..first.len()).all(same)
}

#[test]
fn other_days_begin_as_the_recipe_does() {
    for (name, scale) in
        [("rr-ssd/webvm", 0.004), ("rr-ssd/homes", 0.004), ("ca-ssd/hm", 0.001), ("ds-ftl/webmail", 0.001)]
    {
        let recipe = recipe(name);
        let days = recipe.arrivals.days;
        let whole = synthesize(&recipe, "mine.toml", scale, 2, &()).unwrap();
        assert_eq!(of_days(&recipe, days, scale).digest(), whole.digest(), "{name}");
        let twice = of_days(&recipe, 2 * days, scale);
        assert!(begins_with(&twice, &whole), "{name}");
        assert_eq!(twice.len(), 2 * whole.len(), "{name}");
        assert!(begins_with(&of_days(&recipe, 3 * days, scale), &twice), "{name}");
        for some in [1, 3, days - 1, days + 1] {
            let part = of_days(&recipe, some, scale);
            assert!(begins_with(&twice, &part), "{name}");
            let expected = (whole.len() as u64 * some / days) as usize;
            assert!(part.len().abs_diff(expected) < expected / 20 + 200, "{name} {some}: {}", part.len());
        }
        let counted = count(&twice);
        assert_eq!((counted.wrong_reads, counted.steps_back), (0, 0), "{name}");
    }
}

#[test]
fn recurring_reads_go_on_into_further_weeks() {
    let scale = 0.02;
    for (name, recurring) in [("rr-ssd/webvm", 79.0), ("rr-ssd/hadoop", 91.1), ("rr-ssd/desktop", 44.2)] {
        let mut recipe = recipe(name);
        recipe.arrivals.trace_days = Some(21);
        let trace = synthesize(&recipe, name, scale, 0, &()).unwrap();
        recipe.arrivals.days = 21;
        let days = reads_by_day(&trace, &recipe, scale);
        let mut known: HashSet<u32> = days[0].iter().copied().collect();
        // In each of three weeks, the first day of which follows the last one of the week before.
        for week in [1..7, 7..14, 14..21] {
            let (mut reads, mut again, mut new) = (0, 0, 0);
            for day in week.clone() {
                let before: HashSet<u32> = days[day - 1].iter().copied().collect();
                reads += days[day].len();
                again += days[day].iter().filter(|value| before.contains(value)).count();
                new += days[day].iter().filter(|&&value| known.insert(value)).count();
            }
            let share = |part: usize| part as f64 / reads as f64 * 100.0;
            assert!((share(again) - recurring).abs() < 2.0, "{name} {week:?}: {}", share(again));
            let expected = (100.0 - recurring) * recipe.reads.unique_percent / 100.0;
            assert!((share(new) - expected).abs() < 2.0, "{name} {week:?}: {} {expected}", share(new));
        }
    }
}

#[test]
fn each_week_writes_as_the_first_on_the_same_pages() {
    let text = with_trains(&[("= 20_000", "= 60_000"), ("= 9_000", "= 27_000")])
        .replace("[reads]", "[reads]\nwritten_percent = 20.0");
    for text in [text, SMALL.replace("[reads]", "[arrivals]\ndays = 2\n[reads]\nwritten_percent = 20.0")] {
        let recipe = Recipe::parse("mine", &text).unwrap();
        let trace = of_days(&recipe, 6, 1.0);
        let week = trace.len() / 3;
        assert_eq!(week as u64, recipe.requests.count);
        let (mut seen, mut pages) = (HashSet::new(), HashSet::new());
        for from in [0, week, 2 * week] {
            let writes: Vec<usize> =
                (from..from + week).filter(|&index| trace.op[index] == Op::Write).collect();
            near("writes", writes.len() as f64, week as f64 * 0.6, 0.001);
            let values: HashSet<u32> = writes.iter().map(|&index| trace.contents(index)[0]).collect();
            near("unique", values.len() as f64, writes.len() as f64 * 0.4, 0.001);
            assert!(values.iter().all(|value| seen.insert(*value)), "values are new");
            let written: HashSet<u64> = writes.iter().map(|&index| trace.offset_bytes[index]).collect();
            if from > 0 {
                let known = written.intersection(&pages).count() as f64 / written.len() as f64;
                assert!(known > 0.8, "{known}");
            }
            pages.extend(written);
        }
    }
}

#[test]
fn days_that_cannot_be_are_refused() {
    let text = SMALL.replace("= 20_000", "= 200_000").replace("= 9_000", "= 90_000");
    for (days, cause, cure) in [
        (0, "arrivals.trace_days is 0", "from 1 to"),
        // Pages and values have numbers of 32 bits.
        (90_000, "arrivals.trace_days asks for 90000 times as much", "give at most 21474 times"),
    ] {
        let mut recipe = Recipe::parse("mine.toml", &text).unwrap();
        recipe.arrivals.trace_days = Some(days);
        let message = synthesize(&recipe, "mine.toml", 1.0, 0, &()).unwrap_err().to_string();
        assert!(message.contains(cause) && message.contains(cure), "{message}");
    }
}

/// Of a day's reads the share of values that were read the day before, and how often that changes from a read to the next.
fn recurring(days: &[Vec<u32>], day: usize) -> (f64, f64) {
    let before: HashSet<u32> = days[day - 1].iter().copied().collect();
    let again: Vec<bool> = days[day].iter().map(|value| before.contains(value)).collect();
    let share = |count: usize| count as f64 / again.len() as f64;
    let changes = again.windows(2).filter(|pair| pair[0] != pair[1]).count();
    (share(again.iter().filter(|&&again| again).count()), share(changes))
}

#[test]
fn pages_are_renewed_one_by_one_or_by_extents_and_in_place() {
    // Runs of `homes` have 3.4 pages in the mean, so that without the key its reads change in one of three at most.
    let (name, scale) = ("rr-ssd/homes", 0.02);
    let (mut shares, mut changes) = (Vec::new(), Vec::new());
    for renewed in [None, Some(4096), Some(1)] {
        let mut recipe = recipe(name);
        recipe.reads.renewed_pages = renewed;
        let trace = synthesize(&recipe, name, scale, 0, &()).unwrap();
        let counted = count(&trace);
        assert_eq!((counted.wrong_reads, counted.steps_back), (0, 0), "{renewed:?}");
        let unique = counted.values[1].len() as f64 / counted.pages[1] as f64;
        near("unique writes", unique * 100.0, recipe.writes.unique_percent.unwrap(), 0.001);
        let days = reads_by_day(&trace, &recipe, scale);
        let found: Vec<(f64, f64)> = (1..7).map(|day| recurring(&days, day)).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
        shares.push(mean(|of| of.0));
        changes.push(mean(|of| of.1));
        let pages = trace.op.iter().zip(trace.offset_bytes.iter()).filter(|(op, _)| **op == Op::Read);
        let distinct = pages.map(|(_, offset)| offset).collect::<HashSet<_>>().len() as f64;
        let of_a_day = days[0].iter().collect::<HashSet<_>>().len() as f64;
        // New extents lie elsewhere: as many of a day's as do not recur, on each of six days.
        let new = if renewed.is_none() { 1.0 - mean(|of| of.0) } else { 0.0 };
        near("pages read", distinct / of_a_day, 1.0 + new * 6.0, 0.06);
    }
    // Values written before lie among those that recur, so that their share is a little above the recipe's.
    let f = shares[0];
    assert!((0.62..0.66).contains(&f), "{f}");
    near("extents in place", shares[1], f, 0.06);
    near("pages in place", shares[2], f, 0.06);
    near("page by page", changes[2], 2.0 * f * (1.0 - f), 0.08);
    assert!(changes[0] < 0.2 && changes[1] < 0.2, "{changes:?}");
}
