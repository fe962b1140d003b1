//! One trace on one system: preload, replay, periods, results.

use flashtwin_bits::memory_limits;
use flashtwin_ftl::{Content, Ftl, FtlError};
use flashtwin_nand::FlashArray;
use flashtwin_trace::{Op, Outline, PageSource, Progress, Window};

use crate::aged::{self, AgedDrives};
use crate::config::{Config, PartialWrite, Preload, ReplayConfig};
use crate::engine::{Arrivals, Engine, simulated_ns};
use crate::error::{ConfigError, SimError, stop_if_asked};
use crate::handles::told_partitions;
use crate::memory;
use crate::metrics::{ByVolume, Metrics, Receivers};
use crate::mirror::Mirror;
use crate::periods::{Periods, finish};
use crate::preload::preload;
use crate::requests::{RequestLog, RequestsTo};
use crate::resolve::Resolved;
use crate::result::RunResult;
use crate::timeline::{Timeline, TimelineTo};
use crate::totals::Totals;

/// Replays a trace, in memory or streamed, on a system. Progress is in requests that have arrived.
///
/// # Errors
/// [`SimError`] when the configuration does not fit the trace, the device fills up, a streamed trace cannot be
/// read again, or `progress` asks to stop. Every request of the trace is completed and counted otherwise.
pub fn run(
    trace: &dyn PageSource,
    resolved: &Resolved,
    progress: &dyn Progress,
) -> Result<RunResult, SimError> {
    run_following(trace, resolved, progress, &Recording::default(), None)
}

/// Records of single events, beside the results.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// Whether to write the table `requests`.
    pub requests: RequestsTo,
    /// Times of channels, flash units and requests.
    pub timeline: Option<TimelineTo>,
}

impl Recording {
    fn receivers(&self, trace: &Outline, resolved: &Resolved) -> Result<Receivers, SimError> {
        let Resolved { config, device, .. } = resolved;
        let wants_log = self.requests != RequestsTo::Nowhere;
        let log = wants_log.then(|| RequestLog::new(&config.name, &self.requests)).transpose()?;
        let timeline = self.timeline.as_ref().map(|to| Timeline::new(to, config, &device.geometry));
        Ok(Receivers::new(log, ByVolume::of(trace), timeline.transpose()?))
    }
}

/// Like [`run`], with a recording; an aged drive may be one of `drives`.
///
/// # Errors
/// Those of [`run`]; [`SimError::Write`] where the recording cannot be written, [`SimError::Config`] where the run has no
/// such part.
pub fn run_following(
    trace: &dyn PageSource,
    resolved: &Resolved,
    progress: &dyn Progress,
    recording: &Recording,
    drives: Option<&AgedDrives>,
) -> Result<RunResult, SimError> {
    check_fit(trace.outline(), resolved)?;
    let receivers = recording.receivers(trace.outline(), resolved)?;
    let mut replay = Replay::new(trace, resolved, Some(trace.outline().requests), progress, drives)?;
    replay.tell(receivers);
    replay.serve_all(trace, progress)?;
    replay.finish(trace.outline())
}

fn check_fit(trace: &Outline, resolved: &Resolved) -> Result<(), SimError> {
    let config = &resolved.config;
    let geometry = &resolved.device.geometry;
    if trace.page_bytes != config.nand.page_bytes {
        return Err(ConfigError(format!(
            "the trace was cut into pages of {} bytes, nand.page_bytes is {}",
            trace.page_bytes, config.nand.page_bytes
        ))
        .into());
    }
    if config.ftl.looks_at_contents() && trace.content_count == 0 && trace.page_ops > 0 {
        return Err(ConfigError(format!(
            "{}: the trace has no contents, which system '{}' needs: use replay.content = \"unique\" \
             (every write brings a content of its own) or a system that does not look at contents, such as conventional",
            trace.name, config.name
        ))
        .into());
    }
    check_times(&trace.name, trace.duration_ns.max(0), resolved)?;
    check_warm_up(&trace.name, trace.duration_ns.max(0), resolved)?;
    check_room(trace, resolved, Ftl::capacity_pages(&config.ftl, geometry))
}

/// Each has its figures, and its end costs a pass over all contents.
pub(crate) const MOST_PERIODS: u64 = 200_000;

/// 36 years, so that sums of times cannot overflow.
pub(crate) const LONGEST_NS: f64 = (1u64 << 60) as f64;

pub(crate) fn check_times(name: &str, last_ns: i64, resolved: &Resolved) -> Result<(), ConfigError> {
    let replay = &resolved.config.replay;
    let seconds = last_ns as f64 / 1e9;
    let simulated_ns = last_ns as f64 / replay.speed;
    if replay.queue_depth == 0 && simulated_ns > LONGEST_NS {
        return Err(ConfigError(format!(
            "{name} lasts {seconds:.1} s; at replay.speed = {} that is {:.0} years of simulated time, more than 36: \
             set replay.speed to {:.1e} or more",
            replay.speed,
            simulated_ns / 1e9 / 86_400.0 / 365.25,
            last_ns as f64 / LONGEST_NS * 1.01,
        )));
    }
    let period_ns = period_ns(replay.period_s);
    let periods = last_ns as u64 / period_ns as u64;
    if periods > MOST_PERIODS {
        return Err(ConfigError(format!(
            "{name} lasts {seconds:.1} s; in periods of {} s that are {periods}, and at most {MOST_PERIODS} are kept: set \
             replay.period_s to {:.1e} or more",
            replay.period_s,
            seconds / MOST_PERIODS as f64 * 1.01,
        )));
    }
    Ok(())
}

pub(crate) fn check_warm_up(name: &str, last_ns: i64, resolved: &Resolved) -> Result<(), ConfigError> {
    let warm_up_s = resolved.config.replay.warm_up_s;
    if warm_up_ns(warm_up_s).is_none_or(|warm_up_ns| warm_up_ns <= last_ns) {
        return Ok(());
    }
    Err(ConfigError(format!(
        "{name} lasts {:.1} s, and no request would count after a warm-up of {warm_up_s} s: set replay.warm_up_s to less",
        last_ns as f64 / 1e9,
    )))
}

pub(crate) fn period_ns(period_s: f64) -> i64 {
    ((period_s * 1e9) as i64).max(1)
}

/// `None`: figures count from the beginning.
fn warm_up_ns(warm_up_s: f64) -> Option<i64> {
    Some((warm_up_s * 1e9) as i64).filter(|&ns| ns > 0)
}

fn check_room(trace: &Outline, resolved: &Resolved, capacity: u64) -> Result<(), SimError> {
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

fn new_drive(
    source: &dyn PageSource,
    resolved: &Resolved,
    contents: u32,
) -> Result<(Ftl, FlashArray), SimError> {
    let trace = source.outline();
    let config = &resolved.config;
    let geometry = &resolved.device.geometry;
    let mut ftl = Ftl::new(&config.ftl, geometry, trace.pages(), contents, config.seed);
    ftl.zeroes_are(&config.ftl, trace.zero_content.map(Content::new));
    ftl.holds_at_most(&config.ftl, trace.footprint_pages());
    if let Some(told) = told_partitions(source, &config.ftl.partition)? {
        ftl.assign_partitions(told);
    }
    // Where addresses have gaps, tables on flash take more room than those of a full device.
    check_room(trace, resolved, ftl.lay_out_tables(&config.ftl, &trace.lpn_address))?;
    if config.verify {
        ftl.verify();
    }
    Ok((ftl, FlashArray::new(geometry)))
}

/// A drive that requests go through window by window, with its periods and its warm-up.
#[derive(Clone)]
pub(crate) struct Replay {
    pub(crate) resolved: Resolved,
    pub(crate) engine: Engine<Ftl, Metrics>,
    mirror: Option<Box<Mirror>>,
    period_ns: i64,
    period_end_ns: i64,
    periods: Periods,
    /// `None` once it has ended.
    warm_up_ns: Option<i64>,
    /// Requests of the warm-up.
    traffic: Traffic,
    /// Counted during the warm-up.
    before: Totals,
}

/// A drive before the trace, which has so many requests; `None`: not known yet.
fn new_engine(
    source: &dyn PageSource,
    resolved: &Resolved,
    requests: Option<u64>,
    progress: &dyn Progress,
    drives: Option<&AgedDrives>,
) -> Result<Engine<Ftl, Metrics>, SimError> {
    let trace = source.outline();
    let config = &resolved.config;
    let geometry = &resolved.device.geometry;
    let new = || new_drive(source, resolved, contents(trace, config));
    let fill = |(ftl, flash): &mut (Ftl, FlashArray)| preload(ftl, flash, source, resolved, progress);
    let (ftl, flash) = aged::drive(trace, resolved, drives, new, fill)?;
    // Spreading hashes pages while they wait in RAM, which costs the write nothing.
    let hashes = config.ftl.mapping == flashtwin_ftl::Mapping::Content;
    let metrics = Metrics::new(geometry.chips(), requests);
    let device = &resolved.device;
    let mut engine = Engine::new(ftl, metrics, device, &config.engine, flash, hashes, config.seed);
    if config.replay.queue_depth == 0 {
        engine.limit_queues(config.replay.queue_limit);
    }
    engine.direct_by(config.ftl.partition.handles());
    let checkpoint_s = config.ftl.mapping_cache.checkpoint_s;
    if checkpoint_s > 0.0 {
        engine.checkpoint_every((checkpoint_s * 1e9) as u64);
    }
    Ok(engine)
}

/// Pages with an unknown content before the trace are given one of their own.
fn contents(trace: &Outline, config: &Config) -> u32 {
    let nameless = if config.replay.preload == Preload::Footprint { trace.pages() } else { 0 };
    trace.content_count.saturating_add(nameless)
}

impl Replay {
    /// The drive before the trace, which has so many requests; `None`: not known yet.
    pub(crate) fn new(
        source: &dyn PageSource,
        resolved: &Resolved,
        requests: Option<u64>,
        progress: &dyn Progress,
        drives: Option<&AgedDrives>,
    ) -> Result<Self, SimError> {
        let trace = source.outline();
        let config = &resolved.config;
        let sizes = (trace.pages().into(), contents(trace, config).into(), trace.volumes.len() as u64);
        memory::check(resolved, sizes, memory_limits())?;
        let engine = |resolved: &Resolved| new_engine(source, resolved, requests, progress, drives);
        let mirror = resolved.mirror().map(|mirror| engine(&mirror)).transpose()?;
        Ok(Self {
            resolved: resolved.clone(),
            engine: engine(resolved)?,
            mirror: mirror.map(|engine| Box::new(Mirror::new(engine, config.verify))),
            period_ns: period_ns(config.replay.period_s),
            period_end_ns: period_ns(config.replay.period_s),
            periods: Periods::default(),
            warm_up_ns: warm_up_ns(config.replay.warm_up_s),
            traffic: Traffic::default(),
            before: Totals::default(),
        })
    }

    pub(crate) fn tell(&mut self, receivers: Receivers) {
        self.engine.accounts_mut().observer.receivers = receivers;
        if self.warm_up_ns.is_some() {
            // None counts until it is known which is the first.
            self.engine.accounts_mut().observer.receivers.restart(u64::MAX);
        }
    }

    fn serve_all(&mut self, source: &dyn PageSource, progress: &dyn Progress) -> Result<(), SimError> {
        let total = source.outline().requests;
        let mut windows = source.windows()?;
        while let Some(window) = windows.next()? {
            self.serve(window, total, progress)?;
        }
        progress.update(total, total);
        Ok(())
    }

    /// Serves the requests of a window, of `total` in all.
    pub(crate) fn serve(
        &mut self,
        window: Window<'_>,
        total: u64,
        progress: &dyn Progress,
    ) -> Result<(), SimError> {
        let ReplayConfig { queue_depth, speed, partial_write, .. } = self.resolved.config.replay;
        let mut boundary = self.next_boundary_ns();
        let arrivals = Arrivals {
            window,
            queue_depth,
            speed,
            read_modify_write: partial_write == PartialWrite::ReadModifyWrite,
        };
        self.engine.begin_window();
        self.mirror.iter_mut().for_each(|mirror| mirror.begin_window());
        for index in 0..window.len() {
            let done = window.first_request + index as u64;
            if done & 0x3fff == 0 {
                progress.update(done, total);
                stop_if_asked(progress)?;
                self.engine.accounts_mut().observer.receivers.check()?;
            }
            while window.time_ns[index] >= boundary {
                if queue_depth == 0 {
                    self.advance(arrivals.simulated_ns(boundary))?;
                }
                if self.warm_up_ns == Some(boundary) {
                    self.traffic.add(&window, index);
                }
                self.cross(boundary, done)?;
                stop_if_asked(progress)?;
                boundary = self.next_boundary_ns();
            }
            match &mut self.mirror {
                None => self.engine.serve(&arrivals, index)?,
                Some(mirror) => mirror.serve(&arrivals, index, &mut self.engine)?,
            }
        }
        if self.warm_up_ns.is_some() {
            self.traffic.add(&window, window.len());
        }
        Ok(())
    }

    /// Lets simulated time pass.
    pub(crate) fn advance(&mut self, time_ns: u64) -> Result<(), SimError> {
        self.engine.advance(time_ns)?;
        self.mirror.as_mut().map_or(Ok(()), |mirror| mirror.advance(time_ns, &mut self.engine))
    }

    /// The next event of a drive that has completed fewer `requests`.
    pub(crate) fn next_event_ns(&self, requests: u64) -> Option<u64> {
        let completed: u64 = self.engine.accounts().counts.requests.iter().sum();
        let next_ns = self.engine.next_event_ns().filter(|_| completed < requests);
        let mirror = self.mirror.as_ref().filter(|mirror| mirror.completed() < requests);
        next_ns.into_iter().chain(mirror.and_then(|mirror| mirror.next_event_ns())).min()
    }

    /// The next time of the trace's clock at which a period or the warm-up ends.
    pub(crate) fn next_boundary_ns(&self) -> i64 {
        self.warm_up_ns.unwrap_or(i64::MAX).min(self.period_end_ns)
    }

    /// Ends the period, the warm-up or both at their `boundary`, to which time has passed; request `first` is the next.
    #[cold]
    pub(crate) fn cross(&mut self, boundary: i64, first: u64) -> Result<(), SimError> {
        if boundary == self.period_end_ns {
            let pass = self.periods.end(&mut self.engine, &self.resolved, boundary, true)?;
            if let Some(mirror) = &mut self.mirror {
                let begin_ns = simulated_ns(boundary, self.resolved.config.replay.speed);
                mirror.begin_pass((begin_ns, pass.parallel_ns))?;
            }
            self.period_end_ns = boundary.saturating_add(self.period_ns);
        }
        if self.warm_up_ns == Some(boundary) {
            self.end_warm_up(first);
        }
        Ok(())
    }

    /// Figures count from request `first` on. Requests under way count no more, because they arrived before.
    fn end_warm_up(&mut self, first: u64) {
        let now_ns = self.engine.now_ns();
        self.before = Totals::of(&self.engine, self.traffic.bytes);
        self.before.engine.requests = self.traffic.requests;
        self.periods.restart(&self.engine, self.warm_up_ns.take().unwrap_or(0));
        self.mirror.iter_mut().for_each(|mirror| mirror.restart());
        self.engine.accounts_mut().restart();
        self.engine.accounts_mut().observer.restart(first, now_ns);
    }

    /// Serves everything under way and ends the last period.
    pub(crate) fn finish(mut self, trace: &Outline) -> Result<RunResult, SimError> {
        let total = trace.requests;
        self.engine.drain()?;
        let mirror = self.mirror.take().map(|mirror| mirror.finish(&mut self.engine)).transpose()?;
        let completed: u64 = self.engine.accounts().counts.requests.iter().sum();
        if completed != total {
            let text = format!("{} of {total} requests were never completed", total - completed);
            return Err(FtlError::Broken(text).into());
        }
        // A host in virtual time may have let more periods pass.
        let last = if total == 0 { 0 } else { trace.duration_ns + 1 }.max(self.periods.last_ns());
        self.periods.end(&mut self.engine, &self.resolved, last, false)?;
        finish(self.engine, self.periods, &self.before, trace, (&self.resolved, mirror))
    }
}

/// Requests that have arrived, and their bytes, by kind.
#[derive(Clone, Default)]
struct Traffic {
    requests: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
}

impl Traffic {
    /// The first `count` requests of a window.
    fn add(&mut self, window: &Window<'_>, count: usize) {
        for (&kind, &length_bytes) in window.op[..count].iter().zip(window.length_bytes) {
            self.requests[kind as usize] += 1;
            self.bytes[kind as usize] += u64::from(length_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;

    fn outline(footprint: u32, duration_ns: i64) -> Outline {
        let empty = crate::stepped::outline("by hand", 4096, footprint, 0);
        Outline { requests: 5, page_ops: 5, duration_ns, ..empty }
    }

    fn system(name: &str, change: impl FnOnce(&mut crate::config::Config)) -> Resolved {
        let mut resolved = resolve(name, &[]).unwrap();
        change(&mut resolved.config);
        resolved.device = resolved.config.nand.resolve().unwrap();
        resolved
    }

    fn refused(trace: &Outline, resolved: &Resolved) -> Option<String> {
        check_fit(trace, resolved).err().map(|error| error.to_string())
    }

    #[test]
    fn periods_are_accepted_up_to_the_limit() {
        let resolved = system("conventional", |config| config.replay.period_s = 0.5);
        let most = MOST_PERIODS as i64 * 500_000_000;
        assert_eq!(refused(&outline(10, most), &resolved), None);
        assert_eq!(refused(&outline(10, most + 499_999_999), &resolved), None);
        let error = refused(&outline(10, most + 500_000_000), &resolved).unwrap();
        let text = "by hand lasts 100000.5 s; in periods of 0.5 s that are 200001, and at most 200000 are kept: set \
                    replay.period_s to 5.1e-1 or more";
        assert_eq!(error, text);
        // A trace whose last time is before its first has no periods.
        assert_eq!(refused(&outline(10, -1), &resolved), None);
    }

    #[test]
    fn simulated_time_is_bounded_in_an_open_loop() {
        let at = |speed: f64, queue_depth: u32, duration_ns: i64| {
            let resolved = system("conventional", |config| {
                config.replay.period_s = 1e9;
                config.replay.speed = speed;
                config.replay.queue_depth = queue_depth;
            });
            refused(&outline(10, duration_ns), &resolved)
        };
        assert_eq!(at(1.0, 0, 1 << 60), None);
        assert_eq!(at(0.5, 0, 1 << 59), None);
        let error = at(1.0, 0, (1 << 60) + 4096).unwrap();
        assert!(error.contains("more than 36: set replay.speed to 1.0e0 or more"), "{error}");
        let error = at(0.5, 0, (1 << 59) + 4096).unwrap();
        assert!(error.contains("lasts 576460752.3 s; at replay.speed = 0.5 that is 37 years"), "{error}");
        assert_eq!(at(0.5, 1, 1 << 60), None);
    }

    #[test]
    fn trace_with_wrong_pages_or_no_contents_is_refused() {
        let plain = system("conventional", |_| ());
        let other = Outline { page_bytes: 8192, ..outline(10, 0) };
        let error = refused(&other, &plain).unwrap();
        assert_eq!(error, "the trace was cut into pages of 8192 bytes, nand.page_bytes is 4096");
        let contents = system("ca-ssd", |_| ());
        assert!(refused(&outline(10, 0), &contents).unwrap().contains("the trace has no contents"));
        assert_eq!(refused(&outline(10, 0), &plain), None);
        // Without page operations nothing is missing.
        assert_eq!(refused(&Outline { page_ops: 0, ..outline(10, 0) }, &contents), None);
    }

    #[test]
    fn too_small_device_is_refused_with_the_sufficient_blocks() {
        let resolved = system("conventional", |config| {
            let nand = &mut config.nand;
            (nand.channels, nand.chips_per_channel, nand.dies_per_chip, nand.planes_per_die) = (2, 1, 1, 1);
            (nand.blocks_per_plane, nand.pages_per_block) = (100, 128);
        });
        let capacity = resolved.capacity_pages() as u32;
        assert_eq!(refused(&outline(capacity, 0), &resolved), None);
        assert!(
            refused(&outline(capacity + 1, 0), &resolved).unwrap().contains("smaller than the footprint")
        );
        let pages = 1 << 19;
        let error = refused(&outline(pages, 0), &resolved).unwrap();
        let blocks = 2048 + resolved.config.ftl.reserved_blocks(&resolved.device.geometry) + 146;
        assert!(error.contains(&format!("set nand.blocks_per_plane to {blocks} or more")), "{error}");
        assert!(error.contains("touches 524288 pages (2.00 GiB)"), "{error}");
        let enough = system("conventional", |config| {
            config.nand = resolved.config.nand.clone();
            config.nand.blocks_per_plane = blocks;
        });
        assert_eq!(refused(&outline(pages, 0), &enough), None);
    }
}
