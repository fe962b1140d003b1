//! When pages of the tables are used, and what follows: reads, write-backs, checkpoints.

use flashtwin_nand::{Geometry, Ppn};

use super::layout::Entries;
use super::{Layout, Lookup, Paging, PagingSizes};
use crate::blocks::{Blocks, is_page};
use crate::config::FtlConfig;
use crate::error::FtlError;
use crate::ftl::{Ftl, Map};
use crate::host::Host;
use crate::mapping::{ContentMap, NO_VPN};
use crate::op::{FlashOp, LoadView, WriteOutcome};

impl Ftl {
    /// Tells the controller the address of each LPN in the host's address space, ascending: they
    /// decide which entries of the mapping tables share a page, where those are on flash. To be
    /// called before the first write. Returns the logical pages that the device can hold then.
    pub fn lay_out_tables(&mut self, config: &FtlConfig, addresses: &[u64]) -> u64 {
        let geometry = self.blocks.geometry.clone();
        if config.mapping_cache.is_on() {
            let layout = Layout::new(config, &geometry, addresses.iter().copied());
            self.set_tables(config, &geometry, layout);
        }
        let capacity = (self.blocks.plane_limit() * u64::from(geometry.planes())).saturating_sub(1);
        if let Some(replicator) = &mut self.replicator {
            replicator.budget_pages = replicator.budget_pages.min(capacity);
        }
        capacity
    }

    /// Cuts the tables into pages and keeps blocks for them back.
    pub(crate) fn set_tables(&mut self, config: &FtlConfig, geometry: &Geometry, layout: Layout) {
        let paging = Paging::new(config, geometry, layout);
        let kept = config.streams() + paging.pool_blocks();
        self.blocks.keep_apart(Blocks::plane_limit_of(geometry, kept));
        self.paging = Some(Box::new(paging));
        if let Map::Content(map) = &mut self.map {
            map.fingerprints.note_changes(config.pages_fingerprints());
        }
    }

    /// Whether pages of the mapping tables may be missing in RAM, so that the host must wait for them.
    pub fn pages_tables(&self) -> bool {
        self.paging.as_ref().is_some_and(|paging| paging.limited)
    }

    /// Moves what the last page operation looked into to the end of `lookups`.
    pub fn take_lookups(&mut self, lookups: &mut Vec<Lookup>) {
        if let Some(paging) = &mut self.paging {
            lookups.append(&mut paging.lookups);
        }
    }

    /// What there is of pages of the mapping tables; `None` where all tables are in RAM and never
    /// written.
    pub fn paging_sizes(&self) -> Option<PagingSizes> {
        let paging = self.paging.as_ref()?;
        let pages = 0..paging.layout.pages();
        Some(PagingSizes {
            pages: u64::from(paging.layout.pages()),
            pages_on_flash: self.blocks.pages_apart(),
            pages_cached: u64::from(paging.lru.len()),
            pages_dirty: pages.filter(|&page| paging.lru.is_dirty(page)).count() as u64,
            simulator_bytes: paging.bytes(),
        })
    }

    /// Uses a page of the tables; where it must be read from, if at all.
    fn access_table(&mut self, page: u32, changes: bool) -> Option<Ppn> {
        let paging = self.paging.as_mut()?;
        let read = paging.access(page);
        #[cfg(test)]
        let changes =
            changes && (paging.lru.is_dirty(page) || !crate::tests::planted(crate::tests::Bug::CleanPage));
        if changes {
            paging.lru.set_dirty(page, true);
        }
        match read {
            Some(_) => self.counters.mapping.misses += 1,
            None => self.counters.mapping.hits += 1,
        }
        read
    }

    /// Uses a page of the tables for a page operation of the host.
    fn look_up(&mut self, page: u32, changes: bool, delays: bool) -> Result<(), FtlError> {
        let read = self.access_table(page, changes);
        if let Some(ppn) = read {
            self.count_table_read(ppn)?;
        }
        if let Some(paging) = self.paging.as_mut().filter(|paging| paging.limited)
            && (delays || read.is_some())
        {
            paging.lookups.push(Lookup { page, read, delays });
        }
        Ok(())
    }

    fn vpn_of(&self, lpn: u32) -> u32 {
        match &self.map {
            Map::Content(map) => map.vpn_of(lpn),
            Map::Page(_) | Map::Inverted(_) => NO_VPN,
        }
    }

    /// The pages of the tables that a page read looks into.
    pub(crate) fn look_up_read(&mut self, lpn: u32) -> Result<(), FtlError> {
        let Some(paging) = &mut self.paging else { return Ok(()) };
        paging.lookups.clear();
        let primary = paging.layout.of_lpn(lpn);
        self.look_up(primary, false, true)?;
        match (self.vpn_of(lpn), &self.paging) {
            (NO_VPN, _) | (_, None) => Ok(()),
            (vpn, Some(paging)) => self.look_up(paging.layout.of_vpn(vpn), false, true),
        }
    }

    /// The pages of the tables that a page write waits for: that of its LPN and, for a part of a page,
    /// that of the content it is a part of.
    pub(crate) fn look_up_write(&mut self, lpn: u32, partial: bool) -> Result<(), FtlError> {
        if partial {
            return self.look_up_read(lpn);
        }
        let Some(paging) = &mut self.paging else { return Ok(()) };
        paging.lookups.clear();
        let primary = paging.layout.of_lpn(lpn);
        self.look_up(primary, false, true)
    }

    /// Whether looking a content up may have to wait for a page of the fingerprint store.
    pub fn pages_fingerprints(&self) -> bool {
        let place = |paging: &Paging| paging.limited && paging.layout.of_fingerprint(0).is_some();
        self.paging.as_ref().is_some_and(|paging| place(paging))
    }

    /// Looks up the page of the fingerprint store in which a written content would be found; what that
    /// waits for, [`Ftl::take_lookups`] tells. To be called when its hash is known, before [`Ftl::write`].
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    pub fn look_up_fingerprint(&mut self, content: u32) -> Result<(), FtlError> {
        let Some(paging) = &mut self.paging else { return Ok(()) };
        paging.lookups.clear();
        match paging.layout.of_fingerprint(content) {
            Some(page) => self.look_up(page, false, true),
            None => Ok(()),
        }
    }

    /// Entries of the fingerprint store that changed: their pages are to be changed, too.
    #[inline]
    pub(crate) fn touch_fingerprints(&mut self) {
        if let (Some(paging), Map::Content(map)) = (&mut self.paging, &mut self.map) {
            for content in map.fingerprints.take_changed() {
                paging.touched.extend(paging.layout.of_fingerprint(content));
            }
        }
    }

    /// Serves a page write where tables are on flash. What it waits for has been looked up
    /// ([`Ftl::prepare_write`]); counting references in the secondary table keeps nobody waiting.
    pub(crate) fn write_paged(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        if let Some(paging) = &mut self.paging {
            paging.lookups.clear();
        }
        let held = self.vpn_of(page.lpn);
        let outcome = self.write_mapped(page, fingerprinted, loads, ops)?;
        let holds = self.vpn_of(page.lpn);
        let Some(paging) = &self.paging else { return Ok(outcome) };
        let primary = paging.layout.of_lpn(page.lpn);
        let secondary = |vpn: u32| (vpn != NO_VPN).then(|| paging.layout.of_vpn(vpn));
        let counted = [secondary(held), secondary(holds)];
        if outcome.program.is_some() || held != holds {
            self.change_entry(primary)?;
        }
        if held != holds {
            for page in counted.into_iter().flatten() {
                self.look_up(page, true, false)?;
            }
        }
        self.settle_tables(ops)?;
        Ok(outcome)
    }

    /// An entry changes of a page that was looked up for this change. It may have given way meanwhile.
    fn change_entry(&mut self, page: u32) -> Result<(), FtlError> {
        let Some(paging) = self.paging.as_mut().filter(|paging| paging.lru.is_cached(page)) else {
            return self.look_up(page, true, false);
        };
        #[cfg(test)]
        if !paging.lru.is_dirty(page) && crate::tests::planted(crate::tests::Bug::CleanPage) {
            return Ok(());
        }
        paging.lru.set_dirty(page, true);
        Ok(())
    }

    /// The entries of an LPN and of the content it holds change in the background.
    #[inline]
    pub(crate) fn touch_lpn(&mut self, lpn: u32) {
        if self.paging.is_some() {
            let vpn = self.vpn_of(lpn);
            if let Some(paging) = &mut self.paging {
                let page = paging.layout.of_lpn(lpn);
                paging.touched.push_back(page);
            }
            self.touch_vpn(vpn);
        }
    }

    /// The entry of a VPN changes in the background.
    #[inline]
    pub(crate) fn touch_vpn(&mut self, vpn: u32) {
        if let Some(paging) = self.paging.as_mut().filter(|_| vpn != NO_VPN) {
            let page = paging.layout.of_vpn(vpn);
            if paging.touched.back() != Some(&page) {
                paging.touched.push_back(page);
            }
        }
    }

    /// Collection of a plane's victim moved a page of `owner`, an LPN or a VPN.
    #[inline]
    pub(crate) fn entry_moved(&mut self, owner: u32, plane: u32) {
        if let Some(paging) = &mut self.paging {
            let page = match &self.map {
                Map::Page(_) => paging.layout.of_lpn(owner),
                Map::Content(_) | Map::Inverted(_) => paging.layout.of_vpn(owner),
            };
            paging.note_moved(page, plane);
        }
    }

    /// Does what page operations left to do about the tables, where they are on flash.
    #[inline]
    pub(crate) fn settle_tables(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        if self.paging.is_some() {
            self.touch_fingerprints();
        }
        match &self.paging {
            Some(paging) if paging.has_work() => self.do_table_work(ops),
            _ => Ok(()),
        }
    }

    fn do_table_work(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        while let Some(paging) = &mut self.paging {
            // What gave way goes first: its RAM is in use until it is written.
            if let Some(page) = paging.write_outs.pop_front() {
                self.counters.mapping.written_back += 1;
                self.write_table(page, ops)?;
            } else if let Some(page) = paging.touched.pop_front() {
                if let Some(ppn) = self.access_table(page, true) {
                    self.read_table(ppn, ops)?;
                }
            } else if let Some(page) = paging.ready.pop_front() {
                self.write_moved(page, ops)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Collection changed entries of a page that was not in RAM: it is read, changed and written,
    /// beside the cache (DFTL: updates of a victim's pages in one batch).
    fn write_moved(&mut self, page: u32, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        let Some(paging) = &mut self.paging else { return Ok(()) };
        if paging.lru.is_cached(page) {
            paging.lru.set_dirty(page, true);
            return Ok(());
        }
        let ppn = paging.directory[page as usize];
        if is_page(ppn) {
            self.read_table(ppn, ops)?;
        }
        self.counters.mapping.gc_updates += 1;
        self.write_table(page, ops)
    }

    /// Writes every page of the mapping tables that was changed since it was last written.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub fn checkpoint(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        self.settle_tables(ops)?;
        let Some(paging) = &self.paging else { return Ok(()) };
        let before = self.counters.mapping.checkpointed;
        for page in 0..paging.layout.pages() {
            let Some(paging) = self.paging.as_mut().filter(|paging| paging.lru.is_dirty(page)) else {
                continue;
            };
            paging.lru.set_dirty(page, false);
            self.counters.mapping.checkpointed += 1;
            self.write_table(page, ops)?;
        }
        self.counters.mapping.checkpoints += u64::from(self.counters.mapping.checkpointed > before);
        self.settle_tables(ops)
    }

    /// Stands for what a page of the tables says now, for verification.
    pub(super) fn table_digest(&self, page: u32) -> u64 {
        let Some(paging) = &self.paging else { return 0 };
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let mut take = |value: u32| digest = (digest ^ u64::from(value)).wrapping_mul(0x0100_0000_01b3);
        match (paging.layout.entries(page), &self.map) {
            (Entries::Lpns(lpns), Map::Page(map)) => lpns.for_each(|lpn| take(map.get(lpn))),
            (Entries::Lpns(lpns), Map::Content(map)) => lpns.for_each(|lpn| take(map.vpn_of(lpn))),
            (Entries::Vpns(vpns), Map::Content(map)) => {
                for vpn in vpns {
                    if vpn >= map.vpn_slots() || !map.is_live(vpn) {
                        take(NO_VPN);
                        continue;
                    }
                    take(map.references(vpn));
                    take(map.home(vpn));
                    map.replica_ppns(vpn).iter().for_each(|&ppn| take(ppn));
                }
            }
            (Entries::Fingerprints, Map::Content(map)) => {
                for (content, vpn) in known_in(map, paging, page) {
                    take(content);
                    take(vpn);
                }
            }
            _ => {}
        }
        digest
    }

    /// Compares the pages of the tables on flash with the tables: what is neither in RAM nor about to
    /// be written must be there as it is. The contents are compared only where verification is on.
    pub(crate) fn audit_tables(&self) -> Result<(), String> {
        let Some(paging) = &self.paging else { return Ok(()) };
        self.audit_directory()?;
        let Some(checker) = &self.checker else { return Ok(()) };
        for page in (0..paging.layout.pages()).filter(|&page| !paging.is_behind(page)) {
            let ppn = paging.directory[page as usize];
            if !is_page(ppn) {
                if self.table_has_entries(page) {
                    return Err(format!("page {page} of the tables has entries and was never written"));
                }
                continue;
            }
            if checker.stored(ppn) != Some(self.table_digest(page)) {
                let place = self.blocks.geometry.describe(ppn);
                return Err(format!("page {page} of the tables at {place} is not what the tables say"));
            }
        }
        Ok(())
    }

    fn table_has_entries(&self, page: u32) -> bool {
        let Some(paging) = &self.paging else { return false };
        match (paging.layout.entries(page), &self.map) {
            (Entries::Lpns(mut lpns), Map::Page(map)) => lpns.any(|lpn| is_page(map.get(lpn))),
            (Entries::Lpns(mut lpns), Map::Content(map)) => lpns.any(|lpn| map.vpn_of(lpn) != NO_VPN),
            (Entries::Vpns(mut vpns), Map::Content(map)) => {
                vpns.any(|vpn| vpn < map.vpn_slots() && map.is_live(vpn))
            }
            (Entries::Fingerprints, Map::Content(map)) => known_in(map, paging, page).next().is_some(),
            _ => false,
        }
    }
}

/// The fingerprints in a page of the store, and their VPNs. Goes through all contents: for verification.
fn known_in<'a>(map: &'a ContentMap, paging: &'a Paging, page: u32) -> impl Iterator<Item = (u32, u32)> + 'a {
    let here = move |content: &u32| paging.layout.of_fingerprint(*content) == Some(page);
    let contents = (0..map.history.contents()).filter(here);
    contents.map(|content| (content, map.fingerprints.peek(content))).filter(|&(_, vpn)| vpn != NO_VPN)
}
