//! A plain simulator of four systems, written from the rules in docs/model.md and docs/systems.md and from
//! nothing else: chips that do one operation at a time, no collection, whole pages. Slow, and short enough to be
//! read in one go. Every response time must be the engine's.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use flashtwin_ftl::Rng;
use flashtwin_sim::{Concurrency, run};
use flashtwin_trace::{ContentSource, Op, PageTrace, Trace, TraceBuilder};

use crate::bench::{COMMAND, PROGRAM, SENSE, TRANSFER, system_on};

const CHANNELS: usize = 3;
const CHIPS: usize = 6;
const HASH: u64 = 12_000;
const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq)]
enum System {
    Conventional,
    CaSsd,
    RrSsd,
    Oracle,
}

/// Stored data: one content, on its first chip and on others; programmed at a time.
struct Stored {
    chips: Vec<usize>,
    on_flash: bool,
    references: u32,
    reads: u32,
    content: u32,
}

#[derive(Clone, Copy)]
struct Operation {
    request: usize,
    /// The page to be programmed; a read otherwise.
    program: Option<usize>,
}

#[derive(Default)]
struct Chip {
    reads: VecDeque<Operation>,
    writes: VecDeque<Operation>,
    serves: Option<Operation>,
    /// The end of its present stage; whether that is sensing, which data follow.
    due: u64,
    senses: bool,
}

impl Chip {
    fn load(&self) -> usize {
        self.reads.len() + self.writes.len() + usize::from(self.serves.is_some())
    }
}

/// A page write on its way to its hash.
struct Waiting {
    ready: u64,
    lpn: u32,
    content: u32,
    request: usize,
    reads: u32,
}

struct Plain {
    system: System,
    least_loaded: bool,
    chips: Vec<Chip>,
    /// When each channel is free for data, and for commands.
    channels: Vec<(u64, u64)>,
    hashing: VecDeque<Waiting>,
    lanes: Vec<u64>,
    stored: Vec<Stored>,
    page_of: HashMap<u32, usize>,
    known: HashMap<u32, usize>,
    turn: usize,
    now: u64,
    arrival: Vec<u64>,
    pages_left: Vec<u32>,
    response: BTreeMap<usize, u64>,
    /// Requests that are writes and not complete.
    writing: BTreeSet<usize>,
    /// Flushes that wait, each with the writes that it waits for.
    flushing: Vec<(usize, BTreeSet<usize>)>,
    programs: u64,
    copies: u64,
}

impl Plain {
    fn new(system: System, least_loaded: bool, lanes: usize) -> Self {
        Self {
            system,
            least_loaded,
            chips: (0..CHIPS).map(|_| Chip { due: NEVER, ..Chip::default() }).collect(),
            channels: vec![(0, 0); CHANNELS],
            hashing: VecDeque::new(),
            lanes: vec![0; lanes],
            stored: Vec::new(),
            page_of: HashMap::new(),
            known: HashMap::new(),
            turn: 0,
            now: 0,
            arrival: Vec::new(),
            pages_left: Vec::new(),
            response: BTreeMap::new(),
            writing: BTreeSet::new(),
            flushing: Vec::new(),
            programs: 0,
            copies: 0,
        }
    }

    fn page_done(&mut self, request: usize) {
        self.pages_left[request] -= 1;
        if self.pages_left[request] == 0 {
            self.response.insert(request, self.now - self.arrival[request]);
            self.writing.remove(&request);
            for (_, writes) in &mut self.flushing {
                writes.remove(&request);
            }
            self.answer_flushes();
        }
    }

    /// A flush waits for every write that came before it.
    fn flush(&mut self, request: usize) {
        self.flushing.push((request, self.writing.clone()));
        self.answer_flushes();
    }

    fn answer_flushes(&mut self) {
        let Self { flushing, response, arrival, now, .. } = self;
        flushing.retain(|(flush, writes)| {
            if writes.is_empty() {
                response.insert(*flush, *now - arrival[*flush]);
            }
            !writes.is_empty()
        });
    }

    /// All events until `limit`: hashes before the ends of chips, chips by number.
    fn until(&mut self, limit: u64) {
        loop {
            let hash = self.hashing.front().map_or(NEVER, |write| write.ready);
            let chip = (0..CHIPS).min_by_key(|&chip| (self.chips[chip].due, chip)).unwrap();
            let flash = self.chips[chip].due;
            if hash.min(flash) > limit || hash.min(flash) == NEVER {
                return;
            }
            self.now = hash.min(flash);
            if hash <= flash {
                let write = self.hashing.pop_front().unwrap();
                self.decide(write);
            } else {
                self.ended(chip);
            }
        }
    }

    fn ended(&mut self, chip: usize) {
        let channel = &mut self.channels[chip % CHANNELS];
        let state = &mut self.chips[chip];
        if std::mem::take(&mut state.senses) {
            channel.0 = channel.0.max(self.now) + TRANSFER;
            state.due = channel.0;
            return;
        }
        state.due = NEVER;
        let operation = state.serves.take().unwrap();
        if let Some(page) = operation.program {
            self.stored[page].on_flash = true;
        }
        self.page_done(operation.request);
        self.begin(chip);
    }

    fn begin(&mut self, chip: usize) {
        let channel = &mut self.channels[chip % CHANNELS];
        let state = &mut self.chips[chip];
        if state.serves.is_some() {
            return;
        }
        let Some(next) = state.reads.pop_front().or_else(|| state.writes.pop_front()) else { return };
        state.serves = Some(next);
        if next.program.is_some() {
            channel.0 = channel.0.max(self.now) + COMMAND + TRANSFER;
            state.due = channel.0 + PROGRAM;
        } else {
            // A command goes between data, and data that come later wait for it all the same.
            channel.1 = channel.1.max(self.now) + COMMAND;
            channel.0 = channel.0.max(self.now) + COMMAND;
            (state.due, state.senses) = (channel.1 + SENSE, true);
        }
    }

    fn place(&mut self) -> usize {
        let from = |start: usize| (0..CHIPS).map(move |step| (start + step) % CHIPS);
        let chip = match self.least_loaded {
            true => from(self.turn).min_by_key(|&chip| self.chips[chip].load()).unwrap(),
            false => self.turn,
        };
        self.turn = (chip + 1) % CHIPS;
        chip
    }

    /// A page write whose hash is known.
    fn decide(&mut self, write: Waiting) {
        let Waiting { lpn, content, request, reads, .. } = write;
        let found = self.known.get(&content).copied().filter(|_| self.system != System::Conventional);
        let page = match found {
            Some(page) => page,
            None => {
                let chip = self.place();
                let fresh = Stored { chips: vec![chip], on_flash: false, references: 0, reads: 0, content };
                self.stored.push(fresh);
                self.stored.len() - 1
            }
        };
        self.stored[page].references += 1;
        if let Some(old) = self.page_of.insert(lpn, page) {
            let old = &mut self.stored[old];
            old.references -= 1;
            if old.references == 0 && self.system != System::Conventional {
                self.known.remove(&old.content);
            }
        }
        if found.is_some() {
            self.page_done(request);
        } else {
            self.known.insert(content, page);
            self.programs += 1;
            let chip = self.stored[page].chips[0];
            self.chips[chip].writes.push_back(Operation { request, program: Some(page) });
            self.begin(chip);
        }
        self.stored[page].reads += reads;
    }

    fn write(&mut self, lpn: u32, content: u32, request: usize) {
        let mut write = Waiting { ready: self.now, lpn, content, request, reads: 0 };
        if self.system == System::Conventional {
            return self.decide(write);
        }
        let lane = (0..self.lanes.len()).min_by_key(|&lane| self.lanes[lane]).unwrap();
        self.lanes[lane] = self.lanes[lane].max(self.now) + HASH;
        write.ready = self.lanes[lane];
        self.hashing.push_back(write);
    }

    fn read(&mut self, lpn: u32, request: usize) {
        if let Some(write) = self.hashing.iter_mut().rev().find(|write| write.lpn == lpn) {
            write.reads += 1;
            return self.page_done(request);
        }
        let Some(&page) = self.page_of.get(&lpn) else { return self.page_done(request) };
        self.stored[page].reads += 1;
        let home = self.stored[page].chips[0];
        let load = |chip: usize| self.chips[chip].load();
        let chip = match self.system {
            System::Conventional | System::CaSsd => home,
            System::RrSsd => self.stored[page].chips.iter().copied().min_by_key(|&chip| load(chip)).unwrap(),
            System::Oracle => {
                let around = (0..CHIPS).map(|step| (home + step) % CHIPS);
                around.min_by_key(|&chip| load(chip)).unwrap()
            }
        };
        // A replica is there as soon as its period has begun; a first copy when it is programmed.
        if !self.stored[page].on_flash && (chip == home || self.system == System::Oracle) {
            return self.page_done(request);
        }
        self.chips[chip].reads.push_back(Operation { request, program: None });
        self.begin(chip);
    }

    /// Each content gets as many copies more as it was read, on the chips that follow its first.
    fn end_period(&mut self) {
        let replicates = self.system == System::RrSsd;
        for page in self.stored.iter_mut().filter(|page| page.references > 0) {
            let wanted = (1 + page.reads.min(CHIPS as u32 - 1) as usize).min(CHIPS);
            while replicates && page.chips.len() < wanted {
                page.chips.push((page.chips[0] + page.chips.len()) % CHIPS);
                self.copies += 1;
            }
        }
        self.stored.iter_mut().for_each(|page| page.reads = 0);
    }
}

/// Few contents on few pages, so that reads, copies and duplicates meet.
fn trace(rng: &mut Rng) -> Trace {
    let (pages, contents) = (20 + rng.below(200), 10 + rng.below(300));
    let (mean_ns, together) = ([8_000, 30_000, 90_000][rng.below(3) as usize], 1 + 15 * rng.below(2));
    let reads = 30 + rng.below(60);
    let mut builder = TraceBuilder::new("plain");
    let mut now = 0;
    for page in 0..u64::from(pages) {
        now += 600_000;
        builder.request(now, Op::Write, page * 4096, 4096, &[rng.below(contents)]);
    }
    for request in 0..2_500 {
        if request % together == 0 {
            now += i64::from(rng.below(2 * mean_ns * together));
        }
        let count = 1 + rng.below(4);
        let page = rng.below(pages - count);
        let ids: Vec<u32> = (0..count).map(|_| rng.below(contents)).collect();
        if rng.below(8) == 0 {
            builder.request(now, Op::Flush, 0, 0, &[]);
        }
        let is_read = rng.below(100) < reads;
        let (op, ids) = if is_read { (Op::Read, &[][..]) } else { (Op::Write, &ids[..]) };
        builder.request(now, op, u64::from(page) * 4096, count * 4096, ids);
    }
    builder.build().unwrap()
}

fn simulate(pages: &PageTrace, mut plain: Plain, period_ns: i64) -> Plain {
    let mut boundary = period_ns;
    for request in 0..pages.requests() {
        while pages.columns.time_ns[request] >= boundary {
            plain.until(boundary as u64);
            plain.end_period();
            boundary += period_ns;
        }
        let now = pages.columns.time_ns[request] as u64;
        plain.until(now);
        plain.now = now;
        let operations = pages.page_ops_of(request);
        plain.arrival.push(now);
        plain.pages_left.push(operations.len() as u32);
        match pages.columns.op[request] {
            Op::Flush => plain.flush(request),
            Op::Write => assert!(plain.writing.insert(request)),
            _ => {}
        }
        for at in operations {
            match pages.columns.op[request] {
                Op::Read => plain.read(pages.columns.lpn[at], request),
                _ => plain.write(pages.columns.lpn[at], pages.columns.content[at], request),
            }
        }
    }
    plain.until(NEVER - 1);
    plain
}

#[test]
fn every_mean_and_every_program_is_that_of_the_plain_simulator() {
    let systems = [
        ("conventional", System::Conventional),
        ("ca-ssd", System::CaSsd),
        ("rr-ssd", System::RrSsd),
        ("oracle", System::Oracle),
    ];
    let mut copies = 0;
    for seed in 0..48 {
        let mut rng = Rng::stream(seed, "plain");
        let pages = PageTrace::build(&trace(&mut rng), 4096, ContentSource::Recorded).unwrap();
        let lanes = 1 + rng.below(3) as usize;
        let lanes_text = lanes.to_string();
        for (least_loaded, (name, system)) in
            [false, true].into_iter().flat_map(|rule| systems.map(|system| (rule, system)))
        {
            let allocation = if least_loaded { "least-loaded" } else { "dynamic" };
            let sets = [
                ("ftl.allocation.policy", allocation),
                ("hash_lanes", &lanes_text),
                ("period_s", "0.02"),
                ("replication.alpha", "100"),
                ("replication.placement", "static"),
                ("replication.adjust_every", "1000000"),
            ];
            let used =
                sets.into_iter().filter(|(key, _)| !key.starts_with("replication") || name == "rr-ssd");
            let levels = [CHANNELS as u32, (CHIPS / CHANNELS) as u32, 1, 2, 900, 16];
            let mut resolved = system_on(levels, name, &used.collect::<Vec<_>>());
            resolved.config.engine.concurrency = Concurrency::Chip;
            let result = run(&pages, &resolved, &()).unwrap();
            let plain = simulate(&pages, Plain::new(system, least_loaded, lanes), 20_000_000);
            let what = format!("seed {seed}, {name}, {allocation}, {lanes} lanes");
            for (kind, op) in [("read", Op::Read), ("write", Op::Write), ("flush", Op::Flush)] {
                let times = plain.response.iter().filter(|(request, _)| pages.columns.op[**request] == op);
                let times: Vec<u64> = times.map(|(_, &time)| time).collect();
                let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
                let found = &result.summary["response"][kind];
                assert_eq!(found["count"], times.len(), "{what}: number of {kind}");
                assert_eq!(found["mean_ns"].as_f64().unwrap(), mean, "{what}: mean of {kind}");
                assert_eq!(found["max_ns"], *times.iter().max().unwrap(), "{what}: longest {kind}");
            }
            assert_eq!(result.summary["replication"]["copies"], plain.copies, "{what}: copies");
            assert_eq!(result.summary["pages_programmed"], plain.programs + plain.copies, "{what}: programs");
            copies += plain.copies;
        }
    }
    assert!(copies > 5_000, "hardly a copy was made: {copies}");
}
