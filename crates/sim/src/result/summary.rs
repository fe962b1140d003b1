//! The summary: every figure of a run with its unit in its name; undefined ratios are null.

use flashtwin_ftl::{Cause, Counters, MappingForm, PartitionSize, PlaneContents};
use serde_json::{Value, json};

use super::ram::ram;
use crate::engine::{Charge, EngineCounts};
use crate::metrics::{Ledgers, Metrics, Share, Tally};
use crate::run::Finished;

pub(crate) fn summary(run: &Finished<'_>) -> Value {
    let config = &run.resolved.config;
    let ftl = &run.engine.controller;
    let counters = ftl.counters();
    let counts = &run.engine.counts;
    let trace = run.trace;
    let metrics = &run.engine.observer;
    let (reads, writes) = (metrics.reads.whole(), metrics.writes.whole());
    let mut all = reads.clone();
    all.add(writes);
    let sizes = ftl.table_sizes();
    let paging = ftl.paging_sizes();
    let paging_bytes = paging.map_or(0, |paging| paging.simulator_bytes);
    let footprint = u64::from(trace.footprint_pages());
    // What the write cache kept from the controller, the host wrote all the same.
    let host_pages = counters.host_pages_written + counts.absorbed_writes;
    json!({
        "flashtwin": env!("CARGO_PKG_VERSION"),
        "system": config.name,
        "seed": config.seed,
        "trace": {
            "name": trace.name,
            "digest": trace.digest,
            "requests": trace.requests(),
            "page_ops": trace.page_ops(),
            "footprint_pages": footprint,
            "contents": trace.content_count,
            "content_source": trace.content_source.to_string(),
            "quality": {
                "read_mismatches": trace.quality.read_mismatches,
                "unknown_content_reads": trace.quality.unknown_content_reads,
                "reads_after_trim": trace.quality.reads_after_trim,
                "unaligned_content_requests": trace.quality.unaligned_content_requests,
                "partial_writes": trace.quality.partial_writes,
                "partial_trims": trace.quality.partial_trims,
            },
        },
        "config": run.resolved.json(),
        "duration_ns": trace.time_ns.last().copied().unwrap_or(0),
        "completed_ns": run.engine.now_ns(),
        "requests": {
            "read": counts.requests[0], "write": counts.requests[1], "trim": counts.requests[2],
            "completed": counts.requests.iter().sum::<u64>(),
        },
        "response": {
            "read": response(reads, &metrics.reads.ledgers().whole()),
            "write": response(writes, &metrics.writes.ledgers().whole()),
            "all": response(&all, &all_ledgers(metrics).whole()),
        },
        "page_ops": {
            "read": counts.page_ops[0], "write": counts.page_ops[1], "trim": counts.page_ops[2],
            "buffer_reads": counts.buffer_reads,
            "awaited_reads": counts.awaited_reads,
            "unmapped_reads": counters.unmapped_reads + counts.undecided_unmapped_reads,
            "redirected_reads": counts.redirected_reads,
            "redirected_writes": counters.redirected_writes,
            "merged_reads": counts.merged_reads,
            "cache_reads": counts.cache_reads,
            "absorbed_writes": counts.absorbed_writes,
            "suspensions": counts.suspensions,
            "multi_plane_commands": counts.multi_plane_commands,
            "multi_plane_ops": counts.multi_plane_ops,
            "duplicate_writes": counters.duplicate_writes,
            "partial_writes": counts.partial_writes,
            "new_value_reads": counters.new_value_reads,
            "replicated_value_reads": counters.replicated_value_reads,
            "pages_hashed": run.engine.pages_hashed(),
            "allocation_fallbacks": counters.allocation_fallbacks,
        },
        "flash_operations": {
            "reads": counts.flash_ops[0], "programs": counts.flash_ops[1], "erases": counts.flash_ops[2],
        },
        "flash_reads": flash_reads(counters, counts),
        "flash_writes": flash_writes(counters),
        "pages_programmed": counters.pages_programmed(),
        "host_pages_written": host_pages,
        "write_amplification": counters.write_amplification_of(host_pages),
        "erases": erases(run),
        "dedup": dedup(run),
        "mapping_cache": mapping_cache(run),
        "replication": replication(run),
        "spread": spread(run),
        "partitions": partitions(run),
        "redundancy": redundancy(run),
        "utilisation": utilisation(run),
        "hash_unit": hash_unit(run),
        "space": {
            "pages_in_use": ftl.pages_in_use(),
            "pages_in_use_peak": ftl.peak().pages_in_use,
            "footprint_pages": footprint,
            "contents_on_flash": sizes.vpns,
        },
        "ram": ram(run.resolved, &sizes, paging.as_ref()),
        "simulator": {
            "table_bytes": sizes.page_table_bytes + sizes.content_table_bytes + paging_bytes,
            "bytes_per_footprint_page": per(sizes.page_table_bytes, footprint),
            "bytes_per_content": per(sizes.content_table_bytes, u64::from(trace.content_count)),
        },
    })
}

/// A ratio; missing where there is nothing to divide by or nothing to divide.
fn per(bytes: u64, count: u64) -> Option<f64> {
    (count > 0 && bytes > 0).then(|| bytes as f64 / count as f64)
}

/// The ledgers of reads and writes together.
pub(super) fn all_ledgers(metrics: &Metrics) -> Ledgers {
    let mut all = Ledgers::default();
    all.add(metrics.reads.ledgers());
    all.add(metrics.writes.ledgers());
    all
}

fn response(tally: &Tally, ledger: &Share) -> Value {
    let some = |value: u64| (tally.count > 0).then_some(value);
    json!({
        "count": tally.count,
        "mean_ns": tally.mean_ns(),
        "stddev_ns": tally.stddev_ns(),
        "min_ns": some(tally.min_ns),
        "max_ns": some(tally.max_ns),
        "p50_ns": tally.percentile_ns(50.0),
        "p90_ns": tally.percentile_ns(90.0),
        "p95_ns": tally.percentile_ns(95.0),
        "p99_ns": tally.percentile_ns(99.0),
        "p99_9_ns": tally.percentile_ns(99.9),
        "p99_99_ns": tally.percentile_ns(99.99),
        "split": split(ledger),
    })
}

/// The mean response time in eight parts, waiting and service apart; the table `wait_ledger` has all.
fn split(share: &Share) -> Value {
    let mean = |charges: &[Charge]| {
        let sum: u128 = charges.iter().map(|&charge| share.charges_ns[charge as usize]).sum();
        (share.count > 0).then(|| sum as f64 / share.count as f64)
    };
    let unit: Vec<Charge> = Charge::ALL.into_iter().filter(|charge| charge.part() == "unit").collect();
    json!({
        "queueing_ns": mean(&unit),
        "channel_wait_ns": mean(&[Charge::Channel]),
        "hash_wait_ns": mean(&[Charge::HashQueue]),
        "other_wait_ns": mean(&[Charge::Tables, Charge::PageProgram, Charge::CachePlace]),
        "hash_ns": mean(&[Charge::Hash]),
        "transfer_ns": mean(&[Charge::Transfer]),
        "flash_ns": mean(&[Charge::Flash]),
        "controller_ns": mean(&[Charge::Controller]),
    })
}

fn flash_reads(counters: &Counters, counts: &EngineCounts) -> Value {
    let by = |cause: Cause| counters.reads[cause as usize];
    let from_flash = |cause: Cause| by(cause).saturating_sub(counts.own_buffer_reads[cause as usize]);
    json!({
        // Reads of pages that were not decided yet never came to the controller.
        "host": by(Cause::Host) + counts.undecided_reads - counts.buffer_reads - counts.merged_reads,
        "read_modify_write": by(Cause::ReadModifyWrite) - counts.old_page_buffer_reads,
        "gc": from_flash(Cause::Gc),
        "replica": from_flash(Cause::Replica),
        "metadata": from_flash(Cause::Metadata),
        "verify": from_flash(Cause::Verify),
        "fingerprint": from_flash(Cause::Fingerprint),
        "wear_levelling": from_flash(Cause::WearLevelling),
    })
}

/// What deduplication found and what it cost; nulls for a system that does not look at contents.
fn dedup(run: &Finished<'_>) -> Value {
    let counters = run.engine.controller.counters();
    let looks = run.resolved.config.ftl.mapping == MappingForm::Content;
    let some = |value: u64| looks.then_some(value);
    let missed = counters.programs[Cause::MissedDuplicate as usize];
    json!({
        "hashes_inline": some(counters.hashes),
        "hashes_out_of_line": some(counters.hashes_out_of_line),
        "duplicates_inline": some(counters.duplicate_writes),
        "duplicates_out_of_line": some(counters.duplicates_out_of_line),
        "duplicates_missed": some(missed.saturating_sub(counters.duplicates_out_of_line)),
        "unhashed_pages": some(run.engine.controller.unhashed_pages()),
        "gc_updates_two_level": some(counters.gc_updates_two_level),
        "gc_updates_inverted": some(counters.gc_updates_inverted),
    })
}

/// What pages of the mapping tables on flash cost; nulls where all tables are in RAM and never written.
fn mapping_cache(run: &Finished<'_>) -> Value {
    let (ftl, counts) = (&run.engine.controller, &run.engine.counts);
    let (counters, sizes) = (ftl.counters().mapping, ftl.paging_sizes());
    let some = |value: u64| sizes.map(|_| value);
    let waits = counts.table_waits;
    json!({
        "pages": sizes.map(|sizes| sizes.pages),
        "pages_cached": sizes.map(|sizes| sizes.pages_cached),
        "pages_dirty": sizes.map(|sizes| sizes.pages_dirty),
        "pages_on_flash": sizes.map(|sizes| sizes.pages_on_flash),
        "hits": some(counters.hits),
        "misses": some(counters.misses),
        "hit_ratio": counters.hit_ratio(),
        "waits": some(waits),
        "wait_mean_ns": (waits > 0).then(|| counts.table_wait_ns as f64 / waits as f64),
        "written_back": some(counters.written_back),
        "gc_updates": some(counters.gc_updates),
        "checkpoints": some(counters.checkpoints),
        "checkpointed": some(counters.checkpointed),
        "moved": some(counters.moved),
        "erases": some(counters.erases),
    })
}

fn flash_writes(counters: &Counters) -> Value {
    let by = |cause: Cause| counters.programs[cause as usize];
    json!({
        "host": by(Cause::Host),
        "unique": by(Cause::Unique),
        "missed_duplicate": by(Cause::MissedDuplicate),
        "reborn": by(Cause::Reborn),
        "gc": by(Cause::Gc),
        "replica": by(Cause::Replica),
        "metadata": by(Cause::Metadata),
        "wear_levelling": by(Cause::WearLevelling),
    })
}

fn erases(run: &Finished<'_>) -> Value {
    let wear = run.engine.controller.wear();
    let cycles = f64::from(run.resolved.device.pe_cycles);
    let blocks: u64 = wear.iter().map(|&(_, blocks)| blocks).sum();
    let total: u64 = wear.iter().map(|&(erases, blocks)| u64::from(erases) * blocks).sum();
    let mean = total as f64 / blocks as f64;
    let square = |erases: u32| (f64::from(erases) - mean).powi(2);
    let variance =
        wear.iter().map(|&(erases, blocks)| square(erases) * blocks as f64).sum::<f64>() / blocks as f64;
    let (least, most) = (wear.first().map_or(0, |w| w.0), wear.last().map_or(0, |w| w.0));
    json!({
        "total": total,
        "blocks": blocks,
        "per_block_mean": mean,
        "per_block_stddev": variance.sqrt(),
        "per_block_min": least,
        "per_block_max": most,
        "blocks_levelled": run.engine.controller.counters().blocks_levelled,
        "pe_cycles": run.resolved.device.pe_cycles,
        "life_used_percent": mean / cycles * 100.0,
        "life_used_worst_percent": f64::from(most) / cycles * 100.0,
    })
}

fn replication(run: &Finished<'_>) -> Value {
    let ftl = &run.engine.controller;
    let copying = &ftl.counters().copying;
    json!({
        "passes": run.replication_passes,
        "copies": ftl.counters().replicas_made,
        "dropped": ftl.counters().replicas_dropped,
        "serial_ns": run.periods.iter().map(|row| row.phase.serial_ns).sum::<u64>(),
        "parallel_ns": run.periods.iter().map(|row| row.phase.parallel_ns).sum::<u64>(),
        // What of the collection elsewhere in this summary copies set off.
        "gc_reads": copying.gc_reads,
        "gc_programs": copying.gc_programs,
        "wear_levelling_programs": copying.wear_levelling_programs,
        "erases": copying.erases,
        "replica_pages": ftl.replica_pages(),
        "replica_pages_peak": ftl.peak().replica_pages,
        "budget_pages": ftl.budget_pages(),
    })
}

/// What spreading of duplicates did, and the jobs in the background.
fn spread(run: &Finished<'_>) -> Value {
    let (counters, counts) = (run.engine.controller.counters(), &run.engine.counts);
    let sizes = run.engine.controller.table_sizes();
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    json!({
        "redirected_read_share": share(counts.redirected_reads, counts.page_ops[0]),
        "redirected_write_share": share(counters.redirected_writes, counts.page_ops[1]),
        "filter_positives": counters.filter_positives,
        "filter_false_positives": counters.filter_false_positives,
        "filter_stale_positives": counters.filter_stale_positives,
        "filter_rebuilds": counters.filter_rebuilds,
        "comparisons": counters.comparisons,
        "comparisons_void": counters.comparisons_void,
        "twins_found": counters.twins_found,
        "twin_contents": sizes.twin_lists,
        "twin_pages": sizes.twin_pages,
        "jobs_dropped": counters.jobs_dropped,
    })
}

/// Partitions, hottest first; none where the host's data are not told apart.
fn partitions(run: &Finished<'_>) -> Vec<Value> {
    let of = |size: &PartitionSize| {
        json!({
            "pages_written": size.pages_written,
            "blocks": size.blocks,
            "valid_pages": size.valid_pages,
        })
    };
    run.engine.controller.partition_sizes().iter().map(of).collect()
}

/// Pages that hold what another page of their plane holds.
fn redundancy(run: &Finished<'_>) -> Value {
    let shares: Vec<f64> = run.plane_contents.iter().flatten().filter_map(plane_redundancy).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / shares.len() as f64;
    let of = |value: f64| (!shares.is_empty()).then_some(value);
    json!({ "plane_mean": of(mean), "plane_stddev": of(variance.sqrt()) })
}

/// Share of a plane's pages that hold what another holds, one page of each content not counted.
pub(super) fn plane_redundancy(plane: &PlaneContents) -> Option<f64> {
    (plane.pages > 0).then(|| (plane.pages - plane.contents) as f64 / plane.pages as f64)
}

/// How busy the hash unit was; nulls for a system that does not hash.
fn hash_unit(run: &Finished<'_>) -> Value {
    let busy = run.engine.hash_unit_busy();
    let end_ns = run.engine.now_ns() as f64;
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    json!({
        "lanes": busy.map(|(lanes, _)| lanes),
        "pages": busy.map(|_| run.engine.pages_hashed()),
        "utilisation": busy.and_then(|(lanes, busy_ns)| share(busy_ns as f64, lanes as f64 * end_ns)),
        "queue_mean": busy.and_then(|_| share(run.hash_queue.0, end_ns)),
        "queue_max": busy.map(|_| run.hash_queue.1),
    })
}

/// Share of time busy: a list's mean and standard deviation.
fn utilisation(run: &Finished<'_>) -> Value {
    let end = run.engine.now_ns() as f64;
    let spread = |busy: Vec<u64>| {
        if end == 0.0 {
            return (None, None);
        }
        let shares: Vec<f64> = busy.iter().map(|&busy| busy as f64 / end).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / shares.len() as f64;
        (Some(mean), Some(variance.sqrt()))
    };
    let (channel_mean, channel_stddev) = spread(run.engine.channel_busy_ns());
    let (chip_mean, chip_stddev) = spread(run.engine.chip_busy_ns());
    json!({
        "channel_mean": channel_mean, "channel_stddev": channel_stddev,
        "chip_mean": chip_mean, "chip_stddev": chip_stddev,
    })
}
