use flashtwin_ftl::MappingCounts;
use schemars::JsonSchema;
use serde::Serialize;

use super::or_null::OrNull;
use crate::engine::TableWaitCounts;
use crate::finished::FinishedRun;

/// All `null` while all tables are in RAM ([the model](model.md#mapping-tables-on-flash)).
/// `written_back` + `gc_updates` + `checkpointed` + `moved` = `flash_writes.metadata`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MappingCache {
    /// Pages of the mapping tables.
    pages: Option<u64>,
    /// Pages in RAM at the end.
    pages_cached: Option<u64>,
    /// Changed pages in RAM at the end.
    pages_dirty: Option<u64>,
    /// Pages ever written to flash.
    pages_on_flash: Option<u64>,
    #[serde(flatten)]
    counted: OrNull<MappingCounts>,
    /// `hits` / (`hits` + `misses`).
    hit_ratio: Option<f64>,
    #[serde(flatten)]
    waited: OrNull<TableWaitCounts>,
    /// Mean time of such a wait.
    wait_mean_ns: Option<f64>,
}

impl MappingCache {
    pub(super) fn of(run: &FinishedRun<'_>) -> MappingCache {
        let (ftl, counts) = (run.engine.controller(), &run.counted.engine);
        let (counters, sizes) = (run.counted.ftl.mapping, ftl.paging_sizes());
        let waits = counts.tables.waits;
        MappingCache {
            pages: sizes.map(|sizes| sizes.pages),
            pages_cached: sizes.map(|sizes| sizes.pages_cached),
            pages_dirty: sizes.map(|sizes| sizes.pages_dirty),
            pages_on_flash: sizes.map(|sizes| sizes.pages_on_flash),
            counted: OrNull(sizes.map(|_| counters)),
            hit_ratio: counters.hit_ratio(),
            waited: OrNull(sizes.map(|_| counts.tables)),
            wait_mean_ns: (waits > 0).then(|| counts.table_wait_ns as f64 / waits as f64),
        }
    }
}
