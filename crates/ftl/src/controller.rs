//! The controller as whoever drives it sees it.

use flashtwin_nand::{Block, Plane, Ppn};

use crate::error::FtlError;
use crate::ftl::Ftl;
use crate::ids::{Content, Lpn};
use crate::loads::LoadView;
use crate::op::{FlashOp, Host, Lookup, ReadOutcome, ReadTarget, WriteOutcome};

/// The controller as the engine sees it. [`Ftl`] is one; tests and the bare
/// loop of the benchmark bring others.
pub trait Controller {
    /// See [`Ftl::read`].
    fn read(&mut self, lpn: Lpn, loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError>;
    /// See [`Ftl::locate_among`].
    fn locate_among(
        &self,
        _lpn: Lpn,
        _loads: &LoadView<'_>,
        _there: &dyn Fn(Ppn) -> bool,
    ) -> Result<Option<(ReadTarget, u64)>, FtlError> {
        Ok(None)
    }
    /// See [`Ftl::arrived`].
    fn arrived(&mut self, _lpn: Lpn) {}
    /// See [`Ftl::prepare_write`].
    fn prepare_write(
        &mut self,
        _lpn: Lpn,
        _partial: bool,
        _loads: &LoadView<'_>,
    ) -> Result<Option<ReadTarget>, FtlError> {
        Ok(None)
    }
    /// See [`Ftl::was_read_in_ram`].
    fn was_read_in_ram(&mut self, _lpn: Lpn) {}
    /// See [`Ftl::write`].
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError>;
    /// See [`Ftl::trim`].
    fn trim(&mut self, lpn: Lpn);
    /// See [`Ftl::wants_address`].
    fn wants_address(&self) -> bool {
        false
    }
    /// See [`Ftl::wants_kind`].
    fn wants_kind(&self) -> bool {
        false
    }
    /// See [`Ftl::prefetch_far`].
    fn prefetch_far(&self, _lpn: Lpn, _content: Content, _write: bool) {}
    /// See [`Ftl::prefetch_near`].
    fn prefetch_near(&self, _lpn: Lpn, _content: Content, _write: bool) {}
    /// See [`Ftl::prefetch_next`].
    fn prefetch_next(&self, _lpn: Lpn, _content: Content) {}
    /// See [`Ftl::prefetch_last`].
    fn prefetch_last(&self, _lpn: Lpn) {}
    /// See [`Ftl::prefetch_place`].
    fn prefetch_place(&self, _address: u64) -> Option<Ppn> {
        None
    }
    /// See [`Ftl::sampling_pages`].
    fn sampling_pages(&self) -> u32 {
        1
    }
    /// See [`Ftl::pages_tables`].
    fn pages_tables(&self) -> bool {
        false
    }
    /// See [`Ftl::take_lookups`].
    fn take_lookups(&mut self, _lookups: &mut Vec<Lookup>) {}
    /// See [`Ftl::pages_fingerprints`].
    fn pages_fingerprints(&self) -> bool {
        false
    }
    /// See [`Ftl::look_up_fingerprint`].
    fn look_up_fingerprint(&mut self, _content: Content) -> Result<(), FtlError> {
        Ok(())
    }
    /// See [`Ftl::checkpoint`].
    fn checkpoint(&mut self, _ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ok(())
    }
    /// See [`Ftl::erases_take_time`].
    fn erases_take_time(&mut self) {}
    /// See [`Ftl::erased`].
    fn erased(&mut self, _block: Block) {}
    /// See [`Ftl::works_in_idle_time`].
    fn works_in_idle_time(&self) -> bool {
        false
    }
    /// See [`Ftl::use_idle_time`].
    fn use_idle_time(&mut self, _planes: &[Plane], _ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ok(())
    }
    /// See [`Ftl::end_period`].
    fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError>;
    /// See [`Ftl::begin_jobs`].
    fn begin_jobs(&mut self, _ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ok(())
    }
    /// See [`Ftl::job_done`].
    fn job_done(
        &mut self,
        _job: u32,
        _loads: &LoadView<'_>,
        _ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        Ok(())
    }
}

impl Controller for Ftl {
    #[inline]
    fn read(&mut self, lpn: Lpn, loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        Ftl::read(self, lpn, loads)
    }
    fn locate_among(
        &self,
        lpn: Lpn,
        loads: &LoadView<'_>,
        there: &dyn Fn(Ppn) -> bool,
    ) -> Result<Option<(ReadTarget, u64)>, FtlError> {
        Ftl::locate_among(self, lpn, loads, there)
    }
    #[inline]
    fn arrived(&mut self, lpn: Lpn) {
        Ftl::arrived(self, lpn);
    }
    fn prepare_write(
        &mut self,
        lpn: Lpn,
        partial: bool,
        loads: &LoadView<'_>,
    ) -> Result<Option<ReadTarget>, FtlError> {
        Ftl::prepare_write(self, lpn, partial, loads)
    }
    fn was_read_in_ram(&mut self, lpn: Lpn) {
        Ftl::was_read_in_ram(self, lpn);
    }
    #[inline]
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        Ftl::write(self, page, fingerprinted, loads, ops)
    }
    fn trim(&mut self, lpn: Lpn) {
        Ftl::trim(self, lpn);
    }
    fn wants_address(&self) -> bool {
        Ftl::wants_address(self)
    }
    fn wants_kind(&self) -> bool {
        Ftl::wants_kind(self)
    }
    #[inline]
    fn prefetch_far(&self, lpn: Lpn, content: Content, write: bool) {
        Ftl::prefetch_far(self, lpn, content, write);
    }
    #[inline]
    fn prefetch_near(&self, lpn: Lpn, content: Content, write: bool) {
        Ftl::prefetch_near(self, lpn, content, write);
    }
    #[inline]
    fn prefetch_next(&self, lpn: Lpn, content: Content) {
        Ftl::prefetch_next(self, lpn, content);
    }
    #[inline]
    fn prefetch_last(&self, lpn: Lpn) {
        Ftl::prefetch_last(self, lpn);
    }
    #[inline]
    fn prefetch_place(&self, address: u64) -> Option<Ppn> {
        Ftl::prefetch_place(self, address)
    }
    fn sampling_pages(&self) -> u32 {
        Ftl::sampling_pages(self)
    }
    fn erases_take_time(&mut self) {
        Ftl::erases_take_time(self);
    }
    #[inline]
    fn erased(&mut self, block: Block) {
        Ftl::erased(self, block);
    }
    fn works_in_idle_time(&self) -> bool {
        Ftl::works_in_idle_time(self)
    }
    fn use_idle_time(&mut self, planes: &[Plane], ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ftl::use_idle_time(self, planes, ops)
    }
    fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ftl::end_period(self, ops)
    }
    #[inline]
    fn begin_jobs(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ftl::begin_jobs(self, ops)
    }
    #[inline]
    fn take_lookups(&mut self, lookups: &mut Vec<Lookup>) {
        Ftl::take_lookups(self, lookups);
    }
    fn pages_tables(&self) -> bool {
        Ftl::pages_tables(self)
    }
    fn pages_fingerprints(&self) -> bool {
        Ftl::pages_fingerprints(self)
    }
    fn look_up_fingerprint(&mut self, content: Content) -> Result<(), FtlError> {
        Ftl::look_up_fingerprint(self, content)
    }
    fn checkpoint(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ftl::checkpoint(self, ops)
    }
    fn job_done(&mut self, job: u32, loads: &LoadView<'_>, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ftl::job_done(self, job, loads, ops)
    }
}
