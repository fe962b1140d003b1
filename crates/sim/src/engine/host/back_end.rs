//! The back end: the controller, and the array that carries out its orders.

use flashtwin_ftl::{FlashOp, LoadView, Lpn, ReadTarget, TablePage, Unit};
use flashtwin_nand::{Plane, Ppn};

use super::super::accounts::charge_wait;
use super::super::array::{Op, Queue, UnitHold, Work};
use super::{Accounts, Array, Books, Controller, Ledger, Observer, OpenLedger};
use crate::error::SimError;

#[derive(Clone)]
pub(super) struct BackEnd<C, O> {
    pub(super) controller: C,
    pub(super) accounts: Accounts<O>,
    pub(super) array: Array,
    pub(super) own_ops: Vec<FlashOp>,
    pub(super) planes_of_units: Option<Vec<Vec<Plane>>>,
    pub(super) wants_padding: bool,
}

impl<C: Controller, O: Observer> BackEnd<C, O> {
    pub(super) fn new(controller: C, observer: O, array: Array) -> Self {
        Self {
            planes_of_units: controller.works_in_idle_time().then(|| array.planes_of_units()),
            controller,
            accounts: Accounts::new(observer),
            array,
            own_ops: Vec::new(),
            wants_padding: false,
        }
    }

    #[inline]
    pub(super) fn charge_service(
        &self,
        ledger: &mut Ledger,
        slot: u32,
        op: &Op,
        array_ns: u64,
        lost_ns: u64,
    ) {
        if op.waits {
            charge_wait(ledger, op.start_ns - op.came_ns, self.accounts.unit_waits.of(slot));
        }
        self.array.charge_command(ledger, op.start_ns, array_ns, lost_ns);
    }

    #[inline]
    pub(super) fn books(&mut self) -> Books<'_, O> {
        Books { now_ns: self.array.now_ns(), accounts: &mut self.accounts }
    }

    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        self.array.now_ns()
    }

    /// Only between events, when nothing that the controller ordered waits to be queued.
    #[inline]
    pub(super) fn offer_idle_time(&mut self, unit: Unit) {
        if self.planes_of_units.is_some() {
            self.offer(unit);
        }
    }

    #[inline(never)]
    fn offer(&mut self, unit: Unit) {
        if !self.array.has_idle_time(unit) {
            return;
        }
        let Some(planes) = &self.planes_of_units else { return };
        if let Err(error) = self.controller.use_idle_time(&planes[unit.index()], &mut self.own_ops) {
            self.accounts.fail(error);
        }
        self.queue_own(false);
    }

    /// Queues the controller's next orders, too. Orders that take no time are reported in the same call.
    #[inline]
    pub(super) fn tell_jobs_done(&mut self) {
        if !self.array.news.jobs_done.is_empty() {
            self.go_on_with_jobs();
        }
    }

    #[cold]
    fn go_on_with_jobs(&mut self) {
        // In the order of their ends. Those that end meanwhile are appended to the list.
        let mut at = 0;
        while at < self.array.news.jobs_done.len() {
            let job = self.array.news.jobs_done[at];
            at += 1;
            let (controller, loads, own_ops) = self.controller_and_loads();
            if let Err(error) = controller.job_done(job, &loads, own_ops) {
                self.accounts.fail(error);
            }
            self.queue_own(false);
        }
        self.array.news.jobs_done.clear();
    }

    #[inline]
    pub(super) fn begin_jobs(&mut self) -> Result<(), SimError> {
        self.controller.begin_jobs(&mut self.own_ops)?;
        self.queue_own(false);
        Ok(())
    }

    #[inline]
    pub(super) fn queue_own(&mut self, offline: bool) {
        if !self.own_ops.is_empty() {
            self.array.carry_out_orders(&self.own_ops, offline, &mut self.accounts);
            self.own_ops.clear();
            self.hear_of_erases();
        }
    }

    #[inline]
    pub(super) fn release(&mut self, held: UnitHold) {
        self.array.release(held, &mut self.accounts);
        self.hear_of_erases();
    }

    #[inline]
    pub(super) fn hear_of_erases(&mut self) {
        if !self.array.news.erased.is_empty() {
            self.tell_erased();
        }
    }

    #[inline(never)]
    fn tell_erased(&mut self) {
        for block in self.array.news.erased.drain(..) {
            self.controller.erased(block);
        }
    }

    #[inline]
    pub(super) fn controller_and_loads(&mut self) -> (&mut C, LoadView<'_>, &mut Vec<FlashOp>) {
        (&mut self.controller, self.array.load_view(), &mut self.own_ops)
    }

    pub(super) fn ask_for_padding(&mut self) {
        self.wants_padding = self.array.gathers();
    }

    #[inline]
    pub(super) fn note_arrival(&mut self, lpn: Lpn) {
        if !self.array.awaits_programs() {
            // Not where reads wait for writes: such a read may reach the flash after a newer write has arrived.
            self.controller.arrived(lpn);
        }
    }

    #[inline(always)]
    pub(super) fn submit(&mut self, queue: Queue, op: Op) {
        self.array.submit(queue, op, &mut self.accounts);
        self.hear_of_erases();
    }

    #[inline]
    pub(super) fn queue_host_read(&mut self, page: (ReadTarget, u64), request: u32, charged: OpenLedger) {
        self.array.read_for_host((&page.0, page.1), request, charged, &mut self.accounts);
        self.hear_of_erases();
    }

    pub(super) fn read_old_page(&mut self, target: ReadTarget, write: u32) {
        let op = Op { other: write, ..Op::new(target.ppn, Work::ReadBeforeWrite) };
        self.array.read(&target, op, &mut self.accounts);
        self.hear_of_erases();
    }

    pub(super) fn read_table_page(&mut self, page: TablePage, ppn: Ppn, reader: u32) {
        let (request, ready_ns) = (page.number(), self.now_ns());
        let op = Op { pins_block: true, other: reader, request, ready_ns, ..Op::new(ppn, Work::TableRead) };
        self.submit(Queue::Reads, op);
    }

    /// The copy that the redirection chooses among those already programmed, and the name of its data.
    pub(super) fn programmed_copy(&mut self, lpn: Lpn) -> Result<Option<(ReadTarget, u64)>, SimError> {
        let (loads, there) = self.array.loads_and_pages();
        Ok(self.controller.locate_among(lpn, &loads, &there)?)
    }

    /// The copy that a partial write reads, and whether flash has it: the `chosen` one or, if that is not programmed
    /// yet, the `programmed` one. `None` where controller RAM serves it.
    pub(super) fn old_page(
        &mut self,
        chosen: Option<ReadTarget>,
        programmed: Option<(ReadTarget, u64)>,
    ) -> Option<(ReadTarget, bool)> {
        let chosen = chosen?;
        if let Some(ppn) = self.array.place_on_flash(chosen.ppn) {
            return Some((ReadTarget { ppn, ..chosen }, true));
        }
        if self.array.awaits_programs() {
            return Some(programmed.map_or((chosen, false), |(target, _)| (target, true)));
        }
        self.accounts.counts.old_page_buffer_reads += 1;
        None
    }
}
