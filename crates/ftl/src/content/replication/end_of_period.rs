//! Copies at the end of each period (RR-SSD paper II.D, III.B): one pass from the highest popularity counter down; each
//! content gets copies on the best chips until its degree is reached or the space is used up.

use super::chips::Chips;
use super::contract::{CopyContext, NewCopy, NewPage, Replication, replica_room};
use super::earning::{Earning, add_shared_copy};
use super::placement::Equals;
use crate::content::map::ContentMap;
use crate::error::FtlResult;
use crate::ids::Vpn;
use crate::op::{Cause, FlashOp};

#[derive(Clone)]
pub(super) struct EndOfPeriod {
    earning: Earning,
    equals: Equals,
}

/// Contents that were read, the most popular first.
pub(super) fn by_popularity(map: &ContentMap, equals: Equals) -> Vec<Vpn> {
    let mut levels: Vec<Vec<Vpn>> = vec![Vec::new(); 256];
    for vpn in map.live() {
        levels[map.popularity(vpn) as usize].push(vpn);
    }
    // By number they are already.
    if equals != Equals::ByNumber {
        levels[1..].iter_mut().for_each(|level| level.sort_by_cached_key(|&vpn| equals.key(vpn)));
    }
    levels[1..].iter().rev().flatten().copied().collect()
}

/// Orders the read and the program of a copy.
pub(super) fn copy_at_once(page: &NewPage, context: &mut CopyContext<'_>) -> FtlResult {
    context.flash.order(FlashOp::read(page.program.source, Cause::Replica), context.ops)?;
    context.flash.order(page.program, context.ops)?;
    context.flash.collect_behind(page.plane, context.tables, context.ops)
}

impl EndOfPeriod {
    pub(super) fn new(earning: Earning, equals: Equals) -> Self {
        Self { earning, equals }
    }

    /// Copies one content until its degree is reached; `false` when the space is used up. Sources take turns (III.B).
    fn copy_to_degree(
        &mut self,
        vpn: Vpn,
        chips: &mut Chips,
        context: &mut CopyContext<'_>,
    ) -> FtlResult<bool> {
        let level = context.tables.map.popularity(vpn);
        let places = context.tables.map.copies(vpn).count();
        let mut source = 0;
        while self.earning.earns_more(level, context.tables.map.pages_of(vpn)) {
            let map = &context.tables.map;
            let Some(gives_way) = replica_room(map, level, context.space.budget_pages) else {
                return Ok(false);
            };
            let Some(chip) = self.earning.choose_chip(vpn, gives_way, map, &context.flash.blocks, chips)
            else {
                break;
            };
            gives_way.into_iter().for_each(|victim| context.drop_replica(victim));
            let Some(page) = add_shared_copy(NewCopy { vpn, source, chip, level }, context, chips)? else {
                continue;
            };
            copy_at_once(&page, context)?;
            source = if source + 1 == places { 0 } else { source + 1 };
        }
        Ok(true)
    }
}

impl Replication for EndOfPeriod {
    const COUNTS_POPULARITY: bool = true;
    const COPIES_AT_PERIOD_ENDS: bool = true;

    fn end_period(&mut self, context: &mut CopyContext<'_>) -> FtlResult {
        let order = by_popularity(&context.tables.map, self.equals);
        self.earning.end_period(context);
        let counted = self.earning.score_popularity;
        let mut chips = Chips::of(&context.tables.map, &context.flash.blocks, counted);
        for vpn in order {
            if !self.copy_to_degree(vpn, &mut chips, context)? {
                break;
            }
        }
        Ok(())
    }
}

flashtwin_bits::state!(EndOfPeriod { earning } kept { equals });
