//! Bad blocks, which do not keep their data. The driver detects them. A simulated array has none.
//!
//! A retired block counts as full of valid pages. A block is retired when it is erased, and only if the device can
//! still hold its data and its plane still collect. Otherwise it stays in use until its next erase.

use flashtwin_nand::{Block, Chip, Plane};

use super::block_table::{BlockState, METADATA};
use super::blocks::Blocks;

impl Blocks {
    /// Retires a block: now if it is erased, else at its next erase. The device must still hold `needed_pages`.
    pub(crate) fn retire(&mut self, block: Block, needed_pages: u64) {
        self.retirement.needed_pages = needed_pages;
        if !self.is_retired(block) && !self.retirement.due.contains(&block) {
            self.retirement.due.push(block);
            self.retire_if_due(block);
        }
    }

    pub(crate) fn is_retired(&self, block: Block) -> bool {
        self.retirement.retired.contains(&block)
    }

    pub(crate) fn retired_pages(&self) -> u64 {
        self.retirement.retired.len() as u64 * u64::from(self.geometry.pages_per_block)
    }

    pub(crate) fn retired_pages_of(&self, chip: Chip) -> u64 {
        if self.retirement.retired.is_empty() {
            return 0;
        }
        let pages =
            self.geometry.planes_of(chip).map(|plane| self.retirement.pages_in(plane, &self.geometry));
        u64::from(pages.sum::<u32>())
    }

    pub(crate) fn pages_given_up(&self) -> u64 {
        self.retired_pages() + self.retirement.due.len() as u64 * u64::from(self.geometry.pages_per_block)
    }

    pub(super) fn retire_if_due(&mut self, block: Block) {
        let is_due = !self.retirement.due.is_empty() && self.retirement.due.contains(&block);
        let plane = self.geometry.plane_of_block(block);
        if !is_due || self.table.state(block) != BlockState::Free || !self.can_spare_one(plane) {
            return;
        }
        if self.planes[plane].recycled.remove(self.geometry.block_in_plane(block)) {
            self.retirement.due.retain(|&other| other != block);
            self.table.open(block, METADATA);
            self.count_retired(block);
        }
    }

    /// One free block stays for collection to start with, and the valid pages fit into the others.
    fn can_spare_one(&self, plane: Plane) -> bool {
        let pages = u64::from(self.geometry.pages_per_block);
        let capacity = super::capacity_pages(self.plane_limit(), &self.geometry);
        self.free_blocks(plane) >= 2
            && self.valid_pages(plane) + pages <= self.plane_limit()
            && self.retirement.needed_pages + self.retired_pages() + pages <= capacity
    }

    pub(super) fn count_retired(&mut self, block: Block) {
        let plane = self.geometry.plane_of_block(block);
        self.retirement.retired.push(block);
        self.planes[plane].valid_pages += self.geometry.pages_per_block;
    }
}
