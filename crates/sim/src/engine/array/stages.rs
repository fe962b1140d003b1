//! The stages of an operation: their times, and the effect of its end on the array.

use flashtwin_ftl::{NO_JOB, Unit};
use flashtwin_nand::Ppn;

use super::super::accounts::{Charge, Ledger};
use super::unit::Stage;
use super::{Accounts, Array, Completion, NO_EVENT, NONE, Observer, Op, Work};

impl Array {
    /// The caller calls [`Array::end_event`] when all of it is done.
    #[inline]
    pub(crate) fn step<O: Observer>(&mut self, accounts: &mut Accounts<O>) -> (Unit, Completion) {
        let (time_ns, unit) = self.events.next();
        let unit = Unit::new(unit);
        self.units[unit].event_ns = NO_EVENT;
        self.now_ns = time_ns;
        (unit, self.end_stage(unit, accounts))
    }

    #[inline]
    pub(crate) fn end_event(&mut self, unit: Unit) {
        // Most often the unit has begun another stage, whose end has replaced the event already.
        if self.units[unit].event_ns == NO_EVENT {
            self.events.set(unit.number(), NO_EVENT);
        }
    }

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
                state.current = self.ops[first].next;
                self.expect(unit, now + self.timing.transfer_ns);
                Completion::DataOut(first)
            }
            Stage::DataOut | Stage::Busy => {
                state.fall_idle(now);
                Completion::Command(first)
            }
            Stage::Suspending => {
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

    /// Its slot may be reused from now on.
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
                    units.host_under_way -= 1;
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

    #[inline]
    pub(crate) fn array_ns(&self, work: Work, ppn: Ppn) -> u64 {
        match work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => self.sense_ns(ppn),
            Work::HostProgram | Work::OwnProgram | Work::Parity => self.timing.program_ns,
            Work::OwnErase => self.timing.erase_ns,
        }
    }

    #[inline]
    pub(crate) fn lost_ns(&self, unit: Unit) -> u64 {
        self.units[unit].lost_ns
    }

    /// What is left beside the array's work, suspensions and fixed times was a wait for a busy channel.
    #[inline]
    pub(crate) fn charge_command(&self, ledger: &mut Ledger, start_ns: u64, array_ns: u64, lost_ns: u64) {
        let transfer_ns = self.timing.command_ns + self.timing.transfer_ns;
        ledger.charge(Charge::Suspension, lost_ns);
        ledger.charge(Charge::Transfer, transfer_ns);
        ledger.charge(Charge::Flash, array_ns);
        ledger.charge(Charge::Channel, self.now_ns - start_ns - lost_ns - transfer_ns - array_ns);
    }
}
