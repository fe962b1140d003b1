//! Garbage collection: a plane at a time, in bounded steps.

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, NO_PPN, Plane, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Flash;
use super::blocks::{Blocks, Stream};
use super::idle::IdlePolicy;
use super::partition::{Isolation, PartitionConfig};
use super::victim::VictimPolicy;
use crate::error::{FtlResult, RangeError, at_least_one};
use crate::ids::Owner;
use crate::op::{Cause, FlashOp, IDLE_STEP, NO_JOB, OpKind};

/// Garbage collection, plane by plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Choice of the next block to collect (the victim).
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub victim: VictimPolicy,
    /// For `victim = "d-choices"`: number of blocks drawn. For example 2.
    #[schemars(extend("x-when" = "ftl.gc.victim = d-choices", "x-moves" = "reads and writes, once blocks are collected"))]
    pub choices: u32,
    /// Share of free blocks at which a plane starts collecting (at least `urgent` + 1 blocks). For
    /// example 0.1.
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub start: f64,
    /// Share of free blocks at which a plane stops collecting (at least one block above the start).
    /// For example 0.1.
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub stop: f64,
    /// Free blocks at which collection goes ahead of the host. At least 1. For example 2.
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub urgent: u32,
    /// Valid pages moved for each host page while a plane collects; a step ends with a whole flash
    /// page (`nand.sense_pages`). For example 64. 0: in step with the host, so that a victim is
    /// done when the host has written as many pages as it frees.
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub step_pages: u32,
    /// Whether planes collect in idle time of their die (after `engine.idle_us`).
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub idle: IdlePolicy,
    /// For `idle = "reserve"`: target share of free blocks in a plane. Not given in the papers. For
    /// example 0.2.
    #[schemars(extend("x-when" = "ftl.gc.idle != none", "x-moves" = "reads and writes, once blocks are collected"))]
    pub idle_reserve: f64,
    /// For `idle = "reserve"`: largest share of valid pages of a block worth collecting. Not given
    /// in the papers. For example 0.5: a freed page costs one move at most.
    #[schemars(extend("x-when" = "ftl.gc.idle != none", "x-moves" = "reads and writes, once blocks are collected"))]
    pub idle_valid: f64,
}

impl Default for GcConfig {
    fn default() -> Self {
        Self {
            victim: VictimPolicy::Greedy,
            choices: 10,
            start: 0.05,
            stop: 0.05,
            urgent: 1,
            step_pages: 8,
            idle: IdlePolicy::None,
            idle_reserve: 0.08,
            idle_valid: 0.75,
        }
    }
}

impl GcConfig {
    pub(crate) fn check(&self) -> Result<(), RangeError> {
        let shares = [
            ("gc.start", self.start),
            ("gc.stop", self.stop),
            ("gc.idle_reserve", self.idle_reserve),
            ("gc.idle_valid", self.idle_valid),
        ];
        for (key, share) in shares {
            if !(0.0..1.0).contains(&share) {
                return Err((key, share.to_string(), "a share from 0 up to but not including 1"));
            }
        }
        at_least_one([("gc.urgent", self.urgent), ("gc.choices", self.choices)])
    }
}

/// A page that was copied within its plane; the old one is about to go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) owner: Owner,
    pub(crate) from: Ppn,
    pub(crate) to: Ppn,
    pub(crate) plane: Plane,
}

/// Owners of the pages that collection moves: the tables of a mapping scheme.
pub(crate) trait Owners {
    /// Collection moved a page. Says whether the page was its owner's.
    fn moved(&mut self, page: Moved, flash: &mut Flash) -> bool;

    fn victim_done(&mut self, _plane: Plane) {}
}

#[derive(Clone, Copy)]
struct Victim {
    block: Block,
    next_page: u32,
    /// Whether the block is moved on account of wear, not for the space that this gains.
    levelled: bool,
    /// Pages that this gains (of a levelled block, all: it need not be done soon), and host pages behind which it was
    /// collected in step with the host.
    gain: u32,
    steps: u32,
}

impl Victim {
    fn new(block: Block, levelled: bool, blocks: &Blocks) -> Self {
        let pages = blocks.geometry.pages_per_block;
        let gain = if levelled { pages } else { (pages - blocks.table.valid(block)).max(1) };
        Self { block, next_page: 0, levelled, gain, steps: 0 }
    }

    /// The page up to which it is to be collected behind the next page of the host.
    fn next_due(&mut self, pages_per_block: u32) -> u32 {
        self.steps += 1;
        let due = u64::from(self.steps) * u64::from(pages_per_block) / u64::from(self.gain);
        due.min(pages_per_block.into()) as u32
    }
}

#[derive(Clone, Copy)]
struct Step {
    /// 0: in step with the host.
    pages: u32,
    job: u32,
}

#[derive(Clone)]
pub(crate) struct Collector {
    start_blocks: u32,
    stop_blocks: u32,
    urgent_blocks: u32,
    step_pages: u32,
    /// The partition of all that collection moves, if it does not keep them apart.
    shared: Option<u8>,
    victims: By<Plane, Vec<Option<Victim>>>,
    collecting: By<Plane, Vec<bool>>,
    pub(crate) victim_pages: Vec<u64>,
}

impl Collector {
    pub(crate) fn shares(&self) -> bool {
        self.shared.is_some()
    }

    pub(crate) fn new(config: &GcConfig, partition: &PartitionConfig, geometry: &Geometry) -> Self {
        let shares = partition.isolation == Isolation::Initial;
        let share = |share: f64| (share * f64::from(geometry.blocks_per_plane)).ceil() as u32;
        let start_blocks = share(config.start).max(config.urgent + 1);
        Self {
            shared: shares.then(|| (partition.count() - 1) as u8),
            start_blocks,
            stop_blocks: share(config.stop).max(start_blocks + 1),
            urgent_blocks: config.urgent,
            step_pages: config.step_pages,
            victims: By::new(vec![None; geometry.planes() as usize]),
            collecting: By::new(vec![false; geometry.planes() as usize]),
            victim_pages: vec![0; geometry.pages_per_block as usize + 1],
        }
    }
}

impl Flash {
    #[inline]
    pub(crate) fn collect_behind(
        &mut self,
        plane: Plane,
        owners: &mut impl Owners,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let free = self.blocks.free_blocks(plane);
        if free > self.collector.start_blocks && !self.collector.collecting[plane] {
            return Ok(());
        }
        self.collect_step(plane, owners, ops)
    }

    #[inline(never)]
    fn collect_step(&mut self, plane: Plane, owners: &mut impl Owners, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.collector.collecting[plane] = true;
        self.collect(plane, Step { pages: self.collector.step_pages, job: NO_JOB }, owners, ops)?;
        self.note_end(plane);
        Ok(())
    }

    /// A plane with enough free blocks stops collecting, even if other work freed them.
    fn note_end(&mut self, plane: Plane) {
        self.collector.collecting[plane] &= self.blocks.free_blocks(plane) < self.collector.stop_blocks;
    }

    /// Collects whole blocks until one free block beyond the reserve is there.
    #[inline(never)]
    pub(crate) fn make_room(
        &mut self,
        plane: Plane,
        owners: &mut impl Owners,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        // Every block tried twice without gain: nothing is invalid anywhere.
        let geometry = &self.blocks.geometry;
        // The gained pages may be spread over the open blocks of all partitions first.
        let spread = u64::from((self.blocks.partitions() - 1) * geometry.pages_per_block);
        let mut tries = (2 * u64::from(geometry.blocks_per_plane) + 2) * (1 + spread);
        while self.blocks.free_blocks(plane) <= 1 {
            if tries == 0 {
                return Err(self.full(plane));
            }
            tries -= 1;
            self.collect(plane, Step { pages: u32::MAX, job: NO_JOB }, owners, ops)?;
        }
        Ok(())
    }

    pub(crate) fn works_in_idle_time(&self) -> bool {
        self.idle.is_some()
    }

    /// The planes' die is idle: the one with the fewest free blocks moves a page, if its policy wants that and it
    /// gains.
    pub(crate) fn collect_in_idle_time(
        &mut self,
        planes: &[Plane],
        owners: &mut impl Owners,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let Some(idle) = &self.idle else { return Ok(()) };
        let free = |&plane: &Plane| self.blocks.free_blocks(plane);
        let mut wanting: Vec<Plane> =
            planes.iter().copied().filter(|plane| idle.wants(free(plane))).collect();
        wanting.sort_by_key(free);
        for plane in wanting {
            // Not the last free block: an urgent collection may need it.
            if self.blocks.free_blocks(plane) >= 2 && self.has_idle_victim(plane) {
                self.collect(plane, Step { pages: 1, job: IDLE_STEP }, owners, ops)?;
                self.note_end(plane);
            }
            if !ops.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn has_idle_victim(&mut self, plane: Plane) -> bool {
        if self.collector.victims[plane].is_some() {
            return true;
        }
        let Some(block) = self.blocks.choose_victim(plane) else { return false };
        let valid = self.blocks.table.valid(block);
        let gains = valid < self.blocks.geometry.pages_per_block;
        if !gains || !self.idle.as_ref().is_some_and(|idle| idle.takes(valid)) {
            self.blocks.return_victim(block);
            return false;
        }
        self.collector.victim_pages[valid as usize] += 1;
        self.collector.victims[plane] = Some(Victim::new(block, false, &self.blocks));
        true
    }

    pub(crate) fn collects_for_wear(&self, plane: Plane, block: Block) -> bool {
        self.collector.victims[plane].is_some_and(|victim| victim.block == block && victim.levelled)
    }

    pub(crate) fn resume_collection(&mut self, block: Block, levelled: bool) -> Result<(), String> {
        let plane = self.geometry().plane_of_block(block);
        if self.collector.victims[plane].is_some() {
            return Err(format!("plane {plane} collects two blocks at once"));
        }
        self.collector.victims[plane] = Some(Victim::new(block, levelled, &self.blocks));
        self.collector.collecting[plane] = true;
        Ok(())
    }

    fn victim(&mut self, plane: Plane) -> Option<Victim> {
        if let Some(victim) = self.collector.victims[plane] {
            return Some(victim);
        }
        if let Some(block) = self.blocks.choose_cold(plane) {
            self.counters.wear.blocks_levelled += 1;
            return Some(Victim::new(block, true, &self.blocks));
        }
        let block = self.blocks.choose_victim(plane)?;
        let valid = self.blocks.table.valid(block);
        if valid == self.blocks.geometry.pages_per_block {
            self.blocks.return_victim(block);
            return None;
        }
        self.collector.victim_pages[valid as usize] += 1;
        Some(Victim::new(block, false, &self.blocks))
    }

    fn collect(
        &mut self,
        plane: Plane,
        Step { pages: mut budget, job }: Step,
        owners: &mut impl Owners,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let Some(mut victim) = self.victim(plane) else { return Ok(()) };
        let urgent = self.blocks.free_blocks(plane) <= self.collector.urgent_blocks;
        let due = if budget > 0 { 0 } else { victim.next_due(self.blocks.geometry.pages_per_block) };
        let first = self.blocks.geometry.page_of_block(victim.block, 0);
        // Pages stay in their partition, or all that collection moves is in one.
        let partition = self.blocks.table.partition(victim.block);
        let (stream, cause) = match victim.levelled {
            true => (Stream::levelled(partition, self.blocks.partitions()), Cause::WearLevelling),
            false => (Stream::gc(self.collector.shared.unwrap_or(partition)), Cause::Gc),
        };
        let op = |kind, ppn, source| FlashOp { kind, ppn, source, cause, urgent, job };
        while self.blocks.table.valid(victim.block) > 0 {
            if budget == 0
                && victim.next_page >= due
                && self.blocks.geometry.begins_flash_page(victim.next_page)
            {
                self.collector.victims[plane] = Some(victim);
                return Ok(());
            }
            let from = self.blocks.geometry.page_of_block(victim.block, victim.next_page);
            victim.next_page += 1;
            let Some(owner) = self.blocks.owner(from) else { continue };
            budget = budget.saturating_sub(1);
            #[cfg(test)]
            let stream = crate::tests::mislaid(stream, self.blocks.partitions());
            let to = match self.blocks.program(plane, stream, owner) {
                Some(to) => to,
                None => return Err(self.full(plane)),
            };
            self.order(op(OpKind::Read, from, NO_PPN), ops)?;
            self.order(op(OpKind::Program, to, from), ops)?;
            if !owners.moved(Moved { owner, from, to, plane }, self) {
                return Err(self.strayed(owner, from));
            }
            self.blocks.invalidate(from);
            self.partitions.moved(partition);
            self.counters.pages.idle_moves += u64::from(job == IDLE_STEP);
        }
        self.collector.victims[plane] = None;
        self.blocks.erase(victim.block, victim.levelled);
        owners.victim_done(plane);
        self.order(op(OpKind::Erase, first, NO_PPN), ops)
    }
}

flashtwin_bits::state!(value Victim { block, next_page, levelled, gain, steps });
flashtwin_bits::state!(Collector { victims, collecting, victim_pages } kept { start_blocks, stop_blocks, urgent_blocks, step_pages, shared });
