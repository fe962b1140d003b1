//! LPN -> VPN -> PPNs: the two-level map of a content-addressed SSD.
//!
//! Source: RR-SSD paper III.B (primary and secondary mapping tables, fingerprint store),
//! after CAFTL (Chen et al., FAST 2011).

use flashtwin_nand::{NO_PPN, Ppn};

use super::replica_sets::ReplicaSets;
use crate::dedup::{FingerprintStore, History};
use crate::flash::{Flash, Moved};
use crate::op::NO_VPN;
use crate::paging::{Entries, Layout, Map, Tables};
use flashtwin_bits::{HugeSlice, Slab, prefetch};

/// The map and, where its tables are on flash, their pages.
pub(crate) type ContentTables = Tables<ContentMap>;

/// One content held by the device. 16 bytes.
#[derive(Clone, Copy)]
struct Vpn {
    /// The home copy.
    home: Ppn,
    /// Logical pages that hold this content.
    references: u32,
    content: u32,
    /// Its replicas' set.
    replicas: u32,
}

/// A content that no logical page points to any more: all its pages are to be invalidated.
pub(crate) struct Released {
    pub(crate) home: Ppn,
    pub(crate) replicas: Vec<Ppn>,
}

/// The tables of a content-addressed SSD: 4 bytes a logical page, and a content 17 for its
/// VPN and what its fingerprint and its history take.
pub(crate) struct ContentMap {
    lpn_vpn: HugeSlice<u32>,
    vpns: Slab<Vpn>,
    /// Reads of each VPN in this period, saturating (the paper's VPC).
    popularity: Vec<u8>,
    pub(crate) fingerprints: FingerprintStore,
    pub(crate) replicas: ReplicaSets,
    pub(crate) history: History,
    /// Highest value of a popularity counter.
    saturation: u8,
    mapped: u64,
}

impl ContentMap {
    /// Tables for `footprint_pages` logical pages; a popularity counter ends at `saturation`.
    pub(crate) fn new(
        footprint_pages: u32,
        fingerprints: FingerprintStore,
        history: History,
        saturation: u8,
    ) -> Self {
        Self {
            saturation,
            lpn_vpn: HugeSlice::filled(NO_VPN, footprint_pages as usize),
            vpns: Slab::new(),
            popularity: Vec::new(),
            fingerprints,
            replicas: ReplicaSets::new(),
            history,
            mapped: 0,
        }
    }

    /// Logical pages that the map covers.
    pub(crate) fn lpns(&self) -> u32 {
        self.lpn_vpn.len() as u32
    }

    #[inline]
    pub(crate) fn vpn_of(&self, lpn: u32) -> u32 {
        self.lpn_vpn[lpn as usize]
    }

    #[inline]
    pub(crate) fn home(&self, vpn: u32) -> Ppn {
        self.vpns[vpn as usize].home
    }

    #[inline]
    pub(crate) fn content(&self, vpn: u32) -> u32 {
        self.vpns[vpn as usize].content
    }

    #[inline]
    pub(crate) fn replica_ppns(&self, vpn: u32) -> &[Ppn] {
        self.replicas.ppns(self.vpns[vpn as usize].replicas)
    }

    /// The copies of a content: its home, then its replicas in the order in which they were made.
    pub(crate) fn copies(&self, vpn: u32) -> impl Iterator<Item = Ppn> {
        [self.home(vpn)].into_iter().chain(self.replica_ppns(vpn).iter().copied())
    }

    /// Pages of a content: its home and its replicas.
    #[inline]
    pub(crate) fn pages_of(&self, vpn: u32) -> u32 {
        1 + self.replica_ppns(vpn).len() as u32
    }

    /// Asks for the first tables that an operation on this page will look into.
    #[inline]
    pub(crate) fn prefetch_far(&self, lpn: u32, content: u32) {
        prefetch(&self.lpn_vpn, lpn as usize);
        self.history.prefetch(content);
        self.fingerprints.prefetch(content);
    }

    /// Asks for what those tables point to.
    #[inline]
    pub(crate) fn prefetch_near(&self, lpn: u32, content: u32) {
        let held = self.vpn_of(lpn) as usize;
        prefetch(&self.vpns, held);
        prefetch(&self.popularity, held);
        prefetch(&self.vpns, self.fingerprints.foresee(content) as usize);
    }

    /// Asks for what a page's content is known by, its replicas, and what it takes to enter the content that is
    /// written; returns its home copy.
    #[inline]
    pub(crate) fn prefetch_next(&self, lpn: u32, content: u32) -> Option<Ppn> {
        self.fingerprints.prefetch_neighbours(content);
        let &Vpn { home, content, replicas, .. } = self.vpns.get(self.vpn_of(lpn) as usize)?;
        self.fingerprints.prefetch(content);
        self.history.prefetch(content);
        self.replicas.prefetch(replicas);
        Some(home)
    }

    /// Asks for the list of a page's replicas, and what leaving the fingerprint store takes.
    #[inline]
    pub(crate) fn prefetch_last(&self, lpn: u32) {
        if let Some(&Vpn { content, replicas, .. }) = self.vpns.get(self.vpn_of(lpn) as usize) {
            self.replicas.prefetch_list(replicas);
            self.fingerprints.prefetch_neighbours(content);
        }
    }

    pub(crate) fn popularity(&self, vpn: u32) -> u8 {
        self.popularity[vpn as usize]
    }

    pub(crate) fn reset_popularity(&mut self) {
        self.popularity.fill(0);
    }

    /// Length of an array indexed by VPN.
    pub(crate) fn vpn_slots(&self) -> u32 {
        self.vpns.len() as u32
    }

    pub(crate) fn is_live(&self, vpn: u32) -> bool {
        self.vpns[vpn as usize].references > 0
    }

    pub(crate) fn live_vpns(&self) -> u64 {
        u64::from(self.vpns.taken())
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Pages of first copies and replicas.
    pub(crate) fn pages_in_use(&self) -> u64 {
        self.live_vpns() + self.replicas.pages()
    }

    /// Bytes of the table of logical pages.
    pub(crate) fn page_bytes(&self) -> u64 {
        self.lpn_vpn.len() as u64 * 4
    }

    /// Bytes of the tables of contents.
    pub(crate) fn content_bytes(&self) -> u64 {
        (self.vpns.len() * (size_of::<Vpn>() + 1) + self.vpns.free_slots() * 4) as u64
            + self.history.bytes()
            + self.fingerprints.bytes()
            + self.replicas.bytes()
    }

    /// Counts a read of a content towards its popularity; returns whether it is its first.
    #[inline]
    pub(crate) fn count_read(&mut self, vpn: u32) -> bool {
        let counter = &mut self.popularity[vpn as usize];
        *counter = counter.saturating_add(1).min(self.saturation);
        self.history.read(self.vpns[vpn as usize].content)
    }

    /// A VPN for a content about to be programmed; [`ContentMap::place`] says where, and
    /// [`ContentMap::enter`] makes it known.
    #[inline]
    pub(crate) fn create(&mut self, content: u32) -> u32 {
        let fresh = Vpn { home: NO_PPN, references: 0, content, replicas: ReplicaSets::NO_SET };
        let vpn = self.vpns.insert(fresh);
        match self.popularity.get_mut(vpn as usize) {
            Some(popularity) => *popularity = 0,
            None => self.popularity.push(0),
        }
        self.history.born(content);
        vpn
    }

    /// Enters the content of `vpn` in the fingerprint store, under its only LPN's reference.
    #[inline]
    pub(crate) fn enter(&mut self, vpn: u32) {
        self.fingerprints.insert(self.content(vpn), vpn, 1);
    }

    /// Logical pages that hold the content of `vpn`.
    pub(crate) fn references(&self, vpn: u32) -> u32 {
        self.vpns[vpn as usize].references
    }

    /// Tells a store that counts them how many LPNs point to a content that it knows.
    #[inline]
    fn recount(&mut self, vpn: u32) {
        if self.fingerprints.counts_references() {
            let Vpn { content, references, .. } = self.vpns[vpn as usize];
            if self.fingerprints.peek(content) == vpn {
                self.fingerprints.recount(content, references);
            }
        }
    }

    #[inline]
    pub(crate) fn place(&mut self, vpn: u32, home: Ppn) {
        self.vpns[vpn as usize].home = home;
    }

    /// Points a logical page at `vpn` (or at nothing); returns what thereby lost its last
    /// reference.
    #[inline]
    pub(crate) fn point(&mut self, lpn: u32, vpn: u32) -> Option<Released> {
        let old = std::mem::replace(&mut self.lpn_vpn[lpn as usize], vpn);
        if vpn != NO_VPN {
            self.vpns[vpn as usize].references += 1;
            self.recount(vpn);
            self.mapped += u64::from(old == NO_VPN);
        } else {
            self.mapped -= u64::from(old != NO_VPN);
        }
        if old == NO_VPN {
            return None;
        }
        let entry = &mut self.vpns[old as usize];
        entry.references -= 1;
        if entry.references == 0 {
            return Some(self.release(old));
        }
        self.recount(old);
        None
    }

    fn release(&mut self, vpn: u32) -> Released {
        let Vpn { home, content, replicas: set, .. } = self.vpns[vpn as usize];
        #[cfg(test)]
        let kept = crate::tests::planted(crate::tests::Bug::StaleFingerprint);
        #[cfg(not(test))]
        let kept = false;
        if self.fingerprints.peek(content) == vpn && !kept {
            self.fingerprints.remove(content);
        }
        self.history.died(content);
        let mut replicas = Vec::new();
        if set != ReplicaSets::NO_SET {
            while let Some((ppn, gone)) = self.replicas.pop(set) {
                replicas.push(ppn);
                if gone {
                    break;
                }
            }
        }
        self.vpns.free(vpn);
        Released { home, replicas }
    }

    /// Adds a replica.
    pub(crate) fn add_replica(&mut self, vpn: u32, level: u8, ppn: Ppn) {
        let set = self.vpns[vpn as usize].replicas;
        self.vpns[vpn as usize].replicas = self.replicas.add(set, vpn, level, ppn);
    }

    /// The level under which the replicas of a content are listed, if it has any.
    #[cfg(test)]
    pub(crate) fn replica_level(&self, vpn: u32) -> Option<u8> {
        let set = self.vpns[vpn as usize].replicas;
        (set != ReplicaSets::NO_SET).then(|| self.replicas.level(set))
    }

    /// Lists the replicas of a content, if it has any, as the latest under `level`.
    #[inline]
    pub(crate) fn relist_replicas(&mut self, vpn: u32, level: u8) {
        let set = self.vpns[vpn as usize].replicas;
        if set != ReplicaSets::NO_SET {
            self.replicas.relist(set, level);
        }
    }

    /// Lists the replicas of a content under `level`, unless it is listed under that or a higher one.
    #[inline]
    pub(crate) fn raise_replicas(&mut self, vpn: u32, level: u8) {
        let set = self.vpns[vpn as usize].replicas;
        if set != ReplicaSets::NO_SET && self.replicas.level(set) < level {
            self.replicas.relist(set, level);
        }
    }

    /// Takes one replica off a content; returns its page.
    pub(crate) fn drop_replica(&mut self, vpn: u32) -> Option<Ppn> {
        let set = self.vpns[vpn as usize].replicas;
        if set == ReplicaSets::NO_SET {
            return None;
        }
        let (ppn, gone) = self.replicas.pop(set)?;
        if gone {
            self.vpns[vpn as usize].replicas = ReplicaSets::NO_SET;
        }
        Some(ppn)
    }

    /// Garbage collection moved a page of `vpn`. Returns whether it was one of its copies.
    pub(crate) fn relocate(&mut self, vpn: u32, from: Ppn, to: Ppn) -> bool {
        let entry = &mut self.vpns[vpn as usize];
        if entry.home == from {
            entry.home = to;
            return true;
        }
        entry.replicas != ReplicaSets::NO_SET && self.replicas.relocate(entry.replicas, from, to)
    }

    /// Compares reference counts with the pages that point, and the fingerprints with the
    /// contents they name.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let mut references = vec![0u32; self.vpns.len()];
        for &vpn in self.lpn_vpn.iter().filter(|&&vpn| vpn != NO_VPN) {
            references[vpn as usize] += 1;
        }
        for (vpn, entry) in self.vpns.iter().enumerate() {
            if entry.references != references[vpn] {
                return Err(format!(
                    "VPN {vpn} counts {} references, {} pages point to it",
                    entry.references, references[vpn]
                ));
            }
        }
        let contents = 0..self.history.contents();
        for (content, vpn) in contents.map(|content| (content, self.fingerprints.peek(content))) {
            if vpn != NO_VPN && (!self.is_live(vpn) || self.content(vpn) != content) {
                return Err(format!(
                    "the fingerprint of content {content} names VPN {vpn}, which does not hold it"
                ));
            }
        }
        Ok(())
    }

    /// The fingerprints in a page of the store, and their VPNs. Goes through all contents: for verification.
    fn known_in<'a>(&'a self, layout: &'a Layout, page: u32) -> impl Iterator<Item = (u32, u32)> + 'a {
        (0..self.history.contents())
            .filter(move |&content| layout.of_fingerprint(content) == Some(page))
            .map(|content| (content, self.fingerprints.peek(content)))
            .filter(|&(_, vpn)| vpn != NO_VPN)
    }

    #[cfg(test)]
    pub(crate) fn plant_reference(&mut self, vpn: u32) {
        self.vpns[vpn as usize].references += 1;
    }
}

impl Map for ContentMap {
    /// What changes: in two levels the VPN's PPN. Inverted tables would change the PPN of each LPN, the page's entry in
    /// the iLPT and, where its fingerprint is known, those in HPT and iHPT; they hold no replicas.
    #[inline]
    fn page_moved(&mut self, Moved { owner: vpn, from, to, .. }: Moved, flash: &mut Flash) -> bool {
        let inverted = match self.home(vpn) == from {
            false => 0,
            true => {
                let known = self.fingerprints.peek(self.content(vpn)) == vpn;
                u64::from(self.references(vpn)) + 1 + 2 * u64::from(known)
            }
        };
        flash.counters.gc_updates_two_level += 1;
        flash.counters.gc_updates_inverted += inverted;
        self.relocate(vpn, from, to)
    }

    #[inline]
    fn entry_of(&self, owner: u32, layout: &Layout) -> u32 {
        layout.of_vpn(owner)
    }

    #[inline]
    fn vpn_of(&self, lpn: u32) -> u32 {
        self.vpn_of(lpn)
    }

    #[inline]
    fn take_changed_fingerprints(&mut self) -> Vec<u32> {
        self.fingerprints.take_changed()
    }

    fn each_entry(&self, layout: &Layout, page: u32, take: &mut dyn FnMut(u32)) {
        match layout.entries(page) {
            Entries::Lpns(lpns) => lpns.for_each(|lpn| take(self.vpn_of(lpn))),
            Entries::Vpns(vpns) => {
                for vpn in vpns {
                    if vpn >= self.vpn_slots() || !self.is_live(vpn) {
                        take(NO_VPN);
                        continue;
                    }
                    take(self.references(vpn));
                    self.copies(vpn).for_each(&mut *take);
                }
            }
            Entries::Fingerprints => {
                for (content, vpn) in self.known_in(layout, page) {
                    take(content);
                    take(vpn);
                }
            }
        }
    }

    fn has_entries(&self, layout: &Layout, page: u32) -> bool {
        match layout.entries(page) {
            Entries::Lpns(mut lpns) => lpns.any(|lpn| self.vpn_of(lpn) != NO_VPN),
            Entries::Vpns(mut vpns) => vpns.any(|vpn| vpn < self.vpn_slots() && self.is_live(vpn)),
            Entries::Fingerprints => self.known_in(layout, page).next().is_some(),
        }
    }
}
