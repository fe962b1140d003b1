//! Priority-LRU (systems.md, section 6) on plain lists, compared after every operation.

use std::collections::BTreeMap;

use super::driver::{Driver, Options, Step, Workload};
use crate::ids::{Lpn, Vpn};
use crate::{FlashOp, NO_JOB, OpKind, ReplicationPolicy};
use flashtwin_nand::{Chip, Plane};

/// Classes of pages, the least recent first; chips that hold each page, the first copy's first; and
/// the replicated pages in order of their last event (a change of class or their first replica).
struct Model {
    classes: Vec<Vec<Vpn>>,
    chips: BTreeMap<Vpn, Vec<Chip>>,
    replicated: Vec<Vpn>,
    class_pages: usize,
    budget: usize,
    made: u64,
    dropped: u64,
}

impl Model {
    fn class(&self, vpn: Vpn) -> usize {
        self.classes.iter().position(|pages| pages.contains(&vpn)).unwrap_or(0)
    }

    fn enter(&mut self, vpn: Vpn, class: usize) {
        self.classes.iter_mut().for_each(|pages| pages.retain(|&page| page != vpn));
        if class > 0 {
            self.classes[class].push(vpn);
        }
        if let Some(at) = self.replicated.iter().position(|&page| page == vpn) {
            self.replicated.remove(at);
            self.replicated.push(vpn);
        }
    }

    fn read(&mut self, vpn: Vpn) {
        let highest = self.classes.len() - 1;
        self.enter(vpn, (self.class(vpn) + 1).min(highest));
        for class in (1..=highest).rev() {
            if self.classes[class].len() > self.class_pages {
                self.enter(self.classes[class][0], class / 2);
            }
        }
    }

    fn used(&self) -> usize {
        self.chips.values().map(Vec::len).sum()
    }

    fn victim(&self) -> Option<Vpn> {
        self.replicated.iter().copied().min_by_key(|&vpn| self.class(vpn))
    }

    fn drop_replica(&mut self, vpn: Vpn) {
        let chips = self.chips.get_mut(&vpn).unwrap();
        chips.pop();
        self.dropped += 1;
        if chips.len() == 1 {
            self.replicated.retain(|&page| page != vpn);
        }
    }

    fn earns(&self, vpn: Vpn, chips: usize) -> bool {
        self.class(vpn) > 1 && self.chips[&vpn].len() < chips
    }

    /// Whether a copy has room: free, or of the least recent replica of the lowest class, no higher than its own.
    fn fits(&self, vpn: Vpn) -> bool {
        let lower = |victim: Vpn| victim != vpn && self.class(victim) <= self.class(vpn);
        self.used() < self.budget || self.victim().is_some_and(lower)
    }

    fn copy(&mut self, vpn: Vpn, loads: &[u32], open: &[bool]) -> bool {
        let (class, held, count) = (self.class(vpn), &self.chips[&vpn], loads.len());
        if class < 2 {
            return false;
        }
        let after_home = (1..count).map(|step| (held[0].index() + step) % count);
        let free = after_home.filter(|&chip| open[chip] && !held.contains(&Chip::new(chip as u32)));
        let Some(chip) = free.min_by_key(|&chip| loads[chip]) else { return false };
        if !self.fits(vpn) {
            return false;
        }
        if let Some(victim) = self.victim().filter(|_| self.used() >= self.budget) {
            self.drop_replica(victim);
        }
        let chips = self.chips.get_mut(&vpn).unwrap();
        chips.push(Chip::new(chip as u32));
        self.made += 1;
        if chips.len() == 2 {
            self.replicated.push(vpn);
        }
        true
    }

    fn follow(&mut self, homes: &BTreeMap<Vpn, Chip>) {
        let gone: Vec<Vpn> = self.chips.keys().copied().filter(|vpn| !homes.contains_key(vpn)).collect();
        for vpn in gone {
            self.enter(vpn, 0);
            self.replicated.retain(|&page| page != vpn);
            self.chips.remove(&vpn);
        }
        for (&vpn, &home) in homes {
            let chips = self.chips.entry(vpn).or_insert_with(|| vec![home]);
            assert_eq!(chips[0], home, "a page stays on its chip");
        }
        while let Some(victim) = self.victim().filter(|_| self.used() > self.budget) {
            self.drop_replica(victim);
        }
    }
}

fn compare(driver: &Driver, model: &Model) {
    let map = driver.contents();
    let recency = driver.ftl.recency().unwrap();
    for (class, pages) in model.classes.iter().enumerate().skip(1) {
        assert_eq!(&recency.pages_of(class as u8).collect::<Vec<_>>(), pages, "class {class}");
    }
    let found: BTreeMap<Vpn, Vec<Chip>> = driver
        .contents()
        .live()
        .map(|vpn| {
            let pages = [map.home(vpn)].into_iter().chain(map.replica_ppns(vpn).iter().copied());
            (vpn, pages.map(|ppn| driver.chip_of(ppn)).collect())
        })
        .collect();
    assert_eq!(found, model.chips);
    let counters = driver.ftl.counters();
    assert_eq!((counters.replication.copies, counters.replication.dropped), (model.made, model.dropped));
}

fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.plain_dedup();
    let replication = &mut options.config.replication;
    replication.policy = ReplicationPolicy::PriorityLru;
    replication.alpha = [0.0, 0.02, 0.1, 2.0][seed as usize % 4];
    replication.class_pages = [1, 2, 5, 30][seed as usize / 4 % 4];
    options.config.background.jobs = 4096;
    options.read_percent = 70;
    // Hardly any duplicates, so that space is short.
    options.contents = 4 * options.footprint;
    options.trim_percent = 0;
    options.steps = 1_000;
    options
}

fn model(driver: &Driver, options: &Options) -> Model {
    let chips = driver.geometry().chips();
    Model {
        classes: vec![Vec::new(); 1 + chips as usize],
        chips: BTreeMap::new(),
        replicated: Vec::new(),
        class_pages: options.config.replication.class_pages as usize,
        budget: driver.ftl.budget_pages().unwrap() as usize,
        made: 0,
        dropped: 0,
    }
}

fn open(driver: &Driver) -> Vec<bool> {
    let blocks = &driver.ftl.flash.blocks;
    let planes: Vec<bool> =
        (0..blocks.geometry.planes()).map(|plane| blocks.has_room(Plane::new(plane))).collect();
    planes.chunks(blocks.geometry.planes_per_chip() as usize).map(|chip| chip.contains(&true)).collect()
}

fn read(driver: &mut Driver, model: &mut Model, lpn: u32, reads: u32) {
    let (vpn, mut at) = (driver.contents().vpn_of(Lpn::new(lpn)), driver.ops.len());
    let mut earned = 0;
    for _ in 0..reads {
        driver.read(lpn).unwrap();
        if vpn != crate::NO_VPN {
            model.read(vpn);
            // A copy without room when it is earned is forgotten, unless another is under way.
            let begins = earned > 0 || model.fits(vpn);
            earned += u32::from(begins && model.earns(vpn, driver.chip.len()));
        }
    }
    while let Some(&FlashOp { kind, job, .. }) = driver.ops.get(at) {
        at += 1;
        if job == NO_JOB {
            continue;
        }
        if kind == OpKind::Read {
            assert!(earned > 0, "one more copy than reads have earned");
            assert!(model.fits(vpn), "a page is read that has no place to go");
            earned -= 1;
            let copied = model.copy(vpn, &driver.chip, &open(driver));
            if !copied || model.chips[&vpn].len() == driver.chip.len() {
                earned = 0;
            }
        }
        driver.job_done(job).unwrap();
    }
    // A page for which there is no room is not even read.
    assert!(earned == 0 || !model.fits(vpn), "{earned} copies were earned, have room, and were not made");
}

#[test]
fn every_read_moves_copies_and_evicts_what_the_rules_say() {
    let (mut made, mut dropped) = (0, 0);
    for seed in 0..160 {
        let options = options(seed);
        let mut driver = Driver::new(&options);
        let mut workload = Workload::new(&options);
        let mut model = model(&driver, &options);
        for _ in 0..options.steps {
            match workload.next() {
                Step::Read { lpn } => {
                    let reads = 1 + workload.rng.below(3);
                    read(&mut driver, &mut model, lpn, reads);
                }
                step => driver.serve(step).unwrap(),
            }
            let homes: BTreeMap<Vpn, Chip> = driver
                .contents()
                .live()
                .map(|vpn| (vpn, driver.chip_of(driver.contents().home(vpn))))
                .collect();
            model.follow(&homes);
            compare(&driver, &model);
            driver.shake_loads(&mut workload.rng);
        }
        driver.ftl.audit().unwrap();
        made += model.made;
        dropped += model.dropped;
    }
    assert!(made > 5_000 && dropped > 1_000, "{made} copies, {dropped} dropped: the comparison says little");
}
