//! A controller that continues another one's work: its tables rebuilt from the flash contents.
//!
//! For a drive of real bytes, which finds blocks, pages and their logical pages after a start. State that only guides
//! decisions begins anew: popularity and classes, a limited store's fingerprints, duplicate pages, turns of allocation,
//! the partitions' statistics, and all counters but erases.

use flashtwin_nand::{Block, Plane, Ppn};
use thiserror::Error;

use crate::ftl::{Ftl, Scheme, with_tables};
use crate::ids::Lpn;
use crate::image::{BlockImage, BlockUse, OpenFor, PageImage};
use crate::op::is_page;
use crate::scheme::MappingScheme;

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
    /// the order in which they were closed. Partitions of the host's data and mapping tables on flash are refused,
    /// because a list of pages does not include them.
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
    /// A page with its first logical page; [`Restoring::reference`] adds the others.
    pub fn page(&mut self, page: PageImage<'_>) -> Result<(), RestoreError> {
        self.ftl.restore_page(page).map_err(RestoreError)
    }

    /// Another logical page points to a page already restored.
    pub fn reference(&mut self, lpn: Lpn, home: Ppn) -> Result<(), RestoreError> {
        self.ftl.restore_reference(lpn, home).map_err(RestoreError)
    }

    /// The controller, ready for page operations.
    pub fn finish(mut self) -> Result<Ftl, RestoreError> {
        let flash = &mut self.ftl.flash;
        flash.blocks.restored(&self.closed);
        for (block, levelled) in self.collected {
            flash.resume_collection(block, levelled).map_err(RestoreError)?;
        }
        Ok(self.ftl)
    }
}

impl Ftl {
    /// The first copy of a logical page; `None` where it is not mapped.
    #[inline]
    pub fn home_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.copies_of(lpn).map(|copies| copies.0)
    }

    /// Whether a physical page has the data of some logical page, or a copy of them.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.flash.blocks.owner(ppn).is_some()
    }

    /// Pages of valid data that one plane takes.
    pub fn plane_limit_pages(&self) -> u64 {
        self.flash.blocks.plane_limit()
    }

    /// Erases of a block decided so far; the driver may have carried out fewer.
    #[inline]
    pub fn erases_of(&self, block: Block) -> u32 {
        self.flash.blocks.table.erases(block)
    }

    /// The first copy of a logical page and all pages that may be read in its stead; `None` where it is not mapped.
    pub fn places_of(&self, lpn: Lpn) -> Option<(Ppn, &[Ppn])> {
        let places = with_tables!(&self.tables, scheme => scheme.places_of(lpn));
        is_page(places.0).then_some(places)
    }

    /// Home and copies of the owner of a valid page; `None` where a system has one page for each owner.
    pub fn places_beside(&self, ppn: Ppn) -> Option<(Ppn, &[Ppn])> {
        let owner = self.flash.blocks.owner(ppn)?;
        let places = with_tables!(&self.tables, scheme => scheme.places_of_owner(owner));
        is_page(places.0).then_some(places)
    }

    /// Retires a bad block: at once if it is erased, else at its next erase. The block stays in use
    /// if the device needs it to hold `needed_pages`, or the plane needs it for collection.
    pub fn retire(&mut self, block: Block, needed_pages: u64) {
        self.flash.blocks.retire(block, needed_pages);
        self.limit_budget();
    }

    /// Copies made on purpose get no more room than the device has.
    fn limit_budget(&mut self) {
        let blocks = &self.flash.blocks;
        let capacity = crate::flash::capacity_pages(blocks.plane_limit(), self.flash.geometry());
        let left = capacity.saturating_sub(blocks.pages_given_up());
        with_tables!(&mut self.tables, scheme => scheme.limit_budget(left));
    }

    /// Whether a block is retired.
    pub fn is_retired(&self, block: Block) -> bool {
        self.flash.blocks.is_retired(block)
    }

    /// Retired blocks.
    pub fn retired_blocks(&self) -> u64 {
        self.flash.blocks.retired_pages() / u64::from(self.flash.geometry().pages_per_block)
    }

    /// Every block that was ever used, plane by plane.
    pub fn block_images(&self) -> Vec<BlockImage> {
        let levelled = |plane, block| self.flash.collects_for_wear(plane, block);
        self.flash.blocks.images(levelled)
    }

    /// Open blocks of a plane and their use.
    pub fn open_blocks(&self, plane: Plane) -> impl Iterator<Item = (Block, OpenFor)> {
        self.flash.blocks.open_blocks(plane)
    }
}
