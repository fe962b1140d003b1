//! The controller: page operations in, decisions out. What follows from the form of the tables is the affair of one of
//! three sides; this is the only file that asks which.

use flashtwin_bits::{Loader, Saver, State, StateResult};
use flashtwin_nand::{Block, Geometry, Plane, Ppn};

use crate::config::{FtlConfig, MappingForm};
use crate::content::replication::Replicator;
use crate::content::{ContentMap, ContentSide};
use crate::decimal::times;
use crate::dedup::{FingerprintStore, History, OutOfLinePolicy, TableForm};
use crate::error::FtlError;
use crate::flash::blocks::Blocks;
use crate::flash::{Flash, FlashKeys, capacity_pages};
use crate::held::HeldPage;
use crate::host;
use crate::ids::{Content, Lpn};
use crate::inverted::{InvertedMap, InvertedSide};
use crate::loads::LoadView;
use crate::op::{FlashOp, Host, Lookup, ReadOutcome, ReadTarget, WriteOutcome, is_page};
use crate::page::spread::{SpreadPolicy, Spreader};
use crate::page::{PageMap, PageSide, WrittenContents};
use crate::paging::{Layout, Paging};
use crate::side::Side;

/// The controller of one device.
pub struct Ftl {
    pub(crate) flash: Flash,
    pub(crate) tables: Form,
    /// Pages of a write that share a sample.
    sampling_pages: u32,
}

/// The tables, by their form.
pub(crate) enum Form {
    Page(Box<PageSide>),
    Content(Box<ContentSide>),
    Inverted(Box<InvertedSide>),
}

/// The same call, whichever form the tables have; each is compiled for itself.
macro_rules! with_tables {
    ($form:expr, $side:ident => $call:expr) => {
        match $form {
            Form::Page($side) => $call,
            Form::Content($side) => $call,
            Form::Inverted($side) => $call,
        }
    };
}

pub(crate) use with_tables;

impl Form {
    fn new(
        config: &FtlConfig,
        geometry: &Geometry,
        (footprint_pages, contents): (u32, u32),
        seed: u64,
    ) -> Self {
        let jobs = config.background.jobs;
        if config.mapping == MappingForm::Page {
            let spreads = config.spread.policy == SpreadPolicy::Duplicates;
            let order = config.allocation.order;
            let sizes = (footprint_pages, contents);
            let spreader =
                spreads.then(|| Box::new(Spreader::new(&config.spread, order, geometry, sizes, jobs)));
            let written = config
                .spread
                .count_written
                .then(|| Box::new(WrittenContents::new(contents, geometry.planes())));
            let map = PageMap::new(footprint_pages, contents);
            return Self::Page(Box::new(PageSide::new(map, spreader, written)));
        }
        let dedup = &config.dedup;
        let history = History::new(contents, dedup.knows_all());
        match dedup.tables {
            TableForm::Inverted => {
                let known = FingerprintStore::new(contents, dedup.fingerprint_entries, dedup.eviction);
                let map = InvertedMap::new(footprint_pages, geometry.page_index_len(), known, history);
                Self::Inverted(Box::new(InvertedSide { map }))
            }
            TableForm::TwoLevel => {
                let known = FingerprintStore::new(contents, dedup.fingerprint_entries, dedup.eviction);
                // A counter has as many bits as it takes to tell the chips apart.
                let saturation = geometry.chips().saturating_sub(1).clamp(1, 255) as u8;
                let capacity = Ftl::capacity_pages(config, geometry);
                let replicator =
                    Replicator::new(&config.replication, geometry, footprint_pages, capacity, seed);
                Self::Content(Box::new(ContentSide::new(
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
    /// A controller for an erased device that serves a trace of `footprint_pages` logical
    /// pages and `contents` contents. `config` must have passed [`FtlConfig::check`]. Where fewer of them ever hold
    /// something, [`Ftl::holds_at_most`] says so.
    pub fn new(
        config: &FtlConfig,
        geometry: &Geometry,
        footprint_pages: u32,
        contents: u32,
        seed: u64,
    ) -> Self {
        let FtlConfig { allocation, gc, partition, redirection, wear, .. } = config;
        let keys = FlashKeys { allocation, gc, partition, redirection, wear };
        let mut ftl = Self {
            flash: Flash::new(&keys, geometry, footprint_pages, seed),
            tables: Form::new(config, geometry, (footprint_pages, contents), seed),
            sampling_pages: config.sampling_pages(),
        };
        if config.mapping_cache.is_on() {
            // Addresses without gaps, until somebody tells of others.
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

    /// Tells the controller the address of each LPN in the host's address space, ascending: they
    /// decide which entries of the mapping tables share a page, where those are on flash. To be
    /// called before the first write. Returns the logical pages that the device can hold then.
    pub fn lay_out_tables(&mut self, config: &FtlConfig, addresses: &[u64]) -> u64 {
        if config.mapping_cache.is_on() {
            self.put_tables_on_flash(config, addresses.iter().copied());
        }
        let capacity = self.flash.capacity_pages();
        with_tables!(&mut self.tables, side => side.limit_budget(capacity));
        capacity
    }

    /// Tells that no more than so many logical pages ever hold something: copies have a share of these and no more. To be
    /// called before the first write.
    pub fn holds_at_most(&mut self, config: &FtlConfig, pages: u32) {
        let pages = u64::from(pages);
        let budget = pages.saturating_add(times(pages, config.replication.alpha));
        with_tables!(&mut self.tables, side => side.limit_budget(budget));
    }

    /// Cuts the tables into pages and keeps blocks for them back.
    fn put_tables_on_flash(&mut self, config: &FtlConfig, addresses: impl ExactSizeIterator<Item = u64>) {
        let geometry = self.flash.geometry().clone();
        let layout = Layout::new(config.table_shape(), &geometry, addresses);
        let paging = Paging::new(&config.mapping_cache, &geometry, layout);
        let kept = config.streams() + paging.pool_blocks();
        self.flash.blocks.keep_apart(Blocks::plane_limit_of(&geometry, kept));
        match &mut self.tables {
            Form::Page(side) => side.put_on_flash(paging),
            Form::Content(side) => side.put_on_flash(paging),
            Form::Inverted(_) => unreachable!("FtlConfig::check refuses inverted tables on flash"),
        }
    }

    /// Keeps the plain truth beside the tables from now on and compares every step with it.
    /// To be called before the first write.
    pub fn verify(&mut self) {
        self.flash.verify();
    }

    /// Gives [`crate::PartitionPolicy::Offline`] what it knows beforehand: the partition of each logical
    /// page, 0 the hottest. To be called before the first write. Pages beyond the list are in the
    /// coldest partition.
    pub fn assign_partitions(&mut self, of_page: Vec<u8>) {
        let partitions = self.flash.blocks.partitions();
        self.flash.partitions.assign(partitions, of_page);
    }
}

/// Page operations of the host.
impl Ftl {
    /// Serves a page read. Orders nothing by itself; [`Ftl::begin_jobs`] does what follows from it.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    pub fn read(&mut self, lpn: Lpn, loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        with_tables!(&mut self.tables, side => host::read(&mut **side, &mut self.flash, lpn, loads))
    }

    /// Where a logical page would be read now if only the copies that are `there` counted, and the name
    /// of its data; `None` if none is that the redirection may choose. Tables run ahead of the flash:
    /// for a driver that does not read from RAM what is still on its way.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    pub fn locate_among(
        &self,
        lpn: Lpn,
        loads: &LoadView<'_>,
        there: &dyn Fn(Ppn) -> bool,
    ) -> Result<Option<(ReadTarget, u64)>, FtlError> {
        with_tables!(&self.tables, side => host::locate_among(&**side, &self.flash, lpn, loads, there))
    }

    /// A page whose write has just been decided was read before that, from RAM: the read counts, too.
    pub fn was_read_in_ram(&mut self, lpn: Lpn) {
        with_tables!(&mut self.tables, side => host::was_read_in_ram(&mut **side, &mut self.flash, lpn));
    }

    /// A page write has arrived that cannot be decided yet; for verification. Until [`Ftl::write`], the page's newest
    /// data are in controller RAM.
    pub fn arrived(&mut self, lpn: Lpn) {
        if let Some(checker) = &mut self.flash.checker {
            checker.arrived(lpn);
        }
    }

    /// What must be read before a page write can be decided: the page's old data, where the write is
    /// `partial`; and, by [`Ftl::take_lookups`], pages of the mapping tables. The old data may be of a
    /// page whose program is still on its way to the flash.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    pub fn prepare_write(
        &mut self,
        lpn: Lpn,
        partial: bool,
        loads: &LoadView<'_>,
    ) -> Result<Option<ReadTarget>, FtlError> {
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, side => host::prepare_write(&mut **side, flash, lpn, partial, loads))
    }

    /// Serves a page write: decides whether a page is programmed, and where. The page is whole;
    /// `fingerprinted`: its fingerprint is known (a system that does not look at contents has no use for
    /// it). What garbage collection does about it is appended to `ops`.
    ///
    /// Whoever drives the controller asks when all that is so, with the loads of that moment, and not
    /// before: a drive does not know earlier whether the page needs a place (RR-SSD paper III.B,
    /// "Handling Write Requests").
    ///
    /// # Errors
    /// [`FtlError::DeviceFull`] when no block can be reclaimed; [`FtlError::Broken`] when
    /// verification is on and finds the tables wrong.
    #[inline]
    pub fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, side => host::write(&mut **side, flash, page, fingerprinted, loads, ops))
    }

    /// Pages of a write that share a sample; 1: every page is fingerprinted.
    pub fn sampling_pages(&self) -> u32 {
        self.sampling_pages
    }

    /// Forgets a logical page. The next [`Ftl::begin_jobs`] writes back the table pages that this changes.
    pub fn trim(&mut self, lpn: Lpn) {
        if let Some(checker) = &mut self.flash.checker {
            checker.trim(lpn);
        }
        with_tables!(&mut self.tables, side => side.trim(lpn, &mut self.flash));
    }

    /// Looks up the page of the fingerprint store in which a written content would be found; what that
    /// waits for, [`Ftl::take_lookups`] tells. To be called when its hash is known, before [`Ftl::write`].
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    pub fn look_up_fingerprint(&mut self, content: Content) -> Result<(), FtlError> {
        with_tables!(&mut self.tables, side => side.look_up_fingerprint(content, &mut self.flash))
    }

    /// Moves what the last page operation looked into to the end of `lookups`.
    pub fn take_lookups(&mut self, lookups: &mut Vec<Lookup>) {
        with_tables!(&mut self.tables, side => side.take_lookups(lookups));
    }

    /// Writes a logical page's content to another place, as ageing does: the mapping form
    /// and its contents stay as they are. A page that is not mapped is left alone.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub fn rewrite(
        &mut self,
        lpn: Lpn,
        address: u64,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<Ppn>, FtlError> {
        let flash = &mut self.flash;
        with_tables!(&mut self.tables, side => match host::locate(&**side, flash, lpn, loads) {
            Some(_) => side.rewrite(lpn, address, flash, loads, ops).map(Some),
            None => Ok(None),
        })
    }

    /// The driver will say when an erase is carried out ([`Ftl::erased`]). Otherwise it is when it is ordered.
    pub fn erases_take_time(&mut self) {
        self.flash.blocks.erases_take_time();
    }

    /// A block is erased, and no other erase of it is ordered. The controller writes to such blocks first.
    #[inline]
    pub fn erased(&mut self, block: Block) {
        self.flash.blocks.erased(block);
    }

    /// Ends preloading: everything counted so far, wear included, is forgotten.
    pub fn end_preload(&mut self) {
        self.flash.end_preload();
        with_tables!(&mut self.tables, side => {
            self.flash.note_peak(side.pages_in_use(), side.replica_pages());
            side.end_preload();
        });
    }
}

/// Work that waits for idle time, for the end of a period, for a checkpoint.
impl Ftl {
    /// Begins the background jobs that the reads so far have earned: reads of the pages to be copied;
    /// where tables are on flash, writes those of their pages that gave way. To be called after each
    /// read, and after trims.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    #[inline]
    pub fn begin_jobs(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        with_tables!(&mut self.tables, side => side.begin_jobs(&mut self.flash, ops))
    }

    /// Whether the controller has a use for idle time beyond its background jobs.
    pub fn works_in_idle_time(&self) -> bool {
        self.flash.works_in_idle_time()
    }

    /// The unit of these planes is idle: a step of collection is appended to `ops` (job [`crate::IDLE_STEP`]), if a plane
    /// wants one. To be called again when it is done, as long as nothing else comes.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub fn use_idle_time(&mut self, planes: &[Plane], ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        with_tables!(&mut self.tables, side => side.use_idle_time(planes, &mut self.flash, ops))?;
        self.begin_jobs(ops)
    }

    /// An operation of a background job ([`FlashOp::job`]) is done; what it leads to is appended to
    /// `ops`.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub fn job_done(
        &mut self,
        job: u32,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        with_tables!(&mut self.tables, side => side.job_done(job, &mut self.flash, loads, ops))
    }

    /// Ends a profiling period: makes the copies that popularity has earned, then zeroes the
    /// counters. The operations are those of the replication phase, in which the host is
    /// served elsewhere (RR-SSD paper III.B: by the mirror). Without replication, only the
    /// counters are zeroed.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        with_tables!(&mut self.tables, side => side.end_period(&mut self.flash, ops))
    }

    /// Writes every page of the mapping tables that was changed since it was last written.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    pub fn checkpoint(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        with_tables!(&mut self.tables, side => side.checkpoint(&mut self.flash, ops))
    }
}

/// Tables from what another controller left, and what tells of it.
impl Ftl {
    pub(crate) fn restore_page(&mut self, page: HeldPage<'_>) -> Result<(), String> {
        with_tables!(&mut self.tables, side => side.restore_page(page, &mut self.flash))
    }

    pub(crate) fn restore_reference(&mut self, lpn: Lpn, home: Ppn) -> Result<(), String> {
        with_tables!(&mut self.tables, side => side.restore_reference(lpn, home, &mut self.flash))
    }

    /// The first copy of a logical page and those made on purpose; `None` where it is not mapped.
    #[inline]
    pub fn copies_of(&self, lpn: Lpn) -> Option<(Ppn, &[Ppn])> {
        let copies = with_tables!(&self.tables, side => side.copies_of(lpn));
        is_page(copies.0).then_some(copies)
    }

    /// Forgets that the device ever held `content`, which no logical page holds, as its number is given to another
    /// content: the first write of that one counts as unique, not as reborn.
    pub fn forget_content(&mut self, content: Content) {
        with_tables!(&mut self.tables, side => side.forget_content(content));
    }
}

/// What is asked of memory ahead. A trace-driven simulator knows its future, and waiting for memory is most of what it
/// does; nothing is changed.
impl Ftl {
    /// Whether what is asked for ahead differs between reads and writes.
    pub fn wants_kind(&self) -> bool {
        with_tables!(&self.tables, side => side.wants_kind())
    }

    /// Whether the allocation looks at host addresses; otherwise they need not be given.
    pub fn wants_address(&self) -> bool {
        self.flash.wants_address()
    }

    /// Whether pages of the mapping tables may be missing in RAM, so that the host must wait for them.
    pub fn pages_tables(&self) -> bool {
        with_tables!(&self.tables, side => side.pages_tables())
    }

    /// Whether looking a content up may have to wait for a page of the fingerprint store.
    pub fn pages_fingerprints(&self) -> bool {
        with_tables!(&self.tables, side => side.pages_fingerprints())
    }

    /// Asks for the tables that an operation some way ahead will look into first.
    #[inline]
    pub fn prefetch_far(&self, lpn: Lpn, content: Content, write: bool) {
        with_tables!(&self.tables, side => side.prefetch_far(lpn, content, write));
    }

    /// Asks for what those tables point to; the operation is nearer now.
    #[inline]
    pub fn prefetch_near(&self, lpn: Lpn, content: Content, write: bool) {
        with_tables!(&self.tables, side => side.prefetch_near(lpn, content, write, &self.flash));
    }

    /// Asks for what is looked at last; the operation is about to come.
    #[inline]
    pub fn prefetch_next(&self, lpn: Lpn, content: Content) {
        with_tables!(&self.tables, side => side.prefetch_next(lpn, content, &self.flash));
    }

    /// Asks for what those tables point to in turn.
    #[inline]
    pub fn prefetch_last(&self, lpn: Lpn) {
        with_tables!(&self.tables, side => side.prefetch_last(lpn));
    }

    /// Asks for the tables of the page that a write to `address` will probably get; returns that page. Where the
    /// allocation follows the address, writes touch planes in the order of the host's addresses, not in turn:
    /// nothing of them is in the cache by itself.
    #[inline]
    pub fn prefetch_place(&self, address: u64) -> Option<Ppn> {
        self.flash.prefetch_place(address)
    }
}

flashtwin_bits::state!(Ftl { flash, tables } kept { sampling_pages });

impl State for Form {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        with_tables!(self, side => side.save(to))
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        with_tables!(self, side => side.load(from))
    }
}
