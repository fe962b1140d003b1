//! LPN -> PPN, content -> PPN, and the inverse of both: the tables of CA-SSD.
//!
//! Source: CA-SSD paper 4.1 (LPT, iLPT, HPT, iHPT) and its Figure 5.

use flashtwin_nand::{NO_PPN, Ppn};

use crate::dedup::{FingerprintStore, History};
use crate::flash::{Flash, Moved};
use crate::ids::{Content, Lpn, NONE, Owner, TablePage, link, named};
use crate::paging::{Layout, Map};
use crate::sabotage::sabotaged;
use flashtwin_bits::{By, HugeSlice};

/// Of a physical page: the first LPN of its list (iLPT) and its content in the HPT (iHPT), each plus one.
type Inverse = [u32; 2];
const FIRST: usize = 0;
const ENTRY: usize = 1;

/// The next and the previous LPN in the list of a page, each plus one.
type Links = [u32; 2];
const NEXT: usize = 0;
const PREVIOUS: usize = 1;

/// The four tables. 12 bytes a logical page, 8 a physical page that was ever used; for a content 4 (12 with a limited
/// store) for the HPT and 1 (5) for its history.
pub(crate) struct InvertedMap {
    /// LPT: LPN -> PPN.
    ppns: By<Lpn, Vec<Ppn>>,
    /// The lists of the iLPT run through the LPNs themselves.
    links: By<Lpn, Vec<Links>>,
    /// iLPT and iHPT.
    pages: By<Ppn, HugeSlice<Inverse>>,
    /// HPT: content -> PPN.
    pub(crate) hashes: FingerprintStore<Ppn>,
    pub(crate) history: History,
    mapped: u64,
    live: u64,
}

impl InvertedMap {
    pub(crate) fn new(
        footprint_pages: u32,
        page_index_len: usize,
        hashes: FingerprintStore<Ppn>,
        history: History,
    ) -> Self {
        Self {
            ppns: By::new(vec![NO_PPN; footprint_pages as usize]),
            links: By::new(vec![[NONE; 2]; footprint_pages as usize]),
            pages: By::new(HugeSlice::zeroed(page_index_len)),
            hashes,
            history,
            mapped: 0,
            live: 0,
        }
    }

    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> Ppn {
        self.ppns[lpn]
    }

    pub(crate) fn lpns(&self) -> u32 {
        self.ppns.len() as u32
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// Enters a page just written in HPT and iHPT; an evicted entry is dropped from both.
    #[inline]
    pub(crate) fn enter(&mut self, content: Content, ppn: Ppn) {
        self.pages[ppn][ENTRY] = link(content);
        if let Some((_, forgotten)) = self.hashes.insert(content, ppn) {
            self.pages[forgotten][ENTRY] = NONE;
        }
    }

    /// Points a logical page at `ppn` (or nothing). Returns the page that lost its last LPN, which HPT and iHPT forget.
    #[inline]
    pub(crate) fn point(&mut self, lpn: Lpn, ppn: Ppn) -> Option<Ppn> {
        let old = std::mem::replace(&mut self.ppns[lpn], ppn);
        self.mapped += u64::from(ppn != NO_PPN);
        self.mapped -= u64::from(old != NO_PPN);
        if old != NO_PPN {
            self.unlink(lpn, old);
        }
        if ppn != NO_PPN {
            self.live += u64::from(self.pages[ppn][FIRST] == NONE);
            self.link(lpn, ppn);
        }
        if old == NO_PPN || self.pages[old][FIRST] != NONE {
            return None;
        }
        self.live -= 1;
        let entry = std::mem::replace(&mut self.pages[old][ENTRY], NONE);
        if let Some(content) = named(entry) {
            self.hashes.remove(content);
        }
        Some(old)
    }

    fn link(&mut self, lpn: Lpn, ppn: Ppn) {
        let first = std::mem::replace(&mut self.pages[ppn][FIRST], link(lpn));
        self.links[lpn] = [first, NONE];
        if let Some(first) = named::<Lpn>(first) {
            self.links[first][PREVIOUS] = link(lpn);
        }
    }

    fn unlink(&mut self, lpn: Lpn, ppn: Ppn) {
        let [next, previous] = self.links[lpn];
        match named::<Lpn>(previous) {
            None => self.pages[ppn][FIRST] = next,
            Some(previous) => self.links[previous][NEXT] = next,
        }
        if let Some(next) = named::<Lpn>(next) {
            self.links[next][PREVIOUS] = previous;
        }
    }

    /// The LPNs of a page, the latest first.
    pub(crate) fn lpns_of(&self, ppn: Ppn) -> impl Iterator<Item = Lpn> + '_ {
        let first = self.pages[ppn][FIRST];
        std::iter::successors(named(first), |&lpn| named(self.links[lpn][NEXT]))
    }

    pub(crate) fn is_known(&self, ppn: Ppn) -> bool {
        self.pages[ppn][ENTRY] != NONE
    }

    /// Garbage collection moved a page: updates each of its LPNs. Returns whether it has any.
    pub(crate) fn relocate(&mut self, from: Ppn, to: Ppn) -> bool {
        let page = std::mem::replace(&mut self.pages[from], [NONE; 2]);
        self.pages[to] = page;
        let forgets = sabotaged!(ForgottenLpn);
        let mut next = named(page[FIRST]);
        if let (true, Some(first)) = (forgets, next) {
            next = named(self.links[first][NEXT]);
        }
        while let Some(lpn) = next {
            self.ppns[lpn] = to;
            next = named(self.links[lpn][NEXT]);
        }
        if let Some(content) = named(page[ENTRY]) {
            self.hashes.renew(content, to);
        }
        page[FIRST] != NONE
    }

    /// Of logical pages, and of physical pages that were used.
    pub(crate) fn page_bytes(pages: u64, used: u64) -> u64 {
        pages * (4 + size_of::<Links>() as u64) + used * size_of::<Inverse>() as u64
    }

    pub(crate) fn content_bytes(&self) -> u64 {
        self.hashes.bytes() + self.history.bytes()
    }

    /// Compares each table with its inverse; `owner` returns the content of a valid page.
    pub(crate) fn audit(&self, owner: impl Fn(Ppn) -> Option<Content>) -> Result<(), String> {
        let mut pages: Vec<Ppn> = self.ppns.iter().copied().filter(|&ppn| ppn != NO_PPN).collect();
        pages.sort_unstable();
        let pointed =
            |ppn| pages.partition_point(|&page| page <= ppn) - pages.partition_point(|&page| page < ppn);
        let mut known = 0;
        let mut distinct = pages.clone();
        distinct.dedup();
        for &ppn in &distinct {
            // A list that closes on itself must not be followed for ever.
            let listed = self.lpns_of(ppn).take(pages.len() + 1);
            let (right, wrong): (Vec<Lpn>, Vec<Lpn>) = listed.partition(|&lpn| self.get(lpn) == ppn);
            if let Some(lpn) = wrong.first() {
                return Err(format!("page {ppn} lists LPN {lpn}, which lies at {}", self.get(*lpn)));
            }
            if right.len() != pointed(ppn) {
                return Err(format!("page {ppn} lists {} LPNs, {} point to it", right.len(), pointed(ppn)));
            }
            let Some(content) = named(self.pages[ppn][ENTRY]) else { continue };
            known += 1;
            if self.hashes.peek(content) != ppn || owner(ppn) != Some(content) {
                let (found, held) = (self.hashes.peek(content), owner(ppn));
                return Err(format!(
                    "page {ppn} is entered under content {content}, whose entry names {found}; it holds {held:?}"
                ));
            }
        }
        let entered =
            Content::each(0..self.history.contents()).filter(|&content| self.hashes.peek(content) != NO_PPN);
        let entered = entered.count() as u64;
        if entered != known || self.hashes.entries() != known || self.live != distinct.len() as u64 {
            return Err(format!("{entered} contents are entered, {known} pages know their entry"));
        }
        Ok(())
    }
}

impl Map for InvertedMap {
    #[inline]
    fn prefetch_far(&self, lpn: Lpn, content: Content, _write: bool) {
        self.ppns.prefetch(lpn);
        self.links.prefetch(lpn);
        self.history.prefetch(content);
        self.hashes.prefetch(content);
    }

    #[inline]
    fn prefetch_near(&self, lpn: Lpn, content: Content, _write: bool, _flash: &Flash) {
        self.pages.prefetch(self.get(lpn));
        self.pages.prefetch(self.hashes.foresee(content));
    }

    #[inline]
    fn relocate(&mut self, _owner: Owner, from: Ppn, to: Ppn, _flash: &mut Flash) -> bool {
        self.relocate(from, to)
    }

    /// Counts the changes: the PPN of each LPN, and the page's entries in iLPT, HPT and iHPT.
    #[inline]
    fn page_moved(&mut self, page: Moved, flash: &mut Flash) -> bool {
        let changed = self.lpns_of(page.from).count() as u64 + 1 + 2 * u64::from(self.is_known(page.from));
        flash.counters.dedup.gc_updates_two_level += 1;
        flash.counters.dedup.gc_updates_inverted += changed;
        self.relocate(page.from, page.to)
    }

    fn entry_of(&self, _owner: Owner, _layout: &Layout) -> TablePage {
        unreachable!("these tables have no pages on flash")
    }

    fn each_entry(&self, _layout: &Layout, _page: TablePage, _take: &mut dyn FnMut(u32)) {
        unreachable!("these tables have no pages on flash")
    }

    fn has_entries(&self, _layout: &Layout, _page: TablePage) -> bool {
        unreachable!("these tables have no pages on flash")
    }
}

flashtwin_bits::state!(InvertedMap { ppns, links, pages, hashes, history, mapped, live });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Entries, EvictionPolicy};
    use crate::foreign::Foreign;

    /// Page 4 holds content 3 for LPNs 1 and 0, and page 5 content 6 for LPN 2.
    fn map() -> InvertedMap {
        let hashes =
            FingerprintStore::new(10, Entries::Unlimited, EvictionPolicy::LruWrites, &Foreign::default());
        let mut map = InvertedMap::new(8, 16, hashes, History::new(10, true));
        for (lpn, content, ppn) in [(0, 3, 4), (1, 3, 4), (2, 6, 5)] {
            if map.hashes.peek(Content::new(content)) == NO_PPN {
                map.enter(Content::new(content), Ppn::new(ppn));
            }
            assert_eq!(map.point(Lpn::new(lpn), Ppn::new(ppn)), None);
        }
        map
    }

    fn owner(ppn: Ppn) -> Option<Content> {
        [(4, 3), (5, 6)]
            .into_iter()
            .find(|&(page, _)| page == ppn.number())
            .map(|(_, content)| Content::new(content))
    }

    #[test]
    fn each_table_that_contradicts_its_inverse_is_noticed() {
        map().audit(owner).unwrap();
        let noticed = |damage: &dyn Fn(&mut InvertedMap), words: &str| {
            let mut map = map();
            damage(&mut map);
            let error = map.audit(owner).unwrap_err();
            assert!(error.contains(words), "{error:?}, expected {words}");
        };
        noticed(&|map| map.ppns[Lpn::new(0)] = Ppn::new(5), "page 4 lists LPN 0, which lies at 5");
        noticed(&|map| map.links[Lpn::new(1)][NEXT] = NONE, "page 4 lists 1 LPNs, 2 point to it");
        noticed(&|map| map.hashes.renew(Content::new(3), Ppn::new(9)), "whose entry names 9; it holds");
        noticed(&|map| map.pages[Ppn::new(5)][ENTRY] = NONE, "2 contents are entered, 1 pages know");
        let stray =
            |map: &mut InvertedMap| assert!(map.hashes.insert(Content::new(7), Ppn::new(9)).is_none());
        noticed(&stray, "3 contents are entered, 2 pages know");
        noticed(&|map| map.live += 1, "2 contents are entered, 2 pages know");
        let other = |ppn| owner(ppn).map(|_| Content::new(6));
        let error = map().audit(other).unwrap_err();
        assert!(error.contains("page 4 is entered under content 3"), "{error}");
    }

    #[test]
    fn a_list_that_closes_on_itself_is_noticed() {
        let mut map = map();
        assert_eq!(map.point(Lpn::new(2), NO_PPN), Some(Ppn::new(5)));
        map.audit(owner).unwrap();
        // LPN 1, then 0, then 1 again: as many as there are look right.
        map.links[Lpn::new(0)][NEXT] = link(Lpn::new(1));
        assert!(map.audit(owner).unwrap_err().contains("page 4 lists 3 LPNs, 2 point to it"));
    }
}
