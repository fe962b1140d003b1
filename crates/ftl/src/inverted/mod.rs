//! The four tables of CA-SSD: LPN -> PPN, content -> PPN, and the inverse of both. They stay in RAM
//! ([`crate::FtlConfig::check`] refuses a cache for them) and hold one page of a content.

mod map;

use flashtwin_nand::{NO_PPN, Ppn};

use crate::error::{FtlError, FtlResult};
use crate::flash::Flash;
use crate::flash::counters::TableSizes;
use crate::ids::{Content, Lpn, Owner};
use crate::image::PageImage;
use crate::loads::LoadView;
use crate::op::{Cause, DataName, FlashOp, Host, is_page};
use crate::paging::Tables;
use crate::scheme::{MappingScheme, audit_pages, unfit};
pub(crate) use map::InvertedMap;

/// The tables; a page is owned by its content, whichever of its LPNs is looked at.
#[derive(Clone)]
pub(crate) struct InvertedScheme {
    pub(crate) tables: Tables<InvertedMap>,
}

impl InvertedScheme {
    /// Points a logical page at another physical one (or none). A page without an LPN on its list is dead.
    #[inline]
    fn point(&mut self, lpn: Lpn, ppn: Ppn, flash: &mut Flash) {
        let Some(dead) = self.tables.map.point(lpn, ppn).filter(|&ppn| is_page(ppn)) else { return };
        if let Some(owner) = flash.blocks.owner(dead) {
            self.tables.map.history.died(owner.id());
        }
        flash.blocks.invalidate(dead);
    }

    #[inline]
    fn share(&mut self, page: Host, flash: &mut Flash) -> bool {
        let known = self.tables.map.hashes.lookup(page.content);
        if known != NO_PPN && self.tables.map.get(page.lpn) != known {
            self.point(page.lpn, known, flash);
        }
        known != NO_PPN
    }
}

impl MappingScheme for InvertedScheme {
    type Map = InvertedMap;

    #[inline]
    fn tables(&mut self) -> &mut Tables<Self::Map> {
        &mut self.tables
    }

    #[inline]
    fn places_of(&self, lpn: Lpn) -> (Ppn, &[Ppn]) {
        (self.tables.map.get(lpn), &[])
    }

    fn ram_name(&self, lpn: Lpn, flash: &Flash) -> DataName {
        let ppn = self.tables.map.get(lpn);
        let content = if is_page(ppn) { flash.blocks.owner(ppn).map(Owner::id::<Content>) } else { None };
        let known = content.filter(|&content| self.tables.map.hashes.peek(content) == ppn);
        known.map_or(DataName::Page(lpn), DataName::Content)
    }

    #[inline]
    fn note_read(&mut self, lpn: Lpn, flash: &mut Flash) -> (bool, bool) {
        let ppn = self.tables.map.get(lpn);
        let owner = is_page(ppn).then(|| flash.blocks.owner(ppn)).flatten();
        (owner.is_some_and(|owner| self.tables.map.history.read(owner.id())), false)
    }

    #[inline]
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<Option<(Ppn, Cause)>> {
        let stream = flash.host_stream(page.lpn);
        if let Some(checker) = &mut flash.checker {
            checker.write(page.lpn, u64::from(page.content.number()));
        }
        flash.counters.dedup.hashes_inline += u64::from(fingerprinted);
        if fingerprinted && self.share(page, flash) {
            flash.counters.pages.duplicate_writes += 1;
            return Ok(None);
        }
        let cause = self.tables.map.history.cause(page.content);
        let plane = flash.pick_plane(stream, page.address, loads)?;
        // The page's spare area holds its hash (CA-SSD paper, Figure 1).
        let ppn = flash.take_page(plane, stream, Owner::of(page.content), &mut self.tables, ops)?;
        flash.check_program(ppn, stream, u64::from(page.content.number()))?;
        self.tables.map.history.born(page.content);
        if fingerprinted {
            self.tables.map.enter(page.content, ppn);
        }
        self.point(page.lpn, ppn, flash);
        flash.counters.programs[cause as usize] += 1;
        flash.note_peak(self.pages_in_use(), 0);
        flash.collect_behind(plane, &mut self.tables, ops)?;
        Ok(Some((ppn, cause)))
    }

    fn trim(&mut self, lpn: Lpn, flash: &mut Flash) {
        self.point(lpn, NO_PPN, flash);
    }

    #[inline]
    fn pages_in_use(&self) -> u64 {
        self.tables.map.live()
    }

    fn table_sizes(&self, flash: &Flash) -> TableSizes {
        let map = &self.tables.map;
        TableSizes {
            mapped_lpns: map.mapped(),
            vpns: map.live(),
            fingerprints: map.hashes.entries(),
            page_table_bytes: flash.blocks.bytes_in_use()
                + InvertedMap::page_bytes(map.lpns().into(), flash.blocks.pages_opened()),
            content_table_bytes: map.content_bytes(),
            ..TableSizes::default()
        }
    }

    fn copies(&self) -> Vec<u64> {
        if self.tables.map.live() > 0 { vec![0, self.tables.map.live()] } else { Vec::new() }
    }

    fn contents_on_flash(&self, flash: &Flash) -> Option<Vec<(Ppn, Content)>> {
        // A bit a page of the device: many logical pages may share one.
        let mut seen = vec![0u64; flash.geometry().page_index_len() / 64 + 1];
        let mut is_new = |ppn: &Ppn| {
            let (word, bit) = (&mut seen[ppn.index() / 64], 1 << (ppn.index() % 64));
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        };
        let mapped = Lpn::each(0..self.tables.map.lpns()).map(|lpn| self.tables.map.get(lpn));
        let pages = mapped.filter(|&ppn| is_page(ppn)).filter(&mut is_new);
        Some(pages.filter_map(|ppn| Some((ppn, flash.blocks.owner(ppn)?.id()))).collect())
    }

    fn audit(&self, flash: &Flash) -> FtlResult {
        self.tables.map.audit(|ppn| flash.blocks.owner(ppn).map(Owner::id)).map_err(FtlError::Broken)?;
        let written = |lpn| flash.checker.as_ref().and_then(|checker| checker.content(lpn));
        let pages = Lpn::each(0..self.tables.map.lpns()).map(|lpn| (lpn, self.tables.map.get(lpn)));
        let mapped = pages.filter(|&(_, ppn)| is_page(ppn));
        let owned = mapped.filter_map(|(lpn, ppn)| {
            let owner = written(lpn).map(Owner::of).or_else(|| flash.blocks.owner(ppn))?;
            Some((lpn, owner, ppn))
        });
        audit_pages(flash, owned)
    }

    fn restore_page(&mut self, page: PageImage<'_>, flash: &mut Flash) -> Result<(), String> {
        let PageImage { lpn, content, home, replicas } = page;
        if content.number() >= self.tables.map.history.contents() || !replicas.is_empty() {
            return Err(format!("LPN {lpn} holds content {content} with {} copies", replicas.len()));
        }
        flash.blocks.adopt(home, Owner::of(content))?;
        self.tables.map.history.born(content);
        if self.tables.map.hashes.peek(content) == NO_PPN {
            self.tables.map.enter(content, home);
        }
        self.restore_reference(lpn, home, flash)
    }

    fn restore_reference(&mut self, lpn: Lpn, home: Ppn, flash: &mut Flash) -> Result<(), String> {
        let lpns = self.tables.map.lpns();
        if lpn.number() >= lpns || is_page(self.tables.map.get(lpn)) {
            return Err(unfit(lpn, lpns));
        }
        if flash.blocks.owner(home).is_none() {
            return Err(format!("LPN {lpn} lies in a page that nobody owns"));
        }
        self.tables.map.point(lpn, home);
        Ok(())
    }

    fn forget_content(&mut self, content: Content) {
        self.tables.map.history.forget(content);
    }
}

flashtwin_bits::state!(InvertedScheme { tables });
