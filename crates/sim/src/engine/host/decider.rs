//! Page operations from their arrival to the flash or to the answer.

use flashtwin_ftl::Handles;
use flashtwin_trace::Window;

use super::look_ahead::LookAhead;
use super::write_buffer::{HAS_PLACE, WriteBuffer};
use super::{
    BackEnd, Charge, Controller, HashUnit, Interface, Ledger, NONE, Observer, OpenLedger, PageOps, Request,
    ServedBy, Tables, Waits,
};
use crate::config::{EngineConfig, WriteCompletes};

#[derive(Clone)]
pub(super) struct Decider<C, O> {
    pub(super) back: BackEnd<C, O>,
    pub(super) interface: Interface,
    pub(super) hash: Option<HashUnit>,
    pub(super) write_completes: WriteCompletes,
    pub(super) write_buffer: WriteBuffer,
    pub(super) tables: Option<Box<Tables>>,
    pub(super) look_ahead: LookAhead,
    /// Most pages of a write that share a sample, which alone is hashed unless it is a duplicate.
    pub(super) sampling_pages: usize,
    /// Whether a page write that has its hash may wait for a page of the fingerprint store.
    pub(super) pages_fingerprints: bool,
    pub(super) page_ops: PageOps,
    pub(super) waits: Waits,
    /// `None` where writes have no placement handles.
    pub(super) handles: Option<Handles>,
}

impl<C: Controller, O: Observer> Decider<C, O> {
    pub(super) fn new(
        back: BackEnd<C, O>,
        interface: Interface,
        config: &EngineConfig,
        hashes: bool,
    ) -> Self {
        let controller = &back.controller;
        Self {
            hash: hashes.then(|| HashUnit::new(config.hash_ns(), config.hash_lanes)),
            write_completes: config.write_completes,
            write_buffer: WriteBuffer::new(config.write_buffer_pages),
            tables: controller.pages_tables().then(Box::default),
            look_ahead: LookAhead::new(controller),
            sampling_pages: controller.sampling_pages().max(1) as usize,
            pages_fingerprints: controller.pages_fingerprints(),
            page_ops: PageOps::new(),
            waits: Waits::default(),
            handles: None,
            interface,
            back,
        }
    }

    #[inline]
    pub(super) fn look_ahead(&mut self, trace: &Window<'_>, at: usize) {
        self.look_ahead.ask(&self.back.controller, &self.back.array, trace, at);
    }

    /// One page of a request is complete, served by `server`. `charge` enters the page's time into a ledger that has
    /// the controller's own already. It is called for the last page of the request only, because its time is the
    /// request's.
    #[inline]
    pub(super) fn page_done(
        &mut self,
        number: u32,
        server: Option<ServedBy>,
        charge: impl FnOnce(&Self, &mut Ledger),
    ) {
        let Some(request) = self.interface.end_page(number) else { return };
        if request.destages != NONE {
            return match self.interface.write_cache {
                Some(_) => self.interface.destaged(&mut self.back.books(), number, &request),
                None => self.leaves_buffer(number, server, charge),
            };
        }
        let mut ledger = Ledger::only(Charge::Controller, self.interface.controller_ns);
        charge(self, &mut ledger);
        self.interface.complete_pages(&mut self.back.books(), (number, &request), &ledger, server);
    }

    /// A page in RAM is programmed, or a duplicate. `charge` is as in [`Self::page_done`].
    #[inline(never)]
    fn leaves_buffer(&mut self, own: u32, server: Option<ServedBy>, charge: impl FnOnce(&Self, &mut Ledger)) {
        let Request { destages, epoch, .. } = self.interface.requests[own];
        if destages == HAS_PLACE {
            self.give_up_place();
        } else if let Some(page) = self.write_buffer.end_wait(destages) {
            let mut ledger = self.back.accounts.close(page.charged).unwrap_or_default();
            charge(self, &mut ledger);
            self.page_done_with(page.hosts, server, &ledger);
        }
        self.interface.requests.remove(own);
        self.interface.is_safe(&mut self.back.books(), epoch);
    }

    fn give_up_place(&mut self) {
        let Some(page) = self.write_buffer.give_up_place() else { return };
        self.interface.requests[page.own].destages = HAS_PLACE;
        let mut ledger = self.back.accounts.close(page.charged);
        let ledger = ledger.get_or_insert_with(|| {
            let mut ledger = Ledger::default();
            self.charge_hashing(&mut ledger, page.hosts, page.hashed, page.since_ns);
            ledger
        });
        ledger.charge(Charge::CachePlace, self.back.now_ns() - page.since_ns);
        self.page_done_with(page.hosts, None, ledger);
    }

    /// Not generic, because the requests of pages would nest without end.
    fn page_done_with(&mut self, request: u32, server: Option<ServedBy>, charged: &Ledger) {
        self.page_done(request, server, |_, ledger| ledger.add(charged));
    }

    /// [`Self::page_done`] for a page that controller RAM serves, or that does not exist: its time is the
    /// sum of its charges.
    #[inline(never)]
    pub(super) fn page_done_in_ram(&mut self, request: u32, charged: OpenLedger) {
        let charged = self.back.accounts.close(charged);
        self.page_done(request, None, |_, ledger| ledger.add_all(charged.as_ref()));
    }

    /// Completes a page write, just decided, that needs nothing from the flash: a duplicate, or one that is
    /// complete as soon as controller RAM has it.
    #[inline]
    pub(super) fn complete_in_ram(&mut self, request: u32, hashed: bool, charged: OpenLedger) {
        let charged = self.back.accounts.close(charged);
        self.page_done(request, None, |decider, ledger| match charged {
            Some(charged) => ledger.add(&charged),
            None => decider.charge_hashing(ledger, request, hashed, decider.back.now_ns()),
        });
    }

    /// Charges the time until its decision, at `decided_ns`, of a page write that waited for nothing but
    /// the hash unit.
    #[inline]
    pub(super) fn charge_hashing(&self, ledger: &mut Ledger, request: u32, hashed: bool, decided_ns: u64) {
        if let Some(hash) = self.hash.as_ref().filter(|_| hashed) {
            let since_ns = self.interface.taken_in_ns(request);
            let in_unit_ns = decided_ns.saturating_sub(since_ns);
            ledger.charge(Charge::Hash, hash.hash_ns().min(in_unit_ns));
            ledger.charge(Charge::HashQueue, in_unit_ns.saturating_sub(hash.hash_ns()));
        }
    }
}
