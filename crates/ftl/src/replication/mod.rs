//! Copies of popular contents, made at the end of a period or as soon as they are earned.
//!
//! Source: RR-SSD paper II.D and III.B ("Replication"): one pass from the highest popularity
//! counter down to 1; each content gets copies on the best chips until its degree is reached
//! or the space is used up.

mod chips;
mod copying;
pub mod degree;
mod online;
pub mod placement;
mod priority_lru;

use chips::Chips;
pub(crate) use copying::CopyJob;
use copying::Wanted;
use online::Online;
pub(crate) use priority_lru::PriorityLru;

use flashtwin_nand::{Geometry, NO_PPN};

use crate::blocks::{Blocks, Stream};
use crate::config::{FtlConfig, ReplicationPolicy};
use crate::decimal::times;
use crate::error::FtlError;
use crate::ftl::{Ftl, Map};
use crate::mapping::ContentMap;
use crate::op::{Cause, FlashOp, NO_JOB, OpKind};
use crate::rng::Rng;
use degree::Degrees;
use placement::{ChipSet, Placement, ScorePopularity};

/// What replication keeps between periods.
pub(crate) struct Replicator {
    pub(crate) budget_pages: u64,
    degrees: Degrees,
    placement: Box<dyn Placement>,
    score_popularity: ScorePopularity,
    adjust_every: u32,
    periods: u32,
    /// Turns taken among the planes of each chip.
    next_plane: Vec<u32>,
    /// Copies that do not wait for a period's end.
    pub(crate) wanted: Wanted,
    /// What earns them: popularity, or recency and frequency.
    online: Option<Online>,
    recency: Option<PriorityLru>,
}

impl Replicator {
    pub(crate) fn new(config: &FtlConfig, geometry: &Geometry, footprint_pages: u32, seed: u64) -> Self {
        let rules = &config.replication;
        let footprint = u64::from(footprint_pages);
        Self {
            // Rounded down: with alpha = 0 never a page more than without deduplication. Nor more
            // than the device holds: the host writes before the copies that give way are dropped.
            budget_pages: footprint
                .saturating_add(times(footprint, rules.alpha))
                .min(Ftl::capacity_pages(config, geometry)),
            degrees: Degrees::new(rules, geometry.chips()),
            placement: rules.placement.build(rules.score_popularity, Rng::stream(seed, "replica placement")),
            score_popularity: rules.score_popularity,
            adjust_every: rules.adjust_every,
            periods: 0,
            next_plane: vec![0; geometry.chips() as usize],
            wanted: Wanted::default(),
            online: (rules.policy == ReplicationPolicy::OnLine)
                .then(|| Online::new(Chips::new(geometry.chips(), rules.score_popularity))),
            recency: (rules.policy == ReplicationPolicy::PriorityLru)
                .then(|| PriorityLru::new(geometry.chips(), rules.class_pages)),
        }
    }
}

/// A copy to be made.
#[derive(Clone, Copy)]
struct NewCopy {
    vpn: u32,
    /// Which of its content's copies is read for it, in their order; 0 is the home copy.
    source: usize,
    chip: u32,
    /// The popularity under which the replicas are listed.
    level: u8,
}

/// Chips that hold a copy of a content.
fn chips_in_use(map: &ContentMap, blocks: &Blocks, vpn: u32) -> ChipSet {
    let mut holds = ChipSet::default();
    for ppn in map.copies(vpn) {
        holds.insert(blocks.chip_of_page(ppn));
    }
    holds
}

/// The room for a copy that is listed under `level`: free, or that of a replica of the content returned, the
/// least popular below `level`; `None` when there is neither.
fn replica_room(map: &ContentMap, level: u8, budget_pages: u64) -> Option<Option<u32>> {
    if map.pages_in_use() < budget_pages {
        return Some(None);
    }
    map.replicas.least_popular(u16::from(level)).map(|(victim, _)| Some(victim))
}

/// Contents that were read in this period, the most popular first, equals by VPN.
fn by_popularity(map: &ContentMap) -> Vec<u32> {
    let mut levels: Vec<Vec<u32>> = vec![Vec::new(); 256];
    for vpn in (0..map.vpn_slots()).filter(|&vpn| map.is_live(vpn)) {
        levels[map.popularity(vpn) as usize].push(vpn);
    }
    levels[1..].iter().rev().flatten().copied().collect()
}

impl Ftl {
    fn content_map(&self) -> Option<&ContentMap> {
        match &self.map {
            Map::Content(map) => Some(map),
            Map::Page(_) | Map::Inverted(_) => None,
        }
    }

    /// Ends a profiling period: makes the copies that popularity has earned, then zeroes the
    /// counters. The operations are those of the replication phase, in which the host is
    /// served elsewhere (RR-SSD paper III.B: by the mirror). Without replication, only the
    /// counters are zeroed.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        if let Some(mut replicator) = self.replicator.take() {
            let before = self.counters;
            let outcome = self.replicate(&mut replicator, ops);
            self.counters.attribute_to_copies(&before);
            if let Some(online) = &mut replicator.online {
                online.forget_popularity();
            }
            self.replicator = Some(replicator);
            outcome?;
        }
        if let Map::Content(map) = &mut self.map {
            map.reset_popularity();
        }
        self.settle_tables(ops)
    }

    fn replicate(&mut self, replicator: &mut Replicator, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        if replicator.recency.is_some() {
            // It knows no periods.
            return Ok(());
        }
        let Some(map) = self.content_map() else { return Ok(()) };
        replicator.periods += 1;
        let levels: Vec<u8> = (0..map.vpn_slots()).map(|vpn| map.popularity(vpn)).collect();
        let order = by_popularity(map);
        if let Map::Content(map) = &mut self.map {
            map.replicas.relevel(|vpn| levels[vpn as usize]);
        }
        if replicator.periods.is_multiple_of(replicator.adjust_every) {
            self.drop_unearned(replicator);
        }
        if replicator.online.is_some() {
            // Copies were made as they were earned.
            return Ok(());
        }
        let Some(map) = self.content_map() else { return Ok(()) };
        let mut chips = Chips::of(map, &self.blocks, replicator.score_popularity);
        for vpn in order {
            if !self.copy_to_degree(vpn, replicator, &mut chips, ops)? {
                break;
            }
        }
        Ok(())
    }

    /// Drops the replicas beyond what this period's popularity earns.
    fn drop_unearned(&mut self, replicator: &Replicator) {
        let Some(map) = self.content_map() else { return };
        for (vpn, _) in map.replicas.live() {
            let Some(map) = self.content_map() else { return };
            let earned = replicator.degrees.copies(map.popularity(vpn));
            let held = 1 + map.replica_ppns(vpn).len() as u32;
            for _ in earned..held {
                self.drop_replica(vpn);
            }
        }
    }

    /// Drops one replica of a content. Who keeps the chips' stored popularity meanwhile has taken the
    /// replicator out and sees to it.
    pub(crate) fn drop_replica(&mut self, vpn: u32) {
        let Map::Content(map) = &mut self.map else { return };
        let online = self.replicator.as_mut().and_then(|replicator| replicator.online.as_mut());
        let dropped = match online {
            Some(online) => online.around(map, &self.blocks, vpn, |map| map.drop_replica(vpn)),
            None => map.drop_replica(vpn),
        };
        if let Some(ppn) = dropped {
            self.blocks.invalidate(ppn);
            self.counters.replicas_dropped += 1;
            self.touch_vpn(vpn);
        }
    }

    /// Drops replicas, the least popular first, until first copies and replicas fit the
    /// space they share.
    #[inline]
    pub(crate) fn keep_within_budget(&mut self) {
        let Some(replicator) = &self.replicator else { return };
        let budget = replicator.budget_pages;
        loop {
            let Map::Content(map) = &self.map else { return };
            if map.replicas.pages() == 0 || map.pages_in_use() <= budget {
                return;
            }
            let Some((vpn, _)) = map.replicas.least_popular(256) else { return };
            self.drop_replica(vpn);
        }
    }

    /// Copies one content until its degree is reached; `false` when the space is used up. What is copied is
    /// read in turn from the places that held it before (RR-SSD paper III.B: "one of the previously-copied
    /// places").
    fn copy_to_degree(
        &mut self,
        vpn: u32,
        replicator: &mut Replicator,
        chips: &mut Chips,
        ops: &mut Vec<FlashOp>,
    ) -> Result<bool, FtlError> {
        let Some(map) = self.content_map() else { return Ok(false) };
        let level = map.popularity(vpn);
        let wanted = replicator.degrees.copies(level);
        let places = map.copies(vpn).count();
        let mut source = 0;
        while let Some(map) = self.content_map() {
            let held = 1 + map.replica_ppns(vpn).len() as u32;
            if held >= wanted {
                break;
            }
            let Some(gives_way) = replica_room(map, level, replicator.budget_pages) else { return Ok(false) };
            let placement = &mut *replicator.placement;
            let Some(chip) = self.choose_chip(vpn, gives_way, placement, chips) else { break };
            gives_way.into_iter().for_each(|victim| self.drop_replica(victim));
            let copy = NewCopy { vpn, source, chip, level };
            self.copy_to_chip(copy, &mut replicator.next_plane, chips, ops)?;
            source = if source + 1 == places { 0 } else { source + 1 };
        }
        Ok(true)
    }

    /// The chip of a content's next copy, and the chips as they are when a replica of `gives_way` is gone; they
    /// stay as they were where no chip is found.
    fn choose_chip(
        &self,
        vpn: u32,
        gives_way: Option<u32>,
        placement: &mut dyn Placement,
        chips: &mut Chips,
    ) -> Option<u32> {
        let map = self.content_map()?;
        let before = gives_way.map(|victim| {
            let before = chips.save();
            chips.lose_last(map, &self.blocks, victim);
            before
        });
        let home = self.blocks.chip_of_page(map.home(vpn));
        let holds = chips_in_use(map, &self.blocks, vpn);
        let chip = placement.choose(home, chips.views(), &holds);
        if let (None, Some(before)) = (chip, before) {
            chips.restore(before);
        }
        chip
    }

    fn copy_to_chip(
        &mut self,
        copy: NewCopy,
        next_plane: &mut [u32],
        chips: &mut Chips,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        let Some((plane, program)) = self.add_shared_copy(copy, next_plane, chips, ops)? else {
            return Ok(());
        };
        let read = FlashOp { kind: OpKind::Read, ppn: program.source, source: NO_PPN, ..program };
        self.order(read, ops)?;
        self.order(program, ops)?;
        self.collect_behind(plane, ops)
    }

    /// Enters a copy into the tables and into what the chips store.
    fn add_shared_copy(
        &mut self,
        copy: NewCopy,
        next_plane: &mut [u32],
        chips: &mut Chips,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<(u32, FlashOp)>, FtlError> {
        let Some(map) = self.content_map() else { return Ok(None) };
        chips.take(map, &self.blocks, copy.vpn);
        let added = self.add_copy(copy, next_plane, ops)?;
        if let Some(map) = self.content_map() {
            chips.add(map, &self.blocks, copy.vpn);
        }
        if added.is_some() {
            chips.fill_page(copy.chip);
        }
        Ok(added)
    }

    /// Enters a copy into the tables; its plane and the program that it takes.
    fn add_copy(
        &mut self,
        copy: NewCopy,
        next_plane: &mut [u32],
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<(u32, FlashOp)>, FtlError> {
        let NewCopy { vpn, source, chip, level } = copy;
        let planes = self.blocks.geometry.planes_per_chip();
        let turn = &mut next_plane[chip as usize];
        let plane = (0..planes)
            .map(|step| chip * planes + (*turn + step) % planes)
            .find(|&plane| self.blocks.has_room(plane));
        let Some(plane) = plane else { return Err(self.full(chip * planes)) };
        *turn = (plane + 1) % planes;
        let to = self.take_page(plane, Stream::REPLICA, vpn, ops)?;
        let Map::Content(map) = &mut self.map else { return Ok(None) };
        // Making room may have moved it, but not changed which of the copies it is.
        let from = map.copies(vpn).nth(source).unwrap_or(map.home(vpn));
        map.add_replica(vpn, level, to);
        self.counters.replicas_made += 1;
        self.touch_vpn(vpn);
        self.note_peak();
        let cause = Cause::Replica;
        let kind = OpKind::Program;
        Ok(Some((plane, FlashOp { kind, ppn: to, source: from, cause, urgent: false, job: NO_JOB })))
    }
}
