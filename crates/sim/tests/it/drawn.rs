//! Random settings of the swarm, and random traces: for each number its extremes, usual values, and
//! thresholds. A value listed twice is drawn twice as often.

use flashtwin_ftl::Rng;
use flashtwin_sim::{Arbitration, Config, MultiPlane, Resolved, WriteCompletes};
use flashtwin_trace::{Op, Trace, TraceBuilder};

use crate::bench::pick;

/// Requests of a trace: a single one, a few, and enough that mechanisms meet.
pub(crate) const REQUESTS: [u32; 4] = [1, 40, 400, 400];
/// Pages that a trace addresses: from one that everybody wants to many that few want.
pub(crate) const PAGES: [u32; 4] = [1, 10, 60, 300];
/// Mean time between requests: all at once, then with shorter and shorter queues.
pub(crate) const GAPS_NS: [u32; 4] = [0, 5_000, 60_000, 3_000_000];
/// Percent of the requests that read: none to all.
pub(crate) const READS_PERCENT: [u32; 4] = [0, 30, 70, 100];
/// Percent of the others that trim.
pub(crate) const TRIMS_PERCENT: [u32; 2] = [0, 10];
/// Holes that the trace begins with.
pub(crate) const HOLES: [u32; 3] = [0, 0, 12];
/// Percent of the requests that a flush follows: none, some, most.
pub(crate) const FLUSHES_PERCENT: [u32; 3] = [0, 5, 70];
/// Contents of a trace: nearly all duplicates, many, hardly any.
pub(crate) const CONTENTS: [u32; 3] = [3, 30, 10_000];
/// Percent of the requests that touch parts of pages.
pub(crate) const PARTS_PERCENT: [u32; 2] = [0, 30];
/// Distances between the pages of a trace: neighbours mostly, now and then more than a page of the mapping table apart.
pub(crate) const SPACINGS: [u64; 3] = [1, 1, 700];

/// Reads that may overtake a write: 0 for any number, one, several.
pub(crate) const READS_BEFORE_WRITE: [u32; 3] = [0, 1, 5];
/// Time until an operation stands still: none, and a real one.
pub(crate) const SUSPEND_US: [f64; 2] = [0.0, 20.0];
/// Time until it goes on.
pub(crate) const RESUME_US: [f64; 2] = [0.0, 5.0];
/// Mean rest of a slice: none, and a real one.
pub(crate) const SUSPEND_SLICE_US: [f64; 2] = [0.0, 70.0];
/// How often an operation may be suspended: as often as reads come, once, some times.
pub(crate) const SUSPEND_TIMES: [u32; 3] = [0, 1, 4];
/// Reads that may go before it goes on.
pub(crate) const SUSPEND_READS: [u32; 2] = [1, 16];
/// Rest before background work: none mostly, short, and longer than most traces have.
pub(crate) const IDLE_US: [f64; 4] = [0.0, 0.0, 50.0, 5000.0];
/// Time of the controller for a request: mostly none, a real one, and one that delays everything.
pub(crate) const CONTROLLER_US: [f64; 4] = [0.0, 0.0, 1.5, 400.0];
/// Time of a hash: none, the RR-SSD paper's, and one for which pages queue.
pub(crate) const HASH_US: [f64; 3] = [0.0, 12.0, 300.0];
/// Pages hashed at a time: a pipeline, one, some.
pub(crate) const HASH_LANES: [u32; 4] = [0, 1, 2, 7];
/// Pages of the write cache: none, too few for a request, some, and more than a trace writes.
pub(crate) const WRITE_CACHE_PAGES: [u32; 5] = [0, 1, 5, 40, 10_000];
/// Time of DRAM and link for a page: none, and a real one.
pub(crate) const WRITE_CACHE_US: [f64; 2] = [0.0, 9.0];
/// Places in power-protected RAM: as many as are wanted, one, some.
pub(crate) const WRITE_BUFFER_PAGES: [u32; 3] = [0, 1, 20];
/// Share of them that may be dirty: hardly one page, half, all.
pub(crate) const WRITE_CACHE_DIRTY: [f64; 3] = [0.01, 0.5, 1.0];

/// Pages that share a sample: each by itself mostly, two, and more than a request has.
pub(crate) const SAMPLING_PAGES: [u32; 4] = [1, 1, 2, 32];
/// Entries of a limited fingerprint store: so few that most are evicted.
pub(crate) const FEW_FINGERPRINTS: u32 = 4;
/// Pages of mapping tables in RAM, where that is limited: one, fewer than an operation needs, nearly all.
pub(crate) const TABLE_PAGES: [u64; 3] = [1, 2, 9];
/// Time between checkpoints: never mostly, after a few requests, after many.
pub(crate) const CHECKPOINT_S: [f64; 4] = [0.0, 0.0, 0.000_4, 0.02];

/// Share of a plane's blocks that idle time is to free: less than the host's writes leave, some more, nearly all.
pub(crate) const IDLE_RESERVE: [f64; 3] = [0.0, 0.3, 0.9];

/// Share of a block that may be valid where idle time is to collect it: next to none, most, nearly all.
pub(crate) const IDLE_VALID: [f64; 3] = [0.1, 0.75, 0.99];
/// Neighbours that share a plane: none mostly, some, more than a trace has.
pub(crate) const STRIPE_PAGES: [u32; 4] = [1, 1, 5, 1000];
/// Room for copies over the footprint: none, scarce, more than is needed.
pub(crate) const ALPHA: [f64; 3] = [0.0, 0.2, 5.0];
/// Pages of a class of priority-LRU: one, few, more than there are.
pub(crate) const CLASS_PAGES: [u32; 3] = [1, 8, 4096];
/// Copies that a read is worth.
pub(crate) const COPIES_PER_READ: [f64; 2] = [1.0, 0.5];
/// Most copies of a content: more than there are chips, and a limit that is met.
pub(crate) const MOST_COPIES: [u32; 2] = [256, 3];
/// Popularity that earns a copy.
pub(crate) const LEAST_POPULARITY: [u32; 2] = [1, 2];
/// Time between samples of HIPA: each write, some, never.
pub(crate) const HIPA_SAMPLE_US: [f64; 3] = [0.001, 100.0, 1e9];
/// Share of free blocks at which collection starts: as late as can be, the default, early.
pub(crate) const GC_START: [f64; 3] = [0.0, 0.05, 0.6];
/// Free blocks with which collection goes ahead of the host: the last one mostly, and many.
pub(crate) const GC_URGENT: [u32; 3] = [1, 1, 9];
/// Valid pages that collection moves for a page written: one, the default, more than a block has.
pub(crate) const GC_STEP_PAGES: [u32; 3] = [1, 8, 100];
/// Bits of a filter an entry: nearly always wrong, often, seldom.
pub(crate) const BLOOM_BITS_PER_PAGE: [u32; 3] = [1, 3, 10];
/// Hashes of a filter.
pub(crate) const BLOOM_HASHES: [u32; 2] = [1, 7];
/// Share of dead entries at which a filter is rebuilt: soon, at half, never.
pub(crate) const BLOOM_REBUILD: [f64; 3] = [0.1, 0.5, 1.0];
/// Most pages that a read may choose from: its own alone, two, more than there are channels.
pub(crate) const CANDIDATES: [u32; 3] = [1, 2, 16];
/// Most background jobs at a time: one, so few that some are dropped, enough.
pub(crate) const JOBS: [u32; 3] = [1, 5, 4096];
/// Partitions of a plane: none, and more and more.
pub(crate) const PARTITIONS: [u32; 4] = [1, 2, 3, 6];
/// Erases that blocks may differ by before data are moved: one, and the default.
pub(crate) const WEAR_THRESHOLD: [u32; 2] = [1, 16];
/// Blocks collected between two whose data are moved.
pub(crate) const WEAR_EVERY: [u32; 2] = [1, 7];

/// tR by type of page: the same for all mostly, and a pair.
pub(crate) const READ_TYPES_US: [&[f64]; 3] = [&[], &[], &[40.0, 75.0]];
/// Program units of which one is parity: none mostly, a mirror, some.
pub(crate) const PARITY_STRIPE: [u32; 4] = [0, 0, 2, 5];

/// Places of a closed loop; mostly an open one.
pub(crate) const QUEUE_DEPTH: [u32; 5] = [0, 0, 1, 4, 64];
/// Requests of a queue under way: any number mostly, one, some.
pub(crate) const QUEUE_LIMIT: [u32; 4] = [0, 0, 1, 6];
/// Slots of the controller: any number, one, few, more than a trace needs.
pub(crate) const SLOTS: [u32; 5] = [0, 0, 1, 4, 1000];
/// The host's link: none mostly, slower than the channels, a real one.
pub(crate) const LINK_MB_S: [f64; 4] = [0.0, 0.0, 50.0, 7000.0];
/// Submission queues of a trace: one mostly, two, all.
pub(crate) const QUEUES: [u32; 4] = [1, 1, 2, 32];
/// How fast the trace is replayed: as recorded, slower, so fast that queues grow.
pub(crate) const SPEED: [f64; 3] = [1.0, 0.3, 50.0];
/// Length of a period: longer than most traces, and short enough for many.
pub(crate) const PERIOD_S: [f64; 3] = [1.0, 0.001, 0.01];
/// Blocks of a plane beyond those that hold the footprint.
pub(crate) const SPARE_BLOCKS: [u32; 3] = [0, 1, 12];
/// Places of a closed loop where only time may differ: an open loop, one by one, many.
pub(crate) const OTHER_DEPTHS: [u32; 3] = [0, 1, 16];
/// Speeds for tests in which only times may differ: no waits, as recorded, all at once.
pub(crate) const OTHER_SPEEDS: [f64; 3] = [0.01, 1.0, 1e6];

/// Figures that are above 0 only where a mechanism was at work. A swarm that never spreads, compares or merges would
/// prove nothing.
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

/// A trace in which everything happens: parts of pages, several pages, trims, duplicates.
pub(crate) fn random_trace(rng: &mut Rng) -> Trace {
    spaced_trace(rng, 1)
}

/// The same with gaps between the pages, so that few entries share a page of the mapping tables.
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

/// A trace of `count` flushes alone.
pub(crate) fn of_flushes(count: u32) -> Trace {
    let mut builder = TraceBuilder::new("flushes");
    for at in 0..count {
        builder.request(i64::from(at), Op::Flush, 0, 0, &[]);
    }
    builder.build().unwrap()
}

/// Flash as it is built today, as far as the rest allows: units of several pages, flash pages of several, types, parity.
pub(crate) fn random_units(rng: &mut Rng, config: &mut Config) {
    let (engine, pages) = (&config.engine, config.nand.pages_per_block);
    let early = matches!(engine.write_completes, WriteCompletes::Hashed | WriteCompletes::Buffered);
    let waits_for_units = !early && engine.write_cache_pages == 0 || !engine.buffer_reads;
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

/// A front end of any kind, with a limit for each queue where requests come by the trace's clock.
pub(crate) fn random_front(rng: &mut Rng, config: &mut Config) {
    config.engine.slots = pick(rng, &SLOTS);
    config.engine.arbitration = pick(rng, &[Arbitration::Fifo, Arbitration::RoundRobin]);
    config.engine.arbitration_burst = pick(rng, &[1, 1, 4]);
    config.engine.link_mb_s = pick(rng, &LINK_MB_S);
    if config.replay.queue_depth == 0 {
        config.replay.queue_limit = pick(rng, &QUEUE_LIMIT);
    }
}

/// The same system without a front end, so that requests are taken in as the trace has them.
pub(crate) fn without_front(resolved: &mut Resolved) {
    let (engine, replay) = (&mut resolved.config.engine, &mut resolved.config.replay);
    (engine.slots, engine.link_mb_s, replay.queue_limit) = (0, 0.0, 0);
}

/// The same system with pages that are programmed one by one, so that no page waits for others.
pub(crate) fn without_units(resolved: &mut Resolved) {
    let nand = &mut resolved.config.nand;
    (nand.program_pages, nand.sense_pages, nand.parity_stripe) = (1, 1, 0);
    resolved.device = nand.resolve().unwrap();
}
