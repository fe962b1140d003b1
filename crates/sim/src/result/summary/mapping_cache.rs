//! What pages of the mapping tables on flash cost.

use schemars::JsonSchema;
use serde::Serialize;

use crate::finished::Finished;

/// All `null` while all tables are in RAM and never written ([the model](model.md#mapping-tables-on-flash)).
/// `written_back` + `gc_updates` + `checkpointed` + `moved` = `flash_writes.metadata`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MappingCache {
    /// Pages that the mapping tables have.
    pages: Option<u64>,
    /// Pages of the tables in RAM at the end.
    pages_cached: Option<u64>,
    /// Pages of the tables in RAM at the end whose changes are not on flash.
    pages_dirty: Option<u64>,
    /// Pages of the tables that were ever written to flash.
    pages_on_flash: Option<u64>,
    /// Uses of pages in RAM, or never written; collection's own changes are not counted.
    hits: Option<u64>,
    /// Uses of pages that had to be read; collection's own changes are not counted.
    misses: Option<u64>,
    /// `hits` / (`hits` + `misses`).
    hit_ratio: Option<f64>,
    /// How often a page operation of the host waited for pages of the tables (a write may do so again when its hash
    /// is known, where the fingerprint store is paged).
    waits: Option<u64>,
    /// How long such a wait takes on average.
    wait_mean_ns: Option<f64>,
    /// Programs of changed pages that gave way to others.
    written_back: Option<u64>,
    /// Programs of pages, not in RAM, of which collection changed entries.
    gc_updates: Option<u64>,
    /// Checkpoints that wrote something.
    checkpoints: Option<u64>,
    /// Programs of checkpoints.
    checkpointed: Option<u64>,
    /// Programs of the collection of translation pages.
    moved: Option<u64>,
    /// Erases of the collection of translation pages.
    erases: Option<u64>,
}

impl MappingCache {
    pub(super) fn of(run: &Finished<'_>) -> MappingCache {
        let (ftl, counts) = (&run.engine.controller, &run.engine.counts);
        let (counters, sizes) = (ftl.counters().mapping, ftl.paging_sizes());
        let some = |value: u64| sizes.map(|_| value);
        let waits = counts.table_waits;
        MappingCache {
            pages: sizes.map(|sizes| sizes.pages),
            pages_cached: sizes.map(|sizes| sizes.pages_cached),
            pages_dirty: sizes.map(|sizes| sizes.pages_dirty),
            pages_on_flash: sizes.map(|sizes| sizes.pages_on_flash),
            hits: some(counters.hits),
            misses: some(counters.misses),
            hit_ratio: counters.hit_ratio(),
            waits: some(waits),
            wait_mean_ns: (waits > 0).then(|| counts.table_wait_ns as f64 / waits as f64),
            written_back: some(counters.written_back),
            gc_updates: some(counters.gc_updates),
            checkpoints: some(counters.checkpoints),
            checkpointed: some(counters.checkpointed),
            moved: some(counters.moved),
            erases: some(counters.erases),
        }
    }
}
