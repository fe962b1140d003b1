use flashtwin_analysis::rows;
use flashtwin_ftl::Cause;

use crate::finished::PeriodRow;

rows! {
    /// One row a period.
    ///
    /// Counts are of the row's period alone. Requests count when they complete, pages when they
    /// arrive. The replication pass at the end of a period belongs to its row.
    pub(super) struct PeriodColumns in "periods" {
        /// Number, from 0.
        period: u32,
        /// Begin, on the trace's clock; of the first, the end of the warm-up.
        start_ns: i64,
        /// End, on the trace's clock; the last ends 1 ns after the last request.
        end_ns: i64,
        /// Read requests completed.
        reads: u64,
        /// Write requests completed.
        writes: u64,
        /// Flushes completed.
        flushes: u64,
        /// Mean response time of reads; missing without requests.
        read_mean_ns: Option<f64>,
        /// Mean response time of writes; missing without requests.
        write_mean_ns: Option<f64>,
        /// Mean response time of reads and writes; missing without requests.
        all_mean_ns: Option<f64>,
        /// 99th percentile of the response times of reads; missing without requests.
        read_p99_ns: Option<u64>,
        /// 99th percentile of the response times of writes; missing without requests.
        write_p99_ns: Option<u64>,
        /// Mean response time of flushes; missing without requests.
        flush_mean_ns: Option<f64>,
        /// 99th percentile of the response times of flushes; missing without requests.
        flush_p99_ns: Option<u64>,
        /// Page reads of the host.
        page_reads: u64,
        /// Page writes of the host.
        page_writes: u64,
        /// As in `page_ops`.
        buffer_reads: u64,
        /// As in `page_ops`.
        redirected_reads: u64,
        /// As in `page_ops`.
        redirected_writes: u64,
        /// As in `page_ops`.
        merged_reads: u64,
        /// As in `page_ops`.
        new_value_reads: u64,
        /// As in `page_ops`.
        replicated_value_reads: u64,
        /// As in `page_ops`.
        duplicate_writes: u64,
        /// Pages programmed for the host: `host` + `unique` + `missed_duplicate` + `reborn` of `flash_writes`.
        host_programs: u64,
        /// Pages programmed by collection.
        gc_programs: u64,
        /// Copies programmed.
        replica_programs: u64,
        /// Pages of mapping tables programmed.
        metadata_programs: u64,
        /// Pages programmed by static wear levelling.
        wear_programs: u64,
        /// Blocks erased.
        erases: u64,
        /// Replicas made.
        copies: u64,
        /// Of `gc_programs`, those that programs of copies set off at once.
        replication_gc_programs: u64,
        /// Of `erases`, those that programs of copies set off at once.
        replication_erases: u64,
        /// Duration of the pass with one operation at a time.
        replication_serial_ns: u64,
        /// Duration of the pass with all chips in parallel.
        replication_parallel_ns: u64,
        /// Replicas on flash at the end of the period, after the pass.
        replica_pages: u64,
        /// Flash pages with valid data at the end of the period, after the pass.
        pages_in_use: u64,
    }
}

impl PeriodColumns {
    pub(super) fn all(periods: &[PeriodRow]) -> Vec<PeriodColumns> {
        (0..).zip(periods).map(|(number, period)| PeriodColumns::of(number, period)).collect()
    }

    fn of(number: u32, period: &PeriodRow) -> PeriodColumns {
        let programs = |cause: Cause| period.ftl.programs[cause as usize];
        PeriodColumns {
            period: number,
            start_ns: period.start_ns,
            end_ns: period.end_ns,
            reads: period.reads.count,
            writes: period.writes.count,
            flushes: period.flushes.count,
            read_mean_ns: period.reads.mean_ns(),
            write_mean_ns: period.writes.mean_ns(),
            all_mean_ns: period.reads.mean_with_ns(&period.writes),
            read_p99_ns: period.reads.p99_ns,
            write_p99_ns: period.writes.p99_ns,
            flush_mean_ns: period.flushes.mean_ns(),
            flush_p99_ns: period.flushes.p99_ns,
            page_reads: period.engine.page_ops[0],
            page_writes: period.engine.page_ops[1],
            buffer_reads: period.engine.pages.buffer_reads,
            redirected_reads: period.engine.pages.redirected_reads,
            redirected_writes: period.ftl.pages.redirected_writes,
            merged_reads: period.engine.pages.merged_reads,
            new_value_reads: period.ftl.pages.new_value_reads,
            replicated_value_reads: period.ftl.pages.replicated_value_reads,
            duplicate_writes: period.ftl.pages.duplicate_writes,
            host_programs: period.ftl.host_programs(),
            gc_programs: programs(Cause::Gc),
            replica_programs: programs(Cause::Replica),
            metadata_programs: programs(Cause::Metadata),
            wear_programs: programs(Cause::WearLevelling),
            erases: period.ftl.erases,
            copies: period.ftl.replication.copies,
            replication_gc_programs: period.ftl.copying.gc_programs,
            replication_erases: period.ftl.copying.erases,
            replication_serial_ns: period.phase.serial_ns,
            replication_parallel_ns: period.phase.parallel_ns,
            replica_pages: period.replica_pages,
            pages_in_use: period.pages_in_use,
        }
    }
}
