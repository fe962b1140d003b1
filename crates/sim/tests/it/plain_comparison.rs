//! The engine and the controller beside the plain simulator of `plain_drive`: every response time and every count must
//! be the same, to the nanosecond.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use flashtwin_ftl::allocation::AllocationPolicy;
use flashtwin_ftl::idle::IdlePolicy;
use flashtwin_ftl::{Rng, WearPolicy};
use flashtwin_nand::NandConfig;
use flashtwin_sim::{Concurrency, Recording, RequestsTo, Resolved, WriteCompletes, run_following};
use flashtwin_trace::{ContentSource, Op, PageTrace, Trace, TraceBuilder};

use crate::bench::{Levels, NEW, figure, nand, pick, seeds, system_on, system_with};
use crate::plain_drive::{Drive, NEVER};
use crate::plain_parts::{Counts, Rules, System};
use crate::relations::{Shape, UNIQUE, trace_at};

const COMPLETES: [WriteCompletes; 4] = [
    WriteCompletes::Programmed,
    WriteCompletes::Transferred,
    WriteCompletes::Hashed,
    WriteCompletes::Buffered,
];

/// A drive to begin with: two planes a die most often, with times that seldom coincide or often do.
fn device(rng: &mut Rng) -> NandConfig {
    let planes = pick(rng, &[1, 2, 2, 2]);
    let levels: Levels =
        [1 + rng.below(3), 1 + rng.below(2), 1 + rng.below(2), planes, 12 + rng.below(40), 4 + rng.below(13)];
    NandConfig {
        read_us: pick(rng, &[50.0, 61.003]),
        program_us: pick(rng, &[200.0, 407.009]),
        erase_us: pick(rng, &[1_000.0, 3_800.007]),
        ..nand(levels)
    }
}

fn order(rng: &mut Rng) -> String {
    let mut levels = vec!['C', 'W', 'D', 'P'];
    (0..4).map(|_| levels.swap_remove(rng.below(levels.len() as u32) as usize)).collect()
}

fn rules(rng: &mut Rng, order: String, resolved: &Resolved) -> Rules {
    let device = &resolved.config.nand;
    Rules {
        system: System::Conventional,
        hash_ns: 0,
        hash_lanes: 0,
        period_ns: NEVER,
        levels: [device.channels, device.chips_per_channel, device.dies_per_chip, device.planes_per_die]
            .map(|count| count as usize),
        blocks_per_plane: device.blocks_per_plane as usize,
        pages_per_block: device.pages_per_block as usize,
        timing: resolved.device.timing.clone(),
        concurrency: pick(rng, &[Concurrency::Die, Concurrency::Die, Concurrency::Chip, Concurrency::Plane]),
        order,
        dynamic_allocation: rng.below(2) == 0,
        least_loaded: false,
        dynamic_wear: rng.below(2) == 0,
        start_blocks: 0,
        stop_blocks: 0,
        urgent_blocks: pick(rng, &[1, 1, 2, 3]),
        step_pages: pick(rng, &[0, 1, 3, 8, 64]),
        batch_ns: 0,
        idle_blocks: None,
        idle_valid_pages: 0,
        idle_ns: pick(rng, &[0, 1_000_000, 100_000]),
        write_completes: pick(rng, &COMPLETES),
        write_buffer_pages: pick(rng, &[0, 3, 40]),
        reads_before_write: pick(rng, &[0, 0, 1, 4]),
        ram_ns: pick(rng, &[9_000, 9_000, 40_001]),
        ram_spread_ns: pick(rng, &[0, 0, 3_000]),
        seed: resolved.config.seed,
        is_protected: rng.below(2) == 0,
        read_cache_pages: pick(&mut rng.clone(), &[0, 0, 5, 40]),
    }
}

/// When a write is answered, as the rules have it.
fn answer_by(rules: &Rules, resolved: &mut Resolved) {
    let engine = &mut resolved.config.engine;
    engine.write_completes = rules.write_completes;
    engine.write_buffer_pages = rules.write_buffer_pages as u32;
    engine.write_cache_us = rules.ram_ns as f64 / 1000.0;
    engine.write_cache_spread_us = rules.ram_spread_ns as f64 / 1000.0;
    engine.write_cache_protected = rules.is_protected;
    engine.read_cache_pages = rules.read_cache_pages as u32;
}

/// The rules of a drive. Shares of blocks are whole percent, so that the plain drive rounds without floats.
fn drawn(rng: &mut Rng, device: NandConfig) -> (Rules, Resolved) {
    let order = order(rng);
    let sets = [NEW[0], NEW[1], ("allocation.order", &order)];
    let mut resolved = system_with(device, "conventional", &sets);
    let mut rules = rules(rng, order, &resolved);
    let (start, stop) = (pick(rng, &[5, 5, 10, 15]), pick(rng, &[5, 5, 20, 30]));
    let reserve = pick(rng, &[8, 15, 30]);
    let share = |percent: usize| (percent * rules.blocks_per_plane).div_ceil(100);
    rules.start_blocks = share(start).max(rules.urgent_blocks + 1);
    rules.stop_blocks = share(stop).max(rules.start_blocks + 1);
    rules.idle_blocks = Some(share(reserve)).filter(|_| rng.below(2) == 0);
    let valid = pick(rng, &[50, 75, 99]);
    rules.idle_valid_pages = valid * rules.pages_per_block / 100;
    let (ftl, engine) = (&mut resolved.config.ftl, &mut resolved.config.engine);
    let percent = |percent: usize| percent as f64 / 100.0;
    ftl.allocation.policy = match rules.dynamic_allocation {
        true => AllocationPolicy::Dynamic,
        false => AllocationPolicy::Static,
    };
    ftl.wear.policy = if rules.dynamic_wear { WearPolicy::Dynamic } else { WearPolicy::None };
    (ftl.gc.start, ftl.gc.stop, ftl.gc.idle_reserve) = (percent(start), percent(stop), percent(reserve));
    (ftl.gc.urgent, ftl.gc.step_pages) = (rules.urgent_blocks as u32, rules.step_pages as u32);
    ftl.gc.idle_valid = percent(valid);
    ftl.gc.idle = if rules.idle_blocks.is_some() { IdlePolicy::Reserve } else { IdlePolicy::None };
    engine.concurrency = rules.concurrency;
    engine.idle_us = rules.idle_ns as f64 / 1000.0;
    engine.reads_before_write = rules.reads_before_write;
    if rules.idle_blocks.is_none() {
        rules.batch_ns = pick(rng, &[0, 2_000_000, 15_000_001]);
        engine.collection_batch_us = rules.batch_ns as f64 / 1000.0;
    }
    answer_by(&rules, &mut resolved);
    (rules, resolved)
}

/// All pages are written first; then requests of one to four pages, a part of them in bursts. `skewed`: 80 % of the
/// requests go to a fifth of the pages.
fn trace(rng: &mut Rng, footprint: u32, skewed: bool, mean_ns: u64) -> Trace {
    let mut builder = TraceBuilder::new("plain collection");
    let mut now = 0;
    for page in 0..footprint {
        now += mean_ns as i64;
        builder.request(now, Op::Write, u64::from(page) * 4096, 4096, &[]);
    }
    let (reads, trims) = (rng.below(70), pick(rng, &[0, 0, 4]));
    let together = pick(rng, &[1, 1, 10]);
    for request in 0..2 * footprint.max(600) {
        if request % together == 0 {
            now += (rng.next_u64() % (2 * mean_ns * u64::from(together))) as i64;
        }
        // Now and then the drive is left alone.
        if rng.below(400) == 0 {
            now += 20_000_000;
        }
        let pages = pick(rng, &[1, 1, 2, 4]);
        let within = if skewed && rng.below(10) < 8 { footprint / 5 } else { footprint };
        let page = rng.below(within - pages);
        let op = match rng.below(100) {
            kind if kind < reads => Op::Read,
            kind if kind < reads + trims => Op::Trim,
            _ => Op::Write,
        };
        builder.request(now, op, u64::from(page) * 4096, pages * 4096, &[]);
    }
    builder.build().unwrap()
}

/// A trace by whose speed the drive's units are busy for about this share of the time, in percent, and the plain drive
/// that has served it.
fn served(rng: &Rng, rules: &Rules, footprint: u32, skewed: bool, percent: u64) -> (PageTrace, Drive) {
    let mut mean_ns = 20 * rules.timing.program_ns / rules.planes() as u64;
    let mut tries = 0;
    loop {
        let trace = trace(&mut rng.clone(), footprint, skewed, mean_ns);
        let pages = PageTrace::build(&trace, 4096, ContentSource::None).unwrap();
        let mut drive = Drive::new(rules, footprint as usize);
        drive.serve(&pages);
        let busy = drive.busy_percent();
        tries += 1;
        // How much there is to do hardly depends on the speed. No drive is busy for more than all of the time.
        if busy.abs_diff(percent) <= percent / 10 || tries == 5 || (tries == 2 && percent > 100) {
            return (pages, drive);
        }
        mean_ns = (mean_ns * busy / percent).max(1);
    }
}

fn engine(pages: &PageTrace, resolved: &Resolved, figures: &Counts) -> (Counts, Vec<Option<u64>>) {
    let recording = Recording { requests: RequestsTo::Memory, ..Recording::default() };
    let result = run_following(pages, resolved, &(), &recording, None).unwrap();
    let count = |path: &str| figure(&result.summary, path).as_u64().unwrap_or(0);
    let host = ["host", "unique", "missed_duplicate", "reborn"];
    let counts = figures.keys().map(|&figure| match figure {
        "flash_writes.host" => {
            (figure, host.map(|cause| count(&format!("flash_writes.{cause}"))).iter().sum())
        }
        figure => (figure, count(figure)),
    });
    let table = result.requests.as_ref().unwrap().read().unwrap();
    let column = |name: &str| table.column_by_name(name).unwrap().as_primitive::<UInt64Type>().clone();
    let (request, response) = (column("request"), column("response_ns"));
    let mut responses = vec![None; pages.columns.requests()];
    for (request, response) in request.iter().zip(response.iter()) {
        responses[request.unwrap() as usize] = response;
    }
    (counts.collect(), responses)
}

fn compare(seed: u64, resolved: &Resolved, pages: &PageTrace, plain: &Drive) {
    let (counts, responses) = engine(pages, resolved, &plain.counts);
    if let Some(at) = (0..responses.len()).find(|&at| responses[at] != plain.responses[at]) {
        panic!(
            "seed {seed}: request {at} of {} took {:?} and not {:?}; {counts:?} and {:?}; {:?}",
            responses.len(),
            responses[at],
            plain.responses[at],
            plain.counts,
            plain.rules
        );
    }
    assert_eq!(counts, plain.counts, "seed {seed}: {:?}", plain.rules);
}

fn footprint(rules: &Rules, percent: usize) -> u32 {
    let held = rules.planes() * (rules.blocks_per_plane - 4) * rules.pages_per_block;
    (held * percent / 100) as u32
}

fn compare_collection(seeds: Range<u64>) -> (Counts, usize, usize) {
    let (mut seen, mut calm, mut busy) = (Counts::new(), 0, 0);
    for seed in seeds {
        let mut rng = Rng::stream(seed, "plain collection");
        let device = device(&mut rng);
        let (rules, resolved) = drawn(&mut rng, device);
        let footprint = footprint(&rules, pick(&mut rng, &[60, 80, 90, 97]));
        let (skewed, percent) = (rng.below(2) == 0, pick(&mut rng, &[5, 15, 30, 45, 55, 60, 130]));
        let (pages, plain) = served(&rng, &rules, footprint, skewed, percent);
        compare(seed, &resolved, &pages, &plain);
        calm += usize::from((3..45).contains(&plain.busy_percent()));
        busy += usize::from((45..70).contains(&plain.busy_percent()));
        plain.counts.iter().for_each(|(figure, count)| *seen.entry(figure).or_default() += count);
    }
    (seen, calm, busy)
}

#[test]
fn every_time_and_count_is_that_of_the_plain_drive() {
    let (seen, calm, busy) = compare_collection(0..25);
    assert!(
        calm > 8 && busy > 5,
        "{calm} drives were busy for less than 45 % of the time, {busy} for 45 to 70 %"
    );
    let never = ["replication.copies"];
    let seldom = seen.iter().find(|(figure, count)| **count <= 10 && !never.contains(figure));
    assert_eq!(seldom, None, "something hardly happened: {seen:?}");
    assert!(seen["flash_writes.gc"] > seen["flash_writes.host"] / 2, "collection hardly hurts: {seen:?}");
}

#[test]
#[ignore = "a minute"]
fn hundred_drives_that_collect_match_the_plain_drive() {
    compare_collection(seeds(100));
}

#[test]
fn skewed_writes_on_two_planes_match_the_plain_drive() {
    for seed in 0..8 {
        let mut rng = Rng::stream(seed, "where it hurts");
        let device = NandConfig { program_us: 400.0, erase_us: 3_800.0, ..nand([2, 2, 1, 2, 100, 16]) };
        let (rules, resolved) = drawn(&mut rng, device);
        let footprint = footprint(&rules, pick(&mut rng, &[80, 88]));
        let (pages, plain) = served(&rng, &rules, footprint, true, 55);
        compare(seed, &resolved, &pages, &plain);
        let busy = plain.busy_percent();
        assert!((45..70).contains(&busy), "seed {seed}: {busy} % busy");
        let (host, moved) = (plain.counts["flash_writes.host"], plain.counts["flash_writes.gc"]);
        assert!(moved > host / 5, "seed {seed}: {moved} of {host} moved");
    }
}

/// Few contents on few pages, so that reads, copies and duplicates meet.
fn content_trace(rng: &mut Rng) -> Trace {
    let (read_percent, contents) = (30 + rng.below(60), 10 + rng.below(300));
    let whole = Shape { trim_percent: 0, partial_percent: 0, ..UNIQUE };
    let shape =
        Shape { read_percent, contents, requests: 2_500, flush_percent: 12, durable_percent: 10, ..whole };
    let (pages, mean_ns) = (20 + rng.below(200), pick(rng, &[8_000, 30_000, 90_000]));
    trace_at(rng, pages, &shape, mean_ns)
}

fn without_collection(
    rng: &mut Rng,
    system: System,
    least_loaded: bool,
    hash_lanes: usize,
) -> (Rules, Resolved) {
    let name = match system {
        System::Conventional => "conventional",
        System::CaSsd => "ca-ssd",
        System::RrSsd => "rr-ssd",
        System::Oracle => "oracle",
    };
    let lanes = hash_lanes.to_string();
    let sets = [
        ("ftl.allocation.policy", if least_loaded { "least-loaded" } else { "dynamic" }),
        ("hash_lanes", &lanes),
        ("period_s", "0.02"),
        ("replication.alpha", "100"),
        ("replication.placement", "static"),
        ("replication.adjust_every", "1000000"),
    ];
    let used = sets.into_iter().filter(|(key, _)| !key.starts_with("replication") || system == System::RrSsd);
    let mut resolved = system_on([3, 2, 1, 2, 900, 16], name, &used.collect::<Vec<_>>());
    resolved.config.engine.concurrency = Concurrency::Chip;
    let order = resolved.json()["ftl"]["allocation"]["order"].as_str().unwrap().to_owned();
    let rules = Rules {
        system,
        hash_ns: 12_000,
        hash_lanes,
        period_ns: 20_000_000,
        concurrency: Concurrency::Chip,
        dynamic_allocation: true,
        least_loaded,
        reads_before_write: 0,
        ..rules(rng, order, &resolved)
    };
    answer_by(&rules, &mut resolved);
    (rules, resolved)
}

#[test]
fn systems_that_look_at_contents_match_the_plain_drive() {
    let systems = [System::Conventional, System::CaSsd, System::RrSsd, System::Oracle];
    let mut copies = 0;
    for seed in 0..48 {
        let mut rng = Rng::stream(seed, "plain");
        let pages = PageTrace::build(&content_trace(&mut rng), 4096, ContentSource::Recorded).unwrap();
        let lanes = 1 + rng.below(3) as usize;
        for (least_loaded, system) in
            [false, true].into_iter().flat_map(|rule| systems.map(|system| (rule, system)))
        {
            let (rules, resolved) = without_collection(&mut rng, system, least_loaded, lanes);
            let mut plain = Drive::new(&rules, pages.outline.pages() as usize);
            plain.serve(&pages);
            compare(seed, &resolved, &pages, &plain);
            copies += plain.counts["replication.copies"];
        }
    }
    assert!(copies > 5_000, "hardly a copy was made: {copies}");
}
