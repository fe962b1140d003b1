//! How a unit chooses its next operation, and how an operation starts.

use flashtwin_ftl::Unit;

use super::multi_plane::UnitHold;
use super::op::{Shared, holder};
use super::unit::{Stage, WINDOW};
use super::{Accounts, Array, NONE, NOT_STARTED, Observer, Op, Queue, Work};
use crate::config::MultiPlane;

#[derive(Clone, Copy)]
struct Choice {
    queue: Queue,
    before: u32,
}

impl Choice {
    fn first(queue: Queue) -> Self {
        Self { queue, before: NONE }
    }
}

impl Array {
    /// Notes by whom the unit was held until now if a host's operation that came to it must wait.
    #[inline]
    pub(super) fn note_wait<O: Observer>(&mut self, unit: Unit, slot: u32, accounts: &mut Accounts<O>) {
        let op = &mut self.ops[slot];
        if op.start_ns == NOT_STARTED && op.work.host_waits() {
            (op.waits, op.came_ns) = (true, self.now_ns);
            let unit = &self.units[unit];
            accounts.unit_waits.begin(slot, &unit.held, unit.held_now(self.now_ns));
        }
    }

    /// Host reads go first (RR-SSD paper, section I), then host writes, then the controller's own work (or these two in
    /// order of arrival), last background jobs; urgent work precedes all. An operation that must wait lets others go
    /// on, and never waits for one that was decided after it, so there is no deadlock.
    #[inline]
    pub(crate) fn dispatch<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>) {
        if !self.is_idle(unit) {
            return;
        }
        while let Some(Choice { queue, before }) = self.choose(unit) {
            if self.units[unit].suspended.is_some()
                && !(queue == Queue::Reads && self.read_before_resuming(unit))
            {
                return self.resume(unit, accounts);
            }
            let op = self.units[unit].pop_after(queue, before, &mut self.ops);
            if self.start(unit, queue, op, accounts) {
                return;
            }
        }
        if self.units[unit].suspended.is_some() {
            self.resume(unit, accounts);
        }
    }

    #[inline]
    fn choose(&mut self, unit: Unit) -> Option<Choice> {
        let own = self.first_ready(unit, Queue::Background);
        let read = self.units[unit].head(Queue::Reads);
        if let Some((choice, op)) = own
            && (self.ops[op].offline || self.ops[op].urgent && (read == NONE || !self.reads_before_urgent))
        {
            return Some(choice);
        }
        if read != NONE && self.reads_before_write == 0 {
            return Some(Choice::first(Queue::Reads));
        }
        let mut write = self.first_ready(unit, Queue::Writes);
        if self.batches.is_some() && self.waits_for_batch(unit, write.is_some()) {
            write = None;
        }
        let state = &mut self.units[unit];
        if read != NONE && !(write.is_some() && state.reads_ahead >= self.reads_before_write) {
            state.reads_ahead = if write.is_some() { state.reads_ahead + 1 } else { 0 };
            return Some(Choice::first(Queue::Reads));
        }
        let own = own.filter(|_| self.batches.is_none() || self.may_collect(unit, write.is_some()));
        if let Some((choice, op)) = write
            && !(self.collection_in_turn && self.came_before(own, op))
        {
            self.units[unit].reads_ahead = 0;
            return Some(choice);
        }
        if let Some((choice, _)) = own {
            return Some(choice);
        }
        let (choice, _) = self.first_ready(unit, Queue::Idle)?;
        self.idle_long_enough(unit).then_some(choice)
    }

    /// Programs of the host wait for the end of the batch under way. If one could start, the unit looks again then.
    #[cold]
    fn waits_for_batch(&mut self, unit: Unit, program_may_start: bool) -> bool {
        let Some(ends_ns) = self.batches.as_ref().and_then(|batches| batches.ends_ns(self.now_ns)) else {
            return false;
        };
        if program_may_start && self.units[unit].suspended.is_none() {
            self.expect(unit, ends_ns);
        }
        true
    }

    #[cold]
    fn may_collect(&self, unit: Unit, program_may_start: bool) -> bool {
        let program_waits = !program_may_start && self.units[unit].head(Queue::Writes) != NONE;
        self.batches.as_ref().is_none_or(|batches| batches.lets_collect(unit, program_waits, self.now_ns))
    }

    #[inline]
    fn note_own_begun(&mut self, unit: Unit, slot: u32) {
        if self.ops[slot].needs_no_batch
            && let Some(batches) = &mut self.batches
        {
            batches.begun(unit);
        }
    }

    fn came_before(&self, own: Option<(Choice, u32)>, write: u32) -> bool {
        own.is_some_and(|(_, own)| self.ops[own].ready_ns < self.ops[write].ready_ns)
    }

    /// The controller's own operations on one plane keep their order.
    #[inline(always)] // Most queues are empty: a call would cost more than the look.
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

    /// A fixed timer (Golding et al., USENIX 1995). Sets an event if time is left. Work of jobs does not end idle time.
    #[inline]
    fn idle_long_enough(&mut self, unit: Unit) -> bool {
        self.idle_ns == 0 || self.idle_time_is_up(unit)
    }

    fn idle_time_is_up(&mut self, unit: Unit) -> bool {
        let state = &self.units[unit];
        // An erase in the queue before may wait for this very program: then there is no point in waiting.
        if state.head(Queue::Background) != NONE {
            return true;
        }
        let due_ns = state.idle_since_ns + self.idle_ns;
        if due_ns <= self.now_ns {
            return true;
        }
        if state.suspended.is_none() && state.event_ns != due_ns {
            self.expect(unit, due_ns);
        }
        false
    }

    pub(crate) fn has_idle_time(&mut self, unit: Unit) -> bool {
        let state = &self.units[unit];
        let queued = [Queue::Reads, Queue::Writes, Queue::Background];
        let waits = queued.iter().any(|&queue| state.head(queue) != NONE);
        self.is_idle(unit) && !waits && state.suspended.is_none() && self.idle_long_enough(unit)
    }

    #[inline]
    fn start<O: Observer>(
        &mut self,
        unit: Unit,
        queue: Queue,
        slot: u32,
        accounts: &mut Accounts<O>,
    ) -> bool {
        let now = self.now_ns;
        self.ops[slot].next = NONE;
        // Copies only these fields, because a whole operation just written field by field stalls the processor.
        let Op { offline, work, cause, .. } = self.ops[slot];
        if offline || (work == Work::OwnRead && !self.flash_has(slot)) {
            self.note_own_begun(unit, slot);
            self.carry_out_at_once(slot, accounts);
            return false;
        }
        self.take_up(unit, slot, accounts);
        let shared = self.take_up_companions(unit, queue, slot, accounts);
        let Shared { commands, pages, sense_ns } = shared;
        let state = &mut self.units[unit];
        state.current = slot;
        state.holder = holder(work, cause);
        state.busy_since_ns = now;
        let bus = &mut self.buses[state.channel];
        let (command, transfer) = (self.timing.command_ns, self.timing.transfer_ns);
        let (stage, until, what) = match work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => {
                (Stage::Sensing, bus.command(now, commands * command) + sense_ns, "read")
            }
            Work::HostProgram if self.reports_data_in => {
                (Stage::DataIn, bus.transfer(now, commands * command + pages * transfer), "program")
            }
            Work::HostProgram | Work::OwnProgram | Work::Parity => {
                let data_in = bus.transfer(now, commands * command + pages * transfer);
                (Stage::Busy, data_in + self.timing.program_ns, "program")
            }
            Work::OwnErase => {
                (Stage::Busy, bus.command(now, commands * command) + self.timing.erase_ns, "erase")
            }
        };
        state.stage = stage;
        state.reading = work.host_waits_to_read();
        state.busy_until_ns = until
            + match stage {
                Stage::Sensing => pages * transfer,
                Stage::DataIn => self.timing.program_ns,
                _ => 0,
            };
        state.lost_ns = 0;
        self.note_suspendable(unit, work, 0);
        self.expect(unit, until);
        self.tell_started(slot, what, unit, accounts);
        if accounts.observer.follows_commands() {
            self.tell_command(unit, shared, accounts);
        }
        true
    }

    #[inline]
    fn take_up<O: Observer>(&mut self, unit: Unit, slot: u32, accounts: &mut Accounts<O>) {
        let op = &mut self.ops[slot];
        op.start_ns = self.now_ns;
        let Op { ppn, work, waits, other, .. } = *op;
        if waits {
            accounts.unit_waits.end(slot, &self.units[unit].held);
        }
        if work as u8 >= Work::OwnRead as u8 {
            // The controller's own work counts as load only while it is in service: queued, it gives way.
            self.load_up(unit, false, accounts);
            self.note_own_begun(unit, slot);
        }
        if work == Work::HostRead {
            self.close_merged(unit, other);
            self.sense_begun(ppn);
        }
    }

    /// Units wait, so that operations queued at the same time share a command. The outermost of nested calls counts.
    #[inline]
    pub(crate) fn hold(&mut self) -> UnitHold {
        let rule = &mut self.multi_plane;
        let begins = rule.may_hold && !rule.holding;
        rule.holding |= begins;
        UnitHold(begins)
    }

    #[inline]
    pub(crate) fn release<O: Observer>(&mut self, held: UnitHold, accounts: &mut Accounts<O>) {
        if held.holds() {
            self.let_go(accounts);
        }
    }

    #[cold]
    fn let_go<O: Observer>(&mut self, accounts: &mut Accounts<O>) {
        self.multi_plane.holding = false;
        let mut units = std::mem::take(&mut self.multi_plane.held);
        for unit in units.drain(..) {
            self.dispatch(unit, accounts);
        }
        self.multi_plane.held = units;
    }

    #[inline]
    pub(super) fn dispatch_or_hold<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>) {
        if !self.multi_plane.holding {
            self.dispatch(unit, accounts);
        } else if self.is_idle(unit) && !self.multi_plane.held.contains(&unit) {
            self.multi_plane.held.push(unit);
        }
    }

    #[inline]
    fn take_up_companions<O: Observer>(
        &mut self,
        unit: Unit,
        queue: Queue,
        slot: u32,
        accounts: &mut Accounts<O>,
    ) -> Shared {
        if self.shares_commands || self.program_units.is_some() {
            return self.take_up_gathered(unit, queue, slot, accounts);
        }
        Shared { commands: 1, pages: 1, sense_ns: self.sense_ns(self.ops[slot].ppn) }
    }

    #[cold]
    fn take_up_gathered<O: Observer>(
        &mut self,
        unit: Unit,
        queue: Queue,
        slot: u32,
        accounts: &mut Accounts<O>,
    ) -> Shared {
        let work = self.ops[slot].work;
        let gathered = self.program_units.as_ref().filter(|_| self.geometry.program_pages > 1);
        let (commands, pages) = match (work, gathered) {
            (Work::Parity, _) => (1, u64::from(self.geometry.program_pages)),
            (Work::HostProgram | Work::OwnProgram, Some(units)) => (1, units.start(slot, &mut self.ops)),
            (Work::HostRead | Work::OwnRead, _) if self.geometry.sense_pages > 1 => {
                let pages = self.gather_sense(unit, queue, slot);
                accounts.counts.reads_with_others += if pages > 1 { pages } else { 0 };
                (1, pages)
            }
            _ if self.multi_plane.rule == MultiPlane::None => (1, 1),
            _ => {
                let planes = self.gather(unit, queue, slot);
                if planes > 1 {
                    accounts.counts.pages.multi_plane_commands += 1;
                    accounts.counts.pages.multi_plane_ops += planes;
                }
                (planes, planes)
            }
        };
        let mut companion = self.next_of_command(slot);
        while companion != NONE {
            self.take_up(unit, companion, accounts);
            companion = self.next_of_command(companion);
        }
        Shared { commands, pages, sense_ns: self.longest_sense_ns(slot) }
    }
}
