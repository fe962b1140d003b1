//! The drive has the programs of a controller without a medium, by cause, because it has no policy of its own.

use flashtwin_ftl::Controller;
use std::collections::HashMap;

use flashtwin_bits::SplitMix64;
use flashtwin_ftl::dedup::sample_of;
use flashtwin_ftl::{Cause, Content, FlashOp, Ftl, Host, LoadView, Lpn, NO_CONTENT, NO_JOB};
use flashtwin_live::drive::DriveOptions;
use flashtwin_live::{Drive, Export, Writing};
use flashtwin_sim::resolve;

use crate::drive::scene::{SYSTEMS, Shape, TIGHT, WIDE, open};

enum Request {
    Write(u32, Vec<u64>),
    Read(u32, u32),
    Trim(u32, u32),
    EndOfPeriod,
}

fn requests(seed: u64, count: usize, pages: u32) -> Vec<Request> {
    let mut random = SplitMix64(seed);
    let mut below = move |limit: u32| (random.next() % u64::from(limit)) as u32;
    let mut made = Vec::new();
    for at in 0..count {
        let first = if below(3) > 0 { below(pages / 4) } else { below(pages) };
        let length = (1 + below(9)).min(pages - first);
        made.push(match below(10) {
            0 => Request::Trim(first, length.min(3)),
            1..4 => Request::Read(first, length),
            _ if at % 150 == 149 => Request::EndOfPeriod,
            _ => Request::Write(first, (0..length).map(|_| u64::from(below(400))).collect()),
        });
    }
    made
}

struct Bare {
    ftl: Ftl,
    aware: bool,
    run: usize,
    idle: Vec<u32>,
    ops: Vec<FlashOp>,
    names: HashMap<u64, u32>,
}

impl Bare {
    fn new(system: &str, shape: &Shape) -> Self {
        let resolved = resolve(system, &shape.sets(system)).unwrap();
        let config = &resolved.config.ftl;
        let geometry = &resolved.device.geometry;
        let mut ftl = Ftl::new(config, geometry, shape.logical, 2000, resolved.config.seed);
        ftl.verify();
        Self {
            aware: config.looks_at_contents(),
            run: ftl.sampling_pages() as usize,
            ftl,
            idle: vec![0; geometry.chips() as usize],
            ops: Vec::new(),
            names: HashMap::new(),
        }
    }

    /// Jobs end behind everything that was ordered before their end.
    fn carry_out(&mut self) {
        let mut at = 0;
        while at < self.ops.len() {
            let job = self.ops[at].job;
            at += 1;
            if job != NO_JOB {
                let loads = LoadView::new(&self.idle, &self.idle);
                self.ftl.job_done(job, &loads, &mut self.ops).unwrap();
            }
        }
        self.ops.clear();
    }

    fn write(&mut self, lpn: u32, content: Content, fingerprinted: bool) -> bool {
        let loads = LoadView::new(&self.idle, &self.idle);
        let page = Host { lpn: Lpn::new(lpn), address: u64::from(lpn), content };
        let outcome = self.ftl.write(page, fingerprinted, &loads, &mut self.ops).unwrap();
        self.carry_out();
        outcome.program.is_none()
    }

    fn serve(&mut self, request: &Request) {
        match request {
            Request::Write(first, values) => {
                for (at, values) in values.chunks(self.run).enumerate() {
                    let first = first + (at * self.run) as u32;
                    let contents: Vec<Content> = values.iter().map(|&value| self.name(value)).collect();
                    let sample = if contents.len() > 1 { sample_of(&contents) } else { 0 };
                    let found = self.write(first + sample as u32, contents[sample], true);
                    for at in (0..contents.len()).filter(|&at| at != sample) {
                        self.write(first + at as u32, contents[at], found);
                    }
                }
            }
            Request::Read(first, length) => {
                for lpn in *first..first + length {
                    let loads = LoadView::new(&self.idle, &self.idle);
                    self.ftl.read(Lpn::new(lpn), &loads).unwrap();
                    self.ftl.begin_jobs(&mut self.ops).unwrap();
                    self.carry_out();
                }
            }
            Request::Trim(first, length) => {
                for lpn in (*first..first + length).map(Lpn::new) {
                    if self.ftl.home_of(lpn).is_some() {
                        self.ftl.trim(lpn);
                        self.ftl.begin_jobs(&mut self.ops).unwrap();
                        self.carry_out();
                    }
                }
            }
            Request::EndOfPeriod => {
                self.ftl.end_period(&mut self.ops).unwrap();
                self.carry_out();
            }
        }
    }

    fn name(&mut self, value: u64) -> Content {
        let next = self.names.len() as u32;
        if self.aware { Content::new(*self.names.entry(value).or_insert(next)) } else { NO_CONTENT }
    }
}

fn page(value: u64, page_bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64(value);
    (0..page_bytes).map(|_| random.next() as u8).collect()
}

fn serve(drive: &Drive, request: &Request, page_bytes: usize) {
    let at = |lpn: u32| u64::from(lpn) * page_bytes as u64;
    let how = Writing::default();
    match request {
        Request::Write(first, values) => {
            let bytes: Vec<u8> = values.iter().flat_map(|&value| page(value, page_bytes)).collect();
            drive.write(at(*first), &bytes, how, &()).unwrap();
        }
        Request::Read(first, length) => {
            drive.read(at(*first), &mut vec![0; *length as usize * page_bytes], &()).unwrap();
        }
        Request::Trim(first, length) => drive.trim(at(*first), at(*length), how, &()).unwrap(),
        Request::EndOfPeriod => drive.end_period().unwrap(),
    }
}

#[test]
fn the_drive_counts_what_a_bare_controller_counts() {
    for system in SYSTEMS {
        for (seed, shape) in [(1, TIGHT), (2, WIDE)] {
            let (drive, _) = open(shape.image(system), &DriveOptions::default()).unwrap();
            let mut bare = Bare::new(system, &shape);
            for (at, request) in requests(seed, 1200, shape.logical).iter().enumerate() {
                bare.serve(request);
                serve(&drive, request, shape.page_bytes as usize);
                if at % 100 == 0 {
                    drive.flush().unwrap();
                }
            }
            let (counted, expected) = (drive.stats().controller, *bare.ftl.counters());
            assert_eq!(counted, expected, "{system} on {shape:?}");
            assert!(counted.erases > 0, "{system} on {shape:?}: no pressure");
        }
    }
}

#[test]
fn what_the_systems_are_for_happens_in_these_tests() {
    let counted = |system: &str| {
        let (drive, _) = open(WIDE.image(system), &DriveOptions::default()).unwrap();
        requests(7, 2000, WIDE.logical).iter().for_each(|request| serve(&drive, request, 4096));
        drive.stats()
    };
    for system in ["rr-ssd", "rr-ssd-online", "pblru"] {
        let stats = counted(system);
        assert!(stats.controller.programs[Cause::Replica as usize] > 20, "{system}: {stats:?}");
        assert!(stats.replica_pages > 0, "{system}: {stats:?}");
        assert!(stats.controller.replication.dropped > 0 || system == "pblru", "{system}: {stats:?}");
    }
    assert!(counted("hipa").controller.programs[Cause::WearLevelling as usize] > 20);
    assert!(counted("caftl").controller.dedup.duplicates_out_of_line > 20);
    assert!(counted("ds-ftl").controller.spread.twins_found > 20);
    let share = counted("ca-ssd").duplicate_share.unwrap();
    assert!((0.05..0.95).contains(&share), "{share}");
    assert!(counted("ca-ssd").store.compared > 20);
    assert!(counted("conventional").store.erase_barriers > 20);
}
