//! Flash operations: the work of each, and the cause charged while it holds its unit.

use flashtwin_ftl::{Cause, NO_JOB};
use flashtwin_nand::Ppn;

use super::super::accounts::{Charge, OpenLedger};
use super::super::pool::{NONE, Slot};

pub(crate) const NOT_STARTED: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    HostRead,
    /// Completes its page of the request, unless that completed earlier.
    HostProgram,
    /// The old page of a partial write, which is the page operation in `other`.
    ReadBeforeWrite,
    /// A page of the mapping tables. Its number is in `request`, and the page operation in `other` waits for it.
    TableRead,
    OwnRead,
    OwnProgram,
    OwnErase,
    /// A program unit of parity without a page: its `ppn` only names the die.
    Parity,
}

impl Work {
    /// It counts as the chip's load.
    #[inline]
    pub(crate) fn host_waits_to_read(self) -> bool {
        matches!(self, Self::HostRead | Self::ReadBeforeWrite | Self::TableRead)
    }

    /// Its waiting is accounted for.
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
    pub(crate) request: u32,
    /// The operation that waits for this one. For a host read, the reads that share it ([`super::merging`]). For a host
    /// program that completes with its transfer, its epoch as bits.
    pub(crate) other: u32,
    /// Host programs and work of jobs: the life of its block that it belongs to.
    pub(crate) life: u32,
    pub(crate) charged: OpenLedger,
    pub(crate) job: u32,
    /// Of host reads and reads of tables: their place in the order of their queue. Of others, if collection takes turns
    /// with programs of the host: when it came to its die.
    pub(crate) ready_ns: u64,
    pub(crate) came_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) work: Work,
    pub(crate) cause: Cause,
    pub(crate) urgent: bool,
    /// Carried out in no time (the replication phase, in which the mirror serves the host).
    pub(crate) offline: bool,
    /// Whether it had to wait for its unit (the accounts' `UnitWaits`).
    pub(crate) waits: bool,
    pub(crate) hashed: bool,
    pub(crate) redirected: bool,
    /// Whether its block may not be erased before it is done.
    pub(crate) pins_block: bool,
    /// The controller's own, and no collection, so that it waits for no batch ([`super::batches`]).
    pub(crate) needs_no_batch: bool,
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
            charged: OpenLedger::NONE,
            job: NO_JOB,
            ready_ns: 0,
            came_ns: 0,
            start_ns: NOT_STARTED,
            work,
            cause: Cause::Host,
            urgent: false,
            offline: false,
            waits: false,
            hashed: false,
            redirected: false,
            pins_block: false,
            needs_no_batch: false,
        }
    }

    /// When the operation came to its unit: one that did not wait began at that moment.
    #[inline]
    pub(crate) fn came_ns(&self) -> u64 {
        if self.waits { self.came_ns } else { self.start_ns }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) commands: u64,
    pub(super) pages: u64,
    pub(super) sense_ns: u64,
}

impl Slot for Op {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

#[inline]
pub(super) fn holder(work: Work, cause: Cause) -> Charge {
    match work {
        Work::HostRead | Work::ReadBeforeWrite => Charge::HostRead,
        Work::HostProgram => Charge::HostProgram,
        Work::TableRead => Charge::TablePage,
        Work::OwnErase => Charge::Erase,
        Work::Parity if cause == Cause::Host => Charge::HostProgram,
        Work::Parity => Charge::GcProgram,
        Work::OwnRead | Work::OwnProgram => match cause {
            Cause::Replica => Charge::Copy,
            Cause::Metadata => Charge::TablePage,
            Cause::Verify | Cause::Fingerprint => Charge::Comparison,
            _ if work == Work::OwnRead => Charge::GcRead,
            _ => Charge::GcProgram,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controllers_work_is_held_against_its_cause() {
        for (cause, read, program) in [
            (Cause::Replica, Charge::Copy, Charge::Copy),
            (Cause::Metadata, Charge::TablePage, Charge::TablePage),
            (Cause::Verify, Charge::Comparison, Charge::Comparison),
            (Cause::Fingerprint, Charge::Comparison, Charge::Comparison),
            (Cause::Gc, Charge::GcRead, Charge::GcProgram),
            (Cause::WearLevelling, Charge::GcRead, Charge::GcProgram),
        ] {
            assert_eq!([Work::OwnRead, Work::OwnProgram].map(|work| holder(work, cause)), [read, program]);
            assert_eq!(holder(Work::OwnErase, cause), Charge::Erase);
        }
        let parity = [Cause::Host, Cause::Gc].map(|cause| holder(Work::Parity, cause));
        assert_eq!(parity, [Charge::HostProgram, Charge::GcProgram]);
    }
}
