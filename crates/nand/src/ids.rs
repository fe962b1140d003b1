//! Numbers of the parts of a flash array.

use flashtwin_bits::ids;

ids! {
    /// Physical page number: one flash page, packed as `block | page | plane` bit fields, so that
    /// every level is one shift away on the hot path. Striped writes touch the same page of the
    /// same block in every plane, one after the other; these pages are neighbours in every array
    /// indexed by page or block. With the plane on top their distance would be a large power of
    /// two, and caches would hold only a few of them.
    pub struct Ppn;

    /// A block of the device, packed as `block in its plane | plane`; there may be gaps.
    pub struct Block;

    /// A plane of the device; those of a die are neighbours, and the dies of a chip.
    pub struct Plane;

    /// A chip of the device, counted across the channels.
    pub struct Chip;

    /// A channel of the device.
    pub struct Channel;
}

/// No physical page. Never a valid [`Ppn`]: [`crate::Geometry::new`] keeps the value free.
pub const NO_PPN: Ppn = Ppn::new(u32::MAX);
