//! The clock: it finds the next event.

use super::hash_unit::HashUnit;
use super::write_cache::WriteCache;
use super::{Controller, Decider, Engine, FOREVER, NO_EVENT, Observer};
use crate::error::SimError;

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Carries out the next pending event at or before `limit_ns`; `false` when there is none.
    #[inline(always)] // Every request ends its loop with a look that finds nothing.
    pub(super) fn step(&mut self, limit_ns: u64) -> bool {
        let flash = self.decider.back.array.next_event_ns();
        let hashed = self.decider.hash.as_ref().map_or(NO_EVENT, HashUnit::next_time);
        let next = flash.min(hashed).min(self.decider.interface.delayed_ns);
        if next > limit_ns || next == NO_EVENT {
            return false;
        }
        self.carry_out(flash, hashed, next);
        true
    }

    fn carry_out(&mut self, flash: u64, hashed: u64, next: u64) {
        if self.decider.interface.delayed_ns != next || !self.step_delayed(flash.min(hashed)) {
            self.step_hash_or_array(hashed, flash);
        }
        self.decider.back.tell_jobs_done();
        self.pad_if_waited_for();
        self.decider.back.array.prefetch_event();
    }

    /// If a hash and a stage end at the same time, the hash goes first, because its program then counts as load for
    /// decisions at the end of the stage.
    #[inline]
    fn step_hash_or_array(&mut self, hashed: u64, flash: u64) {
        if flash < hashed {
            self.decider.step_array();
        } else if let Some((time_ns, write)) = self.decider.hash.as_mut().and_then(HashUnit::pop) {
            self.decider.back.array.advance_to(time_ns);
            let held = self.decider.back.array.hold();
            self.decider.hashed(write);
            if held.holds() {
                // Pages hashed at the same time may go to the flash as one multi-plane command.
                while let Some(write) = self.decider.hash.as_mut().and_then(|hash| hash.pop_at(time_ns)) {
                    self.decider.hashed(write);
                }
            }
            self.decider.back.release(held);
        }
    }

    /// The next answer of controller RAM has reached the host, or the front end acts. Returns `false` if the front end
    /// must wait for other events at the same time (`others_ns`), because an arriving request sees their effects.
    #[cold]
    #[inline(never)]
    fn step_delayed(&mut self, others_ns: u64) -> bool {
        let Decider { back, interface, .. } = &mut self.decider;
        let now_ns = interface.delayed_ns;
        if interface.front_is_next(now_ns) {
            let is_last = others_ns > now_ns;
            if is_last {
                self.decider.step_front(now_ns);
            }
            return is_last;
        }
        if let Some(answer) = interface.pop_ram_answer() {
            back.array.advance_to(answer.due_ns);
            interface.answered(&mut back.books(), answer);
        }
        true
    }

    #[cold]
    fn let_all_in(&mut self) {
        while self.decider.interface.front.as_ref().is_some_and(|front| front.keeps_any()) {
            let next_ns = self.next_step_ns();
            if next_ns >= self.checkpoints.next_ns && next_ns < FOREVER {
                self.checkpoint_until(next_ns);
            } else if !self.step(FOREVER) {
                break;
            }
        }
    }

    fn next_step_ns(&self) -> u64 {
        let hashed = self.decider.hash.as_ref().map_or(NO_EVENT, HashUnit::next_time);
        self.decider.back.array.next_event_ns().min(hashed).min(self.decider.interface.delayed_ns)
    }

    pub fn advance(&mut self, time_ns: u64) -> Result<(), SimError> {
        if time_ns >= self.checkpoints.next_ns {
            self.checkpoint_until(time_ns);
        }
        while self.step(time_ns) {}
        let back = &mut self.decider.back;
        back.array.advance_to(back.now_ns().max(time_ns));
        back.accounts.take_failure()
    }

    pub fn next_event_ns(&self) -> Option<u64> {
        let next = self.next_step_ns().min(self.checkpoints.next_ns);
        (next != NO_EVENT).then_some(next)
    }

    /// Serves everything under way. The write cache is flushed last, and then program units that
    /// are not full.
    pub fn drain(&mut self) -> Result<(), SimError> {
        if self.decider.interface.front.is_some() {
            self.let_all_in();
        }
        // Idle time after the last request belongs to no request.
        self.decider.back.planes_of_units = None;
        while self.step(FOREVER) {}
        self.decider.flush_cache()?;
        while self.step(FOREVER) {}
        let back = &mut self.decider.back;
        back.array.end_batches(&mut back.accounts);
        while self.step(FOREVER) {}
        let back = &mut self.decider.back;
        back.array.program_open_units(&mut back.accounts);
        while self.step(FOREVER) {}
        self.decider.back.accounts.take_failure()?;
        debug_assert_eq!(self.decider.back.accounts.open_ledgers(), 0, "a page operation has not ended");
        Ok(())
    }

    /// Makes the controller write its changed tables every `every_ns`, from now on.
    pub fn checkpoint_every(&mut self, every_ns: u64) {
        self.checkpoints.every_ns = every_ns.max(1);
        self.checkpoints.next_ns = self.decider.back.now_ns().saturating_add(self.checkpoints.every_ns);
    }

    #[cold]
    pub(super) fn checkpoint_until(&mut self, until_ns: u64) {
        while self.checkpoints.next_ns <= until_ns {
            let due_ns = self.checkpoints.next_ns;
            while self.step(due_ns) {}
            let is_pending = self.next_step_ns() != NO_EVENT;
            let back = &mut self.decider.back;
            back.array.advance_to(back.now_ns().max(due_ns));
            if let Err(error) = back.controller.checkpoint(&mut back.own_ops) {
                back.accounts.fail(error);
            }
            let nothing_changes = back.own_ops.is_empty() && !is_pending;
            back.queue_own(false);
            back.tell_jobs_done();
            // A device at rest changes no table: later checkpoints up to `until_ns` would write nothing either.
            let skipped = if nothing_changes { (until_ns - due_ns) / self.checkpoints.every_ns } else { 0 };
            self.checkpoints.next_ns =
                due_ns.saturating_add((skipped + 1).saturating_mul(self.checkpoints.every_ns));
        }
    }

    /// Pads the open program units if the host waits for pages in them.
    ///
    /// A flush waits for pages that were written before it, and so does a write that goes past volatile RAM (FUA). A
    /// page that waits for a place in RAM waits for programs, so units are padded if no program is under way that would
    /// give one up. All that only once all writes are decided, because an undecided one may fill a unit.
    #[inline]
    pub(super) fn pad_if_waited_for(&mut self) {
        if self.decider.back.array.gathers() {
            self.pad();
        }
    }

    #[inline(never)]
    fn pad(&mut self) {
        let Decider { back, interface, page_ops, write_buffer, .. } = &mut self.decider;
        if !page_ops.all_writes_are_decided() {
            return;
        }
        let (gathered, under_way) = back.array.host_pages_in_units();
        let wants_place = || {
            interface.write_cache.as_ref().is_some_and(WriteCache::is_waited_for)
                || write_buffer.is_waited_for()
        };
        let is_asked = std::mem::take(&mut back.wants_padding);
        if gathered > 0 && (is_asked || (under_way == 0 && wants_place())) {
            if let Err(error) = back.controller.pad_units(&mut back.own_ops) {
                back.accounts.fail(error);
            }
            back.queue_own(false);
        }
    }
}
