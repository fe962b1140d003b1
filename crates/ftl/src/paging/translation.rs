//! Translation pages on flash: blocks of their own, written in order, collected among themselves.
//!
//! Each page of the tables has its plane. A plane's translation pages share a few blocks, twice as
//! many as the pages would fill, which are kept back from the host's data: so writing a page of the
//! tables never makes data move, which would change the tables again.

use flashtwin_nand::{Block, NO_PPN, Plane, Ppn};

use super::Paging;
use super::tables::{Map, OnFlash, digest};
use crate::error::FtlError;
use crate::flash::Flash;
use crate::flash::block_table::APART;
use crate::ids::{Owner, TablePage};
use crate::op::{Cause, FlashOp, NO_JOB, OpKind, is_page};
use crate::sabotage::sabotaged;

fn op(kind: OpKind, ppn: Ppn, source: Ppn) -> FlashOp {
    FlashOp { kind, ppn, source, cause: Cause::Metadata, urgent: false, job: NO_JOB }
}

/// The read of a translation page.
pub(super) fn read(ppn: Ppn) -> FlashOp {
    op(OpKind::Read, ppn, NO_PPN)
}

impl<M: Map> OnFlash<'_, M> {
    /// Writes a page of the tables as it is now to another place.
    pub(super) fn write(
        &mut self,
        page: TablePage,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        let plane = Plane::new(page.number() % flash.geometry().planes());
        let old = std::mem::replace(&mut self.paging.directory[page], NO_PPN);
        if is_page(old) {
            flash.blocks.invalidate_apart(old);
        }
        let block = self.open_block(plane, flash, ops)?;
        let ppn = self.paging.fill_block(plane, block, page, flash);
        if let Some(checker) = &mut flash.checker {
            checker.program(ppn, APART, digest(self.map, &self.paging.layout, page))?;
        }
        flash.counters.programs[Cause::Metadata as usize] += 1;
        ops.push(op(OpKind::Program, ppn, NO_PPN));
        Ok(())
    }

    /// The block of a plane that takes the next translation page.
    fn open_block(
        &mut self,
        plane: Plane,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Block, FtlError> {
        let pool = &self.paging.pools[plane];
        if let Some(open) = pool.open {
            return Ok(open);
        }
        let grows = (pool.full.len() as u32) < self.paging.pool_blocks - 1;
        // Where the pool does not grow, the block taken is given back at once.
        if flash.blocks.free_blocks(plane) <= u32::from(grows) {
            flash.make_room(plane, self, ops)?;
        }
        let Some(block) = flash.blocks.open_apart(plane) else { return Err(flash.full(plane)) };
        self.paging.pools[plane].open = Some(block);
        if !grows {
            self.paging.collect(plane, block, flash, ops)?;
        }
        Ok(block)
    }
}

impl Paging {
    /// Enters a page of the tables in the next page of a plane's open block.
    fn fill_block(&mut self, plane: Plane, block: Block, page: TablePage, flash: &mut Flash) -> Ppn {
        let (ppn, full) = flash.blocks.program_apart(block, Owner::of(page));
        self.directory[page] = ppn;
        if full {
            let pool = &mut self.pools[plane];
            pool.open = None;
            pool.full.push(block);
        }
        ppn
    }

    /// Moves what is valid in the plane's emptiest block of translation pages to `to`, and erases it.
    fn collect(
        &mut self,
        plane: Plane,
        to: Block,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        let full = &mut self.pools[plane].full;
        let valid = |&at: &usize| flash.blocks.table.valid(full[at]);
        let Some(at) = (0..full.len()).min_by_key(valid) else { return Ok(()) };
        let victim = full.remove(at);
        for at in 0..flash.geometry().pages_per_block {
            let from = flash.geometry().page_of_block(victim, at);
            let Some(page) = flash.blocks.owner(from).map(Owner::id::<TablePage>) else { continue };
            let ppn = self.fill_block(plane, to, page, flash);
            if sabotaged!(LostPage) {
                self.directory[page] = from;
            }
            flash.blocks.invalidate_apart(from);
            flash.counters.mapping.moved += 1;
            flash.order(read(from), ops)?;
            flash.order(op(OpKind::Program, ppn, from), ops)?;
        }
        flash.blocks.erase_apart(victim);
        flash.counters.mapping.erases += 1;
        let first = flash.geometry().page_of_block(victim, 0);
        flash.order(op(OpKind::Erase, first, NO_PPN), ops)
    }

    /// Compares the directory with the blocks of translation pages: each page that is on flash lies
    /// there once.
    pub(super) fn audit_directory(&self, flash: &Flash) -> Result<(), String> {
        let geometry = flash.geometry();
        let mut found = 0;
        for (plane, pool) in self.pools.rows() {
            if pool.all().count() as u32 > self.pool_blocks - 1 {
                return Err(format!("plane {plane} has too many blocks of translation pages"));
            }
            for ppn in pool.all().flat_map(|block| (0..geometry.pages_per_block).map(move |at| (block, at))) {
                let ppn = geometry.page_of_block(ppn.0, ppn.1);
                let Some(page) = flash.blocks.owner(ppn).map(Owner::id::<TablePage>) else { continue };
                found += 1;
                if self.directory[page] != ppn {
                    let place = geometry.describe(ppn);
                    return Err(format!("translation page {page} at {place} is not in the directory"));
                }
            }
        }
        let on_flash = self.directory.iter().filter(|&&ppn| is_page(ppn)).count();
        if found != on_flash || flash.blocks.pages_apart() != on_flash as u64 {
            return Err(format!(
                "{on_flash} translation pages are in the directory, {found} on flash, {} counted",
                flash.blocks.pages_apart()
            ));
        }
        Ok(())
    }
}
