//! The controller of this project, as the engine sees it.

use flashtwin_ftl::{FlashOp, Ftl, Host, LoadView, ReadTarget};
use flashtwin_nand::Ppn;

use crate::engine::Controller;

impl Controller for Ftl {
    #[inline]
    fn read(
        &mut self,
        lpn: u32,
        loads: &LoadView<'_>,
    ) -> Result<flashtwin_ftl::ReadOutcome, flashtwin_ftl::FtlError> {
        Ftl::read(self, lpn, loads)
    }
    fn locate_among(
        &self,
        lpn: u32,
        loads: &LoadView<'_>,
        there: &dyn Fn(Ppn) -> bool,
    ) -> Result<Option<(ReadTarget, u64)>, flashtwin_ftl::FtlError> {
        Ftl::locate_among(self, lpn, loads, there)
    }
    #[inline]
    fn arrived(&mut self, lpn: u32) {
        Ftl::arrived(self, lpn);
    }
    fn prepare_write(
        &mut self,
        lpn: u32,
        partial: bool,
        loads: &LoadView<'_>,
    ) -> Result<Option<ReadTarget>, flashtwin_ftl::FtlError> {
        Ftl::prepare_write(self, lpn, partial, loads)
    }
    fn was_read_in_ram(&mut self, lpn: u32) {
        Ftl::was_read_in_ram(self, lpn);
    }
    #[inline]
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<flashtwin_ftl::WriteOutcome, flashtwin_ftl::FtlError> {
        Ftl::write(self, page, fingerprinted, loads, ops)
    }
    fn trim(&mut self, lpn: u32) {
        Ftl::trim(self, lpn);
    }
    fn wants_address(&self) -> bool {
        Ftl::wants_address(self)
    }
    fn wants_kind(&self) -> bool {
        Ftl::wants_kind(self)
    }
    #[inline]
    fn prefetch_far(&self, lpn: u32, content: u32, write: bool) {
        Ftl::prefetch_far(self, lpn, content, write);
    }
    #[inline]
    fn prefetch_near(&self, lpn: u32, content: u32, write: bool) {
        Ftl::prefetch_near(self, lpn, content, write);
    }
    #[inline]
    fn prefetch_next(&self, lpn: u32, content: u32) {
        Ftl::prefetch_next(self, lpn, content);
    }
    #[inline]
    fn prefetch_last(&self, lpn: u32) {
        Ftl::prefetch_last(self, lpn);
    }
    #[inline]
    fn prefetch_place(&self, address: u64) -> Option<Ppn> {
        Ftl::prefetch_place(self, address)
    }
    fn sampling_pages(&self) -> u32 {
        Ftl::sampling_pages(self)
    }
    fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::end_period(self, ops)
    }
    #[inline]
    fn begin_jobs(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::begin_jobs(self, ops)
    }
    #[inline]
    fn take_lookups(&mut self, lookups: &mut Vec<flashtwin_ftl::Lookup>) {
        Ftl::take_lookups(self, lookups);
    }
    fn pages_tables(&self) -> bool {
        Ftl::pages_tables(self)
    }
    fn pages_fingerprints(&self) -> bool {
        Ftl::pages_fingerprints(self)
    }
    fn look_up_fingerprint(&mut self, content: u32) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::look_up_fingerprint(self, content)
    }
    fn checkpoint(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::checkpoint(self, ops)
    }
    fn job_done(
        &mut self,
        job: u32,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::job_done(self, job, loads, ops)
    }
}
