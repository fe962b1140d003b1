use flashtwin_ftl::{CopyingCounts, ReplicationCounts, SpreadCounts};
use schemars::JsonSchema;
use serde::Serialize;

use crate::finished::FinishedRun;
use crate::mirror::MirrorCounts;

/// Copies made on purpose, and their cost.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Replication {
    /// Ends of periods at which copies could be made; 0 for a system that makes copies within
    /// periods.
    passes: u64,
    #[serde(flatten)]
    counted: ReplicationCounts,
    /// Duration of all passes, with one operation at a time.
    serial_ns: u64,
    /// Duration of all passes, with all chips in parallel.
    parallel_ns: u64,
    #[serde(flatten)]
    set_off: CopyingCounts,
    /// Replicas on flash at the end.
    replica_pages: u64,
    /// Most replicas on flash at any moment.
    replica_pages_peak: u64,
    /// Pages that first copies and replicas may use together; `null` without replication.
    budget_pages: Option<u64>,
    /// The mirror; only with `replay.mirror`. Its requests have its times in all tables. Page and flash
    /// operations, chips and throughput of other figures are those of the drive that replicates.
    #[serde(skip_serializing_if = "Option::is_none")]
    mirror: Option<MirrorCounts>,
}

impl Replication {
    pub(super) fn of(run: &FinishedRun<'_>) -> Replication {
        let ftl = run.engine.controller();
        Replication {
            passes: run.replication_passes,
            counted: run.counted.ftl.replication,
            serial_ns: run.periods.iter().map(|period| period.phase.serial_ns).sum(),
            parallel_ns: run.periods.iter().map(|period| period.phase.parallel_ns).sum(),
            set_off: run.counted.ftl.copying,
            replica_pages: ftl.replica_pages(),
            replica_pages_peak: ftl.peak().replica_pages,
            budget_pages: ftl.budget_pages(),
            mirror: run.mirror,
        }
    }
}

/// All 0 in a system that does not spread duplicates, except `redirected_read_share` and, with
/// copies in the background, `jobs_dropped`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Spread {
    /// `page_ops.redirected_reads` / `page_ops.read`.
    redirected_read_share: Option<f64>,
    /// `page_ops.redirected_writes` / `page_ops.write`.
    redirected_write_share: Option<f64>,
    #[serde(flatten)]
    took: SpreadCounts,
    /// Lists of duplicate pages at the end.
    twin_contents: u64,
    /// Pages on lists of duplicate pages at the end.
    twin_pages: u64,
}

impl Spread {
    pub(super) fn of(run: &FinishedRun<'_>) -> Spread {
        let (counters, counts) = (&run.counted.ftl, &run.counted.engine);
        let sizes = run.engine.controller().table_sizes();
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        Spread {
            redirected_read_share: share(counts.pages.redirected_reads, counts.page_ops[0]),
            redirected_write_share: share(counters.pages.redirected_writes, counts.page_ops[1]),
            took: counters.spread,
            twin_contents: sizes.twin_lists,
            twin_pages: sizes.twin_pages,
        }
    }
}
