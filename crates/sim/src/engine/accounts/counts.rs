use flashtwin_ftl::{Cause, counts};
use flashtwin_trace::Op as HostOp;
use schemars::JsonSchema;
use serde::Serialize;

counts! {
    /// Engine counters. A counter published unchanged lives in the sub-struct of its result
    /// section; one that only feeds a derived figure lives here.
    pub struct EngineCounts {
        /// Requests completed: reads, writes, trims, flushes.
        pub requests: [u64; HostOp::COUNT],
        /// Page operations: reads, writes, trims; flushes have none.
        pub page_ops: [u64; HostOp::COUNT],
        pub pages: EnginePageCounts,
        pub tables: TableWaitCounts,
        /// Of the reads from controller RAM: those of pages whose newest write was not decided yet.
        pub undecided_reads: u64,
        pub undecided_unmapped_reads: u64,
        /// Old pages of partial writes that were still in controller RAM.
        pub old_page_buffer_reads: u64,
        /// Reads on the controller's own account, by cause, that never reached the flash.
        pub own_buffer_reads: [u64; Cause::COUNT],
        /// Operations of the flash for any cause: reads, programs, erases.
        pub flash_ops: [u64; 3],
        /// Of the pages read, those that were sensed with others of their flash page.
        pub reads_with_others: u64,
        pub parity_pages: u64,
        pub table_wait_ns: u64,
    }
}

counts! {
    /// Outcomes of page operations: these fields and their comments are the results'.
    #[derive(Serialize, JsonSchema)]
    pub struct EnginePageCounts {
        /// Page reads answered from controller RAM: the page was still on its way to the flash.
        pub buffer_reads: u64,
        /// Page reads that waited for the program of their page (`engine.buffer_reads = false`),
        /// including those of old pages for partial writes.
        pub awaited_reads: u64,
        /// Page reads sent to another chip than the home copy's, or to a less loaded duplicate page; without
        /// those from RAM.
        pub redirected_reads: u64,
        /// Page reads merged with another one that waited at the same chip.
        pub merged_reads: u64,
        /// Page reads served by the write cache.
        pub cache_reads: u64,
        /// Page reads served by the read cache (`engine.read_cache_pages`).
        pub read_cache_hits: u64,
        /// Page writes absorbed by the write cache: their page was rewritten or trimmed before it
        /// left the cache.
        pub absorbed_writes: u64,
        /// Page writes of part of a page.
        pub partial_writes: u64,
        /// Suspensions of programs and erases for reads.
        pub suspensions: u64,
        /// Multi-plane commands.
        pub multi_plane_commands: u64,
        /// Operations of those commands.
        pub multi_plane_ops: u64,
    }
}

counts! {
    /// Waiting for pages of the mapping tables: these fields and their comments are the results'.
    #[derive(Serialize, JsonSchema)]
    pub struct TableWaitCounts {
        /// Waits of host page operations for mapping-table pages. A write may wait again when its
        /// hash is known, if the fingerprint store is paged.
        pub waits: u64,
    }
}
