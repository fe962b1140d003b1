//! The controller's interface for its drivers: the event engine, and the drive of real bytes.

use flashtwin_nand::{Block, Plane, Ppn};

use crate::error::FtlResult;
use crate::ids::{Content, Lpn};
use crate::loads::LoadView;
use crate::op::{DataName, FlashOp, Host, Lookup, ReadOutcome, ReadTarget, WriteOutcome};

/// Prefetch hints, because a simulator knows its future and mostly waits for memory. A hint changes no result.
pub trait Hints {
    /// Whether prefetches differ between reads and writes.
    fn wants_kind(&self) -> bool {
        false
    }

    /// Whether the allocation needs host addresses.
    fn wants_address(&self) -> bool {
        false
    }

    /// Prefetches the tables that an operation some way ahead will look into first.
    fn prefetch_far(&self, _lpn: Lpn, _content: Content, _write: bool) {}

    /// Prefetches the entries that those tables point to; the operation is nearer now.
    fn prefetch_near(&self, _lpn: Lpn, _content: Content, _write: bool) {}

    /// Prefetches the last tables that the operation reads; it is next.
    fn prefetch_next(&self, _lpn: Lpn, _content: Content) {}

    /// Prefetches the entries that those tables point to in turn.
    fn prefetch_last(&self, _lpn: Lpn) {}

    /// Prefetches the tables of the page that a write to `address` will probably get, and returns it. If allocation
    /// follows the address, writes touch planes in no order, and their tables are not in the cache.
    fn prefetch_place(&self, _address: u64) -> Option<Ppn> {
        None
    }
}

/// The controller as the engine sees it. [`crate::Ftl`] is one; tests and the bare loop of the benchmark bring others.
///
/// Errors are [`crate::FtlError::Broken`], if verification is on and finds the tables wrong, and [`crate::FtlError::DeviceFull`], if
/// no block can be reclaimed for a page.
pub trait Controller: Hints {
    /// Serves a page read. It orders no operations; [`Controller::begin_jobs`] does.
    fn read(&mut self, lpn: Lpn, loads: &LoadView<'_>) -> FtlResult<ReadOutcome>;

    /// What a copy of a page's data in RAM is known by, from now until the page is written or trimmed.
    fn ram_name(&self, lpn: Lpn) -> DataName {
        DataName::Page(lpn)
    }

    /// The page that a read of a logical page would use now if only the copies that pass `there` counted, and the name
    /// of its data; `None` if no such copy may be chosen. The tables run ahead of the flash: this is for a driver that
    /// cannot read pages whose program is still under way from RAM.
    fn locate_among(
        &self,
        _lpn: Lpn,
        _loads: &LoadView<'_>,
        _there: &dyn Fn(Ppn) -> bool,
    ) -> FtlResult<Option<(ReadTarget, u64)>> {
        Ok(None)
    }

    /// A page write has arrived that cannot be decided yet; for verification. Until [`Controller::write`], the page's newest
    /// data are in controller RAM.
    fn arrived(&mut self, _lpn: Lpn) {}

    /// Reads that a page write needs before its decision: the page's old data, if the write is `partial`, and the
    /// mapping-table pages of [`Controller::take_lookups`]. The program of the old page may still be under way.
    fn prepare_write(
        &mut self,
        _lpn: Lpn,
        _partial: bool,
        _loads: &LoadView<'_>,
    ) -> FtlResult<Option<ReadTarget>> {
        Ok(None)
    }

    /// A page whose write has just been decided was read before that, from RAM: the read counts, too.
    fn was_read_in_ram(&mut self, _lpn: Lpn) {}

    /// The placement handle of the next write, or [`crate::NO_HANDLE`]; see [`crate::Handles`].
    fn direct(&mut self, _handle: u8) {}

    /// Serves a page write: decides whether a page is programmed, and where. The page is whole. `fingerprinted`: its
    /// fingerprint is known. Operations of garbage collection are appended to `ops`.
    ///
    /// Call this only when the data are whole and hashed, with the loads of that moment: a drive does not know earlier
    /// whether the page needs a flash page at all (RR-SSD paper III.B, "Handling Write Requests").
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<WriteOutcome>;

    /// Whether the mapping table alone takes a page of this content, so that it needs no fingerprint.
    fn maps(&self, _content: Content) -> bool {
        false
    }

    /// Forgets a logical page. The next [`Controller::begin_jobs`] writes back the table pages that this changes.
    fn trim(&mut self, lpn: Lpn);

    /// Pages of a write that share a sample; 1: every page is fingerprinted.
    fn sampling_pages(&self) -> u32 {
        1
    }

    /// Whether pages of the mapping tables may be missing in RAM, so that the host must wait for them.
    fn pages_tables(&self) -> bool {
        false
    }

    /// Moves the table pages that the last page operation looked up to the end of `lookups`.
    fn take_lookups(&mut self, _lookups: &mut Vec<Lookup>) {}

    /// Whether looking a content up may have to wait for a page of the fingerprint store.
    fn pages_fingerprints(&self) -> bool {
        false
    }

    /// Looks up the page of the fingerprint store for a written content; [`Controller::take_lookups`] returns the pages
    /// to wait for. Call it when the hash is known, before [`Controller::write`].
    fn look_up_fingerprint(&mut self, _content: Content) -> FtlResult {
        Ok(())
    }

    /// Writes every page of the mapping tables that was changed since it was last written.
    fn checkpoint(&mut self, _ops: &mut Vec<FlashOp>) -> FtlResult {
        Ok(())
    }

    /// Fills the open program units of the host's streams with pages that hold nothing, so that they are programmed.
    fn pad_units(&mut self, _ops: &mut Vec<FlashOp>) -> FtlResult {
        Ok(())
    }

    /// The driver will say when an erase is carried out ([`Controller::erased`]). Otherwise it is when it is ordered.
    fn erases_take_time(&mut self) {}

    /// A block is erased, and no other erase of it is ordered. The controller writes to such blocks first.
    fn erased(&mut self, _block: Block) {}

    /// Whether the controller has a use for idle time beyond its background jobs.
    fn works_in_idle_time(&self) -> bool {
        false
    }

    /// The unit of these planes is idle: a step of collection is appended to `ops` (job [`crate::IDLE_STEP`]), if a
    /// plane wants one. To be called again when it is done, as long as nothing else comes.
    fn use_idle_time(&mut self, _planes: &[Plane], _ops: &mut Vec<FlashOp>) -> FtlResult {
        Ok(())
    }

    /// Ends a profiling period: makes the copies that popularity has earned, then zeroes the counters. The operations
    /// are those of the replication phase, in which the host is served elsewhere (RR-SSD paper III.B: by the mirror).
    fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> FtlResult;

    /// Begins the background jobs that the reads so far have earned: reads of the pages to be copied, and writes of
    /// evicted table pages. To be called after each read, and after trims.
    fn begin_jobs(&mut self, _ops: &mut Vec<FlashOp>) -> FtlResult {
        Ok(())
    }

    /// An operation of a background job ([`FlashOp::job`]) is done; follow-up operations are appended to `ops`.
    fn job_done(&mut self, _job: u32, _loads: &LoadView<'_>, _ops: &mut Vec<FlashOp>) -> FtlResult {
        Ok(())
    }
}
