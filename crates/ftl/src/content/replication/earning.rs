//! Copies that contents earn by the popularity of a period: how many, on which chips, which are dropped again.

use super::chips::Chips;
use super::contract::{CopyContext, NewCopy, NewPage, chips_in_use};
use super::degree::Degrees;
use super::placement::{Placement, ScorePopularity};
use crate::content::map::ContentMap;
use crate::error::FtlResult;
use crate::flash::blocks::Blocks;
use crate::ids::Vpn;
use flashtwin_nand::Chip;

#[derive(Clone)]
pub(super) struct Earning {
    degrees: Degrees,
    placement: Box<dyn Placement>,
    pub(super) score_popularity: ScorePopularity,
    adjust_every: u32,
    periods: u32,
}

impl Earning {
    pub(super) fn new(
        degrees: Degrees,
        placement: Box<dyn Placement>,
        score_popularity: ScorePopularity,
        adjust_every: u32,
    ) -> Self {
        Self { degrees, placement, score_popularity, adjust_every, periods: 0 }
    }

    #[inline]
    pub(super) fn earns_more(&self, popularity: u8, held: u32) -> bool {
        self.degrees.copies(popularity) > held
    }

    /// Lists replicas by the period's popularity and, from time to time, drops those that it does not earn.
    pub(super) fn end_period(&mut self, context: &mut CopyContext<'_>) {
        self.periods += 1;
        let map = &mut context.tables.map;
        let levels = map.popularities();
        map.replicas.relevel(|vpn| levels[vpn]);
        if self.periods.is_multiple_of(self.adjust_every) {
            for (vpn, _) in context.tables.map.replicas.live() {
                let earned = self.degrees.copies(levels[vpn]);
                for _ in earned..context.tables.map.pages_of(vpn) {
                    context.drop_replica(vpn);
                }
            }
        }
    }

    /// The chip of a content's next copy. `chips` lose a replica of `gives_way`, but only if a chip is found.
    pub(super) fn choose_chip(
        &mut self,
        vpn: Vpn,
        gives_way: Option<Vpn>,
        map: &ContentMap,
        blocks: &Blocks,
        chips: &mut Chips,
    ) -> Option<Chip> {
        let before = gives_way.map(|victim| {
            let before = chips.save();
            chips.lose_last(map, blocks, victim);
            before
        });
        let home = blocks.chip_of_page(map.home(vpn));
        let holds = chips_in_use(map, blocks, vpn);
        let chip = self.placement.choose(home, chips.views(), &holds);
        if let (None, Some(before)) = (chip, before) {
            chips.restore(before);
        }
        chip
    }
}

pub(super) fn add_shared_copy(
    copy: NewCopy,
    context: &mut CopyContext<'_>,
    chips: &mut Chips,
) -> FtlResult<Option<NewPage>> {
    chips.take(&context.tables.map, &context.flash.blocks, copy.vpn);
    let page = context.add(copy)?;
    chips.add(&context.tables.map, &context.flash.blocks, copy.vpn);
    match page {
        Some(_) => chips.fill_page(copy.chip),
        None => chips.mark_full(copy.chip),
    }
    Ok(page)
}

flashtwin_bits::state!(Earning { placement, periods } kept { degrees, score_popularity, adjust_every });
