//! Controller counters. Comments of structs with `Serialize` are the text of `docs/results.md`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::counts;
use crate::op::Cause;

counts! {
    /// Operations decided since the counters were last reset (after preloading). A counter
    /// published unchanged lives in the sub-struct of its result section; one that only feeds a
    /// derived figure lives here.
    pub struct Counters {
        /// Pages programmed, by [`Cause`].
        pub programs: [u64; Cause::COUNT],
        /// Pages read from flash, by [`Cause`].
        pub reads: [u64; Cause::COUNT],
        /// Blocks erased.
        pub erases: u64,
        /// Page writes of the host.
        pub host_pages_written: u64,
        /// Page reads of the host of pages never written.
        pub unmapped_reads: u64,
        /// Page reads served by another chip than the home copy's.
        pub redirected_reads: u64,
        /// Outcomes of the host's page operations.
        pub pages: PageCounts,
        /// Duplicates found, and their cost.
        pub dedup: DedupCounts,
        /// Copies made on purpose.
        pub replication: ReplicationCounts,
        /// Collection and wear levelling, of the above, that programs of copies set off.
        pub copying: CopyingCounts,
        /// Cost of spreading duplicates.
        pub spread: SpreadCounts,
        /// Wear levelling.
        pub wear: WearCounts,
        /// Cost of mapping tables on flash.
        pub mapping: MappingCounts,
    }
}

counts! {
    /// Outcomes of the host's page operations.
    #[derive(Serialize, JsonSchema)]
    pub struct PageCounts {
        /// Page writes moved to another channel because the proposed one might hold their content.
        pub redirected_writes: u64,
        /// Page writes of zeroes that only the mapping table took (`ftl.zero_page`). Reads of such
        /// pages count as those of pages never written.
        pub zero_writes: u64,
        /// Page writes whose content the device recognised as a duplicate.
        pub duplicate_writes: u64,
        /// Page reads of contents read for the first time in this run; 0 under a page map, which
        /// ignores contents.
        pub new_value_reads: u64,
        /// Page reads of contents that had replicas at the time.
        pub replicated_value_reads: u64,
        /// Host pages written to another plane because the proposed one was full.
        pub allocation_fallbacks: u64,
        /// Page writes without a stream that has a partition (`ftl.partition.policy = "streams"`).
        pub writes_without_handle: u64,
        /// Pages that collection moved in idle time (`ftl.gc.idle`); included in `flash_writes.gc`.
        pub idle_moves: u64,
    }
}

counts! {
    /// Duplicates found, and their cost.
    #[derive(Serialize, JsonSchema)]
    pub struct DedupCounts {
        /// Page writes that were fingerprinted.
        pub hashes_inline: u64,
        /// Pages fingerprinted after their write.
        pub hashes_out_of_line: u64,
        /// Pages merged with a duplicate after their write.
        pub duplicates_out_of_line: u64,
        /// Entries of two-level tables that collection changes as it moves pages; counted for both
        /// schemes.
        pub gc_updates_two_level: u64,
        /// Entries of inverted tables that collection changes as it moves pages; counted for both
        /// schemes. Without replicas, which inverted tables cannot hold.
        pub gc_updates_inverted: u64,
    }
}

counts! {
    /// Copies made on purpose.
    #[derive(Serialize, JsonSchema)]
    pub struct ReplicationCounts {
        /// Replicas made.
        pub copies: u64,
        /// Replicas dropped before their content died.
        pub dropped: u64,
    }
}

counts! {
    /// Wear levelling.
    #[derive(Serialize, JsonSchema)]
    pub struct WearCounts {
        /// Blocks whose data static wear levelling moved.
        pub blocks_levelled: u64,
    }
}

counts! {
    /// Cost of spreading duplicates: filter queries, page comparisons.
    #[derive(Serialize, JsonSchema)]
    pub struct SpreadCounts {
        /// Positive answers of the channels' filters to page writes.
        pub filter_positives: u64,
        /// Of `filter_positives`: without an entry of the content (its bits are those of others).
        pub filter_false_positives: u64,
        /// Of `filter_positives`: with an entry of the content whose last page in the channel has
        /// died.
        pub filter_stale_positives: u64,
        /// Filters rebuilt.
        pub filter_rebuilds: u64,
        /// Comparisons begun, of a written page with one page or more.
        pub comparisons: u64,
        /// Pages that had moved or changed by the end of their comparison.
        pub comparisons_void: u64,
        /// Comparisons that found two equal pages (twins).
        pub twins_found: u64,
        /// Background jobs dropped because too many waited: comparisons, or copies.
        pub jobs_dropped: u64,
    }
}

counts! {
    /// Collection and wear levelling that programs of copies set off at once: the steps behind
    /// them, and blocks emptied to make room for them. Later work for the space that copies take is
    /// counted with its own cause, as it cannot be separated.
    #[derive(Serialize, JsonSchema)]
    pub struct CopyingCounts {
        /// Of `flash_reads`: collection that programs of copies set off at once.
        pub gc_reads: u64,
        /// Of `flash_writes.gc`: pages moved because of programs of copies.
        pub gc_programs: u64,
        /// Of `flash_writes.wear_levelling`: pages moved because of programs of copies.
        pub wear_levelling_programs: u64,
        /// Of `erases.total`: blocks emptied to make room for copies.
        pub erases: u64,
    }
}

counts! {
    /// Uses of mapping-table pages, and their traffic between flash and RAM; zeros if all tables
    /// are in RAM.
    #[derive(Serialize, JsonSchema)]
    pub struct MappingCounts {
        /// Uses of pages in RAM or never written, without those by collection.
        pub hits: u64,
        /// Uses of pages that had to be read, without those by collection.
        pub misses: u64,
        /// Programs of changed pages on eviction.
        pub written_back: u64,
        /// Programs of pages outside RAM that collection changed.
        pub gc_updates: u64,
        /// Checkpoints that wrote something.
        pub checkpoints: u64,
        /// Programs of checkpoints.
        pub checkpointed: u64,
        /// Programs of the collection of translation pages.
        pub moved: u64,
        /// Erases of the collection of translation pages.
        pub erases: u64,
    }
}

impl MappingCounts {
    /// Uses of pages in RAM / uses; `None` when there were none.
    pub fn hit_ratio(&self) -> Option<f64> {
        let uses = self.hits + self.misses;
        (uses > 0).then(|| self.hits as f64 / uses as f64)
    }
}

impl Counters {
    /// Attributes the work since `before` to copies.
    pub(crate) fn attribute_to_copies(&mut self, before: &Self) {
        let done = self.since(before);
        self.copying.gc_reads += done.reads[Cause::Gc as usize];
        self.copying.gc_programs += done.programs[Cause::Gc as usize];
        self.copying.wear_levelling_programs += done.programs[Cause::WearLevelling as usize];
        self.copying.erases += done.erases - done.mapping.erases;
    }

    /// Pages programmed for any cause.
    pub fn pages_programmed(&self) -> u64 {
        self.programs.iter().sum()
    }

    /// Pages programmed on the host's behalf.
    pub fn host_programs(&self) -> u64 {
        [Cause::Host, Cause::Unique, Cause::MissedDuplicate, Cause::Reborn]
            .iter()
            .map(|&cause| self.programs[cause as usize])
            .sum()
    }

    /// Pages programmed / pages the host wrote; `None` when it wrote nothing.
    pub fn write_amplification(&self) -> Option<f64> {
        self.write_amplification_of(self.host_pages_written)
    }

    /// The same for a host that wrote more pages than reached the controller.
    pub fn write_amplification_of(&self, host_pages: u64) -> Option<f64> {
        (host_pages > 0).then(|| self.pages_programmed() as f64 / host_pages as f64)
    }
}

/// Number of entries of each table of the controller, for RAM figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableSizes {
    /// Logical pages that are mapped.
    pub mapped_lpns: u64,
    /// Contents with a physical page.
    pub vpns: u64,
    /// Contents that the fingerprint store knows.
    pub fingerprints: u64,
    /// Replicas on flash.
    pub replicas: u64,
    /// Contents that have replicas.
    pub replicated_contents: u64,
    /// Pages in the classes of priority-LRU.
    pub listed_pages: u64,
    /// Contents with twins: lists of the secondary map of spread duplicates.
    pub twin_lists: u64,
    /// Pages in those lists.
    pub twin_pages: u64,
    /// Bytes of the Bloom filters.
    pub filter_bytes: u64,
    /// Bytes of the partitions' temperature statistics.
    pub partition_bytes: u64,
    /// Bytes of the simulator's own tables of logical and physical pages and blocks (lazily
    /// zeroed memory that was never touched not counted).
    pub page_table_bytes: u64,
    /// Bytes of the simulator's own tables of contents, replicas and duplicate pages included.
    pub content_table_bytes: u64,
}

/// Maxima since preloading ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// Physical pages with valid data.
    pub pages_in_use: u64,
    /// Replicas among them.
    pub replica_pages: u64,
}

/// Contents of a plane's valid pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaneContents {
    /// Valid pages whose content is known.
    pub pages: u64,
    /// Distinct contents among them.
    pub contents: u64,
}

/// Host writes of known contents to a plane, since preloading ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaneWrites {
    /// Pages.
    pub pages: u64,
    /// Distinct contents among them.
    pub contents: u64,
    /// Contents that were written to it more than once.
    pub repeated: u64,
}

/// One partition of the host's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionSize {
    /// Page writes of the host that went to it since preloading ended, duplicates included.
    pub pages_written: u64,
    /// Pages that collection and wear levelling moved out of its blocks since then.
    pub pages_moved: u64,
    /// Blocks that hold pages of it, open ones included.
    pub blocks: u64,
    /// Valid pages in them.
    pub valid_pages: u64,
}

flashtwin_bits::state!(Peak { pages_in_use, replica_pages });

#[cfg(test)]
mod tests {
    use super::{Cause, Counters, MappingCounts};

    /// Each cause with programs of its own: a bit.
    fn counters() -> Counters {
        let mut counters = Counters::default();
        counters.programs.iter_mut().enumerate().for_each(|(cause, programs)| *programs = 1 << cause);
        counters
    }

    #[test]
    fn the_host_programs_what_it_writes_whatever_the_content_is() {
        let causes = [Cause::Host, Cause::Unique, Cause::MissedDuplicate, Cause::Reborn];
        let expected: u64 = causes.iter().map(|&cause| 1 << cause as usize).sum();
        assert_eq!(counters().host_programs(), expected);
        assert!(expected < counters().pages_programmed());
    }

    #[test]
    fn write_amplification_is_missing_where_the_host_wrote_nothing() {
        let counters = counters();
        assert_eq!(counters.write_amplification_of(0), None);
        let all = counters.pages_programmed() as f64;
        assert_eq!([1, 4].map(|pages| counters.write_amplification_of(pages)), [Some(all), Some(all / 4.0)]);
    }

    #[test]
    fn copies_account_for_work_except_on_translation_pages() {
        let mut before = counters();
        (before.erases, before.mapping.erases) = (5, 2);
        let mut counters = before;
        (counters.erases, counters.mapping.erases) = (15, 5);
        counters.reads[Cause::Gc as usize] += 30;
        counters.programs[Cause::Gc as usize] += 31;
        counters.programs[Cause::WearLevelling as usize] += 32;
        counters.attribute_to_copies(&before);
        let copying = counters.copying;
        assert_eq!((copying.gc_reads, copying.gc_programs), (30, 31));
        assert_eq!((copying.wear_levelling_programs, copying.erases), (32, 10 - 3));
    }

    #[test]
    fn the_hit_ratio_is_of_all_uses_and_missing_without_any() {
        let ratio = |hits, misses| MappingCounts { hits, misses, ..MappingCounts::default() }.hit_ratio();
        assert_eq!([ratio(3, 1), ratio(2, 0), ratio(0, 2)], [Some(0.75), Some(1.0), Some(0.0)]);
        assert_eq!(ratio(0, 0), None);
    }
}
