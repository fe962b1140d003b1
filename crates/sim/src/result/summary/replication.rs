//! Copies that were made on purpose, and duplicates that were kept on purpose.

use schemars::JsonSchema;
use serde::Serialize;

use crate::finished::Finished;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Replication {
    /// Ends of periods at which copies were made, or could have been; 0 for a system that makes its copies within
    /// periods.
    passes: u64,
    /// Replicas made.
    copies: u64,
    /// Replicas dropped while their content lived.
    dropped: u64,
    /// Durations of all passes, summed: one operation after another.
    serial_ns: u64,
    /// Durations of all passes, summed: all chips at work.
    parallel_ns: u64,
    /// Of `flash_reads`, what the programs of copies set off at once: steps of collection behind them.
    gc_reads: u64,
    /// Of `flash_writes.gc`, what the programs of copies set off at once.
    gc_programs: u64,
    /// Of `flash_writes.wear_levelling`, what the programs of copies set off at once.
    wear_levelling_programs: u64,
    /// Of `erases.total`, what the programs of copies set off at once: blocks emptied to make room for them.
    erases: u64,
    /// Replicas on flash at the end.
    replica_pages: u64,
    /// Most replicas on flash at any moment.
    replica_pages_peak: u64,
    /// Pages that first copies and replicas may use together; `null` without replication.
    budget_pages: Option<u64>,
}

impl Replication {
    pub(super) fn of(run: &Finished<'_>) -> Replication {
        let ftl = &run.engine.controller;
        let copying = &ftl.counters().copying;
        Replication {
            passes: run.replication_passes,
            copies: ftl.counters().replicas_made,
            dropped: ftl.counters().replicas_dropped,
            serial_ns: run.periods.iter().map(|period| period.phase.serial_ns).sum(),
            parallel_ns: run.periods.iter().map(|period| period.phase.parallel_ns).sum(),
            gc_reads: copying.gc_reads,
            gc_programs: copying.gc_programs,
            wear_levelling_programs: copying.wear_levelling_programs,
            erases: copying.erases,
            replica_pages: ftl.replica_pages(),
            replica_pages_peak: ftl.peak().replica_pages,
            budget_pages: ftl.budget_pages(),
        }
    }
}

/// All 0 in a system that does not spread duplicates, except `redirected_read_share`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Spread {
    /// `page_ops.redirected_reads` / `page_ops.read`.
    redirected_read_share: Option<f64>,
    /// `page_ops.redirected_writes` / `page_ops.write`.
    redirected_write_share: Option<f64>,
    /// Answers "may hold it" of the channels' filters to a page written.
    filter_positives: u64,
    /// Of `filter_positives`, those without an entry of the content: the bits of other entries.
    filter_false_positives: u64,
    /// Of `filter_positives`, those with an entry of the content whose last page in the channel has died.
    filter_stale_positives: u64,
    /// Filters made anew.
    filter_rebuilds: u64,
    /// Comparisons of a page written with one page or more, begun.
    comparisons: u64,
    /// Pages that had moved or held something else when they had been compared.
    comparisons_void: u64,
    /// Comparisons of two pages that made them twins, or joined the lists they were on.
    twins_found: u64,
    /// Lists of twins at the end.
    twin_contents: u64,
    /// Pages on lists of twins at the end.
    twin_pages: u64,
    /// Comparisons that were not begun because too many waited.
    jobs_dropped: u64,
}

impl Spread {
    pub(super) fn of(run: &Finished<'_>) -> Spread {
        let (counters, counts) = (run.engine.controller.counters(), &run.engine.counts);
        let sizes = run.engine.controller.table_sizes();
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        Spread {
            redirected_read_share: share(counts.redirected_reads, counts.page_ops[0]),
            redirected_write_share: share(counters.redirected_writes, counts.page_ops[1]),
            filter_positives: counters.filter_positives,
            filter_false_positives: counters.filter_false_positives,
            filter_stale_positives: counters.filter_stale_positives,
            filter_rebuilds: counters.filter_rebuilds,
            comparisons: counters.comparisons,
            comparisons_void: counters.comparisons_void,
            twins_found: counters.twins_found,
            twin_contents: sizes.twin_lists,
            twin_pages: sizes.twin_pages,
            jobs_dropped: counters.jobs_dropped,
        }
    }
}
