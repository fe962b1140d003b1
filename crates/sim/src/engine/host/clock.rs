//! The clock, which finds the next event: the end of a stage in the array, the end of a hash, an
//! answer of the write cache, or a request that passes the front end.

use super::hash_unit::HashUnit;
use super::{Backend, Controller, Engine, FOREVER, NO_EVENT, Observer};
use crate::error::SimError;

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// Carries out the next pending event at or before `limit_ns`; `false` when there is none.
    #[inline(always)] // Every request ends its loop with a look that finds nothing.
    pub(super) fn step(&mut self, limit_ns: u64) -> bool {
        let flash = self.array.next_event_ns();
        let hashed = self.hash.as_ref().map_or(NO_EVENT, HashUnit::next_time);
        let next = flash.min(hashed).min(self.delayed_ns);
        if next > limit_ns || next == NO_EVENT {
            return false;
        }
        self.carry_out(flash, hashed, next);
        true
    }

    /// Carries out the event at `next`, the earliest of an array stage, a hash and a delayed event.
    fn carry_out(&mut self, flash: u64, hashed: u64, next: u64) {
        if self.delayed_ns != next || !self.step_delayed(flash.min(hashed)) {
            self.step_hash_or_array(hashed, flash);
        }
        self.tell_jobs_done();
        self.pad_if_waited_for();
        self.array.prefetch_event();
    }

    /// If a hash and a stage end at the same time, the hash goes first: the program that it makes
    /// ready then counts as load for decisions at the end of the stage.
    #[inline]
    fn step_hash_or_array(&mut self, hashed: u64, flash: u64) {
        if flash < hashed {
            self.step_array();
        } else if let Some((time_ns, write)) = self.hash.as_mut().and_then(HashUnit::pop) {
            self.array.advance_to(time_ns);
            let held = self.array.hold();
            self.hashed(write);
            if held.holds() {
                // Pages hashed at the same time may go to the flash as one multi-plane command.
                while let Some(write) = self.hash.as_mut().and_then(|hash| hash.pop_at(time_ns)) {
                    self.hashed(write);
                }
            }
            self.release(held);
        }
    }

    /// The next answer of the write cache has reached the host, or the front end acts. Returns
    /// `false` if it must wait for other events at the same time, `others_ns`: an arriving request
    /// sees their effects.
    #[cold]
    #[inline(never)]
    fn step_delayed(&mut self, others_ns: u64) -> bool {
        let now_ns = self.delayed_ns;
        if self.ram_answers.next_time() > now_ns {
            let is_last = others_ns > now_ns;
            if is_last {
                self.step_front(now_ns);
            }
            return is_last;
        }
        if let Some(answer) = self.ram_answers.pop() {
            self.note_delayed();
            self.array.advance_to(answer.due_ns);
            self.answered(answer.request, answer.waited_ns);
        }
        true
    }

    /// Lets time pass until all requests have been taken in.
    #[cold]
    fn let_all_in(&mut self) {
        while self.front.as_ref().is_some_and(|front| front.keeps_any()) {
            let next_ns = self.next_step_ns();
            if next_ns >= self.checkpoints.next_ns && next_ns < FOREVER {
                self.checkpoint_until(next_ns);
            } else if !self.step(FOREVER) {
                break;
            }
        }
    }

    /// Time of the next event; `u64::MAX` if there is none.
    fn next_step_ns(&self) -> u64 {
        let hashed = self.hash.as_ref().map_or(NO_EVENT, HashUnit::next_time);
        self.array.next_event_ns().min(hashed).min(self.delayed_ns)
    }

    /// Whether any event is pending.
    fn step_is_pending(&self) -> bool {
        self.next_step_ns() != NO_EVENT
    }

    /// Lets time pass until `time_ns`.
    ///
    /// # Errors
    /// A controller error, or a broken rule of the medium.
    pub fn advance(&mut self, time_ns: u64) -> Result<(), SimError> {
        if time_ns >= self.checkpoints.next_ns {
            self.checkpoint_until(time_ns);
        }
        while self.step(time_ns) {}
        self.array.advance_to(self.array.now_ns().max(time_ns));
        self.accounts.take_failure()
    }

    /// Time of the next event; `None` if there is none.
    pub fn next_event_ns(&self) -> Option<u64> {
        let next = self.next_step_ns().min(self.checkpoints.next_ns);
        (next != NO_EVENT).then_some(next)
    }

    /// Serves everything under way. The write cache is flushed last, and then program units that
    /// are not full.
    ///
    /// # Errors
    /// A controller error, or a broken rule of the medium.
    pub fn drain(&mut self) -> Result<(), SimError> {
        if self.front.is_some() {
            self.let_all_in();
        }
        // Idle time after the last request belongs to no request.
        self.planes_of_units = None;
        while self.step(FOREVER) {}
        self.flush_cache()?;
        while self.step(FOREVER) {}
        self.array.program_open_units(&mut self.accounts);
        while self.step(FOREVER) {}
        self.accounts.take_failure()?;
        debug_assert_eq!(self.accounts.open_ledgers(), 0, "a page operation has not ended");
        Ok(())
    }

    /// Makes the controller write its changed tables every `every_ns`, from now on.
    pub fn checkpoint_every(&mut self, every_ns: u64) {
        self.checkpoints.every_ns = every_ns.max(1);
        self.checkpoints.next_ns = self.array.now_ns().saturating_add(self.checkpoints.every_ns);
    }

    /// Lets time pass to each checkpoint up to `until_ns`, and makes it.
    #[cold]
    pub(super) fn checkpoint_until(&mut self, until_ns: u64) {
        while self.checkpoints.next_ns <= until_ns {
            let due_ns = self.checkpoints.next_ns;
            while self.step(due_ns) {}
            self.array.advance_to(self.array.now_ns().max(due_ns));
            if let Err(error) = self.controller.checkpoint(&mut self.own_ops) {
                self.accounts.fail(error);
            }
            let nothing_changes = self.own_ops.is_empty() && !self.step_is_pending();
            self.queue_own(false);
            self.tell_jobs_done();
            // A device at rest changes no table: later checkpoints up to `until_ns` would write nothing either.
            let skipped = if nothing_changes { (until_ns - due_ns) / self.checkpoints.every_ns } else { 0 };
            self.checkpoints.next_ns =
                due_ns.saturating_add((skipped + 1).saturating_mul(self.checkpoints.every_ns));
        }
    }
}
