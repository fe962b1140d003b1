//! Page operations per second of whole systems, each beside a bare event loop without controller and metrics.
//!
//! `cargo bench -p flashtwin-sim --bench engine [-- --rounds N] [--times N] [--only NAME]`. System and loop run in
//! turns, `--times` each; the shortest counts. `--write FILE` writes the trace as Parquet and prints its period.
//!
//! The workload: 4 KB requests, 70 % writes, Poisson arrivals of mean 30 us, 80 % of accesses on 20 % of a 4 GB
//! footprint, 1 M requests replayed several times over, on the preset's device (64 chips, RR-SSD paper, Table II; 16
//! chips, DS-FTL paper, Table 2). Contents: as many as half the footprint has pages, equally skewed.

#![allow(clippy::print_stdout, missing_docs)]

use std::time::Instant;

use flashtwin_ftl::{
    Cause, FlashOp, FtlError, Hints, Host, LoadView, Lpn, ReadOutcome, ReadTarget, Rng, WriteOutcome,
};
use flashtwin_nand::{FlashArray, Geometry, Plane};
use flashtwin_sim::engine::{Arrivals, Controller, Engine, Observer};
use flashtwin_sim::{Resolved, resolve, run, system_names};
use flashtwin_trace::{ContentSource, Op, PageTrace, Trace, TraceBuilder, write_parquet};

const FOOTPRINT_PAGES: u32 = 1 << 20;
const REQUESTS: usize = 1_000_000;
const MEAN_ARRIVAL_NS: f64 = 30_000.0;

fn skewed(rng: &mut Rng, bound: u32) -> u32 {
    let hot = bound / 5;
    if rng.below(10) < 8 { rng.below(hot) } else { hot + rng.below(bound - hot) }
}

fn workload(rounds: usize) -> Result<Trace, Box<dyn std::error::Error>> {
    let mut rng = Rng::stream(1, "workload");
    let mut one = Vec::with_capacity(REQUESTS);
    let mut time_ns = 0.0;
    for _ in 0..REQUESTS {
        let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        time_ns -= MEAN_ARRIVAL_NS * (1.0 - uniform).ln();
        let op = if rng.below(10) < 7 { Op::Write } else { Op::Read };
        let page = skewed(&mut rng, FOOTPRINT_PAGES);
        one.push((time_ns as i64, op, page, skewed(&mut rng, FOOTPRINT_PAGES / 2)));
    }
    let mut trace = TraceBuilder::new("poisson");
    for round in 0..rounds {
        let shift = round as i64 * (time_ns as i64 + 1);
        for &(time, op, page, content) in &one {
            trace.request(shift + time, op, u64::from(page) * 4096, 4096, &[content]);
        }
    }
    Ok(trace.build()?)
}

/// Any page of the device in turn, without state: the cost of the event loop alone.
struct NoController {
    geometry: Geometry,
    next: Vec<u32>,
    plane: u32,
    rng: Rng,
}

impl Hints for NoController {}

impl Controller for NoController {
    fn read(&mut self, _lpn: Lpn, _loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        let plane = Plane::new(self.rng.below(self.geometry.planes()));
        let ppn = self.geometry.ppn(plane, 0, 0);
        let target = ReadTarget { ppn, plane, redirected: false };
        Ok(ReadOutcome::Flash { target, new_value: false, replicated: false, data: u64::from(ppn.number()) })
    }
    fn write(
        &mut self,
        _page: Host,
        _fingerprinted: bool,
        _loads: &LoadView<'_>,
        _ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        self.plane = (self.plane + 1) % self.geometry.planes();
        let turn = self.next[self.plane as usize];
        self.next[self.plane as usize] += 1;
        let pages = self.geometry.pages_per_block;
        let ppn = self.geometry.ppn(Plane::new(self.plane), turn / pages, turn % pages);
        Ok(WriteOutcome { program: Some((ppn, Cause::Host)) })
    }
    fn trim(&mut self, _lpn: Lpn) {}
    fn end_period(&mut self, _ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ok(())
    }
}

struct NoMetrics;
impl Observer for NoMetrics {}

/// Every write programs a page, every read reads one: no lookups, moves or comparisons.
fn bare_loop(trace: &PageTrace, resolved: &Resolved) -> Result<f64, Box<dyn std::error::Error>> {
    let geometry = &resolved.device.geometry;
    let mut flash = FlashArray::new(geometry);
    for plane in geometry.all_planes() {
        flash.program(geometry, geometry.ppn(plane, 0, 0))?;
    }
    let controller = NoController {
        next: vec![1; geometry.planes() as usize],
        plane: 0,
        rng: Rng::stream(1, "reads"),
        geometry: geometry.clone(),
    };
    let mut engine =
        Engine::new(controller, NoMetrics, &resolved.device, &resolved.config.engine, flash, false, 1);
    let arrivals = Arrivals { window: trace.window(), queue_depth: 0, speed: 1.0, read_modify_write: true };
    let begin = Clock::start();
    for index in 0..trace.columns.requests() {
        engine.serve(&arrivals, index)?;
    }
    engine.drain()?;
    Ok(begin.seconds())
}

/// Processor time of this thread, so that a busy machine disturbs less; else the wall clock.
struct Clock {
    wall: Instant,
    processor_ns: Option<u64>,
}

fn processor_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), processor_ns: processor_ns() }
    }

    fn seconds(&self) -> f64 {
        match (self.processor_ns, processor_ns()) {
            (Some(begin), Some(end)) => (end - begin) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = status.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    pages * 4096
}

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

fn flash_operations(summary: &serde_json::Value) -> f64 {
    let reads: f64 = summary["flash_reads"]
        .as_object()
        .map_or(0.0, |causes| causes.values().filter_map(serde_json::Value::as_f64).sum());
    let of = |value: &serde_json::Value| value.as_f64().unwrap_or(0.0);
    reads + of(&summary["pages_programmed"]) + of(&summary["erases"]["total"])
}

struct Cost {
    seconds: f64,
    bare_seconds: f64,
    resident_bytes: u64,
    summary: serde_json::Value,
}

/// A shared machine is never faster than it is, so the shortest time of each is the one least disturbed.
fn measure(trace: &PageTrace, resolved: &Resolved, times: usize) -> Result<Cost, Box<dyn std::error::Error>> {
    let mut cost = Cost {
        seconds: f64::INFINITY,
        bare_seconds: f64::INFINITY,
        resident_bytes: 0,
        summary: serde_json::Value::Null,
    };
    for _ in 0..times {
        cost.bare_seconds = cost.bare_seconds.min(bare_loop(trace, resolved)?);
        let before = resident_bytes();
        let begin = Clock::start();
        let result = run(trace, resolved, &())?;
        cost.seconds = cost.seconds.min(begin.seconds());
        cost.resident_bytes = resident_bytes().saturating_sub(before);
        cost.summary = result.summary;
    }
    Ok(cost)
}

fn print(system: &str, operations: f64, cost: &Cost) {
    let bytes = |what: &str| match cost.summary["simulator"][what].as_f64() {
        Some(bytes) => format!("{bytes:.1}"),
        None => "-".to_owned(),
    };
    println!(
        "{:24} {:8.3} s {:8.2} M page ops/s, {:5.2} of the bare loop ({:6.2} M), {:8.2} M flash ops/s; \
         tables {} B/page, {} B/content; resident set grew by {} MB",
        system,
        cost.seconds,
        operations / cost.seconds / 1e6,
        cost.bare_seconds / cost.seconds,
        operations / cost.bare_seconds / 1e6,
        flash_operations(&cost.summary) / cost.seconds / 1e6,
        bytes("bytes_per_footprint_page"),
        bytes("bytes_per_content"),
        cost.resident_bytes >> 20,
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = argument("--rounds").map_or(Ok(10), |text| text.parse())?;
    let times = argument("--times").map_or(Ok(3), |text| text.parse::<usize>())?.max(1);
    let only = argument("--only");
    let trace = workload(rounds)?;
    // Ten periods in the run, so that replication is in the figure.
    let period_s = trace.duration_ns() as f64 / 1e9 / 10.0;
    if let Some(file) = argument("--write") {
        write_parquet(&trace, file.as_ref(), &())?;
        println!("periods of {period_s}");
        return Ok(());
    }
    let trace = PageTrace::build(&trace, 4096, ContentSource::Recorded)?;
    let operations = trace.columns.page_ops() as f64;
    println!(
        "{} page operations, {} pages, {} contents",
        trace.columns.page_ops(),
        trace.outline.footprint_pages(),
        trace.outline.content_count
    );
    for system in system_names().into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let resolved = resolve(system, &[("replay.period_s".into(), period_s.to_string())])?;
        // One system is made for larger pages.
        if resolved.config.nand.page_bytes == trace.outline.page_bytes {
            print(system, operations, &measure(&trace, &resolved, times)?);
        }
    }
    Ok(())
}
