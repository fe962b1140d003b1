//! How a unit chooses what to serve next, and the stages of each operation.

use flashtwin_ftl::{NO_JOB, TablePage, Unit};
use flashtwin_nand::{Chip, Ppn};

use super::flush::Epoch;
use super::ledger::{Charge, Ledger, charge_wait, holder};
use super::pool::{NONE, Op, Work};
use super::unit::{Queue, Stage};
use super::{Controller, Engine, Observer, ServedBy};
use crate::config::WriteCompletes;

/// Operations of a queue that are searched for one that may start, or for companions of one that starts. Controllers
/// search a bounded number, too; here the bound keeps a search short where a die is far behind.
pub(super) const WINDOW: u32 = 64;

/// The operation that a unit serves next.
#[derive(Clone, Copy)]
struct Choice {
    queue: Queue,
    /// The operation before it in the queue; [`NONE`] for the first one.
    before: u32,
}

impl Choice {
    fn first(queue: Queue) -> Self {
        Self { queue, before: NONE }
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Starts the next operation of an idle unit, if one may start.
    ///
    /// Host reads go first (RR-SSD paper, section I), then host writes, then the controller's own work,
    /// and last the work of background jobs; urgent work of the controller goes before all. An operation
    /// that must wait for another (a program for the erase of its block, an erase for the last reads of
    /// its block) lets those behind it go on, and the next queue. An operation never waits for one that was
    /// decided after it, so something can always go on.
    #[inline]
    pub(super) fn dispatch(&mut self, unit: Unit) {
        if !self.is_idle(unit) {
            return;
        }
        while let Some(Choice { queue, before }) = self.choose(unit) {
            if self.units[unit].suspended.is_some()
                && !(queue == Queue::Reads && self.read_before_resuming(unit))
            {
                return self.resume(unit);
            }
            let op = self.units[unit].pop_after(queue, before, &mut self.ops);
            if self.start(unit, queue, op) {
                return;
            }
        }
        if self.units[unit].suspended.is_some() {
            self.resume(unit);
        }
    }

    #[inline]
    fn choose(&mut self, unit: Unit) -> Option<Choice> {
        let own = self.first_ready(unit, Queue::Background);
        if let Some((choice, op)) = own
            && (self.ops[op].urgent || self.ops[op].offline)
        {
            return Some(choice);
        }
        let read = self.units[unit].head(Queue::Reads);
        if read != NONE && self.reads_before_write == 0 {
            return Some(Choice::first(Queue::Reads));
        }
        let write = self.first_ready(unit, Queue::Writes);
        let state = &mut self.units[unit];
        if read != NONE && !(write.is_some() && state.reads_ahead >= self.reads_before_write) {
            state.reads_ahead = if write.is_some() { state.reads_ahead + 1 } else { 0 };
            return Some(Choice::first(Queue::Reads));
        }
        if let Some((choice, _)) = write {
            state.reads_ahead = 0;
            return Some(choice);
        }
        if let Some((choice, _)) = own {
            return Some(choice);
        }
        let (choice, _) = self.first_ready(unit, Queue::Idle)?;
        self.idle_long_enough(unit).then_some(choice)
    }

    /// The first operation of a queue that may start. The controller's own operations on one plane keep their order.
    #[inline]
    fn first_ready(&self, unit: Unit, queue: Queue) -> Option<(Choice, u32)> {
        let head = self.units[unit].head(queue);
        match head {
            NONE => None,
            head if self.may_start(head) => Some((Choice::first(queue), head)),
            head => self.ready_behind(head, queue),
        }
    }

    #[cold]
    #[inline(never)]
    fn ready_behind(&self, head: u32, queue: Queue) -> Option<(Choice, u32)> {
        let keeps_order = matches!(queue, Queue::Background | Queue::Idle);
        let plane_of = |op: u32| 1u64 << (self.geometry.plane(self.ops[op].ppn).number() % 64);
        let mut waiting_planes = plane_of(head);
        let mut before = head;
        for _ in 1..WINDOW {
            let op = self.ops[before].next;
            if op == NONE {
                break;
            }
            let plane = plane_of(op);
            if !(keeps_order && waiting_planes & plane != 0) && self.may_start(op) {
                return Some((Choice { queue, before }, op));
            }
            waiting_planes |= plane;
            before = op;
        }
        None
    }

    /// Whether everything that the operation must follow has happened.
    #[inline]
    pub(super) fn may_start(&self, op: u32) -> bool {
        let op = &self.ops[op];
        match op.work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => true,
            Work::HostProgram => {
                self.flash.is_next(&self.geometry, op.ppn)
                    && self.blocks.life(self.geometry.block_index(op.ppn)) == op.life
            }
            Work::OwnProgram => {
                // A job's program waits in a queue of its own, so that its block may still be in an
                // earlier life.
                self.flash.is_next(&self.geometry, op.ppn)
                    && (op.job == NO_JOB || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
            }
            Work::OwnErase => {
                let block = self.geometry.block_index(op.ppn);
                self.flash.is_full(&self.geometry, block) && !self.blocks.has_reads(block)
            }
        }
    }

    /// Starts an operation; `false` when it took no time and the unit is still idle.
    #[inline]
    fn start(&mut self, unit: Unit, queue: Queue, slot: u32) -> bool {
        let now = self.now_ns;
        self.ops[slot].next = NONE;
        // Only these fields are copied: reading the whole operation back so soon after its fields were
        // written one by one would stall the processor.
        let Op { offline, work, cause, .. } = self.ops[slot];
        if offline || (work == Work::OwnRead && !self.flash_has(slot)) {
            self.carry_out_at_once(slot);
            return false;
        }
        self.take_up(unit, slot);
        let planes = self.take_up_companions(unit, queue, slot);
        let state = &mut self.units[unit];
        state.current = slot;
        state.holder = holder(work, cause);
        state.busy_since_ns = now;
        let bus = &mut self.buses[state.channel];
        let (command, transfer) = (self.timing.command_ns, self.timing.transfer_ns);
        let (stage, until, what) = match work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => {
                (Stage::Sensing, bus.command(now, planes * command) + self.timing.read_ns, "read")
            }
            Work::HostProgram if self.write_completes == WriteCompletes::Transferred => {
                (Stage::DataIn, bus.transfer(now, planes * (command + transfer)), "program")
            }
            Work::HostProgram | Work::OwnProgram => {
                let data_in = bus.transfer(now, planes * (command + transfer));
                (Stage::Busy, data_in + self.timing.program_ns, "program")
            }
            Work::OwnErase => {
                (Stage::Busy, bus.command(now, planes * command) + self.timing.erase_ns, "erase")
            }
        };
        state.stage = stage;
        state.reading = work.host_waits_to_read();
        // Behind the stage that begins now comes, for a read, the transfer of the data to the controller; for
        // a program whose data come first, the array's part.
        state.busy_until_ns = until
            + match stage {
                Stage::Sensing => planes * transfer,
                Stage::DataIn => self.timing.program_ns,
                _ => 0,
            };
        state.lost_ns = 0;
        self.note_suspendable(unit, work, 0);
        self.expect(unit, until);
        self.tell_started(slot, what, unit);
        true
    }

    /// An operation is taken up by its unit.
    #[inline]
    pub(super) fn take_up(&mut self, unit: Unit, slot: u32) {
        let op = &mut self.ops[slot];
        op.start_ns = self.now_ns;
        let Op { work, waits, other, .. } = *op;
        if waits {
            self.waits.end(slot, &self.units[unit].held);
        }
        if work as u8 >= Work::OwnRead as u8 {
            // The controller's own work counts as load only while it is in service: queued, it gives way.
            self.load_up(unit, false);
        }
        if work == Work::HostRead {
            self.close_party(unit, other);
        }
    }

    /// Whether the page is on flash that a read on the controller's own account asks for. Otherwise the read is of a
    /// background job: the page is still in controller RAM; or the read waited so long that the page's block was
    /// erased, and then its data are wanted no more.
    #[inline]
    pub(super) fn flash_has(&self, slot: u32) -> bool {
        let op = &self.ops[slot];
        self.flash.is_programmed(&self.geometry, op.ppn)
            && (op.job == NO_JOB || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
    }

    /// Carries out an operation of the replication phase in no time, whatever its unit does at this
    /// moment. Returns `false`, having done nothing, where the operation must follow another that has not
    /// happened yet.
    #[inline(never)]
    pub(super) fn carry_out_offline(&mut self, unit: Unit, op: Op) -> bool {
        if self.units[unit].head(Queue::Background) != NONE {
            return false;
        }
        let slot = self.ops.insert(op);
        let may_start = self.may_start(slot);
        match may_start {
            true => self.carry_out_at_once(slot),
            false => self.ops.remove(slot),
        }
        may_start
    }

    /// Carries out in no time what needs none: operations of the replication phase, and reads of pages that
    /// are still in controller RAM.
    #[inline(never)]
    fn carry_out_at_once(&mut self, slot: u32) {
        let op = self.ops[slot];
        match op.work {
            Work::OwnProgram => self.program(op.ppn),
            Work::OwnErase => self.erase(op.ppn),
            _ if op.offline => self.counts.flash_ops[0] += 1,
            _ => self.counts.own_buffer_reads[op.cause as usize] += 1,
        }
        self.note_job_done(&op);
        self.ops.remove(slot);
    }

    fn program(&mut self, ppn: Ppn) {
        self.counts.flash_ops[1] += 1;
        if let Err(rule) = self.flash.program(&self.geometry, ppn) {
            self.failed.get_or_insert(rule.into());
        }
        if self.awaited.is_some() {
            self.programmed(ppn);
        }
    }

    #[inline(never)]
    fn erase(&mut self, ppn: Ppn) {
        self.counts.flash_ops[2] += 1;
        let block = self.geometry.block_index(ppn);
        self.flash.erase(block);
        self.blocks.erased(block);
        if !self.blocks.erase_is_pending(block) {
            self.controller.erased(block);
        }
    }

    /// The stage that a unit was in has ended.
    #[inline]
    pub(super) fn end_stage(&mut self, unit: Unit) {
        let now = self.now_ns;
        let state = &mut self.units[unit];
        match state.stage {
            Stage::Sensing => {
                state.stage = Stage::DataOut;
                let (first, channel) = (state.current, state.channel);
                let others_ns = self.planes_after(first) * self.timing.transfer_ns;
                let until = self.buses[channel].transfer(now, others_ns + self.timing.transfer_ns);
                self.expect(unit, until - others_ns);
            }
            Stage::DataIn => {
                state.stage = Stage::Busy;
                let (first, chip) = (state.current, state.chip);
                self.expect(unit, now + self.timing.program_ns);
                self.each_of_command(first, |engine, slot| engine.data_in(chip, slot));
            }
            Stage::DataOut if self.ops[state.current].next != NONE => {
                // The data of one plane are out, those of the next follow.
                let slot = state.current;
                state.current = self.ops[slot].next;
                self.expect(unit, now + self.timing.transfer_ns);
                self.complete(unit, slot);
            }
            Stage::DataOut | Stage::Busy => {
                self.finish(unit);
                self.offer_idle_time(unit);
            }
            Stage::Suspending => self.suspended(unit),
            // The unit has been idle for as long as background jobs must wait.
            Stage::Idle => {
                self.dispatch(unit);
                self.offer_idle_time(unit);
            }
        }
    }

    fn finish(&mut self, unit: Unit) {
        let state = &mut self.units[unit];
        let first = state.current;
        state.fall_idle(self.now_ns);
        self.each_of_command(first, |engine, slot| engine.complete(unit, slot));
        self.dispatch(unit);
    }

    /// One operation of the command in service is complete.
    #[inline]
    fn complete(&mut self, unit: Unit, slot: u32) {
        let chip = self.units[unit].chip;
        let op = self.ops[slot];
        if op.job == NO_JOB {
            // Neither jobs nor collection in idle time end it.
            self.units[unit].idle_since_ns = self.now_ns;
        }
        let is_read = op.work.host_waits_to_read();
        self.counts.flash_ops[0] += u64::from(is_read || op.work == Work::OwnRead);
        self.load_down(unit, is_read);
        if op.pins_block {
            self.blocks.read_ends(self.geometry.block_index(op.ppn));
        }
        match op.work {
            Work::HostRead => {
                self.observer.served(chip, false);
                self.host_op_done(chip, slot, self.timing.read_ns, 0);
                self.ops.remove(slot);
                self.complete_party(&op, chip);
            }
            Work::HostProgram => {
                self.observer.served(chip, true);
                self.program(op.ppn);
                let lost_ns = self.units[unit].lost_ns;
                let epoch = Epoch::from_bits(op.other);
                match self.write_completes {
                    WriteCompletes::Programmed => {
                        self.host_op_done(chip, slot, self.timing.program_ns, lost_ns);
                    }
                    WriteCompletes::Hashed => self.programmed_from_buffer(chip, slot, lost_ns),
                    WriteCompletes::Transferred if epoch.is_durable() => {
                        self.host_op_done(chip, slot, self.timing.program_ns, lost_ns);
                    }
                    // The request completed earlier, and its slot may be another's by now.
                    WriteCompletes::Transferred | WriteCompletes::Buffered => {}
                }
                self.ops.remove(slot);
                if self.write_completes == WriteCompletes::Transferred {
                    self.is_safe(epoch);
                }
            }
            Work::ReadBeforeWrite => self.old_page_read(slot),
            Work::TableRead => {
                self.ops.remove(slot);
                self.table_page_read(TablePage::new(op.request), op.other);
            }
            Work::OwnProgram => {
                self.program(op.ppn);
                self.ops.remove(slot);
            }
            Work::OwnErase => {
                self.erase(op.ppn);
                self.ops.remove(slot);
            }
            Work::OwnRead => {
                self.note_moved_page_read(slot);
                self.ops.remove(slot);
            }
        }
        self.note_job_done(&op);
    }

    /// The data of a host's program are in the chip's register, where that is enough for others than durable writes.
    #[inline]
    fn data_in(&mut self, chip: Chip, slot: u32) {
        if !Epoch::from_bits(self.ops[slot].other).is_durable() {
            self.host_op_done(chip, slot, 0, 0);
        }
    }

    /// An operation of a host's request is done, and with it a page of the request.
    #[inline]
    pub(super) fn host_op_done(&mut self, chip: Chip, slot: u32, array_ns: u64, lost_ns: u64) {
        let op = self.ops[slot];
        let charged = if op.charged { self.take_charged(slot) } else { None };
        let server = ServedBy { chip, redirected: op.redirected };
        self.page_done(op.request, Some(server), |engine, ledger| {
            match charged {
                Some(charged) => ledger.add(&charged),
                None => engine.charge_hashing(ledger, op.request, op.hashed, engine.came_ns(&op)),
            }
            engine.charge_service(ledger, slot, array_ns, lost_ns);
        });
    }

    /// When an operation came to its unit: one that did not wait began at that moment.
    #[inline]
    pub(super) fn came_ns(&self, op: &Op) -> u64 {
        if op.waits { op.came_ns } else { op.start_ns }
    }

    /// Charges the time of an operation since it came to its unit: its wait for the unit, then its command.
    #[inline]
    fn charge_service(&self, ledger: &mut Ledger, slot: u32, array_ns: u64, lost_ns: u64) {
        let op = &self.ops[slot];
        if op.waits {
            charge_wait(ledger, op.start_ns - op.came_ns, self.waits.of(slot));
        }
        self.charge_command(ledger, op.start_ns, array_ns, lost_ns);
    }

    /// Charges a command that began at `start_ns` and ends now. The array worked for `array_ns` of it and
    /// stood still for `lost_ns`; command cycles and data took their fixed time on the channel. In what is
    /// left, the command waited for the channel, which carried something else.
    #[inline]
    pub(super) fn charge_command(&self, ledger: &mut Ledger, start_ns: u64, array_ns: u64, lost_ns: u64) {
        let transfer_ns = self.timing.command_ns + self.timing.transfer_ns;
        ledger.charge(Charge::Suspension, lost_ns);
        ledger.charge(Charge::Transfer, transfer_ns);
        ledger.charge(Charge::Flash, array_ns);
        ledger.charge(Charge::Channel, self.now_ns - start_ns - lost_ns - transfer_ns - array_ns);
    }

    /// The old page of a partial write is in RAM: what waited for it goes on.
    #[cold]
    fn old_page_read(&mut self, slot: u32) {
        let op = self.ops[slot];
        let charged = if op.charged { self.take_charged(slot) } else { None };
        let mut ledger = charged.unwrap_or_default();
        self.charge_service(&mut ledger, slot, self.timing.read_ns, 0);
        self.ops.remove(slot);
        self.undecided.charge(op.other, &ledger);
        self.got_what_it_needs(op.other);
    }
}
