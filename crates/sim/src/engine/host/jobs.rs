//! The controller's own work: its orders go to the array, it is offered idle time, and it hears
//! when an operation of a job has ended and when a block is erased.

use flashtwin_ftl::{FlashOp, LoadView, Unit};

use super::super::array::UnitHold;
use super::{Backend, Controller, Engine, Observer};

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// Offers a unit that has nothing else to do to the controller once it has been idle for long enough, step by step.
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

    /// Reports ended job operations to the controller, and queues its next orders. Orders that take
    /// no time end at once and are reported in the same call.
    #[inline]
    pub(super) fn tell_jobs_done(&mut self) {
        if !self.array.news().jobs_done.is_empty() {
            self.go_on_with_jobs();
        }
    }

    #[cold]
    fn go_on_with_jobs(&mut self) {
        // In the order of their ends; those that end meanwhile are appended to the list.
        let mut at = 0;
        while at < self.array.news().jobs_done.len() {
            let job = self.array.news().jobs_done[at];
            at += 1;
            let (controller, loads, own_ops) = self.controller_and_loads();
            if let Err(error) = controller.job_done(job, &loads, own_ops) {
                self.accounts.fail(error);
            }
            self.queue_own(false);
        }
        self.array.news().jobs_done.clear();
    }

    /// Queues the operations that the controller ordered on its own account.
    #[inline]
    pub(super) fn queue_own(&mut self, offline: bool) {
        if !self.own_ops.is_empty() {
            self.array.carry_out_orders(&self.own_ops, offline, &mut self.accounts);
            self.own_ops.clear();
            self.hear_of_erases();
        }
    }

    /// Dispatches the units that were held back.
    #[inline]
    pub(super) fn release(&mut self, held: UnitHold) {
        self.array.release(held, &mut self.accounts);
        self.hear_of_erases();
    }

    /// Tells the controller of blocks that have been erased meanwhile, before it decides anything else.
    #[inline]
    pub(super) fn hear_of_erases(&mut self) {
        if !self.array.news().erased.is_empty() {
            self.tell_erased();
        }
    }

    #[inline(never)]
    fn tell_erased(&mut self) {
        for block in self.array.news().erased.drain(..) {
            self.controller.erased(block);
        }
    }

    /// The loads as the controller may see them now, beside the controller itself.
    #[inline]
    pub(super) fn controller_and_loads(&mut self) -> (&mut C, LoadView<'_>, &mut Vec<FlashOp>) {
        (&mut self.controller, self.array.load_view(), &mut self.own_ops)
    }
}
