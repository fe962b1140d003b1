//! The chips as a placement sees them, and the popularity stored on them.

use super::placement::{ChipView, ScorePopularity};
use crate::content::map::ContentMap;
use crate::flash::blocks::Blocks;
use crate::ids::Vpn;
use crate::loads::LoadView;
use flashtwin_bits::By;
use flashtwin_nand::Chip;

/// One view a chip. The owner keeps the values current that change with each copy or read.
#[derive(Clone)]
pub(super) struct Chips {
    views: By<Chip, Vec<ChipView>>,
    counted: ScorePopularity,
}

fn empty_views(blocks: &Blocks) -> impl Iterator<Item = ChipView> {
    let geometry = &blocks.geometry;
    let limit = blocks.plane_limit() * u64::from(geometry.planes_per_chip());
    Chip::each(0..geometry.chips()).map(move |chip| ChipView {
        free_pages: limit.saturating_sub(blocks.chip_valid()[chip] + blocks.retired_pages_of(chip)),
        stored_pages: blocks.chip_valid()[chip],
        erases: blocks.chip_erases()[chip],
        blocks: u64::from(geometry.planes_per_chip()) * u64::from(geometry.blocks_per_plane),
        popularity: 0,
        load: 0,
        received: 0,
    })
}

impl Chips {
    /// Chips on which no popularity is stored; the rest is filled in by [`Chips::fill_in`].
    pub(super) fn new(chips: u32, counted: ScorePopularity) -> Self {
        Self { views: By::new(vec![ChipView::default(); chips as usize]), counted }
    }

    pub(super) fn of(map: &ContentMap, blocks: &Blocks, counted: ScorePopularity) -> Self {
        let mut chips = Self { views: By::new(empty_views(blocks).collect()), counted };
        for vpn in map.live().filter(|&vpn| map.popularity(vpn) > 0) {
            chips.add(map, blocks, vpn);
        }
        chips
    }

    /// Everything but the stored popularity, as it is now.
    pub(super) fn fill_in(&mut self, blocks: &Blocks, loads: &LoadView<'_>) {
        for ((view, now), &load) in self.views.iter_mut().zip(empty_views(blocks)).zip(loads.chip.iter()) {
            *view = ChipView { popularity: view.popularity, received: view.received, load, ..now };
        }
    }

    pub(super) fn views(&self) -> By<Chip, &[ChipView]> {
        By::new(&self.views)
    }

    /// Popularity stored on each chip, in 1/65536 of a read.
    pub(super) fn stored_popularity(&self) -> impl Iterator<Item = u64> {
        self.views.iter().map(|chip| chip.popularity)
    }

    pub(super) fn forget_popularity(&mut self) {
        self.views.iter_mut().for_each(|chip| chip.popularity = 0);
    }

    #[inline]
    pub(super) fn add(&mut self, map: &ContentMap, blocks: &Blocks, vpn: Vpn) {
        let (popularity, copies) = (map.popularity(vpn), map.copies(vpn).count());
        for (at, ppn) in map.copies(vpn).enumerate() {
            self.views[blocks.chip_of_page(ppn)].popularity += self.counted.of_copy(popularity, copies, at);
        }
    }

    #[inline]
    pub(super) fn take(&mut self, map: &ContentMap, blocks: &Blocks, vpn: Vpn) {
        let (popularity, copies) = (map.popularity(vpn), map.copies(vpn).count());
        for (at, ppn) in map.copies(vpn).enumerate() {
            self.views[blocks.chip_of_page(ppn)].popularity -= self.counted.of_copy(popularity, copies, at);
        }
    }

    pub(super) fn fill_page(&mut self, chip: Chip) {
        let view = &mut self.views[chip];
        view.free_pages -= 1;
        view.stored_pages += 1;
        view.received += 1;
    }

    pub(super) fn mark_full(&mut self, chip: Chip) {
        self.views[chip].free_pages = 0;
    }

    pub(super) fn lose_last(&mut self, map: &ContentMap, blocks: &Blocks, vpn: Vpn) {
        let Some(&last) = map.replica_ppns(vpn).last() else { return };
        self.take(map, blocks, vpn);
        let view = &mut self.views[blocks.chip_of_page(last)];
        view.free_pages += 1;
        view.stored_pages -= 1;
        let others = map.copies(vpn).count() - 1;
        let popularity = map.popularity(vpn);
        for (at, ppn) in map.copies(vpn).take(others).enumerate() {
            self.views[blocks.chip_of_page(ppn)].popularity += self.counted.of_copy(popularity, others, at);
        }
    }

    pub(super) fn save(&self) -> By<Chip, Vec<ChipView>> {
        self.views.clone()
    }

    pub(super) fn restore(&mut self, views: By<Chip, Vec<ChipView>>) {
        self.views = views;
    }
}

flashtwin_bits::state!(Chips { views } kept { counted });
