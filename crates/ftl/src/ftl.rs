//! The controller: page operations in, decisions out.

use flashtwin_nand::{Geometry, NO_PPN, Ppn};

use crate::allocation::Allocation;
use crate::blocks::{Blocks, Stream, is_page};
use crate::checker::Checker;
use crate::config::{FtlConfig, MappingForm, ReplicationPolicy};
use crate::counters::{Counters, TableSizes};
use crate::dedup::out_of_line::OutOfLine;
use crate::dedup::{FingerprintStore, OutOfLinePolicy, Sampling, TableForm};
use crate::error::FtlError;
use crate::gc::Collector;
use crate::mapping::{ContentMap, History, InvertedMap, NO_VPN, PageMap, Released};
use crate::op::{Cause, FlashOp, LoadView, OpKind, ReadOutcome, ReadTarget, WriteOutcome};
use crate::redirection::Redirection;
use crate::replication::Replicator;

/// One page operation of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Dense number of the logical page.
    pub lpn: u32,
    /// Its page number in the host's address space.
    pub address: u64,
    /// Dense number of the content written; `u32::MAX` for systems that do not look.
    pub content: u32,
}

pub(crate) enum Map {
    Page(PageMap),
    Content(Box<ContentMap>),
    Inverted(Box<InvertedMap>),
}

/// The controller of one device.
pub struct Ftl {
    pub(crate) blocks: Blocks,
    pub(crate) map: Map,
    pub(crate) collector: Collector,
    allocation: Box<dyn Allocation>,
    redirection: Box<dyn Redirection>,
    pub(crate) replicator: Option<Replicator>,
    pub(crate) sampling: Sampling,
    pub(crate) out_of_line: Option<Box<OutOfLine>>,
    pub(crate) counters: Counters,
    pub(crate) checker: Option<Box<Checker>>,
    /// Highest value of a popularity counter: the number of chips less one.
    saturation: u8,
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
            MappingForm::Page => Map::Page(PageMap::new(footprint_pages)),
            MappingForm::Content => Self::content_tables(config, geometry, footprint_pages, contents),
        };
        let dedups_later =
            config.mapping == MappingForm::Content && config.dedup.out_of_line == OutOfLinePolicy::Unhashed;
        let replicates = config.replication.policy == ReplicationPolicy::EndOfPeriod;
        Self {
            blocks: Blocks::new(geometry, config.gc.victim.build(config.gc.choices, geometry, seed)),
            map,
            collector: Collector::new(&config.gc, geometry),
            allocation: config.allocation.build(geometry),
            redirection: config.redirection.policy.build(),
            replicator: replicates
                .then(|| Replicator::new(&config.replication, geometry, footprint_pages, seed)),
            sampling: Sampling::new(config.pages_per_sample()),
            out_of_line: dedups_later.then(Box::default),
            counters: Counters::default(),
            checker: None,
            saturation: geometry.chips().saturating_sub(1).clamp(1, 255) as u8,
            peak: Peak::default(),
        }
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

    /// Logical pages that a device can hold under this controller: one page of the room is
    /// kept for the write that replaces another.
    pub fn capacity_pages(geometry: &Geometry) -> u64 {
        (Blocks::plane_limit(geometry) * u64::from(geometry.planes())).saturating_sub(1)
    }

    /// Keeps the plain truth beside the tables from now on and compares every step with it.
    /// To be called before the first write.
    pub fn verify(&mut self) {
        self.checker = Some(Box::new(Checker::new(&self.blocks.geometry)));
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

    /// Whether the allocation looks at host addresses; otherwise they need not be given.
    pub fn wants_address(&self) -> bool {
        self.allocation.wants_address()
    }

    /// Asks for the tables that an operation some way ahead will look into first. Changes
    /// nothing; a trace-driven simulator knows its future, and waiting for memory is most of
    /// what it does.
    #[inline]
    pub fn prefetch_far(&self, lpn: u32, content: u32) {
        match &self.map {
            Map::Page(map) => map.prefetch(lpn),
            Map::Content(map) => map.prefetch_far(lpn, content),
            Map::Inverted(map) => map.prefetch_far(lpn, content),
        }
    }

    /// Asks for what those tables point to; the operation is nearer now.
    #[inline]
    pub fn prefetch_near(&self, lpn: u32, content: u32) {
        match &self.map {
            Map::Page(map) => self.blocks.prefetch(map.get(lpn)),
            Map::Content(map) => map.prefetch_near(lpn, content),
            Map::Inverted(map) => map.prefetch_near(lpn, content),
        }
    }

    /// Serves a page read. Orders nothing by itself.
    pub fn read(&mut self, lpn: u32, loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        let (new_value, replicated) = match &mut self.map {
            Map::Page(_) => (false, false),
            Map::Content(map) => match map.vpn_of(lpn) {
                NO_VPN => (false, false),
                vpn => (map.count_read(vpn, self.saturation), !map.replica_ppns(vpn).is_empty()),
            },
            Map::Inverted(map) => {
                let content = is_page(map.get(lpn)).then(|| self.blocks.owner(map.get(lpn))).flatten();
                (content.is_some_and(|content| map.history.read(content)), false)
            }
        };
        let Some(target) = self.locate(lpn, loads) else {
            self.counters.unmapped_reads += 1;
            return Ok(ReadOutcome::Unmapped);
        };
        self.counters.reads[Cause::Host as usize] += 1;
        self.counters.redirected_reads += u64::from(target.redirected);
        self.counters.new_value_reads += u64::from(new_value);
        self.counters.replicated_value_reads += u64::from(replicated);
        if let Some(checker) = &self.checker {
            checker.read(lpn, target.ppn)?;
        }
        Ok(ReadOutcome::Flash { target, new_value, replicated })
    }

    /// Where a logical page would be read now.
    #[inline]
    fn locate(&self, lpn: u32, loads: &LoadView<'_>) -> Option<ReadTarget> {
        let (home, replicas): (Ppn, &[Ppn]) = match &self.map {
            Map::Page(map) => (map.get(lpn), &[]),
            Map::Content(map) => match map.vpn_of(lpn) {
                NO_VPN => (NO_PPN, &[]),
                vpn => (map.home(vpn), map.replica_ppns(vpn)),
            },
            Map::Inverted(map) => (map.get(lpn), &[]),
        };
        is_page(home).then(|| self.redirection.choose(home, replicas, loads, &self.blocks.geometry))
    }

    /// Serves a page write; what garbage collection does about it is appended to `ops`.
    ///
    /// # Errors
    /// [`FtlError::DeviceFull`] when no block can be reclaimed; [`FtlError::Broken`] when
    /// verification is on and finds the tables wrong.
    #[inline]
    pub fn write(
        &mut self,
        page: Host,
        partial: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        self.counters.host_pages_written += 1;
        let read_first = if partial { self.locate(page.lpn, loads) } else { None };
        self.counters.reads[Cause::ReadModifyWrite as usize] += u64::from(read_first.is_some());
        let (program, hashed) = match &self.map {
            Map::Page(_) => (self.write_page(page, loads, ops)?, false),
            Map::Content(_) | Map::Inverted(_) => self.write_content(page, loads, ops)?,
        };
        Ok(WriteOutcome { program, read_first, hashed })
    }

    fn write_page(
        &mut self,
        page: Host,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<(Ppn, Cause)>, FtlError> {
        let plane = self.pick_plane(page.address, loads)?;
        let ppn = self.take_page(plane, Stream::Host, page.lpn, ops)?;
        if let Some(checker) = &mut self.checker {
            let version = checker.next_version();
            checker.write(page.lpn, version);
            checker.program(ppn, version)?;
        }
        let Map::Page(map) = &mut self.map else {
            return Err(FtlError::Broken("a page write on a content map".into()));
        };
        let old = map.set(page.lpn, ppn);
        if is_page(old) {
            self.blocks.invalidate(old);
        }
        self.counters.programs[Cause::Host as usize] += 1;
        self.note_peak();
        self.collect_behind(plane, ops)?;
        Ok(Some((ppn, Cause::Host)))
    }

    /// Forgets a logical page.
    pub fn trim(&mut self, lpn: u32) {
        if let Some(checker) = &mut self.checker {
            checker.trim(lpn);
        }
        match &mut self.map {
            Map::Page(map) => {
                let old = map.set(lpn, NO_PPN);
                if is_page(old) {
                    self.blocks.invalidate(old);
                }
            }
            Map::Content(map) => {
                let released = map.point(lpn, NO_VPN);
                self.invalidate_all(released);
            }
            Map::Inverted(map) => {
                let dead = map.point(lpn, NO_PPN);
                self.invalidate_dead(dead);
            }
        }
    }

    pub(crate) fn invalidate_all(&mut self, released: Option<Released>) {
        if let Some(Released { home, replicas }) = released {
            self.blocks.invalidate(home);
            for ppn in replicas {
                self.blocks.invalidate(ppn);
            }
        }
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
        match op.kind {
            OpKind::Read => self.counters.reads[op.cause as usize] += 1,
            OpKind::Program => self.counters.programs[op.cause as usize] += 1,
            OpKind::Erase => self.counters.erases += 1,
        }
        if let Some(checker) = &mut self.checker {
            checker.carry_out(&op)?;
        }
        ops.push(op);
        Ok(())
    }

    /// Writes a logical page's content to another place, as ageing does: the mapping form
    /// and its contents stay as they are. A page that is not mapped is left alone.
    pub fn rewrite(
        &mut self,
        lpn: u32,
        address: u64,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<Ppn>, FtlError> {
        let Some(target) = self.locate(lpn, loads) else { return Ok(None) };
        let owner = match &self.map {
            Map::Page(_) => lpn,
            Map::Content(map) => map.vpn_of(lpn),
            Map::Inverted(_) => self.blocks.owner(target.ppn).unwrap_or(NO_VPN),
        };
        let plane = self.pick_plane(address, loads)?;
        let to = self.take_page(plane, Stream::Host, owner, ops)?;
        // Making room may have moved the page: ask again.
        let from = self.locate(lpn, loads).map_or(target.ppn, |now| now.ppn);
        if let Some(checker) = &mut self.checker {
            checker.copy(from, to)?;
        }
        self.moved(owner, from, to)?;
        self.blocks.invalidate(from);
        self.counters.host_pages_written += 1;
        self.counters.programs[Cause::Host as usize] += 1;
        self.collect_behind(plane, ops)?;
        Ok(Some(to))
    }

    /// Tells the map that a page's data now lies elsewhere.
    pub(crate) fn moved(&mut self, owner: u32, from: Ppn, to: Ppn) -> Result<(), FtlError> {
        let known = match &mut self.map {
            Map::Page(map) => map.set(owner, to) == from,
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

    /// Ends preloading: everything counted so far, wear included, is forgotten.
    pub fn end_preload(&mut self) {
        self.counters = Counters::default();
        self.peak = Peak::default();
        self.note_peak();
        self.collector.victim_pages.fill(0);
        self.blocks.reset_wear();
        if let Map::Content(map) = &mut self.map {
            map.reset_popularity();
        }
    }

    /// Entries in each table.
    pub fn table_sizes(&self) -> TableSizes {
        let blocks = self.blocks.bytes_in_use();
        match &self.map {
            Map::Page(map) => TableSizes {
                mapped_lpns: map.mapped(),
                page_table_bytes: blocks + map.bytes(),
                ..TableSizes::default()
            },
            Map::Content(map) => TableSizes {
                mapped_lpns: map.mapped(),
                vpns: map.live_vpns(),
                fingerprints: map.fingerprints.entries(),
                replicas: map.replicas.pages(),
                replicated_contents: map.replicas.len(),
                page_table_bytes: blocks + map.page_bytes(),
                content_table_bytes: map.content_bytes() + self.out_of_line.as_ref().map_or(0, |o| o.bytes()),
            },
            Map::Inverted(map) => TableSizes {
                mapped_lpns: map.mapped(),
                vpns: map.live(),
                fingerprints: map.hashes.entries(),
                page_table_bytes: blocks + map.page_bytes(self.blocks.pages_opened()),
                content_table_bytes: map.content_bytes(),
                ..TableSizes::default()
            },
        }
    }

    /// Contents on flash by number of physical copies: index = copies (0 unused).
    pub fn copies(&self) -> Vec<u64> {
        let mut contents = Vec::new();
        if let Map::Inverted(map) = &self.map {
            contents = if map.live() > 0 { vec![0, map.live()] } else { contents };
        }
        if let Map::Content(map) = &self.map {
            for vpn in (0..map.vpn_slots()).filter(|&vpn| map.is_live(vpn)) {
                let copies = 1 + map.replica_ppns(vpn).len();
                if contents.len() <= copies {
                    contents.resize(copies + 1, 0);
                }
                contents[copies] += 1;
            }
        }
        contents
    }

    /// Replicas per chip.
    pub fn chip_replica_pages(&self) -> Vec<u64> {
        let mut pages = vec![0; self.blocks.geometry.chips() as usize];
        if let Map::Content(map) = &self.map {
            for (vpn, _) in map.replicas.live() {
                for &ppn in map.replica_ppns(vpn) {
                    pages[self.blocks.chip_of_page(ppn) as usize] += 1;
                }
            }
        }
        pages
    }
}
