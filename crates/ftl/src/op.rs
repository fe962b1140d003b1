//! The words that pass between the controller and whoever drives it.

use flashtwin_nand::Ppn;

/// Why a flash operation happens. Every program and read is counted under exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// A host write or read of a system that does not look at contents; every host read.
    Host,
    /// A host write of a content that the device never held before.
    Unique,
    /// A host write of a content that lies on flash, but whose fingerprint was evicted or never
    /// taken.
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
}

impl Cause {
    /// Number of causes, for arrays indexed by `cause as usize`.
    pub const COUNT: usize = 11;
}

/// What is done to the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Page to register.
    Read,
    /// Register to page.
    Program,
    /// A whole block; the operation's page is the block's first.
    Erase,
}

/// A flash operation that the controller orders on its own account (not the host's page
/// itself). Operations of one plane are to be carried out in the order given; an erase
/// follows every earlier operation on its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashOp {
    /// What.
    pub kind: OpKind,
    /// Where; an erase names the block's first page.
    pub ppn: Ppn,
    /// The page whose data a program copies.
    pub source: Ppn,
    /// Why.
    pub cause: Cause,
    /// Ahead of the host: the plane is about to run out of free blocks.
    pub urgent: bool,
    /// The background job that it is part of, or [`NO_JOB`]. Work of a job waits until its unit
    /// has nothing else to do, and the controller is told when it is done
    /// ([`crate::Ftl::job_done`]). A job's read of a block that was erased before its turn came
    /// is void: it takes no time, and the controller is told all the same.
    pub job: u32,
}

/// The job of operations that belong to none.
pub const NO_JOB: u32 = u32::MAX;

/// The chips' loads as the controller sees them when it decides.
#[derive(Debug, Clone, Copy)]
pub struct LoadView<'a> {
    /// Load of each chip.
    pub chip: &'a [u32],
    /// Load of each unit that works on its own (chip, die or plane, by the engine's
    /// concurrency). The units of one chip are neighbours.
    pub unit: &'a [u32],
    /// Whether the unit's load decides between places, and not the chip's.
    pub units_decide: bool,
    /// When the loads are so, from any beginning, never earlier than in a view before: what is predicted from
    /// loads forgets with time. The controller itself has no clock; who has none either leaves it at 0.
    pub now_ns: u64,
}

impl<'a> LoadView<'a> {
    /// Loads of chips, which decide, and of their units, which decide among equals.
    pub fn new(chip: &'a [u32], unit: &'a [u32]) -> Self {
        Self { chip, unit, units_decide: false, now_ns: 0 }
    }

    /// The same loads, seen at a time.
    #[inline]
    #[must_use]
    pub fn at(self, now_ns: u64) -> Self {
        Self { now_ns, ..self }
    }

    /// Units in a chip.
    #[inline]
    pub fn units_per_chip(&self) -> usize {
        self.unit.len() / self.chip.len()
    }
}

/// Where a read is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTarget {
    /// The page that holds the content.
    pub ppn: Ppn,
    /// The plane that serves the read; not that of `ppn` only where a system pretends
    /// that every chip holds everything.
    pub plane: u32,
    /// Whether another, less loaded place than the home copy's serves it: another chip, or (only
    /// for twins, which may share a chip) another unit of it.
    pub redirected: bool,
}

/// The controller's answer to a page read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Nothing was ever written there: answered without flash.
    Unmapped,
    /// Read this page.
    Flash {
        /// Where.
        target: ReadTarget,
        /// The content is read for the first time.
        new_value: bool,
        /// The content has replicas.
        replicated: bool,
        /// Names the data: two reads under way with equal names ask for what the controller knows
        /// to be the same, so that one may take what the other reads.
        data: u64,
    },
}

/// The controller's answer to a page write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOutcome {
    /// The page to program and why, or `None` where the content is on flash already.
    pub program: Option<(Ppn, Cause)>,
}
