//! Flash operations and requests in flight: slots of two arrays, reused, never allocated
//! one by one.

use flashtwin_bits::prefetch;
use flashtwin_ftl::{Cause, NO_JOB};
use flashtwin_nand::Ppn;

use super::flush::Epoch;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Start time of an operation that no unit has taken up.
pub(crate) const NOT_STARTED: u64 = u64::MAX;

/// What an operation does when the flash is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A host read: its page of the request is complete.
    HostRead,
    /// A host program: likewise, unless it completed earlier.
    HostProgram,
    /// The old page of a partial write, whose number among those not decided is in `other`.
    ReadBeforeWrite,
    /// A page of the mapping tables, whose number stands for the request: the errand in `other` may go
    /// on.
    TableRead,
    /// A read, program or erase of the controller's own.
    OwnRead,
    OwnProgram,
    OwnErase,
}

impl Work {
    /// A read that a host's request waits for: it counts as the chip's load.
    #[inline]
    pub(crate) fn host_waits_to_read(self) -> bool {
        matches!(self, Self::HostRead | Self::ReadBeforeWrite | Self::TableRead)
    }

    /// An operation of a host's request, whose waiting is accounted for.
    #[inline]
    pub(crate) fn host_waits(self) -> bool {
        matches!(self, Self::HostRead | Self::ReadBeforeWrite | Self::HostProgram)
    }
}

/// An operation waiting for the flash or being served by it. A cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Op {
    pub(crate) ppn: Ppn,
    /// Next in its queue, or next free slot.
    pub(crate) next: u32,
    /// The request it belongs to.
    pub(crate) request: u32,
    /// The operation that waits for this one; of a host read, the reads that share in it
    /// ([`super::merging`]); of a host program, whether its page has a place or waits for one
    /// ([`super::write_buffer`]), or its [`Epoch`] as bits.
    pub(crate) other: u32,
    /// Host programs and work of jobs: the life of its block that it belongs to.
    pub(crate) life: u32,
    /// The controller's background job, if any.
    pub(crate) job: u32,
    /// Of host reads and reads of tables: when it was ready to be served, its place in the order of their queue.
    pub(crate) ready_ns: u64,
    /// When it came to its unit, if it had to wait there.
    pub(crate) came_ns: u64,
    /// When the flash took it up; [`NOT_STARTED`] until then.
    pub(crate) start_ns: u64,
    pub(crate) work: Work,
    /// Why the operation happens, where the controller ordered it on its own account.
    pub(crate) cause: Cause,
    /// Ahead of the host.
    pub(crate) urgent: bool,
    /// Carried out in no time (the replication phase, in which the mirror serves the host).
    pub(crate) offline: bool,
    /// Whether the operation has to wait for its unit, or has had to ([`super::ledger::Waits`]).
    pub(crate) waits: bool,
    /// Whether something was charged to the operation before it came to its unit.
    pub(crate) charged: bool,
    /// Whether the page of a host's program was hashed.
    pub(crate) hashed: bool,
    /// Whether a host's read is served from another place than that of the home copy.
    pub(crate) redirected: bool,
    /// Whether the operation's block may not be erased before the operation is done.
    pub(crate) pins_block: bool,
}

impl Op {
    #[inline(always)]
    pub(crate) fn new(ppn: Ppn, work: Work) -> Self {
        Self {
            ppn,
            next: NONE,
            request: NONE,
            other: NONE,
            life: 0,
            job: NO_JOB,
            ready_ns: 0,
            came_ns: 0,
            start_ns: NOT_STARTED,
            work,
            cause: Cause::Host,
            urgent: false,
            offline: false,
            waits: false,
            charged: false,
            hashed: false,
            redirected: false,
            pins_block: false,
        }
    }
}

/// A request in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) arrival_ns: u64,
    pub(crate) pages_left: u32,
    /// Of a write, that in which flushes wait for it ([`super::flush`]); [`NO_EPOCH`] of a read or a flush.
    pub(crate) epoch: Epoch,
    /// Not the host's: the page of the write cache that it brings to the flash.
    pub(crate) destages: u32,
    next: u32,
}

/// A slab with a free list threaded through the slots, as three of them are the hottest there are: no second array
/// is touched to take a slot or to give one back.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    slots: Vec<T>,
    free: u32,
}

/// A slot that can hold the link of the free list.
pub(crate) trait Slot: Copy {
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

impl Slot for Op {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Slot for Request {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Request {
    pub(crate) fn new(arrival_ns: u64, pages_left: u32, epoch: Epoch) -> Self {
        Self { arrival_ns, pages_left, epoch, destages: NONE, next: NONE }
    }

    /// A page of the write cache on its way to the flash.
    pub(crate) fn destaging(now_ns: u64, page: u32, epoch: Epoch) -> Self {
        Self { destages: page, ..Self::new(now_ns, 1, epoch) }
    }
}

impl<T: Slot> Pool<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if self.free == NONE {
            self.slots.push(value);
            return self.slots.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].next();
        self.slots[slot as usize] = value;
        slot
    }

    /// The slot that the next insertion takes.
    #[inline]
    pub(crate) fn next_slot(&self) -> u32 {
        if self.free == NONE { self.slots.len() as u32 } else { self.free }
    }

    /// Asks for a slot.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        prefetch(&self.slots, slot as usize);
    }

    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        self.slots[slot as usize].set_next(self.free);
        self.free = slot;
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::flush::NO_EPOCH;
    use super::*;

    #[test]
    fn places_of_what_was_removed_are_taken_again_before_there_are_more() {
        let mut pool = Pool::new();
        let slots: Vec<u32> = (0..4).map(|at| pool.insert(Request::new(at, 1, NO_EPOCH))).collect();
        assert_eq!(slots, [0, 1, 2, 3]);
        for slot in [1, 3, 0] {
            pool.remove(slot);
        }
        let again: Vec<u32> = (10..14).map(|at| pool.insert(Request::new(at, 1, NO_EPOCH))).collect();
        assert_eq!(again, [0, 3, 1, 4]);
        assert_eq!([0, 1, 2, 3, 4].map(|slot| pool[slot].arrival_ns), [10, 12, 2, 11, 13]);
    }
}
