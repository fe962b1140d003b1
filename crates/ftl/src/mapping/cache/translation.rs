//! Translation pages on flash: blocks of their own, written in order, collected among themselves.
//!
//! Each page of the tables has its plane. A plane's translation pages share a few blocks, twice as
//! many as the pages would fill, which are kept back from the host's data: so writing a page of the
//! tables never makes data move, which would change the tables again.

use flashtwin_nand::{Geometry, NO_PPN, Ppn};

use crate::blocks::{APART, is_page};
use crate::error::FtlError;
use crate::ftl::Ftl;
use crate::op::{Cause, FlashOp, NO_JOB, OpKind};

/// Blocks of a plane that hold translation pages.
#[derive(Debug, Default)]
pub(super) struct PlanePool {
    open: Option<u32>,
    /// Filled blocks, the oldest first.
    full: Vec<u32>,
}

impl PlanePool {
    /// Blocks of each plane for so many pages of the tables: twice what they fill, and one to
    /// collect with.
    pub(super) fn blocks(pages: u64, geometry: &Geometry) -> u32 {
        let a_plane = pages.div_ceil(u64::from(geometry.planes()));
        let blocks = a_plane.div_ceil(u64::from(geometry.pages_per_block));
        u32::try_from(2 * blocks + 1).unwrap_or(u32::MAX / 4)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.full.iter().copied().chain(self.open)
    }
}

fn op(kind: OpKind, ppn: Ppn, source: Ppn) -> FlashOp {
    FlashOp { kind, ppn, source, cause: Cause::Metadata, urgent: false, job: NO_JOB }
}

impl Ftl {
    /// Orders the read of a translation page.
    pub(super) fn read_table(&mut self, ppn: Ppn, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        self.order(op(OpKind::Read, ppn, NO_PPN), ops)
    }

    /// Counts and checks a read of a translation page that a page operation of the host orders.
    pub(super) fn count_table_read(&mut self, ppn: Ppn) -> Result<(), FtlError> {
        self.count_order(&op(OpKind::Read, ppn, NO_PPN))
    }

    /// Writes a page of the tables as it is now to another place.
    pub(super) fn write_table(&mut self, page: u32, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        let Some(paging) = &mut self.paging else { return Ok(()) };
        let plane = page % self.blocks.geometry.planes();
        let old = std::mem::replace(&mut paging.directory[page as usize], NO_PPN);
        if is_page(old) {
            self.blocks.invalidate_apart(old);
        }
        let block = self.open_table_block(plane, ops)?;
        let ppn = self.fill_table_block(plane, block, page);
        let digest = self.checker.is_some().then(|| self.table_digest(page));
        if let (Some(checker), Some(digest)) = (&mut self.checker, digest) {
            checker.program(ppn, APART, digest)?;
        }
        self.counters.programs[Cause::Metadata as usize] += 1;
        ops.push(op(OpKind::Program, ppn, NO_PPN));
        Ok(())
    }

    /// The block of a plane that takes the next translation page.
    fn open_table_block(&mut self, plane: u32, ops: &mut Vec<FlashOp>) -> Result<u32, FtlError> {
        let Some(paging) = &self.paging else { return Err(self.full(plane)) };
        let pool = &paging.pools[plane as usize];
        if let Some(open) = pool.open {
            return Ok(open);
        }
        let grows = (pool.full.len() as u32) < paging.pool_blocks - 1;
        // Where the pool does not grow, the block taken is given back at once.
        if self.blocks.free_blocks(plane) <= u32::from(grows) {
            self.make_room(plane, ops)?;
        }
        let Some(block) = self.blocks.open_apart(plane) else { return Err(self.full(plane)) };
        if let Some(paging) = &mut self.paging {
            paging.pools[plane as usize].open = Some(block);
        }
        if !grows {
            self.collect_tables(plane, block, ops)?;
        }
        Ok(block)
    }

    /// Enters a page of the tables in the next page of a plane's open block.
    fn fill_table_block(&mut self, plane: u32, block: u32, page: u32) -> Ppn {
        let (ppn, full) = self.blocks.program_apart(block, page);
        if let Some(paging) = &mut self.paging {
            paging.directory[page as usize] = ppn;
            if full {
                let pool = &mut paging.pools[plane as usize];
                pool.open = None;
                pool.full.push(block);
            }
        }
        ppn
    }

    /// Moves what is valid in the plane's emptiest block of translation pages to `to`, and erases it.
    fn collect_tables(&mut self, plane: u32, to: u32, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        let Some(paging) = &mut self.paging else { return Ok(()) };
        let full = &mut paging.pools[plane as usize].full;
        let valid = |&at: &usize| self.blocks.table.valid(full[at]);
        let Some(at) = (0..full.len()).min_by_key(valid) else { return Ok(()) };
        let victim = full.remove(at);
        let page_at = |ftl: &Self, at| ftl.blocks.geometry.page_of_block(victim, at);
        for at in 0..self.blocks.geometry.pages_per_block {
            let from = page_at(self, at);
            let Some(page) = self.blocks.owner(from) else { continue };
            let ppn = self.fill_table_block(plane, to, page);
            #[cfg(test)]
            self.plant_lost_page(page, from);
            self.blocks.invalidate_apart(from);
            self.counters.mapping.moved += 1;
            self.order(op(OpKind::Read, from, NO_PPN), ops)?;
            self.order(op(OpKind::Program, ppn, from), ops)?;
        }
        self.blocks.erase_apart(victim);
        self.counters.mapping.erases += 1;
        let first = page_at(self, 0);
        self.order(op(OpKind::Erase, first, NO_PPN), ops)
    }

    #[cfg(test)]
    fn plant_lost_page(&mut self, page: u32, from: Ppn) {
        if let Some(paging) =
            self.paging.as_mut().filter(|_| crate::tests::planted(crate::tests::Bug::LostPage))
        {
            paging.directory[page as usize] = from;
        }
    }

    /// Compares the directory with the blocks of translation pages: each page that is on flash lies
    /// there once.
    pub(super) fn audit_directory(&self) -> Result<(), String> {
        let Some(paging) = &self.paging else { return Ok(()) };
        let geometry = &self.blocks.geometry;
        let mut found = 0;
        for (plane, pool) in paging.pools.iter().enumerate() {
            if pool.all().count() as u32 > paging.pool_blocks - 1 {
                return Err(format!("plane {plane} has too many blocks of translation pages"));
            }
            for block in pool.all() {
                for at in 0..geometry.pages_per_block {
                    let ppn = geometry.page_of_block(block, at);
                    let Some(page) = self.blocks.owner(ppn) else { continue };
                    found += 1;
                    if paging.directory[page as usize] != ppn {
                        let place = geometry.describe(ppn);
                        return Err(format!("translation page {page} at {place} is not in the directory"));
                    }
                }
            }
        }
        let on_flash = paging.directory.iter().filter(|&&ppn| is_page(ppn)).count();
        if found != on_flash || self.blocks.pages_apart() != on_flash as u64 {
            return Err(format!(
                "{on_flash} translation pages are in the directory, {found} on flash, {} counted",
                self.blocks.pages_apart()
            ));
        }
        Ok(())
    }
}
