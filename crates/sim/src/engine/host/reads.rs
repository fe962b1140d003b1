//! Page reads: from the write cache, from a write that is not decided yet, from the read cache, from controller RAM, or
//! from the flash.

use flashtwin_ftl::{Lpn, ReadOutcome, ReadTarget};

use super::super::array::{AwaitedRead, Work};
use super::page_op::{PageOp, State, page_read};
use super::{Charge, Condition, Controller, Decider, Ledger, NONE, Observer, OpenLedger};
use crate::error::SimError;

impl<C: Controller, O: Observer> Decider<C, O> {
    #[inline]
    pub(super) fn read_page(&mut self, lpn: Lpn, request: u32) -> Result<(), SimError> {
        if self.interface.read_cached(&mut self.back.books(), lpn, request) {
            return Ok(());
        }
        if let Some(write) = self.page_ops.newest(lpn) {
            self.read_undecided(write, request);
            return Ok(());
        }
        self.read_decided(lpn, request, OpenLedger::NONE)
    }

    /// Serves a read of a page without undecided writes. `charged` has the read's earlier charges.
    #[inline]
    pub(super) fn read_decided(
        &mut self,
        lpn: Lpn,
        request: u32,
        charged: OpenLedger,
    ) -> Result<(), SimError> {
        let (controller, loads, _) = self.back.controller_and_loads();
        let outcome = controller.read(lpn, &loads)?;
        let walk = self.looked_up();
        match outcome {
            ReadOutcome::Flash { .. }
                if self.interface.read_cache.is_some() && self.is_cached(lpn, request) =>
            {
                self.read_from_cache(lpn, request, walk, charged);
                return Ok(());
            }
            ReadOutcome::Flash { target, data, .. } => {
                if let Some(ppn) = self.back.array.place_on_flash(target.ppn) {
                    let target = ReadTarget { ppn, ..target };
                    self.read_on_flash(lpn, (target, data), request, walk, charged);
                    return Ok(());
                }
                if self.back.array.awaits_programs() {
                    return self.read_when_programmed(lpn, (target, data), request, walk, charged);
                }
                self.back.accounts.counts.pages.buffer_reads += 1;
            }
            ReadOutcome::Unmapped => {}
        }
        match walk {
            NONE => self.page_done_in_ram(request, charged),
            walk => self.wait_to_read(lpn, None, request, walk, charged),
        }
        Ok(())
    }

    #[inline(never)]
    fn is_cached(&mut self, lpn: Lpn, request: u32) -> bool {
        let name = self.back.controller.ram_name(lpn);
        self.interface.read_cache.as_mut().is_some_and(|cache| cache.read(name, request))
    }

    #[inline(never)]
    fn read_from_cache(&mut self, lpn: Lpn, request: u32, walk: u32, charged: OpenLedger) {
        self.back.accounts.counts.pages.read_cache_hits += 1;
        if walk == NONE {
            return self.interface.answer_cached_read(&mut self.back.books(), request, charged);
        }
        let (state, now) = (State::ReadCached, self.back.now_ns());
        let op = self.page_ops.insert(page_read(lpn), request, state, charged, now);
        self.wait_for_tables(walk, op);
    }

    /// Reads a flash page. If `walk` lists missing table pages, the read waits for them first.
    #[inline]
    fn read_on_flash(
        &mut self,
        lpn: Lpn,
        page: (ReadTarget, u64),
        request: u32,
        walk: u32,
        charged: OpenLedger,
    ) {
        if walk == NONE {
            self.back.queue_host_read(page, request, charged);
        } else {
            self.back.array.pin(&page.0);
            self.wait_to_read(lpn, Some(page), request, walk, charged);
        }
    }

    fn wait_to_read(
        &mut self,
        lpn: Lpn,
        page: Option<(ReadTarget, u64)>,
        request: u32,
        walk: u32,
        charged: OpenLedger,
    ) {
        let (state, now) = (State::ReadTables(page), self.back.now_ns());
        let op = self.page_ops.insert(page_read(lpn), request, state, charged, now);
        self.wait_for_tables(walk, op);
    }

    /// Serves a host read whose `chosen` copy is not programmed yet: from another copy, or after the program.
    #[inline(never)]
    fn read_when_programmed(
        &mut self,
        lpn: Lpn,
        chosen: (ReadTarget, u64),
        request: u32,
        walk: u32,
        charged: OpenLedger,
    ) -> Result<(), SimError> {
        if let Some(page) = self.back.programmed_copy(lpn)? {
            self.read_on_flash(lpn, page, request, walk, charged);
            return Ok(());
        }
        let ((target, data), work, other) = (chosen, Work::HostRead, NONE);
        let read = AwaitedRead { target, data, request, work, other, charged };
        self.await_program((lpn, request), read, walk);
        Ok(())
    }

    pub(super) fn await_old_page(&mut self, target: ReadTarget, write: u32, walk: u32) {
        let (work, request, charged) = (Work::ReadBeforeWrite, NONE, OpenLedger::NONE);
        let PageOp { page, request: asks, .. } = self.page_ops[write];
        let read = AwaitedRead { target, data: 0, request, work, other: write, charged };
        self.await_program((page.lpn, asks), read, walk);
    }

    fn await_program(&mut self, (lpn, request): (Lpn, u32), read: AwaitedRead, walk: u32) {
        let at = self.back.array.await_program(read, &mut self.back.accounts);
        if walk == NONE {
            self.back.array.awaited_read_comes(at, OpenLedger::NONE, &mut self.back.accounts);
        } else {
            let (state, now) = (State::ReadProgram(at), self.back.now_ns());
            let op = self.page_ops.insert(page_read(lpn), request, state, OpenLedger::NONE, now);
            self.wait_for_tables(walk, op);
        }
        self.back.hear_of_erases();
    }

    /// From controller RAM, or after the decision where RAM serves no reads.
    #[inline(never)]
    pub(super) fn read_undecided(&mut self, write: u32, request: u32) {
        if self.page_ops[write].trimmed {
            self.back.accounts.counts.undecided_unmapped_reads += 1;
            return self.page_done(request, None, |_, _| ());
        }
        if self.back.array.awaits_programs() {
            let (page, state, now) = (self.page_ops[write].page, State::ReadDecision, self.back.now_ns());
            let read = self.page_ops.insert(page, request, state, OpenLedger::NONE, now);
            return self.waits.wait(Condition::Decision(write), read);
        }
        self.back.accounts.counts.pages.buffer_reads += 1;
        self.back.accounts.counts.undecided_reads += 1;
        self.page_ops[write].reads += 1;
        self.page_done(request, None, |_, _| ());
    }

    pub(super) fn let_readers_go(&mut self, write: u32) -> Result<(), SimError> {
        for read in self.waits.wake(Condition::Decision(write)) {
            let PageOp { page, request, mut charged, since_ns, .. } = self.page_ops.remove(read);
            let waited_ns = self.back.now_ns() - since_ns;
            self.back.accounts.charge(&mut charged, &Ledger::only(Charge::PageProgram, waited_ns));
            self.read_decided(page.lpn, request, charged)?;
            self.back.begin_jobs()?;
        }
        Ok(())
    }
}
