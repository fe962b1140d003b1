use flashtwin_bits::By;
use flashtwin_ftl::{Cause, DedupCounts, Mapping, PartitionSize, PlaneContents, PlaneWrites};
use flashtwin_nand::Plane;
use schemars::JsonSchema;
use serde::Serialize;

use super::mean_and_stddev;
use super::or_null::OrNull;
use crate::finished::FinishedRun;

/// Duplicates found, and their cost; all `null` for a system that ignores contents.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Dedup {
    #[serde(flatten)]
    counted: OrNull<DedupCounts>,
    /// Page writes recognised as duplicates (`page_ops.duplicate_writes`).
    duplicates_inline: Option<u64>,
    /// Programs of a content that was already on flash, less those merged later.
    duplicates_missed: Option<u64>,
    /// Pages without a fingerprint that wait for idle time at the end; 0 without out-of-line deduplication.
    unhashed_pages: Option<u64>,
}

impl Dedup {
    pub(super) fn of(run: &FinishedRun<'_>) -> Dedup {
        let counters = &run.counted.ftl;
        let looks = run.resolved.config.ftl.mapping == Mapping::Content;
        let some = |value: u64| looks.then_some(value);
        let missed = counters.programs[Cause::MissedDuplicate as usize];
        Dedup {
            counted: OrNull(looks.then_some(counters.dedup)),
            duplicates_inline: some(counters.pages.duplicate_writes),
            duplicates_missed: some(missed.saturating_sub(counters.dedup.duplicates_out_of_line)),
            unhashed_pages: some(run.engine.controller().unhashed_pages()),
        }
    }
}

/// A list, hottest first or in the host's order; empty without partitions (`ftl.partition.policy = "none"`).
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Partition {
    /// Host page writes to the partition, duplicates included, since the warm-up.
    pages_written: u64,
    /// Pages that collection and wear levelling moved out of its blocks, since the warm-up. With
    /// `ftl.partition.isolation = "initial"` all moved pages are of the last partition from then on.
    pages_moved: u64,
    /// Blocks with pages of it at the end.
    blocks: u64,
    /// Valid pages in those blocks at the end.
    valid_pages: u64,
}

impl Partition {
    pub(super) fn of((size, &[pages_written, pages_moved]): (&PartitionSize, &[u64; 2])) -> Partition {
        Partition { pages_written, pages_moved, blocks: size.blocks, valid_pages: size.valid_pages }
    }
}

/// Share of a plane's valid pages whose content another page of it holds
/// ([definition](model.md#definitions)), over the planes with pages, at the end; `null` if contents
/// are not known.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Redundancy {
    /// Mean over the planes.
    plane_mean: Option<f64>,
    /// Standard deviation over the planes.
    plane_stddev: Option<f64>,
    /// Share of a plane's writes that repeat an earlier content of the plane, mean over the planes;
    /// `null` unless `ftl.spread.count_written` is on.
    written_mean: Option<f64>,
    /// The same, with the first write of each repeated content included.
    written_equal_mean: Option<f64>,
}

impl Redundancy {
    pub(super) fn of(run: &FinishedRun<'_>) -> Redundancy {
        let (plane_mean, plane_stddev) = spread(&run.plane_contents, plane_redundancy).unzip();
        let written = |share| spread(&run.plane_writes, share).map(|(mean, _)| mean);
        Redundancy {
            plane_mean,
            plane_stddev,
            written_mean: written(repeated_writes),
            written_equal_mean: written(equal_pages),
        }
    }
}

fn spread<T>(planes: &Option<By<Plane, Vec<T>>>, share: fn(&T) -> Option<f64>) -> Option<(f64, f64)> {
    let shares: Vec<f64> = planes.iter().flat_map(|planes| planes.iter()).filter_map(share).collect();
    (!shares.is_empty()).then(|| mean_and_stddev(&shares))
}

/// Share of the pages written to a plane whose content it was written before.
pub(in crate::result) fn repeated_writes(plane: &PlaneWrites) -> Option<f64> {
    (plane.pages > 0).then(|| (plane.pages - plane.contents) as f64 / plane.pages as f64)
}

/// Share of the pages written to a plane whose content another one written to it has.
pub(in crate::result) fn equal_pages(plane: &PlaneWrites) -> Option<f64> {
    let equal = plane.pages - plane.contents + plane.repeated;
    (plane.pages > 0).then(|| equal as f64 / plane.pages as f64)
}

/// Share of a plane's pages whose content another one holds, one page of each content not counted.
pub(in crate::result) fn plane_redundancy(plane: &PlaneContents) -> Option<f64> {
    (plane.pages > 0).then(|| (plane.pages - plane.contents) as f64 / plane.pages as f64)
}
