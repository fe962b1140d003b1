//! What a seed makes: the drive, its clients' requests in the order in which they come, and what fails.

use std::ops::Range;

use flashtwin_bits::SplitMix64;
use flashtwin_ftl::Ftl;
use flashtwin_live::drive::{CreateOptions, DriveOptions, Plan};
use flashtwin_live::store::fault::FaultMedium;
use flashtwin_live::{Drive, Writing};

use crate::drive::oracle::{Client, Request};
use crate::drive::scene::{SYSTEMS, Shape};

/// Calls that fail: one in this many; 0: none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) reads: u64,
    /// Each succeeds at the third try.
    pub(crate) writes: u64,
    /// Writes of a disk that has no room left.
    pub(crate) full: u64,
    pub(crate) syncs: u64,
}

/// Places that can be read and not written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Worn {
    pub(crate) data: Vec<Range<u64>>,
    pub(crate) spare_bytes: Vec<Range<u64>>,
    /// Never two copies of one batch.
    pub(crate) log: Vec<Range<u64>>,
    /// A checkpoint's, or both copies of a batch: the drive ends writing.
    pub(crate) fatal: Vec<Range<u64>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Damage {
    Changed,
    /// A write went to this page instead of its own.
    Misplaced(u64),
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    Closed,
    Flushed,
    /// The process dies, the machine does not.
    Killed,
    Cut,
}

/// An attempt to open the drive before the one that succeeds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Vain {
    Cut(u64),
    Fails(Rates),
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The second one comes in the midst of the first, as soon as the drive's lock is free.
    Ask(Request, Option<Request>),
    PowerFails {
        after: u64,
    },
    Damage {
        place: Range<u64>,
        how: Damage,
    },
    Reopen {
        end: End,
        vain: Option<Vain>,
        seed: u64,
    },
}

/// Where an image has what.
#[derive(Debug, Clone, Copy)]
struct Places {
    checkpoints: u64,
    log: u64,
    log_bytes: u64,
    spare_bytes: u64,
    data: u64,
    page_bytes: u64,
    pages: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) system: &'static str,
    pub(crate) sets: Vec<(String, String)>,
    pub(crate) shape: Shape,
    pub(crate) log_bytes: u64,
    pub(crate) rates: Rates,
    pub(crate) worn: Worn,
    pub(crate) options: DriveOptions,
    pub(crate) steps: Vec<Step>,
    pub(crate) image: Image,
}

/// A drive that was just made.
#[derive(Clone)]
pub(crate) struct Image(pub(crate) Vec<u8>);

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

struct Draw(SplitMix64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next() % limit
    }

    fn pick<T: Clone>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize].clone()
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn shape(&mut self) -> Shape {
        let levels = loop {
            let levels = [1 + self.below(2), 1 + self.below(3), 1 + self.below(2), 1 + self.below(2)];
            if levels.iter().product::<u64>() <= 8 {
                break levels.map(|count| count as u32);
            }
        };
        let is_wide = self.one_in(8);
        Shape {
            levels,
            blocks: 6 + self.below(4) as u32,
            pages: self.pick(&[4, 4, 8]),
            page_bytes: if is_wide { 4096 } else { self.pick(&[512, 1024]) },
            logical: 1,
        }
    }

    fn sets(&mut self) -> Vec<(String, String)> {
        let among: [(&str, &[&str]); 12] = [
            ("ftl.gc.victim", &["greedy", "fifo", "cost-benefit", "d-choices"]),
            ("ftl.gc.step_pages", &["1", "0", "8", "100"]),
            ("ftl.gc.start", &["0", "0.05", "0.3"]),
            ("ftl.allocation.policy", &["static", "dynamic", "least-loaded", "hipa"]),
            ("ftl.dedup.sampling_pages", &["1", "1", "2", "4"]),
            ("ftl.dedup.eviction", &["lru-writes", "reference-count"]),
            ("ftl.replication.degree", &["popularity", "many-of-few", "few-of-many"]),
            ("ftl.replication.placement", &["score", "even-score", "random", "static"]),
            ("ftl.background.jobs", &["1", "5", "4096"]),
            ("ftl.wear.policy", &["dynamic", "none", "static", "static"]),
            ("ftl.wear.threshold", &["1", "1", "16"]),
            ("ftl.wear.every", &["1", "7"]),
        ];
        among.map(|(key, values)| (key.to_owned(), self.pick(values).to_owned())).into()
    }

    fn rates(&mut self) -> Rates {
        Rates {
            reads: if self.one_in(6) { self.pick(&[9, 30, 200]) } else { 0 },
            writes: if self.one_in(5) { self.pick(&[3, 40]) } else { 0 },
            full: if self.one_in(6) { self.pick(&[80, 400]) } else { 0 },
            syncs: if self.one_in(6) { self.pick(&[8, 60]) } else { 0 },
        }
    }

    fn data_page(&mut self, places: &Places) -> Range<u64> {
        let at = places.data + self.below(places.pages) * places.page_bytes;
        at..at + places.page_bytes
    }

    fn worn(&mut self, places: &Places) -> Worn {
        let mut worn = Worn::default();
        if self.one_in(5) {
            worn.data = (0..1 + self.below(5)).map(|_| self.data_page(places)).collect();
        }
        if self.one_in(12) {
            let blocks = places.spare_bytes + 4096 * self.below((places.data - places.spare_bytes) / 4096);
            worn.spare_bytes.push(blocks..blocks + 512);
        }
        // The halves of the log, then the copies of both.
        let sector = self.below(40) * 512;
        let log = |part: u64| places.log + part * places.log_bytes + sector;
        if self.one_in(6) {
            let first = log(0);
            worn.log.push(first..first + 512);
            let second = log(3);
            worn.log.push(second..second + 4096);
        }
        if self.one_in(14) {
            let half = self.below(2);
            worn.fatal.extend([log(half), log(half + 2)].map(|at| at..at + 512));
        } else if self.one_in(14) {
            let at = places.checkpoints + self.below(places.log - places.checkpoints) / 512 * 512;
            worn.fatal.push(at..at + 512);
        }
        worn
    }

    fn reopening(&mut self, is_calm: bool) -> Step {
        let end = self.pick(&[End::Closed, End::Flushed, End::Killed, End::Cut]);
        let vain = match self.below(if is_calm { 4 } else { 2 }) {
            0 if !is_calm => Some(Vain::Fails(Rates { reads: 0, writes: 4, full: 6, syncs: 2 })),
            0 => Some(Vain::Cut(self.below(6))),
            _ => None,
        };
        Step::Reopen { end, vain, seed: self.0.next() }
    }

    fn steps(&mut self, world: &World, places: &Places, is_damaged: bool) -> Vec<Step> {
        let (page_bytes, pages) = (world.shape.page_bytes as usize, world.shape.logical as usize);
        let mut clients: Vec<Client> = (0..1 + self.below(3)).map(|_| Client::new(self.0.next())).collect();
        let (reopens, cuts) = (self.pick(&[15, 40, 100]), self.pick(&[0, 40, 80]));
        let is_calm = world.rates == Rates::default();
        let mut steps = Vec::new();
        if self.one_in(2) {
            // From then on there is something to collect.
            let contents = (0..pages as u64).map(|page| page << 32).collect();
            let (offset, length, how) = (0, pages * page_bytes, Writing::default());
            steps.push(Step::Ask(Request::Write { offset, length, contents, how }, None));
        }
        for _ in 0..self.pick(&[30, 60, 120, 200]) {
            let mut client = self.below(clients.len() as u64) as usize;
            let request = match self.one_in(40) {
                true => Request::Checkpoint,
                false => clients[client].request(page_bytes, pages),
            };
            client = (client + 1) % clients.len();
            let inside = self.one_in(4).then(|| clients[client].request(page_bytes, pages));
            steps.push(Step::Ask(request, inside));
            if self.one_in(reopens) {
                steps.push(self.reopening(is_calm));
            }
            if cuts > 0 && self.one_in(cuts) {
                steps.push(Step::PowerFails { after: self.below(60) });
            }
            if is_damaged && self.one_in(8) {
                let how = [Damage::Changed, Damage::Lost, Damage::Misplaced(self.data_page(places).start)];
                steps.push(Step::Damage { place: self.data_page(places), how: self.pick(&how) });
            }
        }
        steps
    }
}

impl World {
    pub(crate) fn of(seed: u64) -> Self {
        Self::drawn(seed, true)
    }

    /// In which nothing fails.
    pub(crate) fn calm(seed: u64) -> Self {
        Self::drawn(seed, false)
    }

    fn drawn(seed: u64, fails: bool) -> Self {
        let mut draw = Draw(SplitMix64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let (mut world, places) = loop {
            let (system, shape) = (draw.pick(&SYSTEMS), draw.shape());
            let mut sets = shape.sets(system);
            sets.extend(draw.sets());
            let log_bytes = draw.pick(&[64, 64, 256]) << 10;
            let (rates, worn, options) = Default::default();
            let (steps, image) = (Vec::new(), Image(Vec::new()));
            let mut world = Self { system, sets, shape, log_bytes, rates, worn, options, steps, image };
            if let Some(places) = world.fits(&mut draw) {
                break (world, places);
            }
        };
        let is_damaged = fails && draw.one_in(5);
        if fails && draw.below(3) > 0 {
            (world.rates, world.worn) = (draw.rates(), draw.worn(&places));
        }
        world.steps = draw.steps(&world, &places, is_damaged);
        world
    }

    /// Gives it as many logical pages as the flash array can have, or fewer; `None` if it can have none.
    fn fits(&mut self, draw: &mut Draw) -> Option<Places> {
        let (system, geometry) = loop {
            match self.plan() {
                Ok(plan) => {
                    let system = plan.system().clone();
                    let geometry = system.nand.resolve().unwrap().geometry;
                    break (system, geometry);
                }
                // Some systems keep more blocks back than others.
                Err(error) if error.contains("blocks_per_plane") && self.shape.blocks < 16 => {
                    self.shape.blocks += 1;
                    self.sets.push(("nand.blocks_per_plane".into(), self.shape.blocks.to_string()));
                }
                Err(_) => return None,
            }
        };
        let most = Ftl::capacity_pages(&system.ftl, &geometry);
        self.shape.logical = (most * draw.pick(&[100, 95, 80, 50]) / 100).max(4).min(most) as u32;
        let plan = self.plan().ok()?;
        let image = FaultMedium::new(plan.medium_bytes() as usize);
        plan.write(&image).unwrap();
        let info = Drive::info_on(&image).unwrap();
        let checkpoints = 128 << 10;
        let log = checkpoints + 2 * (info.most_recovery_bytes - 4 * self.log_bytes);
        let (page_bytes, pages) = (u64::from(self.shape.page_bytes), geometry.pages());
        let data = plan.medium_bytes() - pages * page_bytes;
        let spare_bytes = log + 4 * self.log_bytes;
        self.image = Image(image.bytes());
        Some(Places { checkpoints, log, log_bytes: self.log_bytes, spare_bytes, data, page_bytes, pages })
    }

    fn plan(&self) -> Result<Plan, String> {
        let (sets, log_bytes) = (self.sets.clone(), Some(self.log_bytes));
        let options = CreateOptions { sets, log_bytes, spare_share: None, uuid: Some([7; 16]) };
        Plan::new(self.system, self.shape.size_bytes(), &options).map_err(|error| error.to_string())
    }
}
