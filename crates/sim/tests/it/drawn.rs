//! Random settings and traces: extremes, usual values, thresholds. A value listed twice is drawn twice as often.

use flashtwin_ftl::Rng;
use flashtwin_sim::{Arbitration, Config, MultiPlane, Resolved};
use flashtwin_trace::{Op, Trace, TraceBuilder};

use crate::bench::pick;

pub(crate) const REQUESTS: [u32; 4] = [1, 40, 400, 400];
pub(crate) const PAGES: [u32; 4] = [1, 10, 60, 300];
pub(crate) const GAPS_NS: [u32; 4] = [0, 5_000, 60_000, 3_000_000];
pub(crate) const READS_PERCENT: [u32; 4] = [0, 30, 70, 100];
pub(crate) const TRIMS_PERCENT: [u32; 2] = [0, 10];
pub(crate) const HOLES: [u32; 3] = [0, 0, 12];
pub(crate) const FLUSHES_PERCENT: [u32; 3] = [0, 5, 70];
pub(crate) const CONTENTS: [u32; 3] = [3, 30, 10_000];
pub(crate) const PARTS_PERCENT: [u32; 2] = [0, 30];
/// Now and then more than a page of the mapping table.
pub(crate) const SPACINGS: [u64; 3] = [1, 1, 700];

/// 0: any number.
pub(crate) const READS_BEFORE_WRITE: [u32; 3] = [0, 1, 5];
pub(crate) const SUSPEND_US: [f64; 2] = [0.0, 20.0];
pub(crate) const RESUME_US: [f64; 2] = [0.0, 5.0];
pub(crate) const SUSPEND_SLICE_US: [f64; 2] = [0.0, 70.0];
/// 0: as often as reads come.
pub(crate) const SUSPEND_TIMES: [u32; 3] = [0, 1, 4];
pub(crate) const SUSPEND_READS: [u32; 2] = [1, 16];
pub(crate) const IDLE_US: [f64; 4] = [0.0, 0.0, 50.0, 5000.0];
pub(crate) const CONTROLLER_US: [f64; 4] = [0.0, 0.0, 1.5, 400.0];
pub(crate) const HASH_US: [f64; 3] = [0.0, 12.0, 300.0];
/// 0: a pipeline.
pub(crate) const HASH_LANES: [u32; 4] = [0, 1, 2, 7];
pub(crate) const WRITE_CACHE_PAGES: [u32; 5] = [0, 1, 5, 40, 10_000];
pub(crate) const WRITE_CACHE_US: [f64; 2] = [0.0, 9.0];
/// 0: as many as are wanted.
pub(crate) const WRITE_BUFFER_PAGES: [u32; 3] = [0, 1, 20];
pub(crate) const WRITE_CACHE_DIRTY: [f64; 3] = [0.01, 0.5, 1.0];

pub(crate) const SAMPLING_PAGES: [u32; 4] = [1, 1, 2, 32];
pub(crate) const FEW_FINGERPRINTS: u32 = 4;
/// One, fewer than an operation needs, nearly all.
pub(crate) const TABLE_PAGES: [u64; 3] = [1, 2, 9];
pub(crate) const CHECKPOINT_S: [f64; 4] = [0.0, 0.0, 0.000_4, 0.02];

pub(crate) const IDLE_RESERVE: [f64; 3] = [0.0, 0.3, 0.9];
pub(crate) const IDLE_VALID: [f64; 3] = [0.1, 0.75, 0.99];
pub(crate) const STRIPE_PAGES: [u32; 4] = [1, 1, 5, 1000];
pub(crate) const ALPHA: [f64; 3] = [0.0, 0.2, 5.0];
pub(crate) const CLASS_PAGES: [u32; 3] = [1, 8, 4096];
pub(crate) const COPIES_PER_READ: [f64; 2] = [1.0, 0.5];
pub(crate) const MOST_COPIES: [u32; 2] = [256, 3];
pub(crate) const LEAST_POPULARITY: [u32; 2] = [1, 2];
pub(crate) const HIPA_SAMPLE_US: [f64; 3] = [0.001, 100.0, 1e9];
pub(crate) const GC_START: [f64; 3] = [0.0, 0.05, 0.6];
pub(crate) const GC_URGENT: [u32; 3] = [1, 1, 9];
pub(crate) const GC_STEP_PAGES: [u32; 3] = [1, 8, 100];
pub(crate) const BLOOM_BITS_PER_PAGE: [u32; 3] = [1, 3, 10];
pub(crate) const BLOOM_HASHES: [u32; 2] = [1, 7];
pub(crate) const BLOOM_REBUILD: [f64; 3] = [0.1, 0.5, 1.0];
pub(crate) const CANDIDATES: [u32; 3] = [1, 2, 16];
pub(crate) const JOBS: [u32; 3] = [1, 5, 4096];
pub(crate) const PARTITIONS: [u32; 4] = [1, 2, 3, 6];
pub(crate) const WEAR_THRESHOLD: [u32; 2] = [1, 16];
pub(crate) const WEAR_EVERY: [u32; 2] = [1, 7];

/// By type of page.
pub(crate) const READ_TYPES_US: [&[f64]; 3] = [&[], &[], &[40.0, 75.0]];
pub(crate) const PARITY_STRIPE: [u32; 4] = [0, 0, 2, 5];

pub(crate) const QUEUE_DEPTH: [u32; 5] = [0, 0, 1, 4, 64];
/// 0: any number.
pub(crate) const QUEUE_LIMIT: [u32; 4] = [0, 0, 1, 6];
pub(crate) const SLOTS: [u32; 5] = [0, 0, 1, 4, 1000];
pub(crate) const LINK_MB_S: [f64; 4] = [0.0, 0.0, 50.0, 7000.0];
pub(crate) const QUEUES: [u32; 4] = [1, 1, 2, 32];
pub(crate) const SPEED: [f64; 3] = [1.0, 0.3, 50.0];
pub(crate) const PERIOD_S: [f64; 3] = [1.0, 0.001, 0.01];
pub(crate) const SPARE_BLOCKS: [u32; 3] = [0, 1, 12];
/// Where only times may differ.
pub(crate) const OTHER_DEPTHS: [u32; 3] = [0, 1, 16];
pub(crate) const OTHER_SPEEDS: [f64; 3] = [0.01, 1.0, 1e6];

/// Figures above 0 only where a mechanism was at work, because a swarm that never spreads, compares or merges proves
/// nothing.
pub(crate) const MECHANISMS: [&str; 27] = [
    "requests.flush",
    "response.flush.max_ns",
    "page_ops.redirected_writes",
    "page_ops.redirected_reads",
    "page_ops.merged_reads",
    "page_ops.buffer_reads",
    "page_ops.awaited_reads",
    "flash_reads.verify",
    "spread.filter_false_positives",
    "spread.filter_rebuilds",
    "spread.twins_found",
    "spread.comparisons_void",
    "spread.jobs_dropped",
    "page_ops.multi_plane_commands",
    "page_ops.cache_reads",
    "page_ops.absorbed_writes",
    "page_ops.idle_moves",
    "flash_writes.wear_levelling",
    "flash_writes.padding",
    "flash_writes.parity",
    "flash_operations.reads_with_others",
    "mapping_cache.misses",
    "mapping_cache.waits",
    "mapping_cache.written_back",
    "mapping_cache.gc_updates",
    "mapping_cache.checkpointed",
    "mapping_cache.moved",
];

pub(crate) fn random_trace(rng: &mut Rng) -> Trace {
    spaced_trace(rng, 1)
}

/// With gaps between the pages, so that few entries share a page of the mapping tables.
pub(crate) fn spaced_trace(rng: &mut Rng, spacing: u64) -> Trace {
    let requests = pick(rng, &REQUESTS);
    let pages = pick(rng, &PAGES);
    let gap_ns = pick(rng, &GAPS_NS);
    let (reads, trims) = (pick(rng, &READS_PERCENT), pick(rng, &TRIMS_PERCENT));
    let contents = pick(rng, &CONTENTS);
    let parts = pick(rng, &PARTS_PERCENT);
    let flushes = pick(rng, &FLUSHES_PERCENT);
    let mut builder = TraceBuilder::new("swarm");
    for _ in 0..pick(rng, &HOLES) {
        let start = u64::from(rng.below(pages)) * spacing * 4096;
        builder.hole(0, start..start + u64::from(1 + rng.below(40)) * 2048);
    }
    // A stream of their own: they shift nothing else.
    let mut queues = Rng::stream(rng.clone().next_u64(), "queues");
    let count = pick(&mut queues, &QUEUES);
    let mut now = 0;
    for _ in 0..requests {
        now += if gap_ns == 0 { 0 } else { i64::from(rng.below(2 * gap_ns)) };
        let page = u64::from(if rng.below(2) == 0 { rng.below(pages) } else { rng.below(pages / 8 + 1) });
        let (mut offset, mut length) = (page * spacing * 4096, 4096 * (1 + rng.below(4)));
        if rng.below(100) < parts {
            (offset, length) = (offset + 512 * u64::from(rng.below(8)), 512 * (1 + rng.below(20)));
        }
        let op = match rng.below(100) {
            kind if kind < reads => Op::Read,
            _ if rng.below(100) < trims => Op::Trim,
            _ => Op::Write,
        };
        let carried = if op == Op::Trim || rng.below(20) == 0 { 0 } else { length.div_ceil(4096) };
        let ids: Vec<u32> = (0..carried).map(|_| rng.below(contents)).collect();
        builder.request(now, op, offset, length, &ids).queue(queues.below(count) as u8);
        if rng.below(100) < flushes {
            builder.request(now, Op::Flush, 0, 0, &[]).queue(queues.below(count) as u8);
        }
    }
    // At least one request with a content, so that contents may be asked for.
    builder.request(now, Op::Write, 0, 4096, &[0]);
    builder.build().unwrap()
}

pub(crate) fn of_flushes(count: u32) -> Trace {
    let mut builder = TraceBuilder::new("flushes");
    for at in 0..count {
        builder.request(i64::from(at), Op::Flush, 0, 0, &[]);
    }
    builder.build().unwrap()
}

/// Flash as it is built today, as far as the rest allows: units of several pages, flash pages of several, types,
/// parity.
pub(crate) fn random_units(rng: &mut Rng, config: &mut Config) {
    let (engine, pages) = (&config.engine, config.nand.pages_per_block);
    let waits_for_units = !engine.answers_from_ram() || !engine.buffer_reads;
    if !waits_for_units && engine.multi_plane == MultiPlane::None && rng.below(3) > 0 {
        let divisors =
            |whole: u32| (1..=whole).filter(move |&part| whole.is_multiple_of(part)).collect::<Vec<_>>();
        config.nand.program_pages = pick(rng, &divisors(pages));
        config.nand.sense_pages = pick(rng, &divisors(config.nand.program_pages));
    }
    config.engine.reads_before_urgent = rng.below(3) == 0;
    config.engine.collection_in_turn = rng.below(3) == 0;
    config.nand.read_types_us = pick(rng, &READ_TYPES_US).to_vec();
    config.nand.parity_stripe = pick(rng, &PARITY_STRIPE);
}

pub(crate) fn random_front(rng: &mut Rng, config: &mut Config) {
    config.engine.slots = pick(rng, &SLOTS);
    config.engine.arbitration = pick(rng, &[Arbitration::Fifo, Arbitration::RoundRobin]);
    config.engine.arbitration_burst = pick(rng, &[1, 1, 4]);
    config.engine.link_mb_s = pick(rng, &LINK_MB_S);
    if config.replay.queue_depth == 0 {
        config.replay.queue_limit = pick(rng, &QUEUE_LIMIT);
    }
}

pub(crate) fn without_front(resolved: &mut Resolved) {
    let (engine, replay) = (&mut resolved.config.engine, &mut resolved.config.replay);
    (engine.slots, engine.link_mb_s, replay.queue_limit) = (0, 0.0, 0);
}

pub(crate) fn without_units(resolved: &mut Resolved) {
    let nand = &mut resolved.config.nand;
    (nand.program_pages, nand.sense_pages, nand.parity_stripe) = (1, 1, 0);
    resolved.device = nand.resolve().unwrap();
}
