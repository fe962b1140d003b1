//! Page reads: from the write cache, from a write that is not decided yet, from controller RAM, or from the flash.

use flashtwin_ftl::{Lpn, ReadOutcome, ReadTarget};

use super::super::array::{AwaitedRead, Op, Work};
use super::tables::Then;
use super::{Charge, Controller, Engine, Ledger, NONE, Observer, OpenLedger};
use crate::error::SimError;

impl<C: Controller, O: Observer> Engine<C, O> {
    #[inline]
    pub(super) fn read_page(&mut self, lpn: Lpn, request: u32) -> Result<(), SimError> {
        if self.read_cached(lpn, request) {
            return Ok(());
        }
        if let Some(write) = self.undecided.newest(lpn) {
            self.read_undecided(write, request);
            return Ok(());
        }
        self.read_decided(lpn, request, OpenLedger::NONE)
    }

    /// Serves a read of a page all of whose writes are decided; `charged` has what the read waited for before.
    #[inline]
    pub(super) fn read_decided(
        &mut self,
        lpn: Lpn,
        request: u32,
        charged: OpenLedger,
    ) -> Result<(), SimError> {
        let (controller, loads, _) = self.controller_and_loads();
        let outcome = controller.read(lpn, &loads)?;
        let errand = self.looked_up();
        match outcome {
            ReadOutcome::Flash { target, data, .. } => {
                if let Some(ppn) = self.array.place_on_flash(target.ppn) {
                    let target = ReadTarget { ppn, ..target };
                    self.read_on_flash((target, data), request, errand, charged);
                    return Ok(());
                }
                if self.array.awaits_programs() {
                    return self.read_when_programmed(lpn, (target, data), request, errand, charged);
                }
                self.accounts.counts.pages.buffer_reads += 1;
            }
            ReadOutcome::Unmapped => {}
        }
        match errand {
            NONE => self.page_done_in_ram(request, charged),
            errand => self.set_out(errand, Then::Read { target: None, request, charged }),
        }
        Ok(())
    }

    /// Reads a page that is on flash, once its tables are in RAM where `errand` says that they are not.
    #[inline]
    fn read_on_flash(&mut self, page: (ReadTarget, u64), request: u32, errand: u32, charged: OpenLedger) {
        if errand == NONE {
            self.queue_host_read(page, request, charged);
        } else {
            self.array.pin(&page.0);
            self.set_out(errand, Then::Read { target: Some(page), request, charged });
        }
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
        errand: u32,
        charged: OpenLedger,
    ) -> Result<(), SimError> {
        if let Some(page) = self.place_there(lpn)? {
            self.read_on_flash(page, request, errand, charged);
            return Ok(());
        }
        let ((target, data), work, other) = (chosen, Work::HostRead, NONE);
        self.await_program(AwaitedRead { target, data, request, work, other, charged }, errand);
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
    pub(super) fn await_old_page(&mut self, target: ReadTarget, write: u32, errand: u32) {
        let (work, request, charged) = (Work::ReadBeforeWrite, NONE, OpenLedger::NONE);
        self.await_program(AwaitedRead { target, data: 0, request, work, other: write, charged }, errand);
    }

    /// Lets a read wait for a program, and sends for its mapping tables where `errand` says so.
    fn await_program(&mut self, read: AwaitedRead, errand: u32) {
        let at = self.array.await_program(read, &mut self.accounts);
        match errand {
            NONE => self.array.awaited_read_comes(at, None, &mut self.accounts),
            errand => self.set_out(errand, Then::Awaited(at)),
        }
        self.hear_of_erases();
    }

    /// Serves a read of a page whose newest write is undecided: from controller RAM; where RAM serves no reads,
    /// after the decision.
    #[inline(never)]
    pub(super) fn read_undecided(&mut self, write: u32, request: u32) {
        if self.undecided.is_trimmed(write) {
            self.accounts.counts.undecided_unmapped_reads += 1;
            return self.page_done(request, None, |_, _| ());
        }
        if self.array.awaits_programs() {
            let since_ns = self.array.now_ns;
            return self.undecided.wait_to_read(write, request, since_ns);
        }
        self.accounts.counts.pages.buffer_reads += 1;
        self.accounts.counts.undecided_reads += 1;
        self.undecided.count_read(write);
        self.page_done(request, None, |_, _| ());
    }

    /// Sends the reads that waited for the decision of a write to the flash.
    pub(super) fn let_readers_go(&mut self, write: u32, lpn: Lpn) -> Result<(), SimError> {
        for (request, since_ns) in self.undecided.take_readers(write) {
            let mut charged = OpenLedger::NONE;
            let waited_ns = self.array.now_ns - since_ns;
            self.accounts.charge(&mut charged, &Ledger::only(Charge::PageProgram, waited_ns));
            self.read_decided(lpn, request, charged)?;
            self.controller.begin_jobs(&mut self.own_ops)?;
            self.queue_own(false);
        }
        Ok(())
    }
}
