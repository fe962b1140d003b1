//! A unit: the part of the flash that serves one operation at a time, with its queues.

use flashtwin_nand::{Channel, Chip};

use super::super::accounts::{Charge, HoldTimes};
use super::{NONE, Op, Pool};

/// Operations of a queue that are searched, because a search must be short where a die is far behind.
pub(super) const WINDOW: u32 = 64;

/// The queues of a unit, in the order they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queue {
    Reads,
    Writes,
    Background,
    /// Only when the unit has nothing else to do.
    Idle,
}

const QUEUES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Idle,
    Sensing,
    DataOut,
    /// Controller to register; only where completion depends on its end.
    DataIn,
    /// Register to array, or erasing.
    Busy,
    Suspending,
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspended {
    pub(super) slot: u32,
    pub(super) remaining_ns: u64,
    pub(super) since_ns: u64,
    pub(super) times: u32,
    pub(super) lost_ns: u64,
    pub(super) reads_left: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct UnitState {
    lists: [List; QUEUES],
    pub(crate) current: u32,
    pub(crate) stage: Stage,
    pub(crate) chip: Chip,
    pub(crate) channel: Channel,
    pub(crate) reads_ahead: u32,
    pub(crate) busy_since_ns: u64,
    /// When the operation in service will probably end (a transfer may have to wait for the channel).
    pub(crate) busy_until_ns: u64,
    pub(crate) reading: bool,
    pub(crate) busy_ns: u64,
    /// How long the unit was held in all, by holder, and who holds it now or did so last.
    pub(crate) held: HoldTimes,
    pub(crate) holder: Charge,
    pub(crate) event_ns: u64,
    /// When the last operation ended that belongs to no background job.
    pub(crate) idle_since_ns: u64,
    pub(crate) suspendable: bool,
    pub(crate) suspensions: u32,
    pub(crate) lost_ns: u64,
    pub(crate) suspended: Option<Suspended>,
}

impl UnitState {
    pub(crate) fn new(chip: Chip, channel: Channel) -> Self {
        Self {
            lists: [List { head: NONE, tail: NONE }; QUEUES],
            current: NONE,
            stage: Stage::Idle,
            chip,
            channel,
            reads_ahead: 0,
            busy_since_ns: 0,
            busy_until_ns: 0,
            reading: false,
            busy_ns: 0,
            held: HoldTimes::default(),
            holder: Charge::HostRead,
            event_ns: 0,
            idle_since_ns: 0,
            suspendable: false,
            suspensions: 0,
            lost_ns: 0,
            suspended: None,
        }
    }

    #[inline]
    pub(crate) fn fall_idle(&mut self, now_ns: u64) {
        let busy_ns = now_ns - self.busy_since_ns;
        self.stage = Stage::Idle;
        self.busy_ns += busy_ns;
        self.held[self.holder as usize] += busy_ns;
    }

    /// The present or last holder, and for how long it has held the unit; 0 while idle.
    #[inline]
    pub(crate) fn held_now(&self, now_ns: u64) -> (Charge, u64) {
        (self.holder, if self.stage == Stage::Idle { 0 } else { now_ns - self.busy_since_ns })
    }

    #[inline]
    pub(crate) fn held_until(&self, now_ns: u64) -> HoldTimes {
        let (mut held, (holder, ns)) = (self.held, self.held_now(now_ns));
        held[holder as usize] += ns;
        held
    }

    #[inline]
    pub(crate) fn in_service(&self) -> Option<bool> {
        (self.stage != Stage::Idle).then_some(self.reading)
    }

    #[inline]
    pub(crate) fn head(&self, queue: Queue) -> u32 {
        self.lists[queue as usize].head
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: Queue, op: u32, ops: &mut Pool<Op>) {
        let list = &mut self.lists[queue as usize];
        ops[op].next = NONE;
        match list.tail {
            NONE => list.head = op,
            tail => ops[tail].next = op,
        }
        list.tail = op;
    }

    pub(crate) fn push_in_order(&mut self, queue: Queue, op: u32, ops: &mut Pool<Op>) {
        let list = self.lists[queue as usize];
        let later = |other: u32, ops: &Pool<Op>| ops[other].ready_ns > ops[op].ready_ns;
        if list.tail == NONE || !later(list.tail, ops) {
            return self.push(queue, op, ops);
        }
        let (mut before, mut after) = (NONE, list.head);
        while !later(after, ops) {
            (before, after) = (after, ops[after].next);
        }
        ops[op].next = after;
        match before {
            NONE => self.lists[queue as usize].head = op,
            before => ops[before].next = op,
        }
    }

    #[inline]
    pub(crate) fn pop_after(&mut self, queue: Queue, before: u32, ops: &mut Pool<Op>) -> u32 {
        match before {
            NONE => self.pop(queue, ops),
            before => self.pop_behind(queue, before, ops),
        }
    }

    #[cold]
    fn pop_behind(&mut self, queue: Queue, before: u32, ops: &mut Pool<Op>) -> u32 {
        let op = ops[before].next;
        ops[before].next = ops[op].next;
        let list = &mut self.lists[queue as usize];
        if list.tail == op {
            list.tail = before;
        }
        op
    }

    #[inline]
    pub(crate) fn pop(&mut self, queue: Queue, ops: &Pool<Op>) -> u32 {
        let list = &mut self.lists[queue as usize];
        let op = list.head;
        list.head = ops[op].next;
        if list.head == NONE {
            list.tail = NONE;
        }
        op
    }
}
