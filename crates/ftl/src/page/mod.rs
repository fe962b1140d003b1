//! A conventional SSD: LPN -> PPN, every write programs a page; duplicates may be spread over channels.

mod map;
pub mod spread;
mod written;

use flashtwin_bits::By;
use flashtwin_nand::{Channel, NO_PPN, Plane, Ppn};

use crate::error::{FtlError, FtlResult};
use crate::flash::Flash;
use crate::flash::counters::{PlaneWrites, TableSizes};
use crate::ids::{Content, Lpn, NO_CONTENT, Owner, PageData, TablePage};
use crate::image::PageImage;
use crate::loads::LoadView;
use crate::op::{Cause, DataName, FlashOp, Host, is_page};
use crate::paging::{EntriesOf, Layout, Map, Tables};
use crate::scheme::{MappingScheme, audit_pages, unfit};
pub(crate) use map::PageMap;
use spread::Spreader;
pub(crate) use written::WrittenContents;

#[derive(Clone)]
pub(crate) struct SpreadMap {
    pub(crate) map: PageMap,
    pub(crate) spreader: Option<Box<Spreader>>,
}

impl SpreadMap {
    /// Points a logical page at another physical page (or none) with its content. If the logical
    /// page had the same content before, returns the channel of its old page.
    #[inline]
    fn point(&mut self, lpn: Lpn, ppn: Ppn, content: Content, flash: &mut Flash) -> Option<Channel> {
        let (old, held) = (self.map.set(lpn, ppn), self.map.hold(lpn, content));
        if let Some(spreader) = &mut self.spreader {
            spreader.forget_page(PageData { lpn, content: held }, old, flash);
        }
        if is_page(old) {
            flash.blocks.invalidate(old);
        }
        let spreader = self.spreader.as_mut()?;
        if is_page(ppn) {
            spreader.note_page(PageData { lpn, content }, ppn, flash);
        }
        let same = is_page(old) && held == content && held != NO_CONTENT;
        same.then(|| spreader.channel_of(old, flash.geometry()))
    }
}

impl Map for SpreadMap {
    #[inline]
    fn prefetch_far(&self, lpn: Lpn, content: Content, write: bool) {
        self.map.prefetch(lpn);
        if let Some(spreader) = &self.spreader {
            spreader.prefetch_far(lpn, if write { self.map.known(content) } else { NO_CONTENT });
        }
    }

    #[inline]
    fn prefetch_near(&self, lpn: Lpn, content: Content, write: bool, flash: &Flash) {
        let map = &self.map;
        flash.blocks.prefetch(map.get(lpn));
        if let Some(spreader) = &self.spreader {
            match write {
                true => spreader.prefetch_near(lpn, map.content(lpn), map.known(content), map),
                false => spreader.prefetch_near_read(lpn),
            }
        }
    }

    #[inline]
    fn prefetch_next(&self, lpn: Lpn, content: Content, _flash: &Flash) {
        if let Some(spreader) = &self.spreader {
            spreader.prefetch_next(lpn, self.map.known(content));
        }
    }

    #[inline]
    fn relocate(&mut self, owner: Owner, from: Ppn, to: Ppn, flash: &mut Flash) -> bool {
        let lpn = owner.id();
        let known = self.map.set(lpn, to) == from;
        if let Some(spreader) = &mut self.spreader {
            spreader.page_moved(PageData { lpn, content: self.map.content(lpn) }, from, to, flash);
        }
        known
    }

    #[inline]
    fn entry_of(&self, owner: Owner, layout: &Layout) -> TablePage {
        layout.of_lpn(owner.id())
    }

    fn each_entry(&self, layout: &Layout, page: TablePage, take: &mut dyn FnMut(u32)) {
        if let EntriesOf::Lpns(lpns) = layout.entries(page) {
            Lpn::each(lpns).for_each(|lpn| take(self.map.get(lpn).number()));
        }
    }

    fn has_entries(&self, layout: &Layout, page: TablePage) -> bool {
        match layout.entries(page) {
            EntriesOf::Lpns(lpns) => Lpn::each(lpns).any(|lpn| is_page(self.map.get(lpn))),
            EntriesOf::Vpns(_) | EntriesOf::Fingerprints => false,
        }
    }
}

#[derive(Clone)]
pub(crate) struct PageScheme {
    pub(crate) tables: Tables<SpreadMap>,
    written: Option<Box<WrittenContents>>,
}

impl PageScheme {
    pub(crate) fn new(
        map: PageMap,
        spreader: Option<Box<Spreader>>,
        written: Option<Box<WrittenContents>>,
    ) -> Self {
        Self { tables: Tables::new(SpreadMap { map, spreader }), written }
    }

    #[inline]
    pub(crate) fn map(&self) -> &PageMap {
        &self.tables.map.map
    }

    #[inline]
    pub(crate) fn spreader(&self) -> Option<&Spreader> {
        self.tables.map.spreader.as_deref()
    }

    fn check_write(&self, page: Host, content: Content, flash: &mut Flash) -> Option<u64> {
        let spreads = self.spreader().is_some();
        let checker = flash.checker.as_mut()?;
        // Duplicate pages have equal contents, but different times of writing.
        let version = match spreads && content != NO_CONTENT {
            true => u64::from(content.number()),
            false => checker.next_version(),
        };
        checker.write(page.lpn, version);
        Some(version)
    }

    #[inline]
    fn program(
        &mut self,
        page: Host,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<Ppn> {
        let stream = flash.host_stream(page.lpn);
        let content = self.map().known(page.content);
        let mut plane = flash.pick_plane(stream, page.address, loads)?;
        let SpreadMap { map, spreader } = &mut self.tables.map;
        if let Some(spreader) = spreader {
            plane = spreader.place_write(plane, PageData { lpn: page.lpn, content }, map, flash, loads);
        }
        let ppn = flash.take_page(plane, stream, Owner::of(page.lpn), &mut self.tables, ops)?;
        if let Some(version) = self.check_write(page, content, flash) {
            flash.check_program(ppn, stream, version)?;
        }
        let rewritten = self.tables.map.point(page.lpn, ppn, content, flash);
        if let Some(written) = self.written.as_mut().filter(|_| content != NO_CONTENT) {
            written.note(flash.geometry().plane(ppn), content);
        }
        flash.counters.programs[Cause::Host as usize] += 1;
        flash.note_peak(self.pages_in_use(), 0);
        flash.collect_behind(plane, &mut self.tables, ops)?;
        let SpreadMap { map, spreader } = &mut self.tables.map;
        if let Some(spreader) = spreader {
            spreader.compare_later(PageData { lpn: page.lpn, content }, rewritten, map, flash, ops)?;
        }
        Ok(ppn)
    }
}

impl MappingScheme for PageScheme {
    type Map = SpreadMap;

    #[inline]
    fn tables(&mut self) -> &mut Tables<Self::Map> {
        &mut self.tables
    }

    fn wants_kind(&self) -> bool {
        self.spreader().is_some()
    }

    #[inline]
    fn places_of(&self, lpn: Lpn) -> (Ppn, &[Ppn]) {
        (self.map().get(lpn), self.spreader().map_or(&[], |spreader| spreader.choices(lpn)))
    }

    fn places_of_owner(&self, owner: Owner) -> (Ppn, &[Ppn]) {
        self.places_of(owner.id())
    }

    /// Duplicate pages are known to be equal.
    #[inline]
    fn data_name(&self, lpn: Lpn, ppn: Ppn) -> u64 {
        match self.spreader().and_then(|spreader| spreader.serial(lpn)) {
            Some(serial) => 1 << 32 | serial << 33,
            None => u64::from(ppn.number()),
        }
    }

    fn ram_name(&self, lpn: Lpn, _flash: &Flash) -> DataName {
        let serial = self.spreader().and_then(|spreader| spreader.serial(lpn));
        serial.map_or(DataName::Page(lpn), DataName::Twins)
    }

    #[inline]
    fn note_read(&mut self, lpn: Lpn, _flash: &mut Flash) -> (bool, bool) {
        (false, self.spreader().is_some_and(|spreader| !spreader.choices(lpn).is_empty()))
    }

    #[inline]
    fn write(
        &mut self,
        page: Host,
        _fingerprinted: bool,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<Option<(Ppn, Cause)>> {
        let before = self.tables.before_write(page.lpn);
        let ppn = self.program(page, flash, loads, ops)?;
        self.tables.after_write(page.lpn, true, before, flash, ops)?;
        Ok(Some((ppn, Cause::Host)))
    }

    fn trim(&mut self, lpn: Lpn, flash: &mut Flash) {
        self.tables.touch_lpn(lpn);
        self.tables.map.point(lpn, NO_PPN, NO_CONTENT, flash);
    }

    fn job_done(
        &mut self,
        job: u32,
        flash: &mut Flash,
        _loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let SpreadMap { map, spreader } = &mut self.tables.map;
        if let Some(spreader) = spreader {
            spreader.job_done(job, map, flash);
        }
        self.tables.settle(flash, ops)
    }

    fn place_aged(&mut self, proposal: Plane, lpn: Lpn, flash: &mut Flash, loads: &LoadView<'_>) -> Plane {
        let SpreadMap { map, spreader } = &mut self.tables.map;
        let page = PageData { lpn, content: map.content(lpn) };
        spreader.as_mut().map_or(proposal, |spreader| spreader.place_aged(proposal, page, flash, loads))
    }

    fn end_preload(&mut self) {
        if let Some(spreader) = &mut self.tables.map.spreader {
            spreader.forget_dead();
        }
        if let Some(written) = &mut self.written {
            written.clear();
        }
    }

    #[inline]
    fn pages_in_use(&self) -> u64 {
        self.map().mapped()
    }

    fn contents_written(&self) -> Option<By<Plane, Vec<PlaneWrites>>> {
        self.written.as_ref().map(|written| written.planes())
    }

    fn table_sizes(&self, flash: &Flash) -> TableSizes {
        let sizes = TableSizes {
            mapped_lpns: self.map().mapped(),
            page_table_bytes: flash.blocks.bytes_in_use() + PageMap::bytes(self.map().len().into()),
            ..TableSizes::default()
        };
        match self.spreader() {
            None => sizes,
            Some(spreader) => TableSizes {
                twin_lists: spreader.duplicate_lists(),
                twin_pages: spreader.duplicate_pages(),
                filter_bytes: spreader.filter_bytes(),
                content_table_bytes: spreader.bytes(),
                ..sizes
            },
        }
    }

    fn contents_on_flash(&self, _flash: &Flash) -> Option<Vec<(Ppn, Content)>> {
        let map = self.map();
        let known = Lpn::each(0..map.len()).filter(|&lpn| map.content(lpn) != NO_CONTENT);
        (map.contents() > 0).then(|| known.map(|lpn| (map.get(lpn), map.content(lpn))).collect())
    }

    fn audit(&self, flash: &Flash) -> FtlResult {
        self.tables.audit(flash).map_err(FtlError::Broken)?;
        let map = self.map();
        audit_pages(flash, Lpn::each(0..map.len()).map(|lpn| (lpn, Owner::of(lpn), map.get(lpn))))?;
        match self.spreader() {
            Some(spreader) => spreader.audit(map, flash).map_err(FtlError::Broken),
            None => Ok(()),
        }
    }

    fn restore_page(&mut self, page: PageImage<'_>, flash: &mut Flash) -> Result<(), String> {
        let PageImage { lpn, content, home, replicas } = page;
        let SpreadMap { map, spreader } = &mut self.tables.map;
        if lpn.number() >= map.len() || is_page(map.get(lpn)) {
            return Err(unfit(lpn, map.len()));
        }
        if !replicas.is_empty() {
            return Err(format!("LPN {lpn} has copies, which a conventional SSD does not make"));
        }
        flash.blocks.adopt(home, Owner::of(lpn))?;
        let content = map.known(content);
        map.set(lpn, home);
        map.hold(lpn, content);
        if let Some(spreader) = spreader {
            spreader.note_page(PageData { lpn, content }, home, flash);
        }
        Ok(())
    }

    fn restore_reference(&mut self, lpn: Lpn, _home: Ppn, _flash: &mut Flash) -> Result<(), String> {
        Err(format!("LPN {lpn} shares its page with another, which a conventional SSD does not do"))
    }
}

flashtwin_bits::state!(SpreadMap { map, spreader });
flashtwin_bits::state!(PageScheme { tables, written });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::ftl::{Ftl, Scheme};
    use crate::page::spread::SpreadPolicy;

    #[test]
    fn page_rewritten_with_equal_content_reports_its_old_channel() {
        let mut config = crate::FtlConfig::default();
        config.spread.policy = SpreadPolicy::Duplicates;
        let geometry = crate::tests::geometry([2, 1, 1, 1, 12, 8]);
        let mut ftl = Ftl::new(&config, &geometry, 8, 10, 1);
        let idle = [0; 2];
        for (lpn, content) in
            [(0, Content::new(4)), (1, Content::new(5)), (2, NO_CONTENT), (3, Content::new(6))]
        {
            let page = Host { lpn: Lpn::new(lpn), address: 0, content };
            ftl.write(page, false, &LoadView::new(&idle, &idle), &mut Vec::new()).unwrap();
        }
        let channel = |lpn| {
            geometry.channel_of_chip(geometry.chip_of_plane(geometry.plane(ftl.copies_of(lpn).unwrap().0)))
        };
        let first = channel(Lpn::new(0));
        let Scheme::Page(scheme) = &mut ftl.tables else { panic!("a map of pages") };
        let mut gone = |lpn, content| scheme.tables.map.point(Lpn::new(lpn), NO_PPN, content, &mut ftl.flash);
        assert_eq!(gone(0, Content::new(4)), Some(first));
        assert_eq!(gone(0, Content::new(4)), None, "it lay nowhere");
        assert_eq!(gone(1, Content::new(6)), None, "it held another content");
        assert_eq!(gone(2, NO_CONTENT), None, "nobody knows what it held");
        assert_eq!(gone(3, NO_CONTENT), None);
    }
}
