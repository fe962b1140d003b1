//! Uses of table pages and their effects: reads, write-backs, checkpoints.

use super::tables::{Map, OnFlash, digest};
use super::{Paging, translation};
use crate::error::FtlResult;
use crate::flash::Flash;
use crate::ids::{Content, Lpn, NO_VPN, TablePage, Vpn};
use crate::op::{FlashOp, Lookup, is_page};
use crate::sabotage::sabotaged;
use flashtwin_nand::Ppn;

impl Paging {
    /// Uses a page of the tables; where it must be read from, if at all.
    fn use_page(&mut self, page: TablePage, changes: bool, flash: &mut Flash) -> Option<Ppn> {
        let read = self.access(page);
        if changes && !sabotaged!(CleanPage if !self.lru.is_dirty(page)) {
            self.lru.set_dirty(page, true);
        }
        match read {
            Some(_) => flash.counters.mapping.misses += 1,
            None => flash.counters.mapping.hits += 1,
        }
        read
    }

    fn look_up(&mut self, page: TablePage, changes: bool, delays: bool, flash: &mut Flash) -> FtlResult {
        let read = self.use_page(page, changes, flash);
        if let Some(ppn) = read {
            flash.count_order(&translation::read(ppn))?;
        }
        if self.limited && (delays || read.is_some()) {
            self.lookups.push(Lookup { page, read, delays });
        }
        Ok(())
    }

    #[inline]
    pub(super) fn touch_vpn(&mut self, vpn: Vpn) {
        if vpn != NO_VPN {
            self.touch(self.layout.of_vpn(vpn));
        }
    }

    #[inline]
    pub(super) fn touch(&mut self, page: TablePage) {
        if self.touched.back() != Some(&page) {
            self.touched.push_back(page);
        }
    }

    /// An entry changes of a page that was looked up for this change. It may have given way meanwhile.
    fn change_entry(&mut self, page: TablePage, flash: &mut Flash) -> FtlResult {
        if !self.lru.is_cached(page) {
            return self.look_up(page, true, false, flash);
        }
        if !sabotaged!(CleanPage if !self.lru.is_dirty(page)) {
            self.lru.set_dirty(page, true);
        }
        Ok(())
    }

    /// Compares the pages of the tables on flash with the tables: a page neither in RAM nor about
    /// to be written must be up to date on flash. Contents are compared only with verification on.
    pub(super) fn audit(&self, map: &impl Map, flash: &Flash) -> Result<(), String> {
        self.audit_directory(flash)?;
        let Some(checker) = &flash.checker else { return Ok(()) };
        for page in self.layout.all_pages().filter(|&page| !self.is_behind(page)) {
            let ppn = self.directory[page];
            if !is_page(ppn) {
                if map.has_entries(&self.layout, page) {
                    return Err(format!("page {page} of the tables has entries and was never written"));
                }
                continue;
            }
            if checker.stored(ppn) != Some(digest(map, &self.layout, page)) {
                let place = flash.geometry().describe(ppn);
                return Err(format!("page {page} of the tables at {place} is not what the tables say"));
            }
        }
        Ok(())
    }
}

impl<M: Map> OnFlash<'_, M> {
    fn look_up_primary(&mut self, lpn: Lpn, flash: &mut Flash) -> FtlResult {
        self.paging.lookups.clear();
        let primary = self.paging.layout.of_lpn(lpn);
        self.paging.look_up(primary, false, true, flash)
    }

    pub(crate) fn look_up_read(&mut self, lpn: Lpn, flash: &mut Flash) -> FtlResult {
        self.look_up_primary(lpn, flash)?;
        match self.map.vpn_of(lpn) {
            NO_VPN => Ok(()),
            vpn => self.paging.look_up(self.paging.layout.of_vpn(vpn), false, true, flash),
        }
    }

    /// A part of a page also waits for the table page of the content that it is a part of.
    pub(crate) fn look_up_write(&mut self, lpn: Lpn, partial: bool, flash: &mut Flash) -> FtlResult {
        if partial { self.look_up_read(lpn, flash) } else { self.look_up_primary(lpn, flash) }
    }

    pub(crate) fn look_up_fingerprint(&mut self, content: Content, flash: &mut Flash) -> FtlResult {
        self.paging.lookups.clear();
        match self.paging.layout.of_fingerprint(content) {
            Some(page) => self.paging.look_up(page, false, true, flash),
            None => Ok(()),
        }
    }

    /// The entries change that a page write changes; `held` is the VPN that the page held before.
    pub(super) fn after_write(
        &mut self,
        lpn: Lpn,
        programmed: bool,
        held: Vpn,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let holds = self.map.vpn_of(lpn);
        if programmed || held != holds {
            self.paging.change_entry(self.paging.layout.of_lpn(lpn), flash)?;
        }
        if held != holds {
            for vpn in [held, holds].into_iter().filter(|&vpn| vpn != NO_VPN) {
                self.paging.look_up(self.paging.layout.of_vpn(vpn), true, false, flash)?;
            }
        }
        self.settle(flash, ops)
    }

    #[inline]
    pub(super) fn touch_fingerprints(&mut self) {
        for content in self.map.take_changed_fingerprints() {
            self.paging.touched.extend(self.paging.layout.of_fingerprint(content));
        }
    }

    #[inline]
    pub(super) fn settle(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.touch_fingerprints();
        if self.paging.has_work() { self.work(flash, ops) } else { Ok(()) }
    }

    fn work(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        loop {
            // Evicted pages go first: their RAM is in use until they are written.
            if let Some(page) = self.paging.write_outs.pop_front() {
                flash.counters.mapping.written_back += 1;
                self.write(page, flash, ops)?;
            } else if let Some(page) = self.paging.touched.pop_front() {
                if let Some(ppn) = self.paging.use_page(page, true, flash) {
                    flash.order(translation::read(ppn), ops)?;
                }
            } else if let Some(page) = self.paging.ready.pop_front() {
                self.write_moved(page, flash, ops)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Collection changed entries of a page outside RAM: it is read, changed and written beside the cache (as in DFTL).
    fn write_moved(&mut self, page: TablePage, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        if self.paging.lru.is_cached(page) {
            self.paging.lru.set_dirty(page, true);
            return Ok(());
        }
        let ppn = self.paging.directory[page];
        if is_page(ppn) {
            flash.order(translation::read(ppn), ops)?;
        }
        flash.counters.mapping.gc_updates += 1;
        self.write(page, flash, ops)
    }

    pub(crate) fn checkpoint(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.settle(flash, ops)?;
        let before = flash.counters.mapping.checkpointed;
        for page in self.paging.layout.all_pages() {
            if self.paging.lru.is_dirty(page) {
                self.paging.lru.set_dirty(page, false);
                flash.counters.mapping.checkpointed += 1;
                self.write(page, flash, ops)?;
            }
        }
        flash.counters.mapping.checkpoints += u64::from(flash.counters.mapping.checkpointed > before);
        self.settle(flash, ops)
    }
}
