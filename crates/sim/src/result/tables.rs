//! The tables of a run, as Arrow record batches.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use flashtwin_ftl::Cause;

use super::summary::{all_ledgers, plane_redundancy};
use crate::engine::Charge;
use crate::error::SimError;
use crate::metrics::{QueueSeries, Share};
use crate::run::{Finished, PeriodRow};

type Table = Result<RecordBatch, SimError>;

pub(crate) fn tables(run: &mut Finished<'_>) -> Result<Vec<(String, RecordBatch)>, SimError> {
    let list: [(&str, Table); 11] = [
        ("periods", periods(&run.periods)),
        ("chips", chips(run)),
        ("channels", channels(run)),
        ("planes", planes(run)),
        ("queue_over_time", queue_over_time(run)),
        ("hash_queue_over_time", hash_queue_over_time(run)),
        ("wait_ledger", wait_ledger(run)),
        ("latency_histogram", latency_histogram(run)),
        ("gc_victims", gc_victims(run)),
        ("copies", copies(run)),
        ("blocks", blocks(run)),
    ];
    list.into_iter().map(|(name, table)| Ok((name.to_owned(), table?))).collect()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Table {
    // Nullable whatever the data, so that the tables of all runs have one schema.
    let columns = columns.into_iter().map(|(name, values)| (name, values, true));
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| SimError::Table(error.to_string()))
}

fn u32s(values: impl IntoIterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn u64s(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn i64s(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn f64s(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Float64Array>())
}

fn periods(rows: &[PeriodRow]) -> Table {
    let count = |of: fn(&PeriodRow) -> u64| u64s(rows.iter().map(of));
    let percentile = |of: fn(&PeriodRow) -> Option<u64>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<UInt64Array>())
    };
    batch(vec![
        ("period", u32s(0..rows.len() as u32)),
        ("start_ns", i64s(rows.iter().map(|row| row.start_ns))),
        ("end_ns", i64s(rows.iter().map(|row| row.end_ns))),
        ("reads", count(|row| row.engine.requests[0])),
        ("writes", count(|row| row.engine.requests[1])),
        ("read_mean_ns", f64s(rows.iter().map(|row| row.reads.mean_ns()))),
        ("write_mean_ns", f64s(rows.iter().map(|row| row.writes.mean_ns()))),
        ("all_mean_ns", f64s(rows.iter().map(|row| row.reads.mean_with_ns(&row.writes)))),
        ("read_p99_ns", percentile(|row| row.reads.p99_ns)),
        ("write_p99_ns", percentile(|row| row.writes.p99_ns)),
        ("page_reads", count(|row| row.engine.page_ops[0])),
        ("page_writes", count(|row| row.engine.page_ops[1])),
        ("buffer_reads", count(|row| row.engine.buffer_reads)),
        ("redirected_reads", count(|row| row.engine.redirected_reads)),
        ("redirected_writes", count(|row| row.ftl.redirected_writes)),
        ("merged_reads", count(|row| row.engine.merged_reads)),
        ("new_value_reads", count(|row| row.ftl.new_value_reads)),
        ("replicated_value_reads", count(|row| row.ftl.replicated_value_reads)),
        ("duplicate_writes", count(|row| row.ftl.duplicate_writes)),
        ("host_programs", count(|row| row.ftl.host_programs())),
        ("gc_programs", count(|row| row.ftl.programs[Cause::Gc as usize])),
        ("replica_programs", count(|row| row.ftl.programs[Cause::Replica as usize])),
        ("metadata_programs", count(|row| row.ftl.programs[Cause::Metadata as usize])),
        ("wear_programs", count(|row| row.ftl.programs[Cause::WearLevelling as usize])),
        ("erases", count(|row| row.ftl.erases)),
        ("copies", count(|row| row.ftl.replicas_made)),
        ("replication_gc_programs", count(|row| row.ftl.copying.gc_programs)),
        ("replication_erases", count(|row| row.ftl.copying.erases)),
        ("replication_serial_ns", count(|row| row.phase.serial_ns)),
        ("replication_parallel_ns", count(|row| row.phase.parallel_ns)),
        ("replica_pages", count(|row| row.replica_pages)),
        ("pages_in_use", count(|row| row.pages_in_use)),
    ])
}

fn chips(run: &mut Finished<'_>) -> Table {
    let end_ns = run.engine.now_ns();
    let queue: Vec<_> = run.engine.observer.queues.finish(end_ns);
    let engine = &run.engine;
    let geometry = &run.resolved.device.geometry;
    let (busy, ftl, metrics) = (engine.chip_busy_ns(), &engine.controller, &engine.observer);
    let share = |part: f64| (end_ns > 0).then(|| part / end_ns as f64);
    let area = |bins: &[crate::metrics::Bin]| bins.iter().map(|bin| bin.area as f64).sum::<f64>();
    batch(vec![
        ("chip", u32s(0..geometry.chips())),
        ("channel", u32s((0..geometry.chips()).map(|chip| geometry.channel_of_chip(chip)))),
        ("reads", u64s(metrics.chip_reads.iter().copied())),
        ("redirected_reads", u64s(metrics.chip_redirected.iter().copied())),
        ("programs", u64s(metrics.chip_programs.iter().copied())),
        ("erases", u64s(ftl.chip_erases().iter().copied())),
        ("busy_ns", u64s(busy.iter().copied())),
        ("utilisation", f64s(busy.iter().map(|&busy| share(busy as f64)))),
        ("queue_mean", f64s(queue.iter().map(|bins| share(area(bins))))),
        ("queue_max", u32s(queue.iter().map(|bins| bins.iter().map(|bin| bin.max).max().unwrap_or(0)))),
        ("valid_pages", u64s(ftl.chip_valid_pages().iter().copied())),
        ("replica_pages", u64s(ftl.chip_replica_pages())),
    ])
}

fn channels(run: &Finished<'_>) -> Table {
    let end_ns = run.engine.now_ns();
    let busy = run.engine.channel_busy_ns();
    batch(vec![
        ("channel", u32s(0..busy.len() as u32)),
        ("busy_ns", u64s(busy.iter().copied())),
        ("utilisation", f64s(busy.iter().map(|&busy| (end_ns > 0).then(|| busy as f64 / end_ns as f64)))),
    ])
}

/// What lies on each plane; contents only where they are known.
fn planes(run: &Finished<'_>) -> Table {
    let ftl = &run.engine.controller;
    let geometry = &run.resolved.device.geometry;
    let chip = |plane| geometry.chip_of_plane(plane);
    let known = |plane: u32| run.plane_contents.as_ref().map(|planes| planes[plane as usize]);
    let all = 0..geometry.planes();
    batch(vec![
        ("plane", u32s(all.clone())),
        ("chip", u32s(all.clone().map(chip))),
        ("channel", u32s(all.clone().map(|plane| geometry.channel_of_chip(chip(plane))))),
        ("valid_pages", u64s(ftl.plane_valid_pages())),
        (
            "contents",
            Arc::new(
                all.clone().map(|plane| known(plane).map(|known| known.contents)).collect::<UInt64Array>(),
            ),
        ),
        ("redundancy", f64s(all.map(|plane| known(plane).and_then(|known| plane_redundancy(&known))))),
    ])
}

/// Mean and longest queue by time and, of each time, by queue: columns that both series have.
fn series(queues: &mut QueueSeries, end_ns: u64) -> (Vec<(&'static str, ArrayRef)>, usize) {
    let chips = queues.finish(end_ns);
    let width = queues.width_ns();
    let bins = chips.first().map_or(0, Vec::len);
    let cells = || (0..bins).flat_map(|bin| (0..chips.len()).map(move |chip| (bin, chip)));
    // The last bin is only as long as the run.
    let length = |bin: usize| width.min(end_ns - bin as u64 * width);
    let mean = |(bin, chip): (usize, usize)| {
        (length(bin) > 0).then(|| chips[chip][bin].area as f64 / length(bin) as f64)
    };
    let columns = vec![
        ("start_ns", i64s(cells().map(|(bin, _)| (bin as u64 * width) as i64))),
        ("width_ns", i64s(cells().map(|(bin, _)| length(bin) as i64))),
        ("chip", u32s(cells().map(|(_, chip)| chip as u32))),
        ("queue_mean", f64s(cells().map(mean))),
        ("queue_max", u32s(cells().map(|(bin, chip)| chips[chip][bin].max))),
    ];
    (columns, bins)
}

fn queue_over_time(run: &mut Finished<'_>) -> Table {
    let end_ns = run.engine.now_ns();
    batch(series(&mut run.engine.observer.queues, end_ns).0)
}

/// The hash unit's queue; no rows for a system that does not hash.
fn hash_queue_over_time(run: &mut Finished<'_>) -> Table {
    let end_ns = run.engine.now_ns();
    let hashes = run.engine.hash_unit_busy().is_some();
    let (mut columns, bins) = series(&mut run.engine.observer.hash_queue, end_ns);
    columns.retain(|(name, _)| *name != "chip");
    let rows = if hashes { bins } else { 0 };
    batch(columns.into_iter().map(|(name, values)| (name, values.slice(0, rows))).collect())
}

/// Where the time of all requests went, and that of the slowest.
fn wait_ledger(run: &Finished<'_>) -> Table {
    let metrics = &run.engine.observer;
    let all = all_ledgers(metrics);
    let mut rows = Vec::new();
    for (kind, ledgers) in
        [("read", metrics.reads.ledgers()), ("write", metrics.writes.ledgers()), ("all", &all)]
    {
        let requests = ledgers.whole().count;
        let of = |part: u64| requests.div_ceil(part);
        for (slice, count) in
            [("all", requests), ("slowest_1_percent", of(100)), ("slowest_0_1_percent", of(1000))]
        {
            let share = ledgers.slowest(count);
            rows.extend(Charge::ALL.map(|charge| (kind, slice, charge, share)));
        }
    }
    let texts = |of: fn(&(&'static str, &'static str, Charge, Share)) -> &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let mean = |(_, _, charge, share): &(_, _, Charge, Share)| {
        (share.count > 0).then(|| share.charges_ns[*charge as usize] as f64 / share.count as f64)
    };
    let percent = |(_, _, charge, share): &(_, _, Charge, Share)| {
        let total = share.total_ns();
        (total > 0).then(|| share.charges_ns[*charge as usize] as f64 / total as f64 * 100.0)
    };
    batch(vec![
        ("kind", texts(|row| row.0)),
        ("requests", texts(|row| row.1)),
        ("count", u64s(rows.iter().map(|row| row.3.count))),
        ("from_ns", u64s(rows.iter().map(|row| row.3.from_ns))),
        ("part", texts(|row| row.2.part())),
        ("charge", texts(|row| row.2.name())),
        ("mean_ns", f64s(rows.iter().map(mean))),
        ("percent", f64s(rows.iter().map(percent))),
    ])
}

fn latency_histogram(run: &Finished<'_>) -> Table {
    let metrics = &run.engine.observer;
    let (reads, writes) = (metrics.reads.whole(), metrics.writes.whole());
    let mut all = reads.clone();
    all.add(writes);
    let mut rows = Vec::new();
    for (kind, tally) in [("read", reads), ("write", writes), ("all", &all)] {
        for value in tally.histogram.iter_recorded() {
            rows.push((kind, value.value_iterated_to(), value.count_at_value()));
        }
    }
    batch(vec![
        ("kind", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)))),
        ("upper_ns", u64s(rows.iter().map(|row| row.1))),
        ("count", u64s(rows.iter().map(|row| row.2))),
    ])
}

fn gc_victims(run: &Finished<'_>) -> Table {
    let victims = run.engine.controller.victim_pages();
    let seen = || victims.iter().enumerate().filter(|(_, count)| **count > 0);
    batch(vec![
        ("valid_pages", u32s(seen().map(|(pages, _)| pages as u32))),
        ("victims", u64s(seen().map(|(_, &count)| count))),
    ])
}

fn copies(run: &Finished<'_>) -> Table {
    let contents = run.engine.controller.copies();
    let seen = || contents.iter().enumerate().filter(|(_, count)| **count > 0);
    batch(vec![
        ("copies", u32s(seen().map(|(copies, _)| copies as u32))),
        ("contents", u64s(seen().map(|(_, &count)| count))),
    ])
}

fn blocks(run: &Finished<'_>) -> Table {
    let wear = run.engine.controller.wear();
    batch(vec![
        ("erase_count", u32s(wear.iter().map(|row| row.0))),
        ("blocks", u64s(wear.iter().map(|row| row.1))),
    ])
}
