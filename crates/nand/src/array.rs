use flashtwin_bits::By;
use thiserror::Error;

use crate::geometry::Geometry;
use crate::ids::{Block, Ppn};

/// A rule of NAND flash that an operation would have broken.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum NandRule {
    /// Pages of a block are programmed once, in ascending order, after an erase.
    #[error(
        "program of {place}: the block's next page is {expected} (erase-before-write, in-order programming)"
    )]
    ProgramOutOfOrder {
        /// Where.
        place: String,
        /// The only page that may be programmed now.
        expected: u32,
    },
    /// A page that was not programmed since its block's last erase holds nothing.
    #[error("read of {place}: the page is not programmed")]
    ReadUnprogrammed {
        /// Where.
        place: String,
    },
}

/// Accepts operations only as the medium would; the FTL's tables have its *decisions*. 2 bytes a block, touched lazily.
#[derive(Debug, Clone)]
pub struct FlashArray {
    programmed_pages: By<Block, Vec<u16>>,
}

impl FlashArray {
    /// An array fresh from the factory: every block erased.
    pub fn new(geometry: &Geometry) -> Self {
        Self { programmed_pages: By::new(vec![0; geometry.block_index_len()]) }
    }

    /// Whether `ppn` holds data.
    #[inline]
    pub fn is_programmed(&self, geometry: &Geometry, ppn: Ppn) -> bool {
        geometry.page_in_block(ppn) < u32::from(self.programmed_pages[geometry.block_index(ppn)])
    }

    /// Whether `ppn` is the page that may be programmed next in its block.
    #[inline]
    pub fn is_next(&self, geometry: &Geometry, ppn: Ppn) -> bool {
        geometry.page_in_block(ppn) == u32::from(self.programmed_pages[geometry.block_index(ppn)])
    }

    /// Whether every page of a block, given by its [`Geometry::block_index`], is programmed.
    #[inline]
    pub fn is_full(&self, geometry: &Geometry, block_index: Block) -> bool {
        u32::from(self.programmed_pages[block_index]) == geometry.pages_per_block
    }

    /// Programs a page, which must be its block's next.
    #[inline]
    pub fn program(&mut self, geometry: &Geometry, ppn: Ppn) -> Result<(), NandRule> {
        if !self.is_next(geometry, ppn) {
            return Err(NandRule::ProgramOutOfOrder {
                place: geometry.describe(ppn),
                expected: u32::from(self.programmed_pages[geometry.block_index(ppn)]),
            });
        }
        self.programmed_pages[geometry.block_index(ppn)] += 1;
        Ok(())
    }

    /// Checks that a page may be read: it must be programmed.
    #[inline]
    pub fn read(&self, geometry: &Geometry, ppn: Ppn) -> Result<(), NandRule> {
        if self.is_programmed(geometry, ppn) {
            return Ok(());
        }
        Err(NandRule::ReadUnprogrammed { place: geometry.describe(ppn) })
    }

    /// Erases a block by its [`Geometry::block_index`].
    #[inline]
    pub fn erase(&mut self, block_index: Block) {
        self.programmed_pages[block_index] = 0;
    }
}

flashtwin_bits::state!(FlashArray { programmed_pages });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Plane;

    #[test]
    fn pages_are_programmed_once_in_order_and_only_after_an_erase() {
        let g = &Geometry::new([1, 1, 1, 4, 6, 2, 4096]).unwrap();
        let mut flash = FlashArray::new(g);
        let first = g.ppn(Plane::new(3), 5, 0);
        assert!(flash.read(g, first).is_err());
        let second = g.ppn(Plane::new(3), 5, 1);
        assert!(flash.program(g, second).is_err());
        flash.program(g, first).unwrap();
        flash.read(g, first).unwrap();
        assert!(flash.program(g, first).is_err(), "a page is programmed once");
        flash.program(g, second).unwrap();
        flash.erase(g.block_index(first));
        assert!(flash.read(g, first).is_err());
        flash.program(g, first).unwrap();
    }
}
