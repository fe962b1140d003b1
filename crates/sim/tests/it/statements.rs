//! Bounds and equalities between systems that hold for any trace, because of how the systems work.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use flashtwin_ftl::Rng;
use flashtwin_sim::{Resolved, Suspend};
use flashtwin_trace::{Op, Trace};
use serde_json::Value;

use crate::bench::{Bench, READ_ALL, column, read, replay, system_on, trace_of_pages, write};
use crate::drawn::random_trace;
use crate::relations::{Shape, UNIQUE, trace_at};

/// Eight chips of one die and one plane each, so that a plane is a chip.
const CHIPS: [u32; 6] = [4, 2, 1, 1, 200, 16];

struct Kind {
    name: &'static str,
    /// Mean time between requests. Eight chips serve a page read in 60 us and a program in 210 us each.
    mean_ns: u32,
    shape: Shape,
}

const STEADY: Shape = Shape {
    contents: 800,
    hot_percent: 80,
    read_percent: 70,
    most_pages: 1,
    together: 1,
    partial_percent: 0,
    trim_percent: 0,
    fill_ns: 300_000,
    ..UNIQUE
};

const KINDS: [Kind; 6] = [
    Kind { name: "steady", mean_ns: 30_000, shape: STEADY },
    Kind {
        name: "reads of few contents",
        mean_ns: 12_000,
        shape: Shape { contents: 60, read_percent: 95, ..STEADY },
    },
    Kind { name: "bursts", mean_ns: 40_000, shape: Shape { together: 40, read_percent: 90, ..STEADY } },
    Kind { name: "writes", mean_ns: 35_000, shape: Shape { read_percent: 20, contents: 1_500, ..STEADY } },
    Kind { name: "several pages", mean_ns: 100_000, shape: Shape { most_pages: 8, ..STEADY } },
    Kind {
        name: "no favourites",
        mean_ns: 25_000,
        shape: Shape { hot_percent: 0, contents: 20_000, ..STEADY },
    },
];

fn trace(kind: &Kind, requests: u32, seed: u64) -> Trace {
    trace_at(&mut Rng::stream(seed, kind.name), 2_000, &Shape { requests, ..kind.shape }, kind.mean_ns)
}

fn system(name: &str, sets: &[(&str, &str)]) -> Resolved {
    system_on(CHIPS, name, sets)
}

fn count(summary: &Value, group: &str, key: &str) -> u64 {
    summary[group][key].as_u64().unwrap()
}

fn mean_read_ns(summary: &Value) -> f64 {
    summary["response"]["read"]["mean_ns"].as_f64().unwrap()
}

const REPLICATING: [&str; 3] = ["rr-ssd", "rr-ssd-online", "pblru"];

const PERIOD: (&str, &str) = ("period_s", "0.1");

#[test]
fn copies_help_but_never_beat_reading_anywhere() {
    // The oracle knows present loads only, and may lose on a single trace. So all kinds are judged together, equally.
    let mut slower_than_oracle = [0.0; REPLICATING.len()];
    let mut slower_than_home = [0.0; REPLICATING.len()];
    let mut twins_slower_than_bound = 0.0;
    for (seed, kind) in (0..).zip(&KINDS) {
        let trace = trace(kind, 8_000, seed);
        let mean = |name, sets: &[(&str, &str)]| mean_read_ns(&replay(&trace, &system(name, sets)).summary);
        let (oracle, home) = (mean("oracle", &[PERIOD]), mean("ca-ssd", &[PERIOD]));
        for (at, name) in REPLICATING.into_iter().enumerate() {
            let found = mean(name, &[PERIOD, ("alpha", "1.0")]);
            slower_than_oracle[at] += (found / oracle).ln();
            slower_than_home[at] += (found / home).ln();
        }
        // Twins are read elsewhere as well. Merged reads need no read at all, so merging is off.
        let bound = mean("static", &[("redirection.policy", "any-chip")]);
        twins_slower_than_bound += (mean("ds-ftl", &[("merge_reads", "none")]) / bound).ln();
    }
    assert!(slower_than_oracle.iter().all(|&log| log >= 0.0), "logarithms: {slower_than_oracle:?}");
    assert!(slower_than_home.iter().all(|&log| log < 0.0), "logarithms: {slower_than_home:?}");
    assert!(twins_slower_than_bound >= 0.0, "logarithm: {twins_slower_than_bound}");
}

/// Each of `chips` chips serves one of these reads after the other.
fn mean_of_a_burst_ns(reads: u64, chips: u64) -> f64 {
    (1..=reads).map(|nth| nth.div_ceil(chips) * READ_ALL).sum::<u64>() as f64 / reads as f64
}

#[test]
fn read_burst_is_shared_by_the_chips_of_the_content() {
    const BURST: u64 = 60;
    let chips = 8;
    let writes = (0..100).map(|page| (page * 100_000, Op::Write, page as u64, Some(1)));
    // In the first period, a few reads that earn copies; in the second, all at once.
    let reads = (0..3).map(|nth| (50_000_000 + nth * 1_000_000, Op::Read, 0, None));
    let burst = (0..BURST).map(|_| (150_000_000, Op::Read, 0, None));
    let trace = trace_of_pages(writes.chain(reads).chain(burst));
    for (name, alone) in [("ca-ssd", Some(1)), ("oracle", Some(chips)), ("rr-ssd", None)] {
        // A channel for each chip, so that reads of different chips have nothing to wait for.
        let result = replay(&trace, &system_on([chips as u32, 1, 1, 1, 200, 16], name, &[PERIOD]));
        let copies = column(&result, "periods", "replica_pages")[0];
        let holding = alone.unwrap_or(1 + copies);
        assert!(alone.is_some() || (1 < holding && holding < chips), "{name}: {holding} chips show nothing");
        let means = result.table("periods").unwrap().column_by_name("read_mean_ns").unwrap().clone();
        let found = means.as_primitive::<Float64Type>().value(1);
        assert_eq!(found, mean_of_a_burst_ns(BURST, holding), "{name}: {holding} chips hold the content");
    }
}

#[test]
fn copies_in_deduplicated_space_need_no_extra_pages() {
    let mut copies = 0;
    for (seed, kind) in (10..).zip(&KINDS) {
        let trace = trace(kind, 4_000, seed);
        // Every page of these traces is written and none is trimmed.
        let summary = replay(&trace, &system("conventional", &[PERIOD])).summary;
        let conventional = count(&summary, "space", "pages_in_use_peak");
        assert_eq!(conventional, count(&summary, "trace", "footprint_pages"));
        for name in REPLICATING {
            for degree in ["popularity", "many-of-few", "few-of-many"] {
                let sets = [PERIOD, ("alpha", "0"), ("degree", degree)];
                let summary = replay(&trace, &system(name, &sets)).summary;
                let used = count(&summary, "space", "pages_in_use_peak");
                assert!(used <= conventional, "{}: {name} uses {used} of {conventional}", kind.name);
                copies += count(&summary, "replication", "copies");
            }
        }
    }
    assert!(copies > 10_000, "only {copies} copies: nothing could have gone wrong");
}

#[test]
fn all_replication_policies_stay_within_the_same_space() {
    let mut full = [0; 3];
    for (seed, kind) in (115..).zip(&KINDS) {
        let trace = trace(kind, 4_000, seed);
        for alpha in ["0", "0.1", "0.5"] {
            let budgets = REPLICATING.map(|name| {
                let sets = [("period_s", "0.02"), ("alpha", alpha), ("class_pages", "100")];
                let summary = replay(&trace, &system(name, &sets)).summary;
                let budget = count(&summary, "replication", "budget_pages");
                let used = count(&summary, "space", "pages_in_use_peak");
                assert!(used <= budget, "{}: {name} uses {used} of {budget}", kind.name);
                let at = REPLICATING.iter().position(|&other| other == name).unwrap();
                full[at] += u32::from(used == budget);
                budget
            });
            assert_eq!(budgets, [budgets[0]; 3], "{} {alpha}", kind.name);
        }
    }
    assert!(full.iter().all(|&times| times > 0), "the space was used up {full:?} times");
}

#[test]
fn no_chip_holds_a_content_twice() {
    // With a plane a chip, the redundancy of planes is that of chips.
    let mut copies = 0;
    for (seed, kind) in (20..).zip(&KINDS) {
        let trace = trace(kind, 4_000, seed);
        for name in REPLICATING.into_iter().chain(["ca-ssd", "ca-ssd-inverted"]) {
            let sets: &[_] =
                if REPLICATING.contains(&name) { &[PERIOD, ("alpha", "2.0")] } else { &[PERIOD] };
            let summary = replay(&trace, &system(name, sets)).summary;
            assert_eq!(summary["redundancy"]["plane_mean"], 0.0, "{}: {name}", kind.name);
            copies += summary["replication"]["copies"].as_u64().unwrap_or(0);
        }
    }
    assert!(copies > 5_000, "hardly a copy was made, {copies} in all");
}

#[test]
fn the_form_of_the_tables_changes_nothing_but_the_tables() {
    let kinds = (0..6).map(|kind| trace(&KINDS[kind], 4_000, 40 + kind as u64));
    let swarm = (0..20).map(|seed| random_trace(&mut Rng::stream(seed, "forms")));
    let mut collected = 0;
    for trace in kinds.chain(swarm) {
        for (entries, sampling) in
            [("unlimited", "1"), ("100", "1"), ("unlimited", "2"), ("3", "2"), ("20", "2")]
        {
            let [two_level, inverted] = ["ca-ssd", "ca-ssd-inverted"].map(|name| {
                let sets = [("fingerprint_entries", entries), ("sampling_pages", sampling)];
                let mut result = replay(&trace, &system_on([2, 2, 2, 1, 20, 16], name, &sets));
                collected += count(&result.summary, "flash_writes", "gc");
                for key in ["system", "config", "simulator"] {
                    result.summary[key] = Value::Null;
                }
                let ram = result.summary["ram"].take();
                (
                    result.summary,
                    result.tables,
                    ram["two_level_total_bytes"].clone(),
                    ram["inverted_total_bytes"].clone(),
                )
            });
            assert_eq!(two_level.0, inverted.0, "{}", trace.name);
            assert!(two_level.1 == inverted.1, "{}", trace.name);
            assert_eq!((two_level.2, two_level.3), (inverted.2, inverted.3), "{}", trace.name);
        }
    }
    assert!(collected > 500, "{collected} pages moved");
}

#[test]
fn reads_without_end_do_not_starve_an_erase() {
    // Page 0 is read twice as often as its die can serve. Writes to page 1 fill the die's other plane, so blocks are
    // erased. Each erase is suspended as often as the limit allows, for `reads` reads each time.
    let (times, reads) = (3u32, 5u32);
    let bench = Bench::new([1, 1, 1, 2, 8, 4]).holding(1).with(|bench| {
        bench.footprint = 2;
        bench.ftl.allocation.order = "PDWC".to_owned().try_into().unwrap();
        bench.engine.suspend = Suspend::Erase;
        (bench.engine.suspend_times, bench.engine.suspend_reads) = (times, reads);
        // Without a limit, writes themselves would wait for the end of the reads.
        bench.engine.reads_before_write = 2;
        // Collection goes ahead of the host; behind it, it would wait for the end of the reads, stopped or not.
        bench.ftl.gc.urgent = 7;
    });
    let mut asks: Vec<_> = (0..12_000).map(|nth| read(1 + nth * 30_000, 0)).collect();
    asks.extend((0..60).map(|nth| write(nth * 3_000_000, 1, nth as u32 % 8)));
    asks.sort_by_key(|ask| ask.time_ns);
    let outcome = bench.serve(&asks);
    let commands = &outcome.log.commands;
    let erases: Vec<usize> = (0..commands.len()).filter(|&at| commands[at].1 == "erase").collect();
    assert!(erases.len() > 5 && outcome.counts.pages.suspensions >= u64::from(times) * erases.len() as u64);
    // Suspend and resume times are those of the preset: 20 and 5 us.
    let bound_ns = 1_000_100 + u64::from(times) * (u64::from(reads) * READ_ALL + 20_000 + 5_000);
    for &at in &erases {
        let resumes = commands[at + 1..].iter().take_while(|command| command.1 != "erase");
        let resumes: Vec<u64> = resumes.filter(|command| command.1 == "resume").map(|c| c.0).collect();
        assert_eq!(resumes.len(), times as usize, "stopped and gone on again so often");
        let gone_on_ns = resumes[resumes.len() - 1];
        let over_ns = commands[at + 1..].iter().map(|c| c.0).find(|&ns| ns > gone_on_ns).unwrap();
        assert!(over_ns - commands[at].0 <= bound_ns, "{} ns", over_ns - commands[at].0);
    }
}

#[test]
fn periods_of_hours_to_weeks_end_by_the_trace_clock() {
    let hour_ns = 3_600_000_000_000;
    let mut rng = Rng::stream(60, "weeks");
    let writes = (0..200).map(|page: u32| (page.into(), Op::Write, page.into(), Some(page / 2)));
    // Ten reads an hour for 21 days, to other favourites every day.
    let reads =
        (0..21 * 24).flat_map(|hour: u32| (1..=10).map(move |nth: i64| (hour, nth))).map(|(hour, nth)| {
            let page = hour / 24 * 8 + rng.below(8);
            (i64::from(hour) * hour_ns + 1_000_000 * nth, Op::Read, page.into(), None)
        });
    let trace = trace_of_pages(writes.chain(reads));
    let mut before = 0.0;
    for (seconds, periods) in [("3600", 21 * 24), ("86400", 21), ("604800", 3)] {
        let sets = [("replay.period_s", seconds), ("alpha", "5.0"), ("adjust_every", "1")];
        let result = replay(&trace, &system("rr-ssd", &sets));
        let copies = column(&result, "periods", "copies");
        assert_eq!(copies.len(), periods, "periods of {seconds} s");
        assert_eq!(column(&result, "periods", "reads").iter().sum::<u64>(), 5_040);
        // With any period, every pass finds contents to copy, but the last period has none.
        assert_eq!(copies[periods - 1], 0);
        assert!(seconds == "3600" || copies[..periods - 1].iter().all(|&made| made > 0), "{copies:?}");
        assert_eq!(copies.iter().sum::<u64>(), count(&result.summary, "replication", "copies"));
        assert_eq!(count(&result.summary, "replication", "passes"), periods as u64 - 1);
        // Copies made from an older past serve fewer of the reads that follow.
        let served = count(&result.summary, "page_ops", "replicated_value_reads") as f64 / 5_040.0;
        assert!(before == 0.0 || served < before, "periods of {seconds} s: {served}, shorter ones {before}");
        before = served;
    }
}
