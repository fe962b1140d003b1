//! The secondary map: pages that are known to hold the same data (DS-FTL paper, section 4.3.1).
//!
//! The paper's first-level map leads from an LPN to a PPN, or to a VPPN whose entry here lists the
//! PPNs. Every LPN keeps its own page: an overwrite kills that page alone, and takes it off the
//! list.

use flashtwin_nand::{NO_PPN, Ppn};

use super::pages::{AllLinks, NO_SET, PageLinks};
use crate::flash::blocks::Blocks;
use crate::ids::{Content, Lpn};
use flashtwin_bits::{Loader, Saver, Slab, State, StateResult, prefetch};

/// Pages that a list holds in place.
const FEW: usize = 5;

/// Room of the first list that does not: pages and their numbers are a cache line together.
const MORE: usize = 8;

/// One list. Most contents have few twins, and those lie in the list itself: one cache line.
#[repr(align(64))]
struct Set {
    /// Tells this list from an earlier one in the same slot.
    serial: u64,
    len: u32,
    members: Members,
}

/// Pages, and the logical page of each.
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

    /// Room for pages, and for the logical page of each.
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

    /// Takes a page off; the last one takes its place.
    fn swap_remove(&mut self, at: usize) {
        self.len -= 1;
        let last = self.len as usize;
        let (ppns, lpns) = self.rooms();
        (ppns[at], lpns[at]) = (ppns[last], lpns[last]);
    }

    /// Asks for a page and the last one, where they do not lie here.
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
pub(crate) struct Twins {
    sets: Slab<Set>,
    serials: u64,
    pages: u64,
    /// Most pages that a read may choose from.
    most: usize,
}

impl Twins {
    pub(super) fn new(most: u32) -> Self {
        Self { sets: Slab::new(), serials: 0, pages: 0, most: most as usize }
    }

    /// Asks for the head of the list that a page is in.
    #[inline]
    pub(super) fn prefetch_list(&self, page: &PageLinks) {
        prefetch(&self.sets, page.set as usize);
    }

    /// Asks for the entries that taking the page off its list touches: its own, and the last, which moves there.
    #[inline]
    pub(super) fn prefetch_pages(&self, &PageLinks { set, at, .. }: &PageLinks) {
        if let Some(set) = self.sets.get(set as usize) {
            set.prefetch(at);
        }
    }

    /// Asks for the end of the list that a page is in, where the list grows.
    #[inline]
    pub(super) fn prefetch_end(&self, page: &PageLinks) {
        if let Some(set) = self.sets.get(page.set as usize) {
            set.prefetch(set.len);
        }
    }

    /// Number of pages in lists.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Number of lists.
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

    /// Pages that a read of a page may choose from, its own among them; none when it has no twin.
    /// Of a list with more than the limit, a stretch around its own.
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

    /// The page of a twin moved.
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

    /// Two logical pages turn out to hold the same: from now on one list has both, with all that
    /// theirs had. Returns whether that is news.
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

    /// The shorter list goes into the longer, so that no page is moved more often than lists can
    /// double.
    fn merge(&mut self, a: u32, b: u32, pages: &mut AllLinks) {
        let longer = self.sets[a as usize].ppns().len() >= self.sets[b as usize].ppns().len();
        let (into, from) = if longer { (a, b) } else { (b, a) };
        let shorter = std::mem::replace(&mut self.sets[from as usize], Set::new(0));
        for (&lpn, &ppn) in shorter.lpns().iter().zip(shorter.ppns()) {
            self.push(into, lpn, ppn, pages);
        }
        self.sets.free(from);
    }

    /// A logical page no longer holds what its twins hold.
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
            // One page alone has no twin.
            *list = Set::new(0);
            self.pages -= 1;
            self.sets.free(set);
            pages[last].set = NO_SET;
        }
    }

    /// Compares every list with the pages that it names; `own` says where a logical page lies and
    /// what it holds.
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
                return Err(format!("list {set} of twins has a single page"));
            }
            let mut contents = Vec::new();
            for (at, &ppn) in ppns.iter().enumerate() {
                let lpn =
                    blocks.owner(ppn).ok_or_else(|| format!("list {set} of twins names a dead page"))?.id();
                let (ppn_of_lpn, content) = own(lpn);
                let place = known[lpn];
                if ppn_of_lpn != ppn
                    || lpns[at] != lpn
                    || (place.set as usize, place.at as usize) != (set, at)
                {
                    return Err(format!("LPN {lpn} does not know its place in list {set} of twins"));
                }
                contents.push(content);
            }
            pages += ppns.len() as u64;
            contents.dedup();
            if contents.len() > 1 {
                return Err(format!("list {set} of twins has contents {contents:?}"));
            }
        }
        let placed = known.iter().filter(|page| page.set != NO_SET).count() as u64;
        if (pages, pages) == (self.pages, placed) {
            return Ok(());
        }
        Err(format!("{pages} twins are listed, {} are counted, {placed} have a list", self.pages))
    }
}

flashtwin_bits::state!(Twins { sets, serials, pages } kept { most });

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
        if both > 0 {
            self.members = Members::Many(vec![0; both].into());
        }
        match &mut self.members {
            Members::Few { ppns, lpns } => {
                ppns.load(from)?;
                lpns.load(from)
            }
            Members::Many(both) => u32::load_all(both, from),
        }
    }

    fn blank() -> Option<Self> {
        Some(Self::new(0))
    }
}
