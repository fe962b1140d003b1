//! Power-protected RAM in which a page waits for its program: `engine.write_completes = "hashed"`.
//!
//! A write completes when its page has a hash and a place in RAM that a capacitor or a battery protects (RR-SSD paper
//! III.A). A duplicate needs no place. Flash operations are the same as with any other rule; only the host hears
//! earlier. A page without a place gets the next free one, or completes when it is programmed, whichever comes first.

use flashtwin_ftl::Host;

use super::super::array::Op;
use super::page_op::State;
use super::{Charge, Condition, Controller, Decider, NONE, Observer, OpenLedger};
use crate::config::WriteCompletes;

/// [`Op::other`] of a program whose page has a place. For another it is the page operation that waits for one.
const HAS_PLACE: u32 = u32::MAX - 1;

#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    /// 0: as many as are wanted.
    places: u32,
    taken: u32,
}

impl WriteBuffer {
    pub(super) fn new(places: u32) -> Self {
        Self { places, taken: 0 }
    }

    fn take_place(&mut self) -> bool {
        let free = self.places == 0 || self.taken < self.places;
        self.taken += u32::from(free);
        free
    }
}

impl<C: Controller, O: Observer> Decider<C, O> {
    /// The request to complete with the program of a page, which the caller queues next, its place, and its charges. If
    /// writes complete with a place in RAM, this asks for one.
    #[inline]
    pub(super) fn ask_for_place(
        &mut self,
        page: Host,
        request: u32,
        hashed: bool,
        charged: OpenLedger,
    ) -> (u32, u32, OpenLedger) {
        match self.write_completes {
            WriteCompletes::Hashed => self.complete_with_place(page, request, hashed, charged),
            _ => (request, NONE, charged),
        }
    }

    #[inline(never)]
    fn complete_with_place(
        &mut self,
        page: Host,
        request: u32,
        hashed: bool,
        charged: OpenLedger,
    ) -> (u32, u32, OpenLedger) {
        if self.write_buffer.take_place() {
            self.complete_in_ram(request, hashed, charged);
            return (NONE, HAS_PLACE, OpenLedger::NONE);
        }
        // The slot that the program will have: nothing is queued in between.
        let (state, now) = (State::BufferPlace(self.back.array.ops.next_slot()), self.back.now_ns());
        let waiting = self.page_ops.insert(page, request, state, OpenLedger::NONE, now);
        self.waits.wait(Condition::BufferPlace, waiting);
        (request, waiting, charged)
    }

    /// A page has been programmed: its place goes to the page that has waited for longest. Returns whether the page had
    /// none, so that it is complete only now.
    pub(super) fn programmed_from_buffer(&mut self, op: &Op) -> bool {
        if op.other != HAS_PLACE {
            self.page_ops[op.other].state = State::Gone;
            return true;
        }
        self.write_buffer.taken -= 1;
        while let Some(next) = self.waits.wake_one(Condition::BufferPlace) {
            if let State::BufferPlace(program) = self.page_ops.remove(next).state {
                self.write_buffer.taken += 1;
                self.give_place(program);
                break;
            }
        }
        false
    }

    fn give_place(&mut self, slot: u32) {
        let op = &mut self.back.array.ops[slot];
        let Op { request, hashed, charged, .. } = *op;
        (op.request, op.charged, op.other) = (NONE, OpenLedger::NONE, HAS_PLACE);
        let came_ns = op.came_ns();
        let charged = self.back.accounts.close(charged);
        self.page_done(request, None, |decider, ledger| {
            match charged {
                Some(charged) => ledger.add(&charged),
                None => decider.charge_hashing(ledger, request, hashed, came_ns),
            }
            ledger.charge(Charge::CachePlace, decider.back.now_ns() - came_ns);
        });
    }
}
