//! What flash holds, as whoever makes a controller's state durable sees it: blocks, and pages with what points to them.

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

    /// The stream of such pages, where there is one partition.
    pub(crate) fn stream(self) -> Stream {
        match self {
            Self::Replicas => Stream::REPLICA,
            Self::Host => Stream::host(0),
            Self::Collection => Stream::gc(0),
            Self::Levelling => Stream::levelled(0, 1),
        }
    }
}

/// What a block is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockUse {
    /// Nothing: it is erased.
    Free,
    /// It takes pages.
    Open(OpenFor),
    /// It is programmed to its last page.
    Closed,
    /// The same, and its pages are being moved, on account of wear or for what that gains.
    Collected {
        /// On account of wear.
        levelled: bool,
    },
}

/// A block that was ever used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockImage {
    /// Which.
    pub block: Block,
    /// How often it was erased.
    pub erases: u32,
    /// Pages programmed since.
    pub written: u32,
    /// What for.
    pub used: BlockUse,
}

/// A page that logical pages point to, with its further copies.
#[derive(Debug, Clone, Copy)]
pub struct HeldPage<'a> {
    /// The first of the logical pages.
    pub lpn: Lpn,
    /// What it holds; [`crate::NO_CONTENT`] for systems that do not look.
    pub content: Content,
    /// Where.
    pub home: Ppn,
    /// Copies made on purpose, in the order in which they were made.
    pub replicas: &'a [Ppn],
}
