//! The tables of a map, in RAM or with their pages on flash.

use flashtwin_bits::{FNV1A_BASIS, fnv1a};
use flashtwin_nand::{Plane, Ppn};

use super::{Layout, Paging};
use crate::error::FtlResult;
use crate::flash::{Flash, Moved, Owners};
use crate::ids::{Content, Lpn, NO_VPN, Owner, TablePage, Vpn};
use crate::op::{FlashOp, Lookup, PagingSizes};

pub(crate) trait Map: flashtwin_bits::State {
    /// Prefetches, in the order of the calls: the entries that `lpn` and `content` name, those that they name, and so
    /// on.
    fn prefetch_far(&self, lpn: Lpn, content: Content, write: bool);

    fn prefetch_near(&self, lpn: Lpn, content: Content, write: bool, flash: &Flash);

    fn prefetch_next(&self, _lpn: Lpn, _content: Content, _flash: &Flash) {}

    fn prefetch_last(&self, _lpn: Lpn) {}

    /// A page lies elsewhere now. Says whether it was its owner's.
    fn relocate(&mut self, owner: Owner, from: Ppn, to: Ppn, flash: &mut Flash) -> bool;

    /// Collection moved a page: counts the entries that change, too.
    #[inline]
    fn page_moved(&mut self, page: Moved, flash: &mut Flash) -> bool {
        self.relocate(page.owner, page.from, page.to, flash)
    }

    fn entry_of(&self, owner: Owner, layout: &Layout) -> TablePage;

    /// The VPN of a logical page; [`NO_VPN`] for one without, and of a map that has none.
    #[inline]
    fn vpn_of(&self, _lpn: Lpn) -> Vpn {
        NO_VPN
    }

    #[inline]
    fn take_changed_fingerprints(&mut self) -> Vec<Content> {
        Vec::new()
    }

    /// The numbers in a page of the tables, one by one, for verification.
    fn each_entry(&self, layout: &Layout, page: TablePage, take: &mut dyn FnMut(u32));

    fn has_entries(&self, layout: &Layout, page: TablePage) -> bool;
}

/// A map and, where its tables are on flash, their pages.
#[derive(Clone)]
pub(crate) struct Tables<M> {
    pub(crate) map: M,
    paging: Option<Box<Paging>>,
}

/// A map with tables on flash, and their pages. Other maps skip all of this.
pub(crate) struct OnFlash<'a, M> {
    pub(super) map: &'a mut M,
    pub(super) paging: &'a mut Paging,
}

impl<M: Map> Owners for Tables<M> {
    #[inline]
    fn moved(&mut self, page: Moved, flash: &mut Flash) -> bool {
        let known = self.map.page_moved(page, flash);
        if let Some(paging) = &mut self.paging {
            paging.entry_moved(&self.map, page);
        }
        known
    }

    #[inline]
    fn victim_done(&mut self, plane: Plane) {
        if let Some(paging) = &mut self.paging {
            paging.victim_done(plane);
        }
    }
}

impl<M: Map> Owners for OnFlash<'_, M> {
    fn moved(&mut self, page: Moved, flash: &mut Flash) -> bool {
        let known = self.map.page_moved(page, flash);
        self.paging.entry_moved(self.map, page);
        known
    }

    fn victim_done(&mut self, plane: Plane) {
        self.paging.victim_done(plane);
    }
}

impl Paging {
    fn entry_moved(&mut self, map: &impl Map, page: Moved) {
        self.note_moved(map.entry_of(page.owner, &self.layout), page.plane);
    }
}

impl<M: Map> Tables<M> {
    pub(crate) fn new(map: M) -> Self {
        Self { map, paging: None }
    }

    pub(crate) fn put_on_flash(&mut self, paging: Paging) {
        self.paging = Some(Box::new(paging));
    }

    #[inline]
    fn on_flash(&mut self) -> Option<OnFlash<'_, M>> {
        let paging = self.paging.as_deref_mut()?;
        Some(OnFlash { map: &mut self.map, paging })
    }

    /// Works on the pages of tables that are on flash.
    #[inline]
    pub(crate) fn where_on_flash(
        &mut self,
        work: impl FnOnce(&mut OnFlash<'_, M>) -> FtlResult,
    ) -> FtlResult {
        match &mut self.on_flash() {
            Some(tables) => work(tables),
            None => Ok(()),
        }
    }

    pub(crate) fn may_be_missing(&self) -> bool {
        self.paging.as_ref().is_some_and(|paging| paging.limited)
    }

    pub(crate) fn fingerprints_may_be_missing(&self) -> bool {
        self.paging.as_ref().is_some_and(|paging| paging.limited && paging.has_fingerprints())
    }

    /// Moves the table pages that the last page operation looked up to the end of `lookups`.
    pub(crate) fn take_lookups(&mut self, lookups: &mut Vec<Lookup>) {
        if let Some(paging) = &mut self.paging {
            lookups.append(&mut paging.lookups);
        }
    }

    pub(crate) fn paging_sizes(&self, flash: &Flash) -> Option<PagingSizes> {
        let paging = self.paging.as_ref()?;
        Some(PagingSizes {
            pages: u64::from(paging.layout.pages()),
            pages_on_flash: flash.blocks.metadata_pages(),
            pages_cached: u64::from(paging.lru.len()),
            pages_dirty: paging.layout.all_pages().filter(|&page| paging.lru.is_dirty(page)).count() as u64,
            simulator_bytes: paging.bytes(),
        })
    }

    /// A page write begins, its lookups done. Returns the VPN that the page held, where the tables are on flash.
    #[inline]
    pub(crate) fn before_write(&mut self, lpn: Lpn) -> Option<Vpn> {
        let paging = self.paging.as_mut()?;
        paging.lookups.clear();
        Some(self.map.vpn_of(lpn))
    }

    /// A page write has been decided. Reference counts change without delaying any request.
    #[inline]
    pub(crate) fn after_write(
        &mut self,
        lpn: Lpn,
        programmed: bool,
        held: Option<Vpn>,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        match (held, self.on_flash()) {
            (Some(held), Some(mut tables)) => tables.after_write(lpn, programmed, held, flash, ops),
            _ => Ok(()),
        }
    }

    /// The entries of an LPN and of the content it holds change in the background.
    #[inline]
    pub(crate) fn touch_lpn(&mut self, lpn: Lpn) {
        if let Some(paging) = &mut self.paging {
            let page = paging.layout.of_lpn(lpn);
            paging.touched.push_back(page);
            paging.touch_vpn(self.map.vpn_of(lpn));
        }
    }

    #[inline]
    pub(crate) fn touch_owner(&mut self, owner: Owner) {
        if let Some(paging) = &mut self.paging {
            paging.touch(self.map.entry_of(owner, &paging.layout));
        }
    }

    #[inline]
    pub(crate) fn touch_vpn(&mut self, vpn: Vpn) {
        if let Some(paging) = &mut self.paging {
            paging.touch_vpn(vpn);
        }
    }

    /// Entries of the fingerprint store that changed: their pages are to be changed, too.
    #[inline]
    pub(crate) fn touch_fingerprints(&mut self) {
        if let Some(mut tables) = self.on_flash() {
            tables.touch_fingerprints();
        }
    }

    /// Completes the table updates of page operations.
    #[inline]
    pub(crate) fn settle(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.where_on_flash(|tables| tables.settle(flash, ops))
    }

    pub(crate) fn audit(&self, flash: &Flash) -> Result<(), String> {
        match &self.paging {
            Some(paging) => paging.audit(&self.map, flash),
            None => Ok(()),
        }
    }
}

pub(super) fn digest(map: &impl Map, layout: &Layout, page: TablePage) -> u64 {
    let mut digest = FNV1A_BASIS;
    map.each_entry(layout, page, &mut |value| digest = fnv1a(digest, u64::from(value)));
    digest
}

flashtwin_bits::state!(any M: Map => Tables<M> { map, paging });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{PageMap, SpreadMap};
    use crate::paging::{CacheBytes, MappingCacheConfig, Shape};
    use crate::tests::geometry;

    /// Tables of 40 logical pages on flash: three pages of LPNs, then those of VPNs, ten each.
    fn tables() -> Tables<SpreadMap> {
        let geometry = geometry([1, 1, 1, 2, 40, 4]);
        let shape = Shape { two_levels: true, fingerprints: None };
        let layout = Layout::new(shape, &geometry, (0..40u32).map(u64::from));
        let cache = MappingCacheConfig { bytes: CacheBytes::Limited(64), ..MappingCacheConfig::default() };
        let mut tables = Tables::new(SpreadMap { map: PageMap::new(40, 0), spreader: None });
        tables.put_on_flash(Paging::new(&cache, &geometry, layout));
        tables
    }

    #[test]
    fn the_page_of_a_vpn_whose_entry_changes_is_to_be_changed() {
        let mut tables = tables();
        for vpn in [12, 13, 30].map(Vpn::new).into_iter().chain([NO_VPN]) {
            tables.touch_vpn(vpn);
        }
        let touched = &tables.paging.as_ref().unwrap().touched;
        assert_eq!(*touched, [3 + 1, 3 + 3].map(TablePage::new), "each once, and none for no VPN");
    }

    #[test]
    fn moved_entries_are_ready_when_their_victim_is_erased() {
        let done: [fn(&mut Tables<SpreadMap>, Plane); 2] = [
            |tables, plane| tables.victim_done(plane),
            |tables, plane| tables.on_flash().unwrap().victim_done(plane),
        ];
        for done in done {
            let mut tables = tables();
            let paging = tables.paging.as_mut().unwrap();
            for (page, plane) in [(2, 1), (0, 1), (1, 0), (2, 1)] {
                paging.note_moved(TablePage::new(page), Plane::new(plane));
            }
            assert!(paging.ready.is_empty());
            done(&mut tables, Plane::new(1));
            let paging = tables.paging.as_ref().unwrap();
            assert_eq!(paging.ready, [0, 2].map(TablePage::new));
            assert_eq!(paging.moved[Plane::new(0)], [TablePage::new(1)], "its victim is still there");
        }
    }
}
