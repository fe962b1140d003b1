//! One trace on one system: preload, replay, periods, results.

use flashtwin_ftl::{
    Counters, FlashOp, Ftl, FtlError, Host, LoadView, NO_JOB, OpKind, PartitionPolicy, PlaneContents,
    ReadTarget, ReplicationPolicy, Rng,
};
use flashtwin_nand::{FlashArray, Ppn};
use flashtwin_trace::{NO_CONTENT, PageTrace};

use crate::config::{PartialWrite, Preload};
use crate::engine::{Controller, Engine, EngineCounts, Workload};
use crate::error::{ConfigError, SimError};
use crate::metrics::Metrics;
use crate::metrics::PeriodResponse;
use crate::replication_time::{PhaseTime, phase_time};
use crate::resolve::Resolved;
use crate::result::RunResult;
use crate::temperature::offline_partitions;

/// Is told how far a run is, and may stop it.
pub trait Progress: Sync {
    /// `done` of `total` requests have arrived.
    fn update(&self, done: u64, total: u64);
    /// Whether the run should stop.
    fn cancelled(&self) -> bool;
}

/// Nobody listens.
impl Progress for () {
    fn update(&self, _done: u64, _total: u64) {}
    fn cancelled(&self) -> bool {
        false
    }
}

impl Controller for Ftl {
    #[inline]
    fn read(
        &mut self,
        lpn: u32,
        loads: &LoadView<'_>,
    ) -> Result<flashtwin_ftl::ReadOutcome, flashtwin_ftl::FtlError> {
        Ftl::read(self, lpn, loads)
    }
    fn locate_among(
        &self,
        lpn: u32,
        loads: &LoadView<'_>,
        there: &dyn Fn(Ppn) -> bool,
    ) -> Result<Option<(ReadTarget, u64)>, flashtwin_ftl::FtlError> {
        Ftl::locate_among(self, lpn, loads, there)
    }
    #[inline]
    fn arrived(&mut self, lpn: u32) {
        Ftl::arrived(self, lpn);
    }
    fn prepare_write(
        &mut self,
        lpn: u32,
        partial: bool,
        loads: &LoadView<'_>,
    ) -> Result<Option<ReadTarget>, flashtwin_ftl::FtlError> {
        Ftl::prepare_write(self, lpn, partial, loads)
    }
    fn was_read_in_ram(&mut self, lpn: u32) {
        Ftl::was_read_in_ram(self, lpn);
    }
    #[inline]
    fn write(
        &mut self,
        page: Host,
        fingerprinted: bool,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<flashtwin_ftl::WriteOutcome, flashtwin_ftl::FtlError> {
        Ftl::write(self, page, fingerprinted, loads, ops)
    }
    fn trim(&mut self, lpn: u32) {
        Ftl::trim(self, lpn);
    }
    fn wants_address(&self) -> bool {
        Ftl::wants_address(self)
    }
    fn wants_kind(&self) -> bool {
        Ftl::wants_kind(self)
    }
    #[inline]
    fn prefetch_far(&self, lpn: u32, content: u32, write: bool) {
        Ftl::prefetch_far(self, lpn, content, write);
    }
    #[inline]
    fn prefetch_near(&self, lpn: u32, content: u32, write: bool) {
        Ftl::prefetch_near(self, lpn, content, write);
    }
    #[inline]
    fn prefetch_next(&self, lpn: u32, content: u32) {
        Ftl::prefetch_next(self, lpn, content);
    }
    fn sampling_pages(&self) -> u32 {
        Ftl::sampling_pages(self)
    }
    fn end_period(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::end_period(self, ops)
    }
    #[inline]
    fn begin_jobs(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::begin_jobs(self, ops)
    }
    #[inline]
    fn take_lookups(&mut self, lookups: &mut Vec<flashtwin_ftl::Lookup>) {
        Ftl::take_lookups(self, lookups);
    }
    fn pages_tables(&self) -> bool {
        Ftl::pages_tables(self)
    }
    fn checkpoint(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::checkpoint(self, ops)
    }
    fn job_done(
        &mut self,
        job: u32,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), flashtwin_ftl::FtlError> {
        Ftl::job_done(self, job, loads, ops)
    }
}

/// What happened in one period; counts are of that period alone.
/// `Copy`, so that nobody makes it hold more than numbers: a year has many seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeriodRow {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) reads: PeriodResponse,
    pub(crate) writes: PeriodResponse,
    pub(crate) engine: EngineCounts,
    pub(crate) ftl: Counters,
    pub(crate) phase: PhaseTime,
    pub(crate) replica_pages: u64,
    pub(crate) pages_in_use: u64,
}

/// Everything a run leaves behind for the results.
pub(crate) struct Finished<'a> {
    pub(crate) trace: &'a PageTrace,
    pub(crate) resolved: &'a Resolved,
    pub(crate) engine: Engine<Ftl, Metrics>,
    pub(crate) periods: Vec<PeriodRow>,
    pub(crate) replication_passes: u64,
    /// What lies on each plane at the end; `None` where contents are not known.
    pub(crate) plane_contents: Option<Vec<PlaneContents>>,
    /// The hash unit's queue: length x nanoseconds, and the longest.
    pub(crate) hash_queue: (f64, u32),
}

/// Replays a trace on a system.
///
/// # Errors
/// [`SimError`] when the configuration does not fit the trace, the device fills up, or
/// `progress` asks to stop. Every request of the trace is completed and counted otherwise.
pub fn run(trace: &PageTrace, resolved: &Resolved, progress: &dyn Progress) -> Result<RunResult, SimError> {
    check_fit(trace, resolved)?;
    let mut replay = Replay::new(trace, resolved)?;
    replay.serve_all(progress)?;
    replay.finish()
}

fn check_fit(trace: &PageTrace, resolved: &Resolved) -> Result<(), SimError> {
    let config = &resolved.config;
    let geometry = &resolved.device.geometry;
    if trace.page_bytes != config.nand.page_bytes {
        return Err(ConfigError(format!(
            "the trace was cut into pages of {} bytes, nand.page_bytes is {}",
            trace.page_bytes, config.nand.page_bytes
        ))
        .into());
    }
    if config.ftl.looks_at_contents() && trace.content_count == 0 && trace.page_ops() > 0 {
        return Err(ConfigError(format!(
            "{}: the trace has no contents, which system '{}' needs: use replay.content = \"unique\" \
             (every write brings a content of its own) or a system that does not look at contents, such as conventional",
            trace.name, config.name
        ))
        .into());
    }
    check_room(trace, resolved, Ftl::capacity_pages(&config.ftl, geometry))
}

fn check_room(trace: &PageTrace, resolved: &Resolved, capacity: u64) -> Result<(), SimError> {
    let config = &resolved.config;
    let geometry = &resolved.device.geometry;
    let footprint = u64::from(trace.footprint_pages());
    if footprint <= capacity {
        return Ok(());
    }
    let gib = |pages: u64| pages as f64 * f64::from(config.nand.page_bytes) / (1u64 << 30) as f64;
    let per_plane = footprint.div_ceil(u64::from(geometry.planes()) * u64::from(geometry.pages_per_block));
    Err(ConfigError(format!(
        "the device is smaller than the footprint: {} touches {footprint} pages ({:.2} GiB), '{}' holds {capacity} \
         ({:.2} GiB without its reserve): set nand.blocks_per_plane to {} or more, or take a larger device",
        trace.name,
        gib(footprint),
        config.device,
        gib(capacity),
        per_plane + u64::from(config.ftl.reserved_blocks(geometry)) + per_plane / 14
    ))
    .into())
}

struct Replay<'a> {
    trace: &'a PageTrace,
    resolved: &'a Resolved,
    engine: Engine<Ftl, Metrics>,
    period_ns: i64,
    periods: Vec<PeriodRow>,
    /// Counts when the period under way began.
    engine_before: EngineCounts,
    ftl_before: Counters,
}

impl<'a> Replay<'a> {
    fn new(trace: &'a PageTrace, resolved: &'a Resolved) -> Result<Self, SimError> {
        let config = &resolved.config;
        let geometry = &resolved.device.geometry;
        // Pages whose content before the trace nobody knows are given one of their own.
        let nameless = if config.replay.preload == Preload::Footprint { trace.footprint_pages() } else { 0 };
        let contents = trace.content_count.saturating_add(nameless);
        let mut ftl = Ftl::new(&config.ftl, geometry, trace.footprint_pages(), contents, config.seed);
        if config.ftl.partition.policy == PartitionPolicy::Offline {
            ftl.assign_partitions(offline_partitions(trace, config.ftl.partitions()));
        }
        // Where addresses have gaps, tables on flash take more room than those of a full device.
        check_room(trace, resolved, ftl.lay_out_tables(&config.ftl, &trace.lpn_address))?;
        if config.verify {
            ftl.verify();
        }
        let mut flash = FlashArray::new(geometry);
        preload(&mut ftl, &mut flash, trace, resolved)?;
        // Spreading hashes pages while they wait in RAM, which costs the write nothing.
        let hashes = config.ftl.mapping == flashtwin_ftl::MappingForm::Content;
        let metrics = Metrics::new(geometry.chips());
        let mut engine = Engine::new(ftl, metrics, &resolved.device, &config.engine, flash, hashes);
        let checkpoint_s = config.ftl.mapping_cache.checkpoint_s;
        if checkpoint_s > 0.0 {
            engine.checkpoint_every((checkpoint_s * 1e9) as u64);
        }
        Ok(Self {
            trace,
            resolved,
            engine,
            period_ns: ((config.replay.period_s * 1e9) as i64).max(1),
            periods: Vec::new(),
            engine_before: EngineCounts::default(),
            ftl_before: Counters::default(),
        })
    }

    fn serve_all(&mut self, progress: &dyn Progress) -> Result<(), SimError> {
        let replay = &self.resolved.config.replay;
        let workload = Workload {
            trace: self.trace,
            queue_depth: replay.queue_depth,
            speed: replay.speed,
            read_modify_write: replay.partial_write == PartialWrite::ReadModifyWrite,
        };
        let total = self.trace.requests();
        let mut boundary = self.period_ns;
        for index in 0..total {
            if index & 0x3fff == 0 {
                progress.update(index as u64, total as u64);
                if progress.cancelled() {
                    return Err(SimError::Interrupted);
                }
            }
            while self.trace.time_ns[index] >= boundary {
                if replay.queue_depth == 0 {
                    self.engine.advance(workload.simulated_ns(boundary));
                }
                self.end_period(boundary, true)?;
                boundary = boundary.saturating_add(self.period_ns);
            }
            self.engine.serve(&workload, index)?;
        }
        self.engine.drain()?;
        let completed: u64 = self.engine.counts.requests.iter().sum();
        if completed != total as u64 {
            let text = format!("{} of {total} requests were never completed", total as u64 - completed);
            return Err(FtlError::Broken(text).into());
        }
        let last = self.trace.time_ns.last().map_or(0, |time_ns| time_ns + 1);
        self.end_period(last, false)?;
        progress.update(total as u64, total as u64);
        Ok(())
    }

    /// Cuts a row; between periods the controller also replicates.
    fn end_period(&mut self, end_ns: i64, replicate: bool) -> Result<(), SimError> {
        let device = &self.resolved.device;
        let mut phase = PhaseTime::default();
        if replicate {
            self.engine.end_period(|ops| phase = phase_time(ops, device))?;
        }
        let (engine, ftl) = (self.engine.counts, *self.engine.controller.counters());
        let row = PeriodRow {
            start_ns: self.periods.last().map_or(0, |row| row.end_ns),
            end_ns,
            reads: self.engine.observer.reads.end_period(),
            writes: self.engine.observer.writes.end_period(),
            engine: engine.since(&self.engine_before),
            ftl: ftl.since(&self.ftl_before),
            phase,
            replica_pages: self.engine.controller.replica_pages(),
            pages_in_use: self.engine.controller.pages_in_use(),
        };
        self.periods.push(row);
        (self.engine_before, self.ftl_before) = (engine, ftl);
        if self.resolved.config.verify {
            self.engine.controller.audit()?;
        }
        Ok(())
    }

    fn finish(self) -> Result<RunResult, SimError> {
        let passes = self.periods.len() as u64 - 1;
        // On-line copies and priority-LRU know no passes.
        let replicates = self.resolved.config.ftl.replication.policy == ReplicationPolicy::EndOfPeriod;
        let finished = Finished {
            trace: self.trace,
            resolved: self.resolved,
            plane_contents: self.engine.controller.plane_contents(),
            engine: self.engine,
            periods: self.periods,
            replication_passes: if replicates { passes } else { 0 },
            hash_queue: (0.0, 0),
        };
        crate::result::collect(finished)
    }
}

/// Writes what existed before the trace. Costs no time and is not in the counts.
fn preload(
    ftl: &mut Ftl,
    flash: &mut FlashArray,
    trace: &PageTrace,
    resolved: &Resolved,
) -> Result<(), SimError> {
    let config = &resolved.config;
    let wanted = |lpn: u32| match config.replay.preload {
        Preload::FirstReads => trace.existed_before(lpn),
        Preload::Footprint => true,
        Preload::None => false,
    };
    let mut loader = Loader::new(ftl, flash, resolved);
    let mut nameless = trace.content_count;
    for lpn in (0..trace.footprint_pages()).filter(|&lpn| wanted(lpn)) {
        let known = trace.initial_content.get(lpn as usize).copied().unwrap_or(NO_CONTENT);
        let content = match known {
            NO_CONTENT => {
                nameless += 1;
                nameless - 1
            }
            known => known,
        };
        loader.write(Host { lpn, address: trace.lpn_address[lpn as usize], content })?;
    }
    if config.replay.preload == Preload::Footprint {
        loader.age(trace, config.seed)?;
    }
    loader.ftl.end_preload();
    Ok(())
}

/// Drives the controller without a clock and carries its operations out at once.
struct Loader<'a> {
    ftl: &'a mut Ftl,
    flash: &'a mut FlashArray,
    resolved: &'a Resolved,
    chip: Vec<u32>,
    ops: Vec<FlashOp>,
}

impl<'a> Loader<'a> {
    fn new(ftl: &'a mut Ftl, flash: &'a mut FlashArray, resolved: &'a Resolved) -> Self {
        let chips = resolved.device.geometry.chips() as usize;
        Self { ftl, flash, resolved, chip: vec![0; chips], ops: Vec::new() }
    }

    fn write(&mut self, page: Host) -> Result<(), SimError> {
        let loads = LoadView::new(&self.chip, &self.chip);
        let outcome = self.ftl.write(page, true, &loads, &mut self.ops)?;
        self.carry_out(outcome.program.map(|(ppn, _)| ppn))
    }

    fn carry_out(&mut self, host: Option<u32>) -> Result<(), SimError> {
        let geometry = &self.resolved.device.geometry;
        // The host's page takes its place in the order as soon as its block can take it:
        // before what its write made collection do, after what made room for it.
        let mut host = host;
        let mut place_host = |flash: &mut FlashArray| match host {
            Some(ppn) if flash.is_next(geometry, ppn) => {
                host = None;
                flash.program(geometry, ppn)
            }
            _ => Ok(()),
        };
        let mut at = 0;
        while let Some(&op) = self.ops.get(at) {
            at += 1;
            place_host(self.flash)?;
            match op.kind {
                OpKind::Read => {}
                OpKind::Program => self.flash.program(geometry, op.ppn)?,
                OpKind::Erase => self.flash.erase(geometry.block_index(op.ppn)),
            }
            if op.job != NO_JOB {
                let loads = LoadView::new(&self.chip, &self.chip);
                self.ftl.job_done(op.job, &loads, &mut self.ops)?;
            }
        }
        self.ops.clear();
        place_host(self.flash)?;
        Ok(())
    }

    /// Overwrites pages in random order until write amplification has settled: two windows
    /// in a row within 1 % of each other, each as long as the device has pages.
    fn age(&mut self, trace: &PageTrace, seed: u64) -> Result<(), SimError> {
        let mut rng = Rng::stream(seed, "ageing");
        let window = self.resolved.device.geometry.pages();
        let mut before: Option<f64> = None;
        for _ in 0..20 {
            let counted = *self.ftl.counters();
            for _ in 0..window {
                let lpn = rng.below(trace.footprint_pages());
                let loads = LoadView::new(&self.chip, &self.chip);
                let ppn = self.ftl.rewrite(lpn, trace.lpn_address[lpn as usize], &loads, &mut self.ops)?;
                self.carry_out(ppn)?;
            }
            let now = self.ftl.counters().since(&counted).write_amplification();
            let settled = matches!((before, now), (Some(a), Some(b)) if (a / b - 1.0).abs() < 0.01);
            if settled {
                break;
            }
            before = now;
        }
        Ok(())
    }
}
