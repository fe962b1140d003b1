//! Decisions about page writes: the hash unit, the fingerprint store, the controller's answer, and deferred work.

use flashtwin_ftl::{Host, Lpn};
use flashtwin_nand::Ppn;

use super::super::accounts::Hashing;
use super::super::array::{Op, Queue, Work};
use super::hash_unit::HashUnit;
use super::look_ahead::{FAR, NEAR};
use super::page_op::{Fingerprint, PageOp, State};
use super::{Charge, Condition, Controller, Decider, Ledger, NONE, Observer, OpenLedger};
use crate::config::WriteCompletes;
use crate::error::SimError;

impl<C: Controller, O: Observer> Decider<C, O> {
    /// Looks the hash of a page write up in the fingerprint store, which may first have to read a page of the store.
    #[inline]
    pub(super) fn look_up_hash(&mut self, slot: u32) -> Result<(), SimError> {
        if self.pages_fingerprints { self.look_up_on_flash(slot) } else { self.decide_waiting(slot) }
    }

    fn look_up_on_flash(&mut self, slot: u32) -> Result<(), SimError> {
        let write = self.page_ops[slot];
        self.back.controller.look_up_fingerprint(write.page.content)?;
        let walk = self.looked_up();
        if walk == NONE && write.before == NONE {
            return self.decide_waiting(slot);
        }
        let charged = self.charges_before_decision(&write);
        self.page_ops[slot].charged = OpenLedger::NONE;
        self.page_ops.charge(slot, &charged, &mut self.back.accounts);
        let entry = &mut self.page_ops[slot];
        (entry.state, entry.needs) = (State::Hashed, u8::from(walk != NONE));
        // The later write of the same page may be hashed during this read.
        self.let_later_write_go_on(slot, write.behind);
        if walk == NONE {
            // It has its hash and all its tables: the earlier write of its page lets it go on.
            self.waits.wait(Condition::EarlierWrite(write.before), slot);
        } else {
            self.wait_for_tables(walk, slot);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn enter(&mut self, slot: u32) {
        let Some(hash) = &mut self.hash else { return };
        let now = self.back.now_ns();
        hash.submit(now, slot);
        self.back.accounts.observer.hash_queue_changed(now, hash.queue_length());
        if self.back.accounts.observer.follows_commands() {
            self.tell_hashing(slot);
        }
        let entry = &mut self.page_ops[slot];
        (entry.state, entry.since_ns) = (State::Hashing, now);
        let behind = entry.behind;
        self.let_later_write_go_on(slot, behind);
    }

    #[cold]
    #[inline(never)]
    fn tell_hashing(&mut self, slot: u32) {
        let request = Some(self.page_ops[slot].request);
        if let Some((begin_ns, end_ns)) = self.hash.as_ref().and_then(HashUnit::last_span_ns) {
            self.back.accounts.observer.hashing(&Hashing { begin_ns, end_ns, request });
        }
    }

    /// A page write has gone on: the write `behind` it, of the same page, may go on as well.
    #[inline]
    fn let_later_write_go_on(&mut self, write: u32, behind: u32) {
        if behind != NONE {
            for later in self.waits.wake(Condition::EarlierWrite(write)) {
                self.page_ops.note_due(later);
            }
        }
    }

    /// Prefetches the tables for the writes next in the hash unit's queue, because a long queue outlasts the prefetch
    /// of their arrival.
    #[inline]
    pub(super) fn look_ahead_in_queue(&self) {
        let Some(hash) = &self.hash else { return };
        if let Some(slot) = hash.waiting(FAR) {
            let Host { lpn, content, .. } = self.page_ops[slot].page;
            self.back.controller.prefetch_far(lpn, content, true);
        }
        if let Some(slot) = hash.waiting(NEAR) {
            let Host { lpn, content, .. } = self.page_ops[slot].page;
            self.back.controller.prefetch_near(lpn, content, true);
        }
    }

    /// Decides a waiting page write and does the deferred work: counts reads served from RAM, sends reads that waited,
    /// trims the page, lets its followers go on.
    pub(super) fn decide_waiting(&mut self, slot: u32) -> Result<(), SimError> {
        let write = self.page_ops.remove_write(slot);
        let mut charged = OpenLedger::NONE;
        if !write.plain {
            let ledger = self.charges_before_decision(&write);
            self.back.accounts.charge(&mut charged, &ledger);
        }
        let PageOp { page, request, handle, .. } = write;
        let fingerprinted = write.fingerprint == Fingerprint::Yes;
        let programmed = self.decide(page, handle, fingerprinted, request, charged)?;
        for _ in 0..write.reads {
            self.back.controller.was_read_in_ram(page.lpn);
            self.back.begin_jobs()?;
        }
        if self.back.array.awaits_programs() {
            self.let_readers_go(slot)?;
        }
        if write.trimmed {
            self.back.controller.trim(page.lpn);
            self.interface.page_changed(page.lpn);
            self.back.begin_jobs()?;
        }
        if write.is_sample {
            // Its followers are fingerprinted only if it was found.
            let fingerprint = if programmed { Fingerprint::No } else { Fingerprint::Yes };
            for follower in self.waits.wake(Condition::Sample(slot)) {
                let write = &mut self.page_ops[follower];
                (write.plain, write.fingerprint) = (false, fingerprint);
                self.page_ops.note_due(follower);
            }
        }
        self.let_later_write_go_on(slot, write.behind);
        Ok(())
    }

    /// The ledger of a page write up to its decision: its reads, then queue and service of the hash unit. The rest is
    /// the wait for an earlier write of the page, or for the sample of its run. A write in [`State::Hashed`] has those
    /// charged already, with the read of its fingerprint's page.
    fn charges_before_decision(&mut self, write: &PageOp) -> Ledger {
        let mut ledger = self.back.accounts.close(write.charged).unwrap_or_default();
        let since_ns = self.interface.taken_in_ns(write.request);
        if write.state == State::Hashed {
            let so_far_ns = since_ns + ledger.total_ns();
            ledger.charge(Charge::Order, self.back.now_ns().saturating_sub(so_far_ns));
            return ledger;
        }
        let missing = write.since_ns.saturating_sub(since_ns).saturating_sub(ledger.total_ns());
        let samples = self.sampling_pages > 1 && !write.is_sample;
        ledger.charge(if samples { Charge::HashQueue } else { Charge::Order }, missing);
        if let Some(hash) = self.hash.as_ref().filter(|_| write.state == State::Hashing) {
            let hash_ns = hash.hash_ns().min(self.back.now_ns() - write.since_ns);
            ledger.charge(Charge::Hash, hash_ns);
            ledger.charge(Charge::HashQueue, self.back.now_ns() - write.since_ns - hash_ns);
        }
        ledger
    }

    /// The controller decides a page write. Returns whether there is a program; otherwise its request completes in RAM.
    #[inline]
    pub(super) fn decide(
        &mut self,
        page: Host,
        handle: u8,
        fingerprinted: bool,
        request: u32,
        charged: OpenLedger,
    ) -> Result<bool, SimError> {
        let (controller, loads, own_ops) = self.back.controller_and_loads();
        controller.direct(handle);
        let outcome = controller.write(page, fingerprinted, &loads, own_ops)?;
        self.interface.page_changed(page.lpn);
        self.looked_up();
        match outcome.program {
            Some((ppn, _)) => {
                if self.back.accounts.observer.follows_requests() {
                    self.back.accounts.observer.programmed(page.lpn);
                }
                let (request, hashed, charged) =
                    self.take_to_buffer(WriteCompletes::Hashed, request, fingerprinted, charged);
                self.queue_program(ppn, request, hashed, charged);
            }
            None => self.complete_in_ram(request, fingerprinted, charged),
        }
        self.back.queue_own(false);
        Ok(outcome.program.is_some())
    }

    pub(super) fn trim_page(&mut self, lpn: Lpn) {
        match self.page_ops.newest(lpn) {
            Some(write) => self.page_ops[write].trimmed = true,
            None => {
                self.back.controller.trim(lpn);
                self.interface.page_changed(lpn);
            }
        }
    }

    /// Queues the program of a host's page. `charged` has charges besides hash and hash queue.
    #[inline]
    fn queue_program(&mut self, ppn: Ppn, request: u32, hashed: bool, charged: OpenLedger) {
        let life = self.back.array.life_of_program(ppn, &self.back.own_ops);
        let other = self.interface.epoch_of_program(request);
        let op = Op { request, life, hashed, other, charged, ..Op::new(ppn, Work::HostProgram) };
        self.back.submit(Queue::Writes, op);
    }
}
