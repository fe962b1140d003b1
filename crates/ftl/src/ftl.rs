//! The controller: page operations in, decisions out.

use flashtwin_nand::{Geometry, Ppn};

use crate::allocation::Allocation;
use crate::blocks::{Blocks, Stream};
use crate::checker::Checker;
use crate::config::{FtlConfig, MappingForm, ReplicationPolicy};
use crate::counters::Counters;
use crate::dedup::out_of_line::{Candidate, OutOfLine};
use crate::dedup::{FingerprintStore, OutOfLinePolicy, TableForm};
use crate::error::FtlError;
use crate::gc::Collector;
use crate::jobs::Jobs;
use crate::mapping::{ContentMap, History, InvertedMap, Layout, NO_CONTENT, PageMap, Paging};
use crate::op::{FlashOp, LoadView, OpKind};
use crate::partition::PartitionAssignment;
use crate::redirection::Redirection;
use crate::replication::{CopyJob, Replicator};
use crate::spread::{Comparison, SpreadPolicy, Spreader};

pub(crate) enum Map {
    Page(PageMap),
    Content(Box<ContentMap>),
    Inverted(Box<InvertedMap>),
}

/// What follows when the operations of a background job are done.
#[derive(Debug)]
pub(crate) enum Background {
    /// Pages have been read to be compared.
    Compare(Comparison),
    /// A page has been read to be copied.
    Copy(CopyJob),
    /// The copy has been programmed.
    Copied,
    /// A page written without a fingerprint has been read.
    Fingerprint(Candidate),
}

const _: () = assert!(size_of::<Background>() <= 56, "with what is left to do, a job is a cache line");

/// The controller of one device.
pub struct Ftl {
    pub(crate) blocks: Blocks,
    pub(crate) map: Map,
    /// Where tables are on flash.
    pub(crate) paging: Option<Box<Paging>>,
    pub(crate) collector: Collector,
    allocation: Box<dyn Allocation>,
    pub(crate) redirection: Box<dyn Redirection>,
    pub(crate) replicator: Option<Replicator>,
    pub(crate) spreader: Option<Box<Spreader>>,
    /// Tells the host's pages apart; `None` with one partition for all.
    pub(crate) partitioning: Option<Box<dyn PartitionAssignment>>,
    /// Page writes of the host by partition; empty with one for all.
    pub(crate) partition_writes: Vec<u64>,
    pub(crate) jobs: Jobs<Background>,
    /// Pages of a write that share a sample.
    pub(crate) sampling_pages: u32,
    pub(crate) out_of_line: Option<Box<OutOfLine>>,
    pub(crate) counters: Counters,
    pub(crate) checker: Option<Box<Checker>>,
    /// Highest value of a popularity counter: the number of chips less one.
    pub(crate) saturation: u8,
    /// Most pages that were in use at once, and most replicas.
    pub(crate) peak: Peak,
}

/// The most that was held at once since preloading ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// Physical pages with valid data.
    pub pages_in_use: u64,
    /// Replicas among them.
    pub replica_pages: u64,
}

impl Ftl {
    /// A controller for an erased device that serves a trace of `footprint_pages` logical
    /// pages and `contents` contents. `config` must have passed [`FtlConfig::check`].
    pub fn new(
        config: &FtlConfig,
        geometry: &Geometry,
        footprint_pages: u32,
        contents: u32,
        seed: u64,
    ) -> Self {
        let map = match config.mapping {
            MappingForm::Page => Map::Page(PageMap::new(footprint_pages, contents)),
            MappingForm::Content => Self::content_tables(config, geometry, footprint_pages, contents),
        };
        let dedups_later =
            config.mapping == MappingForm::Content && config.dedup.out_of_line == OutOfLinePolicy::Unhashed;
        let replicates = config.replication.policy != ReplicationPolicy::None;
        let spreads = config.spread.policy == SpreadPolicy::Duplicates;
        let mut ftl = Self {
            blocks: Blocks::new(
                geometry,
                config.partitions(),
                &config.wear,
                config.gc.victim.build(config.gc.choices, geometry, seed),
            ),
            map,
            paging: None,
            collector: Collector::new(&config.gc, geometry),
            allocation: config.allocation.build(geometry),
            redirection: config.redirection.policy.build(),
            replicator: replicates.then(|| Replicator::new(config, geometry, footprint_pages, seed)),
            spreader: spreads.then(|| {
                let order = config.allocation.order;
                Box::new(Spreader::new(&config.spread, order, geometry, footprint_pages, contents))
            }),
            partitioning: config.partition.build(footprint_pages),
            partition_writes: vec![0; if config.partitions() > 1 { config.partitions() as usize } else { 0 }],
            jobs: Jobs::new(config.background.jobs),
            sampling_pages: config.pages_per_sample(),
            out_of_line: dedups_later.then(Box::default),
            counters: Counters::default(),
            checker: None,
            saturation: geometry.chips().saturating_sub(1).clamp(1, 255) as u8,
            peak: Peak::default(),
        };
        if config.mapping_cache.is_on() {
            // Addresses without gaps, until somebody tells of others.
            let layout = Layout::new(config, geometry, (0..footprint_pages).map(u64::from));
            ftl.set_tables(config, geometry, layout);
        }
        ftl
    }

    fn content_tables(config: &FtlConfig, geometry: &Geometry, footprint_pages: u32, contents: u32) -> Map {
        let dedup = &config.dedup;
        let known = FingerprintStore::new(contents, dedup.fingerprint_entries, dedup.eviction);
        let history = History::new(contents, dedup.knows_all());
        match dedup.tables {
            TableForm::TwoLevel => Map::Content(Box::new(ContentMap::new(footprint_pages, known, history))),
            TableForm::Inverted => {
                let pages = geometry.page_index_len();
                Map::Inverted(Box::new(InvertedMap::new(footprint_pages, pages, known, history)))
            }
        }
    }

    /// Logical pages that a device can hold under such a controller: one page of the room is
    /// kept for the write that replaces another. Where tables are on flash and addresses have gaps,
    /// [`Ftl::lay_out_tables`] may say less.
    pub fn capacity_pages(config: &FtlConfig, geometry: &Geometry) -> u64 {
        let kept = config.reserved_blocks(geometry) - 1;
        let limit = Blocks::plane_limit_of(geometry, kept);
        (limit * u64::from(geometry.planes())).saturating_sub(1)
    }

    /// Keeps the plain truth beside the tables from now on and compares every step with it.
    /// To be called before the first write.
    pub fn verify(&mut self) {
        self.checker = Some(Box::new(Checker::new(&self.blocks.geometry, self.blocks.partitions())));
    }

    /// What was counted since [`Ftl::end_preload`].
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Valid pages that victims held when they were chosen: victims by number of pages.
    pub fn victim_pages(&self) -> &[u64] {
        &self.collector.victim_pages
    }

    /// Erase counts of all blocks: (count, blocks with it), ascending.
    pub fn wear(&self) -> Vec<(u32, u64)> {
        self.blocks.wear()
    }

    /// Erases per chip.
    pub fn chip_erases(&self) -> &[u64] {
        self.blocks.chip_erases()
    }

    /// Valid pages per chip.
    pub fn chip_valid_pages(&self) -> &[u64] {
        self.blocks.chip_valid()
    }

    /// Valid pages per plane.
    pub fn plane_valid_pages(&self) -> Vec<u64> {
        (0..self.blocks.geometry.planes()).map(|plane| self.blocks.valid_pages(plane)).collect()
    }

    /// Physical pages that hold valid data.
    pub fn pages_in_use(&self) -> u64 {
        match &self.map {
            Map::Page(map) => map.mapped(),
            Map::Content(map) => map.pages_in_use(),
            Map::Inverted(map) => map.live(),
        }
    }

    /// Replicas on flash.
    pub fn replica_pages(&self) -> u64 {
        match &self.map {
            Map::Page(_) | Map::Inverted(_) => 0,
            Map::Content(map) => map.replicas.pages(),
        }
    }

    /// The most that was held at once since preloading ended.
    pub fn peak(&self) -> Peak {
        self.peak
    }

    #[inline]
    pub(crate) fn note_peak(&mut self) {
        self.peak.pages_in_use = self.peak.pages_in_use.max(self.pages_in_use());
        self.peak.replica_pages = self.peak.replica_pages.max(self.replica_pages());
    }

    /// Pages that first copies and replicas may occupy together; `None` without replication.
    pub fn budget_pages(&self) -> Option<u64> {
        self.replicator.as_ref().map(|replicator| replicator.budget_pages)
    }

    /// Whether what is asked for ahead differs between reads and writes.
    pub fn wants_kind(&self) -> bool {
        self.spreader.is_some()
    }

    /// Whether the allocation looks at host addresses; otherwise they need not be given.
    pub fn wants_address(&self) -> bool {
        self.allocation.wants_address()
    }

    /// Asks for the tables that an operation some way ahead will look into first. Changes
    /// nothing; a trace-driven simulator knows its future, and waiting for memory is most of
    /// what it does.
    #[inline]
    pub fn prefetch_far(&self, lpn: u32, content: u32, write: bool) {
        match &self.map {
            Map::Page(map) => {
                map.prefetch(lpn);
                if let Some(spreader) = &self.spreader {
                    spreader.prefetch_far(lpn, if write { map.known(content) } else { NO_CONTENT });
                }
            }
            Map::Content(map) => map.prefetch_far(lpn, content),
            Map::Inverted(map) => map.prefetch_far(lpn, content),
        }
    }

    /// Asks for what those tables point to; the operation is nearer now.
    #[inline]
    pub fn prefetch_near(&self, lpn: u32, content: u32, write: bool) {
        match &self.map {
            Map::Page(map) => {
                self.blocks.prefetch(map.get(lpn));
                if let Some(spreader) = &self.spreader {
                    match write {
                        true => spreader.prefetch_near(lpn, map.content(lpn), map.known(content), map),
                        false => spreader.prefetch_near_read(lpn),
                    }
                }
            }
            Map::Content(map) => map.prefetch_near(lpn, content),
            Map::Inverted(map) => map.prefetch_near(lpn, content),
        }
    }

    /// Asks for what is looked at last; the operation is about to come.
    #[inline]
    pub fn prefetch_next(&self, lpn: u32, content: u32) {
        match &self.map {
            Map::Page(map) => {
                if let Some(spreader) = &self.spreader {
                    spreader.prefetch_next(lpn, map.known(content));
                }
            }
            Map::Content(map) => {
                if let Some(home) = map.prefetch_next(lpn, content) {
                    self.blocks.prefetch(home);
                }
            }
            Map::Inverted(_) => {}
        }
    }

    /// Asks for what those tables point to in turn.
    #[inline]
    pub fn prefetch_last(&self, lpn: u32) {
        if let Map::Content(map) = &self.map {
            map.prefetch_last(lpn);
        }
    }

    /// Asks for the tables of the page that a write to `address` will probably get; returns that page. Where the
    /// allocation follows the address, writes touch planes in the order of the host's addresses, not in turn:
    /// nothing of them is in the cache by itself.
    #[inline]
    pub fn prefetch_place(&self, address: u64) -> Option<Ppn> {
        let plane = self.allocation.foresee(address)?;
        self.blocks.prefetch_next(plane, Stream::host(0))
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
        match self.jobs.op_done(job) {
            Some(Background::Compare(comparison)) => self.compare(comparison),
            Some(Background::Copy(copy)) => self.finish_copy(copy, loads, ops)?,
            Some(Background::Fingerprint(page)) => {
                self.fingerprint_read(page);
                self.dedup_step(ops)?;
            }
            Some(Background::Copied) => {}
            None => self.prefetch_job(job),
        }
        self.settle_tables(ops)
    }

    /// The plane that the allocation proposes, or the next one that has room.
    #[inline]
    pub(crate) fn pick_plane(&mut self, address: u64, loads: &LoadView<'_>) -> Result<u32, FtlError> {
        let proposal = self.allocation.plane(address, loads);
        if self.blocks.has_room(proposal) {
            return Ok(proposal);
        }
        let planes = self.blocks.geometry.planes();
        let next =
            (1..planes).map(|step| (proposal + step) % planes).find(|&plane| self.blocks.has_room(plane));
        self.counters.allocation_fallbacks += u64::from(next.is_some());
        next.ok_or_else(|| self.full(proposal))
    }

    pub(crate) fn full(&self, plane: u32) -> FtlError {
        FtlError::DeviceFull {
            plane,
            valid_pages: self.blocks.valid_pages(plane),
            pages: self.blocks.geometry.pages_per_plane(),
        }
    }

    /// The next page of a stream, after whatever collection it takes to have one.
    #[inline]
    pub(crate) fn take_page(
        &mut self,
        plane: u32,
        stream: Stream,
        owner: u32,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Ppn, FtlError> {
        if !self.blocks.has_open_block(plane, stream) {
            self.make_room(plane, ops)?;
        }
        match self.blocks.program(plane, stream, owner) {
            Some(ppn) => Ok(ppn),
            None => Err(self.full(plane)),
        }
    }

    /// Puts an operation of the controller's own on the list, counted and checked.
    pub(crate) fn order(&mut self, op: FlashOp, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        self.count_order(&op)?;
        ops.push(op);
        Ok(())
    }

    /// Counts and checks an operation that has been put on the list.
    pub(crate) fn count_order(&mut self, op: &FlashOp) -> Result<(), FtlError> {
        match op.kind {
            OpKind::Read => self.counters.reads[op.cause as usize] += 1,
            OpKind::Program => self.counters.programs[op.cause as usize] += 1,
            OpKind::Erase => self.counters.erases += 1,
        }
        if let Some(checker) = &mut self.checker {
            checker.carry_out(op)?;
        }
        Ok(())
    }

    /// Tells the map that a page's data now lies elsewhere.
    pub(crate) fn moved(&mut self, owner: u32, from: Ppn, to: Ppn) -> Result<(), FtlError> {
        let known = match &mut self.map {
            Map::Page(map) => {
                let known = map.set(owner, to) == from;
                if self.spreader.is_some() {
                    let content = map.content(owner);
                    self.resident_moved(owner, content, from, to);
                }
                known
            }
            Map::Content(map) => map.relocate(owner, from, to),
            Map::Inverted(map) => map.relocate(from, to),
        };
        if known {
            return Ok(());
        }
        Err(FtlError::Broken(format!(
            "{} is not a page of its owner {owner}",
            self.blocks.geometry.describe(from)
        )))
    }
}
