//! Deduplication after the write: pages without a fingerprint are read in idle time and merged with a known equal.
//!
//! Source: CAFTL (Chen et al., FAST 2011). Such a page belongs to one logical page, so merging needs no search.

use std::collections::VecDeque;

use flashtwin_bits::By;
use flashtwin_nand::{NO_PPN, Ppn};

use super::background::{Background, Candidate};
use super::map::ContentMap;
use crate::error::FtlResult;
use crate::flash::Flash;
#[cfg(test)]
use crate::ids::NO_VPN;
use crate::ids::{Lpn, Vpn};
use crate::jobs::Jobs;
use crate::op::{Cause, FlashOp};
#[cfg(test)]
use crate::sabotage::sabotaged;

/// No ticket: the page has a fingerprint.
const NONE: u32 = 0;

/// Pages without a fingerprint. 4 bytes a VPN, 16 a page that waits.
#[derive(Default)]
pub(crate) struct OutOfLine {
    waiting: VecDeque<Candidate>,
    /// By VPN; tells a page from an earlier one of the same number.
    tickets: By<Vpn, Vec<u32>>,
    last_ticket: u32,
    /// Length of the queue at which pages that died while they waited are removed.
    prune_at: usize,
}

impl OutOfLine {
    fn is_waiting(&self, map: &ContentMap, page: &Candidate) -> bool {
        map.vpn_of(page.lpn) == page.vpn && self.tickets[page.vpn] == page.ticket
    }

    pub(crate) fn written(&mut self, map: &ContentMap, lpn: Lpn, vpn: Vpn, fingerprinted: bool) {
        if self.tickets.len() <= vpn.index() {
            self.tickets.resize(vpn.index() + 1, NONE);
        }
        self.tickets[vpn] = NONE;
        if fingerprinted {
            return;
        }
        self.last_ticket = self.last_ticket.wrapping_add(1).max(1);
        self.tickets[vpn] = self.last_ticket;
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

    fn next(&mut self, map: &ContentMap) -> Option<Candidate> {
        std::iter::from_fn(|| self.waiting.pop_front())
            .find(|page| map.vpn_of(page.lpn) == page.vpn && self.tickets[page.vpn] == page.ticket)
    }

    pub(crate) fn waiting(&self, map: &ContentMap) -> u64 {
        self.waiting.iter().filter(|page| self.is_waiting(map, page)).count() as u64
    }

    pub(crate) fn step(
        &mut self,
        map: &ContentMap,
        jobs: &mut Jobs<Background>,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let Some(next) = self.next(map) else { return Ok(()) };
        let ppn = map.home(next.vpn);
        match jobs.begin(Background::Fingerprint(Candidate { ppn, ..next }), 1) {
            Some(job) => flash.order(read(ppn, job), ops),
            None => {
                self.waiting.push_front(next);
                Ok(())
            }
        }
    }

    /// The read of `page` is done. Returns whether the page still holds the data it was queued for. A page that
    /// collection moved is queued again, because its old place may have been erased before the read.
    pub(crate) fn read_in_time(&mut self, map: &mut ContentMap, page: Candidate) -> bool {
        if !self.is_waiting(map, &page) {
            #[cfg(test)]
            plant_late_merge(map, page);
            return false;
        }
        if map.home(page.vpn) != page.ppn {
            self.waiting.push_back(page);
            return false;
        }
        self.tickets[page.vpn] = NONE;
        true
    }

    #[cfg(test)]
    pub(crate) fn by_hand(
        &mut self,
        budget: u32,
        map: &ContentMap,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
        pages: &mut Vec<Candidate>,
    ) -> FtlResult {
        for _ in 0..budget {
            let Some(next) = self.next(map) else { return Ok(()) };
            let ppn = map.home(next.vpn);
            flash.order(read(ppn, crate::op::NO_JOB), ops)?;
            pages.push(Candidate { ppn, ..next });
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.tickets.len() as u64 * 4 + (self.waiting.len() * size_of::<Candidate>()) as u64
    }
}

#[cfg(test)]
fn plant_late_merge(map: &mut ContentMap, page: Candidate) {
    let known = map.fingerprints.peek(map.content(page.vpn));
    let harms = known != NO_VPN && map.vpn_of(page.lpn) != known;
    if sabotaged!(LateMerge if harms) {
        map.point(page.lpn, known);
    }
}

fn read(ppn: Ppn, job: u32) -> FlashOp {
    FlashOp { job, ..FlashOp::read(ppn, Cause::Fingerprint) }
}

flashtwin_bits::state!(OutOfLine { waiting, tickets, last_ticket, prune_at });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Entries, EvictionPolicy, FingerprintStore, History};
    use crate::foreign::Foreign;
    use crate::ids::Content;

    fn contents() -> ContentMap {
        let fingerprints =
            FingerprintStore::new(9, Entries::Unlimited, EvictionPolicy::LruWrites, &Foreign::default());
        ContentMap::new(400, fingerprints, History::new(9, false), 1)
    }

    fn write(late: &mut OutOfLine, map: &mut ContentMap, lpn: u32) {
        let vpn = map.create(Content::new(0));
        map.point(Lpn::new(lpn), vpn);
        late.written(map, Lpn::new(lpn), vpn, false);
    }

    #[test]
    fn a_page_takes_its_number_and_its_place_in_the_queue() {
        let (mut late, mut map) = (OutOfLine::default(), contents());
        assert_eq!((late.waiting(&map), late.bytes()), (0, 0));
        (0..3).for_each(|lpn| write(&mut late, &mut map, lpn));
        assert_eq!((late.waiting(&map), late.bytes()), (3, 3 * 4 + 3 * 16));
        write(&mut late, &mut map, 0);
        assert_eq!((late.waiting(&map), late.bytes()), (3, 4 * 4 + 4 * 16));
        let vpn = map.create(Content::new(1));
        map.point(Lpn::new(9), vpn);
        late.written(&map, Lpn::new(9), vpn, true);
        assert_eq!(
            (late.waiting(&map), late.bytes()),
            (3, 4 * 4 + 4 * 16),
            "it is known, under a number free again"
        );
    }

    #[test]
    fn stale_pages_leave_when_they_fill_half_of_the_queue() {
        for alive in [1, 40, 200] {
            let (mut late, mut map) = (OutOfLine::default(), contents());
            (0..alive).for_each(|lpn| write(&mut late, &mut map, lpn));
            let mut passes = Vec::new();
            for _ in 0..4_000 {
                let before = late.waiting.len();
                write(&mut late, &mut map, 0);
                if late.waiting.len() <= before {
                    assert_eq!(late.waiting.len(), alive as usize, "only those that live stay");
                    passes.push(before + 1);
                }
            }
            assert_eq!(late.waiting(&map), u64::from(alive));
            let due = 2 * alive as usize + 64;
            assert!(
                passes.len() > 5 && passes[1..].iter().all(|&length| length == due),
                "{alive}: {passes:?}"
            );
        }
    }
}
