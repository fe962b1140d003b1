use flashtwin_ftl::{ReadTarget, Unit};

use super::{Accounts, Array, Observer, Op, OpenLedger, Queue, Work};

impl Array {
    /// Returns its slot. Inlined, so that its parts are written to their slot, because a processor stalls when it reads
    /// back in one piece what was just written in several.
    #[inline(always)]
    pub(crate) fn submit<O: Observer>(&mut self, queue: Queue, op: Op, accounts: &mut Accounts<O>) -> u32 {
        let unit = self.unit_of_plane[self.geometry.plane(op.ppn)];
        self.submit_to(unit, queue, op, accounts)
    }

    /// At a unit of the caller's choice, because a copy may be served in another place.
    #[inline(always)]
    pub(super) fn submit_to<O: Observer>(
        &mut self,
        unit: Unit,
        queue: Queue,
        op: Op,
        accounts: &mut Accounts<O>,
    ) -> u32 {
        let slot = self.ops.insert(op);
        self.line_up(unit, queue, slot, accounts);
        slot
    }

    fn line_up<O: Observer>(&mut self, unit: Unit, queue: Queue, slot: u32, accounts: &mut Accounts<O>) {
        if self.collection_in_turn && queue != Queue::Reads {
            self.ops[slot].ready_ns = self.now_ns;
        }
        if queue == Queue::Background
            && let Some(batches) = &mut self.batches
            && batches.queued(unit, &mut self.ops[slot], (&self.timing, &self.geometry), self.now_ns)
        {
            self.dispatch_all(accounts);
        }
        if self.program_units.is_some() && matches!(self.ops[slot].work, Work::HostProgram | Work::OwnProgram)
        {
            return self.gather_program(unit, queue, slot, accounts);
        }
        self.units[unit].push(queue, slot, &mut self.ops);
        match queue {
            Queue::Reads => {
                if self.ops[slot].work == Work::HostRead {
                    self.sense_awaited(self.ops[slot].ppn);
                }
                self.load_up(unit, true, accounts);
                self.suspend_for_read(unit, accounts);
            }
            Queue::Writes => self.load_up(unit, false, accounts),
            // The controller's own work is load only while it is in service, and no request waits for it.
            Queue::Background | Queue::Idle => return self.dispatch_or_hold(unit, accounts),
        }
        self.dispatch_or_hold(unit, accounts);
        self.note_wait(unit, slot, accounts);
    }

    fn dispatch_all<O: Observer>(&mut self, accounts: &mut Accounts<O>) {
        for unit in 0..self.units.len() as u32 {
            self.dispatch_or_hold(Unit::new(unit), accounts);
        }
    }

    /// What waits for a batch is done, because nothing will be ordered any more.
    pub(crate) fn end_batches<O: Observer>(&mut self, accounts: &mut Accounts<O>) {
        if self.batches.take().is_some() {
            self.dispatch_all(accounts);
        }
    }

    #[inline]
    pub(crate) fn read_for_host<O: Observer>(
        &mut self,
        (target, data): (&ReadTarget, u64),
        request: u32,
        charged: OpenLedger,
        accounts: &mut Accounts<O>,
    ) {
        let unit = self.unit_of_plane[target.plane];
        if target.redirected {
            accounts.redirected(self.units[unit].chip);
        }
        let merges = self.merging.is_some();
        if merges && self.join_read(unit, (target, data), request, charged, accounts) {
            return;
        }
        let op = Op { request, charged, ..Op::new(target.ppn, Work::HostRead) };
        let slot = self.read(target, op, accounts);
        if merges {
            self.may_be_joined(unit, slot, data);
        }
    }

    #[inline(always)]
    pub(crate) fn read<O: Observer>(
        &mut self,
        target: &ReadTarget,
        op: Op,
        accounts: &mut Accounts<O>,
    ) -> u32 {
        let pins_block = self.geometry.plane(target.ppn) == target.plane;
        if pins_block {
            self.blocks.read_begins(self.geometry.block_index(target.ppn));
        }
        let unit = self.unit_of_plane[target.plane];
        let op = Op { pins_block, redirected: target.redirected, ready_ns: self.now_ns, ..op };
        self.submit_to(unit, Queue::Reads, op, accounts)
    }
}
