//! The types that pass between the controller and its driver.

use crate::ids::{Content, Lpn, TablePage};
use flashtwin_nand::{NO_PPN, Plane, Ppn};

/// Why a flash operation happens. Every program and read is counted under exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// A host write or read of a system that ignores contents; every host read.
    Host,
    /// A host write of a content that the device never held before.
    Unique,
    /// A host write of a content on flash whose fingerprint was evicted or never taken.
    MissedDuplicate,
    /// A host write of a content that had died and comes back.
    Reborn,
    /// The old page of a host write that covers only part of it.
    ReadModifyWrite,
    /// Valid pages moved by garbage collection.
    Gc,
    /// Copies made on purpose.
    Replica,
    /// Mapping tables and checkpoints.
    Metadata,
    /// Pages that are read to be compared with one another.
    Verify,
    /// Pages that are read to be fingerprinted after they were written.
    Fingerprint,
    /// Valid pages moved by static wear levelling.
    WearLevelling,
    /// Pages without data that fill a program unit.
    Padding,
}

impl Cause {
    /// Number of causes, for arrays indexed by `cause as usize`.
    pub const COUNT: usize = 12;
}

/// A flash operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Page to register.
    Read,
    /// Register to page.
    Program,
    /// A whole block; the operation's page is the block's first.
    Erase,
}

/// A flash operation on the controller's own account (not the host's page itself). Operations of one plane are carried
/// out in order. An erase follows every earlier operation on its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashOp {
    /// The operation.
    pub kind: OpKind,
    /// The page it is done to; of an erase, the block's first.
    pub ppn: Ppn,
    /// The page whose data a program copies.
    pub source: Ppn,
    /// Why it happens.
    pub cause: Cause,
    /// Ahead of the host: the plane is about to run out of free blocks.
    pub urgent: bool,
    /// The background job that it is part of, [`NO_JOB`] or [`IDLE_STEP`]. Work of a job waits until its unit is idle,
    /// and the controller hears of its end ([`crate::Controller::job_done`]). A job's read of a block erased before it
    /// is void: it takes no time, but its end is reported.
    pub job: u32,
}

impl FlashOp {
    /// An operation that is neither urgent nor part of a job.
    #[inline]
    pub(crate) fn new(kind: OpKind, ppn: Ppn, source: Ppn, cause: Cause) -> Self {
        Self { kind, ppn, source, cause, urgent: false, job: NO_JOB }
    }

    #[inline]
    pub(crate) fn read(ppn: Ppn, cause: Cause) -> Self {
        Self::new(OpKind::Read, ppn, NO_PPN, cause)
    }
}

/// The job of operations that belong to none.
pub const NO_JOB: u32 = u32::MAX;

/// The job of operations that were ordered in [`crate::Controller::use_idle_time`]: they do not end the idle time, and
/// their end is not reported.
pub const IDLE_STEP: u32 = u32::MAX - 1;

/// Where a read is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTarget {
    /// The page that holds the content.
    pub ppn: Ppn,
    /// The plane that serves the read: that of `ppn`, unless a system pretends that every chip holds everything.
    pub plane: Plane,
    /// Whether a less loaded place than the home copy's serves it: another chip or, for duplicates, another unit.
    pub redirected: bool,
}

/// What a copy of a logical page's data in RAM is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataName {
    /// The logical page: the tables know of no other with these data. A write or a trim changes them.
    Page(Lpn),
    /// A list of duplicate pages. No later list has its number.
    Twins(u64),
    /// A content that the fingerprint store has.
    Content(Content),
}

/// The controller's answer to a page read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Nothing was ever written there: answered without flash.
    Unmapped,
    /// A page is read from the flash.
    Flash {
        /// The page to read.
        target: ReadTarget,
        /// The content is read for the first time.
        new_value: bool,
        /// The content has replicas.
        replicated: bool,
        /// A name for the data: two reads under way with equal names may share a result, because the data are the same.
        data: u64,
    },
}

/// The controller's answer to a page write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOutcome {
    /// The page to program and why, or `None` where the content is on flash already.
    pub program: Option<(Ppn, Cause)>,
}

/// One page operation of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The logical page.
    pub lpn: Lpn,
    /// Its page number in the host's address space.
    pub address: u64,
    /// The content written; [`crate::NO_CONTENT`] for systems that do not look.
    pub content: Content,
}

#[inline]
pub(crate) fn is_page(ppn: Ppn) -> bool {
    ppn != NO_PPN
}

/// A table page that a page operation of the host looked into, in the order in which it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// The page of the tables.
    pub page: TablePage,
    /// Where it is read from, if it was neither in RAM nor about to be.
    pub read: Option<Ppn>,
    /// Whether the operation waits for it. It does not for a page that only has a count changed.
    pub delays: bool,
}

/// Results about the table pages at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PagingSizes {
    /// Pages that the tables have.
    pub pages: u64,
    /// Of these, pages that lie on flash.
    pub pages_on_flash: u64,
    /// Of these, pages in RAM.
    pub pages_cached: u64,
    /// Pages in RAM whose changes are not on flash.
    pub pages_dirty: u64,
    /// Bytes of the simulator's own lists.
    pub simulator_bytes: u64,
}

flashtwin_bits::state!(value Lookup { page, read, delays });
