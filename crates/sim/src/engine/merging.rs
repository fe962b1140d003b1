//! Reads that wait for the same data at the same chip: one is served, all are complete.
//!
//! Source: DS-FTL paper, section 4.3.2. What is in service already is not joined.

use std::collections::HashMap;

use super::pool::{NONE, Op};
use super::{Controller, Engine, Observer, Split};

/// A host read that joined another: its request, and when it was ready to be served.
#[derive(Debug, Clone, Copy)]
struct Joined {
    request: u32,
    ready_ns: u64,
}

/// A read that waits, what it is known by, and who has joined it.
#[derive(Debug)]
struct Party {
    key: (u32, u64),
    joined: Vec<Joined>,
}

/// Reads that wait, by chip and the name of their data. A party's number is kept in its operation.
#[derive(Debug)]
pub(super) struct Merging {
    waiting: HashMap<(u32, u64), u32>,
    parties: Vec<Party>,
    free: Vec<u32>,
}

impl Merging {
    pub(super) fn new() -> Self {
        Self { waiting: HashMap::new(), parties: Vec::new(), free: Vec::new() }
    }

    /// Joins a read that waits, if there is one.
    fn join(&mut self, key: (u32, u64), read: Joined) -> bool {
        let Some(&party) = self.waiting.get(&key) else { return false };
        self.parties[party as usize].joined.push(read);
        true
    }

    /// A read waits under this key from now on.
    fn wait(&mut self, key: (u32, u64)) -> u32 {
        let party = match self.free.pop() {
            Some(party) => {
                self.parties[party as usize].key = key;
                party
            }
            None => {
                self.parties.push(Party { key, joined: Vec::new() });
                self.parties.len() as u32 - 1
            }
        };
        self.waiting.insert(key, party);
        party
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Lets a host read that has been ready since `ready_ns` share in one that waits at its chip for the
    /// same data. Returns whether it does.
    pub(super) fn join_read(&mut self, chip: u32, data: u64, request: u32, ready_ns: u64) -> bool {
        let read = Joined { request, ready_ns };
        let joins = self.merging.as_mut().is_some_and(|merging| merging.join((chip, data), read));
        self.counts.merged_reads += u64::from(joins);
        joins
    }

    /// A host read has been queued: while it waits, others may join it.
    pub(super) fn may_be_joined(&mut self, unit: u32, slot: u32, data: u64) {
        let state = &self.units[unit as usize];
        if !self.is_idle(unit) && state.current == slot {
            return;
        }
        let chip = state.chip;
        if let Some(merging) = &mut self.merging {
            self.ops[slot].other = merging.wait((chip, data));
        }
    }

    /// A host read begins: it is too late to join it.
    #[inline]
    pub(super) fn close_party(&mut self, op: &Op) {
        if let Some(merging) = self.merging.as_mut().filter(|_| op.other != NONE) {
            merging.waiting.remove(&merging.parties[op.other as usize].key);
        }
    }

    /// A host read is complete, and with it those that joined it, in the order in which they came.
    #[inline]
    pub(super) fn complete_party(&mut self, op: &Op) {
        if op.other != NONE {
            self.complete_joined(op);
        }
    }

    fn complete_joined(&mut self, op: &Op) {
        let Some(merging) = &mut self.merging else { return };
        let mut joined = std::mem::take(&mut merging.parties[op.other as usize].joined);
        for read in &joined {
            let flash_ns = self.timing.read_ns;
            let split = Split {
                queueing_ns: op.start_ns - read.ready_ns,
                transfer_ns: self.now_ns - op.start_ns - flash_ns,
                flash_ns,
                controller_ns: read.ready_ns - self.requests[read.request].arrival_ns,
            };
            self.page_done(read.request, split);
        }
        joined.clear();
        if let Some(merging) = &mut self.merging {
            merging.parties[op.other as usize].joined = joined;
            merging.free.push(op.other);
        }
    }
}
