//! A controller that takes up where another one left off: its tables rebuilt from what the flash holds.
//!
//! For a drive of real bytes, which finds after a start what it had made durable: which blocks are erased, open or
//! full, which pages hold what, and which logical pages point to them. Everything that has to be right follows from
//! that. What only guides decisions does not, and begins anew: popularity and classes of pages read, which
//! fingerprints a limited store had kept, twins (found again as pages are written), turns of allocation, what
//! partitions have learnt, and all counters but those of erases.

use flashtwin_nand::{Block, Plane, Ppn};
use thiserror::Error;

use crate::ftl::{Form, Ftl, with_tables};
use crate::held::{BlockImage, BlockUse, HeldPage, OpenFor};
use crate::ids::Lpn;
use crate::op::is_page;
use crate::side::Side;

/// Tables that contradict one another.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct RestoreError(pub String);

/// A controller whose tables are being filled.
pub struct Restoring {
    ftl: Ftl,
    /// Full blocks in the order in which they were closed.
    closed: Vec<Block>,
    collected: Vec<(Block, bool)>,
}

impl Ftl {
    /// Begins to fill the tables of a controller that has done nothing yet. `blocks` are all that were ever used, in
    /// the order in which they were closed.
    ///
    /// # Errors
    /// [`RestoreError`] where they cannot be those of such a controller; also for partitions of the host's data and
    /// for mapping tables on flash, which a list of pages does not tell.
    pub fn restore(mut self, blocks: &[BlockImage]) -> Result<Restoring, RestoreError> {
        if self.flash.blocks.partitions() > 1 || self.paging_sizes().is_some() {
            let text = "partitions of the host's data and mapping tables on flash cannot be restored";
            return Err(RestoreError(text.into()));
        }
        self.flash.blocks.restore(blocks).map_err(RestoreError)?;
        self.limit_budget();
        let is_full = |image: &&BlockImage| image.used == BlockUse::Closed;
        let closed = blocks.iter().filter(is_full).map(|image| image.block).collect();
        let collected = blocks.iter().filter_map(|image| match image.used {
            BlockUse::Collected { levelled } => Some((image.block, levelled)),
            _ => None,
        });
        let collected = collected.collect();
        Ok(Restoring { ftl: self, closed, collected })
    }
}

impl Restoring {
    /// A page that logical pages point to; [`Restoring::reference`] tells of those behind the first.
    ///
    /// # Errors
    /// [`RestoreError`] for a page that is not programmed or holds something else already.
    pub fn page(&mut self, page: HeldPage<'_>) -> Result<(), RestoreError> {
        self.ftl.restore_page(page).map_err(RestoreError)
    }

    /// Another logical page points to a page that was told of.
    ///
    /// # Errors
    /// [`RestoreError`] where it cannot.
    pub fn reference(&mut self, lpn: Lpn, home: Ppn) -> Result<(), RestoreError> {
        self.ftl.restore_reference(lpn, home).map_err(RestoreError)
    }

    /// The controller, ready for page operations.
    ///
    /// # Errors
    /// [`RestoreError`] where collection is left in a state that it does not have.
    pub fn finish(mut self) -> Result<Ftl, RestoreError> {
        let flash = &mut self.ftl.flash;
        flash.blocks.restored(&self.closed);
        for (block, levelled) in self.collected {
            flash.resume_collection(block, levelled).map_err(RestoreError)?;
        }
        Ok(self.ftl)
    }
}

/// What whoever makes a controller's state durable asks.
impl Ftl {
    /// The first copy of a logical page; `None` where it is not mapped.
    #[inline]
    pub fn home_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.copies_of(lpn).map(|copies| copies.0)
    }

    /// Whether a physical page holds what some logical page points to, or a copy of that.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.flash.blocks.owner(ppn).is_some()
    }

    /// Pages of valid data that one plane takes.
    pub fn plane_limit_pages(&self) -> u64 {
        self.flash.blocks.plane_limit()
    }

    /// How often a block was erased, as decided so far: whoever carries operations out may be behind.
    #[inline]
    pub fn erases_of(&self, block: Block) -> u32 {
        self.flash.blocks.table.erases(block)
    }

    /// The first copy of a logical page and all other pages that may be read in its stead: copies made on purpose,
    /// duplicates that the controller knows of. `None` where it is not mapped.
    pub fn places_of(&self, lpn: Lpn) -> Option<(Ppn, &[Ppn])> {
        let places = with_tables!(&self.tables, side => side.places_of(lpn));
        is_page(places.0).then_some(places)
    }

    /// The same of whatever has a valid page, that page among them; `None` where a system has no other.
    pub fn places_beside(&self, ppn: Ppn) -> Option<(Ppn, &[Ppn])> {
        let owner = self.flash.blocks.owner(ppn)?;
        let places = with_tables!(&self.tables, side => side.places_of_owner(owner));
        is_page(places.0).then_some(places)
    }

    /// Uses a block no more, as it does not keep what it is given: from now on if it is erased, else from its next erase
    /// on. A block without which the device could not hold `needed_pages`, or its plane not be collected, is used on.
    pub fn retire(&mut self, block: Block, needed_pages: u64) {
        self.flash.blocks.retire(block, needed_pages);
        self.limit_budget();
    }

    /// Copies made on purpose get no more room than the device has.
    fn limit_budget(&mut self) {
        let blocks = &self.flash.blocks;
        let capacity = crate::flash::capacity_pages(blocks.plane_limit(), self.flash.geometry());
        let left = capacity.saturating_sub(blocks.pages_given_up());
        with_tables!(&mut self.tables, side => side.limit_budget(left));
    }

    /// Whether a block is used no more.
    pub fn is_retired(&self, block: Block) -> bool {
        self.flash.blocks.is_retired(block)
    }

    /// Blocks that are used no more.
    pub fn retired_blocks(&self) -> u64 {
        self.flash.blocks.retired_pages() / u64::from(self.flash.geometry().pages_per_block)
    }

    /// Every block that was ever used, plane by plane.
    pub fn block_images(&self) -> Vec<BlockImage> {
        let levelled = |plane, block| self.flash.collects_for_wear(plane, block);
        self.flash.blocks.images(levelled)
    }

    /// Open blocks of a plane and what for.
    pub fn open_blocks(&self, plane: Plane) -> impl Iterator<Item = (Block, OpenFor)> {
        self.flash.blocks.open_blocks(plane)
    }
}
