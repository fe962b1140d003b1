//! Random systems, devices, engines and traces through the public `run`, with verification.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use flashtwin_ftl::allocation::AllocationPolicy;
use flashtwin_ftl::dedup::{EvictionPolicy, OutOfLinePolicy, TableKind};
use flashtwin_ftl::idle::IdlePolicy;
use flashtwin_ftl::partition::Isolation;
use flashtwin_ftl::redirection::RedirectionPolicy;
use flashtwin_ftl::replication::degree::DegreePolicy;
use flashtwin_ftl::replication::placement::{Equals, PlacementPolicy, ScorePopularity, ScoreTies};
use flashtwin_ftl::spread::{PlacePolicy, SpreadConfig, SpreadPolicy};
use flashtwin_ftl::victim::VictimPolicy;
use flashtwin_ftl::{
    CacheBytes, Entries, Ftl, FtlConfig, Mapping, PartitionPolicy, ReplicationPolicy, Rng, WearPolicy,
};
use flashtwin_sim::{
    Concurrency, Config, EngineConfig, Flush, LoadMeasure, MergeReads, Mirror, MultiPlane, PartialWrite,
    Preload, Resolved, RunResult, Suspend, WriteCompletes, resolve, run,
};
use flashtwin_trace::{ContentSource, NO_STREAM, Op, PageTrace, Trace};
use serde_json::Value;

use crate::bench::{column, figure, nand, pick, swarm_seeds};
use crate::drawn::{self, spaced_trace};
use crate::relations::free_deduplication_changes_nothing;
use crate::traces::same_in_windows;

fn random_engine(rng: &mut Rng) -> EngineConfig {
    use WriteCompletes::{Buffered, Hashed, Programmed, Transferred};
    let mut engine = EngineConfig {
        concurrency: pick(rng, &[Concurrency::Chip, Concurrency::Die, Concurrency::Plane]),
        load: pick(rng, &[LoadMeasure::QueueLength, LoadMeasure::ReadsWaiting, LoadMeasure::ExpectedWait]),
        write_completes: pick(rng, &[Programmed, Transferred, Hashed, Buffered]),
        reads_before_write: pick(rng, &[0, 1, 5]),
        merge_reads: pick(rng, &[MergeReads::None, MergeReads::SamePage, MergeReads::SameContent]),
        buffer_reads: rng.below(3) > 0,
        suspend: pick(rng, &[Suspend::None, Suspend::Erase, Suspend::ProgramErase]),
        suspend_us: pick(rng, &[0.0, 20.0]),
        suspend_slice_us: pick(rng, &[0.0, 70.0]),
        resume_us: pick(rng, &[0.0, 5.0]),
        suspend_times: pick(rng, &[0, 1, 4]),
        suspend_reads: pick(rng, &[1, 16]),
        idle_us: pick(rng, &[0.0, 0.0, 50.0, 5000.0]),
        controller_us: pick(rng, &drawn::CONTROLLER_US),
        hash_us: pick(rng, &[0.0, 12.0, 300.0]),
        hash_lanes: pick(rng, &[0, 1, 2, 7]),
        flush: pick(rng, &[Flush::None, Flush::Writes, Flush::Writes]),
        write_cache_protected: rng.below(3) == 0,
        ..EngineConfig::default()
    };
    // Some settings exclude each other.
    if engine.concurrency != Concurrency::Plane {
        engine.multi_plane = pick(rng, &[MultiPlane::None, MultiPlane::SamePage, MultiPlane::AnyPage]);
    }
    engine
}

fn random_cache(rng: &mut Rng, engine: &mut EngineConfig) {
    engine.write_buffer_pages = pick(rng, &[0, 1, 20]);
    engine.read_cache_pages = pick(&mut rng.clone(), &[0, 0, 3, 40]);
    (engine.write_cache_us, engine.write_cache_spread_us) =
        pick(rng, &[(0.0, 0.0), (0.0, 2.0), (9.0, 0.0), (9.0, 2.0)]);
    if !engine.answers_from_ram() {
        engine.write_cache_pages = pick(rng, &[0, 1, 5, 40, 10_000]);
        engine.write_cache_dirty = pick(rng, &[0.01, 0.5, 1.0]);
    }
    // No drive has free writes.
    if engine.answers_from_ram() && engine.controller_us == 0.0 {
        engine.write_cache_us = 9.0;
    }
}

fn random_dedup(rng: &mut Rng, ftl: &mut FtlConfig) {
    ftl.dedup.sampling_pages = pick(rng, &[1, 1, 2, 32]);
    if ftl.replication.policy == ReplicationPolicy::None && rng.below(3) == 0 {
        ftl.dedup.tables = TableKind::Inverted;
        return;
    }
    ftl.dedup.eviction = pick(rng, &EvictionPolicy::ALL);
    ftl.dedup.out_of_line = pick(rng, &[OutOfLinePolicy::None, OutOfLinePolicy::Unhashed]);
}

fn random_tables(rng: &mut Rng, ftl: &mut FtlConfig) {
    if ftl.dedup.tables == TableKind::TwoLevel && rng.below(2) == 0 {
        let [one, few, many] = [1, 2, 9].map(|count| CacheBytes::Limited(count * 4096));
        ftl.mapping_cache.bytes = pick(rng, &[one, few, many, CacheBytes::Unlimited]);
        ftl.mapping_cache.checkpoint_s = pick(rng, &[0.0, 0.0, 0.000_4, 0.02]);
        let is_on = ftl.mapping_cache.bytes != CacheBytes::Unlimited || ftl.mapping_cache.checkpoint_s > 0.0;
        ftl.mapping_cache.fingerprints = is_on && ftl.mapping == Mapping::Content && rng.below(2) == 0;
    }
}

fn random_spread(rng: &mut Rng) -> SpreadConfig {
    SpreadConfig {
        policy: SpreadPolicy::Duplicates,
        bloom_bits_per_page: pick(rng, &[1, 3, 10]),
        bloom_hashes: pick(rng, &[1, 7]),
        bloom_rebuild: pick(rng, &[0.1, 0.5, 1.0]),
        verify: rng.below(4) > 0,
        candidates: pick(rng, &[1, 2, 16]),
        own_copy_counts: rng.below(3) > 0,
        place: pick(rng, &PlacePolicy::ALL),
        count_written: rng.below(2) == 0,
    }
}

fn random_replay(rng: &mut Rng, config: &mut Config) {
    config.replay.queue_depth = pick(rng, &[0, 0, 1, 4, 64]);
    config.replay.speed = pick(rng, &[1.0, 0.3, 50.0]);
    config.replay.period_s = pick(rng, &[1.0, 0.001, 0.01]);
    config.replay.preload = pick(rng, &[Preload::FirstReads, Preload::Footprint, Preload::None]);
    config.replay.partial_write = pick(rng, &[PartialWrite::ReadModifyWrite, PartialWrite::Ignore]);
}

pub(crate) fn random_run(seed: u64, purpose: &str) -> (Rng, PageTrace, Resolved) {
    let mut rng = Rng::stream(seed, purpose);
    let spacing = pick(&mut rng, &drawn::SPACINGS);
    let trace = spaced_trace(&mut rng, spacing);
    let (pages, resolved) = random_system(&mut rng, &trace);
    (rng, pages, resolved)
}

/// On a device that the trace fills more or less.
pub(crate) fn random_system(rng: &mut Rng, trace: &Trace) -> (PageTrace, Resolved) {
    let mut resolved = resolve("conventional", &[]).unwrap();
    let config = &mut resolved.config;
    (config.verify, config.seed) = (true, rng.next_u64());
    config.engine = random_engine(rng);
    random_cache(rng, &mut config.engine);
    let ftl = &mut config.ftl;
    if rng.below(4) > 0 {
        ftl.mapping = Mapping::Content;
        ftl.dedup.fingerprint_entries = pick(rng, &[Entries::Unlimited, Entries::Limited(4)]);
        ftl.replication.policy = pick(rng, &ReplicationPolicy::ALL);
        random_dedup(rng, ftl);
    }
    ftl.replication.alpha = pick(rng, &[0.0, 0.2, 5.0]);
    ftl.replication.adjust_every = 1 + rng.below(3);
    ftl.replication.class_pages = pick(rng, &[1, 8, 4096]);
    ftl.replication.degree = pick(rng, &DegreePolicy::ALL);
    ftl.replication.placement = pick(rng, &PlacementPolicy::ALL);
    ftl.allocation.policy = pick(rng, &AllocationPolicy::ALL);
    ftl.allocation.hipa_sample_us = pick(rng, &[0.001, 100.0, 1e9]);
    ftl.allocation.stripe_pages = pick(rng, &[1, 1, 5, 1000]);
    ftl.redirection.policy = pick(rng, &RedirectionPolicy::ALL);
    ftl.gc.victim = pick(rng, &VictimPolicy::ALL);
    (ftl.gc.start, ftl.gc.urgent) = (pick(rng, &[0.0, 0.05, 0.6]), pick(rng, &[1, 1, 9]));
    ftl.gc.step_pages = pick(rng, &[1, 0, 8, 8, 100, 100]);
    (ftl.gc.idle, ftl.gc.idle_reserve) = (pick(rng, &IdlePolicy::ALL), pick(rng, &[0.0, 0.3, 0.9]));
    ftl.gc.idle_valid = pick(rng, &[0.1, 0.75, 0.99]);
    if ftl.mapping == Mapping::Page && rng.below(2) == 0 {
        ftl.spread = random_spread(rng);
    }
    ftl.background.jobs = pick(rng, &[1, 5, 4096]);
    let [none, offline, filters, others @ ..] = PartitionPolicy::ALL;
    ftl.partition.policy = pick(rng, &[none, offline, filters]);
    // Draws of their own, so that the others stay as they are.
    let mut handles = Rng::stream(rng.clone().next_u64(), "handles");
    if ftl.partition.policy == offline && handles.below(4) == 0 {
        ftl.partition.policy = pick(&mut handles, &others);
    }
    ftl.partition.isolation = pick(&mut handles, &Isolation::ALL);
    if ftl.partition.policy.is_told() {
        ftl.partition.partitions = pick(rng, &[1, 2, 3, 6]);
        let starts = (1..ftl.partition.partitions).map(|at| (at * 40_960).to_string());
        ftl.partition.ranges = starts.collect::<Vec<_>>().join(",");
        let starts = (1..ftl.partition.partitions).map(|at| (at * 6_000).to_string());
        ftl.partition.sizes = starts.collect::<Vec<_>>().join(",");
    }
    let mut trace = trace.clone();
    if ftl.partition.policy == PartitionPolicy::Streams {
        let stream = |_| pick(&mut handles, &[0, 1, 2, 5, 300, NO_STREAM]);
        trace.stream = Arc::new((0..trace.len()).map(stream).collect());
    }
    ftl.wear.policy = pick(rng, &WearPolicy::ALL);
    (ftl.wear.threshold, ftl.wear.every) = (pick(rng, &[1, 16]), pick(rng, &[1, 7]));
    let streams = ftl.streams();
    random_tables(&mut Rng::stream(rng.next_u64(), "tables"), ftl);
    let needs_contents = ftl.looks_at_contents();
    random_replay(rng, config);
    let source = match needs_contents {
        false => pick(rng, &[ContentSource::None, ContentSource::Recorded]),
        true => {
            let zipf = "zipf(1,40)".parse().unwrap();
            pick(rng, &[ContentSource::Recorded, ContentSource::Unique, ContentSource::SameAsAddress, zipf])
        }
    };
    let pages = PageTrace::build(&trace, 4096, source).unwrap();
    let levels = [1 + rng.below(3), 1 + rng.below(3), 1 + rng.below(2), 1 + rng.below(2)];
    let pages_per_block = 1 + rng.below(8);
    let planes: u32 = levels.iter().product();
    // The least number of blocks that holds the footprint, or a few more.
    let least = (pages.outline.footprint_pages() + 1).div_ceil(planes * pages_per_block) + streams + 1;
    let mut blocks = least + pick(rng, &[0, 1, 12]);
    let [channels, chips, dies, planes] = levels;
    config.nand = nand([channels, chips, dies, planes, blocks, pages_per_block]);
    drawn::random_units(&mut Rng::stream(config.seed, "units"), config);
    drawn::random_front(&mut Rng::stream(config.seed, "front"), config);
    let replication = &mut config.ftl.replication;
    replication.score_popularity = pick(rng, &ScorePopularity::ALL);
    replication.score_ties = pick(rng, &ScoreTies::ALL);
    replication.equals = pick(rng, &Equals::ALL);
    replication.copies_per_read = pick(rng, &[1.0, 0.5]);
    replication.most_copies = pick(rng, &[256, 3]);
    replication.least_popularity = pick(rng, &[1, 2]).min((channels * chips).max(2) - 1);
    while !holds_the_footprint(&pages, config) {
        blocks += 1;
        config.nand.blocks_per_plane = blocks;
    }
    config.ftl.check(&config.nand.resolve().unwrap().geometry).unwrap();
    resolved.device = resolved.config.nand.resolve().unwrap();
    (pages, resolved)
}

/// Whether there is room for the footprint beside the mapping tables.
fn holds_the_footprint(pages: &PageTrace, config: &Config) -> bool {
    let geometry = config.nand.resolve().unwrap().geometry;
    let footprint = pages.outline.footprint_pages();
    if config.nand.blocks_per_plane < config.ftl.reserved_blocks(&geometry) + 1 {
        return false;
    }
    let mut ftl = Ftl::new(&config.ftl, &geometry, pages.outline.pages(), pages.outline.content_count, 1);
    let capacity = ftl.lay_out_tables(&config.ftl, &pages.outline.lpn_address);
    u64::from(footprint) <= capacity.min(Ftl::capacity_pages(&config.ftl, &geometry))
}

pub(crate) fn number(summary: &Value, path: &str) -> u64 {
    let value = figure(summary, path);
    value.as_u64().unwrap_or_else(|| panic!("{path} is {value}"))
}

fn check(trace: &PageTrace, resolved: &Resolved, result: &RunResult) {
    let summary = &result.summary;
    let n = |path: &str| number(summary, path);
    assert_eq!(n("requests.completed"), trace.columns.requests() as u64);
    let page_ops = n("page_ops.read") + n("page_ops.write") + n("page_ops.trim");
    assert_eq!(page_ops, trace.columns.page_ops() as u64);
    // Every page reaches the controller or is absorbed by the write cache.
    assert_eq!(n("host_pages_written"), n("page_ops.write"));
    // A page on its way to the flash is read from RAM, or waited for.
    let never = if resolved.config.engine.buffer_reads { "awaited_reads" } else { "buffer_reads" };
    assert_eq!(summary["page_ops"][never], 0, "{never}");
    let commands = n("page_ops.multi_plane_commands");
    let planes = u64::from(resolved.device.geometry.planes_per_die);
    assert!((2 * commands..=planes * commands).contains(&n("page_ops.multi_plane_ops")));
    for kind in ["read", "write", "flush", "all"] {
        check_response(&summary["response"][kind]);
    }
    assert_eq!(n("response.read.count"), n("requests.read"));
    assert_eq!(n("response.write.count"), n("requests.write"));
    assert_eq!(n("response.flush.count"), n("requests.flush"));
    if resolved.config.ftl.mapping == Mapping::Content {
        assert_eq!(n("page_ops.pages_hashed"), n("dedup.hashes_inline"));
    }
    // Operations by cause sum to the operations of the flash.
    let reads = summary["flash_reads"].as_object().unwrap();
    let reads: u64 = reads.values().map(|cause| cause.as_u64().unwrap()).sum();
    let carried_out = ["reads", "programs", "erases"].map(|what| n(&format!("flash_operations.{what}")));
    assert_eq!(carried_out, [reads, n("pages_programmed"), n("erases.total")]);
    assert!(n("flash_operations.reads_with_others") <= carried_out[0]);
    assert_eq!(n("medium_bytes_written"), 4096 * n("pages_programmed"));
    let passes = n("replication.passes") > 0;
    assert!(!passes || resolved.config.ftl.replication.policy == ReplicationPolicy::EndOfPeriod);
    let causes = summary["flash_writes"].as_object().unwrap();
    let sum: u64 = causes.values().map(|cause| cause.as_u64().unwrap()).sum();
    assert_eq!(sum, n("pages_programmed"));
    check_tables(summary, result);
    check_mapping_cache(summary, resolved.config.ftl.mapping_cache.fingerprints);
    let chips = u64::from(resolved.device.geometry.chips());
    let mapping = resolved.config.ftl.mapping;
    if mapping == Mapping::Content && resolved.config.ftl.replication.alpha == 0.0 {
        let (peak, footprint) = (n("space.pages_in_use_peak"), n("trace.footprint_pages"));
        assert!(peak <= footprint, "{peak} pages in use of {footprint}");
    }
    let copies = result.table("copies").unwrap().column_by_name("copies").unwrap().clone();
    let most = copies.as_primitive::<arrow_array::types::UInt32Type>().values().iter().max().copied();
    assert!(u64::from(most.unwrap_or(0)) <= chips);
    for share in ["channel_mean", "chip_mean"] {
        let share = summary["utilisation"][share].as_f64().unwrap_or(0.0);
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}

fn check_response(response: &Value) {
    let Some(mean) = response["mean_ns"].as_f64() else {
        assert_eq!(response["count"], 0);
        return;
    };
    let split = response["split"].as_object().unwrap();
    let sum: f64 = split.values().map(|part| part.as_f64().unwrap()).sum();
    assert!((sum - mean).abs() <= 1e-9 * mean.max(1.0), "split {sum}, mean {mean}");
    let at = |key: &str| response[key].as_u64().unwrap();
    let ordered = ["p50_ns", "p90_ns", "p95_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"].map(at);
    assert!(ordered.is_sorted(), "{ordered:?}");
    assert!(at("min_ns") as f64 <= mean + 0.5 && mean <= at("max_ns") as f64 + 0.5);
}

fn number_or_none(summary: &Value, path: &str) -> u64 {
    figure(summary, path).as_u64().unwrap_or(0)
}

/// Every page of the mapping tables written has one reason.
fn check_mapping_cache(summary: &Value, fingerprints: bool) {
    let n = |path: &str| number_or_none(&summary["mapping_cache"], path);
    let written = number(summary, "flash_writes.metadata");
    assert_eq!(written, n("written_back") + n("gc_updates") + n("checkpointed") + n("moved"));
    assert!(number(summary, "flash_reads.metadata") <= n("misses") + n("gc_updates") + n("moved"));
    assert!(n("pages_cached") <= n("pages") && n("pages_on_flash") <= n("pages"));
    assert!(n("pages_dirty") <= n("pages_cached") && n("pages_on_flash") <= written + n("pages"));
    // A write may wait before it is hashed and after it.
    let times = if fingerprints { 2 } else { 1 };
    let most = number(summary, "page_ops.read") + times * number(summary, "page_ops.write");
    assert!(n("waits") <= most);
}

fn check_tables(summary: &Value, result: &RunResult) {
    let n = |path: &str| number(summary, path);
    let flash_writes = &summary["flash_writes"];
    let host: u64 = ["host", "unique", "missed_duplicate", "reborn"]
        .iter()
        .map(|cause| flash_writes[cause].as_u64().unwrap())
        .sum();
    for (table, name, total) in [
        ("chips", "reads", n("flash_reads.host")),
        ("chips", "programs", host),
        ("chips", "erases", n("erases.total")),
        ("chips", "redirected_reads", n("page_ops.redirected_reads")),
        ("planes", "valid_pages", n("space.pages_in_use")),
        ("periods", "redirected_writes", n("page_ops.redirected_writes")),
        ("periods", "merged_reads", n("page_ops.merged_reads")),
        ("chips", "valid_pages", n("space.pages_in_use")),
        ("chips", "replica_pages", n("replication.replica_pages")),
        ("periods", "reads", n("requests.read")),
        ("periods", "writes", n("requests.write")),
        ("periods", "flushes", n("requests.flush")),
        ("periods", "page_reads", n("page_ops.read")),
        ("periods", "buffer_reads", n("page_ops.buffer_reads")),
        ("periods", "host_programs", host),
        ("periods", "gc_programs", n("flash_writes.gc")),
        ("periods", "replica_programs", n("flash_writes.replica")),
        ("periods", "wear_programs", n("flash_writes.wear_levelling")),
        ("periods", "erases", n("erases.total")),
        ("periods", "copies", n("replication.copies")),
        ("blocks", "blocks", n("erases.blocks")),
    ] {
        assert_eq!(column(result, table, name).iter().sum::<u64>(), total, "{table}.{name}");
    }
    let counted: u64 = column(result, "latency_histogram", "count").iter().sum();
    assert_eq!(counted, 2 * n("response.all.count") + n("response.flush.count"));
}

fn check_repeats(trace: &PageTrace, resolved: &Resolved, first: &RunResult) {
    let second = run(trace, resolved, &()).unwrap();
    assert_eq!(first.summary.to_string(), second.summary.to_string());
    assert!(first.tables == second.tables);
}

/// How often the swarm must reach a mechanism, over all its seeds, before its checks can be said to have tried it.
const OFTEN: u64 = 50;

const SEEDS: u64 = 500;

/// One run in so many is related to another by a rule; to which, its seed decides.
const RELATED_ONE_IN: u64 = 8;

#[test]
fn any_system_completes_and_accounts_for_any_trace() {
    swarm(SEEDS);
}

/// A host's page was gathered for an erase to come before the last page that the erase waits for.
#[test]
fn an_erase_may_wait_for_a_page_that_is_being_read() {
    let (_, pages, resolved) = random_run(63_306, "sim swarm");
    assert_eq!(resolved.device.geometry.program_pages, 3, "the seed is another system now");
    check(&pages, &resolved, &run(&pages, &resolved, &()).unwrap());
}

#[test]
#[ignore = "an hour"]
fn a_hundred_thousand_systems_complete_and_account() {
    swarm(100_000);
}

fn swarm(usual: u64) {
    let (seeds, mut failed) = (swarm_seeds(usual), Vec::new());
    let count = seeds.end - seeds.start;
    // Others may miss something by chance.
    let are_usual = seeds.start == 0 && count >= SEEDS;
    let mut reached: Vec<_> = drawn::MECHANISMS.split_whitespace().map(|mechanism| (mechanism, 0)).collect();
    for seed in seeds {
        let (mut rng, pages, mut resolved) = random_run(seed, "sim swarm");
        let replay = &mut resolved.config.replay;
        if replay.queue_depth == 0 && replay.queue_limit == 0 && seed.is_multiple_of(2) {
            replay.mirror = Mirror::Conventional;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let result = run(&pages, &resolved, &()).unwrap();
            check(&pages, &resolved, &result);
            match seed % RELATED_ONE_IN {
                0 => check_repeats(&pages, &resolved, &result),
                1 => same_in_windows(&pages, &resolved, &[1 + rng.below(50) as usize], "cut"),
                _ => {}
            }
            if pages.outline.content_source == ContentSource::Unique {
                free_deduplication_changes_nothing(&pages, resolved.clone());
            }
            result.summary
        }));
        match outcome {
            Ok(summary) => reached.iter_mut().for_each(|(path, sum)| *sum += number_or_none(&summary, path)),
            Err(_) => failed.push((seed, resolved.json(), pages.outline.content_source)),
        }
    }
    let first = failed.first();
    assert!(first.is_none(), "{} of {count} seeds fail, the first: {first:?}", failed.len());
    if !are_usual {
        return;
    }
    let seldom: Vec<_> = reached.iter().filter(|(_, times)| *times <= OFTEN).collect();
    assert!(seldom.is_empty(), "reached at most {OFTEN} times: {seldom:?}");
}

/// Copies and fingerprints that wait for idle time depend on when there is some.
fn without_idle_time(resolved: &mut Resolved) {
    // Which pages leave the write cache, and when, depends on the times of requests.
    resolved.config.engine.write_cache_pages = 0;
    resolved.config.ftl.gc.idle = IdlePolicy::None;
    resolved.config.ftl.dedup.out_of_line = OutOfLinePolicy::None;
    resolved.config.ftl.mapping_cache.checkpoint_s = 0.0;
    let policy = &mut resolved.config.ftl.replication.policy;
    if *policy != ReplicationPolicy::None && !policy.copies_at_period_ends() {
        *policy = ReplicationPolicy::EndOfPeriod;
    }
}

/// Writes are decided in the order in which they come, unless one of them waits for its old page or for
/// its tables.
fn without_detours(resolved: &mut Resolved) {
    resolved.config.replay.partial_write = PartialWrite::Ignore;
    let cache = &mut resolved.config.ftl.mapping_cache;
    (cache.bytes, cache.fingerprints) = (CacheBytes::Unlimited, false);
}

/// Which erased block is used next depends on which are erased by then, unless wear does not count. Victims that are
/// drawn by their numbers (or chosen by them among equals), and levelling by erase counts, follow.
fn without_chance_by_block(resolved: &mut Resolved) {
    let ftl = &mut resolved.config.ftl;
    let by_number = !matches!(ftl.gc.victim, VictimPolicy::Greedy | VictimPolicy::Fifo);
    if by_number || ftl.wear.policy == WearPolicy::Static {
        ftl.wear.policy = WearPolicy::None;
    }
}

pub(crate) fn load_blind_run(seed: u64, purpose: &str) -> (Rng, PageTrace, Resolved) {
    let (rng, pages, mut resolved) = random_run(seed, purpose);
    resolved.config.ftl.allocation.policy = AllocationPolicy::Static;
    resolved.config.ftl.redirection.policy = RedirectionPolicy::Home;
    resolved.config.ftl.spread.place = PlacePolicy::RoundRobin;
    drawn::without_units(&mut resolved);
    drawn::without_front(&mut resolved);
    without_idle_time(&mut resolved);
    without_detours(&mut resolved);
    without_chance_by_block(&mut resolved);
    (rng, pages, resolved)
}

fn traffic(result: &RunResult, resolved: &Resolved) -> (String, String, Vec<u64>) {
    let causes = result.summary["flash_writes"].to_string();
    let total = result.summary["erases"]["total"].to_string();
    if resolved.config.ftl.wear.policy != WearPolicy::None {
        return (causes, total, Vec::new());
    }
    let blocks = result.table("blocks").unwrap().column(1).clone();
    let erases = result.summary["erases"].to_string();
    (causes, erases, blocks.as_primitive::<UInt64Type>().values().to_vec())
}

#[test]
fn timing_does_not_change_a_load_blind_systems_traffic() {
    for seed in 0..60 {
        let (mut rng, pages, mut resolved) = load_blind_run(seed, "timed and untimed");
        // Copies depend on the decisions made by the end of a period, and a sample makes its run of
        // pages wait.
        resolved.config.ftl.replication.policy = ReplicationPolicy::None;
        resolved.config.ftl.dedup.sampling_pages = 1;
        // A trim takes effect when it comes, before writes of other pages that wait for their hash.
        let at_once = pages.columns.op.contains(&Op::Trim);
        let hash_us = |resolved: &mut Resolved| {
            resolved.config.engine.hash_us *= if at_once { 0.0 } else { 1.0 };
        };
        hash_us(&mut resolved);
        let reference = traffic(&run(&pages, &resolved, &()).unwrap(), &resolved);
        for _ in 0..3 {
            resolved.config.engine = random_engine(&mut rng);
            hash_us(&mut resolved);
            resolved.config.replay.queue_depth = pick(&mut rng, &[0, 1, 16]);
            resolved.config.replay.speed = pick(&mut rng, &[0.01, 1.0, 1e6]);
            let other = traffic(&run(&pages, &resolved, &()).unwrap(), &resolved);
            assert!(other == reference, "seed {seed}: {}", resolved.json());
        }
    }
}
