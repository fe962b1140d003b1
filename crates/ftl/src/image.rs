//! Flash contents exported for persistence: blocks, and pages with their owners.

use flashtwin_nand::{Block, Ppn};

use crate::flash::blocks::Stream;
use crate::ids::{Content, Lpn};

/// Which pages an open block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OpenFor {
    /// Copies made on purpose.
    Replicas = 0,
    /// Pages that the host writes.
    Host = 1,
    /// Pages that garbage collection moves.
    Collection = 2,
    /// Pages that wear levelling moves.
    Levelling = 3,
}

impl OpenFor {
    /// All of them, by their number.
    pub const ALL: [Self; 4] = [Self::Replicas, Self::Host, Self::Collection, Self::Levelling];

    pub(crate) fn stream(self) -> Stream {
        match self {
            Self::Replicas => Stream::REPLICA,
            Self::Host => Stream::host(0),
            Self::Collection => Stream::gc(0),
            Self::Levelling => Stream::levelled(0, 1),
        }
    }
}

/// The use of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockUse {
    /// Nothing: it is erased.
    Free,
    /// The block takes pages.
    Open(OpenFor),
    /// The block is programmed to its last page.
    Closed,
    /// The block is programmed to its last page, and its valid pages are being moved.
    Collected {
        /// Whether they are moved on account of wear, not for the space that this gains.
        levelled: bool,
    },
    /// Retired for good: erased, and unable to keep data.
    Retired,
}

/// A block that was ever used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockImage {
    /// The block.
    pub block: Block,
    /// How often it was erased.
    pub erases: u32,
    /// Pages programmed since the last erase.
    pub written: u32,
    /// The use of the block.
    pub used: BlockUse,
}

/// A page that logical pages point to, with its further copies.
#[derive(Debug, Clone, Copy)]
pub struct PageImage<'a> {
    /// The first of the logical pages.
    pub lpn: Lpn,
    /// The content of the page; [`crate::NO_CONTENT`] for systems that do not look.
    pub content: Content,
    /// The home page.
    pub home: Ppn,
    /// Copies made on purpose, in the order in which they were made.
    pub replicas: &'a [Ppn],
}
