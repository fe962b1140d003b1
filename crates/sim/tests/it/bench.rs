//! Shared by the engine's tests: a device with round numbers and a log of commands.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use flashtwin_ftl::{
    Content, Controller, FlashOp, Ftl, FtlConfig, Host, LoadView, Lpn, Mapping, NO_JOB, OpKind, Rng, Unit,
};
use flashtwin_nand::{Chip, FlashArray, NandConfig, NandDevice, Ppn};
use flashtwin_sim::engine::{Arrivals, Arrived, Charge, Completed, Engine, EngineCounts, Ledger, Observer};
use flashtwin_sim::{EngineConfig, Resolved, RunResult, WriteCompletes, resolve, run};
use flashtwin_trace::{
    ContentSource, FirstAccess, NO_CONTENT, Op, Outline, PageColumns, PageQuality, PageTrace, Trace,
    TraceBuilder, marks,
};
use serde_json::Value;

/// Command cycles, in nanoseconds, like all that follow.
pub(crate) const COMMAND: u64 = 100;
pub(crate) const TRANSFER: u64 = 10_000;
pub(crate) const SENSE: u64 = 50_000;
pub(crate) const PROGRAM: u64 = 200_000;
pub(crate) const ERASE: u64 = 1_000_000;
/// A read on an idle device: 60,100.
pub(crate) const READ_ALL: u64 = COMMAND + SENSE + TRANSFER;
/// A write on an idle device: 210,100.
pub(crate) const WRITE_ALL: u64 = COMMAND + TRANSFER + PROGRAM;

pub(crate) fn ledger(entries: &[(Charge, u64)]) -> Ledger {
    let mut ledger = Ledger::default();
    entries.iter().for_each(|&(charge, ns)| ledger.charge(charge, ns));
    ledger
}

/// A page operation served by one flash command, after these waits.
pub(crate) fn served(waits: &[(Charge, u64)], array_ns: u64) -> Ledger {
    let service = [(Charge::Transfer, COMMAND + TRANSFER), (Charge::Flash, array_ns)];
    ledger(&[waits, &service].concat())
}

pub(crate) type Levels = [u32; 6];

/// 4,096 bytes take 10 us on the channel; a read takes 50, a program 200, an erase 1,000.
pub(crate) fn nand(levels: Levels) -> NandConfig {
    let [channels, chips_per_channel, dies_per_chip, planes_per_die, blocks_per_plane, pages_per_block] =
        levels;
    NandConfig {
        source: "round numbers".into(),
        undetermined: Vec::new(),
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane,
        pages_per_block,
        page_bytes: 4096,
        program_pages: 1,
        sense_pages: 1,
        parity_stripe: 0,
        metadata_bytes: 0,
        read_us: 50.0,
        read_types_us: Vec::new(),
        program_us: 200.0,
        erase_us: 1000.0,
        bus_mt_s: 409.6,
        bus_width_bits: 8,
        command_ns: COMMAND,
        pe_cycles: 3000,
    }
}

/// Rules by which RAM answers writes.
pub(crate) const IN_RAM: [WriteCompletes; 2] = [WriteCompletes::Hashed, WriteCompletes::Buffered];

/// One chip: a single unit behind a single channel.
pub(crate) const ONE: Levels = [1, 1, 1, 1, 32, 8];

/// Pages go to the planes in turn, on a drive that nothing was ever written to.
pub(crate) const NEW: [(&str, &str); 2] = [("allocation.policy", "static"), ("preload", "none")];

/// Seeds of a long random test. `FLASHTWIN_SEED`, any text such as a commit, chooses others.
pub(crate) fn seeds(count: u64) -> Range<u64> {
    let text = std::env::var("FLASHTWIN_SEED").unwrap_or_default();
    let first = text.bytes().fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    u64::from(first)..u64::from(first) + count
}

/// Seeds of a swarm. `FLASHTWIN_SEED` and `FLASHTWIN_SEEDS` ask for others, of which the first and how many.
pub(crate) fn swarm_seeds(usual: u64) -> Range<u64> {
    let asked = |name: &str| std::env::var(name).ok()?.parse().ok();
    let first = asked("FLASHTWIN_SEED").unwrap_or(0);
    first..first + asked("FLASHTWIN_SEEDS").unwrap_or(usual)
}

pub(crate) fn pick<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len() as u32) as usize]
}

pub(crate) fn system_on(levels: Levels, name: &str, sets: &[(&str, &str)]) -> Resolved {
    system_with(nand(levels), name, sets)
}

pub(crate) fn preset(name: &str, sets: &[(&str, &str)]) -> Result<Resolved, String> {
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    resolve(name, &sets).map_err(|error| error.to_string())
}

pub(crate) fn system_with(nand: NandConfig, name: &str, sets: &[(&str, &str)]) -> Resolved {
    let mut resolved = preset(name, &[&[("verify", "true")], sets].concat()).unwrap();
    resolved.config.nand = nand;
    resolved.device = resolved.config.nand.resolve().unwrap();
    resolved
}

pub(crate) fn replay(trace: &Trace, resolved: &Resolved) -> RunResult {
    let source = resolved.content_source(trace.has_content());
    let pages = PageTrace::build(trace, 4096, source).unwrap();
    run(&pages, resolved, &()).unwrap()
}

pub(crate) fn column(result: &RunResult, table: &str, name: &str) -> Vec<u64> {
    numbers(result.table(table).unwrap(), name)
}

/// A column of numbers, 0 where one is missing.
pub(crate) fn numbers(table: &RecordBatch, name: &str) -> Vec<u64> {
    let column = table.column_by_name(name).unwrap();
    if let Some(numbers) = column.as_primitive_opt::<UInt32Type>() {
        return numbers.iter().map(|number| number.unwrap_or(0).into()).collect();
    }
    match column.as_primitive_opt::<Int64Type>() {
        Some(times) => times.values().iter().map(|&time| time as u64).collect(),
        None => column.as_primitive::<UInt64Type>().iter().map(Option::unwrap_or_default).collect(),
    }
}

/// How many of these spans overlap at most. At one time, those that end go before those that begin.
pub(crate) fn most_at_once(spans: impl Iterator<Item = (u64, u64)>) -> i32 {
    let long = spans.filter(|(begin, end)| begin < end);
    let mut changes: Vec<(u64, i32)> = long.flat_map(|(begin, end)| [(begin, 1), (end, -1)]).collect();
    changes.sort_unstable();
    let counts = changes.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or(0)
}

/// A figure of a summary by its path.
pub(crate) fn figure<'a>(summary: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(summary, |value, key| &value[key])
}

/// A trace of requests of one page each: time, kind, page, and its content if it brings one.
pub(crate) fn trace_of_pages(requests: impl IntoIterator<Item = (i64, Op, u64, Option<u32>)>) -> Trace {
    let mut builder = TraceBuilder::new("pages");
    for (time_ns, op, page, content) in requests {
        builder.request(time_ns, op, page * 4096, 4096, content.as_slice());
    }
    builder.build().unwrap()
}

#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) time_ns: i64,
    pub(crate) op: Op,
    pub(crate) lpn: u32,
    pub(crate) contents: Vec<u32>,
    pub(crate) partial: bool,
    pub(crate) durable: bool,
    pub(crate) queue: u8,
}

fn ask(time_ns: i64, op: Op, lpn: u32, contents: Vec<u32>) -> Ask {
    Ask { time_ns, op, lpn, contents, partial: false, durable: false, queue: 0 }
}

pub(crate) fn read(time_ns: i64, lpn: u32) -> Ask {
    ask(time_ns, Op::Read, lpn, vec![NO_CONTENT])
}

/// A write of one page; `content` matters to content-addressed systems only.
pub(crate) fn write(time_ns: i64, lpn: u32, content: u32) -> Ask {
    ask(time_ns, Op::Write, lpn, vec![content])
}

pub(crate) fn write_part(time_ns: i64, lpn: u32, content: u32) -> Ask {
    Ask { partial: true, ..write(time_ns, lpn, content) }
}

/// A write that is to be on flash before it is answered.
pub(crate) fn write_durable(time_ns: i64, lpn: u32, content: u32) -> Ask {
    Ask { durable: true, ..write(time_ns, lpn, content) }
}

pub(crate) fn read_pages(time_ns: i64, lpn: u32, pages: usize) -> Ask {
    ask(time_ns, Op::Read, lpn, vec![NO_CONTENT; pages])
}

pub(crate) fn trim(time_ns: i64, lpn: u32) -> Ask {
    ask(time_ns, Op::Trim, lpn, vec![NO_CONTENT])
}

pub(crate) fn flush(time_ns: i64) -> Ask {
    ask(time_ns, Op::Flush, 0, Vec::new())
}

pub(crate) fn page_trace(asks: &[Ask], footprint: u32, contents: u32) -> PageTrace {
    let mut first_page_op = vec![0];
    let (mut lpn, mut content) = (Vec::new(), Vec::new());
    for ask in asks {
        lpn.extend((0..ask.contents.len() as u32).map(|page| ask.lpn + page));
        content.extend(&ask.contents);
        first_page_op.push(lpn.len() as u32);
    }
    let columns = PageColumns {
        time_ns: Arc::new(asks.iter().map(|ask| ask.time_ns).collect()),
        op: Arc::new(asks.iter().map(|ask| ask.op).collect()),
        volume: Arc::new(vec![0; asks.len()]),
        offset_bytes: Arc::new(asks.iter().map(|ask| u64::from(ask.lpn) * 4096).collect()),
        length_bytes: Arc::new(asks.iter().map(|ask| ask.contents.len() as u32 * 4096).collect()),
        stream: Arc::default(),
        marks: asks
            .iter()
            .map(|ask| {
                let durable = u8::from(ask.durable) * marks::DURABLE;
                (u8::from(ask.partial) * 3) | durable | (ask.queue << marks::QUEUE_SHIFT)
            })
            .collect(),
        first_page_op,
        lpn,
        content,
    };
    let outline = Outline {
        name: "by hand".into(),
        digest: String::new(),
        read_as: String::new(),
        page_bytes: 4096,
        requests: asks.len() as u64,
        page_ops: columns.page_ops() as u64,
        bytes: Op::ALL.map(|op| {
            let of_kind = asks.iter().filter(|ask| ask.op == op);
            of_kind.map(|ask| ask.contents.len() as u64 * 4096).sum()
        }),
        duration_ns: asks.last().map_or(0, |ask| ask.time_ns),
        lpn_address: (0..u64::from(footprint)).collect(),
        volumes: vec![("0".into(), 0)],
        content_count: contents,
        zero_content: None,
        initial_content: vec![NO_CONTENT; footprint as usize],
        first_access: vec![FirstAccess::Write; footprint as usize],
        content_source: ContentSource::Recorded,
        quality: PageQuality::default(),
    };
    PageTrace { outline, columns }
}

pub(crate) type Command = (u64, &'static str, u32);

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) commands: Vec<Command>,
    pub(crate) pages: Vec<Ppn>,
    pub(crate) responses: Vec<Ledger>,
    pub(crate) flushes: Vec<Ledger>,
    pub(crate) redirected: Vec<u32>,
    pub(crate) done: Vec<Done>,
    under_way: BTreeMap<u32, u64>,
    queues: BTreeMap<Chip, u32>,
}

/// A completed request, by its number in the trace.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) number: u64,
    pub(crate) kind: Op,
    pub(crate) arrival_ns: u64,
    pub(crate) total_ns: u64,
    pub(crate) ledger: Ledger,
}

impl Observer for Log {
    fn follows_requests(&self) -> bool {
        true
    }
    fn arrived(&mut self, request: u32, arrived: &Arrived) {
        self.under_way.insert(request, arrived.number);
    }
    fn completed(&mut self, done: &Completed<'_>) {
        let Completed { kind, arrival_ns, total_ns, ledger: &ledger, .. } = *done;
        assert_eq!(ledger.total_ns(), total_ns, "the ledger has a remainder");
        let of_kind = if kind == Op::Flush { &mut self.flushes } else { &mut self.responses };
        of_kind.push(ledger);
        let number = self.under_way.remove(&done.request).unwrap();
        self.done.push(Done { number, kind, arrival_ns, total_ns, ledger });
    }
    fn started(&mut self, now_ns: u64, what: &'static str, unit: Unit, ppn: Ppn) {
        self.commands.push((now_ns, what, unit.number()));
        self.pages.push(ppn);
    }
    fn queue_changed(&mut self, chip: Chip, _now_ns: u64, length: u32) {
        self.queues.insert(chip, length);
    }
    fn redirected(&mut self, chip: Chip) {
        self.redirected.push(chip.number());
    }
}

impl Log {
    pub(crate) fn response_times(&self) -> Vec<u64> {
        self.responses.iter().map(Ledger::total_ns).collect()
    }
}

/// A device, a controller, and its contents before the clock starts.
pub(crate) struct Bench {
    pub(crate) nand: NandConfig,
    pub(crate) ftl: FtlConfig,
    pub(crate) engine: EngineConfig,
    pub(crate) footprint: u32,
    pub(crate) contents: u32,
    pub(crate) queue_depth: u32,
    pub(crate) queue_limit: u32,
    /// Logical page and content, written before time 0 in this order.
    pub(crate) before: Vec<(u32, u32)>,
    /// Reads before time 0 whose period has ended, for replication.
    pub(crate) popular: Vec<u32>,
    pub(crate) verify: bool,
}

pub(crate) struct Outcome {
    pub(crate) log: Log,
    pub(crate) counts: EngineCounts,
    pub(crate) device: NandDevice,
    pub(crate) end_ns: u64,
}

impl Outcome {
    pub(crate) fn starts(&self) -> Vec<u64> {
        self.log.commands.iter().map(|command| command.0).collect()
    }

    /// Kinds of the commands in order, `@` its number where the unit is not the first: `read program@1`.
    pub(crate) fn kinds(&self) -> String {
        let kind =
            |&(_, kind, unit): &Command| if unit == 0 { kind.into() } else { format!("{kind}@{unit}") };
        self.log.commands.iter().map(kind).collect::<Vec<_>>().join(" ")
    }

    /// The units that programmed a page, once for each program, in order of their numbers.
    pub(crate) fn units_that_programmed(&self) -> Vec<u32> {
        let programs = self.log.commands.iter().filter(|command| command.1 == "program");
        let mut units: Vec<u32> = programs.map(|command| command.2).collect();
        units.sort_unstable();
        units
    }

    /// Block and page in the block of each command.
    pub(crate) fn places(&self) -> Vec<(u32, u32)> {
        let g = &self.device.geometry;
        let place = |&ppn: &Ppn| (g.block_in_plane(g.block_index(ppn)), g.page_in_block(ppn));
        self.log.pages.iter().map(place).collect()
    }
}

impl Bench {
    /// A page map whose pages go to the planes in turn, channel first, without hashing.
    pub(crate) fn new(levels: Levels) -> Self {
        let mut ftl = FtlConfig::default();
        ftl.allocation.policy = flashtwin_ftl::allocation::AllocationPolicy::Static;
        let engine =
            EngineConfig { hash_us: 0.0, idle_us: 0.0, write_cache_us: 0.0, ..EngineConfig::default() };
        Self {
            nand: nand(levels),
            ftl,
            engine,
            footprint: 16,
            contents: 64,
            queue_depth: 0,
            queue_limit: 0,
            before: Vec::new(),
            popular: Vec::new(),
            verify: true,
        }
    }

    /// Pages 0 to `pages` - 1 are on flash before time 0.
    pub(crate) fn holding(mut self, pages: u32) -> Self {
        self.before = (0..pages).map(|lpn| (lpn, lpn)).collect();
        self
    }

    /// With a write cache of so many pages, all of which may be dirty.
    pub(crate) fn cached(pages: u32) -> Self {
        Self::new(ONE)
            .with(|bench| (bench.engine.write_cache_pages, bench.engine.write_cache_dirty) = (pages, 1.0))
    }

    /// With RAM for so many pages, volatile, that answers writes by a rule in 9 us.
    pub(crate) fn in_ram(levels: Levels, rule: WriteCompletes, places: u32) -> Self {
        Self::new(levels).with(|bench| {
            (bench.engine.write_completes, bench.engine.write_buffer_pages) = (rule, places);
            (bench.engine.write_cache_us, bench.footprint) = (9.0, 1_000);
        })
    }

    pub(crate) fn deduplicating(mut self) -> Self {
        self.ftl.mapping = Mapping::Content;
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn prepare(&self, device: &NandDevice) -> (Ftl, FlashArray) {
        let geometry = &device.geometry;
        self.ftl.check(geometry).unwrap();
        let mut ftl = Ftl::new(&self.ftl, geometry, self.footprint, self.contents, 1);
        if self.verify {
            ftl.verify();
        }
        let mut flash = FlashArray::new(geometry);
        let idle = vec![0; geometry.chips() as usize];
        let loads = LoadView::new(&idle, &idle);
        let mut ops = Vec::new();
        for &(lpn, content) in &self.before {
            let page = Host { lpn: Lpn::new(lpn), address: u64::from(lpn), content: Content::new(content) };
            let outcome = ftl.write(page, true, &loads, &mut ops).unwrap();
            if let Some((ppn, _)) = outcome.program {
                flash.program(geometry, ppn).unwrap();
            }
            let ordered: Vec<u32> = ops.iter().map(|op| op.job).filter(|&job| job != NO_JOB).collect();
            carry_out(&mut flash, device, &mut ops);
            for job in ordered {
                ftl.job_done(job, &loads, &mut ops).unwrap();
            }
        }
        for &lpn in &self.popular {
            ftl.read(Lpn::new(lpn), &loads).unwrap();
        }
        if !self.popular.is_empty() {
            ftl.end_period(&mut ops).unwrap();
            carry_out(&mut flash, device, &mut ops);
        }
        ftl.end_preload();
        (ftl, flash)
    }

    /// Serves the requests and everything that follows from them.
    pub(crate) fn serve(&self, asks: &[Ask]) -> Outcome {
        let trace = page_trace(asks, self.footprint, self.contents);
        let engine = self.serve_trace(&trace, Log::default());
        engine.controller().audit().unwrap();
        assert!(
            engine.accounts().observer.queues.values().all(|&length| length == 0),
            "a queue is not empty at the end"
        );
        let device = self.nand.resolve().unwrap();
        Outcome {
            counts: engine.accounts().counts,
            end_ns: engine.now_ns(),
            log: engine.into_observer(),
            device,
        }
    }

    /// The same with an observer of one's own, for traces too long to log.
    pub(crate) fn serve_trace<O: Observer>(&self, trace: &PageTrace, observer: O) -> Engine<Ftl, O> {
        let device = self.nand.resolve().unwrap();
        let (ftl, flash) = self.prepare(&device);
        let hashes = self.ftl.mapping == Mapping::Content;
        let mut engine = Engine::new(ftl, observer, &device, &self.engine, flash, hashes, 1);
        engine.limit_queues(self.queue_limit);
        if self.ftl.mapping_cache.checkpoint_s > 0.0 {
            engine.checkpoint_every((self.ftl.mapping_cache.checkpoint_s * 1e9) as u64);
        }
        let arrivals = Arrivals {
            window: trace.window(),
            queue_depth: self.queue_depth,
            speed: 1.0,
            read_modify_write: true,
        };
        for index in 0..trace.columns.requests() {
            engine.serve(&arrivals, index).unwrap();
        }
        engine.drain().unwrap();
        engine
    }
}

fn carry_out(flash: &mut FlashArray, device: &NandDevice, ops: &mut Vec<FlashOp>) {
    for op in ops.drain(..) {
        match op.kind {
            OpKind::Read => flash.read(&device.geometry, op.ppn).unwrap(),
            OpKind::Program => flash.program(&device.geometry, op.ppn).unwrap(),
            OpKind::Erase => flash.erase(device.geometry.block_index(op.ppn)),
        }
    }
}
