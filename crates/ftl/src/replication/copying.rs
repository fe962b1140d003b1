//! Copies made one by one as background jobs, for policies that do not wait for the end of a period.
//!
//! A copy takes two jobs: its content is read in idle time; then the policy places it, and it is
//! programmed in idle time of the unit that receives it. Between the two it is in controller RAM. At most one
//! copy of a content is under way at a time; when it is placed, the content is looked at again, as it may have
//! earned more meanwhile.
//!
//! The paper reads what is copied "from one of the previously-copied places" (RR-SSD III.B). Here it is the one
//! that the read which earned the copy was served from: the redirection found it the least loaded. What was
//! earned meanwhile is read where a read would be served when its turn comes.

use flashtwin_nand::{NO_PPN, Ppn};

use super::replica_room;
use crate::error::FtlError;
use crate::ftl::{Background, Ftl, Map};
use crate::op::{Cause, FlashOp, LoadView, NO_JOB, OpKind};

/// Copies that are wanted or under way.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Contents that have earned a copy since jobs were last begun, and the page to be read for it.
    earned: Vec<(u32, Ppn)>,
    /// By VPN: a copy is wanted or under way.
    copying: Vec<bool>,
}

/// A content of which a page is read to be copied. Its VPN may have become another content's
/// meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyJob {
    pub(super) vpn: u32,
    content: u32,
    pub(super) ppn: Ppn,
}

/// What became of a copy whose page has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Placed,
    /// There is no room for it, or its content no longer earns it.
    Refused,
    /// The page was moved before it was read: it is to be read again.
    Moved,
    /// The content has died.
    Gone,
}

impl Wanted {
    fn copying(&mut self, vpn: u32) -> &mut bool {
        if vpn as usize >= self.copying.len() {
            self.copying.resize(vpn as usize + 1, false);
        }
        &mut self.copying[vpn as usize]
    }

    /// A content has earned a copy. Returns whether one is under way already, after which the content is looked
    /// at again. [`Wanted::serve`] says which of its pages is read.
    pub(super) fn earn(&mut self, vpn: u32) -> bool {
        let under_way = std::mem::replace(self.copying(vpn), true);
        if !under_way {
            self.earned.push((vpn, NO_PPN));
        }
        under_way
    }

    /// The read that may just have earned a copy is served from a page.
    #[inline]
    pub(crate) fn serve(&mut self, ppn: Ppn) {
        if let Some((_, from)) = self.earned.last_mut().filter(|(_, from)| *from == NO_PPN) {
            *from = ppn;
        }
    }
}

impl Ftl {
    /// Begins the background jobs that the reads so far have earned: reads of the pages to be copied;
    /// where tables are on flash, writes those of their pages that gave way. To be called after each
    /// read, and after trims.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    #[inline]
    pub fn begin_jobs(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        self.settle_tables(ops)?;
        match &self.replicator {
            Some(replicator) if !replicator.wanted.earned.is_empty() => self.begin_copies(ops),
            _ => Ok(()),
        }
    }

    fn begin_copies(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        while let Some(wanted) = self.replicator.as_mut().map(|replicator| &mut replicator.wanted) {
            let Some((vpn, from)) = wanted.earned.pop() else { break };
            // Nothing is read that has no place to go.
            if !self.may_fit(vpn) {
                if let Some(replicator) = &mut self.replicator {
                    *replicator.wanted.copying(vpn) = false;
                    replicator.recency.iter_mut().for_each(|recency| recency.forget_owed(vpn));
                }
                continue;
            }
            let (Some(replicator), Map::Content(map)) = (&mut self.replicator, &self.map) else { break };
            let wanted = &mut replicator.wanted;
            // Collection may have moved the page since.
            let ppn = map.copies(vpn).find(|&ppn| ppn == from).unwrap_or(map.home(vpn));
            let work = Background::Copy(CopyJob { vpn, content: map.content(vpn), ppn });
            let Some(job) = self.jobs.begin(work, 1) else {
                *wanted.copying(vpn) = false;
                self.counters.jobs_dropped += 1;
                continue;
            };
            let cause = Cause::Replica;
            let read = FlashOp { kind: OpKind::Read, ppn, source: NO_PPN, cause, urgent: false, job };
            self.order(read, ops)?;
        }
        Ok(())
    }

    /// Whether there is room for a copy of a content, by itself or in place of a replica that matters less.
    fn may_fit(&self, vpn: u32) -> bool {
        let (Some(replicator), Map::Content(map)) = (&self.replicator, &self.map) else { return false };
        if !map.is_live(vpn) {
            return false;
        }
        let budget = replicator.budget_pages;
        match &replicator.recency {
            None => replica_room(map, map.popularity(vpn), budget).is_some(),
            Some(recency) => {
                let below = u16::from(recency.class(vpn)) + 1;
                let victim = map.replicas.least_popular(below);
                map.pages_in_use() < budget || victim.is_some_and(|(victim, _)| victim != vpn)
            }
        }
    }

    /// A page has been read to be copied: places the copy, if it is still earned and fits, and begins the next
    /// if that has been earned meanwhile.
    pub(crate) fn finish_copy(
        &mut self,
        copy: CopyJob,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        let Some(mut replicator) = self.replicator.take() else { return Ok(()) };
        *replicator.wanted.copying(copy.vpn) = false;
        let next = self.least_loaded_copy(copy.vpn, loads);
        let before = self.counters;
        let void = self.read_in_vain(copy);
        let placed = if void.is_some() {
            Ok(false)
        } else if let Some(mut online) = replicator.online.take() {
            let placed = self.place_by_score(copy, &mut replicator, &mut online, loads, ops);
            replicator.online = Some(online);
            placed
        } else if let Some(recency) = replicator.recency.take() {
            let placed = self.place_by_load(copy, &mut replicator, &recency, loads, ops);
            replicator.recency = Some(recency);
            placed
        } else {
            Ok(false)
        };
        self.counters.attribute_to_copies(&before);
        self.replicator = Some(replicator);
        let end = void.unwrap_or(if placed? { End::Placed } else { End::Refused });
        if self.earn_again(copy.vpn, end)
            && let Some(replicator) = &mut self.replicator
        {
            replicator.wanted.serve(next);
        }
        self.begin_copies(ops)
    }

    /// The page of a content that a read would be served from now.
    fn least_loaded_copy(&self, vpn: u32, loads: &LoadView<'_>) -> Ppn {
        match &self.map {
            Map::Content(map) if map.is_live(vpn) => {
                let (home, replicas) = (map.home(vpn), map.replica_ppns(vpn));
                self.redirection.choose(home, replicas, loads, &self.blocks.geometry).ppn
            }
            _ => NO_PPN,
        }
    }

    /// No copy of a content is under way any more: the next one is, if it has been earned. Returns whether it is.
    fn earn_again(&mut self, vpn: u32, end: End) -> bool {
        let chips = self.blocks.geometry.chips();
        let (Some(replicator), Map::Content(map)) = (&mut self.replicator, &self.map) else { return false };
        let held = if map.is_live(vpn) { 1 + map.replica_ppns(vpn).len() as u32 } else { chips };
        let earned = match &mut replicator.recency {
            Some(recency) => recency.take_owed(vpn, end, held < chips),
            // What found no room waits for the next read.
            None => {
                end != End::Refused
                    && map.is_live(vpn)
                    && replicator.degrees.copies(map.popularity(vpn)) > held
            }
        };
        earned && !replicator.wanted.earn(vpn)
    }

    /// Whether a page was read for nothing, and why: one that collection moved meanwhile may have been erased
    /// before its turn came.
    fn read_in_vain(&self, CopyJob { vpn, content, ppn }: CopyJob) -> Option<End> {
        match &self.map {
            Map::Content(map) if map.is_live(vpn) && map.content(vpn) == content => {
                let there = map.copies(vpn).any(|copy| copy == ppn);
                (!there).then_some(End::Moved)
            }
            _ => Some(End::Gone),
        }
    }

    /// Orders the program of a copy that has been entered into the tables.
    pub(super) fn order_copy(
        &mut self,
        plane: u32,
        program: FlashOp,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        // The job of its read is over, so that there is room for another.
        let job = self.jobs.begin(Background::Copied, 1).unwrap_or(NO_JOB);
        self.order(FlashOp { job, ..program }, ops)?;
        self.collect_behind(plane, ops)
    }
}
