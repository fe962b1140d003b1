//! Runs the replication policy: reports reads and deaths, calls it at period ends, makes single copies in idle time.
//!
//! A single copy takes two jobs: its content is read; then the policy places it, and it is programmed. At most one copy
//! of a content is under way at a time. Its source is "one of the previously-copied places" (RR-SSD III.B): the page
//! that served the read which earned it, because redirection found that least loaded.

use flashtwin_bits::By;
use flashtwin_nand::{Geometry, NO_PPN, Ppn};

use super::contract::{CopyContext, ReplicaSpace, Replication, replica_gone};
use super::copy_queue::{CopyJob, CopyQueue, End};
use super::{Parts, Policy, ReplicationConfig, ask};
use crate::content::background::Background;
use crate::content::map::{ContentMap, ContentTables};
use crate::decimal::times;
use crate::error::FtlResult;
use crate::flash::Flash;
use crate::foreign::Foreign;
use crate::ids::{Lpn, NO_VPN, Vpn};
use crate::jobs::Jobs;
use crate::loads::LoadView;
use crate::op::{Cause, FlashOp, NO_JOB};

#[derive(Clone)]
pub(crate) struct Replicator {
    policy: Policy,
    space: ReplicaSpace,
    queue: CopyQueue,
}

impl Replicator {
    /// `None` where no copies are made.
    pub(crate) fn new(
        rules: &ReplicationConfig,
        geometry: &Geometry,
        footprint_pages: u32,
        capacity_pages: u64,
        seed: u64,
        foreign: &Foreign,
    ) -> Option<Self> {
        let policy = rules.policy.build(&Parts { rules, geometry, seed, foreign })?;
        let footprint = u64::from(footprint_pages);
        // Rounded down: with alpha = 0 never a page more than without deduplication. Nor more than
        // the device holds: the host's page is written before copies are dropped for it.
        let budget_pages = footprint.saturating_add(times(footprint, rules.alpha)).min(capacity_pages);
        let space = ReplicaSpace { budget_pages, next_plane: By::new(vec![0; geometry.chips() as usize]) };
        Some(Self { policy, space, queue: CopyQueue::default() })
    }

    pub(crate) fn budget_pages(&self) -> u64 {
        self.space.budget_pages
    }

    pub(crate) fn limit_budget(&mut self, pages: u64) {
        self.space.budget_pages = self.space.budget_pages.min(pages);
    }

    pub(crate) fn lists(&self) -> (u64, u64) {
        ask!(&self.policy, policy => (policy.listed_pages(), policy.bytes()))
    }

    #[inline]
    pub(crate) fn read(&mut self, vpn: Vpn, map: &mut ContentMap, flash: &Flash) -> bool {
        ask!(&mut self.policy, policy => policy.read(vpn, map, &flash.blocks, &mut self.queue))
    }

    #[inline]
    pub(crate) fn serve(&mut self, ppn: Ppn) {
        self.queue.serve(ppn);
    }

    #[inline]
    pub(crate) fn before_leaving(&mut self, lpn: Lpn, map: &ContentMap, flash: &Flash) {
        let vpn = map.vpn_of(lpn);
        if vpn != NO_VPN && map.references(vpn) <= 1 {
            ask!(&mut self.policy, policy => policy.dies(vpn, map, &flash.blocks));
        }
    }

    /// Drops replicas, the least popular first, until first copies and replicas fit the space they share.
    #[inline]
    pub(crate) fn keep_within_budget(&mut self, tables: &mut ContentTables, flash: &mut Flash) {
        while tables.map.replicas.pages() > 0 && tables.map.pages_in_use() > self.space.budget_pages {
            let Some((vpn, _)) = tables.map.replicas.least_popular(256) else { return };
            let map = &mut tables.map;
            if let Some(ppn) = ask!(&mut self.policy, policy => policy.gives_way(vpn, map, &flash.blocks)) {
                replica_gone(vpn, ppn, tables, flash);
            }
        }
    }

    /// A period ends. Work set off by copies is counted as such.
    pub(crate) fn end_period(
        &mut self,
        tables: &mut ContentTables,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let before = flash.counters;
        let mut context = CopyContext { tables, flash, space: &mut self.space, ops };
        let outcome = ask!(&mut self.policy, policy => policy.end_period(&mut context));
        flash.counters.attribute_to_copies(&before);
        outcome
    }

    #[inline]
    pub(crate) fn begin_copies(
        &mut self,
        map: &ContentMap,
        jobs: &mut Jobs<Background>,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        if self.queue.is_empty() { Ok(()) } else { self.begin_queued(map, jobs, flash, ops) }
    }

    fn begin_queued(
        &mut self,
        map: &ContentMap,
        jobs: &mut Jobs<Background>,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        while let Some((vpn, from)) = self.queue.pop() {
            // Nothing is read that has no place to go.
            let budget_pages = self.space.budget_pages;
            if !(map.is_live(vpn) && ask!(&self.policy, policy => policy.may_fit(vpn, map, budget_pages))) {
                self.queue.done(vpn);
                ask!(&mut self.policy, policy => policy.found_no_room(vpn));
                continue;
            }
            // Collection may have moved the page since.
            let ppn = map.copies(vpn).find(|&ppn| ppn == from).unwrap_or(map.home(vpn));
            let work = Background::Copy(CopyJob { vpn, content: map.content(vpn), ppn });
            let Some(job) = jobs.begin(work, 1) else {
                self.queue.done(vpn);
                flash.counters.spread.jobs_dropped += 1;
                continue;
            };
            flash.order(FlashOp { job, ..FlashOp::read(ppn, Cause::Replica) }, ops)?;
        }
        Ok(())
    }

    /// Places a copy whose page has been read, and begins the next if that has been earned meanwhile.
    pub(crate) fn finish_copy(
        &mut self,
        copy: CopyJob,
        tables: &mut ContentTables,
        jobs: &mut Jobs<Background>,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        self.queue.done(copy.vpn);
        let next = served_from(copy.vpn, &tables.map, flash, loads);
        let before = flash.counters;
        let end = match read_in_vain(copy, &tables.map) {
            Some(end) => Ok(end),
            None => self.place(copy, tables, jobs, flash, loads, ops),
        };
        flash.counters.attribute_to_copies(&before);
        if self.earn_again(copy.vpn, end?, &tables.map) {
            self.queue.serve(next);
        }
        self.begin_queued(&tables.map, jobs, flash, ops)
    }

    fn place(
        &mut self,
        copy: CopyJob,
        tables: &mut ContentTables,
        jobs: &mut Jobs<Background>,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<End> {
        let mut context = CopyContext { tables, flash, space: &mut self.space, ops };
        let page = ask!(&mut self.policy, policy => policy.place(copy, &mut context, loads))?;
        let Some(page) = page else { return Ok(End::Refused) };
        // The job of its read is over, so that there is room for another.
        let job = jobs.begin(Background::Copied, 1).unwrap_or(NO_JOB);
        flash.order(FlashOp { job, ..page.program }, ops)?;
        flash.collect_behind(page.plane, tables, ops)?;
        Ok(End::Placed)
    }

    /// The copy of `vpn` under way has ended. Queues the next if one has been earned; returns whether it did.
    fn earn_again(&mut self, vpn: Vpn, end: End, map: &ContentMap) -> bool {
        let held = map.is_live(vpn).then(|| map.pages_of(vpn));
        ask!(&mut self.policy, policy => policy.earns_again(vpn, end, map, held)) && !self.queue.earn(vpn)
    }

    #[cfg(test)]
    pub(crate) fn recency(&self) -> Option<&super::PriorityLru> {
        match &self.policy {
            Policy::PriorityLru(policy) => Some(policy),
            _ => None,
        }
    }

    pub(crate) fn audit(&self, map: &ContentMap, flash: &Flash) -> Result<(), String> {
        ask!(&self.policy, policy => policy.audit(map, &flash.blocks))
    }
}

fn served_from(vpn: Vpn, map: &ContentMap, flash: &Flash, loads: &LoadView<'_>) -> Ppn {
    match map.is_live(vpn) {
        true => flash.serve(map.home(vpn), map.replica_ppns(vpn), loads).ppn,
        false => NO_PPN,
    }
}

/// Whether a page was read for nothing, and why: one that collection moved may have been erased before its turn.
fn read_in_vain(CopyJob { vpn, content, ppn }: CopyJob, map: &ContentMap) -> Option<End> {
    if !map.is_live(vpn) || map.content(vpn) != content {
        return Some(End::Gone);
    }
    let there = map.copies(vpn).any(|copy| copy == ppn);
    (!there).then_some(End::Moved)
}

flashtwin_bits::state!(Replicator { policy, space, queue });
