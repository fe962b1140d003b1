//! The interface between the controller and its mapping scheme: `page/`, `content/` or `inverted/`.

use flashtwin_bits::By;
use flashtwin_nand::{NO_PPN, Plane, Ppn};

use crate::error::{FtlError, FtlResult};
use crate::flash::Flash;
use crate::flash::blocks::Stream;
use crate::flash::counters::{PlaneWrites, TableSizes};
use crate::ids::{Content, Lpn, Owner};
use crate::image::PageImage;
use crate::loads::LoadView;
use crate::op::{Cause, DataName, FlashOp, Host};
use crate::paging::{Map, Tables};

/// A mapping scheme. Optional capabilities have defaults.
pub(crate) trait MappingScheme: flashtwin_bits::State {
    type Map: Map;

    fn tables(&mut self) -> &mut Tables<Self::Map>;

    /// Caps first copies and replicas at `pages` together, the device's capacity.
    fn limit_budget(&mut self, _pages: u64) {}

    fn wants_kind(&self) -> bool {
        false
    }

    /// The first copy of a logical page and its further ones.
    fn places_of(&self, lpn: Lpn) -> (Ppn, &[Ppn]);

    /// Like [`MappingScheme::places_of`], for any owner of a page; none where an owner has one page only.
    fn places_of_owner(&self, _owner: Owner) -> (Ppn, &[Ppn]) {
        (NO_PPN, &[])
    }

    /// The first copy of a logical page and those made on purpose.
    #[inline]
    fn copies_of(&self, lpn: Lpn) -> (Ppn, &[Ppn]) {
        (self.places_of(lpn).0, &[])
    }

    /// A name for the data that a read returns. Equal names mean equal data.
    #[inline]
    fn data_name(&self, _lpn: Lpn, ppn: Ppn) -> u64 {
        u64::from(ppn.number())
    }

    /// What a copy of the data in RAM would be known by, so that all logical pages that share them find it.
    fn ram_name(&self, lpn: Lpn, _flash: &Flash) -> DataName {
        DataName::Page(lpn)
    }

    /// Counts a read of a page's content. Returns whether it is its first, and whether there are further copies.
    fn note_read(&mut self, lpn: Lpn, flash: &mut Flash) -> (bool, bool);

    #[inline]
    fn read_served(&mut self, _ppn: Ppn) {}

    /// Serves a page write: the page to program and why; `None` where the content was found on flash.
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<Option<(Ppn, Cause)>>;

    fn trim(&mut self, lpn: Lpn, flash: &mut Flash);

    #[inline]
    fn begin_jobs(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.tables().settle(flash, ops)
    }

    fn job_done(
        &mut self,
        _job: u32,
        _flash: &mut Flash,
        _loads: &LoadView<'_>,
        _ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        Ok(())
    }

    fn end_period(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.tables().settle(flash, ops)
    }

    /// The plane for a page that ageing moves, where the allocation proposes one.
    fn place_aged(&mut self, proposal: Plane, _lpn: Lpn, _flash: &mut Flash, _loads: &LoadView<'_>) -> Plane {
        proposal
    }

    /// Moves a mapped logical page to another physical page, as ageing does; returns that page.
    fn rewrite(
        &mut self,
        lpn: Lpn,
        address: u64,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<Ppn> {
        let Some(owner) = flash.blocks.owner(self.places_of(lpn).0) else {
            return Err(FtlError::Broken(format!("LPN {lpn} lies in a page that nobody owns")));
        };
        let partition = flash.partitions.of(lpn);
        let stream = Stream::host(partition);
        let proposal = flash.pick_plane(stream, address, loads)?;
        let plane = self.place_aged(proposal, lpn, flash, loads);
        let to = flash.take_page(plane, stream, owner, self.tables(), ops)?;
        // Making room may have moved the page, so it is looked up only now.
        let from = self.places_of(lpn).0;
        if let Some(checker) = &mut flash.checker {
            checker.copy(from, to, partition)?;
        }
        let tables = self.tables();
        if !tables.map.relocate(owner, from, to, flash) {
            return Err(flash.strayed(owner, from));
        }
        tables.touch_owner(owner);
        flash.blocks.invalidate(from);
        flash.counters.host_pages_written += 1;
        flash.counters.programs[Cause::Host as usize] += 1;
        flash.collect_behind(plane, tables, ops)?;
        tables.settle(flash, ops)?;
        Ok(to)
    }

    fn end_preload(&mut self) {}

    fn pages_in_use(&self) -> u64;

    /// Physical pages that hold replicas, which [`MappingScheme::pages_in_use`] counts, too.
    fn replica_pages(&self) -> u64 {
        0
    }

    fn budget_pages(&self) -> Option<u64> {
        None
    }

    fn unhashed_pages(&self) -> u64 {
        0
    }

    fn table_sizes(&self, flash: &Flash) -> TableSizes;

    fn copies(&self) -> Vec<u64> {
        Vec::new()
    }

    fn replica_ppns(&self) -> Vec<Ppn> {
        Vec::new()
    }

    fn contents_on_flash(&self, flash: &Flash) -> Option<Vec<(Ppn, Content)>>;

    fn contents_written(&self) -> Option<By<Plane, Vec<PlaneWrites>>> {
        None
    }

    fn audit(&self, flash: &Flash) -> FtlResult;

    fn restore_page(&mut self, page: PageImage<'_>, flash: &mut Flash) -> Result<(), String>;

    fn restore_reference(&mut self, lpn: Lpn, home: Ppn, flash: &mut Flash) -> Result<(), String>;

    fn forget_content(&mut self, _content: Content) {}
}

pub(crate) fn unfit(lpn: Lpn, lpns: u32) -> String {
    match lpn.number() < lpns {
        true => format!("LPN {lpn} is mapped twice"),
        false => format!("there is no LPN {lpn}: the drive has {lpns}"),
    }
}

/// Compares logical pages, each with the owner and place that a map gives it, with the blocks and the truth.
pub(crate) fn audit_pages(flash: &Flash, pages: impl Iterator<Item = (Lpn, Owner, Ppn)>) -> FtlResult {
    for (lpn, owner, ppn) in pages.filter(|&(_, _, ppn)| crate::op::is_page(ppn)) {
        if flash.blocks.owner(ppn) != Some(owner) {
            let place = flash.geometry().describe(ppn);
            let found = flash.blocks.owner(ppn);
            let text = format!("LPN {lpn} lies at {place}, whose owner is {found:?}, not {owner}");
            return Err(FtlError::Broken(text));
        }
        if let Some(checker) = &flash.checker {
            checker.read(lpn, ppn)?;
        }
    }
    Ok(())
}
