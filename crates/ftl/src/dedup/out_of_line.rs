//! Deduplication after the write: pages that were written without a fingerprint are read in idle
//! time, fingerprinted, and merged with the page that is known to hold the same.
//!
//! Source: CAFTL (Chen et al., FAST 2011). A page without a fingerprint belongs to one logical
//! page (nothing else can have found it), which its spare area names: merging needs no search.

use std::collections::VecDeque;

use flashtwin_nand::{NO_PPN, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::FtlError;
use crate::ftl::{Background, Ftl, Map};
use crate::mapping::{ContentMap, NO_VPN};
use crate::op::{Cause, FlashOp, OpKind};

/// What is deduplicated after it was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfLinePolicy {
    /// Nothing.
    #[default]
    None,
    /// Pages that were written without a fingerprint, the oldest first, in idle time (CAFTL).
    Unhashed,
}

/// A page that was written without a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    lpn: u32,
    pub(crate) vpn: u32,
    /// Which of the writes that ever gave this VPN to a page it was.
    ticket: u32,
    /// Where it is read.
    pub(crate) ppn: Ppn,
}

/// No ticket: the page has a fingerprint.
const NONE: u32 = 0;

/// Pages without a fingerprint. 4 bytes a VPN, 16 a page that waits.
#[derive(Default)]
pub(crate) struct OutOfLine {
    waiting: VecDeque<Candidate>,
    /// By VPN; tells a page from an earlier one of the same number.
    tickets: Vec<u32>,
    last_ticket: u32,
    /// At this length, those that died meanwhile are taken out.
    prune_at: usize,
}

impl OutOfLine {
    fn is_waiting(&self, map: &ContentMap, page: &Candidate) -> bool {
        map.vpn_of(page.lpn) == page.vpn && self.tickets[page.vpn as usize] == page.ticket
    }

    /// `lpn` has been written to a page of its own, `vpn`.
    pub(crate) fn written(&mut self, map: &ContentMap, lpn: u32, vpn: u32, fingerprinted: bool) {
        if self.tickets.len() <= vpn as usize {
            self.tickets.resize(vpn as usize + 1, NONE);
        }
        self.tickets[vpn as usize] = NONE;
        if fingerprinted {
            return;
        }
        self.last_ticket = self.last_ticket.wrapping_add(1).max(1);
        self.tickets[vpn as usize] = self.last_ticket;
        self.waiting.push_back(Candidate { lpn, vpn, ticket: self.last_ticket, ppn: NO_PPN });
        // Pages overwritten while they wait must not pile up: at each pass half of them are gone
        // or the queue may grow to twice its length.
        if self.waiting.len() >= self.prune_at {
            let mut waiting = std::mem::take(&mut self.waiting);
            waiting.retain(|page| self.is_waiting(map, page));
            self.prune_at = 2 * waiting.len() + 64;
            self.waiting = waiting;
        }
    }

    /// The page that has waited longest, of those that are still what they were.
    fn next(&mut self, map: &ContentMap) -> Option<Candidate> {
        std::iter::from_fn(|| self.waiting.pop_front())
            .find(|page| map.vpn_of(page.lpn) == page.vpn && self.tickets[page.vpn as usize] == page.ticket)
    }

    /// Pages that wait to be read.
    fn waiting(&self, map: &ContentMap) -> u64 {
        self.waiting.iter().filter(|page| self.is_waiting(map, page)).count() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.tickets.len() as u64 * 4 + (self.waiting.len() * size_of::<Candidate>()) as u64
    }
}

/// What forgetting to look whether the page died meanwhile would do.
#[cfg(test)]
fn plant_late_merge(map: &mut ContentMap, page: Candidate) {
    let known = map.fingerprints.peek(map.content(page.vpn));
    let harms = known != NO_VPN && map.vpn_of(page.lpn) != known;
    if harms && crate::tests::planted(crate::tests::Bug::LateMerge) {
        map.point(page.lpn, known);
    }
}

impl Ftl {
    /// Begins a background job for the page that has waited longest for its fingerprint: a read, of
    /// which [`Ftl::job_done`] tells.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub(crate) fn dedup_step(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        let (Some(late), Map::Content(map)) = (&mut self.out_of_line, &self.map) else { return Ok(()) };
        let Some(next) = late.next(map) else { return Ok(()) };
        let ppn = map.home(next.vpn);
        let Some(job) = self.jobs.begin(Background::Fingerprint(Candidate { ppn, ..next }), 1) else {
            late.waiting.push_front(next);
            return Ok(());
        };
        let (kind, cause) = (OpKind::Read, Cause::Fingerprint);
        self.order(FlashOp { kind, ppn, source: NO_PPN, cause, urgent: false, job }, ops)
    }

    /// Orders reads as [`Ftl::dedup_step`] does, up to `budget`, for a test that says itself when they
    /// are done.
    #[cfg(test)]
    pub(crate) fn dedup_by_hand(
        &mut self,
        budget: u32,
        ops: &mut Vec<FlashOp>,
        pages: &mut Vec<Candidate>,
    ) -> Result<(), FtlError> {
        for _ in 0..budget {
            let (Some(late), Map::Content(map)) = (&mut self.out_of_line, &self.map) else { return Ok(()) };
            let Some(next) = late.next(map) else { return Ok(()) };
            let (kind, ppn, cause) = (OpKind::Read, map.home(next.vpn), Cause::Fingerprint);
            let job = crate::op::NO_JOB;
            self.order(FlashOp { kind, ppn, source: NO_PPN, cause, urgent: false, job }, ops)?;
            pages.push(Candidate { ppn, ..next });
        }
        Ok(())
    }

    /// A page ordered by [`Ftl::dedup_step`] has been read: its LPN is pointed at the page that is
    /// known to hold the same, or else its content is entered in the fingerprint store. Nothing
    /// happens if the page died meanwhile; one that was moved waits again, since what was read may
    /// have been erased before.
    pub(crate) fn fingerprint_read(&mut self, page: Candidate) {
        let (Some(late), Map::Content(map)) = (&mut self.out_of_line, &mut self.map) else { return };
        if !late.is_waiting(map, &page) {
            #[cfg(test)]
            plant_late_merge(map, page);
            return;
        }
        if map.home(page.vpn) != page.ppn {
            late.waiting.push_back(page);
            return;
        }
        self.counters.hashes_out_of_line += 1;
        late.tickets[page.vpn as usize] = NONE;
        match map.fingerprints.peek(map.content(page.vpn)) {
            NO_VPN => map.enter(page.vpn),
            known => {
                self.counters.duplicates_out_of_line += 1;
                self.touch_lpn(page.lpn);
                self.touch_vpn(known);
                self.point_content(page.lpn, known);
            }
        }
    }

    /// Pages written without a fingerprint that wait to be read.
    pub fn unhashed_pages(&self) -> u64 {
        match (&self.out_of_line, &self.map) {
            (Some(late), Map::Content(map)) => late.waiting(map),
            _ => 0,
        }
    }
}
