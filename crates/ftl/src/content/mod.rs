//! A content-addressed SSD with tables in two levels: LPN -> VPN -> PPNs.

mod background;
mod map;
mod out_of_line;
mod replica_sets;
pub mod replication;

use flashtwin_nand::{Chip, Plane, Ppn};

use crate::error::{FtlError, FtlResult};
use crate::flash::Flash;
use crate::flash::blocks::Stream;
use crate::flash::counters::TableSizes;
use crate::ids::{Content, Lpn, NO_VPN, Owner, Vpn};
use crate::image::PageImage;
use crate::jobs::Jobs;
use crate::loads::LoadView;
use crate::op::{Cause, DataName, FlashOp, Host};
use crate::paging::{Paging, Tables};
use crate::scheme::{MappingScheme, audit_pages, unfit};
use background::Background;
#[cfg(test)]
pub(crate) use background::Candidate;
use flashtwin_nand::NO_PPN;
pub(crate) use map::ContentMap;
use map::{ContentTables, Released};
use out_of_line::OutOfLine;
use replication::Replicator;

#[derive(Clone)]
pub(crate) struct ContentScheme {
    pub(crate) tables: ContentTables,
    /// Pages without a fingerprint that wait for deduplication in idle time.
    late: Option<OutOfLine>,
    pub(crate) replicator: Option<Replicator>,
    pub(crate) jobs: Jobs<Background>,
}

impl ContentScheme {
    pub(crate) fn new(
        map: ContentMap,
        dedups_later: bool,
        replicator: Option<Replicator>,
        jobs: u32,
    ) -> Self {
        let late = dedups_later.then(OutOfLine::default);
        Self { tables: Tables::new(map), late, replicator, jobs: Jobs::new(jobs) }
    }

    pub(crate) fn put_on_flash(&mut self, paging: Paging) {
        self.tables.map.fingerprints.note_changes(paging.has_fingerprints());
        self.tables.put_on_flash(paging);
    }

    /// Points a logical page at another content (or none); a content without references is removed.
    #[inline]
    fn point(&mut self, lpn: Lpn, vpn: Vpn, flash: &mut Flash) {
        self.before_leaving(lpn, flash);
        let released = self.tables.map.point(lpn, vpn);
        invalidate_all(released, flash);
    }

    #[inline]
    fn before_leaving(&mut self, lpn: Lpn, flash: &Flash) {
        if let Some(replicator) = &mut self.replicator {
            replicator.before_leaving(lpn, &self.tables.map, flash);
        }
    }

    #[inline]
    fn write_content(
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
        let (plane, ppn) = self.program(page, stream, fingerprinted, flash, loads, ops)?;
        flash.counters.programs[cause as usize] += 1;
        if let Some(replicator) = &mut self.replicator {
            replicator.keep_within_budget(&mut self.tables, flash);
        }
        flash.note_peak(self.pages_in_use(), self.replica_pages());
        flash.collect_behind(plane, &mut self.tables, ops)?;
        if let Some(late) = &mut self.late {
            late.step(&self.tables.map, &mut self.jobs, flash, ops)?;
        }
        Ok(Some((ppn, cause)))
    }

    #[inline]
    fn share(&mut self, page: Host, flash: &mut Flash) -> bool {
        let known = self.tables.map.fingerprints.lookup(page.content);
        if known != NO_VPN && self.tables.map.vpn_of(page.lpn) != known {
            self.point(page.lpn, known, flash);
        }
        known != NO_VPN
    }

    fn program(
        &mut self,
        page: Host,
        stream: Stream,
        fingerprinted: bool,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<(Plane, Ppn)> {
        let vpn = self.tables.map.create(page.content);
        let plane = flash.pick_plane(stream, page.address, loads)?;
        let ppn = flash.take_page(plane, stream, Owner::of(vpn), &mut self.tables, ops)?;
        flash.check_program(ppn, stream, u64::from(page.content.number()))?;
        self.before_leaving(page.lpn, flash);
        let map = &mut self.tables.map;
        map.place(vpn, ppn);
        if fingerprinted {
            map.enter(vpn);
        }
        let released = map.point(page.lpn, vpn);
        if let Some(late) = &mut self.late {
            late.written(map, page.lpn, vpn, fingerprinted);
        }
        invalidate_all(released, flash);
        Ok((plane, ppn))
    }

    /// A page written without a fingerprint has been read: merges it with a known equal page, or enters its content.
    pub(crate) fn fingerprint_read(&mut self, page: background::Candidate, flash: &mut Flash) -> FtlResult {
        let Some(late) = &mut self.late else {
            let text = "a page was read to be fingerprinted where fingerprints are taken before writing only";
            return Err(FtlError::Broken(text.into()));
        };
        let map = &mut self.tables.map;
        if !late.read_in_time(map, page) {
            return Ok(());
        }
        flash.counters.dedup.hashes_out_of_line += 1;
        match map.fingerprints.peek(map.content(page.vpn)) {
            NO_VPN => map.enter(page.vpn),
            known => {
                flash.counters.dedup.duplicates_out_of_line += 1;
                self.tables.touch_lpn(page.lpn);
                self.tables.touch_vpn(known);
                self.point(page.lpn, known, flash);
            }
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn dedup_by_hand(
        &mut self,
        budget: u32,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
        pages: &mut Vec<Candidate>,
    ) -> FtlResult {
        let Some(late) = &mut self.late else { return Ok(()) };
        late.by_hand(budget, &self.tables.map, flash, ops, pages)
    }

    fn audit_copies(&self, flash: &Flash) -> Result<(), String> {
        let map = &self.tables.map;
        for (vpn, _) in map.replicas.live() {
            let mut chips: Vec<Chip> = Vec::new();
            for ppn in map.copies(vpn) {
                let chip = flash.blocks.chip_of_page(ppn);
                if chips.contains(&chip) {
                    return Err(format!("VPN {vpn} has two copies on chip {chip}"));
                }
                chips.push(chip);
                if flash.blocks.owner(ppn) != Some(Owner::of(vpn)) {
                    return Err(format!("a copy of VPN {vpn} is owned by {:?}", flash.blocks.owner(ppn)));
                }
                let stored = flash.checker.as_ref().map(|checker| checker.stored(ppn));
                if stored.is_some_and(|value| value != Some(u64::from(map.content(vpn).number()))) {
                    let content = map.content(vpn);
                    return Err(format!("a copy of VPN {vpn} holds {stored:?}, not content {content}"));
                }
            }
        }
        Ok(())
    }
}

fn invalidate_all(released: Option<Released>, flash: &mut Flash) {
    if let Some(Released { home, replicas }) = released {
        flash.blocks.invalidate(home);
        for ppn in replicas {
            flash.blocks.invalidate(ppn);
        }
    }
}

impl MappingScheme for ContentScheme {
    type Map = ContentMap;

    #[inline]
    fn tables(&mut self) -> &mut Tables<Self::Map> {
        &mut self.tables
    }

    #[inline]
    fn copies_of(&self, lpn: Lpn) -> (Ppn, &[Ppn]) {
        self.places_of(lpn)
    }

    fn limit_budget(&mut self, pages: u64) {
        if let Some(replicator) = &mut self.replicator {
            replicator.limit_budget(pages);
        }
    }

    #[inline]
    fn places_of(&self, lpn: Lpn) -> (Ppn, &[Ppn]) {
        let map = &self.tables.map;
        match map.vpn_of(lpn) {
            NO_VPN => (NO_PPN, &[]),
            vpn => (map.home(vpn), map.replica_ppns(vpn)),
        }
    }

    fn places_of_owner(&self, owner: Owner) -> (Ppn, &[Ppn]) {
        let vpn = owner.id();
        (self.tables.map.home(vpn), self.tables.map.replica_ppns(vpn))
    }

    fn ram_name(&self, lpn: Lpn, _flash: &Flash) -> DataName {
        let (map, vpn) = (&self.tables.map, self.tables.map.vpn_of(lpn));
        let content = if vpn == NO_VPN { None } else { Some(map.content(vpn)) };
        let known = content.filter(|&content| map.fingerprints.peek(content) == vpn);
        known.map_or(DataName::Page(lpn), DataName::Content)
    }

    #[inline]
    fn note_read(&mut self, lpn: Lpn, flash: &mut Flash) -> (bool, bool) {
        let map = &mut self.tables.map;
        let vpn = map.vpn_of(lpn);
        if vpn == NO_VPN {
            return (false, false);
        }
        let replicated = !map.replica_ppns(vpn).is_empty();
        let first = match &mut self.replicator {
            Some(replicator) => replicator.read(vpn, map, flash),
            None => map.count_read(vpn),
        };
        (first, replicated)
    }

    #[inline]
    fn read_served(&mut self, ppn: Ppn) {
        if let Some(replicator) = &mut self.replicator {
            replicator.serve(ppn);
        }
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
        let before = self.tables.before_write(page.lpn);
        let program = self.write_content(page, fingerprinted, flash, loads, ops)?;
        self.tables.after_write(page.lpn, program.is_some(), before, flash, ops)?;
        Ok(program)
    }

    fn trim(&mut self, lpn: Lpn, flash: &mut Flash) {
        self.tables.touch_lpn(lpn);
        self.point(lpn, NO_VPN, flash);
        self.tables.touch_fingerprints();
    }

    #[inline]
    fn begin_jobs(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.tables.settle(flash, ops)?;
        match &mut self.replicator {
            Some(replicator) => replicator.begin_copies(&self.tables.map, &mut self.jobs, flash, ops),
            None => Ok(()),
        }
    }

    fn job_done(
        &mut self,
        job: u32,
        flash: &mut Flash,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        match self.jobs.op_done(job) {
            Some(Background::Copy(copy)) => {
                if let Some(replicator) = &mut self.replicator {
                    replicator.finish_copy(copy, &mut self.tables, &mut self.jobs, flash, loads, ops)?;
                }
            }
            Some(Background::Fingerprint(page)) => {
                self.fingerprint_read(page, flash)?;
                if let Some(late) = &mut self.late {
                    late.step(&self.tables.map, &mut self.jobs, flash, ops)?;
                }
            }
            Some(Background::Copied) | None => {}
        }
        self.tables.settle(flash, ops)
    }

    fn end_period(&mut self, flash: &mut Flash, ops: &mut Vec<FlashOp>) -> FtlResult {
        if let Some(replicator) = &mut self.replicator {
            replicator.end_period(&mut self.tables, flash, ops)?;
        }
        self.tables.map.reset_popularity();
        self.tables.settle(flash, ops)
    }

    fn end_preload(&mut self) {
        self.tables.map.reset_popularity();
    }

    #[inline]
    fn pages_in_use(&self) -> u64 {
        self.tables.map.pages_in_use()
    }

    #[inline]
    fn replica_pages(&self) -> u64 {
        self.tables.map.replicas.pages()
    }

    fn budget_pages(&self) -> Option<u64> {
        self.replicator.as_ref().map(Replicator::budget_pages)
    }

    fn unhashed_pages(&self) -> u64 {
        self.late.as_ref().map_or(0, |late| late.waiting(&self.tables.map))
    }

    fn table_sizes(&self, flash: &Flash) -> TableSizes {
        let map = &self.tables.map;
        let (listed_pages, list_bytes) = self.replicator.as_ref().map_or((0, 0), Replicator::lists);
        let late_bytes = self.late.as_ref().map_or(0, OutOfLine::bytes);
        TableSizes {
            mapped_lpns: map.mapped(),
            vpns: map.live_vpns(),
            fingerprints: map.fingerprints.entries(),
            replicas: map.replicas.pages(),
            replicated_contents: map.replicas.len(),
            page_table_bytes: flash.blocks.bytes_in_use() + ContentMap::page_bytes(map.lpns().into()),
            listed_pages,
            content_table_bytes: map.content_bytes() + late_bytes + list_bytes,
            ..TableSizes::default()
        }
    }

    fn copies(&self) -> Vec<u64> {
        let map = &self.tables.map;
        let mut contents = Vec::new();
        for vpn in map.live() {
            let copies = map.pages_of(vpn) as usize;
            if contents.len() <= copies {
                contents.resize(copies + 1, 0);
            }
            contents[copies] += 1;
        }
        contents
    }

    fn replica_ppns(&self) -> Vec<Ppn> {
        let map = &self.tables.map;
        map.replicas.live().into_iter().flat_map(|(vpn, _)| map.replica_ppns(vpn)).copied().collect()
    }

    fn contents_on_flash(&self, _flash: &Flash) -> Option<Vec<(Ppn, Content)>> {
        let map = &self.tables.map;
        Some(map.live().flat_map(|vpn| map.copies(vpn).map(move |ppn| (ppn, map.content(vpn)))).collect())
    }

    fn audit(&self, flash: &Flash) -> FtlResult {
        let map = &self.tables.map;
        self.tables.audit(flash).map_err(FtlError::Broken)?;
        map.audit().map_err(FtlError::Broken)?;
        let pages = Lpn::each(0..map.lpns()).map(|lpn| (lpn, map.vpn_of(lpn)));
        let mapped = pages.filter(|&(_, vpn)| vpn != NO_VPN);
        audit_pages(flash, mapped.map(|(lpn, vpn)| (lpn, Owner::of(vpn), map.home(vpn))))?;
        self.audit_copies(flash).map_err(FtlError::Broken)?;
        match &self.replicator {
            Some(replicator) => replicator.audit(map, flash).map_err(FtlError::Broken),
            None => Ok(()),
        }
    }

    fn restore_page(&mut self, page: PageImage<'_>, flash: &mut Flash) -> Result<(), String> {
        let PageImage { lpn, content, home, replicas } = page;
        let map = &mut self.tables.map;
        if content.number() >= map.history.contents() {
            return Err(format!("LPN {lpn} holds content {content}, and there is none"));
        }
        if !replicas.is_empty() && self.replicator.is_none() {
            return Err(format!("LPN {lpn} has copies, which this system does not make"));
        }
        let vpn = map.create(content);
        map.place(vpn, home);
        flash.blocks.adopt(home, Owner::of(vpn))?;
        for &ppn in replicas {
            flash.blocks.adopt(ppn, Owner::of(vpn))?;
            map.add_replica(vpn, 0, ppn);
        }
        let known = map.fingerprints.peek(content) == NO_VPN;
        if known {
            map.enter(vpn);
        }
        self.restore_reference(lpn, home, flash)?;
        if let Some(late) = &mut self.late {
            late.written(&self.tables.map, lpn, vpn, known);
        }
        Ok(())
    }

    fn restore_reference(&mut self, lpn: Lpn, home: Ppn, flash: &mut Flash) -> Result<(), String> {
        let map = &mut self.tables.map;
        if lpn.number() >= map.lpns() || map.vpn_of(lpn) != NO_VPN {
            return Err(unfit(lpn, map.lpns()));
        }
        let owner = flash.blocks.owner(home).map(Owner::id);
        match owner.filter(|&vpn| map.home(vpn) == home) {
            Some(vpn) => map.point(lpn, vpn),
            None => return Err(format!("LPN {lpn} lies in a page that is no first copy")),
        };
        Ok(())
    }

    fn forget_content(&mut self, content: Content) {
        self.tables.map.history.forget(content);
    }
}

flashtwin_bits::state!(ContentScheme { tables, late, replicator, jobs });
