//! The effect on requests of the end of a flash operation.

use flashtwin_ftl::{TablePage, Unit};
use flashtwin_nand::Chip;

use super::super::accounts::charge_wait;
use super::super::array::{Op, Work};
use super::flush::Epoch;
use super::{Backend, Completion, Controller, Engine, Ledger, NONE, Observer, ServedBy};
use crate::config::WriteCompletes;

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// The next event of the array.
    #[inline]
    pub(super) fn step_array(&mut self) {
        let (unit, completion) = self.array.step(&mut self.accounts);
        match completion {
            Completion::None => {}
            Completion::DataIn(first) => {
                let mut slot = first;
                while slot != NONE {
                    let next = self.array.next_of_command(slot);
                    self.data_in(unit, slot);
                    slot = next;
                }
            }
            Completion::DataOut(slot) => self.complete(unit, slot),
            Completion::Command(first) => {
                let mut slot = first;
                while slot != NONE {
                    let next = self.array.next_of_command(slot);
                    self.complete(unit, slot);
                    slot = next;
                }
                self.array.dispatch(unit, &mut self.accounts);
                self.hear_of_erases();
                self.offer_idle_time(unit);
            }
            Completion::Idle => self.offer_idle_time(unit),
        }
        self.array.end_event(unit);
    }

    /// One operation of a command is complete.
    #[inline]
    fn complete(&mut self, unit: Unit, slot: u32) {
        let op = self.array.end(unit, slot, &mut self.accounts);
        let chip = self.array.chip(unit);
        match op.work {
            Work::HostRead => {
                self.host_op_done(chip, slot, &op, self.array.array_ns(op.work, op.ppn), 0);
                if op.other != NONE {
                    self.complete_merged(&op, chip);
                }
            }
            Work::HostProgram => self.host_program_done(chip, slot, &op, self.array.lost_ns(unit)),
            Work::ReadBeforeWrite => self.old_page_read(slot, &op),
            Work::TableRead => self.table_page_read(TablePage::new(op.request), op.other),
            Work::OwnErase => self.hear_of_erases(),
            Work::OwnRead | Work::OwnProgram | Work::Parity => {}
        }
    }

    #[inline]
    fn host_program_done(&mut self, chip: Chip, slot: u32, op: &Op, lost_ns: u64) {
        let epoch = Epoch::from_bits(op.other);
        match self.write_completes {
            WriteCompletes::Programmed => self.program_done(chip, slot, op, lost_ns),
            WriteCompletes::Hashed => {
                if self.programmed_from_buffer(op) {
                    self.program_done(chip, slot, op, lost_ns);
                }
            }
            WriteCompletes::Transferred => {
                if epoch.is_durable() {
                    self.program_done(chip, slot, op, lost_ns);
                }
                // The others completed earlier, and the slot of the request may be another's by now.
                self.is_safe(epoch);
            }
            WriteCompletes::Buffered => {}
        }
    }

    /// A page of a request is complete by its program.
    #[inline]
    fn program_done(&mut self, chip: Chip, slot: u32, op: &Op, lost_ns: u64) {
        self.host_op_done(chip, slot, op, self.array.array_ns(op.work, op.ppn), lost_ns);
    }

    /// The data of a host's program are in the chip's register, where that is enough for others than durable writes.
    #[inline]
    fn data_in(&mut self, unit: Unit, slot: u32) {
        let op = *self.array.op(slot);
        // Pages that pad a unit belong to no request.
        if op.work == Work::HostProgram && !Epoch::from_bits(op.other).is_durable() {
            self.host_op_done(self.array.chip(unit), slot, &op, 0, 0);
        }
    }

    /// An operation of a host's request is done, and with it a page of the request.
    #[inline]
    fn host_op_done(&mut self, chip: Chip, slot: u32, op: &Op, array_ns: u64, lost_ns: u64) {
        let charged = self.accounts.close(op.charged);
        let server = ServedBy { chip, redirected: op.redirected };
        self.page_done(op.request, Some(server), |host, ledger| {
            match charged {
                Some(charged) => ledger.add(&charged),
                None => host.charge_hashing(ledger, op.request, op.hashed, op.came_ns()),
            }
            host.charge_service(ledger, slot, op, array_ns, lost_ns);
        });
    }

    /// Charges the time of an operation since it came to its unit: its wait for the unit, then its command.
    #[inline]
    fn charge_service(&self, ledger: &mut Ledger, slot: u32, op: &Op, array_ns: u64, lost_ns: u64) {
        if op.waits {
            charge_wait(ledger, op.start_ns - op.came_ns, self.accounts.unit_waits.of(slot));
        }
        self.array.charge_command(ledger, op.start_ns, array_ns, lost_ns);
    }

    /// The reads that joined one that is complete are so as well, in the order in which they came.
    #[inline(never)]
    fn complete_merged(&mut self, op: &Op, chip: Chip) {
        let joined = self.array.take_merged(op.other);
        let array_ns = self.array.array_ns(op.work, op.ppn);
        for read in &joined {
            let charged = self.accounts.close(read.charged);
            let server = ServedBy { chip, redirected: read.redirected };
            self.page_done(read.request, Some(server), |host, ledger| {
                ledger.add_all(charged.as_ref());
                charge_wait(ledger, op.start_ns - read.came_ns, &read.held);
                host.array.charge_command(ledger, op.start_ns, array_ns, 0);
            });
        }
        self.array.forget_merged(op.other, joined);
    }

    /// The old page of a partial write is in RAM: the write goes on.
    #[cold]
    fn old_page_read(&mut self, slot: u32, op: &Op) {
        let mut ledger = self.accounts.close(op.charged).unwrap_or_default();
        self.charge_service(&mut ledger, slot, op, self.array.array_ns(op.work, op.ppn), 0);
        self.page_ops.charge(op.other, &ledger, &mut self.accounts);
        self.got_what_it_needs(op.other);
    }
}
