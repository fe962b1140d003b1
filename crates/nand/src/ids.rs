use flashtwin_bits::ids;

ids! {
    /// Physical page number: one flash page, packed as `block | page | plane` bit fields. Striped writes touch the same
    /// page of the same block in every plane, so these are neighbours in every array. With the plane on top their
    /// distance would be a large power of two, and caches would hold only a few of them.
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
