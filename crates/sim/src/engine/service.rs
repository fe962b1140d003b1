//! How a unit chooses what to serve next, and the stages of each operation.

use flashtwin_ftl::NO_JOB;

use super::hash_unit::Hashed;
use super::pool::{NONE, Op, Work};
use super::unit::{Queue, Stage};
use super::{Controller, Engine, Observer, Split, arrival};
use crate::config::WriteCompletes;

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Starts the next operation of an idle unit, if one may start.
    ///
    /// Reads go first (RR-SSD paper, section I), then writes, then the controller's own
    /// work, and last that of its background jobs; urgent work of its own goes before all. An operation that must wait for
    /// another (a program for its block's erase, an erase for the block's last readers)
    /// lets the next queue go on. The operation decided first never waits for a later one,
    /// so some queue can always go on.
    #[inline]
    pub(super) fn dispatch(&mut self, unit: u32) {
        if !self.is_idle(unit) {
            return;
        }
        while let Some(queue) = self.choose(unit) {
            if self.units[unit as usize].suspended.is_some()
                && !(queue == Queue::Reads && self.read_before_resuming(unit))
            {
                return self.resume(unit);
            }
            let op = self.units[unit as usize].pop(queue, &self.ops);
            if self.start(unit, queue, op) {
                return;
            }
        }
        if self.units[unit as usize].suspended.is_some() {
            self.resume(unit);
        }
    }

    #[inline]
    fn choose(&mut self, unit: u32) -> Option<Queue> {
        let state = &self.units[unit as usize];
        let own = state.head(Queue::Background);
        if own != NONE && (self.ops[own].urgent || self.ops[own].offline) && self.may_start(own) {
            return Some(Queue::Background);
        }
        let state = &self.units[unit as usize];
        let (read, write) = (state.head(Queue::Reads), state.head(Queue::Writes));
        let write_ready = write != NONE && self.may_start(write);
        if read != NONE {
            let overtakes = self.reads_before_write > 0 && write_ready;
            let state = &mut self.units[unit as usize];
            if !(overtakes && state.reads_ahead >= self.reads_before_write) {
                state.reads_ahead = if overtakes { state.reads_ahead + 1 } else { 0 };
                return Some(Queue::Reads);
            }
        }
        if write_ready {
            self.units[unit as usize].reads_ahead = 0;
            return Some(Queue::Writes);
        }
        if own != NONE && self.may_start(own) {
            return Some(Queue::Background);
        }
        let idle = self.units[unit as usize].head(Queue::Idle);
        (idle != NONE && self.may_start(idle) && self.idle_long_enough(unit)).then_some(Queue::Idle)
    }

    /// Whether everything that the operation must follow has happened.
    #[inline]
    pub(super) fn may_start(&self, op: u32) -> bool {
        let op = &self.ops[op];
        match op.work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => true,
            Work::HostProgram => {
                op.ready_ns <= self.now_ns
                    && !op.waits
                    && self.flash.is_next(&self.geometry, op.ppn)
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
    fn start(&mut self, unit: u32, queue: Queue, slot: u32) -> bool {
        let now = self.now_ns;
        let op = &mut self.ops[slot];
        op.start_ns = now;
        op.next = NONE;
        let op = *op;
        if op.offline || (op.work == Work::OwnRead && !self.flash_has(&op)) {
            self.carry_out_at_once(slot, &op);
            return false;
        }
        self.take_up(unit, &op);
        let planes = self.take_up_companions(unit, queue, slot);
        let state = &mut self.units[unit as usize];
        state.current = slot;
        state.busy_since_ns = now;
        let bus = &mut self.buses[state.channel as usize];
        let (command, transfer) = (self.timing.command_ns, self.timing.transfer_ns);
        let (stage, until, what) = match op.work {
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
        state.reading = op.work.host_waits_to_read();
        // What follows the stage that begins now: data out of the register, or the array's part.
        state.busy_until_ns = until
            + match stage {
                Stage::Sensing => planes * transfer,
                Stage::DataIn => self.timing.program_ns,
                _ => 0,
            };
        state.lost_ns = 0;
        self.note_suspendable(unit, op.work, 0);
        self.expect(unit, until);
        self.tell_started(slot, what, unit);
        true
    }

    /// An operation is taken up by its unit.
    #[inline]
    pub(super) fn take_up(&mut self, unit: u32, op: &Op) {
        if op.work as u8 >= Work::OwnRead as u8 {
            // The controller's own work is load while it is in service, not while it waits.
            self.load_up(unit, false);
        }
        if op.work == Work::HostRead {
            self.close_party(op);
        }
    }

    /// Whether the page that an own read asks for is in the flash. It may still be in controller RAM;
    /// the page of a job that waited may as well be gone, and then nobody wants it any more.
    #[inline]
    pub(super) fn flash_has(&self, op: &Op) -> bool {
        self.flash.is_programmed(&self.geometry, op.ppn)
            && (op.job == NO_JOB || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
    }

    /// The operations of the replication phase, and reads of pages still in controller RAM.
    fn carry_out_at_once(&mut self, slot: u32, op: &Op) {
        match op.work {
            Work::OwnProgram => self.program(op.ppn),
            Work::OwnErase => self.erase(op.ppn),
            _ => self.counts.own_buffer_reads[op.cause as usize] += u64::from(!op.offline),
        }
        self.note_job_done(op);
        self.ops.remove(slot);
    }

    fn program(&mut self, ppn: u32) {
        if let Err(rule) = self.flash.program(&self.geometry, ppn) {
            self.failed.get_or_insert(rule.into());
        }
        if self.awaited.is_some() {
            self.programmed(ppn);
        }
    }

    fn erase(&mut self, ppn: u32) {
        let block = self.geometry.block_index(ppn);
        self.flash.erase(block);
        self.blocks.erased(block);
    }

    /// The stage that a unit was in has ended.
    #[inline]
    pub(super) fn end_stage(&mut self, unit: u32) {
        let now = self.now_ns;
        let state = &mut self.units[unit as usize];
        match state.stage {
            Stage::Sensing => {
                state.stage = Stage::DataOut;
                let (first, channel) = (state.current, state.channel as usize);
                let others_ns = self.planes_after(first) * self.timing.transfer_ns;
                let until = self.buses[channel].transfer(now, others_ns + self.timing.transfer_ns);
                self.expect(unit, until - others_ns);
            }
            Stage::DataIn => {
                state.stage = Stage::Busy;
                let first = state.current;
                self.expect(unit, now + self.timing.program_ns);
                self.each_of_command(first, |engine, slot| {
                    let split = engine.split(slot, 0);
                    engine.page_done(engine.ops[slot].request, split);
                });
            }
            Stage::DataOut if self.ops[state.current].next != NONE => {
                // The data of one plane are out, those of the next follow.
                let slot = state.current;
                state.current = self.ops[slot].next;
                self.expect(unit, now + self.timing.transfer_ns);
                self.complete(unit, slot);
            }
            Stage::DataOut | Stage::Busy => self.finish(unit),
            Stage::Suspending => self.suspended(unit),
            // Idle for as long as background jobs ask for.
            Stage::Idle => self.dispatch(unit),
        }
    }

    fn finish(&mut self, unit: u32) {
        let state = &mut self.units[unit as usize];
        let first = state.current;
        state.stage = Stage::Idle;
        state.busy_ns += self.now_ns - state.busy_since_ns;
        self.each_of_command(first, |engine, slot| engine.complete(unit, slot));
        self.dispatch(unit);
    }

    /// One operation of the command in service is complete.
    #[inline]
    fn complete(&mut self, unit: u32, slot: u32) {
        let chip = self.units[unit as usize].chip;
        let op = self.ops[slot];
        if op.job == NO_JOB {
            self.units[unit as usize].idle_since_ns = self.now_ns;
        }
        let is_read = op.work.host_waits_to_read();
        self.load_down(unit, is_read);
        if op.pins_block {
            self.blocks.read_ends(self.geometry.block_index(op.ppn));
        }
        match op.work {
            Work::HostRead => {
                self.observer.served(chip, false);
                let split = self.split(slot, self.timing.read_ns);
                self.ops.remove(slot);
                self.page_done(op.request, split);
                self.complete_party(&op);
            }
            Work::HostProgram => {
                self.observer.served(chip, true);
                self.program(op.ppn);
                // Otherwise the request completed earlier and its slot may serve another.
                if self.write_completes == WriteCompletes::Programmed {
                    let mut split = self.split(slot, self.timing.program_ns);
                    // Standing still for reads is waiting, too.
                    let lost_ns = self.units[unit as usize].lost_ns;
                    (split.transfer_ns, split.queueing_ns) =
                        (split.transfer_ns - lost_ns, split.queueing_ns + lost_ns);
                    self.page_done(op.request, split);
                }
                self.ops.remove(slot);
            }
            Work::ReadBeforeWrite => self.old_page_read(slot),
            Work::TableRead => {
                self.ops.remove(slot);
                self.table_page_read(op.request, op.other);
            }
            Work::OwnProgram => {
                self.program(op.ppn);
                self.ops.remove(slot);
            }
            Work::OwnErase => {
                self.erase(op.ppn);
                self.ops.remove(slot);
            }
            Work::OwnRead => self.ops.remove(slot),
        }
        self.note_job_done(&op);
    }

    /// Where the time of the operation that ends now went.
    #[inline]
    fn split(&mut self, slot: u32, flash_ns: u64) -> Split {
        let op = &self.ops[slot];
        let carried =
            if op.waited { self.carried.remove(&slot).unwrap_or_default() } else { Split::default() };
        let arrival = self.requests[op.request].arrival_ns;
        Split {
            queueing_ns: op.start_ns - op.ready_ns + carried.queueing_ns,
            transfer_ns: self.now_ns - op.start_ns - flash_ns + carried.transfer_ns,
            flash_ns: flash_ns + carried.flash_ns,
            controller_ns: op.ready_ns - arrival - carried.total_ns(),
        }
    }

    /// The old page of a partial write is in RAM: what waited for it goes on.
    fn old_page_read(&mut self, slot: u32) {
        let op = self.ops[slot];
        let told = op.request != NONE;
        let split = if told { self.split(slot, self.timing.read_ns) } else { Split::default() };
        self.ops.remove(slot);
        // The controller's part is what remains of the whole, so it is not carried.
        self.page_is_whole(op.other, op.request, Split { controller_ns: 0, ..split });
    }

    /// A page to be written is in RAM as a whole, and with it the tables that its write needs: it is
    /// hashed and programmed. Neither is anything to be done for a page that needs no program and whose
    /// request has been told.
    pub(super) fn page_is_whole(&mut self, program: u32, request: u32, carried: Split) {
        if program == NONE && request == NONE {
            return;
        }
        // A page that was found is hashed; of the others, their program tells.
        let unhashed = program != NONE && self.ops[program].unhashed;
        let ready = match &mut self.hash {
            Some(hash) if unhashed => hash.pass(self.now_ns),
            Some(hash) => hash.submit(self.now_ns),
            None => self.now_ns,
        };
        if program == NONE {
            self.carried.insert(request | arrival::REQUEST, carried);
            if let Some(hash) = &mut self.hash {
                hash.then(ready, Hashed::Complete(request));
            }
            return;
        }
        self.carried.insert(program, carried);
        let program = &mut self.ops[program];
        program.waits = false;
        program.ready_ns = ready;
        let unit = self.unit_of_plane[self.geometry.plane(program.ppn) as usize];
        match &mut self.hash {
            Some(hash) => hash.then(ready, Hashed::Wake(unit)),
            None => {
                self.load_up(unit, false);
                self.dispatch(unit);
            }
        }
    }
}
