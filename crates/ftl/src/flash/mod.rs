//! The flash as every mapping scheme handles it: programs, collection, wear, counters and checks. This module knows no
//! map. When collection moves a page, it tells the page's owner through [`Owners`].

pub mod allocation;
pub(crate) mod block_table;
pub(crate) mod blocks;
pub(crate) mod checker;
mod collection;
pub(crate) mod counters;
pub mod idle;
mod image;
pub mod partition;
mod program_units;
mod retirement;
pub mod victim;
pub mod wear;

use flashtwin_nand::{Geometry, Plane, Ppn};

use crate::error::{FtlError, FtlResult};
use crate::foreign::Foreign;
use crate::ids::{Lpn, Owner};
use crate::loads::LoadView;
use crate::op::{FlashOp, OpKind, ReadTarget};
use crate::redirection::{Redirection, RedirectionConfig};
use allocation::{Allocation, AllocationConfig};
use blocks::{Blocks, Stream};
use checker::Checker;
use collection::Collector;
pub use collection::GcConfig;
pub(crate) use collection::{Moved, Owners};
use counters::{Counters, Peak};
use idle::Reserve;
use partition::{PartitionConfig, Partitions};
use wear::WearConfig;

pub(crate) struct FlashKeys<'a> {
    pub(crate) allocation: &'a AllocationConfig,
    pub(crate) gc: &'a GcConfig,
    pub(crate) partition: &'a PartitionConfig,
    pub(crate) redirection: &'a RedirectionConfig,
    pub(crate) wear: &'a WearConfig,
    pub(crate) foreign: &'a Foreign,
}

#[derive(Clone)]
pub(crate) struct Flash {
    pub(crate) blocks: Blocks,
    collector: Collector,
    idle: Option<Reserve>,
    allocation: Box<dyn Allocation>,
    redirection: Box<dyn Redirection>,
    /// By partition: where the host's last page was proposed to go, if pages stay on a plane until their unit is full.
    filling: Vec<Plane>,
    pub(crate) partitions: Partitions,
    pub(crate) counters: Counters,
    pub(crate) checker: Option<Box<Checker>>,
    pub(crate) peak: Peak,
}

impl Flash {
    pub(crate) fn new(keys: &FlashKeys<'_>, geometry: &Geometry, footprint_pages: u32, seed: u64) -> Self {
        let victims = keys.gc.victim.build(keys.gc.choices, geometry, seed, keys.foreign);
        let allocation = keys.allocation.build(geometry, keys.foreign);
        // A policy that looks at addresses insists on its plane: units fill up over time.
        let stays = geometry.program_pages > 1 && !allocation.wants_address();
        Self {
            filling: vec![Plane::new(0); if stays { keys.partition.count() as usize } else { 0 }],
            blocks: Blocks::new(geometry, keys.partition, keys.wear, victims),
            collector: Collector::new(keys.gc, keys.partition, geometry),
            idle: keys.gc.idle.build(keys.gc.idle_reserve, keys.gc.idle_valid, geometry),
            allocation,
            redirection: keys.redirection.build(seed, keys.foreign),
            partitions: Partitions::new(keys.partition, footprint_pages, keys.foreign),
            counters: Counters::default(),
            checker: None,
            peak: Peak::default(),
        }
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.blocks.geometry
    }

    pub(crate) fn verify(&mut self) {
        self.checker = Some(Box::new(Checker::new(
            &self.blocks.geometry,
            self.blocks.partitions(),
            self.collector.shares(),
        )));
    }

    pub(crate) fn capacity_pages(&self) -> u64 {
        capacity_pages(self.blocks.plane_limit(), self.geometry())
    }

    pub(crate) fn victim_pages(&self) -> &[u64] {
        &self.collector.victim_pages
    }

    #[inline]
    pub(crate) fn note_peak(&mut self, pages_in_use: u64, replica_pages: u64) {
        self.peak.pages_in_use = self.peak.pages_in_use.max(pages_in_use);
        self.peak.replica_pages = self.peak.replica_pages.max(replica_pages);
    }

    pub(crate) fn end_preload(&mut self) {
        self.counters = Counters::default();
        self.peak = Peak::default();
        self.collector.victim_pages.fill(0);
        self.partitions.forget();
        self.blocks.reset_wear();
    }

    pub(crate) fn wants_address(&self) -> bool {
        self.allocation.wants_address()
    }

    #[inline]
    pub(crate) fn prefetch_place(&self, address: u64) -> Option<Ppn> {
        let plane = self.allocation.foresee(address)?;
        self.blocks.prefetch_next(plane, Stream::host(0))
    }

    #[inline]
    pub(crate) fn serve(&self, home: Ppn, replicas: &[Ppn], loads: &LoadView<'_>) -> ReadTarget {
        self.redirection.choose(home, replicas, loads, self.geometry())
    }

    /// Like [`Flash::serve`], but only among pages for which `there` returns true. `None` if redirection may use none.
    pub(crate) fn serve_among(
        &self,
        home: Ppn,
        replicas: &[Ppn],
        loads: &LoadView<'_>,
        there: &dyn Fn(Ppn) -> bool,
    ) -> Option<ReadTarget> {
        let replicas: Vec<Ppn> = replicas.iter().copied().filter(|&ppn| there(ppn)).collect();
        let target = match replicas.split_first() {
            Some((&first, others)) if !there(home) && self.redirection.reads_replicas() => {
                ReadTarget { redirected: true, ..self.serve(first, others, loads) }
            }
            _ => self.serve(home, &replicas, loads),
        };
        Some(target).filter(|target| there(target.ppn))
    }

    #[inline]
    pub(crate) fn host_stream(&mut self, lpn: Lpn) -> Stream {
        Stream::host(self.partitions.written(lpn, &mut self.counters.pages.writes_without_handle))
    }

    /// The plane that the allocation proposes for a page of a stream of the host's, or the next one that has room.
    #[inline]
    pub(crate) fn pick_plane(
        &mut self,
        stream: Stream,
        address: u64,
        loads: &LoadView<'_>,
    ) -> FtlResult<Plane> {
        if !self.filling.is_empty() {
            return self.fill_unit(stream, address, loads);
        }
        self.propose_plane(address, loads)
    }

    #[inline]
    fn propose_plane(&mut self, address: u64, loads: &LoadView<'_>) -> FtlResult<Plane> {
        let proposal = self.allocation.plane(address, loads);
        if self.blocks.has_room(proposal) { Ok(proposal) } else { self.next_plane(proposal) }
    }

    #[cold]
    fn next_plane(&mut self, proposal: Plane) -> FtlResult<Plane> {
        let planes = self.geometry().planes();
        let next = (1..planes)
            .map(|step| Plane::new((proposal.number() + step) % planes))
            .find(|&plane| self.blocks.has_room(plane));
        self.counters.pages.allocation_fallbacks += u64::from(next.is_some());
        next.ok_or_else(|| self.full(proposal))
    }

    #[cold]
    pub(crate) fn full(&self, plane: Plane) -> FtlError {
        let (valid_pages, pages) = (self.blocks.valid_pages(plane), self.geometry().pages_per_plane());
        match self.blocks.has_room(plane) {
            true => FtlError::Stuck { plane, valid_pages, pages },
            false => FtlError::DeviceFull { plane, valid_pages, pages },
        }
    }

    #[cold]
    pub(crate) fn strayed(&self, owner: Owner, ppn: Ppn) -> FtlError {
        FtlError::Broken(format!("{} is not a page of its owner {owner}", self.geometry().describe(ppn)))
    }

    #[inline]
    pub(crate) fn take_page(
        &mut self,
        plane: Plane,
        stream: Stream,
        owner: Owner,
        owners: &mut impl Owners,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult<Ppn> {
        if !self.blocks.has_open_block(plane, stream) {
            self.make_room(plane, owners, ops)?;
        }
        match self.blocks.program(plane, stream, owner) {
            Some(ppn) => Ok(ppn),
            None => Err(self.full(plane)),
        }
    }

    #[inline]
    pub(crate) fn check_program(&mut self, ppn: Ppn, stream: Stream, value: u64) -> FtlResult {
        match &mut self.checker {
            Some(checker) => checker.program(ppn, stream.partition(self.blocks.partitions()), value),
            None => Ok(()),
        }
    }

    pub(crate) fn order(&mut self, op: FlashOp, ops: &mut Vec<FlashOp>) -> FtlResult {
        self.count_order(&op)?;
        ops.push(op);
        Ok(())
    }

    pub(crate) fn count_order(&mut self, op: &FlashOp) -> FtlResult {
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

    pub(crate) fn audit_partitions(&self) -> Result<(), String> {
        let Some(checker) = &self.checker else { return Ok(()) };
        for (block, held) in checker.partitions() {
            let partition = self.blocks.table.partition(block);
            if partition != held {
                let place = self.geometry().describe(self.geometry().page_of_block(block, 0));
                return Err(format!("{place} is of partition {partition}, its pages are of {held}"));
            }
        }
        Ok(())
    }
}

pub(crate) fn capacity_pages(plane_limit: u64, geometry: &Geometry) -> u64 {
    (plane_limit * u64::from(geometry.planes())).saturating_sub(1)
}

// The checker's truth is that of one run and is not saved; a state under verification is not saved either.
flashtwin_bits::state!(Flash { blocks, collector, allocation, redirection, filling, partitions, counters, peak } kept { checker, idle });
