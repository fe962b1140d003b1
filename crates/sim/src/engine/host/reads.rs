//! Page reads: from the write cache, from a write that is not decided yet, from controller RAM, or from the flash.

use flashtwin_ftl::{Lpn, ReadOutcome, ReadTarget};

use super::super::array::{AwaitedRead, Op, Work};
use super::page_op::{PageOp, State, page_read};
use super::{Backend, Charge, Condition, Controller, Engine, Ledger, NONE, Observer, OpenLedger};
use crate::error::SimError;

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    #[inline]
    pub(super) fn read_page(&mut self, lpn: Lpn, request: u32) -> Result<(), SimError> {
        if self.read_cached(lpn, request) {
            return Ok(());
        }
        if let Some(write) = self.page_ops.newest(lpn) {
            self.read_undecided(write, request);
            return Ok(());
        }
        self.read_decided(lpn, request, OpenLedger::NONE)
    }

    /// Serves a read of a page all of whose writes are decided; `charged` has the read's earlier
    /// charges.
    #[inline]
    pub(super) fn read_decided(
        &mut self,
        lpn: Lpn,
        request: u32,
        charged: OpenLedger,
    ) -> Result<(), SimError> {
        let (controller, loads, _) = self.controller_and_loads();
        let outcome = controller.read(lpn, &loads)?;
        let walk = self.looked_up();
        match outcome {
            ReadOutcome::Flash { target, data, .. } => {
                if let Some(ppn) = self.array.place_on_flash(target.ppn) {
                    let target = ReadTarget { ppn, ..target };
                    self.read_on_flash(lpn, (target, data), request, walk, charged);
                    return Ok(());
                }
                if self.array.awaits_programs() {
                    return self.read_when_programmed(lpn, (target, data), request, walk, charged);
                }
                self.accounts.counts.pages.buffer_reads += 1;
            }
            ReadOutcome::Unmapped => {}
        }
        match walk {
            NONE => self.page_done_in_ram(request, charged),
            walk => self.wait_to_read(lpn, None, request, walk, charged),
        }
        Ok(())
    }

    /// Reads a page that is on flash, once its tables are in RAM where `walk` says that they are not.
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
            self.queue_host_read(page, request, charged);
        } else {
            self.array.pin(&page.0);
            self.wait_to_read(lpn, Some(page), request, walk, charged);
        }
    }

    /// Lets a read wait for its tables, which then reads this page, or needs no flash.
    fn wait_to_read(
        &mut self,
        lpn: Lpn,
        page: Option<(ReadTarget, u64)>,
        request: u32,
        walk: u32,
        charged: OpenLedger,
    ) {
        let (state, now) = (State::ReadTables(page), self.array.now_ns());
        let op = self.page_ops.insert(page_read(lpn), request, state, charged, now);
        self.wait_for_tables(walk, op);
    }

    #[inline]
    pub(super) fn queue_host_read(&mut self, page: (ReadTarget, u64), request: u32, charged: OpenLedger) {
        self.array.read_for_host((&page.0, page.1), request, charged, &mut self.accounts);
        self.hear_of_erases();
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
        if let Some(page) = self.place_there(lpn)? {
            self.read_on_flash(lpn, page, request, walk, charged);
            return Ok(());
        }
        let ((target, data), work, other) = (chosen, Work::HostRead, NONE);
        let read = AwaitedRead { target, data, request, work, other, charged };
        self.await_program((lpn, request), read, walk);
        Ok(())
    }

    /// The copy that the redirection chooses among those already programmed, and the name of its data.
    pub(super) fn place_there(&mut self, lpn: Lpn) -> Result<Option<(ReadTarget, u64)>, SimError> {
        let (loads, there) = self.array.loads_and_pages();
        Ok(self.controller.locate_among(lpn, &loads, &there)?)
    }

    /// The copy of the old page that a partial write reads: the `chosen` one; if that is not programmed yet, one
    /// that is (`there`). `None` where controller RAM serves it. And whether the flash has that copy.
    pub(super) fn old_page(
        &mut self,
        chosen: Option<ReadTarget>,
        there: Option<(ReadTarget, u64)>,
    ) -> Option<(ReadTarget, bool)> {
        let chosen = chosen?;
        if let Some(ppn) = self.array.place_on_flash(chosen.ppn) {
            return Some((ReadTarget { ppn, ..chosen }, true));
        }
        if self.array.awaits_programs() {
            return Some(there.map_or((chosen, false), |(target, _)| (target, true)));
        }
        self.accounts.counts.old_page_buffer_reads += 1;
        None
    }

    /// Reads the old page of a partial write; the write waits for the read.
    pub(super) fn read_old_page(&mut self, target: ReadTarget, write: u32) {
        let op = Op { other: write, ..Op::new(target.ppn, Work::ReadBeforeWrite) };
        self.array.read(&target, op, &mut self.accounts);
        self.hear_of_erases();
    }

    /// The same after the program of that page.
    pub(super) fn await_old_page(&mut self, target: ReadTarget, write: u32, walk: u32) {
        let (work, request, charged) = (Work::ReadBeforeWrite, NONE, OpenLedger::NONE);
        let PageOp { page, request: asks, .. } = self.page_ops[write];
        let read = AwaitedRead { target, data: 0, request, work, other: write, charged };
        self.await_program((page.lpn, asks), read, walk);
    }

    /// Lets a read wait for a program, and sends for its mapping tables where `walk` says so.
    /// The page and the request are those that it is read for.
    fn await_program(&mut self, (lpn, request): (Lpn, u32), read: AwaitedRead, walk: u32) {
        let at = self.array.await_program(read, &mut self.accounts);
        if walk == NONE {
            self.array.awaited_read_comes(at, OpenLedger::NONE, &mut self.accounts);
        } else {
            let (state, now) = (State::ReadProgram(at), self.array.now_ns());
            let op = self.page_ops.insert(page_read(lpn), request, state, OpenLedger::NONE, now);
            self.wait_for_tables(walk, op);
        }
        self.hear_of_erases();
    }

    /// Serves a read of a page whose newest write is undecided: from controller RAM; where RAM serves no reads,
    /// after the decision.
    #[inline(never)]
    pub(super) fn read_undecided(&mut self, write: u32, request: u32) {
        if self.page_ops[write].trimmed {
            self.accounts.counts.undecided_unmapped_reads += 1;
            return self.page_done(request, None, |_, _| ());
        }
        if self.array.awaits_programs() {
            let (page, state, now) = (self.page_ops[write].page, State::ReadDecision, self.array.now_ns());
            let read = self.page_ops.insert(page, request, state, OpenLedger::NONE, now);
            return self.waits.wait(Condition::Decision(write), read);
        }
        self.accounts.counts.pages.buffer_reads += 1;
        self.accounts.counts.undecided_reads += 1;
        self.page_ops[write].reads += 1;
        self.page_done(request, None, |_, _| ());
    }

    /// Sends the reads that waited for the decision of a write to the flash.
    pub(super) fn let_readers_go(&mut self, write: u32) -> Result<(), SimError> {
        for read in self.waits.wake(Condition::Decision(write)) {
            let PageOp { page, request, mut charged, since_ns, .. } = self.page_ops.remove(read);
            let waited_ns = self.array.now_ns() - since_ns;
            self.accounts.charge(&mut charged, &Ledger::only(Charge::PageProgram, waited_ns));
            self.read_decided(page.lpn, request, charged)?;
            self.controller.begin_jobs(&mut self.own_ops)?;
            self.queue_own(false);
        }
        Ok(())
    }
}
