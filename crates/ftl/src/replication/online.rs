//! Copies made as soon as they are earned, in idle time.
//!
//! Source: RR-SSD paper IV.B.4 ("On-line Replication"): a content's next copy is made when its counter
//! earns it, on the chip with the largest S / (E x Pop x QL), QL being the chip's load + 1. The copy
//! competes with the host for the flash: it is read and programmed when the units have nothing else to do.
//!
//! Replicas that may have to give way are listed by popularity as it is now, or as it was at the end of
//! the last period if that was higher: listed by what it was when the first copy was made, which is always
//! little, the most popular would go as early as any.

use super::{Chips, CopyJob, NewCopy, Replicator, replica_room};
use crate::blocks::Blocks;
use crate::error::FtlError;
use crate::ftl::{Ftl, Map};
use crate::mapping::{ContentMap, NO_VPN};
use crate::op::{FlashOp, LoadView};

/// What on-line replication keeps from read to read.
pub(crate) struct Online {
    /// The chips with the popularity stored on them; the rest is filled in when it is asked for.
    chips: Chips,
}

impl Online {
    pub(super) fn new(chips: Chips) -> Self {
        Self { chips }
    }

    /// Changes the copies of a content, and what they make the chips store.
    pub(super) fn around<T>(
        &mut self,
        map: &mut ContentMap,
        blocks: &Blocks,
        vpn: u32,
        change: impl FnOnce(&mut ContentMap) -> T,
    ) -> T {
        self.chips.take(map, blocks, vpn);
        let outcome = change(map);
        self.chips.add(map, blocks, vpn);
        outcome
    }

    /// Counters have been zeroed.
    pub(super) fn forget_popularity(&mut self) {
        self.chips.forget_popularity();
    }
}

impl Ftl {
    /// Counts a read of a content towards its popularity; returns whether it is its first.
    #[inline]
    pub(crate) fn count_read(&mut self, vpn: u32) -> bool {
        let (saturation, chips) = (self.saturation, self.blocks.geometry.chips());
        let Map::Content(map) = &mut self.map else { return false };
        let Some(replicator) = &mut self.replicator else { return map.count_read(vpn, saturation) };
        let Replicator { online, degrees, wanted, .. } = replicator;
        let Some(online) = online else {
            let first = map.count_read(vpn, saturation);
            replicator.note_recency(vpn, map, chips);
            return first;
        };
        let first = online.around(map, &self.blocks, vpn, |map| map.count_read(vpn, saturation));
        let popularity = map.popularity(vpn);
        map.raise_replicas(vpn, popularity);
        let held = 1 + map.replica_ppns(vpn).len() as u32;
        if degrees.copies(popularity) > held {
            wanted.earn(vpn);
        }
        first
    }

    /// A logical page is about to leave its content, which may die of it: then its popularity is no
    /// longer stored anywhere.
    #[inline]
    pub(crate) fn before_leaving(&mut self, lpn: u32) {
        let Map::Content(map) = &self.map else { return };
        let Some(replicator) = &mut self.replicator else { return };
        let vpn = map.vpn_of(lpn);
        if vpn == NO_VPN || map.references(vpn) > 1 {
            return;
        }
        if let Some(recency) = &mut replicator.recency {
            recency.forget(vpn);
        }
        if let Some(online) = &mut replicator.online {
            #[cfg(test)]
            if map.popularity(vpn) > 0 && crate::tests::planted(crate::tests::Bug::KeptShare) {
                return;
            }
            online.chips.take(map, &self.blocks, vpn);
        }
    }

    /// Places a copy on the best chip, if the content still earns one and there is room; returns whether it did.
    pub(super) fn place_by_score(
        &mut self,
        CopyJob { vpn, ppn, .. }: CopyJob,
        replicator: &mut Replicator,
        online: &mut Online,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<bool, FtlError> {
        let Map::Content(map) = &self.map else { return Ok(false) };
        let level = map.popularity(vpn);
        let held = 1 + map.replica_ppns(vpn).len() as u32;
        if held >= replicator.degrees.copies(level) {
            return Ok(false);
        }
        let Some(gives_way) = replica_room(map, level, replicator.budget_pages) else { return Ok(false) };
        online.chips.fill_in(&self.blocks, loads);
        let placement = &mut *replicator.placement;
        let Some(chip) = self.choose_chip(vpn, gives_way, placement, &mut online.chips) else {
            return Ok(false);
        };
        let source = map.copies(vpn).position(|copy| copy == ppn).unwrap_or(0);
        gives_way.into_iter().for_each(|victim| self.drop_replica(victim));
        let copy = NewCopy { vpn, source, chip, level };
        match self.add_shared_copy(copy, &mut replicator.next_plane, &mut online.chips, ops)? {
            Some((plane, program)) => self.order_copy(plane, program, ops).map(|()| true),
            None => Ok(false),
        }
    }

    /// Compares the popularity kept from read to read with that of all contents.
    pub(crate) fn audit_stored_popularity(&self) -> Result<(), String> {
        let (Map::Content(map), Some(replicator)) = (&self.map, &self.replicator) else { return Ok(()) };
        let Some(online) = &replicator.online else { return Ok(()) };
        let chips = Chips::of(map, &self.blocks, replicator.score_popularity);
        let found: Vec<u64> = chips.stored_popularity().collect();
        let kept: Vec<u64> = online.chips.stored_popularity().collect();
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
