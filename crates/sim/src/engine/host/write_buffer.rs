//! Power-protected RAM in which a page waits for its program: `engine.write_completes = "hashed"`.
//!
//! A write completes when the controller has the hash of its page and a place for the page in RAM
//! that a capacitor or a battery protects (RR-SSD paper III.A). A duplicate needs no place. Flash
//! operations are the same as with any other rule; only the host hears earlier. A page that finds
//! no place gets the next free one, or completes when it is programmed, whichever comes first.

use flashtwin_ftl::Host;

use super::super::array::Op;
use super::page_op::State;
use super::{Backend, Charge, Condition, Controller, Engine, NONE, Observer, OpenLedger};
use crate::config::WriteCompletes;

/// [`Op::other`] of a program whose page has a place. That of another is the page operation that waits for one.
const HAS_PLACE: u32 = u32::MAX - 1;

/// The places.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    /// Places that there are; 0: as many as are wanted.
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

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// Prepares the program of a page, which the caller queues next: the request to complete with
    /// it, its place, and its charges. If writes complete with a place in RAM, this asks for one.
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
        let (state, now) = (State::BufferPlace(self.array.next_slot()), self.array.now_ns());
        let waiting = self.page_ops.insert(page, request, state, OpenLedger::NONE, now);
        self.waits.wait(Condition::BufferPlace, waiting);
        (request, waiting, charged)
    }

    /// A page has been programmed: its place goes to the page that waits for longest. Whether the page had none, so that
    /// it is complete only now.
    pub(super) fn programmed_from_buffer(&mut self, op: &Op) -> bool {
        if op.other != HAS_PLACE {
            // It needs no place any more.
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

    /// Completes the page of a program that has waited for a place and gets it now.
    fn give_place(&mut self, slot: u32) {
        let op = self.array.op_mut(slot);
        let Op { request, hashed, charged, .. } = *op;
        (op.request, op.charged, op.other) = (NONE, OpenLedger::NONE, HAS_PLACE);
        let came_ns = op.came_ns();
        let charged = self.accounts.close(charged);
        self.page_done(request, None, |host, ledger| {
            match charged {
                Some(charged) => ledger.add(&charged),
                None => host.charge_hashing(ledger, request, hashed, came_ns),
            }
            ledger.charge(Charge::CachePlace, host.array.now_ns() - came_ns);
        });
    }
}
