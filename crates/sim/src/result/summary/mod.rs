//! The summary of a run. The structs of this folder, and the counters that they embed (`flatten`),
//! are its only schema: their fields are written in this order, and their comments are the text of
//! `docs/results.md`.

mod contents;
mod flash;
mod host;
mod mapping_cache;
mod or_null;
mod ram;
mod replication;
mod throughput;
mod units;

use flashtwin_trace::Op;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use self::contents::{Dedup, Partition, Redundancy};
use self::flash::{Erases, FlashOperations, FlashReads, FlashWrites};
use self::host::{PageOps, RequestCounts, Responses};
use self::mapping_cache::MappingCache;
use self::ram::Ram;
use self::replication::{Replication, Spread};
use self::throughput::Throughput;
use self::units::{HashUnit, Utilisation};
use crate::finished::FinishedRun;

pub(super) use self::contents::{equal_pages, plane_redundancy, repeated_writes};
pub(super) use self::host::all_ledgers;

/// All figures of one run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Summary {
    /// Version of flashtwin.
    flashtwin: &'static str,
    /// Name of the system, from the configuration.
    system: String,
    /// Seed of the system, from the configuration.
    seed: u64,
    /// The replayed trace.
    trace: TraceOfRun,
    /// Every key of the configuration, nested as in TOML ([configuration](configuration.md)).
    config: Value,
    /// Traits of the system by its policies, such as `deduplicates`, in alphabetical order; a `bound`
    /// is one that no real device can reach.
    traits: Vec<&'static str>,
    /// Time of the last request, trace's clock.
    duration_ns: i64,
    /// Simulated time when the last operation ended, garbage collection included.
    completed_ns: u64,
    /// Simulated time at the end of the warm-up (`replay.warm_up_s`). Requests count if they arrived
    /// from then on, operations if they were ordered from then on. States of the drive (`space`, `ram`,
    /// peaks, wear of blocks) are those of its life.
    counted_from_ns: u64,
    /// Requests completed.
    requests: RequestCounts,
    /// Response times.
    response: Responses,
    /// Requests and bytes a second.
    throughput: Throughput,
    /// Page operations.
    page_ops: PageOps,
    /// Operations of the flash array.
    flash_operations: FlashOperations,
    /// Pages read from flash.
    flash_reads: FlashReads,
    /// Pages programmed.
    flash_writes: FlashWrites,
    /// The sum of `flash_writes`.
    pages_programmed: u64,
    /// Host page writes, including duplicates and those absorbed by the write cache.
    host_pages_written: u64,
    /// `pages_programmed` / `host_pages_written`.
    write_amplification: Option<f64>,
    /// Bytes programmed: `pages_programmed` in bytes, with padding, parity and mapping tables.
    medium_bytes_written: u64,
    /// `medium_bytes_written` / `throughput.write.bytes`: write amplification as drives report it;
    /// `null` if the host wrote nothing.
    write_amplification_bytes: Option<f64>,
    /// Wear.
    erases: Erases,
    /// Deduplication.
    dedup: Dedup,
    /// Mapping tables on flash.
    mapping_cache: MappingCache,
    /// Replication.
    replication: Replication,
    /// Spreading of duplicates.
    spread: Spread,
    /// Partitions.
    partitions: Vec<Partition>,
    /// Duplicates within planes.
    redundancy: Redundancy,
    /// Utilisation.
    utilisation: Utilisation,
    /// The hash unit.
    hash_unit: HashUnit,
    /// Flash space.
    space: Space,
    /// Controller RAM.
    ram: Ram,
    /// The simulator's own memory.
    simulator: Simulator,
}

impl Summary {
    pub(super) fn of(run: &FinishedRun<'_>) -> Summary {
        let (config, trace) = (&run.resolved.config, run.trace);
        let counters = &run.counted.ftl;
        // The host also wrote the pages that the write cache absorbed.
        let host_pages_written = counters.host_pages_written + run.counted.engine.pages.absorbed_writes;
        let pages_programmed = counters.pages_programmed() + run.counted.engine.parity_pages;
        let sizes = run.engine.controller().partition_sizes();
        let medium_bytes_written = pages_programmed * u64::from(config.nand.page_bytes);
        let over = |medium: u64, host: u64| (host > 0).then(|| medium as f64 / host as f64);
        Summary {
            flashtwin: env!("CARGO_PKG_VERSION"),
            system: config.name.clone(),
            seed: config.seed,
            trace: TraceOfRun::of(run),
            traits: crate::keys::traits(&run.resolved.json()),
            config: run.resolved.json(),
            duration_ns: trace.duration_ns,
            completed_ns: run.engine.now_ns(),
            counted_from_ns: run.counted_from_ns(),
            requests: RequestCounts::of(&run.counted.engine),
            response: Responses::of(&run.engine.accounts().observer),
            throughput: Throughput::of(run),
            page_ops: PageOps::of(run),
            flash_operations: FlashOperations::of(&run.counted.engine),
            flash_reads: FlashReads::of(counters, &run.counted.engine),
            flash_writes: FlashWrites::of(counters, &run.counted.engine),
            pages_programmed,
            host_pages_written,
            write_amplification: over(pages_programmed, host_pages_written),
            medium_bytes_written,
            write_amplification_bytes: over(medium_bytes_written, run.counted.bytes[Op::Write as usize]),
            erases: Erases::of(run),
            dedup: Dedup::of(run),
            mapping_cache: MappingCache::of(run),
            replication: Replication::of(run),
            spread: Spread::of(run),
            partitions: sizes.iter().zip(&run.counted.partition_pages).map(Partition::of).collect(),
            redundancy: Redundancy::of(run),
            utilisation: Utilisation::of(run),
            hash_unit: HashUnit::of(run),
            space: Space::of(run),
            ram: Ram::of(
                run.resolved,
                &run.engine.controller().table_sizes(),
                run.engine.controller().paging_sizes().as_ref(),
            ),
            simulator: Simulator::of(run),
        }
    }
}

fn mean_and_stddev(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

#[derive(Debug, Serialize, JsonSchema)]
struct TraceOfRun {
    /// Name of the trace.
    name: String,
    /// Hash of the trace, the same for every format and compression.
    digest: String,
    /// How its file was read: format, units, volumes, assumptions.
    read_as: String,
    /// Requests.
    requests: u64,
    /// Page operations.
    page_ops: u64,
    /// Distinct logical pages with data at some time.
    footprint_pages: u64,
    /// Distinct contents.
    contents: u32,
    /// Source of contents: `recorded`; `unique` (a new one for each page write);
    /// `zipf(EXPONENT,VALUES,SEED)` (drawn by popularity); `same-as-address` (one for each page);
    /// `none` (a trace without contents on a system that ignores them).
    content_source: String,
    /// Irregularities found while following pages.
    quality: Quality,
}

impl TraceOfRun {
    fn of(run: &FinishedRun<'_>) -> TraceOfRun {
        let (trace, quality) = (run.trace, &run.trace.quality);
        TraceOfRun {
            name: trace.name.clone(),
            digest: trace.digest.clone(),
            read_as: trace.read_as.clone(),
            requests: trace.requests,
            page_ops: trace.page_ops,
            footprint_pages: u64::from(trace.footprint_pages()),
            contents: trace.content_count,
            content_source: trace.content_source.to_string(),
            quality: Quality {
                read_mismatches: quality.read_mismatches,
                unknown_content_reads: quality.unknown_content_reads,
                reads_of_holes: quality.reads_of_holes,
                unaligned_content_requests: quality.unaligned_content_requests,
                partial_writes: quality.partial_writes,
                partial_trims: quality.partial_trims,
            },
        }
    }
}

/// In page operations, except `unaligned_content_requests`.
#[derive(Debug, Serialize, JsonSchema)]
struct Quality {
    /// Reads whose recorded content differs from the page's content; the page's content counts.
    read_mismatches: u64,
    /// Reads of pages whose content is unknown.
    unknown_content_reads: u64,
    /// Reads of empty pages: trimmed, or known as holes when the trace begins, and not written
    /// since.
    reads_of_holes: u64,
    /// Requests aligned down to the grid of contents.
    unaligned_content_requests: u64,
    /// Writes of a part of a page.
    partial_writes: u64,
    /// Trims of a part of a page.
    partial_trims: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Space {
    /// Flash pages with valid data at the end.
    pages_in_use: u64,
    /// Most flash pages with valid data at any moment.
    pages_in_use_peak: u64,
    /// `trace.footprint_pages`, for comparison.
    footprint_pages: u64,
    /// VPNs in use at the end (pages, with inverted tables): distinct contents, or more if the
    /// fingerprint store is limited or writes are sampled; 0 for page maps.
    contents_on_flash: u64,
}

impl Space {
    fn of(run: &FinishedRun<'_>) -> Space {
        let ftl = run.engine.controller();
        Space {
            pages_in_use: ftl.pages_in_use(),
            pages_in_use_peak: ftl.peak().pages_in_use,
            footprint_pages: u64::from(run.trace.footprint_pages()),
            contents_on_flash: ftl.table_sizes().vpns,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Simulator {
    /// Bytes of the simulator's own tables.
    table_bytes: u64,
    /// Of `table_bytes`: tables of logical and physical pages and blocks, for each page of the
    /// footprint.
    bytes_per_footprint_page: Option<f64>,
    /// Of `table_bytes`: tables of contents and replicas, for each content of the trace; `null` for
    /// a page map.
    bytes_per_content: Option<f64>,
}

impl Simulator {
    fn of(run: &FinishedRun<'_>) -> Simulator {
        let (sizes, paging) = (run.engine.controller().table_sizes(), run.engine.controller().paging_sizes());
        let paging_bytes = paging.map_or(0, |paging| paging.simulator_bytes);
        let per = |bytes: u64, count: u32| (count > 0 && bytes > 0).then(|| bytes as f64 / f64::from(count));
        Simulator {
            table_bytes: sizes.page_table_bytes + sizes.content_table_bytes + paging_bytes,
            bytes_per_footprint_page: per(sizes.page_table_bytes, run.trace.footprint_pages()),
            bytes_per_content: per(sizes.content_table_bytes, run.trace.content_count),
        }
    }
}
