//! The stages of an operation: what ends when, and what the end of an operation changes in the array.

use flashtwin_ftl::{NO_JOB, Unit};

use super::unit::Stage;
use super::{Accounts, Array, Completion, NO_EVENT, NONE, Observer, Op, Work};

impl Array {
    /// When the next stage of a unit ends; `u64::MAX` where none is under way.
    #[inline]
    pub(crate) fn next_event_ns(&self) -> u64 {
        self.events.next().0
    }

    /// Lets time pass to the next event, the end of the stage that a unit is in. The unit, and what that means to the
    /// caller, who ends the event with [`Array::end_event`] when all of it is done.
    #[inline]
    pub(crate) fn step<O: Observer>(&mut self, accounts: &mut Accounts<O>) -> (Unit, Completion) {
        let (time_ns, unit) = self.events.next();
        let unit = Unit::new(unit);
        self.units[unit].event_ns = NO_EVENT;
        self.now_ns = time_ns;
        (unit, self.end_stage(unit, accounts))
    }

    /// The event of a unit is over.
    #[inline]
    pub(crate) fn end_event(&mut self, unit: Unit) {
        // Most often the unit has begun another stage, whose end has replaced the event already.
        if self.units[unit].event_ns == NO_EVENT {
            self.events.set(unit.number(), NO_EVENT);
        }
    }

    /// The stage that a unit was in has ended.
    #[inline]
    fn end_stage<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>) -> Completion {
        let now = self.now_ns;
        let state = &mut self.units[unit];
        let first = state.current;
        match state.stage {
            Stage::Sensing => {
                state.stage = Stage::DataOut;
                let channel = state.channel;
                let others_ns = self.planes_after(first) * self.timing.transfer_ns;
                let until = self.buses[channel].transfer(now, others_ns + self.timing.transfer_ns);
                self.expect(unit, until - others_ns);
                Completion::None
            }
            Stage::DataIn => {
                state.stage = Stage::Busy;
                self.expect(unit, now + self.timing.program_ns);
                Completion::DataIn(first)
            }
            Stage::DataOut if self.ops[first].next != NONE => {
                // The data of one plane are out, those of the next follow.
                state.current = self.ops[first].next;
                self.expect(unit, now + self.timing.transfer_ns);
                Completion::DataOut(first)
            }
            Stage::DataOut | Stage::Busy => {
                state.fall_idle(now);
                Completion::Command(first)
            }
            Stage::Suspending => {
                // The operation stands still: reads are served.
                self.units[unit].fall_idle(now);
                self.dispatch(unit, accounts);
                Completion::None
            }
            Stage::Idle => {
                self.dispatch(unit, accounts);
                Completion::Idle
            }
        }
    }

    /// An operation that was reported complete is over: what it changes in the array, and what it was. Its slot may be
    /// another operation's from now on.
    #[inline]
    pub(crate) fn end<O: Observer>(&mut self, unit: Unit, slot: u32, accounts: &mut Accounts<O>) -> Op {
        let chip = self.units[unit].chip;
        let op = self.ops[slot];
        if op.job == NO_JOB {
            // Neither jobs nor collection in idle time end it.
            self.units[unit].idle_since_ns = self.now_ns;
        }
        let is_read = op.work.host_waits_to_read();
        accounts.counts.flash_ops[0] += u64::from(is_read || op.work == Work::OwnRead);
        self.load_down(unit, is_read, accounts);
        if op.pins_block {
            self.blocks.read_ends(self.geometry.block_index(op.ppn));
        }
        match op.work {
            Work::HostRead => accounts.observer.served(chip, false),
            Work::HostProgram => {
                accounts.observer.served(chip, true);
                if let Some(units) = &mut self.program_units {
                    units.host_page_programmed();
                }
                self.program(op.ppn, accounts);
            }
            Work::OwnProgram => self.program(op.ppn, accounts),
            Work::OwnErase => self.erase(op.ppn, accounts),
            Work::OwnRead => self.note_moved_page_read(slot),
            Work::ReadBeforeWrite | Work::TableRead | Work::Parity => {}
        }
        self.ops.remove(slot);
        self.note_job_done(&op);
        op
    }

    /// How long the operation that a unit served last stood still.
    #[inline]
    pub(crate) fn lost_ns(&self, unit: Unit) -> u64 {
        self.units[unit].lost_ns
    }
}
