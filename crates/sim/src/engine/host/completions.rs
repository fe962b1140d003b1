//! The effect on requests of the end of a flash operation.

use flashtwin_ftl::{TablePage, Unit};
use flashtwin_nand::Chip;

use super::super::accounts::charge_wait;
use super::super::array::{Op, Work};
use super::flush::Epoch;
use super::{Completion, Controller, Decider, NONE, Observer, ServedBy};
use crate::config::WriteCompletes;

impl<C: Controller, O: Observer> Decider<C, O> {
    #[inline]
    pub(super) fn step_array(&mut self) {
        let (unit, completion) = self.back.array.step(&mut self.back.accounts);
        match completion {
            Completion::None => {}
            Completion::DataIn(first) => {
                let mut slot = first;
                while slot != NONE {
                    let next = self.back.array.next_of_command(slot);
                    self.data_in(unit, slot);
                    slot = next;
                }
            }
            Completion::DataOut(slot) => self.complete(unit, slot),
            Completion::Command(first) => {
                let mut slot = first;
                while slot != NONE {
                    let next = self.back.array.next_of_command(slot);
                    self.complete(unit, slot);
                    slot = next;
                }
                self.back.array.dispatch(unit, &mut self.back.accounts);
                self.back.hear_of_erases();
                self.back.offer_idle_time(unit);
            }
            Completion::Idle => self.back.offer_idle_time(unit),
        }
        self.back.array.end_event(unit);
    }

    #[inline]
    fn complete(&mut self, unit: Unit, slot: u32) {
        let op = self.back.array.end(unit, slot, &mut self.back.accounts);
        let chip = self.back.array.units[unit].chip;
        match op.work {
            Work::HostRead => {
                self.host_op_done(chip, slot, &op, self.back.array.array_ns(op.work, op.ppn), 0);
                if op.other != NONE {
                    self.complete_merged(&op, chip);
                }
            }
            Work::HostProgram => self.host_program_done(chip, slot, &op, self.back.array.lost_ns(unit)),
            Work::ReadBeforeWrite => self.old_page_read(slot, &op),
            Work::TableRead => self.table_page_read(TablePage::new(op.request), op.other),
            Work::OwnErase => self.back.hear_of_erases(),
            Work::OwnRead | Work::OwnProgram | Work::Parity => {}
        }
    }

    #[inline]
    fn host_program_done(&mut self, chip: Chip, slot: u32, op: &Op, lost_ns: u64) {
        let epoch = Epoch::from_bits(op.other);
        if self.write_completes != WriteCompletes::Transferred || epoch.is_durable() {
            self.host_op_done(chip, slot, op, self.back.array.array_ns(op.work, op.ppn), lost_ns);
        }
        if self.write_completes == WriteCompletes::Transferred {
            // Most completed earlier, and the slot of the request may be another's by now.
            self.interface.is_safe(&mut self.back.books(), epoch);
        }
    }

    /// The data of a host's program are in the chip's register, which completes all but durable writes.
    #[inline]
    fn data_in(&mut self, unit: Unit, slot: u32) {
        let op = self.back.array.ops[slot];
        // Pages that pad a unit belong to no request.
        if op.work == Work::HostProgram && !Epoch::from_bits(op.other).is_durable() {
            self.host_op_done(self.back.array.units[unit].chip, slot, &op, 0, 0);
        }
    }

    #[inline]
    fn host_op_done(&mut self, chip: Chip, slot: u32, op: &Op, array_ns: u64, lost_ns: u64) {
        let charged = self.back.accounts.close(op.charged);
        let server = ServedBy { chip, redirected: op.redirected };
        self.page_done(op.request, Some(server), |decider, ledger| {
            match charged {
                Some(charged) => ledger.add(&charged),
                None => decider.charge_hashing(ledger, op.request, op.hashed, op.came_ns()),
            }
            decider.back.charge_service(ledger, slot, op, array_ns, lost_ns);
        });
    }

    #[inline(never)]
    fn complete_merged(&mut self, op: &Op, chip: Chip) {
        let joined = self.back.array.take_merged(op.other);
        let array_ns = self.back.array.array_ns(op.work, op.ppn);
        for read in &joined {
            let charged = self.back.accounts.close(read.charged);
            let server = ServedBy { chip, redirected: read.redirected };
            self.page_done(read.request, Some(server), |decider, ledger| {
                ledger.add_all(charged.as_ref());
                charge_wait(ledger, op.start_ns - read.came_ns, &read.held);
                decider.back.array.charge_command(ledger, op.start_ns, array_ns, 0);
            });
        }
        self.back.array.forget_merged(op.other, joined);
    }

    #[cold]
    fn old_page_read(&mut self, slot: u32, op: &Op) {
        let mut ledger = self.back.accounts.close(op.charged).unwrap_or_default();
        self.back.charge_service(&mut ledger, slot, op, self.back.array.array_ns(op.work, op.ppn), 0);
        self.page_ops.charge(op.other, &ledger, &mut self.back.accounts);
        self.got_what_it_needs(op.other);
    }
}
