//! Priority-LRU: copies of pages that were read recently and often.
//!
//! Source: PBLRU (He et al.) as the RR-SSD paper compares itself with it (IV.B.3, Figure 11): physical pages of
//! a content-addressed SSD are replicated by the recency and frequency of their reads, within the same space as
//! RR-SSD's copies. Neither paper's text that was at hand gives the rules, so those here are ours:
//!
//! * Pages lie in classes 1 to N (N chips), each in order of recency. A read moves its page to the recent
//!   end of the next higher class; in the highest, to its recent end.
//! * A class holds `class_pages` pages. The least recent one falls off and enters the class of half the number,
//!   at its recent end; from the first it leaves the classes.
//! * A page that a read brings into a class above the first gets one more copy, up to one on each chip, on the
//!   least loaded chip. Copies of a page are made one after another; those earned while one is under way follow.
//!   Room is made by the least recent replica of the lowest class, no higher than its own.
//! * A page that nobody points to any more is gone from the classes, and its copies with it.

use super::copying::End;
use super::placement::ChipSet;
use super::{CopyJob, NewCopy, Replicator, chips_in_use};
use crate::error::FtlError;
use crate::ftl::{Ftl, Map};
use crate::mapping::ContentMap;
use crate::op::{FlashOp, LoadView};

const NONE: u32 = u32::MAX;

/// Where a page stands. 12 bytes.
#[derive(Clone, Copy)]
struct Place {
    /// 0: in none.
    class: u8,
    /// Copies earned while another was under way.
    owed: u8,
    previous: u32,
    next: u32,
}

/// The place of a page that was never read.
const NOWHERE: Place = Place { class: 0, owed: 0, previous: NONE, next: NONE };

/// Pages (VPNs) in their classes: a list each, the least recent first.
pub(crate) struct PriorityLru {
    places: Vec<Place>,
    /// By class; 0 unused.
    heads: Vec<u32>,
    tails: Vec<u32>,
    lengths: Vec<u32>,
    class_pages: u32,
}

impl PriorityLru {
    pub(super) fn new(chips: u32, class_pages: u32) -> Self {
        let classes = 1 + chips.min(255) as usize;
        Self {
            places: Vec::new(),
            heads: vec![NONE; classes],
            tails: vec![NONE; classes],
            lengths: vec![0; classes],
            class_pages,
        }
    }

    /// The class of a page; 0 for none.
    #[inline]
    pub(crate) fn class(&self, vpn: u32) -> u8 {
        self.places.get(vpn as usize).map_or(0, |place| place.class)
    }

    fn unlink(&mut self, vpn: u32) {
        let Place { class, previous, next, .. } = self.places[vpn as usize];
        let class = class as usize;
        match previous {
            NONE => self.heads[class] = next,
            previous => self.places[previous as usize].next = next,
        }
        match next {
            NONE => self.tails[class] = previous,
            next => self.places[next as usize].previous = previous,
        }
        self.lengths[class] -= 1;
        self.places[vpn as usize].class = 0;
    }

    fn link(&mut self, vpn: u32, class: u8) {
        let tail = std::mem::replace(&mut self.tails[class as usize], vpn);
        let owed = self.places[vpn as usize].owed;
        self.places[vpn as usize] = Place { class, owed, previous: tail, next: NONE };
        match tail {
            NONE => self.heads[class as usize] = vpn,
            tail => self.places[tail as usize].next = vpn,
        }
        self.lengths[class as usize] += 1;
    }

    /// A page was read. `moved` is told of every page that thereby entered a class, and which (0:
    /// none any more), in order; the first is the page itself.
    #[inline]
    pub(super) fn read(&mut self, vpn: u32, mut moved: impl FnMut(u32, u8)) {
        if vpn as usize >= self.places.len() {
            self.places.resize(vpn as usize + 1, NOWHERE);
        }
        let highest = self.heads.len() - 1;
        let old = self.places[vpn as usize].class;
        let class = (old as usize + 1).min(highest) as u8;
        if old > 0 {
            self.unlink(vpn);
        }
        self.link(vpn, class);
        moved(vpn, class);
        // Where a page falls to, another may fall off in turn.
        let mut full = class;
        while full > 0 && self.lengths[full as usize] > self.class_pages {
            let least_recent = self.heads[full as usize];
            self.unlink(least_recent);
            full /= 2;
            if full > 0 {
                self.link(least_recent, full);
            }
            moved(least_recent, full);
        }
    }

    /// A page is no more.
    #[inline]
    pub(super) fn forget(&mut self, vpn: u32) {
        if self.class(vpn) > 0 {
            self.unlink(vpn);
        }
        self.forget_owed(vpn);
    }

    /// Copies that a page has earned are not made.
    pub(super) fn forget_owed(&mut self, vpn: u32) {
        if let Some(place) = self.places.get_mut(vpn as usize) {
            place.owed = 0;
        }
    }

    /// A page has earned a copy while another of it is under way.
    fn owe(&mut self, vpn: u32) {
        let owed = &mut self.places[vpn as usize].owed;
        *owed = owed.saturating_add(1);
    }

    /// A copy is no longer under way: whether another is to be begun, where there is a chip left for it
    /// (`open`). One that was refused is forgotten with all that are owed.
    pub(super) fn take_owed(&mut self, vpn: u32, end: End, open: bool) -> bool {
        let Some(place) = self.places.get_mut(vpn as usize) else { return false };
        let owed = match end {
            _ if !open => 0,
            End::Refused => 0,
            End::Moved => place.owed.saturating_add(1),
            End::Placed | End::Gone => place.owed,
        };
        place.owed = owed.saturating_sub(1);
        owed > 0
    }

    /// Pages in the classes.
    pub(crate) fn pages(&self) -> u64 {
        self.lengths.iter().map(|&length| u64::from(length)).sum()
    }

    /// Bytes of the table here.
    pub(crate) fn bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<Place>() + self.heads.len() * 12) as u64
    }

    /// The pages of a class, the least recent first.
    pub(crate) fn pages_of(&self, class: u8) -> impl Iterator<Item = u32> {
        let first = self.heads[class as usize];
        let next = |&vpn: &u32| Some(self.places[vpn as usize].next).filter(|&next| next != NONE);
        std::iter::successors(Some(first).filter(|&vpn| vpn != NONE), next)
    }

    /// Compares the classes with the pages that live and the replicas that they have.
    fn audit(&self, map: &ContentMap) -> Result<(), String> {
        let mut listed = 0;
        for class in 1..self.heads.len() {
            let mut length = 0;
            for vpn in self.pages_of(class as u8) {
                length += 1;
                if usize::from(self.class(vpn)) != class || !map.is_live(vpn) {
                    return Err(format!("VPN {vpn} is listed in class {class} of priority-LRU"));
                }
            }
            if length != self.lengths[class] || length > self.class_pages {
                let (counted, most) = (self.lengths[class], self.class_pages);
                return Err(format!("class {class} has {length} pages, counts {counted}, may have {most}"));
            }
            listed += u64::from(length);
        }
        let placed = self.places.iter().filter(|place| place.class > 0).count() as u64;
        if placed != listed {
            return Err(format!("{listed} pages are listed in classes, {placed} have one"));
        }
        for (vpn, set) in map.replicas.live() {
            if map.replicas.level(set) != self.class(vpn) {
                let level = map.replicas.level(set);
                let class = self.class(vpn);
                return Err(format!("VPN {vpn} is in class {class}, its replicas are listed under {level}"));
            }
        }
        Ok(())
    }
}

impl Replicator {
    /// A page was read: moves it and those that fall, with their replicas; what it has earned is noted.
    #[inline]
    pub(super) fn note_recency(&mut self, vpn: u32, map: &mut ContentMap, chips: u32) {
        let Some(recency) = &mut self.recency else { return };
        recency.read(vpn, |moved, class| {
            #[cfg(test)]
            if map.replica_level(moved).is_some_and(|level| level != class)
                && crate::tests::planted(crate::tests::Bug::KeptClass)
            {
                return;
            }
            map.relist_replicas(moved, class);
        });
        let held = 1 + map.replica_ppns(vpn).len() as u32;
        if recency.class(vpn) > 1 && held < chips && self.wanted.earn(vpn) {
            recency.owe(vpn);
        }
    }
}

impl Ftl {
    /// Places a copy on the least loaded chip without one, among equals the first after the home chip, if there
    /// is room; returns whether it did.
    pub(super) fn place_by_load(
        &mut self,
        CopyJob { vpn, ppn, .. }: CopyJob,
        replicator: &mut Replicator,
        recency: &PriorityLru,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<bool, FtlError> {
        let Map::Content(map) = &self.map else { return Ok(false) };
        let class = recency.class(vpn);
        if class < 2 {
            return Ok(false);
        }
        let holds = chips_in_use(map, &self.blocks, vpn);
        let home = self.blocks.chip_of_page(map.home(vpn));
        let Some(chip) = self.least_loaded_without(&holds, home, loads) else { return Ok(false) };
        if map.pages_in_use() >= replicator.budget_pages {
            match map.replicas.least_popular(u16::from(class) + 1) {
                Some((victim, _)) if victim != vpn => self.drop_replica(victim),
                _ => return Ok(false),
            }
        }
        let Map::Content(map) = &self.map else { return Ok(false) };
        let source = map.copies(vpn).position(|copy| copy == ppn).unwrap_or(0);
        let copy = NewCopy { vpn, source, chip, level: class };
        let program = self.add_copy(copy, &mut replicator.next_plane, ops)?;
        match program {
            Some((plane, program)) => self.order_copy(plane, program, ops).map(|()| true),
            None => Ok(false),
        }
    }

    fn least_loaded_without(&self, holds: &ChipSet, home: u32, loads: &LoadView<'_>) -> Option<u32> {
        let chips = self.blocks.geometry.chips();
        let per_chip = self.blocks.geometry.planes_per_chip();
        let has_room = |chip| (chip * per_chip..(chip + 1) * per_chip).any(|p| self.blocks.has_room(p));
        (1..chips)
            .map(|step| (home + step) % chips)
            .filter(|&chip| !holds.contains(chip) && has_room(chip))
            .min_by_key(|&chip| loads.chip[chip as usize])
    }

    /// Pages in the classes of priority-LRU.
    pub(crate) fn listed_pages(&self) -> u64 {
        self.recency().map_or(0, PriorityLru::pages)
    }

    pub(crate) fn recency(&self) -> Option<&PriorityLru> {
        self.replicator.as_ref().and_then(|replicator| replicator.recency.as_ref())
    }

    pub(crate) fn audit_recency(&self) -> Result<(), String> {
        match (&self.map, self.recency()) {
            (Map::Content(map), Some(recency)) => recency.audit(map),
            _ => Ok(()),
        }
    }
}
