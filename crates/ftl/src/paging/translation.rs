//! Translation pages on flash: blocks of their own, written in order, collected among themselves.
//!
//! A plane's translation pages share a few blocks, twice as many as they fill, reserved from the host's data. So
//! writing one never moves data, which would change the tables again.

use flashtwin_nand::{Block, NO_PPN, Plane, Ppn};

use super::Paging;
use super::tables::{Map, OnFlash, digest};
use crate::error::FtlResult;
use crate::flash::Flash;
use crate::flash::block_table::METADATA;
use crate::ids::{Owner, TablePage};
use crate::op::{Cause, FlashOp, OpKind, is_page};
use crate::sabotage::sabotaged;

fn op(kind: OpKind, ppn: Ppn, source: Ppn) -> FlashOp {
    FlashOp::new(kind, ppn, source, Cause::Metadata)
}

pub(super) fn read(ppn: Ppn) -> FlashOp {
    op(OpKind::Read, ppn, NO_PPN)
}

impl<M: Map> OnFlash<'_, M> {
    pub(super) fn write(&mut self, page: TablePage, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        let plane = Plane::new(page.number() % flash.geometry().planes());
        let old = std::mem::replace(&mut self.paging.directory[page], NO_PPN);
        if is_page(old) {
            flash.blocks.invalidate_metadata(old);
        }
        let block = self.open_block(plane, flash, ops)?;
        let ppn = self.paging.fill_block(plane, block, page, flash);
        if let Some(checker) = &mut flash.checker {
            checker.program(ppn, METADATA, digest(self.map, &self.paging.layout, page))?;
        }
        flash.counters.programs[Cause::Metadata as usize] += 1;
        ops.push(op(OpKind::Program, ppn, NO_PPN));
        Ok(())
    }

    fn open_block(&mut self, plane: Plane, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult<Block> {
        let pool = &self.paging.pools[plane];
        if let Some(open) = pool.open {
            return Ok(open);
        }
        let grows = (pool.full.len() as u32) < self.paging.pool_blocks - 1;
        // Where the pool does not grow, the block taken is given back at once.
        if flash.blocks.free_blocks(plane) <= u32::from(grows) {
            flash.make_room(plane, self, ops)?;
        }
        let Some(block) = flash.blocks.open_metadata_block(plane) else { return Err(flash.full(plane)) };
        self.paging.pools[plane].open = Some(block);
        if !grows {
            self.paging.collect(plane, block, flash, ops)?;
        }
        Ok(block)
    }
}

impl Paging {
    fn fill_block(&mut self, plane: Plane, block: Block, page: TablePage, flash: &mut Flash) -> Ppn {
        let (ppn, full) = flash.blocks.program_metadata(block, Owner::of(page));
        self.directory[page] = ppn;
        if full {
            let pool = &mut self.pools[plane];
            pool.open = None;
            pool.full.push(block);
        }
        ppn
    }

    /// Moves the valid pages of the plane's emptiest full block to `to`, and erases it.
    fn collect(&mut self, plane: Plane, to: Block, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
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
            flash.blocks.invalidate_metadata(from);
            flash.counters.mapping.moved += 1;
            flash.order(read(from), ops)?;
            flash.order(op(OpKind::Program, ppn, from), ops)?;
        }
        flash.blocks.erase_metadata_block(victim);
        flash.counters.mapping.erases += 1;
        let first = flash.geometry().page_of_block(victim, 0);
        flash.order(op(OpKind::Erase, first, NO_PPN), ops)
    }

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
        if found != on_flash || flash.blocks.metadata_pages() != on_flash as u64 {
            return Err(format!(
                "{on_flash} translation pages are in the directory, {found} on flash, {} counted",
                flash.blocks.metadata_pages()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FtlConfig;
    use crate::flash::victim::VictimPolicy;
    use crate::page::{PageMap, SpreadMap};
    use crate::paging::{CacheBytes, Layout, MappingCacheConfig, Shape};
    use crate::tests::{fill, flash};

    const PLANE: Plane = Plane::new(0);

    /// The three table pages of 40 logical pages, on a device of one plane with `blocks` blocks of
    /// four pages: three of the blocks may hold translation pages.
    fn on_flash(blocks: u32) -> (SpreadMap, Paging, Flash) {
        let mut config = FtlConfig::default();
        config.gc.victim = VictimPolicy::Fifo;
        let mut flash = flash(&config, [1, 1, 1, 1, blocks, 4]);
        let shape = Shape { two_levels: false, fingerprints: None };
        let layout = Layout::new(shape, flash.geometry(), (0..40u32).map(u64::from));
        let cache = MappingCacheConfig { bytes: CacheBytes::Limited(64), ..MappingCacheConfig::default() };
        let paging = Paging::new(&cache, flash.geometry(), layout);
        assert_eq!((paging.pool_blocks(), paging.layout.pages()), (3, 3));
        flash.blocks.reserve_metadata_blocks(20);
        (SpreadMap { map: PageMap::new(40, 0), spreader: None }, paging, flash)
    }

    #[test]
    fn a_directory_that_contradicts_the_flash_is_noticed() {
        let noticed = |damage: &dyn Fn(&mut Paging, &mut Flash), words: &str| {
            let (mut map, mut paging, mut flash) = on_flash(12);
            for page in paging.layout.all_pages() {
                let mut tables = OnFlash { map: &mut map, paging: &mut paging };
                tables.write(page, &mut flash, &mut Vec::new()).unwrap();
            }
            assert_eq!(flash.counters.programs[Cause::Metadata as usize], 3);
            paging.audit_directory(&flash).unwrap();
            damage(&mut paging, &mut flash);
            let error = paging.audit_directory(&flash).unwrap_err();
            assert!(error.contains(words), "{error:?}, expected {words}");
        };
        let [first, second] = [0, 1].map(TablePage::new);
        noticed(
            &|paging, _| paging.pools[PLANE].full.extend([5, 6].map(Block::new)),
            "plane 0 has too many blocks of translation pages",
        );
        noticed(&|paging, _| paging.directory[first] = paging.directory[second], "is not in the directory");
        noticed(
            &|paging, _| paging.pools[PLANE].open = None,
            "3 translation pages are in the directory, 0 on flash, 3",
        );
        noticed(
            &|_, flash| flash.blocks.reserve_metadata_blocks(20),
            "3 translation pages are in the directory, 3 on flash, 0",
        );
    }

    #[test]
    fn translation_block_leaves_one_block_for_collection() {
        let (mut map, mut paging, mut flash) = on_flash(8);
        let pages = fill(&mut flash, PLANE);
        (0..6).for_each(|_| drop(fill(&mut flash, PLANE)));
        pages.iter().for_each(|&page| flash.blocks.invalidate(page));
        assert_eq!(flash.blocks.free_blocks(PLANE), 1);
        let mut ops = Vec::new();
        let mut tables = OnFlash { map: &mut map, paging: &mut paging };
        tables.write(TablePage::new(0), &mut flash, &mut ops).unwrap();
        // The block that held nothing is free again, and one of the two is taken.
        assert_eq!(ops.iter().map(|op| op.kind).collect::<Vec<_>>(), [OpKind::Erase, OpKind::Program]);
        assert_eq!((ops[0].ppn, flash.blocks.free_blocks(PLANE)), (pages[0], 1));
    }
}
