//! The secondary map: pages that are known to hold the same data (DS-FTL paper, section 4.3.1).
//!
//! The paper's first-level map leads from an LPN to a PPN, or to a VPPN whose entry here lists the
//! PPNs. Every LPN keeps its own page: an overwrite kills that page alone, and takes it off the
//! list.

use flashtwin_nand::Ppn;

use crate::blocks::Blocks;
use crate::prefetch::prefetch;

/// No list.
const NONE: u32 = u32::MAX;

/// Where a logical page's own page stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    set: u32,
    at: u32,
}

/// Pages that a list holds in place.
const FEW: usize = 5;

/// One list. Most contents have few twins, and those lie in the list itself: one cache line.
#[repr(align(64))]
struct Set {
    /// Tells this list from an earlier one in the same slot.
    serial: u64,
    few: u32,
    few_ppns: [Ppn; FEW],
    /// The logical page of each.
    few_lpns: [u32; FEW],
    /// Where there are more, all of them.
    many: Option<Box<Many>>,
}

struct Many {
    ppns: Vec<Ppn>,
    lpns: Vec<u32>,
}

impl Set {
    fn new(serial: u64) -> Self {
        Self { serial, few: 0, few_ppns: [0; FEW], few_lpns: [0; FEW], many: None }
    }

    #[inline]
    fn ppns(&self) -> &[Ppn] {
        match &self.many {
            None => &self.few_ppns[..self.few as usize],
            Some(many) => &many.ppns,
        }
    }

    #[inline]
    fn lpns(&self) -> &[u32] {
        match &self.many {
            None => &self.few_lpns[..self.few as usize],
            Some(many) => &many.lpns,
        }
    }

    fn set_ppn(&mut self, at: usize, ppn: Ppn) {
        match &mut self.many {
            None => self.few_ppns[at] = ppn,
            Some(many) => many.ppns[at] = ppn,
        }
    }

    fn push(&mut self, lpn: u32, ppn: Ppn) {
        if self.many.is_none() && self.few as usize == FEW {
            let many = Many { ppns: self.few_ppns.to_vec(), lpns: self.few_lpns.to_vec() };
            self.many = Some(Box::new(many));
        }
        match &mut self.many {
            None => {
                self.few_ppns[self.few as usize] = ppn;
                self.few_lpns[self.few as usize] = lpn;
                self.few += 1;
            }
            Some(many) => {
                many.ppns.push(ppn);
                many.lpns.push(lpn);
            }
        }
    }

    /// Takes a page off; the last one takes its place.
    fn swap_remove(&mut self, at: usize) {
        match &mut self.many {
            None => {
                self.few -= 1;
                self.few_ppns[at] = self.few_ppns[self.few as usize];
                self.few_lpns[at] = self.few_lpns[self.few as usize];
            }
            Some(many) => {
                many.ppns.swap_remove(at);
                many.lpns.swap_remove(at);
            }
        }
    }
}

/// Lists of at least two pages each. 8 bytes a logical page, 8 a page in a list.
pub(crate) struct Twins {
    places: Vec<Place>,
    sets: Vec<Set>,
    free: Vec<u32>,
    serials: u64,
    pages: u64,
    /// Most pages that a read may choose from.
    most: usize,
}

impl Twins {
    pub(super) fn new(footprint_pages: u32, most: u32) -> Self {
        Self {
            places: vec![Place { set: NONE, at: 0 }; footprint_pages as usize],
            sets: Vec::new(),
            free: Vec::new(),
            serials: 0,
            pages: 0,
            most: most as usize,
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, lpn: u32) {
        prefetch(&self.places, lpn as usize);
    }

    /// Asks for the head of the list that a page is in.
    #[inline]
    pub(crate) fn prefetch_list(&self, lpn: u32) {
        if let Some(place) = self.places.get(lpn as usize) {
            prefetch(&self.sets, place.set as usize);
        }
    }

    /// Asks for the pages of that list, where a page that leaves it stands and the last one.
    #[inline]
    pub(super) fn prefetch_pages(&self, lpn: u32) {
        let Some(&Place { set, at }) = self.places.get(lpn as usize) else { return };
        if let Some(Many { ppns, lpns }) = self.sets.get(set as usize).and_then(|set| set.many.as_deref()) {
            prefetch(ppns, at as usize);
            prefetch(lpns, lpns.len().wrapping_sub(1));
        }
    }

    /// Pages in lists.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Lists.
    pub(crate) fn sets(&self) -> u64 {
        (self.sets.len() - self.free.len()) as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        let many = |set: &Set| set.many.as_ref().map_or(0, |many| many.ppns.capacity() * 8);
        let lists: usize = self.sets.iter().map(|set| size_of::<Set>() + many(set)).sum();
        (lists + self.free.capacity() * 4 + self.places.len() * size_of::<Place>()) as u64
    }

    /// The list that a logical page is in.
    #[inline]
    pub(super) fn set_of(&self, lpn: u32) -> Option<u32> {
        let set = self.places[lpn as usize].set;
        (set != NONE).then_some(set)
    }

    /// A number that all logical pages of a list share, and no page of any other list ever has.
    #[inline]
    pub(crate) fn serial(&self, lpn: u32) -> Option<u64> {
        self.set_of(lpn).map(|set| self.sets[set as usize].serial)
    }

    /// Pages that a read of `lpn` may choose from, its own among them; none when it has no twin.
    /// Of a list with more than the limit, a stretch around its own.
    #[inline]
    pub(crate) fn choices(&self, lpn: u32) -> &[Ppn] {
        let Place { set, at } = self.places[lpn as usize];
        if set == NONE {
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
    pub(super) fn moved(&mut self, lpn: u32, to: Ppn) {
        let Place { set, at } = self.places[lpn as usize];
        if set != NONE {
            self.sets[set as usize].set_ppn(at as usize, to);
        }
    }

    fn fresh(&mut self) -> u32 {
        self.serials += 1;
        let serial = self.serials;
        match self.free.pop() {
            Some(set) => {
                self.sets[set as usize] = Set::new(serial);
                set
            }
            None => {
                self.sets.push(Set::new(serial));
                self.sets.len() as u32 - 1
            }
        }
    }

    fn push(&mut self, set: u32, lpn: u32, ppn: Ppn) {
        let list = &mut self.sets[set as usize];
        self.places[lpn as usize] = Place { set, at: list.ppns().len() as u32 };
        list.push(lpn, ppn);
    }

    /// Two logical pages turn out to hold the same: from now on one list has both, with all that
    /// theirs had. Returns whether that is news.
    pub(super) fn join(&mut self, one: (u32, Ppn), other: (u32, Ppn)) -> bool {
        match (self.set_of(one.0), self.set_of(other.0)) {
            (None, None) if one.0 == other.0 => return false,
            (Some(a), Some(b)) if a == b => return false,
            (None, None) => {
                let set = self.fresh();
                self.push(set, one.0, one.1);
                self.push(set, other.0, other.1);
                self.pages += 2;
            }
            (Some(set), None) => {
                self.push(set, other.0, other.1);
                self.pages += 1;
            }
            (None, Some(set)) => {
                self.push(set, one.0, one.1);
                self.pages += 1;
            }
            (Some(a), Some(b)) => self.merge(a, b),
        }
        true
    }

    /// The shorter list goes into the longer, so that no page is moved more often than lists can
    /// double.
    fn merge(&mut self, a: u32, b: u32) {
        let longer = self.sets[a as usize].ppns().len() >= self.sets[b as usize].ppns().len();
        let (into, from) = if longer { (a, b) } else { (b, a) };
        let shorter = std::mem::replace(&mut self.sets[from as usize], Set::new(0));
        for (&lpn, &ppn) in shorter.lpns().iter().zip(shorter.ppns()) {
            self.push(into, lpn, ppn);
        }
        self.free.push(from);
    }

    /// A logical page no longer holds what its twins hold.
    #[inline]
    pub(super) fn leave(&mut self, lpn: u32) {
        let Place { set, at } = self.places[lpn as usize];
        if set != NONE {
            self.places[lpn as usize].set = NONE;
            self.take_off(set, at as usize);
        }
    }

    fn take_off(&mut self, set: u32, at: usize) {
        let list = &mut self.sets[set as usize];
        list.swap_remove(at);
        self.pages -= 1;
        if let Some(&lpn) = list.lpns().get(at) {
            self.places[lpn as usize].at = at as u32;
        }
        if let &[last] = list.lpns() {
            // One page alone has no twin.
            *list = Set::new(0);
            self.pages -= 1;
            self.free.push(set);
            self.places[last as usize].set = NONE;
        }
    }

    /// Compares every list with the pages that it names; `own` says where a logical page lies and
    /// what it holds.
    pub(super) fn audit(&self, blocks: &Blocks, own: impl Fn(u32) -> (Ppn, u32)) -> Result<(), String> {
        let mut pages = 0;
        for (set, list) in self.sets.iter().enumerate() {
            let (ppns, lpns) = (list.ppns(), list.lpns());
            if ppns.len() == 1 || ppns.len() != lpns.len() {
                return Err(format!("list {set} of twins has a single page"));
            }
            let mut contents = Vec::new();
            for (at, &ppn) in ppns.iter().enumerate() {
                let lpn =
                    blocks.owner(ppn).ok_or_else(|| format!("list {set} of twins names a dead page"))?;
                let (ppn_of_lpn, content) = own(lpn);
                let place = self.places[lpn as usize];
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
        let placed = self.places.iter().filter(|place| place.set != NONE).count() as u64;
        if (pages, pages) == (self.pages, placed) {
            return Ok(());
        }
        Err(format!("{pages} twins are listed, {} are counted, {placed} have a list", self.pages))
    }
}
