//! On-line replication (RR-SSD paper IV.B.4; systems.md, section 4) on plain lists, compared copy by copy.

use std::collections::BTreeMap;

use super::driver::{Driver, Options, Step, Workload};
use super::reference_replication::{Chip, best_chip, blocks_per_chip, popularity, wanted};
use crate::content::replication::placement::ScoreTies;
use crate::ids::{Lpn, Vpn};
use crate::redirection::{RedirectionPolicy, TieRule};
use crate::{FlashOp, NO_JOB, OpKind, ReadOutcome, ReplicationConfig, ReplicationPolicy};

/// A content: its reads in the period, its chips, home first, and the reads under which its replicas are listed.
#[derive(Debug, Clone)]
struct Content {
    number: crate::Content,
    reads: u64,
    chips: Vec<usize>,
    listed: u64,
}

struct Model {
    rules: ReplicationConfig,
    redirects: bool,
    budget: usize,
    contents: BTreeMap<Vpn, Content>,
    /// Contents with replicas, in the order in which they were listed.
    order: Vec<Vpn>,
    periods: u32,
    made: u64,
    dropped: u64,
    received: BTreeMap<usize, u64>,
    blocks_per_chip: u64,
}

impl Model {
    fn used(&self) -> usize {
        self.contents.values().map(|content| content.chips.len()).sum()
    }

    fn wanted(&self, reads: u64, chips: usize) -> usize {
        wanted(&self.rules, reads, chips)
    }

    fn list(&mut self, vpn: Vpn, reads: u64) {
        self.order.retain(|&other| other != vpn);
        self.order.push(vpn);
        self.contents.get_mut(&vpn).unwrap().listed = reads;
    }

    fn read(&mut self, vpn: Vpn, saturation: u64) {
        let content = self.contents.get_mut(&vpn).unwrap();
        content.reads = (content.reads + 1).min(saturation);
        let reads = content.reads;
        if content.chips.len() > 1 && content.listed < reads {
            self.list(vpn, reads);
        }
    }

    /// The content listed under the fewest reads, fewer than `below`, the longest there.
    fn victim(&self, below: u64) -> Option<Vpn> {
        let listed = |vpn: &Vpn| self.contents[vpn].listed;
        self.order.iter().copied().filter(|vpn| listed(vpn) < below).min_by_key(listed)
    }

    fn drop_last(&mut self, vpn: Vpn) {
        let chips = &mut self.contents.get_mut(&vpn).unwrap().chips;
        chips.pop();
        self.dropped += 1;
        if chips.len() == 1 {
            self.order.retain(|&other| other != vpn);
        }
    }

    fn place(&self, vpn: Vpn, now: &[Chip]) -> Option<usize> {
        let contents = || self.contents.values().map(|content| (content.reads, &content.chips));
        let popularity = |chip| popularity(&self.rules, contents(), chip);
        best_chip(&self.rules, &self.contents[&vpn].chips, now, self.blocks_per_chip, popularity)
    }

    fn now(&self, driver: &Driver) -> Vec<Chip> {
        let received = |chip| self.received.get(&chip).copied().unwrap_or(0);
        let chips = Chip::all(driver).into_iter().enumerate();
        chips.map(|(at, chip)| Chip { received: received(at), ..chip }).collect()
    }

    fn source(&self, vpn: Vpn, load: &[u32]) -> usize {
        let chips = &self.contents[&vpn].chips;
        if self.redirects { chips.iter().copied().min_by_key(|&chip| load[chip]).unwrap() } else { chips[0] }
    }

    fn copy(&mut self, vpn: Vpn, now: &[Chip]) -> bool {
        let Some(Content { reads, chips, .. }) = self.contents.get(&vpn).cloned() else { return false };
        if chips.len() >= self.wanted(reads, now.len()) {
            return false;
        }
        let (before, mut now) = ((self.contents.clone(), self.order.clone(), self.dropped), now.to_vec());
        if self.used() >= self.budget {
            let Some(victim) = self.victim(reads) else { return false };
            let chip = *self.contents[&victim].chips.last().unwrap();
            (now[chip].space, now[chip].stored) = (now[chip].space + 1, now[chip].stored - 1);
            self.drop_last(victim);
        }
        let Some(chip) = self.place(vpn, &now) else {
            (self.contents, self.order, self.dropped) = before;
            return false;
        };
        let content = self.contents.get_mut(&vpn).unwrap();
        content.chips.push(chip);
        if content.chips.len() == 2 {
            self.list(vpn, reads);
        }
        self.made += 1;
        *self.received.entry(chip).or_default() += 1;
        true
    }

    /// Pages that the host's writes made and let die; copies are dropped if there is no room.
    fn follow(&mut self, homes: &BTreeMap<Vpn, (crate::Content, usize)>) {
        let same = |vpn: &Vpn, content: &Content| homes.get(vpn).is_some_and(|home| home.0 == content.number);
        self.contents.retain(|vpn, content| same(vpn, content));
        let Self { contents, order, .. } = self;
        order.retain(|vpn| contents.contains_key(vpn));
        for (&vpn, &(number, home)) in homes {
            let fresh = || Content { number, reads: 0, chips: vec![home], listed: 0 };
            contents.entry(vpn).or_insert_with(fresh);
        }
        while let Some(victim) = self.victim(u64::MAX).filter(|_| self.used() > self.budget) {
            self.drop_last(victim);
        }
    }

    /// `slots`: the contents with replicas in the order of the controller's pass.
    fn end_period(&mut self, slots: &[Vpn], chips: usize) {
        self.periods += 1;
        for &vpn in slots {
            self.list(vpn, self.contents[&vpn].reads);
        }
        if self.periods.is_multiple_of(self.rules.adjust_every) {
            for &vpn in slots {
                let wanted = self.wanted(self.contents[&vpn].reads, chips);
                while self.contents[&vpn].chips.len() > wanted {
                    self.drop_last(vpn);
                }
            }
        }
        self.contents.values_mut().for_each(|content| content.reads = 0);
    }
}

fn homes(driver: &Driver) -> BTreeMap<Vpn, (crate::Content, usize)> {
    let map = driver.contents();
    let chip = |vpn| driver.chip_of(map.home(vpn)).index();
    map.live().map(|vpn| (vpn, (map.content(vpn), chip(vpn)))).collect()
}

fn compare(driver: &Driver, model: &Model) {
    let map = driver.contents();
    let chip = |ppn| driver.chip_of(ppn).index();
    for (&vpn, content) in &model.contents {
        assert_eq!(map.copies(vpn).map(chip).collect::<Vec<_>>(), content.chips, "VPN {vpn}");
        assert_eq!(u64::from(map.popularity(vpn)), content.reads, "VPN {vpn}");
    }
    let counters = driver.ftl.counters();
    assert_eq!((counters.replication.copies, counters.replication.dropped), (model.made, model.dropped));
}

fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.plain_dedup();
    options.modelled_placement();
    let replication = &mut options.config.replication;
    replication.policy = ReplicationPolicy::OnLine;
    replication.alpha = [0.0, 0.05, 0.5, 3.0][seed as usize % 4];
    // Turns are taken from copy to copy, whether it is made in the end or not.
    replication.score_ties = ScoreTies::First;
    options.config.redirection.ties = TieRule::Home;
    options.config.background.jobs = 4096;
    options.read_percent = 70;
    options.units_per_chip = 1;
    options.steps = 600;
    options
}

fn model(driver: &Driver, options: &Options) -> Model {
    Model {
        rules: options.config.replication.clone(),
        redirects: options.config.redirection.policy == RedirectionPolicy::Replicas,
        budget: driver.ftl.budget_pages().unwrap() as usize,
        contents: BTreeMap::new(),
        order: Vec::new(),
        periods: 0,
        made: 0,
        dropped: 0,
        received: BTreeMap::new(),
        blocks_per_chip: blocks_per_chip(driver),
    }
}

fn read(driver: &mut Driver, model: &mut Model, lpn: u32, reads: u32) {
    let vpn = driver.contents().vpn_of(Lpn::new(lpn));
    let saturation = u64::from(driver.geometry().chips()).saturating_sub(1).max(1);
    let mut at = driver.ops.len();
    let mut source = None;
    for _ in 0..reads {
        let ordered = driver.ops.len();
        let outcome = driver.read(lpn).unwrap();
        if let ReadOutcome::Flash { target, .. } = outcome {
            model.read(vpn, saturation);
            if driver.ops.len() > ordered {
                source = Some(driver.chip_of(target.ppn).index());
            }
        }
    }
    while let Some(&FlashOp { kind, ppn, job, .. }) = driver.ops.get(at) {
        at += 1;
        if job == NO_JOB {
            continue;
        }
        if kind == OpKind::Read {
            assert_eq!(Some(driver.chip_of(ppn).index()), source, "where it is copied from");
            source = Some(model.source(vpn, &driver.chip));
            model.copy(vpn, &model.now(driver));
        }
        driver.job_done(job).unwrap();
        compare(driver, model);
    }
    if let Some(Content { reads, chips, .. }) = model.contents.get(&vpn) {
        // Nothing that was earned is left, unless there is no room for it.
        let (held, earned) = (chips.len(), model.wanted(*reads, driver.chip.len()));
        let room = model.used() < model.budget || model.victim(*reads).is_some();
        assert!(held >= earned || !room || model.place(vpn, &model.now(driver)).is_none());
    }
}

#[test]
fn every_read_earns_and_every_copy_goes_where_the_rules_say() {
    let (mut made, mut dropped) = (0, 0);
    for seed in 0..240 {
        let options = options(seed);
        let mut driver = Driver::new(&options);
        let mut workload = Workload::new(&options);
        let mut model = model(&driver, &options);
        for _ in 0..options.steps {
            match workload.next() {
                Step::Read { lpn } => {
                    let reads = 1 + workload.rng.below(4);
                    read(&mut driver, &mut model, lpn, reads);
                }
                Step::EndPeriod => {
                    let slots: Vec<Vpn> = driver.contents().replicas.live().iter().map(|set| set.0).collect();
                    driver.end_period().unwrap();
                    model.end_period(&slots, driver.chip.len());
                }
                step => driver.serve(step).unwrap(),
            }
            model.follow(&homes(&driver));
            compare(&driver, &model);
            driver.shake_loads(&mut workload.rng);
        }
        driver.ftl.audit().unwrap();
        made += model.made;
        dropped += model.dropped;
    }
    assert!(made > 5_000 && dropped > 1_000, "{made} copies, {dropped} dropped: the comparison says little");
}
