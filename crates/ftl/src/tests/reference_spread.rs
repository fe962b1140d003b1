//! Spreading of duplicates beside a plain map of each page's content and place.

use flashtwin_nand::{Plane, Ppn};
use std::collections::HashMap;

use super::driver::{Driver, Levels, Options, Step, Workload};
use super::reach::Map;
use crate::flash::allocation::AllocationPolicy;
use crate::ids::Lpn;
use crate::page::spread::{PlacePolicy, SpreadConfig, SpreadPolicy};
use crate::{Mapping, ReplicationPolicy};

/// Filters that are never wrong: a rebuild at every death, and bits enough.
fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.config.mapping = Mapping::Page;
    options.config.mapping_cache.fingerprints = false;
    options.config.replication.policy = ReplicationPolicy::None;
    options.config.spread = SpreadConfig {
        policy: SpreadPolicy::Duplicates,
        bloom_bits_per_page: 64,
        bloom_hashes: 16,
        bloom_rebuild: 1e-9,
        ..options.config.spread
    };
    options.config.spread.verify = true;
    options.config.spread.candidates = 16;
    options.config.background.jobs = 4096;
    options.contents = options.contents.min(12);
    options
}

struct Reference {
    held: HashMap<u32, (u32, u32)>,
    levels: Levels,
    order: Vec<char>,
    spread: SpreadConfig,
    /// Page writes so far: the turns of `dynamic`.
    writes: u64,
    /// By channel: duplicates that it took, in planes passed.
    turns: Vec<usize>,
}

struct Now {
    room: Vec<bool>,
    chip: Vec<u32>,
    unit: Vec<u32>,
}

impl Reference {
    fn new(options: &Options) -> Self {
        Self {
            held: HashMap::new(),
            levels: options.levels,
            order: String::from(options.config.allocation.order).chars().collect(),
            spread: options.config.spread.clone(),
            writes: 0,
            turns: vec![0; options.levels[0] as usize],
        }
    }

    fn holds(&self, content: u32, channel: u32) -> bool {
        self.held.values().any(|&held| held == (content, channel))
    }

    fn other_holds(&self, lpn: u32, content: u32, channel: u32) -> bool {
        self.held.iter().any(|(&other, &held)| other != lpn && held == (content, channel))
    }

    fn planes(&self) -> u32 {
        self.levels[..4].iter().product()
    }

    /// The planes in the order of the allocation: the first letter changes fastest.
    fn in_order(&self) -> Vec<u32> {
        let [channels, chips, dies, planes, ..] = self.levels;
        let size = |letter| match letter {
            'C' => channels,
            'W' => chips,
            'D' => dies,
            _ => planes,
        };
        let coordinate = |index: u32, letter: char| {
            let faster: u32 =
                self.order.iter().take_while(|&&other| other != letter).map(|&l| size(l)).product();
            index / faster % size(letter)
        };
        let plane = |index| {
            let [c, w, d, p] = ['C', 'W', 'D', 'P'].map(|letter| coordinate(index, letter));
            ((w * channels + c) * dies + d) * planes + p
        };
        (0..self.planes()).map(plane).collect()
    }

    fn channel(&self, plane: u32) -> u32 {
        plane / (self.levels[2] * self.levels[3]) % self.levels[0]
    }

    fn proposal(&mut self, policy: AllocationPolicy, address: u64, now: &Now) -> Option<u32> {
        self.writes += 1;
        let index = match policy {
            AllocationPolicy::Static => address,
            AllocationPolicy::Dynamic => self.writes - 1,
            _ => return None,
        };
        let plane = self.in_order()[(index % u64::from(self.planes())) as usize];
        (0..self.planes()).map(|step| (plane + step) % self.planes()).find(|&plane| now.room[plane as usize])
    }

    fn place(&self, channel: u32, proposal: u32, now: &Now) -> Option<u32> {
        let own: Vec<u32> = self.in_order().into_iter().filter(|&p| self.channel(p) == channel).collect();
        let turn = self.turns[channel as usize];
        let mut open =
            (0..own.len()).map(|at| own[(turn + at) % own.len()]).filter(|&p| now.room[p as usize]);
        let share = |loads: &[u32], plane: u32| loads[plane as usize * loads.len() / self.planes() as usize];
        match self.spread.place {
            PlacePolicy::RoundRobin => open.next(),
            PlacePolicy::LeastLoaded => open.min_by_key(|&p| (share(&now.chip, p), share(&now.unit, p))),
            PlacePolicy::SamePlace => {
                let per_chip = self.levels[2] * self.levels[3];
                let same = |p: &u32| {
                    (p / per_chip / self.levels[0], p % per_chip)
                        == (proposal / per_chip / self.levels[0], proposal % per_chip)
                };
                open.find(same)
            }
        }
    }

    fn goes_to(&mut self, lpn: u32, content: u32, proposal: u32, now: &Now) -> u32 {
        let channels = self.levels[0];
        let holds = |channel| match self.spread.own_copy_counts {
            true => self.holds(content, channel),
            false => self.other_holds(lpn, content, channel),
        };
        let first = self.channel(proposal);
        if !holds(first) {
            return proposal;
        }
        let after = (1..channels).map(|step| (first + step) % channels);
        let free = after.filter(|&c| !holds(c)).find_map(|c| Some((c, self.place(c, proposal, now)?)));
        let Some((channel, plane)) = free else { return proposal };
        let own: Vec<u32> = self.in_order().into_iter().filter(|&p| self.channel(p) == channel).collect();
        self.turns[channel as usize] = own.iter().position(|&p| p == plane).unwrap() + 1;
        plane
    }
}

fn channel(driver: &Driver, ppn: u32) -> u32 {
    let geometry = driver.geometry();
    geometry.channel_of_chip(geometry.chip_of_plane(geometry.plane(Ppn::new(ppn)))).number()
}

fn now(driver: &Driver) -> Now {
    let blocks = &driver.ftl.flash.blocks;
    let room = (0..blocks.geometry.planes()).map(|plane| blocks.has_room(Plane::new(plane))).collect();
    Now { room, chip: driver.chip.clone(), unit: driver.unit.clone() }
}

#[test]
fn page_avoids_channels_of_its_content_and_duplicates_are_equal() {
    let (mut apart, mut duplicates, mut foreseen) = (0, 0, 0);
    for seed in 0..240 {
        let options = options(seed);
        let mut driver = Driver::new(&options);
        let mut reference = Reference::new(&options);
        let mut workload = Workload::new(&options);
        let channels = options.levels[0];
        for _ in 0..options.steps {
            match workload.next() {
                Step::Write { lpn, content, partial } => {
                    let now = now(&driver);
                    let policy = options.config.allocation.policy;
                    let proposal = reference.proposal(policy, u64::from(lpn) * 3 / 2, &now);
                    let expected = proposal.map(|plane| reference.goes_to(lpn, content, plane, &now));
                    let before = *driver.ftl.counters();
                    let (ppn, _) = driver.write(lpn, content, partial).unwrap().program.unwrap();
                    let chosen = channel(&driver, ppn.number());
                    if let Some(expected) = expected {
                        assert_eq!(driver.geometry().plane(ppn), Plane::new(expected), "seed {seed}");
                        foreseen += u64::from(Some(expected) != proposal);
                    }
                    let held = (0..channels).filter(|&at| reference.holds(content, at)).count() as u32;
                    // With room everywhere, a content comes twice only if all hold it, or this page alone holds it
                    // there.
                    let full = now.room.contains(&false);
                    let stays = !reference.other_holds(lpn, content, chosen)
                        && !options.config.spread.own_copy_counts;
                    assert!(full || held == channels || stays || !reference.holds(content, chosen));
                    let after = driver.ftl.counters();
                    assert_eq!(after.spread.filter_false_positives, before.spread.filter_false_positives);
                    assert_eq!(after.spread.filter_stale_positives, 0);
                    apart += u64::from(after.pages.redirected_writes > before.pages.redirected_writes);
                    reference.held.insert(lpn, (content, chosen));
                }
                Step::Trim { lpn } => {
                    driver.trim(lpn);
                    reference.held.remove(&lpn);
                }
                Step::Read { lpn } => drop(driver.read(lpn).unwrap()),
                Step::EndPeriod => driver.end_period().unwrap(),
            }
            driver.shake_loads(&mut workload.rng);
            driver.idle(Some(&mut workload.rng)).unwrap();
        }
        duplicates += compare(&driver, &reference, options.footprint);
    }
    let reached = (apart, duplicates, foreseen);
    assert!(
        apart > 2_000 && duplicates > 2_000 && foreseen > 1_000,
        "sent elsewhere, duplicates, foreseen: {reached:?}"
    );
}

fn compare(driver: &Driver, reference: &Reference, footprint: u32) -> u64 {
    let Map::Page(map) = driver.ftl.map() else { unreachable!("the options say page") };
    let spreader = driver.ftl.spreader().unwrap();
    let mut duplicates = 0;
    for lpn in 0..footprint {
        let held = reference.held.get(&lpn).copied();
        let lpn = Lpn::new(lpn);
        let found = (map.get(lpn) != flashtwin_nand::NO_PPN)
            .then(|| (map.content(lpn).number(), channel(driver, map.get(lpn).number())));
        assert_eq!(found, held, "LPN {lpn}");
        for &ppn in spreader.choices(lpn) {
            let owner = driver.ftl.flash.blocks.owner(ppn).unwrap();
            assert_eq!(reference.held[&owner.number()].0, held.unwrap().0);
            duplicates += 1;
        }
    }
    duplicates
}
