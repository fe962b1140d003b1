use thiserror::Error;

use crate::ids::{Block, Channel, Chip, NO_PPN, Plane, Ppn};

/// A flash array from channels down to pages, with the address arithmetic of its [`Ppn`]s.
///
/// Chips are numbered across the channels (chip 0 of every channel, then chip 1, ...), so that neighbours do not share
/// a bus; the dies and planes of one chip are neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Channels (buses) of the device.
    pub channels: u32,
    /// Chips that share one channel.
    pub chips_per_channel: u32,
    /// Dies in a chip; each can run an operation of its own.
    pub dies_per_chip: u32,
    /// Planes in a die.
    pub planes_per_die: u32,
    /// Erase blocks in a plane.
    pub blocks_per_plane: u32,
    /// Pages in an erase block, programmed in ascending order.
    pub pages_per_block: u32,
    /// User bytes of a page.
    pub page_bytes: u32,
    /// Neighbouring pages of a block that a plane programs at once.
    pub program_pages: u32,
    /// Neighbouring pages of a block that share a flash page.
    pub sense_pages: u32,
    page_bits: u32,
    plane_bits: u32,
    /// Masks of the lowest `plane_bits` and `page_bits` bits, because a page operation takes dozens of addresses apart.
    plane_mask: u32,
    page_mask: u32,
}

/// A geometry that cannot be addressed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GeometryError {
    /// A level has no members.
    #[error("nand.{0} is 0: expected at least 1")]
    Zero(&'static str),
    /// More pages than 32-bit page numbers can tell apart.
    #[error(
        "the device has {bits} bits of page address, more than the 32 that a page number holds: \
         lower nand.blocks_per_plane (a part of the device is enough to replay a trace on it)"
    )]
    TooLarge {
        /// Bits that plane, block and page fields would need.
        bits: u32,
    },
}

fn bits_for(count: u32) -> u32 {
    u32::BITS - (count - 1).leading_zeros()
}

fn low_bits(bits: u32) -> u32 {
    1u32.unbounded_shl(bits).wrapping_sub(1)
}

impl Geometry {
    /// What [`Geometry::new`] takes, in this order.
    const LEVELS: [&str; 7] = [
        "channels",
        "chips_per_channel",
        "dies_per_chip",
        "planes_per_die",
        "blocks_per_plane",
        "pages_per_block",
        "page_bytes",
    ];

    /// Checks the level sizes and computes the address fields.
    pub fn new(levels: [u32; 7]) -> Result<Self, GeometryError> {
        if let Some(level) = levels.iter().position(|&count| count == 0) {
            return Err(GeometryError::Zero(Self::LEVELS[level]));
        }
        let [channels, chips, dies, planes, blocks, pages, page_bytes] = levels;
        let plane_count = u64::from(channels) * u64::from(chips) * u64::from(dies) * u64::from(planes);
        let page_bits = bits_for(pages);
        let block_bits = bits_for(blocks);
        let plane_bits = u64::BITS - (plane_count - 1).leading_zeros();
        let bits = page_bits + block_bits + plane_bits;
        if bits > 32 {
            return Err(GeometryError::TooLarge { bits });
        }
        let geometry = Self {
            channels,
            chips_per_channel: chips,
            dies_per_chip: dies,
            planes_per_die: planes,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_bytes,
            program_pages: 1,
            sense_pages: 1,
            page_bits,
            plane_bits,
            plane_mask: low_bits(plane_bits),
            page_mask: low_bits(page_bits),
        };
        // With all 32 bits in use the last page of a full device may equal NO_PPN.
        if geometry.ppn(Plane::new(geometry.planes() - 1), blocks - 1, pages - 1) == NO_PPN {
            return Err(GeometryError::TooLarge { bits });
        }
        Ok(geometry)
    }

    /// The same levels, with pages that are programmed at once and pages that share a flash page: divisors of a block's.
    pub fn with_units(self, program_pages: u32, sense_pages: u32) -> Self {
        Self { program_pages, sense_pages, ..self }
    }

    /// Whether a program unit ends before page `page` of a block.
    #[inline]
    pub fn begins_unit(&self, page: u32) -> bool {
        page.is_multiple_of(self.program_pages)
    }

    /// Whether a flash page ends before page `page` of a block.
    #[inline]
    pub fn begins_flash_page(&self, page: u32) -> bool {
        page.is_multiple_of(self.sense_pages)
    }

    /// Number of the flash page in its block that holds `ppn`.
    #[inline]
    pub fn flash_page(&self, ppn: Ppn) -> u32 {
        self.page_in_block(ppn) / self.sense_pages
    }

    /// Chips of the device.
    pub fn chips(&self) -> u32 {
        self.channels * self.chips_per_channel
    }

    /// Dies of the device.
    pub fn dies(&self) -> u32 {
        self.chips() * self.dies_per_chip
    }

    /// Planes of the device.
    pub fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }

    /// Planes of one chip.
    pub fn planes_per_chip(&self) -> u32 {
        self.dies_per_chip * self.planes_per_die
    }

    /// Erase blocks of the device.
    pub fn blocks(&self) -> u64 {
        u64::from(self.planes()) * u64::from(self.blocks_per_plane)
    }

    /// Pages of one plane.
    pub fn pages_per_plane(&self) -> u64 {
        u64::from(self.blocks_per_plane) * u64::from(self.pages_per_block)
    }

    /// Physical pages of the device.
    pub fn pages(&self) -> u64 {
        u64::from(self.planes()) * self.pages_per_plane()
    }

    /// Length of an array indexed by [`Geometry::block_index`] (address fields may have gaps).
    pub fn block_index_len(&self) -> usize {
        (self.blocks_per_plane as usize) << self.plane_bits
    }

    /// Length of an array indexed by [`Ppn`].
    pub fn page_index_len(&self) -> usize {
        self.block_index_len() << self.page_bits
    }

    /// Packs an address. `block` is within the plane, `page` within the block.
    #[inline]
    pub fn ppn(&self, plane: Plane, block: u32, page: u32) -> Ppn {
        debug_assert!(block < self.blocks_per_plane && page < self.pages_per_block);
        Ppn::new(((block << self.page_bits | page) << self.plane_bits) | plane.number())
    }

    /// A page of a block given by its [`Geometry::block_index`].
    #[inline]
    pub fn page_of_block(&self, block: Block, page: u32) -> Ppn {
        debug_assert!(self.block_in_plane(block) < self.blocks_per_plane && page < self.pages_per_block);
        let block = block.number();
        let plane = block & self.plane_mask;
        Ppn::new((block & !self.plane_mask) << self.page_bits | page << self.plane_bits | plane)
    }

    /// Device-wide number of the block that holds `ppn` (an array index; may have gaps).
    #[inline]
    pub fn block_index(&self, ppn: Ppn) -> Block {
        // The remaining bits of the page's number lie among the bits of the plane's.
        let ppn = ppn.number();
        Block::new(ppn >> self.page_bits & !self.plane_mask | ppn & self.plane_mask)
    }

    /// Device-wide number of block `block` of `plane`.
    #[inline]
    pub fn block_index_of(&self, plane: Plane, block: u32) -> Block {
        Block::new(block << self.plane_bits | plane.number())
    }

    /// Plane of a block given by its [`Geometry::block_index`].
    #[inline]
    pub fn plane_of_block(&self, block: Block) -> Plane {
        Plane::new(block.number() & self.plane_mask)
    }

    /// Number of a block within its plane.
    #[inline]
    pub fn block_in_plane(&self, block: Block) -> u32 {
        block.number() >> self.plane_bits
    }

    /// Page number within its block.
    #[inline]
    pub fn page_in_block(&self, ppn: Ppn) -> u32 {
        ppn.number() >> self.plane_bits & self.page_mask
    }

    /// Plane that holds `ppn`.
    #[inline]
    pub fn plane(&self, ppn: Ppn) -> Plane {
        Plane::new(ppn.number() & self.plane_mask)
    }

    /// Chip that holds plane `plane`.
    #[inline]
    pub fn chip_of_plane(&self, plane: Plane) -> Chip {
        Chip::new(plane.number() / self.planes_per_chip())
    }

    /// Channel of chip `chip`.
    #[inline]
    pub fn channel_of_chip(&self, chip: Chip) -> Channel {
        Channel::new(chip.number() % self.channels)
    }

    /// The plane with these coordinates; `chip` is counted within its channel.
    pub fn plane_at(&self, channel: u32, chip: u32, die: u32, plane: u32) -> Plane {
        let chip = chip * self.channels + channel;
        Plane::new((chip * self.dies_per_chip + die) * self.planes_per_die + plane)
    }

    /// All planes, in order.
    #[inline]
    pub fn all_planes(&self) -> impl DoubleEndedIterator<Item = Plane> + ExactSizeIterator + Clone + use<> {
        Plane::each(0..self.planes())
    }

    /// The planes of a chip, in order.
    #[inline]
    pub fn planes_of(
        &self,
        chip: Chip,
    ) -> impl DoubleEndedIterator<Item = Plane> + ExactSizeIterator + Clone + use<> {
        let planes = self.planes_per_chip();
        Plane::each(chip.number() * planes..(chip.number() + 1) * planes)
    }

    /// A human name of a page's place, for error messages.
    pub fn describe(&self, ppn: Ppn) -> String {
        let plane = self.plane(ppn);
        let chip = self.chip_of_plane(plane);
        let in_chip = plane.number() % self.planes_per_chip();
        format!(
            "channel {} chip {} die {} plane {} block {} page {}",
            self.channel_of_chip(chip),
            chip.number() / self.channels,
            in_chip / self.planes_per_die,
            in_chip % self.planes_per_die,
            self.block_in_plane(self.block_index(ppn)),
            self.page_in_block(ppn)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_packing_with_any_level_sizes() {
        let g = Geometry::new([3, 2, 1, 2, 5, 7, 4096]).unwrap();
        let mut seen = std::collections::HashSet::new();
        for plane in g.all_planes() {
            for block in 0..5 {
                for page in 0..7 {
                    let ppn = g.ppn(plane, block, page);
                    assert!(seen.insert(ppn));
                    assert_eq!(g.plane(ppn), plane);
                    assert_eq!(g.block_in_plane(g.block_index(ppn)), block);
                    assert_eq!(g.plane_of_block(g.block_index(ppn)), plane);
                    assert_eq!(g.page_of_block(g.block_index(ppn), page), ppn);
                    assert_eq!(g.page_in_block(ppn), page);
                    assert!(ppn.index() < g.page_index_len());
                }
            }
        }
        assert_eq!(seen.len() as u64, g.pages());
    }

    #[test]
    fn empty_levels_and_oversized_devices_are_refused() {
        assert_eq!(Geometry::new([1, 1, 0, 1, 4, 4, 4096]), Err(GeometryError::Zero("dies_per_chip")));
        assert!(Geometry::new([64, 64, 1, 1, 1 << 12, 1 << 8, 4096]).is_err());
        assert!(Geometry::new([64, 63, 1, 1, 1 << 12, 1 << 8, 4096]).is_ok());
        assert!(
            Geometry::new([1, 1, 1, 1, 1 << 16, 1 << 16, 4096]).is_err(),
            "the last page would be NO_PPN"
        );
    }
}
