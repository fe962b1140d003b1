//! The stages of an operation: their times, and the effect of its end on the array.

use flashtwin_ftl::{NO_JOB, Unit};

use super::unit::Stage;
use super::{Accounts, Array, Completion, NO_EVENT, NONE, Observer, Op, Work};

impl Array {
    /// See [`super::Backend::step`].
    #[inline]
    pub(super) fn step<O: Observer>(&mut self, accounts: &mut Accounts<O>) -> (Unit, Completion) {
        let (time_ns, unit) = self.events.next();
        let unit = Unit::new(unit);
        self.units[unit].event_ns = NO_EVENT;
        self.now_ns = time_ns;
        (unit, self.end_stage(unit, accounts))
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
                let data_ns = others_ns + self.timing.transfer_ns;
                let until = self.buses[channel].transfer(now, data_ns);
                if accounts.observer.follows_commands() {
                    accounts.observer.data_come_out(unit, (until - data_ns, until));
                }
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

    /// See [`super::Backend::end`].
    #[inline]
    pub(super) fn end<O: Observer>(&mut self, unit: Unit, slot: u32, accounts: &mut Accounts<O>) -> Op {
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
}
