//! Copies made as soon as they are earned, in idle time.
//!
//! Source: RR-SSD paper IV.B.4: a content's next copy is made when its counter earns it, on the chip with the largest
//! S / (E x Pop x QL). Replicas that may be dropped are listed by their present popularity, or the last period's if
//! higher: the popularity at the first copy, always small, would drop the most popular as early as any.

use flashtwin_nand::Ppn;

use super::chips::Chips;
use super::contract::{CopyContext, NewCopy, NewPage, Replication, replica_room};
use super::copy_queue::{CopyJob, CopyQueue, End};
use super::earning::{Earning, add_shared_copy};
use crate::content::map::ContentMap;
use crate::error::FtlResult;
use crate::flash::blocks::Blocks;
use crate::ids::Vpn;
use crate::loads::LoadView;
use crate::sabotage::sabotaged;

#[derive(Clone)]
pub(super) struct OnLine {
    earning: Earning,
    /// The chips with the popularity stored on them; the rest is filled in when it is asked for.
    chips: Chips,
}

impl OnLine {
    pub(super) fn new(earning: Earning, chips: u32) -> Self {
        Self { chips: Chips::new(chips, earning.score_popularity), earning }
    }

    #[inline]
    fn around<T>(
        &mut self,
        map: &mut ContentMap,
        blocks: &Blocks,
        vpn: Vpn,
        change: impl FnOnce(&mut ContentMap) -> T,
    ) -> T {
        self.chips.take(map, blocks, vpn);
        let outcome = change(map);
        self.chips.add(map, blocks, vpn);
        outcome
    }
}

impl Replication for OnLine {
    const COUNTS_POPULARITY: bool = true;
    const COPIES_AT_PERIOD_ENDS: bool = false;

    #[inline]
    fn read(&mut self, vpn: Vpn, map: &mut ContentMap, blocks: &Blocks, queue: &mut CopyQueue) -> bool {
        let first = self.around(map, blocks, vpn, |map| map.count_read(vpn));
        let popularity = map.popularity(vpn);
        map.raise_replicas(vpn, popularity);
        if self.earning.earns_more(popularity, map.pages_of(vpn)) {
            queue.earn(vpn);
        }
        first
    }

    #[inline]
    fn dies(&mut self, vpn: Vpn, map: &ContentMap, blocks: &Blocks) {
        if !sabotaged!(KeptShare if map.popularity(vpn) > 0) {
            self.chips.take(map, blocks, vpn);
        }
    }

    fn end_period(&mut self, context: &mut CopyContext<'_>) -> FtlResult {
        self.earning.end_period(context);
        self.chips.forget_popularity();
        Ok(())
    }

    fn may_fit(&self, vpn: Vpn, map: &ContentMap, budget_pages: u64) -> bool {
        replica_room(map, map.popularity(vpn), budget_pages).is_some()
    }

    fn place(
        &mut self,
        CopyJob { vpn, ppn, .. }: CopyJob,
        context: &mut CopyContext<'_>,
        loads: &LoadView<'_>,
    ) -> FtlResult<Option<NewPage>> {
        let map = &context.tables.map;
        let level = map.popularity(vpn);
        if !self.earning.earns_more(level, map.pages_of(vpn)) {
            return Ok(None);
        }
        let Some(gives_way) = replica_room(map, level, context.space.budget_pages) else { return Ok(None) };
        let blocks = &context.flash.blocks;
        self.chips.fill_in(blocks, loads);
        let Some(chip) = self.earning.choose_chip(vpn, gives_way, map, blocks, &mut self.chips) else {
            return Ok(None);
        };
        let source = map.copies(vpn).position(|copy| copy == ppn).unwrap_or(0);
        gives_way.into_iter().for_each(|victim| context.drop_replica(victim));
        add_shared_copy(NewCopy { vpn, source, chip, level }, context, &mut self.chips)
    }

    /// A content whose copy found no room earns one again with its next read, not at once.
    fn earns_again(&mut self, vpn: Vpn, end: End, map: &ContentMap, held: Option<u32>) -> bool {
        end != End::Refused && held.is_some_and(|held| self.earning.earns_more(map.popularity(vpn), held))
    }

    fn gives_way(&mut self, vpn: Vpn, map: &mut ContentMap, blocks: &Blocks) -> Option<Ppn> {
        self.around(map, blocks, vpn, |map| map.drop_replica(vpn))
    }

    fn audit(&self, map: &ContentMap, blocks: &Blocks) -> Result<(), String> {
        let chips = Chips::of(map, blocks, self.earning.score_popularity);
        let found: Vec<u64> = chips.stored_popularity().collect();
        let kept: Vec<u64> = self.chips.stored_popularity().collect();
        if found != kept {
            return Err(format!("stored popularity is {kept:?}, contents make it {found:?}"));
        }
        for (vpn, set) in map.replicas.live() {
            let (level, popularity) = (map.replicas.level(set), map.popularity(vpn));
            if level < popularity {
                return Err(format!(
                    "VPN {vpn} was read {popularity} times, its replicas are listed under {level}"
                ));
            }
        }
        Ok(())
    }
}

flashtwin_bits::state!(OnLine { earning, chips });
