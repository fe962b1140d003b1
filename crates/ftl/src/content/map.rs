//! LPN -> VPN -> PPNs: the two-level map of a content-addressed SSD.
//!
//! Source: RR-SSD paper III.B (primary and secondary mapping tables, fingerprint store),
//! after CAFTL (Chen et al., FAST 2011).

use flashtwin_nand::{NO_PPN, Ppn};

use super::replica_sets::ReplicaSets;
use crate::dedup::{FingerprintStore, History};
use crate::flash::{Flash, Moved};
use crate::ids::{Content, Lpn, NO_VPN, Owner, TablePage, Vpn};
use crate::paging::{EntriesOf, Layout, Map, Tables};
use crate::sabotage::sabotaged;
use flashtwin_bits::{By, HugeSlice, Slab};

pub(crate) type ContentTables = Tables<ContentMap>;

/// One content held by the device. 16 bytes.
#[derive(Clone, Copy)]
struct ContentEntry {
    home: Ppn,
    references: u32,
    content: Content,
    replicas: u32,
}

/// A content that no logical page points to any more: all its pages are to be invalidated.
pub(crate) struct Released {
    pub(crate) home: Ppn,
    pub(crate) replicas: Vec<Ppn>,
}

/// The tables of a content-addressed SSD: 4 bytes a logical page; for each content 17 bytes by VPN,
/// and its entries of fingerprint and history.
pub(crate) struct ContentMap {
    lpn_vpn: By<Lpn, HugeSlice<Vpn>>,
    vpns: By<Vpn, Slab<ContentEntry>>,
    /// Reads of each VPN in this period, saturating (the paper's VPC).
    popularity: By<Vpn, Vec<u8>>,
    pub(crate) fingerprints: FingerprintStore<Vpn>,
    pub(crate) replicas: ReplicaSets,
    pub(crate) history: History,
    saturation: u8,
    mapped: u64,
}

impl ContentMap {
    pub(crate) fn new(
        footprint_pages: u32,
        fingerprints: FingerprintStore<Vpn>,
        history: History,
        saturation: u8,
    ) -> Self {
        Self {
            saturation,
            lpn_vpn: By::new(HugeSlice::filled(NO_VPN, footprint_pages as usize)),
            vpns: By::new(Slab::new()),
            popularity: By::new(Vec::new()),
            fingerprints,
            replicas: ReplicaSets::new(),
            history,
            mapped: 0,
        }
    }

    pub(crate) fn lpns(&self) -> u32 {
        self.lpn_vpn.len() as u32
    }

    #[inline]
    pub(crate) fn vpn_of(&self, lpn: Lpn) -> Vpn {
        self.lpn_vpn[lpn]
    }

    #[inline]
    pub(crate) fn home(&self, vpn: Vpn) -> Ppn {
        self.vpns[vpn].home
    }

    #[inline]
    pub(crate) fn content(&self, vpn: Vpn) -> Content {
        self.vpns[vpn].content
    }

    #[inline]
    pub(crate) fn replica_ppns(&self, vpn: Vpn) -> &[Ppn] {
        self.replicas.ppns(self.vpns[vpn].replicas)
    }

    /// The copies of a content: its home, then its replicas in the order in which they were made.
    pub(crate) fn copies(&self, vpn: Vpn) -> impl Iterator<Item = Ppn> {
        [self.home(vpn)].into_iter().chain(self.replica_ppns(vpn).iter().copied())
    }

    #[inline]
    pub(crate) fn pages_of(&self, vpn: Vpn) -> u32 {
        1 + self.replica_ppns(vpn).len() as u32
    }

    pub(crate) fn popularity(&self, vpn: Vpn) -> u8 {
        self.popularity[vpn]
    }

    pub(crate) fn popularities(&self) -> By<Vpn, Vec<u8>> {
        self.popularity.clone()
    }

    pub(crate) fn reset_popularity(&mut self) {
        self.popularity.fill(0);
    }

    pub(crate) fn vpn_slots(&self) -> u32 {
        self.vpns.len() as u32
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = Vpn> {
        Vpn::each(0..self.vpn_slots()).filter(|&vpn| self.is_live(vpn))
    }

    pub(crate) fn is_live(&self, vpn: Vpn) -> bool {
        self.vpns[vpn].references > 0
    }

    pub(crate) fn live_vpns(&self) -> u64 {
        u64::from(self.vpns.taken())
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    pub(crate) fn pages_in_use(&self) -> u64 {
        self.live_vpns() + self.replicas.pages()
    }

    pub(crate) fn page_bytes(pages: u64) -> u64 {
        pages * 4
    }

    /// An entry and a counter each.
    pub(crate) fn entry_bytes(contents: u64) -> u64 {
        contents * (size_of::<ContentEntry>() as u64 + 1)
    }

    pub(crate) fn content_bytes(&self) -> u64 {
        Self::entry_bytes(self.vpns.len() as u64)
            + self.vpns.free_slots() as u64 * 4
            + self.history.bytes()
            + self.fingerprints.bytes()
            + self.replicas.bytes()
    }

    /// Counts a read of a content towards its popularity; returns whether it is its first.
    #[inline]
    pub(crate) fn count_read(&mut self, vpn: Vpn) -> bool {
        let counter = &mut self.popularity[vpn];
        *counter = counter.saturating_add(1).min(self.saturation);
        self.history.read(self.vpns[vpn].content)
    }

    /// A VPN for a content about to be programmed; [`ContentMap::place`] and [`ContentMap::enter`] follow.
    #[inline]
    pub(crate) fn create(&mut self, content: Content) -> Vpn {
        let fresh = ContentEntry { home: NO_PPN, references: 0, content, replicas: ReplicaSets::NO_SET };
        let vpn = Vpn::new(self.vpns.insert(fresh));
        match self.popularity.get_mut(vpn) {
            Some(popularity) => *popularity = 0,
            None => self.popularity.push(0),
        }
        self.history.born(content);
        vpn
    }

    #[inline]
    pub(crate) fn enter(&mut self, vpn: Vpn) {
        self.fingerprints.insert(self.content(vpn), vpn);
    }

    pub(crate) fn references(&self, vpn: Vpn) -> u32 {
        self.vpns[vpn].references
    }

    /// Tells a store that counts them how many LPNs point to a content that it knows.
    #[inline]
    fn recount(&mut self, vpn: Vpn) {
        if self.fingerprints.counts_references() {
            let ContentEntry { content, references, .. } = self.vpns[vpn];
            if self.fingerprints.peek(content) == vpn {
                self.fingerprints.recount(content, references);
            }
        }
    }

    #[inline]
    pub(crate) fn place(&mut self, vpn: Vpn, home: Ppn) {
        self.vpns[vpn].home = home;
    }

    /// Points a logical page at `vpn` (or none); returns the content that lost its last reference.
    #[inline]
    pub(crate) fn point(&mut self, lpn: Lpn, vpn: Vpn) -> Option<Released> {
        let old = std::mem::replace(&mut self.lpn_vpn[lpn], vpn);
        if vpn != NO_VPN {
            self.vpns[vpn].references += 1;
            self.recount(vpn);
            self.mapped += u64::from(old == NO_VPN);
        } else {
            self.mapped -= u64::from(old != NO_VPN);
        }
        if old == NO_VPN {
            return None;
        }
        let entry = &mut self.vpns[old];
        entry.references -= 1;
        if entry.references == 0 {
            return Some(self.release(old));
        }
        self.recount(old);
        None
    }

    fn release(&mut self, vpn: Vpn) -> Released {
        let ContentEntry { home, content, replicas: set, .. } = self.vpns[vpn];
        let kept = sabotaged!(StaleFingerprint);
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
        self.vpns.free(vpn.number());
        Released { home, replicas }
    }

    pub(crate) fn add_replica(&mut self, vpn: Vpn, level: u8, ppn: Ppn) {
        let set = self.vpns[vpn].replicas;
        self.vpns[vpn].replicas = self.replicas.add(set, vpn, level, ppn);
    }

    #[cfg(test)]
    pub(crate) fn replica_level(&self, vpn: Vpn) -> Option<u8> {
        let set = self.vpns[vpn].replicas;
        (set != ReplicaSets::NO_SET).then(|| self.replicas.level(set))
    }

    #[inline]
    pub(crate) fn relist_replicas(&mut self, vpn: Vpn, level: u8) {
        let set = self.vpns[vpn].replicas;
        if set != ReplicaSets::NO_SET {
            self.replicas.relist(set, level);
        }
    }

    /// Lists the replicas of a content under `level`, unless it is listed under that or a higher one.
    #[inline]
    pub(crate) fn raise_replicas(&mut self, vpn: Vpn, level: u8) {
        let set = self.vpns[vpn].replicas;
        if set != ReplicaSets::NO_SET && self.replicas.level(set) < level {
            self.replicas.relist(set, level);
        }
    }

    pub(crate) fn drop_replica(&mut self, vpn: Vpn) -> Option<Ppn> {
        let set = self.vpns[vpn].replicas;
        if set == ReplicaSets::NO_SET {
            return None;
        }
        let (ppn, gone) = self.replicas.pop(set)?;
        if gone {
            self.vpns[vpn].replicas = ReplicaSets::NO_SET;
        }
        Some(ppn)
    }

    /// Garbage collection moved a page of `vpn`. Returns whether it was one of its copies.
    pub(crate) fn relocate(&mut self, vpn: Vpn, from: Ppn, to: Ppn) -> bool {
        let entry = &mut self.vpns[vpn];
        if entry.home == from {
            entry.home = to;
            return true;
        }
        entry.replicas != ReplicaSets::NO_SET && self.replicas.relocate(entry.replicas, from, to)
    }

    pub(crate) fn audit(&self) -> Result<(), String> {
        let mut references = By::<Vpn, _>::new(vec![0u32; self.vpns.len()]);
        for &vpn in self.lpn_vpn.iter().filter(|&&vpn| vpn != NO_VPN) {
            references[vpn] += 1;
        }
        for (vpn, entry) in self.vpns.rows() {
            if entry.references != references[vpn] {
                return Err(format!(
                    "VPN {vpn} counts {} references, {} pages point to it",
                    entry.references, references[vpn]
                ));
            }
        }
        let contents = Content::each(0..self.history.contents());
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
    fn known_in<'a>(
        &'a self,
        layout: &'a Layout,
        page: TablePage,
    ) -> impl Iterator<Item = (Content, Vpn)> + 'a {
        Content::each(0..self.history.contents())
            .map(|content| (content, self.fingerprints.peek(content)))
            // Few are known of many; which page they are in takes longer to tell.
            .filter(move |&(content, vpn)| vpn != NO_VPN && layout.of_fingerprint(content) == Some(page))
    }

    #[cfg(test)]
    pub(crate) fn plant_reference(&mut self, vpn: Vpn) {
        self.vpns[vpn].references += 1;
    }
}

impl Map for ContentMap {
    #[inline]
    fn prefetch_far(&self, lpn: Lpn, content: Content, _write: bool) {
        self.lpn_vpn.prefetch(lpn);
        self.history.prefetch(content);
        self.fingerprints.prefetch(content);
    }

    #[inline]
    fn prefetch_near(&self, lpn: Lpn, content: Content, _write: bool, _flash: &Flash) {
        let held = self.vpn_of(lpn);
        self.vpns.prefetch(held);
        self.popularity.prefetch(held);
        self.vpns.prefetch(self.fingerprints.foresee(content));
    }

    #[inline]
    fn prefetch_next(&self, lpn: Lpn, content: Content, flash: &Flash) {
        self.fingerprints.prefetch_neighbours(content);
        if let Some(&ContentEntry { home, content, replicas, .. }) = self.vpns.get(self.vpn_of(lpn)) {
            self.fingerprints.prefetch(content);
            self.history.prefetch(content);
            self.replicas.prefetch(replicas);
            flash.blocks.prefetch(home);
        }
    }

    #[inline]
    fn prefetch_last(&self, lpn: Lpn) {
        if let Some(&ContentEntry { content, replicas, .. }) = self.vpns.get(self.vpn_of(lpn)) {
            self.replicas.prefetch_list(replicas);
            self.fingerprints.prefetch_neighbours(content);
        }
    }

    #[inline]
    fn relocate(&mut self, owner: Owner, from: Ppn, to: Ppn, _flash: &mut Flash) -> bool {
        self.relocate(owner.id(), from, to)
    }

    /// Counts the changes. Inverted tables would change each LPN's PPN and the page's entries in iLPT, HPT and iHPT.
    #[inline]
    fn page_moved(&mut self, Moved { owner, from, to, .. }: Moved, flash: &mut Flash) -> bool {
        let vpn = owner.id();
        let inverted = match self.home(vpn) == from {
            false => 0,
            true => {
                let known = self.fingerprints.peek(self.content(vpn)) == vpn;
                u64::from(self.references(vpn)) + 1 + 2 * u64::from(known)
            }
        };
        flash.counters.dedup.gc_updates_two_level += 1;
        flash.counters.dedup.gc_updates_inverted += inverted;
        self.relocate(vpn, from, to)
    }

    #[inline]
    fn entry_of(&self, owner: Owner, layout: &Layout) -> TablePage {
        layout.of_vpn(owner.id())
    }

    #[inline]
    fn vpn_of(&self, lpn: Lpn) -> Vpn {
        self.vpn_of(lpn)
    }

    #[inline]
    fn take_changed_fingerprints(&mut self) -> Vec<Content> {
        self.fingerprints.take_changed()
    }

    fn each_entry(&self, layout: &Layout, page: TablePage, take: &mut dyn FnMut(u32)) {
        match layout.entries(page) {
            EntriesOf::Lpns(lpns) => Lpn::each(lpns).for_each(|lpn| take(self.vpn_of(lpn).number())),
            EntriesOf::Vpns(vpns) => {
                for vpn in Vpn::each(vpns) {
                    if vpn.number() >= self.vpn_slots() || !self.is_live(vpn) {
                        take(NO_VPN.number());
                        continue;
                    }
                    take(self.references(vpn));
                    self.copies(vpn).for_each(|ppn| take(ppn.number()));
                }
            }
            EntriesOf::Fingerprints => {
                for (content, vpn) in self.known_in(layout, page) {
                    take(content.number());
                    take(vpn.number());
                }
            }
        }
    }

    fn has_entries(&self, layout: &Layout, page: TablePage) -> bool {
        match layout.entries(page) {
            EntriesOf::Lpns(lpns) => Lpn::each(lpns).any(|lpn| self.vpn_of(lpn) != NO_VPN),
            EntriesOf::Vpns(vpns) => {
                Vpn::each(vpns).any(|vpn| vpn.number() < self.vpn_slots() && self.is_live(vpn))
            }
            EntriesOf::Fingerprints => self.known_in(layout, page).next().is_some(),
        }
    }
}

flashtwin_bits::state!(value ContentEntry { home, references, content, replicas });
flashtwin_bits::state!(ContentMap { lpn_vpn, vpns, popularity, fingerprints, replicas, history, mapped } kept { saturation });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Entries, EvictionPolicy};
    use crate::foreign::Foreign;

    #[test]
    fn a_fingerprint_of_what_is_not_held_there_is_noticed() {
        let held = || {
            let fingerprints =
                FingerprintStore::new(9, Entries::Unlimited, EvictionPolicy::LruWrites, &Foreign::default());
            let mut map = ContentMap::new(4, fingerprints, History::new(9, true), 1);
            let vpns = [3, 5].map(|content| map.create(Content::new(content)));
            vpns.iter().for_each(|&vpn| map.enter(vpn));
            (0..2).for_each(|at| assert!(map.point(Lpn::new(at), vpns[at as usize]).is_none()));
            (map, vpns)
        };
        let (map, _) = held();
        map.audit().unwrap();
        let (mut map, vpns) = held();
        map.fingerprints.renew(Content::new(3), vpns[1]);
        let expected = format!("the fingerprint of content 3 names VPN {}, which does not hold it", vpns[1]);
        assert_eq!(map.audit(), Err(expected));
        let (mut map, vpns) = held();
        map.fingerprints.remove(Content::new(3));
        assert!(map.point(Lpn::new(0), NO_VPN).is_some());
        map.fingerprints.insert(Content::new(3), vpns[0]);
        let expected = format!("the fingerprint of content 3 names VPN {}, which does not hold it", vpns[0]);
        assert_eq!(map.audit(), Err(expected));
    }
}
