//! The secondary map: pages that are known to hold the same data (DS-FTL paper, section 4.3.1). In the paper an LPN
//! leads to a PPN, or to a VPPN whose entry here lists PPNs. Every LPN keeps its own page. An overwrite takes it off
//! the list.

use flashtwin_nand::{NO_PPN, Ppn};

use super::pages::{AllLinks, NO_SET, PageLinks};
use crate::flash::blocks::Blocks;
use crate::ids::{Content, Lpn};
use flashtwin_bits::{Loader, Saver, Slab, State, StateResult, load_more, prefetch};

const FEW: usize = 5;

/// Room of the first list that does not: pages and their numbers are a cache line together.
const MORE: usize = 8;

/// One list. Most contents have few duplicate pages, and those lie in the list itself: one cache line.
#[derive(Clone)]
#[repr(align(64))]
struct Set {
    /// Tells this list from an earlier one in the same slot.
    serial: u64,
    len: u32,
    members: Members,
}

#[derive(Clone)]
enum Members {
    Few {
        ppns: [Ppn; FEW],
        lpns: [Lpn; FEW],
    },
    /// The first half is for the pages, the second for the logical ones.
    Many(Box<[u32]>),
}

impl Set {
    fn new(serial: u64) -> Self {
        Self { serial, len: 0, members: Members::Few { ppns: [NO_PPN; FEW], lpns: [Lpn::new(0); FEW] } }
    }

    #[inline]
    fn ppns(&self) -> &[Ppn] {
        match &self.members {
            Members::Few { ppns, .. } => &ppns[..self.len as usize],
            Members::Many(both) => Ppn::named(&both[..self.len as usize]),
        }
    }

    #[inline]
    fn lpns(&self) -> &[Lpn] {
        match &self.members {
            Members::Few { lpns, .. } => &lpns[..self.len as usize],
            Members::Many(both) => Lpn::named(&both[both.len() / 2..][..self.len as usize]),
        }
    }

    #[inline]
    fn rooms(&mut self) -> (&mut [Ppn], &mut [Lpn]) {
        match &mut self.members {
            Members::Few { ppns, lpns } => (ppns, lpns),
            Members::Many(both) => {
                let (ppns, lpns) = both.split_at_mut(both.len() / 2);
                (Ppn::named_mut(ppns), Lpn::named_mut(lpns))
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let room = if self.len as usize == FEW { MORE } else { 2 * self.len as usize };
        let mut both = vec![0; 2 * room];
        Ppn::named_mut(&mut both[..self.len as usize]).copy_from_slice(self.ppns());
        Lpn::named_mut(&mut both[room..][..self.len as usize]).copy_from_slice(self.lpns());
        self.members = Members::Many(both.into());
    }

    fn push(&mut self, lpn: Lpn, ppn: Ppn) {
        let at = self.len as usize;
        if at == self.rooms().0.len() {
            self.grow();
        }
        let (ppns, lpns) = self.rooms();
        (ppns[at], lpns[at]) = (ppn, lpn);
        self.len += 1;
    }

    fn swap_remove(&mut self, at: usize) {
        self.len -= 1;
        let last = self.len as usize;
        let (ppns, lpns) = self.rooms();
        (ppns[at], lpns[at]) = (ppns[last], lpns[last]);
    }

    #[inline]
    fn prefetch(&self, at: u32) {
        if let Members::Many(both) = &self.members {
            let half = both.len() / 2;
            let last = (self.len as usize).wrapping_sub(1);
            prefetch(both, at as usize);
            prefetch(both, last);
            prefetch(both, half + at as usize);
            prefetch(both, half + last);
        }
    }
}

/// Lists of at least two pages each. A list takes 64 bytes, and one of many pages 8 for each that it has room for.
/// In which list a logical page is, and at which position, is kept with the page ([`PageLinks`]).
#[derive(Clone)]
pub(crate) struct DuplicateLists {
    sets: Slab<Set>,
    serials: u64,
    pages: u64,
    most: usize,
}

impl DuplicateLists {
    pub(super) fn new(most: u32) -> Self {
        Self { sets: Slab::new(), serials: 0, pages: 0, most: most as usize }
    }

    #[inline]
    pub(super) fn prefetch_list(&self, page: &PageLinks) {
        prefetch(&self.sets, page.set as usize);
    }

    #[inline]
    pub(super) fn prefetch_pages(&self, &PageLinks { set, at, .. }: &PageLinks) {
        if let Some(set) = self.sets.get(set as usize) {
            set.prefetch(at);
        }
    }

    #[inline]
    pub(super) fn prefetch_end(&self, page: &PageLinks) {
        if let Some(set) = self.sets.get(page.set as usize) {
            set.prefetch(set.len);
        }
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    pub(crate) fn sets(&self) -> u64 {
        u64::from(self.sets.taken())
    }

    pub(super) fn bytes(&self) -> u64 {
        let many = |set: &Set| match &set.members {
            Members::Few { .. } => 0,
            Members::Many(both) => both.len() * 4,
        };
        let lists: usize = self.sets.iter().map(|set| size_of::<Set>() + many(set)).sum();
        (lists + self.sets.free_capacity() * 4) as u64
    }

    /// A number that all logical pages of a list share, and no page of any other list ever has.
    #[inline]
    pub(super) fn serial(&self, page: &PageLinks) -> Option<u64> {
        page.list().map(|set| self.sets[set as usize].serial)
    }

    /// Pages that a read may choose from, its own among them, up to the limit; none without a duplicate.
    #[inline]
    pub(super) fn choices(&self, &PageLinks { set, at, .. }: &PageLinks) -> &[Ppn] {
        if set == NO_SET {
            return &[];
        }
        let ppns = self.sets[set as usize].ppns();
        if ppns.len() <= self.most {
            return ppns;
        }
        let first = (at as usize).min(ppns.len() - self.most);
        &ppns[first..first + self.most]
    }

    #[inline]
    pub(super) fn moved(&mut self, &PageLinks { set, at, .. }: &PageLinks, to: Ppn) {
        if set != NO_SET {
            self.sets[set as usize].rooms().0[at as usize] = to;
        }
    }

    fn fresh(&mut self) -> u32 {
        self.serials += 1;
        self.sets.insert(Set::new(self.serials))
    }

    fn push(&mut self, set: u32, lpn: Lpn, ppn: Ppn, pages: &mut AllLinks) {
        let list = &mut self.sets[set as usize];
        let page = &mut pages[lpn];
        (page.set, page.at) = (set, list.ppns().len() as u32);
        list.push(lpn, ppn);
    }

    /// Merges the lists of two logical pages that hold the same. Returns whether that is news.
    pub(super) fn join(&mut self, one: (Lpn, Ppn), other: (Lpn, Ppn), pages: &mut AllLinks) -> bool {
        match (pages[one.0].list(), pages[other.0].list()) {
            (None, None) if one.0 == other.0 => return false,
            (Some(a), Some(b)) if a == b => return false,
            (None, None) => {
                let set = self.fresh();
                self.push(set, one.0, one.1, pages);
                self.push(set, other.0, other.1, pages);
                self.pages += 2;
            }
            (Some(set), None) => {
                self.push(set, other.0, other.1, pages);
                self.pages += 1;
            }
            (None, Some(set)) => {
                self.push(set, one.0, one.1, pages);
                self.pages += 1;
            }
            (Some(a), Some(b)) => self.merge(a, b, pages),
        }
        true
    }

    /// The shorter list goes into the longer, so that no page moves more often than lists can double.
    fn merge(&mut self, a: u32, b: u32, pages: &mut AllLinks) {
        let longer = self.sets[a as usize].ppns().len() >= self.sets[b as usize].ppns().len();
        let (into, from) = if longer { (a, b) } else { (b, a) };
        let shorter = std::mem::replace(&mut self.sets[from as usize], Set::new(0));
        for (&lpn, &ppn) in shorter.lpns().iter().zip(shorter.ppns()) {
            self.push(into, lpn, ppn, pages);
        }
        self.sets.free(from);
    }

    #[inline]
    pub(super) fn leave(&mut self, lpn: Lpn, pages: &mut AllLinks) {
        let page = &mut pages[lpn];
        let PageLinks { set, at, .. } = *page;
        if set != NO_SET {
            page.set = NO_SET;
            self.take_off(set, at as usize, pages);
        }
    }

    fn take_off(&mut self, set: u32, at: usize, pages: &mut AllLinks) {
        let list = &mut self.sets[set as usize];
        list.swap_remove(at);
        self.pages -= 1;
        if let Some(&lpn) = list.lpns().get(at) {
            pages[lpn].at = at as u32;
        }
        if let &[last] = list.lpns() {
            *list = Set::new(0);
            self.pages -= 1;
            self.sets.free(set);
            pages[last].set = NO_SET;
        }
    }

    pub(super) fn audit(
        &self,
        blocks: &Blocks,
        known: &AllLinks,
        own: impl Fn(Lpn) -> (Ppn, Content),
    ) -> Result<(), String> {
        let mut pages = 0;
        for (set, list) in self.sets.iter().enumerate() {
            let (ppns, lpns) = (list.ppns(), list.lpns());
            if ppns.len() == 1 || ppns.len() != lpns.len() {
                return Err(format!("list {set} of duplicates has a single page"));
            }
            let mut contents = Vec::new();
            for (at, &ppn) in ppns.iter().enumerate() {
                let lpn = blocks
                    .owner(ppn)
                    .ok_or_else(|| format!("list {set} of duplicates names a dead page"))?
                    .id();
                let (ppn_of_lpn, content) = own(lpn);
                let place = known[lpn];
                if ppn_of_lpn != ppn
                    || lpns[at] != lpn
                    || (place.set as usize, place.at as usize) != (set, at)
                {
                    return Err(format!("LPN {lpn} does not know its place in list {set} of duplicates"));
                }
                contents.push(content);
            }
            pages += ppns.len() as u64;
            contents.dedup();
            if contents.len() > 1 {
                return Err(format!("list {set} of duplicates has contents {contents:?}"));
            }
        }
        let placed = known.iter().filter(|page| page.set != NO_SET).count() as u64;
        if (pages, pages) == (self.pages, placed) {
            return Ok(());
        }
        Err(format!("{pages} duplicates are listed, {} are counted, {placed} have a list", self.pages))
    }
}

flashtwin_bits::state!(DuplicateLists { sets, serials, pages } kept { most });

impl State for Set {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        let Self { serial, len, members } = self;
        serial.save(to)?;
        len.save(to)?;
        match members {
            Members::Few { ppns, lpns } => {
                0usize.save(to)?;
                ppns.save(to)?;
                lpns.save(to)
            }
            Members::Many(both) => {
                both.len().save(to)?;
                u32::save_all(both, to)
            }
        }
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        *self = Self::new(0);
        self.serial.load(from)?;
        self.len.load(from)?;
        let mut both = 0usize;
        both.load(from)?;
        if let (0, Members::Few { ppns, lpns }) = (both, &mut self.members) {
            ppns.load(from)?;
            return lpns.load(from);
        }
        let mut list = Vec::new();
        load_more(&mut list, both, from)?;
        self.members = Members::Many(list.into());
        Ok(())
    }

    fn blank() -> Option<Self> {
        Some(Self::new(0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::fresh;
    use super::*;
    use crate::config::FtlConfig;
    use crate::flash::blocks::Stream;
    use crate::ids::Owner;
    use flashtwin_nand::Plane;

    /// Every logical page lies in a page of the same number and ten more.
    fn at(lpn: u32) -> (Lpn, Ppn) {
        (Lpn::new(lpn), Ppn::new(lpn + 10))
    }

    /// Logical pages from `first` on that hold the same, `len` of them, each joined with the one before.
    fn join_all(lists: &mut DuplicateLists, first: u32, len: u32, pages: &mut AllLinks) {
        for lpn in first + 1..first + len {
            assert!(lists.join(at(lpn - 1), at(lpn), pages));
        }
    }

    fn listed(lists: &DuplicateLists, lpn: u32, pages: &AllLinks) -> Vec<u32> {
        let PageLinks { set, .. } = pages[Lpn::new(lpn)];
        let list = &lists.sets[set as usize];
        for (at, (&lpn, &ppn)) in list.lpns().iter().zip(list.ppns()).enumerate() {
            assert_eq!((pages[lpn].set, pages[lpn].at as usize), (set, at), "LPN {lpn} knows its place");
            assert_eq!(ppn.number(), lpn.number() + 10);
        }
        list.lpns().iter().map(|lpn| lpn.number()).collect()
    }

    #[test]
    fn a_page_is_no_duplicate_of_itself_nor_news_to_its_own_list() {
        let (mut lists, mut pages) = (DuplicateLists::new(16), fresh(40));
        assert!(!lists.join(at(3), at(3), &mut pages));
        assert_eq!((lists.sets(), lists.pages(), pages[Lpn::new(3)].list()), (0, 0, None));
        assert!(lists.join(at(3), at(4), &mut pages));
        assert!(!lists.join(at(4), at(3), &mut pages) && !lists.join(at(3), at(3), &mut pages));
        assert_eq!((lists.sets(), lists.pages()), (1, 2));
        assert_eq!(listed(&lists, 3, &pages), [3, 4]);
    }

    #[test]
    fn longer_list_absorbs_shorter_one() {
        for (one, other, first_stays) in [(3, 2, true), (2, 3, false), (2, 2, true)] {
            let (mut lists, mut pages) = (DuplicateLists::new(16), fresh(40));
            join_all(&mut lists, 0, one, &mut pages);
            join_all(&mut lists, 20, other, &mut pages);
            let serials = [0, 20].map(|lpn| lists.serial(&pages[Lpn::new(lpn)]));
            assert_eq!((serials, lists.sets()), ([Some(1), Some(2)], 2));
            assert!(lists.join(at(0), at(21), &mut pages));
            assert_eq!((lists.sets(), lists.pages()), (1, u64::from(one + other)));
            let (a, b) = (0..one, 20..20 + other);
            let expected: Vec<u32> = if first_stays { a.chain(b).collect() } else { b.chain(a).collect() };
            for &lpn in &expected {
                assert_eq!(listed(&lists, lpn, &pages), expected, "{one} and {other} pages");
                assert_eq!(lists.serial(&pages[Lpn::new(lpn)]), serials[usize::from(!first_stays)]);
            }
        }
    }

    #[test]
    fn read_of_a_long_list_chooses_near_its_own_page() {
        let (mut lists, mut pages) = (DuplicateLists::new(3), fresh(40));
        join_all(&mut lists, 0, 3, &mut pages);
        join_all(&mut lists, 20, 7, &mut pages);
        let choices = |lpn: u32| -> Vec<u32> {
            lists.choices(&pages[Lpn::new(lpn)]).iter().map(|ppn| ppn.number() - 10).collect()
        };
        for lpn in 0..3 {
            assert_eq!(choices(lpn), [0, 1, 2]);
        }
        for (lpn, first) in [(20, 20), (21, 21), (22, 22), (23, 23), (24, 24), (25, 24), (26, 24)] {
            assert_eq!(choices(lpn), [first, first + 1, first + 2], "of LPN {lpn}");
        }
        assert!(choices(30).is_empty());
    }

    #[test]
    fn list_takes_a_cache_line_then_doubling_memory() {
        // Two numbers of 4 bytes for each page that there is room for.
        for (len, room) in [(2, 0), (5, 0), (6, 8), (8, 8), (9, 16), (16, 16), (17, 32)] {
            let (mut lists, mut pages) = (DuplicateLists::new(16), fresh(40));
            join_all(&mut lists, 0, len, &mut pages);
            assert_eq!(lists.bytes(), 64 + room * 8, "{len} pages");
            assert_eq!(listed(&lists, 0, &pages), (0..len).collect::<Vec<_>>());
        }
        let (mut lists, mut pages) = (DuplicateLists::new(16), fresh(40));
        assert_eq!(lists.bytes(), 0);
        join_all(&mut lists, 0, 6, &mut pages);
        join_all(&mut lists, 20, 2, &mut pages);
        assert_eq!(lists.bytes(), 2 * 64 + 8 * 8);
        lists.leave(Lpn::new(20), &mut pages);
        // The slot that is free stays, and 4 bytes for each that there is room to remember.
        let free = lists.sets.free_capacity() as u64;
        assert!(free > 0);
        assert_eq!((lists.sets(), lists.bytes()), (1, 2 * 64 + 8 * 8 + 4 * free));
    }

    #[test]
    fn short_and_long_lists_are_loaded_as_saved() {
        let (mut lists, mut pages) = (DuplicateLists::new(3), fresh(40));
        join_all(&mut lists, 0, 2, &mut pages);
        join_all(&mut lists, 10, 5, &mut pages);
        join_all(&mut lists, 20, 9, &mut pages);
        let mut loaded = DuplicateLists::new(3);
        crate::tests::reload(&lists, &mut loaded);
        assert_eq!((loaded.sets(), loaded.pages(), loaded.serials), (3, 16, 3));
        assert_eq!(loaded.bytes(), 3 * 64 + 16 * 8 + 4 * loaded.sets.free_capacity() as u64);
        for (lpn, len) in [(0, 2), (10, 5), (20, 9)] {
            assert_eq!(listed(&loaded, lpn, &pages), (lpn..lpn + len).collect::<Vec<_>>());
            assert_eq!(loaded.serial(&pages[Lpn::new(lpn)]), lists.serial(&pages[Lpn::new(lpn)]));
        }
        assert!(loaded.join(at(14), at(15), &mut pages));
        assert_eq!(listed(&loaded, 10, &pages), [10, 11, 12, 13, 14, 15]);
        let blank = Set::blank().expect("lists of duplicates grow");
        assert_eq!((blank.serial, blank.len, blank.ppns().len()), (0, 0, 0));
    }

    /// Pages on flash of the first five logical ones, of which the first three are duplicate pages of content 1.
    fn three_duplicates() -> (Blocks, Vec<Ppn>, DuplicateLists, AllLinks) {
        let geometry = crate::tests::ds_ftl();
        let config = FtlConfig::default();
        let mut blocks = Blocks::new(
            &geometry,
            &config.partition,
            &config.wear,
            config.gc.victim.build(1, &geometry, 0, &config.foreign),
        );
        let ppns: Vec<Ppn> = (0..5)
            .map(|lpn| blocks.program(Plane::new(0), Stream::host(0), Owner::of(Lpn::new(lpn))).unwrap())
            .collect();
        let (mut lists, mut pages) = (DuplicateLists::new(16), fresh(5));
        for lpn in 1..3 {
            let page = |lpn: usize| (Lpn::new(lpn as u32), ppns[lpn]);
            assert!(lists.join(page(0), page(lpn), &mut pages));
        }
        (blocks, ppns, lists, pages)
    }

    /// The audit's message after damage to the lists and their links, and to the map's entry of a page.
    fn audited(
        damage: impl Fn(&mut DuplicateLists, &mut AllLinks),
        told: impl Fn(Lpn, Ppn, Content) -> (Ppn, Content),
    ) -> Result<(), String> {
        let (blocks, ppns, mut lists, mut pages) = three_duplicates();
        damage(&mut lists, &mut pages);
        lists.audit(&blocks, &pages, |lpn| told(lpn, ppns[lpn.index()], Content::new(1)))
    }

    #[test]
    fn an_audit_notices_what_the_map_says_otherwise_of_a_duplicate() {
        let nothing = |_: &mut DuplicateLists, _: &mut AllLinks| ();
        audited(nothing, |_, ppn, content| (ppn, content)).unwrap();
        for duplicate in [0, 1, 2].map(Lpn::new) {
            let elsewhere = |lpn, ppn: Ppn, content| {
                (if lpn == duplicate { Ppn::new(ppn.number() + 9) } else { ppn }, content)
            };
            let message = audited(nothing, elsewhere).unwrap_err();
            assert_eq!(message, format!("LPN {duplicate} does not know its place in list 0 of duplicates"));
            let other = |lpn, ppn, content| (ppn, if lpn == duplicate { Content::new(2) } else { content });
            let message = audited(nothing, other).unwrap_err();
            assert!(message.starts_with("list 0 of duplicates has contents"), "{message}");
        }
    }

    #[test]
    fn audit_finds_every_difference_of_lists_and_pages() {
        let as_it_is = |_, ppn, content| (ppn, content);
        let noticed = |damage: &dyn Fn(&mut DuplicateLists, &mut AllLinks)| {
            audited(damage, as_it_is).expect_err("damage")
        };
        let lost = "LPN 1 does not know its place in list 0 of duplicates";
        assert_eq!(noticed(&|lists, _| lists.sets[0].rooms().1[1] = Lpn::new(4)), lost);
        assert_eq!(noticed(&|_, pages| pages[Lpn::new(1)].set = 1), lost);
        assert_eq!(noticed(&|_, pages| pages[Lpn::new(1)].at = 2), lost);
        assert_eq!(
            noticed(&|lists, _| lists.sets[0].rooms().0[1] = Ppn::new(30)),
            "list 0 of duplicates names a dead page"
        );
        assert_eq!(noticed(&|lists, _| lists.sets[0].len = 1), "list 0 of duplicates has a single page");
        let counted = "3 duplicates are listed, 4 are counted, 3 have a list";
        assert_eq!(noticed(&|lists, _| lists.pages = 4), counted);
        let placed = "3 duplicates are listed, 3 are counted, 4 have a list";
        assert_eq!(noticed(&|_, pages| pages[Lpn::new(4)].set = 0), placed);
    }
}
