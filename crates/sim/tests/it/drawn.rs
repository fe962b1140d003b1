//! Random settings and traces: extremes, usual values, thresholds. A value listed twice is drawn twice as often.

use flashtwin_ftl::Rng;
use flashtwin_ftl::idle::IdlePolicy;
use flashtwin_sim::{Arbitration, Config, MultiPlane, Resolved};
use flashtwin_trace::{Op, Trace, TraceBuilder};

use crate::bench::pick;

/// Now and then more than a page of the mapping table.
pub(crate) const SPACINGS: [u64; 3] = [1, 1, 700];

pub(crate) const CONTROLLER_US: [f64; 4] = [0.0, 0.0, 1.5, 400.0];

/// 0: any number.
pub(crate) const QUEUE_LIMIT: [u32; 4] = [0, 0, 1, 6];
pub(crate) const SLOTS: [u32; 5] = [0, 0, 1, 4, 1000];
pub(crate) const LINK_MB_S: [f64; 4] = [0.0, 0.0, 50.0, 7000.0];

/// Figures above 0 only where a mechanism was at work, because a swarm that never spreads, compares or merges proves
/// nothing.
pub(crate) const MECHANISMS: &str = "
    requests.flush response.flush.max_ns page_ops.redirected_writes page_ops.redirected_reads
    page_ops.merged_reads page_ops.buffer_reads page_ops.awaited_reads flash_reads.verify
    spread.filter_false_positives spread.filter_rebuilds spread.twins_found spread.comparisons_void
    spread.jobs_dropped page_ops.multi_plane_commands page_ops.cache_reads page_ops.absorbed_writes
    page_ops.idle_moves flash_writes.wear_levelling flash_writes.padding flash_writes.parity
    flash_operations.reads_with_others mapping_cache.misses mapping_cache.waits
    mapping_cache.written_back mapping_cache.gc_updates mapping_cache.checkpointed
    mapping_cache.moved
";

pub(crate) fn random_trace(rng: &mut Rng) -> Trace {
    spaced_trace(rng, 1)
}

/// With gaps between the pages, so that few entries share a page of the mapping tables.
pub(crate) fn spaced_trace(rng: &mut Rng, spacing: u64) -> Trace {
    let requests = pick(rng, &[1, 40, 400, 400]);
    let pages = pick(rng, &[1, 10, 60, 300]);
    let gap_ns = pick(rng, &[0, 5_000, 60_000, 3_000_000]);
    let (reads, trims) = (pick(rng, &[0, 30, 70, 100]), pick(rng, &[0, 10]));
    let contents = pick(rng, &[3, 30, 10_000]);
    let parts = pick(rng, &[0, 30]);
    let flushes = pick(rng, &[0, 5, 70]);
    let mut builder = TraceBuilder::new("swarm");
    for _ in 0..pick(rng, &[0, 0, 12]) {
        let start = u64::from(rng.below(pages)) * spacing * 4096;
        builder.hole(0, start..start + u64::from(1 + rng.below(40)) * 2048);
    }
    // A stream of their own: they shift nothing else.
    let mut queues = Rng::stream(rng.clone().next_u64(), "queues");
    let count = pick(&mut queues, &[1, 1, 2, 32]);
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
    if config.engine.buffer_reads && config.ftl.gc.idle == IdlePolicy::None {
        config.engine.collection_batch_us = pick(rng, &[0.0, 0.0, 700.0, 9000.0]);
    }
    config.nand.read_types_us = pick(rng, &[&[][..], &[], &[40.0, 75.0]]).to_vec();
    config.nand.parity_stripe = pick(rng, &[0, 0, 2, 5]);
}

pub(crate) fn random_front(rng: &mut Rng, config: &mut Config) {
    config.engine.slots = pick(rng, &SLOTS);
    config.engine.arbitration = pick(rng, &[Arbitration::Fifo, Arbitration::RoundRobin]);
    config.engine.arbitration_burst = pick(rng, &[1, 1, 4]);
    config.engine.link_mb_s = pick(rng, &LINK_MB_S);
    config.engine.hold_every_us = pick(rng, &[0.0, 0.0, 500.0]);
    config.engine.hold_us = pick(rng, &[0.0, 120.0]);
    config.engine.urgent_writes_per_s = pick(rng, &[0, 3_000]);
    config.engine.urgent_hold_every_us = pick(rng, &[300.0, 1000.0]);
    config.engine.urgent_hold_us = pick(rng, &[0.0, 50.0]);
    config.engine.hold_pass_share = pick(rng, &[0.0, 0.8]);
    if config.engine.slots > 0 {
        config.engine.hold_full_writes_per_s = pick(rng, &[0, 5_000, 50_000]);
    }
    if config.replay.queue_depth == 0 {
        config.replay.queue_limit = pick(rng, &QUEUE_LIMIT);
    }
}

pub(crate) fn without_front(resolved: &mut Resolved) {
    let (engine, replay) = (&mut resolved.config.engine, &mut resolved.config.replay);
    (engine.slots, engine.link_mb_s, replay.queue_limit) = (0, 0.0, 0);
    engine.hold_every_us = 0.0;
}

pub(crate) fn without_units(resolved: &mut Resolved) {
    let nand = &mut resolved.config.nand;
    (nand.program_pages, nand.sense_pages, nand.parity_stripe) = (1, 1, 0);
    resolved.device = nand.resolve().unwrap();
}
