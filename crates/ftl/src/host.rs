//! Page operations of the host: what is read where, which write programs a page, what a trim forgets.

use flashtwin_nand::{NO_PPN, Ppn};

use crate::blocks::{Stream, is_page};
use crate::error::FtlError;
use crate::ftl::{Ftl, Map};
use crate::mapping::{NO_CONTENT, NO_VPN, Released};
use crate::op::{Cause, FlashOp, LoadView, ReadOutcome, ReadTarget, WriteOutcome};

/// One page operation of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Dense number of the logical page.
    pub lpn: u32,
    /// Its page number in the host's address space.
    pub address: u64,
    /// Dense number of the content written; `u32::MAX` for systems that do not look.
    pub content: u32,
}

impl Ftl {
    /// Serves a page read. Orders nothing by itself; [`Ftl::begin_jobs`] does what follows from it.
    pub fn read(&mut self, lpn: u32, loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        if self.paging.is_some() {
            self.look_up_read(lpn)?;
        }
        let (new_value, replicated) = self.note_read(lpn);
        let Some(target) = self.locate(lpn, loads) else {
            self.counters.unmapped_reads += 1;
            return Ok(ReadOutcome::Unmapped);
        };
        self.counters.reads[Cause::Host as usize] += 1;
        self.counters.redirected_reads += u64::from(target.redirected);
        self.counters.new_value_reads += u64::from(new_value);
        self.counters.replicated_value_reads += u64::from(replicated);
        if let Some(replicator) = &mut self.replicator {
            replicator.wanted.serve(target.ppn);
        }
        if let Some(checker) = &self.checker {
            checker.host_read(lpn, target.ppn)?;
        }
        Ok(ReadOutcome::Flash { target, new_value, replicated, data: self.data_name(lpn, target.ppn) })
    }

    /// A page whose write has just been decided was read before that, from RAM: the read counts towards
    /// its content as any other, and asks nothing of the flash.
    pub fn was_read_in_ram(&mut self, lpn: u32) {
        let (new_value, replicated) = self.note_read(lpn);
        self.counters.new_value_reads += u64::from(new_value);
        self.counters.replicated_value_reads += u64::from(replicated);
    }

    /// Counts a read towards what a page holds: whether that was read for the first time, and whether
    /// it has further copies.
    #[inline]
    fn note_read(&mut self, lpn: u32) -> (bool, bool) {
        match &mut self.map {
            Map::Page(_) => (false, self.spreader.as_ref().is_some_and(|s| !s.choices(lpn).is_empty())),
            Map::Content(map) => match map.vpn_of(lpn) {
                NO_VPN => (false, false),
                vpn => {
                    let replicated = !map.replica_ppns(vpn).is_empty();
                    (self.count_read(vpn), replicated)
                }
            },
            Map::Inverted(map) => {
                let content = is_page(map.get(lpn)).then(|| self.blocks.owner(map.get(lpn))).flatten();
                (content.is_some_and(|content| map.history.read(content)), false)
            }
        }
    }

    /// Names what a read of a page yields. Twins are known to be equal; otherwise a controller knows
    /// only that one page is equal to itself.
    #[inline]
    pub(crate) fn data_name(&self, lpn: u32, ppn: Ppn) -> u64 {
        match self.spreader.as_ref().and_then(|spreader| spreader.serial(lpn)) {
            Some(serial) => 1 << 32 | serial << 33,
            None => u64::from(ppn),
        }
    }

    /// Where a logical page would be read now.
    #[inline]
    pub(crate) fn locate(&self, lpn: u32, loads: &LoadView<'_>) -> Option<ReadTarget> {
        let (home, replicas) = self.places_of(lpn);
        is_page(home).then(|| self.redirection.choose(home, replicas, loads, &self.blocks.geometry))
    }

    /// The first copy of a logical page and its further ones.
    #[inline]
    pub(crate) fn places_of(&self, lpn: u32) -> (Ppn, &[Ppn]) {
        match &self.map {
            Map::Page(map) => (map.get(lpn), self.spreader.as_ref().map_or(&[], |s| s.choices(lpn))),
            Map::Content(map) => match map.vpn_of(lpn) {
                NO_VPN => (NO_PPN, &[]),
                vpn => (map.home(vpn), map.replica_ppns(vpn)),
            },
            Map::Inverted(map) => (map.get(lpn), &[]),
        }
    }

    /// A page write has arrived that cannot be decided yet. Only verification wants to know: until
    /// [`Ftl::write`], the page's newest data are in controller RAM, and a read of it must not ask here.
    pub fn arrived(&mut self, lpn: u32) {
        if let Some(checker) = &mut self.checker {
            checker.arrived(lpn);
        }
    }

    /// What must be read before a page write can be decided: the page's old data, where the write is
    /// `partial`; and, by [`Ftl::take_lookups`], pages of the mapping tables. The old data may be of a
    /// page whose program is still on its way to the flash.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    pub fn prepare_write(
        &mut self,
        lpn: u32,
        partial: bool,
        loads: &LoadView<'_>,
    ) -> Result<Option<ReadTarget>, FtlError> {
        if self.paging.is_some() {
            self.look_up_write(lpn, partial)?;
        }
        let old = if partial { self.locate(lpn, loads) } else { None };
        self.counters.reads[Cause::ReadModifyWrite as usize] += u64::from(old.is_some());
        if let (Some(old), Some(checker)) = (old, &self.checker) {
            checker.host_read(lpn, old.ppn)?;
        }
        Ok(old)
    }

    /// Serves a page write: decides whether a page is programmed, and where. The page is whole;
    /// `fingerprinted`: its fingerprint is known (a system that does not look at contents has no use for
    /// it). What garbage collection does about it is appended to `ops`.
    ///
    /// Whoever drives the controller asks when all that is so, with the loads of that moment, and not
    /// before: a drive does not know earlier whether the page needs a place (RR-SSD paper III.B,
    /// "Handling Write Requests").
    ///
    /// # Errors
    /// [`FtlError::DeviceFull`] when no block can be reclaimed; [`FtlError::Broken`] when
    /// verification is on and finds the tables wrong.
    #[inline]
    pub fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        if self.paging.is_some() {
            return self.write_paged(page, fingerprinted, loads, ops);
        }
        self.write_mapped(page, fingerprinted, loads, ops)
    }

    /// Serves a page write, the tables being at hand.
    #[inline]
    pub(crate) fn write_mapped(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        self.counters.host_pages_written += 1;
        let stream = self.host_stream(page.lpn);
        let program = match &self.map {
            Map::Page(_) => self.write_page(page, stream, loads, ops)?,
            Map::Content(_) | Map::Inverted(_) => {
                self.write_content(page, fingerprinted, stream, loads, ops)?
            }
        };
        Ok(WriteOutcome { program })
    }

    fn write_page(
        &mut self,
        page: Host,
        stream: Stream,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<(Ppn, Cause)>, FtlError> {
        let content = self.known_content(page.content);
        let proposal = self.pick_plane(page.address, loads)?;
        let plane = self.spread(proposal, page.lpn, content, loads);
        let ppn = self.take_page(plane, stream, page.lpn, ops)?;
        if let Some(checker) = &mut self.checker {
            // Twins are equal in what they hold, not in when it was written.
            let version = match self.spreader.is_some() && content != NO_CONTENT {
                true => u64::from(content),
                false => checker.next_version(),
            };
            checker.write(page.lpn, version);
            checker.program(ppn, stream.partition(self.blocks.partitions()), version)?;
        }
        let rewritten = self.point_page(page.lpn, ppn, content);
        self.counters.programs[Cause::Host as usize] += 1;
        self.note_peak();
        self.collect_behind(plane, ops)?;
        if self.spreader.is_some() {
            self.compare_later(page.lpn, content, rewritten, ops)?;
        }
        Ok(Some((ppn, Cause::Host)))
    }

    /// A content as a page map knows it.
    fn known_content(&self, content: u32) -> u32 {
        match &self.map {
            Map::Page(map) => map.known(content),
            Map::Content(_) | Map::Inverted(_) => content,
        }
    }

    /// Points a logical page at another physical one (or none) and what that holds. Where it held
    /// the same before, the channel of its old page.
    #[inline]
    fn point_page(&mut self, lpn: u32, ppn: Ppn, content: u32) -> Option<u32> {
        let Map::Page(map) = &mut self.map else { return None };
        let (old, held) = (map.set(lpn, ppn), map.hold(lpn, content));
        if self.spreader.is_some() {
            self.forget_resident(lpn, held, old);
        }
        if is_page(old) {
            self.blocks.invalidate(old);
        }
        if self.spreader.is_some() && is_page(ppn) {
            self.note_resident(lpn, content, ppn);
        }
        let same = is_page(old) && held == content && held != NO_CONTENT;
        let spreader = self.spreader.as_ref().filter(|_| same)?;
        Some(spreader.channel_of(old, &self.blocks.geometry))
    }

    /// Forgets a logical page. What that changes in tables on flash, [`Ftl::begin_jobs`] sees to.
    pub fn trim(&mut self, lpn: u32) {
        self.touch_lpn(lpn);
        if let Some(checker) = &mut self.checker {
            checker.trim(lpn);
        }
        match &mut self.map {
            Map::Page(_) => {
                self.point_page(lpn, NO_PPN, NO_CONTENT);
            }
            Map::Content(_) => self.point_content(lpn, NO_VPN),
            Map::Inverted(map) => {
                let dead = map.point(lpn, NO_PPN);
                self.invalidate_dead(dead);
            }
        }
        self.touch_fingerprints();
    }

    /// Points a logical page at another content (or none); what nobody points to any more is gone.
    #[inline]
    pub(crate) fn point_content(&mut self, lpn: u32, vpn: u32) {
        self.before_leaving(lpn);
        let Map::Content(map) = &mut self.map else { return };
        let released = map.point(lpn, vpn);
        self.invalidate_all(released);
    }

    pub(crate) fn invalidate_all(&mut self, released: Option<Released>) {
        if let Some(Released { home, replicas }) = released {
            self.blocks.invalidate(home);
            for ppn in replicas {
                self.blocks.invalidate(ppn);
            }
        }
    }
}
