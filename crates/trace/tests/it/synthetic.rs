//! Synthetic workloads: each trace is counted by the plainest means and compared with its recipe.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::Folder;
use flashtwin_trace::{
    ErrorCause, NO_CONTENT, Op, OpenOptions, Progress, Recipe, Source, Trace, TraceBuilder, TraceError,
    Within, synthesize, synthesize_parquet, workload_names, workload_toml,
};

mod any;
mod contents;
mod days;
mod values;

fn recipe(name: &str) -> Recipe {
    Recipe::parse(name, workload_toml(name).unwrap()).unwrap()
}

fn made(name: &str, scale: f64, seed: u64) -> Trace {
    synthesize(&recipe(name), name, scale, seed, &()).unwrap()
}

fn parsed(text: &str) -> Result<Trace, TraceError> {
    Recipe::parse("mine.toml", text).and_then(|recipe| synthesize(&recipe, "mine.toml", 1.0, 0, &()))
}

#[derive(Default)]
struct Counted {
    pages: [u64; 2],
    values: [HashMap<u32, u64>; 2],
    footprint: HashSet<u64>,
    sequential: u64,
    same_content: u64,
    wrong_reads: u64,
    steps_back: u64,
}

fn count(trace: &Trace) -> Counted {
    let mut counted = Counted::default();
    let mut held = HashMap::new();
    let (mut end, mut time) = (u64::MAX, 0);
    for index in 0..trace.len() {
        let request = trace.request(index);
        counted.sequential += u64::from(request.offset_bytes == end);
        counted.steps_back += u64::from(request.time_ns < time);
        time = request.time_ns;
        end = request.offset_bytes + u64::from(request.length_bytes);
        let kind = usize::from(request.op == Op::Write);
        for (page, &value) in (request.offset_bytes / 4096..).zip(trace.contents(index)) {
            assert_ne!(value, NO_CONTENT);
            counted.pages[kind] += 1;
            *counted.values[kind].entry(value).or_insert(0) += 1;
            counted.footprint.insert(page);
            let before = held.insert(page, value);
            let same = before == Some(value);
            counted.same_content += u64::from(same && kind == 1);
            counted.wrong_reads += u64::from(kind == 0 && before.is_some() && !same);
        }
    }
    counted
}

/// Smallest share of the values that has this share of the accesses, in percent.
fn concentration(values: &HashMap<u32, u64>, percent: f64) -> f64 {
    let mut counts: Vec<u64> = values.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let needed = counts.iter().sum::<u64>() as f64 * percent / 100.0;
    let mut sum = 0;
    let last = counts.iter().position(|count| {
        sum += count;
        sum as f64 >= needed
    });
    (last.unwrap() + 1) as f64 / counts.len() as f64 * 100.0
}

fn near(what: &str, found: f64, wanted: f64, relative: f64) {
    assert!((found - wanted).abs() <= wanted.abs() * relative, "{what}: {found}, wanted {wanted}");
}

fn reads_by_day(trace: &Trace, recipe: &Recipe, scale: f64) -> Vec<Vec<u32>> {
    let day_ns = (recipe.arrivals.day_s * scale * 1e9) as i64;
    let mut days = vec![Vec::new(); recipe.arrivals.days as usize];
    for index in (0..trace.len()).filter(|&index| trace.op[index] == Op::Read) {
        let day = (trace.time_ns[index] / day_ns).min(days.len() as i64 - 1);
        days[day as usize].extend_from_slice(trace.contents(index));
    }
    days
}

fn daily_unique_reads(trace: &Trace, recipe: &Recipe, scale: f64) -> f64 {
    let days = reads_by_day(trace, recipe, scale);
    let share = |day: &Vec<u32>| day.iter().collect::<HashSet<_>>().len() as f64 / day.len() as f64 * 100.0;
    days.iter().map(share).sum::<f64>() / days.len() as f64
}

/// Checks every statistic that the generator controls; with `few` extents popularity is only roughly as asked.
fn follows_its_recipe(name: &str, scale: f64, few: bool) {
    let recipe = recipe(name);
    let trace = made(name, scale, 1);
    let counted = count(&trace);
    let requests = (recipe.requests.count as f64 * scale).round();
    assert_eq!(trace.len() as f64, requests, "{name}");
    assert_eq!((counted.wrong_reads, counted.steps_back), (0, 0), "{name}");
    let writes = trace.op.iter().filter(|&&op| op == Op::Write).count() as f64;
    assert!((writes - requests * recipe.requests.write_percent / 100.0).abs() <= 1.0, "{name}: {writes}");
    let footprint = (recipe.addresses.footprint_pages as f64 * scale).round();
    near(
        &format!("{name} footprint"),
        counted.footprint.len() as f64,
        footprint,
        if few { 0.04 } else { 0.01 },
    );
    let sequential = counted.sequential as f64 / requests * 100.0;
    near(
        &format!("{name} sequential"),
        sequential,
        recipe.requests.sequential_percent,
        if few { 0.06 } else { 0.04 },
    );
    let Some(unique) = recipe.writes.unique_percent else { return };
    let [values_read, values_written] = &counted.values;
    let share = |kind: usize| counted.values[kind].len() as f64 / counted.pages[kind] as f64 * 100.0;
    near(&format!("{name} unique writes"), share(1), unique, 0.001);
    // If all reads go to overwritten data, the recipe makes no claim about their values.
    if requests - writes > 5000.0 && recipe.reads.live_percent < 100.0 {
        let (of_reads, popularity) = match recipe.reads.unique_within {
            Within::Trace => (share(0), &recipe.reads.popularity[..]),
            Within::Day => (daily_unique_reads(&trace, &recipe, scale), &[][..]),
        };
        near(
            &format!("{name} unique reads"),
            of_reads,
            recipe.reads.unique_percent,
            match (few, recipe.requests.pages.len()) {
                (false, 1) => 0.03,
                // A day has a few dozen extents of its own.
                (true, 1) if recipe.reads.unique_within == Within::Day => 0.15,
                (true, 1) => 0.1,
                // Data written in runs of some sizes are read in requests of others, which cuts these short.
                _ => 0.4,
            },
        );
        for &(accesses, values) in popularity {
            near(
                &format!("{name} popular reads"),
                concentration(values_read, accesses),
                values,
                if few || recipe.requests.pages.len() > 1 { 0.4 } else { 0.1 },
            );
        }
    }
    for &(accesses, values) in &recipe.writes.popularity {
        near(&format!("{name} popular writes"), concentration(values_written, accesses), values, 0.03);
    }
    let same = counted.same_content as f64 / counted.pages[1] as f64 * 100.0;
    // Even without close repeats a popular value may still meet itself by chance.
    let more = same - recipe.writes.same_content_percent;
    assert!(
        more > -(if few { 0.07 } else { 0.05 }) * same && more < 0.2,
        "{name}: {same} % of writes bring what the page holds"
    );
}

#[test]
fn every_recipe_makes_what_it_says() {
    // The trace writes half of the data that it reads, and few requests are reads.
    follows_its_recipe("ca-ssd/homes", 0.1, true);
    for name in workload_names() {
        let requests = recipe(name).requests.count;
        follows_its_recipe(name, 40_000.0 / requests as f64, true);
    }
}

#[test]
#[ignore = "takes a minute"]
fn every_recipe_makes_what_it_says_at_length() {
    for name in workload_names() {
        let requests = recipe(name).requests.count;
        follows_its_recipe(name, (2_000_000.0 / requests as f64).min(1.0), false);
    }
}

#[test]
fn the_seed_and_nothing_else_makes_the_difference() {
    for name in ["rr-ssd/webvm", "ca-ssd/hm", "ds-ftl/webmail"] {
        let trace = made(name, 0.002, 7);
        assert_eq!(trace.digest(), made(name, 0.002, 7).digest(), "{name}");
        assert_ne!(trace.digest(), made(name, 0.002, 8).digest(), "{name}");
    }
    // Known bytes: a generator that changes must say so.
    for (name, known) in [
        ("rr-ssd/webvm", "cfd6fdbd33ab3a97d98b0314130fb444"),
        ("rr-ssd/hadoop", "d8e89e48dd3f6f559ab3a5a559bdd903"),
        ("ca-ssd/web", "efe3d8dfc413e1e73d53c1e3ded0f057"),
        ("ca-ssd/hm", "6e72813d4bb69b63bc437489de7a03f1"),
        ("ds-ftl/webmail", "c737a56e88c8e47cf6a84dba61e0e56a"),
    ] {
        assert_eq!(made(name, 0.001, 0).digest(), known, "{name}");
    }
}

fn open(path: &Path) -> Trace {
    Trace::open(&Source::File(path.to_owned()), &OpenOptions::default(), &()).unwrap()
}

#[test]
fn streamed_file_has_the_same_trace_with_any_threads() {
    let folder = Folder::new();
    let (recipe, scale) = (recipe("ca-ssd/hm"), 0.05);
    let paths = [folder.file("one.parquet"), folder.file("two.parquet")];
    for (path, threaded) in paths.iter().zip([false, true]) {
        let made = synthesize_parquet(&recipe, "hm", (scale, 3), path, threaded, &()).unwrap();
        assert_eq!(made, 555_500);
    }
    assert!(std::fs::read(&paths[0]).unwrap() == std::fs::read(&paths[1]).unwrap());
    let (read, whole) = (open(&paths[0]), made("ca-ssd/hm", scale, 3));
    assert_eq!(read.digest(), whole.digest());
    assert_eq!((read.volume_names, read.quality), (whole.volume_names, whole.quality));
}

struct Stop(AtomicU64);

impl Progress for Stop {
    fn update(&self, _done: u64, _total: u64) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[test]
fn a_cancelled_trace_leaves_no_file() {
    let folder = Folder::new();
    let path = folder.file("hm.parquet");
    for threaded in [false, true] {
        let stop = Stop(AtomicU64::new(2));
        let error =
            synthesize_parquet(&recipe("ca-ssd/hm"), "hm", (0.1, 0), &path, threaded, &stop).unwrap_err();
        assert_eq!(error.cause, ErrorCause::Cancelled);
        assert!(folder.names().is_empty());
    }
}

const SMALL: &str = r#"
name = "small"
description = "For tests."
[requests]
count = 20_000
write_percent = 60.0
sequential_percent = 50.0
[addresses]
footprint_pages = 9_000
[writes]
unique_percent = 40.0
popularity = [[50.0, 20.0]]
[reads]
unique_percent = 50.0
"#;

/// Error message of the small recipe after each change: fault, place and cure.
fn refused(cases: &[((&str, &str), &str, &str)]) {
    assert!(parsed(SMALL).is_ok());
    for ((from, to), cause, cure) in cases {
        assert!(SMALL.contains(from), "{from}");
        let message = parsed(&SMALL.replace(from, to)).unwrap_err().to_string();
        assert!(message.contains(cause) && message.contains(cure), "{message}\nlacks: {cause} | {cure}");
    }
}

#[test]
fn a_wrong_recipe_is_refused_with_place_cause_and_cure() {
    refused(&[
        (("count = 20_000", "cuont = 20_000"), "mine.toml:5:1: unknown field `cuont`", "docs/workloads.md"),
        (("count = 20_000", "count = \"many\""), "mine.toml:5:9: invalid type", "docs/workloads.md"),
        (("[requests]", "[requests"), "mine.toml:4:10: ", "docs/workloads.md"),
        (("= 60.0", "= 160.0"), "mine.toml: requests.write_percent is 160", "from 0 to 100"),
        (("unique_percent = 40.0\n", ""), "mine.toml: writes.unique_percent is missing", "writes.zipf"),
        (
            ("[50.0, 20.0]", "[90.0, 1.0]"),
            "mine.toml: writes.popularity says that 1 % of the values have 90 % of the accesses, which \
             writes.unique_percent rules out",
            "it is between 75",
        ),
        (
            ("= 9_000", "= 3_000"),
            "addresses.footprint_pages leaves no pages to write to",
            "at least 1001 more",
        ),
        (
            ("= 9_000", "= 90_000"),
            "addresses.footprint_pages is more than the requests reach",
            "at least 74000 less",
        ),
        (
            ("[addresses]", "pages = [[1, 60.0], [2, 30.0]]\n[addresses]"),
            "requests.pages has shares that sum up to 90",
            "sum up to 100",
        ),
        (
            ("[addresses]", "pages = [[0, 100.0]]\n[addresses]"),
            "requests.pages has a size of 0 pages",
            "from 1 to",
        ),
        (("[reads]", "[arrivals]\nburst = 1.5\n[reads]"), "arrivals.burst is 1.5", "from 0.5 to 0.99"),
        (("[reads]", "[reads]\nwritten_percent = 200.0"), "reads.written_percent is 200", "from 0 to 100"),
    ]);
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12] {
        let recipe = Recipe::parse("mine.toml", SMALL).unwrap();
        assert_eq!(synthesize(&recipe, "mine.toml", scale, 0, &()).unwrap_err().cause, ErrorCause::Argument);
    }
    // Its requests are allowed, and 32 bits do not number its contents.
    let recipe = Recipe::parse("mine.toml", SMALL).unwrap();
    let error = synthesize(&recipe, "mine.toml", 199_000.0, 0, &()).unwrap_err();
    assert!(error.to_string().contains("asks for 3980000000 page operations on 1791000000 pages"), "{error}");
}

#[test]
fn wrong_reads_of_days_are_refused_with_cause_and_cure() {
    refused(&[
        (
            ("[reads]", "[reads]\nrecurring_percent = 50.0"),
            "reads.recurring_percent is of days, and reads.unique_percent of the trace",
            "give reads.unique_within = \"day\"",
        ),
        (
            ("[reads]", "[reads]\nunique_within = \"day\"\nof_the_day_percent = 5.0"),
            "reads.of_the_day_percent says nothing where reads.unique_within is \"day\"",
            "reads.recurring_percent",
        ),
        (
            ("[reads]", "[reads]\nunique_within = \"day\"\nwritten_percent = 5.0"),
            "reads.written_percent asks for more values than are read on later days only",
            "give at most 0.0, or less of reads.recurring_percent",
        ),
        (
            ("[reads]", "[reads]\nunique_within = \"week\""),
            "mine.toml:14:17: unknown variant `week`, expected `trace` or `day`",
            "docs/workloads.md",
        ),
    ]);
}

/// A recipe whose requests come in trains, with these keys changed.
fn with_trains(changes: &[(&str, &str)]) -> String {
    let trains = "[arrivals]\ndays = 2\nburst = 0.7\n[arrivals.trains]\nlengths = [[1, 30], [4, 60], [40, 100]]\n\
                  gaps_us = [[30, 10], [60, 90], [1000, 100]]\njoined_percent = 20\nmixed_percent = 10\n[reads]";
    changes.iter().fold(SMALL.replace("[reads]", trains), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

#[test]
fn wrong_trains_are_refused_with_the_key_and_what_is_possible() {
    assert!(parsed(&with_trains(&[])).is_ok());
    let cases = [
        (("[40, 100]", "[40, 90]"), "arrivals.trains.lengths does not end at 100 percent", "with 100"),
        (("[4, 60]", "[4, 20]"), "arrivals.trains.lengths has points that do not rise", "above those before"),
        (("[1, 30]", "[0, 30]"), "arrivals.trains.lengths is 0", "from 1 to"),
        (("[60, 90]", "[2000, 90]"), "arrivals.trains.gaps_us is 2000", "from 0 to 1000"),
        (("= 10\n[reads]", "= 90\n[reads]"), "arrivals.trains.mixed_percent is 90", "from 0 to 69.99"),
        (
            ("joined_percent = 20", "joined_percent = 70"),
            "arrivals.trains.joined_percent is 70",
            "give fewer",
        ),
        (
            ("sequential_percent = 50.0", "sequential_percent = 95.0"),
            "requests.sequential_percent asks for",
            "are possible",
        ),
        (("days = 2", "days = 1\nday_s = 4.0"), "arrivals.trains last ", "give longer trains"),
        (("gaps_us", "gaps_ms"), "unknown field `gaps_ms`", "docs/workloads.md"),
    ];
    for (change, cause, cure) in cases {
        let message = parsed(&with_trains(&[change])).unwrap_err().to_string();
        assert!(message.contains(cause) && message.contains(cure), "{message}\nlacks: {cause} | {cure}");
    }
}

/// A train as an analysis finds it: requests within a millisecond of the one before.
struct Train {
    requests: usize,
    reads: usize,
    /// Whether it begins where the train before ended, with the same operation.
    joined: bool,
    writes_first: bool,
}

fn trains(trace: &Trace) -> Vec<Train> {
    let mut trains: Vec<Train> = Vec::new();
    let mut end = u64::MAX;
    for index in 0..trace.len() {
        let request = trace.request(index);
        let read = request.op == Op::Read;
        let goes_on = index > 0 && request.time_ns - trace.time_ns[index - 1] <= 1_000_000;
        match trains.last_mut() {
            Some(train) if goes_on => {
                train.writes_first &= read || trace.op[index - 1] == Op::Write;
                train.requests += 1;
                train.reads += usize::from(read);
            }
            _ => {
                let joined = index > 0 && request.offset_bytes == end && request.op == trace.op[index - 1];
                trains.push(Train { requests: 1, reads: usize::from(read), joined, writes_first: true });
            }
        }
        end = request.offset_bytes + u64::from(request.length_bytes);
    }
    trains
}

#[test]
fn requests_come_in_the_trains_that_the_recipe_says() {
    let sizes = "pages = [[1, 50.0], [3, 50.0]]\n[addresses]";
    let zipf =
        ("unique_percent = 40.0\npopularity = [[50.0, 20.0]]", "zipf = { exponent = 0.8, values = 100 }");
    let variants: [&[(&str, &str)]; 4] = [
        &[("= 20_000", "= 200_000"), ("= 9_000", "= 90_000")],
        &[("= 20_000", "= 200_000"), ("= 9_000", "= 150_000"), ("[addresses]", sizes)],
        &[
            ("= 20_000", "= 200_000"),
            ("= 9_000", "= 90_000"),
            ("write_percent = 60.0", "write_percent = 95.0"),
        ],
        &[("= 20_000", "= 200_000"), ("= 9_000", "= 90_000"), zipf, ("[reads]\nunique_percent = 50.0\n", "")],
    ];
    for changes in variants {
        let text = with_trains(changes);
        let trace = parsed(&text).unwrap();
        let counted = count(&trace);
        assert_eq!((trace.len(), counted.wrong_reads, counted.steps_back), (200_000, 0, 0));
        let trains = trains(&trace);
        let share = |wanted: &dyn Fn(&Train) -> bool| {
            trains.iter().filter(|train| wanted(train)).count() as f64 / trains.len() as f64 * 100.0
        };
        near("trains of one", share(&|train| train.requests == 1), 30.0, 0.03);
        near("trains of up to four", share(&|train| train.requests <= 4), 60.0, 0.02);
        near("mixed", share(&|train| (1..train.requests).contains(&train.reads)), 10.0, 0.12);
        near("joined", share(&|train| train.joined), 20.0, 0.12);
        assert!(trains.iter().filter(|train| !train.writes_first).count() * 100 < trains.len());
        near(&format!("{changes:?} sequential"), counted.sequential as f64 / 2_000.0, 50.0, 0.03);
        let writes = trace.op.iter().filter(|&&op| op == Op::Write).count() as f64 / 2_000.0;
        assert!((writes - if text.contains("= 95.0") { 95.0 } else { 60.0 }).abs() < 1e-9, "{writes}");
    }
}

#[test]
fn each_day_reads_new_values_and_many_of_the_day_before() {
    for (unique, recurring) in [(80.0, 70.0), (40.0, 0.0), (60.0, 95.0)] {
        let text = with_trains(&[
            ("= 20_000", "= 200_000"),
            ("= 9_000", "= 110_000"),
            ("days = 2", "days = 5"),
            ("unique_percent = 50.0", &format!("unique_percent = {unique}\nwritten_percent = 10.0")),
            ("[reads]", &format!("[reads]\nunique_within = \"day\"\nrecurring_percent = {recurring}")),
        ]);
        let recipe = Recipe::parse("days", &text).unwrap();
        let trace = synthesize(&recipe, "days", 1.0, 0, &()).unwrap();
        assert_eq!(count(&trace).wrong_reads, 0);
        near("unique in a day", daily_unique_reads(&trace, &recipe, 1.0), unique, 0.04);
        let days = reads_by_day(&trace, &recipe, 1.0);
        for pair in days.windows(2) {
            let before: HashMap<u32, usize> =
                pair[0].iter().enumerate().map(|(at, &value)| (value, at)).collect();
            let again: Vec<usize> = pair[1].iter().filter_map(|value| before.get(value)).copied().collect();
            let share = again.len() as f64 / pair[1].len() as f64 * 100.0;
            assert!((share - recurring).abs() < 5.0, "{unique} {recurring}: {share}");
            // In the order of the day before, as far as values that are read once on both days tell.
            let once = |day: &[u32]| {
                let mut times = HashMap::new();
                day.iter().for_each(|&value| *times.entry(value).or_insert(0) += 1);
                day.iter().copied().filter(|value| times[value] == 1).collect::<Vec<u32>>()
            };
            let (first, second) = (once(&pair[0]), once(&pair[1]));
            let place: HashMap<u32, usize> =
                first.iter().enumerate().map(|(at, &value)| (value, at)).collect();
            let places: Vec<usize> = second.iter().filter_map(|value| place.get(value)).copied().collect();
            let steps_back = places.windows(2).filter(|two| two[0] > two[1]).count();
            assert!(
                places.len() < 100 || steps_back * 25 <= places.len(),
                "{steps_back} of {}",
                places.len()
            );
        }
    }
}

#[test]
fn every_recipe_can_be_made_very_small_or_of_one_kind() {
    for name in workload_names() {
        for requests in [1.0, 2.0, 17.0, 300.0] {
            let recipe = recipe(name);
            let scale = requests / recipe.requests.count as f64;
            // Too small for its own numbers is an error, never a panic.
            if let Ok(trace) = synthesize(&recipe, name, scale, 0, &()) {
                assert_eq!(trace.len() as f64, requests, "{name}");
                assert_eq!(count(&trace).wrong_reads, 0, "{name}");
            }
        }
    }
    for (percent, footprint) in [("0.0", "10_000"), ("100.0", "9_000")] {
        let text =
            SMALL.replace("= 60.0", &format!("= {percent}")).replace("= 9_000", &format!("= {footprint}"));
        assert_eq!(parsed(&text).unwrap().len(), 20_000);
    }
}

#[test]
fn regular_flushes_change_no_other_request() {
    let plain = made("rr-ssd/webvm", 0.002, 3);
    for every in [1, 8, 1_000_000] {
        let mut recipe = recipe("rr-ssd/webvm");
        recipe.requests.writes_per_flush = Some(every);
        let flushed = synthesize(&recipe, "mine.toml", 0.002, 3, &()).unwrap();
        let mut writes = 0;
        let mut rest = TraceBuilder::new(&plain.name);
        for row in 0..flushed.len() {
            let request = flushed.request(row);
            if request.op == Op::Flush {
                assert!(writes % every == 0 && flushed.op[row - 1] == Op::Write, "{every}");
                assert_eq!(flushed.time_ns[row - 1], request.time_ns);
                continue;
            }
            writes += u64::from(request.op == Op::Write);
            rest.push(request, flushed.contents(row));
        }
        assert_eq!((flushed.len() - plain.len()) as u64, writes / every);
        assert_eq!(rest.build().unwrap().digest(), plain.digest());
    }
    let mut recipe = recipe("rr-ssd/webvm");
    recipe.requests.writes_per_flush = Some(0);
    let error = synthesize(&recipe, "mine.toml", 1.0, 1, &()).unwrap_err().to_string();
    assert!(error.contains("requests.writes_per_flush is 0"), "{error}");
}
