//! The physical side of the tables as a list of blocks, and from such a list.

use flashtwin_nand::{Block, Plane, Ppn};

use super::block_table::{BlockState, ERASES_AT, METADATA};
use super::blocks::Blocks;
use crate::ids::Owner;
use crate::image::{BlockImage, BlockUse, OpenFor};

impl Blocks {
    pub(crate) fn open_blocks(&self, plane: Plane) -> impl Iterator<Item = (Block, OpenFor)> {
        let open = move |kind: OpenFor| Some((self.open_block(plane, kind.stream())?, kind));
        OpenFor::ALL.into_iter().filter_map(open)
    }

    /// Every block that was ever used; `levelled` says whether one is collected on account of wear.
    pub(crate) fn images(&self, levelled: impl Fn(Plane, Block) -> bool) -> Vec<BlockImage> {
        let geometry = &self.geometry;
        let mut images = Vec::new();
        for plane in geometry.all_planes() {
            let open: Vec<(Block, OpenFor)> = self.open_blocks(plane).collect();
            for number in 0..geometry.blocks_per_plane {
                let block = geometry.block_index_of(plane, number);
                let word = self.table.word(block);
                let used = match word.state() {
                    BlockState::Free if word.erases() == 0 => continue,
                    BlockState::Free => BlockUse::Free,
                    BlockState::Open => match open.iter().find(|entry| entry.0 == block) {
                        Some(&(_, kind)) => BlockUse::Open(kind),
                        None if self.is_retired(block) => BlockUse::Retired,
                        None => continue,
                    },
                    BlockState::Closed => BlockUse::Closed,
                    BlockState::Collecting => BlockUse::Collected { levelled: levelled(plane, block) },
                };
                images.push(BlockImage { block, erases: word.erases(), written: word.written(), used });
            }
        }
        images
    }

    pub(crate) fn restore(&mut self, images: &[BlockImage]) -> Result<(), String> {
        let mut seen = std::collections::HashSet::with_capacity(images.len());
        for image in images {
            self.restore_block(image)?;
            if !seen.insert(image.block) {
                return Err(format!("block {} is listed twice", image.block));
            }
        }
        for plane in self.geometry.all_planes() {
            let numbers = (0..self.geometry.blocks_per_plane).rev();
            let mut used = numbers.map(|number| self.geometry.block_index_of(plane, number));
            let fresh = used.find(|block| seen.contains(block));
            let fresh = fresh.map_or(0, |block| self.geometry.block_in_plane(block) + 1);
            self.restore_free(plane, fresh);
        }
        Ok(())
    }

    fn restore_block(&mut self, image: &BlockImage) -> Result<(), String> {
        let &BlockImage { block, erases, written, used } = image;
        let geometry = &self.geometry;
        let plane = geometry.plane_of_block(block);
        if plane.number() >= geometry.planes() || geometry.block_in_plane(block) >= geometry.blocks_per_plane
        {
            return Err(format!("there is no block {block}"));
        }
        let place = geometry.describe(geometry.page_of_block(block, 0));
        let full = geometry.pages_per_block;
        let fits = match used {
            BlockUse::Free | BlockUse::Retired => written == 0,
            BlockUse::Open(_) => (1..full).contains(&written),
            BlockUse::Closed | BlockUse::Collected { .. } => written == full,
        };
        if !fits || erases >= 1 << (u64::BITS - ERASES_AT) {
            return Err(format!("{place}: {written} pages written and {erases} erases, as {used:?}"));
        }
        self.table.words[block] = u64::from(written) << 16 | u64::from(erases) << ERASES_AT;
        let state = match used {
            BlockUse::Free => BlockState::Free,
            BlockUse::Open(kind) => {
                if !self.reopen(plane, kind.stream(), block) {
                    return Err(format!("{place}: a second open block for {kind:?} in its plane"));
                }
                BlockState::Open
            }
            BlockUse::Closed => BlockState::Closed,
            BlockUse::Collected { .. } => BlockState::Collecting,
            BlockUse::Retired => {
                self.table.open(block, METADATA);
                self.count_retired(block);
                BlockState::Open
            }
        };
        self.table.set_state(block, state);
        self.add_erases(plane, erases);
        Ok(())
    }

    pub(crate) fn adopt(&mut self, ppn: Ppn, owner: Owner) -> Result<(), String> {
        let geometry = &self.geometry;
        let block = geometry.block_index(ppn);
        let there = geometry.plane(ppn).number() < geometry.planes()
            && geometry.block_in_plane(block) < geometry.blocks_per_plane;
        if !there {
            return Err(format!("there is no page {ppn}"));
        }
        if geometry.page_in_block(ppn) >= self.table.written(block) {
            return Err(format!("{} is not programmed", geometry.describe(ppn)));
        }
        if self.owner(ppn).is_some() {
            return Err(format!("{} is owned twice", geometry.describe(ppn)));
        }
        self.own(ppn, block, owner);
        Ok(())
    }
}
