//! The controller: page operations in, decisions out. Only this file dispatches on the mapping scheme.

use flashtwin_bits::{Loader, Saver, State, StateResult};
use flashtwin_nand::{Block, Geometry, Plane, Ppn};

use crate::config::{FtlConfig, Mapping, ZeroPage};
use crate::content::replication::Replicator;
use crate::content::{ContentMap, ContentScheme};
use crate::controller::{Controller, Hints};
use crate::decimal::times;
use crate::dedup::{FingerprintStore, History, OutOfLinePolicy, TableKind};
use crate::error::FtlResult;
use crate::flash::blocks::Blocks;
use crate::flash::{Flash, FlashKeys, capacity_pages};
use crate::host;
use crate::ids::{Content, Lpn, TraceSizes};
use crate::image::PageImage;
use crate::inverted::{InvertedMap, InvertedScheme};
use crate::loads::LoadView;
use crate::op::{DataName, FlashOp, Host, Lookup, ReadOutcome, ReadTarget, WriteOutcome, is_page};
use crate::page::spread::{SpreadConfig, SpreadPolicy, Spreader};
use crate::page::{PageMap, PageScheme, WrittenContents};
use crate::paging::{Layout, Map, Paging, Tables};
use crate::scheme::MappingScheme;

/// The controller of one device.
pub struct Ftl {
    pub(crate) flash: Flash,
    pub(crate) tables: Scheme,
    sampling_pages: u32,
    /// The content of a page of zeroes, if the mapping table alone takes it.
    zero: Option<Content>,
}

pub(crate) enum Scheme {
    Page(Box<PageScheme>),
    Content(Box<ContentScheme>),
    Inverted(Box<InvertedScheme>),
}

/// The same call, whichever form the tables have; each is compiled for itself.
macro_rules! with_tables {
    ($scheme_of:expr, $scheme:ident => $call:expr) => {
        match $scheme_of {
            Scheme::Page($scheme) => $call,
            Scheme::Content($scheme) => $call,
            Scheme::Inverted($scheme) => $call,
        }
    };
}

pub(crate) use with_tables;

impl Scheme {
    fn new(config: &FtlConfig, geometry: &Geometry, sizes: TraceSizes, seed: u64) -> Self {
        let jobs = config.background.jobs;
        let TraceSizes { footprint_pages, contents } = sizes;
        if config.mapping == Mapping::Page {
            let spreads = config.spread.policy == SpreadPolicy::Duplicates;
            let order = config.allocation.order;
            let spreader =
                spreads.then(|| Box::new(Spreader::new(&config.spread, order, geometry, sizes, jobs)));
            let written = config
                .spread
                .count_written
                .then(|| Box::new(WrittenContents::new(contents, geometry.planes())));
            let map = PageMap::new(footprint_pages, contents);
            return Self::Page(Box::new(PageScheme::new(map, spreader, written)));
        }
        let dedup = &config.dedup;
        let history = History::new(contents, dedup.knows_all());
        match dedup.tables {
            TableKind::Inverted => {
                let known = FingerprintStore::new(
                    contents,
                    dedup.fingerprint_entries,
                    dedup.eviction,
                    &config.foreign,
                );
                let map = InvertedMap::new(footprint_pages, geometry.page_index_len(), known, history);
                Self::Inverted(Box::new(InvertedScheme { tables: Tables::new(map) }))
            }
            TableKind::TwoLevel => {
                let known = FingerprintStore::new(
                    contents,
                    dedup.fingerprint_entries,
                    dedup.eviction,
                    &config.foreign,
                );
                // A counter has as many bits as it takes to tell the chips apart.
                let saturation = geometry.chips().saturating_sub(1).clamp(1, 255) as u8;
                let capacity = Ftl::capacity_pages(config, geometry);
                let replicator = Replicator::new(
                    &config.replication,
                    geometry,
                    footprint_pages,
                    capacity,
                    seed,
                    &config.foreign,
                );
                Self::Content(Box::new(ContentScheme::new(
                    ContentMap::new(footprint_pages, known, history, saturation),
                    dedup.out_of_line == OutOfLinePolicy::Unhashed,
                    replicator,
                    jobs,
                )))
            }
        }
    }
}

impl Ftl {
    /// A controller for an erased device. `config` must have passed [`FtlConfig::check`]. Where fewer than
    /// `footprint_pages` logical pages ever hold something, [`Ftl::holds_at_most`] says so.
    pub fn new(
        config: &FtlConfig,
        geometry: &Geometry,
        footprint_pages: u32,
        contents: u32,
        seed: u64,
    ) -> Self {
        let FtlConfig { allocation, gc, partition, redirection, wear, foreign, .. } = config;
        let keys = FlashKeys { allocation, gc, partition, redirection, wear, foreign };
        let mut ftl = Self {
            flash: Flash::new(&keys, geometry, footprint_pages, seed),
            tables: Scheme::new(config, geometry, TraceSizes { footprint_pages, contents }, seed),
            sampling_pages: config.sampling_pages(),
            zero: None,
        };
        if config.mapping_cache.is_on() {
            // Addresses without gaps, unless the caller sets others.
            ftl.put_tables_on_flash(config, (0..footprint_pages).map(u64::from));
        }
        ftl
    }

    /// Logical pages that a device can hold: one page is kept for the write that replaces another. Where tables are
    /// on flash and addresses have gaps, [`Ftl::lay_out_tables`] may say less.
    pub fn capacity_pages(config: &FtlConfig, geometry: &Geometry) -> u64 {
        let kept = config.reserved_blocks(geometry) - 1;
        capacity_pages(Blocks::plane_limit_of(geometry, kept), geometry)
    }

    /// Bytes of a controller's tables, known before it is made: of the device's pages and blocks, whose untouched parts
    /// take no memory, and of `pages` logical pages and `contents` contents.
    pub fn table_bytes(config: &FtlConfig, geometry: &Geometry, pages: u64, contents: u64) -> (u64, u64) {
        let physical = geometry.page_index_len() as u64;
        let device = Blocks::bytes(geometry.block_index_len() as u64, physical);
        // A place in the store and a byte of history.
        let known = contents * (4 + 1);
        match (config.mapping, config.dedup.tables) {
            (Mapping::Page, _) => {
                let SpreadConfig { policy, count_written, .. } = config.spread;
                let spreads = policy == SpreadPolicy::Duplicates;
                let spread = spreads.then(|| Spreader::bytes_of(pages, contents, geometry.channels));
                let written = count_written.then(|| WrittenContents::bytes(contents, geometry.planes()));
                (device, PageMap::bytes(pages) + spread.unwrap_or(0) + written.unwrap_or(0))
            }
            (Mapping::Content, TableKind::TwoLevel) => {
                (device, ContentMap::page_bytes(pages) + ContentMap::entry_bytes(contents) + known)
            }
            (Mapping::Content, TableKind::Inverted) => {
                (device + InvertedMap::page_bytes(0, physical), InvertedMap::page_bytes(pages, 0) + known)
            }
        }
    }

    /// Sets the address of each LPN in the host's address space, ascending: they decide which entries of tables on
    /// flash share a page. Call it before the first write. Returns the logical pages that the device can hold.
    pub fn lay_out_tables(&mut self, config: &FtlConfig, addresses: &[u64]) -> u64 {
        if config.mapping_cache.is_on() {
            self.put_tables_on_flash(config, addresses.iter().copied());
        }
        let capacity = self.flash.capacity_pages();
        with_tables!(&mut self.tables, scheme => scheme.limit_budget(capacity));
        capacity
    }

    /// Limits the logical pages with data; copies may use a share of that. Call it before the first write.
    pub fn holds_at_most(&mut self, config: &FtlConfig, pages: u32) {
        let pages = u64::from(pages);
        let budget = pages.saturating_add(times(pages, config.replication.alpha));
        with_tables!(&mut self.tables, scheme => scheme.limit_budget(budget));
    }

    /// Names the content of a page of zeroes, if it is known. Call it before the first write.
    pub fn zeroes_are(&mut self, config: &FtlConfig, zero: Option<Content>) {
        self.zero = zero.filter(|_| config.zero_page == ZeroPage::Mapped);
    }

    /// Takes a page of zeroes into the mapping table, where it needs no flash page.
    pub fn write_zeroes(&mut self, lpn: Lpn) {
        self.flash.counters.host_pages_written += 1;
        self.flash.counters.pages.zero_writes += 1;
        self.trim(lpn);
    }

    fn put_tables_on_flash(&mut self, config: &FtlConfig, addresses: impl ExactSizeIterator<Item = u64>) {
        let geometry = self.flash.geometry().clone();
        let layout = Layout::new(config.table_shape(), &geometry, addresses);
        let paging = Paging::new(&config.mapping_cache, &geometry, layout);
        let kept = config.streams() + paging.pool_blocks();
        self.flash.blocks.reserve_metadata_blocks(Blocks::plane_limit_of(&geometry, kept));
        match &mut self.tables {
            Scheme::Page(scheme) => scheme.tables.put_on_flash(paging),
            Scheme::Content(scheme) => scheme.put_on_flash(paging),
            Scheme::Inverted(_) => unreachable!("FtlConfig::check refuses inverted tables on flash"),
        }
    }

    /// Compares every step with a plain model from now on. Call it before the first write.
    pub fn verify(&mut self) {
        self.flash.verify();
    }

    /// Gives a policy that [is told](crate::PartitionPolicy::is_told) the partition of each logical page, 0 the hottest.
    /// Call it before the first write. Pages beyond the list are in the coldest partition.
    pub fn assign_partitions(&mut self, of_page: Vec<u8>) {
        self.flash.partitions.tell(of_page);
    }

    /// Writes a logical page's content to another place, as ageing does. A page that is not mapped is left alone.
    pub fn rewrite(
        &mut self,
        lpn: Lpn,
        address: u64,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<Option<Ppn>> {
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, scheme => match host::locate(&**scheme, flash, lpn, loads) {
            Some(_) => scheme.rewrite(lpn, address, flash, loads, ops).map(Some),
            None => Ok(None),
        })
    }

    /// Ends preloading: everything counted so far, wear included, is forgotten.
    pub fn end_preload(&mut self) {
        self.flash.end_preload();
        with_tables!(&mut self.tables, scheme => {
            self.flash.note_peak(scheme.pages_in_use(), scheme.replica_pages());
            scheme.end_preload();
        });
    }

    pub(crate) fn restore_page(&mut self, page: PageImage<'_>) -> Result<(), String> {
        with_tables!(&mut self.tables, scheme => scheme.restore_page(page, &mut self.flash))
    }

    pub(crate) fn restore_reference(&mut self, lpn: Lpn, home: Ppn) -> Result<(), String> {
        with_tables!(&mut self.tables, scheme => scheme.restore_reference(lpn, home, &mut self.flash))
    }

    /// The first copy of a logical page and those made on purpose; `None` where it is not mapped.
    #[inline]
    pub fn copies_of(&self, lpn: Lpn) -> Option<(Ppn, &[Ppn])> {
        let copies = with_tables!(&self.tables, scheme => scheme.copies_of(lpn));
        is_page(copies.0).then_some(copies)
    }

    /// Forgets that the device ever held `content`, which no logical page holds, as its number is given to another
    /// content: the first write of that one counts as unique, not as reborn.
    pub fn forget_content(&mut self, content: Content) {
        with_tables!(&mut self.tables, scheme => scheme.forget_content(content));
    }
}

impl Controller for Ftl {
    fn read(&mut self, lpn: Lpn, loads: &LoadView<'_>) -> FtlResult<ReadOutcome> {
        with_tables!(&mut self.tables, scheme => host::read(&mut **scheme, &mut self.flash, lpn, loads))
    }

    fn ram_name(&self, lpn: Lpn) -> DataName {
        with_tables!(&self.tables, scheme => scheme.ram_name(lpn, &self.flash))
    }

    fn locate_among(
        &self,
        lpn: Lpn,
        loads: &LoadView<'_>,
        there: &dyn Fn(Ppn) -> bool,
    ) -> FtlResult<Option<(ReadTarget, u64)>> {
        with_tables!(&self.tables, scheme => host::locate_among(&**scheme, &self.flash, lpn, loads, there))
    }

    fn arrived(&mut self, lpn: Lpn) {
        if let Some(checker) = &mut self.flash.checker {
            checker.arrived(lpn);
        }
    }

    fn prepare_write(
        &mut self,
        lpn: Lpn,
        partial: bool,
        loads: &LoadView<'_>,
    ) -> FtlResult<Option<ReadTarget>> {
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, scheme => host::prepare_write(&mut **scheme, flash, lpn, partial, loads))
    }

    fn was_read_in_ram(&mut self, lpn: Lpn) {
        with_tables!(&mut self.tables, scheme => host::was_read_in_ram(&mut **scheme, &mut self.flash, lpn));
    }

    #[inline]
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<WriteOutcome> {
        if self.maps(page.content) {
            self.write_zeroes(page.lpn);
            return Ok(WriteOutcome { program: None });
        }
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, scheme => host::write(&mut **scheme, flash, page, fingerprinted, loads, ops))
    }

    #[inline]
    fn maps(&self, content: Content) -> bool {
        self.zero == Some(content)
    }

    fn trim(&mut self, lpn: Lpn) {
        if let Some(checker) = &mut self.flash.checker {
            checker.trim(lpn);
        }
        with_tables!(&mut self.tables, scheme => scheme.trim(lpn, &mut self.flash));
    }

    fn sampling_pages(&self) -> u32 {
        self.sampling_pages
    }

    fn pages_tables(&self) -> bool {
        with_tables!(&self.tables, scheme => scheme.tables.may_be_missing())
    }

    fn take_lookups(&mut self, lookups: &mut Vec<Lookup>) {
        with_tables!(&mut self.tables, scheme => scheme.tables.take_lookups(lookups));
    }

    fn pages_fingerprints(&self) -> bool {
        with_tables!(&self.tables, scheme => scheme.tables.fingerprints_may_be_missing())
    }

    fn look_up_fingerprint(&mut self, content: Content) -> FtlResult {
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, scheme => {
            scheme.tables.where_on_flash(|tables| tables.look_up_fingerprint(content, flash))
        })
    }

    fn checkpoint(&mut self, ops: &mut Vec<FlashOp>) -> FtlResult {
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, scheme => {
            scheme.tables.where_on_flash(|tables| tables.checkpoint(flash, ops))
        })
    }

    fn pad_units(&mut self, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.flash.pad_units(ops)
    }

    fn erases_take_time(&mut self) {
        self.flash.blocks.erases_take_time();
    }

    #[inline]
    fn erased(&mut self, block: Block) {
        self.flash.blocks.erased(block);
    }

    fn works_in_idle_time(&self) -> bool {
        self.flash.works_in_idle_time()
    }

    fn use_idle_time(&mut self, planes: &[Plane], ops: &mut Vec<FlashOp>) -> FtlResult {
        with_tables!(&mut self.tables, scheme => self.flash.collect_in_idle_time(planes, &mut scheme.tables, ops))?;
        self.begin_jobs(ops)
    }

    fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> FtlResult {
        with_tables!(&mut self.tables, scheme => scheme.end_period(&mut self.flash, ops))
    }

    #[inline]
    fn begin_jobs(&mut self, ops: &mut Vec<FlashOp>) -> FtlResult {
        with_tables!(&mut self.tables, scheme => scheme.begin_jobs(&mut self.flash, ops))
    }

    fn job_done(&mut self, job: u32, loads: &LoadView<'_>, ops: &mut Vec<FlashOp>) -> FtlResult {
        with_tables!(&mut self.tables, scheme => scheme.job_done(job, &mut self.flash, loads, ops))
    }
}

impl Hints for Ftl {
    fn wants_kind(&self) -> bool {
        with_tables!(&self.tables, scheme => scheme.wants_kind())
    }

    fn wants_address(&self) -> bool {
        self.flash.wants_address()
    }

    #[inline]
    fn prefetch_far(&self, lpn: Lpn, content: Content, write: bool) {
        with_tables!(&self.tables, scheme => scheme.tables.map.prefetch_far(lpn, content, write));
    }

    #[inline]
    fn prefetch_near(&self, lpn: Lpn, content: Content, write: bool) {
        with_tables!(&self.tables, scheme => scheme.tables.map.prefetch_near(lpn, content, write, &self.flash));
    }

    #[inline]
    fn prefetch_next(&self, lpn: Lpn, content: Content) {
        with_tables!(&self.tables, scheme => scheme.tables.map.prefetch_next(lpn, content, &self.flash));
    }

    #[inline]
    fn prefetch_last(&self, lpn: Lpn) {
        with_tables!(&self.tables, scheme => scheme.tables.map.prefetch_last(lpn));
    }

    #[inline]
    fn prefetch_place(&self, address: u64) -> Option<Ppn> {
        self.flash.prefetch_place(address)
    }
}

flashtwin_bits::state!(Ftl { flash, tables } kept { sampling_pages, zero });

impl State for Scheme {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        with_tables!(self, scheme => scheme.save(to))
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        with_tables!(self, scheme => scheme.load(from))
    }
}
