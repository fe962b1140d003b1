//! The numbers of the controller's tables, each kind a type of its own.

use flashtwin_bits::{Id, ids};

ids! {
    /// Dense number of a logical page: one that the trace touches.
    pub struct Lpn;

    /// Virtual page number: one content that the device holds under one of its pages.
    pub struct Vpn;

    /// Dense number of a content, which identifies a page's value.
    pub struct Content;

    /// A page of the mapping tables, in the order in which they are cut into pages.
    pub struct TablePage;

    /// A part of a chip that serves one operation at a time: the chip, a die or a plane, by the engine's concurrency.
    /// The units of a chip are neighbours.
    pub struct Unit;

    /// Whom a valid page belongs to, as the flash knows it: an LPN, a VPN or a content, by the mapping form, or a page
    /// of the mapping tables.
    pub(crate) struct Owner;
}

/// No content, or an unknown one.
pub const NO_CONTENT: Content = Content::new(u32::MAX);

/// No virtual page number.
pub const NO_VPN: Vpn = Vpn::new(u32::MAX);

/// A logical page and the content that it holds, has held or is to hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageData {
    pub(crate) lpn: Lpn,
    pub(crate) content: Content,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceSizes {
    pub(crate) footprint_pages: u32,
    pub(crate) contents: u32,
}

impl Owner {
    #[inline]
    pub(crate) fn of(id: impl Id) -> Self {
        Self::new(id.number())
    }

    /// The id that [`Owner::of`] was given, for the tables that gave it.
    #[inline]
    pub(crate) fn id<I: Id>(self) -> I {
        I::new(self.number())
    }
}

/// A stored link to no id.
pub(crate) const NONE: u32 = 0;

/// How a link to an id is stored: as its number plus one, so that zeroed memory holds no links.
#[inline]
pub(crate) fn link(id: impl Id) -> u32 {
    id.number() + 1
}

#[inline]
pub(crate) fn named<I: Id>(link: u32) -> Option<I> {
    link.checked_sub(1).map(I::new)
}
