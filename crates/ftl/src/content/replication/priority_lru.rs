//! Priority-LRU: copies of pages that were read recently and often.
//!
//! Source: PBLRU (He et al.) as the RR-SSD paper compares itself with it (IV.B.3, Figure 11). The papers that we have
//! do not give the rules, so these are ours:
//!
//! * Pages lie in classes 1 to N (N chips) in order of recency. A read moves its page to the next higher class.
//! * A class holds `class_pages` pages. The least recent one falls to the class of half the number, or out of class 1.
//! * A read into a class above the first earns a copy, one at a time, up to one on each chip, on the least loaded one.
//!   Space is made by the least recent replica of the lowest class, no higher than its own.
//! * A page without references leaves the classes, and its copies are dropped.

use flashtwin_bits::{By, Roomy};
use flashtwin_nand::Chip;

use super::contract::{CopyContext, NewCopy, NewPage, Replication, chips_in_use};
use super::copy_queue::{CopyJob, CopyQueue, End};
use super::placement::ChipSet;
use crate::content::map::ContentMap;
use crate::error::FtlResult;
use crate::flash::blocks::Blocks;
use crate::ids::{NO_VPN, Vpn};
use crate::loads::LoadView;
use crate::sabotage::sabotaged;

const NONE: Vpn = NO_VPN;

/// Where a page stands. 12 bytes.
#[derive(Clone, Copy)]
struct ClassEntry {
    /// 0: in none.
    class: u8,
    /// Copies earned while another was under way.
    owed: u8,
    previous: Vpn,
    next: Vpn,
}

const NOWHERE: ClassEntry = ClassEntry { class: 0, owed: 0, previous: NONE, next: NONE };

#[derive(Clone)]
pub(crate) struct PriorityLru {
    places: By<Vpn, Roomy<ClassEntry>>,
    /// By class; 0 unused.
    heads: Vec<Vpn>,
    tails: Vec<Vpn>,
    lengths: Vec<u32>,
    class_pages: u32,
    chips: u32,
}

impl PriorityLru {
    pub(super) fn new(chips: u32, class_pages: u32) -> Self {
        let classes = 1 + chips.min(255) as usize;
        Self {
            places: By::default(),
            heads: vec![NONE; classes],
            tails: vec![NONE; classes],
            lengths: vec![0; classes],
            class_pages,
            chips,
        }
    }

    #[inline]
    pub(crate) fn class(&self, vpn: Vpn) -> u8 {
        self.places.get(vpn).map_or(0, |place| place.class)
    }

    fn unlink(&mut self, vpn: Vpn) {
        let ClassEntry { class, previous, next, .. } = self.places[vpn];
        let class = class as usize;
        match previous {
            NONE => self.heads[class] = next,
            previous => self.places[previous].next = next,
        }
        match next {
            NONE => self.tails[class] = previous,
            next => self.places[next].previous = previous,
        }
        self.lengths[class] -= 1;
        self.places[vpn].class = 0;
    }

    fn link(&mut self, vpn: Vpn, class: u8) {
        let tail = std::mem::replace(&mut self.tails[class as usize], vpn);
        let owed = self.places[vpn].owed;
        self.places[vpn] = ClassEntry { class, owed, previous: tail, next: NONE };
        match tail {
            NONE => self.heads[class as usize] = vpn,
            tail => self.places[tail].next = vpn,
        }
        self.lengths[class as usize] += 1;
    }

    /// A page was read. Calls `moved(page, class)` for it and every page that it pushes down. Class 0: out of all.
    #[inline]
    fn note_read(&mut self, vpn: Vpn, mut moved: impl FnMut(Vpn, u8)) {
        if vpn.index() >= self.places.len() {
            self.places.list.resize(vpn.index() + 1, NOWHERE);
        }
        let highest = self.heads.len() - 1;
        let old = self.places[vpn].class;
        let class = (old as usize + 1).min(highest) as u8;
        if old > 0 {
            self.unlink(vpn);
        }
        self.link(vpn, class);
        moved(vpn, class);
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

    #[inline]
    fn forget(&mut self, vpn: Vpn) {
        if self.class(vpn) > 0 {
            self.unlink(vpn);
        }
        self.forget_owed(vpn);
    }

    fn forget_owed(&mut self, vpn: Vpn) {
        if let Some(place) = self.places.get_mut(vpn) {
            place.owed = 0;
        }
    }

    fn owe(&mut self, vpn: Vpn) {
        let owed = &mut self.places[vpn].owed;
        *owed = owed.saturating_add(1);
    }

    /// A copy has ended: whether to begin another, if a chip is left (`open`). A refused one cancels all that are owed.
    fn take_owed(&mut self, vpn: Vpn, end: End, open: bool) -> bool {
        let Some(place) = self.places.get_mut(vpn) else { return false };
        let owed = match end {
            _ if !open => 0,
            End::Refused => 0,
            End::Moved => place.owed.saturating_add(1),
            End::Placed | End::Gone => place.owed,
        };
        place.owed = owed.saturating_sub(1);
        owed > 0
    }

    fn pages(&self) -> u64 {
        self.lengths.iter().map(|&length| u64::from(length)).sum()
    }

    pub(crate) fn pages_of(&self, class: u8) -> impl Iterator<Item = Vpn> {
        let first = self.heads[class as usize];
        let next = |&vpn: &Vpn| Some(self.places[vpn].next).filter(|&next| next != NONE);
        std::iter::successors(Some(first).filter(|&vpn| vpn != NONE), next)
    }

    fn audit_classes(&self, map: &ContentMap) -> Result<(), String> {
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

impl Replication for PriorityLru {
    const COUNTS_POPULARITY: bool = false;
    const COPIES_AT_PERIOD_ENDS: bool = false;

    #[inline]
    fn read(&mut self, vpn: Vpn, map: &mut ContentMap, blocks: &Blocks, queue: &mut CopyQueue) -> bool {
        let first = map.count_read(vpn);
        self.note_read(vpn, |moved, class| {
            if !sabotaged!(KeptClass if map.replica_level(moved).is_some_and(|level| level != class)) {
                map.relist_replicas(moved, class);
            }
        });
        let held = map.pages_of(vpn);
        if self.class(vpn) > 1 && held < blocks.geometry.chips() && queue.earn(vpn) {
            self.owe(vpn);
        }
        first
    }

    #[inline]
    fn dies(&mut self, vpn: Vpn, _map: &ContentMap, _blocks: &Blocks) {
        self.forget(vpn);
    }

    fn end_period(&mut self, _context: &mut CopyContext<'_>) -> FtlResult {
        Ok(())
    }

    fn may_fit(&self, vpn: Vpn, map: &ContentMap, budget_pages: u64) -> bool {
        let victim = map.replicas.least_popular(u16::from(self.class(vpn)) + 1);
        map.pages_in_use() < budget_pages || victim.is_some_and(|(victim, _)| victim != vpn)
    }

    fn found_no_room(&mut self, vpn: Vpn) {
        self.forget_owed(vpn);
    }

    /// On the least loaded chip without one, among equals the first after the home chip, if there is room.
    fn place(
        &mut self,
        CopyJob { vpn, ppn, .. }: CopyJob,
        context: &mut CopyContext<'_>,
        loads: &LoadView<'_>,
    ) -> FtlResult<Option<NewPage>> {
        let class = self.class(vpn);
        if class < 2 {
            return Ok(None);
        }
        let (map, blocks) = (&context.tables.map, &context.flash.blocks);
        let holds = chips_in_use(map, blocks, vpn);
        let home = blocks.chip_of_page(map.home(vpn));
        let Some(chip) = least_loaded_without(&holds, home, blocks, loads) else { return Ok(None) };
        if map.pages_in_use() >= context.space.budget_pages {
            match map.replicas.least_popular(u16::from(class) + 1) {
                Some((victim, _)) if victim != vpn => context.drop_replica(victim),
                _ => return Ok(None),
            }
        }
        let source = context.tables.map.copies(vpn).position(|copy| copy == ppn).unwrap_or(0);
        context.add(NewCopy { vpn, source, chip, level: class })
    }

    fn earns_again(&mut self, vpn: Vpn, end: End, _map: &ContentMap, held: Option<u32>) -> bool {
        let open = held.is_some_and(|held| held < self.chips);
        self.take_owed(vpn, end, open)
    }

    fn audit(&self, map: &ContentMap, _blocks: &Blocks) -> Result<(), String> {
        self.audit_classes(map)
    }

    fn listed_pages(&self) -> u64 {
        self.pages()
    }

    fn bytes(&self) -> u64 {
        (self.places.list.capacity() * size_of::<ClassEntry>() + self.heads.len() * 12) as u64
    }
}

fn least_loaded_without(holds: &ChipSet, home: Chip, blocks: &Blocks, loads: &LoadView<'_>) -> Option<Chip> {
    let chips = blocks.geometry.chips();
    (1..chips)
        .map(|step| Chip::new((home.number() + step) % chips))
        .filter(|&chip| !holds.contains(chip) && blocks.chip_has_room(chip))
        .min_by_key(|&chip| loads.chip[chip])
}

flashtwin_bits::state!(value ClassEntry { class, owed, previous, next });
flashtwin_bits::state!(PriorityLru { places, heads, tails, lengths } kept { class_pages, chips });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Entries, EvictionPolicy, FingerprintStore, History};
    use crate::foreign::Foreign;
    use crate::ids::{Content, Lpn};

    fn contents(pages: u32) -> ContentMap {
        let fingerprints =
            FingerprintStore::new(pages, Entries::Unlimited, EvictionPolicy::LruWrites, &Foreign::default());
        let mut map = ContentMap::new(pages, fingerprints, History::new(pages, true), 3);
        for page in 0..pages {
            let vpn = map.create(Content::new(page));
            map.point(Lpn::new(page), vpn);
        }
        map
    }

    fn read(lru: &mut PriorityLru, pages: impl IntoIterator<Item = u32>) {
        pages.into_iter().for_each(|page| lru.note_read(Vpn::new(page), |_, _| {}));
    }

    #[test]
    fn a_class_holds_its_pages_and_one_more_pushes_the_oldest_down() {
        let mut lru = PriorityLru::new(4, 2);
        let classes = |lru: &PriorityLru| [0, 1, 2].map(|page| lru.class(Vpn::new(page)));
        read(&mut lru, [0, 1]);
        assert_eq!(classes(&lru), [1, 1, 0], "a full class is not too full");
        read(&mut lru, [2]);
        assert_eq!(classes(&lru), [0, 1, 1]);
        // The third page of the second class pushes the first back into the lowest.
        read(&mut lru, [1, 2, 0]);
        assert_eq!((classes(&lru), lru.pages()), ([1, 2, 2], 3));
        read(&mut lru, [0]);
        assert_eq!(classes(&lru), [2, 1, 2]);
        lru.audit_classes(&contents(3)).unwrap();
    }

    #[test]
    fn the_classes_take_12_bytes_each_and_12_for_each_page() {
        let mut lru = PriorityLru::new(4, 200);
        assert_eq!(lru.bytes(), 5 * 12);
        read(&mut lru, 0..100);
        let pages = lru.bytes() - 5 * 12;
        assert!(pages.is_multiple_of(12) && (100 * 12..=200 * 12).contains(&pages), "{pages}");
    }

    #[test]
    fn each_thing_that_does_not_hold_of_classes_is_noticed() {
        let audit = |change: &dyn Fn(&mut PriorityLru, &mut ContentMap)| {
            let (mut lru, mut map) = (PriorityLru::new(4, 2), contents(3));
            read(&mut lru, [0, 1, 0]);
            change(&mut lru, &mut map);
            lru.audit_classes(&map).err().unwrap_or_default()
        };
        assert_eq!(audit(&|_, _| {}), "");
        let dead = audit(&|_, map| drop(map.point(Lpn::new(1), NO_VPN)));
        assert!(dead.contains("VPN 1 is listed in class 1"), "{dead}");
        let elsewhere = audit(&|lru, _| lru.places[Vpn::new(1)].class = 2);
        assert!(elsewhere.contains("VPN 1 is listed in class 1"), "{elsewhere}");
        let miscounted = audit(&|lru, _| lru.lengths[1] += 1);
        assert!(miscounted.contains("class 1 has 1 pages, counts 2, may have 2"), "{miscounted}");
        let too_many = audit(&|lru, _| lru.class_pages = 0);
        assert!(too_many.contains("class 1 has 1 pages, counts 1, may have 0"), "{too_many}");
    }
}
