//! One copy of every content that is read, on the chip after its home, while there is room.

use flashtwin_nand::Chip;

use super::contract::{CopyContext, NewCopy, NewPage, Replication};
use super::copy_queue::{CopyJob, CopyQueue};
use crate::content::map::ContentMap;
use crate::error::FtlError;
use crate::flash::blocks::Blocks;
use crate::ids::Vpn;
use crate::loads::LoadView;

#[derive(Clone)]
pub(super) struct OneEach;

impl Replication for OneEach {
    const COUNTS_POPULARITY: bool = false;
    const COPIES_AT_PERIOD_ENDS: bool = false;

    fn read(&mut self, vpn: Vpn, map: &mut ContentMap, _blocks: &Blocks, queue: &mut CopyQueue) -> bool {
        if map.pages_of(vpn) == 1 {
            queue.earn(vpn);
        }
        map.count_read(vpn)
    }

    fn end_period(&mut self, _context: &mut CopyContext<'_>) -> Result<(), FtlError> {
        Ok(())
    }

    fn may_fit(&self, _vpn: Vpn, map: &ContentMap, budget_pages: u64) -> bool {
        map.pages_in_use() < budget_pages
    }

    fn place(
        &mut self,
        CopyJob { vpn, .. }: CopyJob,
        context: &mut CopyContext<'_>,
        _loads: &LoadView<'_>,
    ) -> Result<Option<NewPage>, FtlError> {
        let (map, blocks) = (&context.tables.map, &context.flash.blocks);
        let home = blocks.chip_of_page(map.home(vpn));
        let chip = Chip::new((home.number() + 1) % blocks.geometry.chips());
        let fits = map.pages_in_use() < context.space.budget_pages;
        if map.pages_of(vpn) > 1 || chip == home || !fits {
            return Ok(None);
        }
        context.add(NewCopy { vpn, source: 0, chip, level: 0 })
    }
}

flashtwin_bits::state!(OneEach {});
