//! Answers: when a page of a request is complete, and with its last page the request.
//!
//! The end of a page frees its place in the write cache and may end the wait of flushes, so these
//! are here too. This module orders no flash operations.

use flashtwin_trace::Op as HostOp;

use super::flush::{Epoch, NO_EPOCH};
use super::page_op::PageOp;
use super::{
    Backend, Charge, Completed, Condition, Controller, Engine, Ledger, NONE, Observer, OpenLedger, Request,
    ServedBy,
};

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// One page of a request is complete, served by `server`. `charge` enters the page's time into a ledger that has the
    /// controller's own already. It is called for the last page of the request only, whose time is the
    /// request's.
    #[inline]
    pub(super) fn page_done(
        &mut self,
        request: u32,
        server: Option<ServedBy>,
        charge: impl FnOnce(&Self, &mut Ledger),
    ) {
        let entry = &mut self.requests[request];
        entry.pages_left -= 1;
        if entry.pages_left > 0 {
            return;
        }
        let Request { arrival_ns, epoch, destages, .. } = *entry;
        if destages != NONE {
            self.requests.remove(request);
            self.destaged(destages);
            return self.is_safe(epoch);
        }
        let mut ledger = Ledger::only(Charge::Controller, self.controller_ns);
        charge(self, &mut ledger);
        let total_ns = self.array.now_ns() - arrival_ns;
        debug_assert_eq!(ledger.total_ns(), total_ns, "{ledger:?}");
        let kind = if epoch == NO_EPOCH { HostOp::Read } else { HostOp::Write };
        if self.front.is_some() {
            self.leave_by_front(request, kind, &ledger, server);
            return self.is_safe(epoch);
        }
        self.requests.remove(request);
        self.leave(kind);
        let done = Completed { request, kind, arrival_ns, total_ns, ledger: &ledger, server };
        self.accounts.observer.completed(&done);
        self.is_safe(epoch);
    }

    /// The same for a page that controller RAM serves, or that does not exist: its time is the sum
    /// of its charges.
    #[inline(never)]
    pub(super) fn page_done_in_ram(&mut self, request: u32, charged: OpenLedger) {
        let charged = self.accounts.close(charged);
        self.page_done(request, None, |_, ledger| ledger.add_all(charged.as_ref()));
    }

    /// Completes a page write, just decided, that needs nothing from the flash: a duplicate, or one that is
    /// complete as soon as controller RAM has it.
    #[inline]
    pub(super) fn complete_in_ram(&mut self, request: u32, hashed: bool, charged: OpenLedger) {
        let charged = self.accounts.close(charged);
        self.page_done(request, None, |host, ledger| match charged {
            Some(charged) => ledger.add(&charged),
            None => host.charge_hashing(ledger, request, hashed, host.array.now_ns()),
        });
    }

    /// Charges the time until its decision, at `decided_ns`, of a page write that waited for nothing but
    /// the hash unit.
    #[inline]
    pub(super) fn charge_hashing(&self, ledger: &mut Ledger, request: u32, hashed: bool, decided_ns: u64) {
        if let Some(hash) = self.hash.as_ref().filter(|_| hashed) {
            let since_ns = self.requests[request].arrival_ns + self.controller_ns;
            let in_unit_ns = decided_ns.saturating_sub(since_ns);
            ledger.charge(Charge::Hash, hash.hash_ns().min(in_unit_ns));
            ledger.charge(Charge::HashQueue, in_unit_ns.saturating_sub(hash.hash_ns()));
        }
    }

    /// A write or a program that flushes may wait for is safe.
    #[inline]
    pub(super) fn is_safe(&mut self, epoch: Epoch) {
        if epoch != NO_EPOCH && self.flushes.is_safe(epoch) {
            self.complete_flushes();
        }
    }

    #[cold]
    pub(super) fn complete_flushes(&mut self) {
        while let Some(flush) = self.flushes.next_complete() {
            self.complete_flush(flush);
        }
    }

    pub(super) fn complete_flush(&mut self, request: u32) {
        let Request { arrival_ns, .. } = self.requests[request];
        let total_ns = self.array.now_ns() - arrival_ns;
        let mut ledger = Ledger::only(Charge::Controller, self.controller_ns);
        ledger.charge(Charge::EarlierWrites, total_ns - self.controller_ns);
        if self.front.is_some() {
            return self.leave_by_front(request, HostOp::Flush, &ledger, None);
        }
        self.requests.remove(request);
        self.leave(HostOp::Flush);
        self.accounts.observer.completed(&Completed {
            request,
            kind: HostOp::Flush,
            arrival_ns,
            total_ns,
            ledger: &ledger,
            server: None,
        });
    }

    /// A page of the cache has been programmed, or was found to be a duplicate.
    #[inline(never)]
    pub(super) fn destaged(&mut self, at: u32) {
        let Some(cache) = &mut self.write_cache else { return };
        if cache.arrived(at, self.waits.anybody(Condition::CachePlace)) {
            self.give_cache_place();
        }
    }

    /// A place in the cache is given up: it goes to the page that has waited for longest.
    pub(super) fn give_cache_place(&mut self) {
        if let Some(waiting) = self.waits.wake_one(Condition::CachePlace) {
            let PageOp { request, .. } = self.page_ops.remove(waiting);
            self.complete_cached(request);
        }
    }

    /// A page of a request has its place in the cache, or was found there: the answer leaves for the host.
    pub(super) fn complete_cached(&mut self, request: u32) {
        let waited_ns = self.array.now_ns() - self.requests[request].arrival_ns - self.controller_ns;
        match self.ram_answers.delay_ns {
            0 => self.answered(request, waited_ns),
            _ => {
                self.ram_answers.send(self.array.now_ns(), request, waited_ns);
                self.note_delayed();
            }
        }
    }

    /// The host has the answer for a page that the cache took or served, and that had waited for a place before.
    pub(super) fn answered(&mut self, request: u32, waited_ns: u64) {
        self.page_done(request, None, |host, ledger| {
            ledger.charge(Charge::CachePlace, waited_ns);
            ledger.charge(Charge::Controller, host.ram_answers.delay_ns);
        });
    }
}
