//! A unit: the part of the flash that serves one operation at a time, with its queues.

use super::pool::{NONE, Op, Pool};

/// The queues of a unit, in the order they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queue {
    Reads,
    Writes,
    Background,
}

/// Where the operation in service stands; the unit's pending event ends this stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Idle,
    /// Array to register.
    Sensing,
    /// Register to controller.
    DataOut,
    /// Controller to register; only where completion depends on its end.
    DataIn,
    /// Register to array, or erasing.
    Busy,
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

/// One chip, die or plane, by the engine's concurrency.
#[derive(Debug)]
pub(crate) struct Unit {
    lists: [List; 3],
    pub(crate) current: u32,
    pub(crate) stage: Stage,
    pub(crate) chip: u32,
    pub(crate) channel: u32,
    /// Reads served since a write was last overtaken.
    pub(crate) reads_ahead: u32,
    pub(crate) busy_since_ns: u64,
    pub(crate) busy_ns: u64,
}

impl Unit {
    pub(crate) fn new(chip: u32, channel: u32) -> Self {
        Self {
            lists: [List { head: NONE, tail: NONE }; 3],
            current: NONE,
            stage: Stage::Idle,
            chip,
            channel,
            reads_ahead: 0,
            busy_since_ns: 0,
            busy_ns: 0,
        }
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
