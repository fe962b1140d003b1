//! Popularity replication (RR-SSD paper II.D, III.B; systems.md, section 4), compared at each period end.

use std::collections::BTreeMap;

use super::driver::{Driver, Options, Step, Workload};
use crate::content::replication::degree::DegreePolicy;
use crate::content::replication::placement::{PlacementPolicy, ScorePopularity, ScoreTies};
use crate::ids::{Lpn, Vpn};
use crate::{Cause, FlashOp, ReplicationConfig, ReplicationPolicy};
use flashtwin_nand as nand;

#[derive(Debug, Clone, PartialEq)]
struct Content {
    reads: u64,
    chips: Vec<usize>,
    /// When its replicas were first made, for the order among equals.
    seniority: usize,
}

/// A chip as a placement sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chip {
    pub(super) space: u64,
    pub(super) stored: u64,
    pub(super) erases: u64,
    pub(super) load: u32,
    pub(super) received: u64,
}

impl Chip {
    pub(super) fn all(driver: &Driver) -> Vec<Self> {
        let ftl = &driver.ftl;
        let room = ftl.flash.blocks.plane_limit() * u64::from(driver.geometry().planes_per_chip());
        let chip = |chip: nand::Chip| {
            let stored = ftl.chip_valid_pages()[chip];
            let erases = ftl.chip_erases()[chip];
            Self { space: room - stored, stored, erases, load: driver.chip[chip.index()], received: 0 }
        };
        nand::Chip::each(0..driver.geometry().chips()).map(chip).collect()
    }
}

pub(super) fn blocks_per_chip(driver: &Driver) -> u64 {
    u64::from(driver.geometry().planes_per_chip()) * u64::from(driver.geometry().blocks_per_plane)
}

/// A chip's popularity in 1/65536 of a read. Contents are given with their reads and chips.
pub(super) fn popularity<'a>(
    rules: &ReplicationConfig,
    contents: impl Iterator<Item = (u64, &'a Vec<usize>)>,
    chip: usize,
) -> u128 {
    let share = |(reads, chips): (u64, &Vec<usize>)| match rules.score_popularity {
        ScorePopularity::Mean => reads << 16,
        ScorePopularity::Sum => (reads << 16) / chips.len() as u64,
        ScorePopularity::Replicas if chips[0] == chip => 0,
        ScorePopularity::Replicas => reads << 16,
    };
    contents.filter(|(_, chips)| chips.contains(&chip)).map(|content| u128::from(share(content))).sum()
}

/// The chip for a copy of a content that `holds` have: S / (E x Pop x QL), E and Pop counted from one.
pub(super) fn best_chip(
    rules: &ReplicationConfig,
    holds: &[usize],
    chips: &[Chip],
    blocks_per_chip: u64,
    popularity: impl Fn(usize) -> u128,
) -> Option<usize> {
    let open = |chip: &usize| chips[*chip].space > 0 && !holds.contains(chip);
    let count = chips.len();
    if rules.placement == PlacementPolicy::Static {
        return (1..count).map(|step| (holds[0] + step) % count).find(open);
    }
    let over = |chip: usize| match rules.score_popularity {
        ScorePopularity::Mean | ScorePopularity::Replicas => u128::from(chips[chip].stored) + 1,
        ScorePopularity::Sum => 1,
    };
    let fewest = (0..count).filter(open).map(|chip| chips[chip].received).min();
    let even =
        |chip: &usize| rules.placement != PlacementPolicy::EvenScore || Some(chips[*chip].received) == fewest;
    let above = |chip: usize| u128::from(chips[chip].space) * over(chip);
    let below = |chip: usize| {
        u128::from(chips[chip].erases + blocks_per_chip)
            * (popularity(chip) + 65_536)
            * (u128::from(chips[chip].load) + 1)
    };
    let better = |a: usize, b: usize| above(a) * below(b) > above(b) * below(a);
    (0..count).filter(open).filter(even).reduce(|best, chip| if better(chip, best) { chip } else { best })
}

struct Model<'a> {
    rules: &'a ReplicationConfig,
    budget: u64,
    contents: BTreeMap<Vpn, Content>,
    chips: Vec<Chip>,
    blocks_per_chip: u64,
    /// Chips that a copy is read from and programmed on, copy by copy.
    copies: Vec<(usize, usize)>,
    drops: u64,
}

pub(super) fn wanted(rules: &ReplicationConfig, reads: u64, chips: usize) -> usize {
    if reads < u64::from(rules.least_popularity) {
        return 1;
    }
    let wanted = match rules.degree {
        DegreePolicy::Popularity => {
            // In hundredths of a copy.
            1 + (reads * (rules.copies_per_read * 100.0).round() as u64 / 100) as usize
        }
        DegreePolicy::ManyOfFew => chips,
        DegreePolicy::FewOfMany => rules.few_copies as usize,
        DegreePolicy::Foreign(_) => unreachable!("no drive of these tests has a policy from outside"),
    };
    wanted.min(chips).min(rules.most_copies as usize)
}

impl Model<'_> {
    fn pages(&self) -> u64 {
        self.contents.values().map(|content| content.chips.len() as u64).sum()
    }

    fn wanted(&self, reads: u64) -> usize {
        wanted(self.rules, reads, self.chips.len())
    }

    fn drop_last(&mut self, vpn: Vpn) {
        let chip = self.contents.get_mut(&vpn).unwrap().chips.pop().unwrap();
        self.chips[chip].space += 1;
        self.chips[chip].stored -= 1;
        self.drops += 1;
    }

    fn adjust(&mut self) {
        for vpn in self.contents.keys().copied().collect::<Vec<_>>() {
            while self.contents[&vpn].chips.len() > self.wanted(self.contents[&vpn].reads) {
                self.drop_last(vpn);
            }
        }
    }

    fn less_popular(&self, reads: u64) -> Option<Vpn> {
        let replicated = self.contents.iter().filter(|(_, content)| content.chips.len() > 1);
        let less = replicated.filter(|(_, content)| content.reads < reads);
        less.min_by_key(|(_, content)| (content.reads, content.seniority)).map(|(&vpn, _)| vpn)
    }

    fn place(&self, vpn: Vpn) -> Option<usize> {
        let contents = || self.contents.values().map(|content| (content.reads, &content.chips));
        let popularity = |chip| popularity(self.rules, contents(), chip);
        best_chip(self.rules, &self.contents[&vpn].chips, &self.chips, self.blocks_per_chip, popularity)
    }

    fn replicate(&mut self) {
        let highest = self.contents.values().map(|content| content.reads).max().unwrap_or(0);
        for reads in (1..=highest).rev() {
            let mut level: Vec<Vpn> =
                self.contents.iter().filter(|(_, c)| c.reads == reads).map(|(&vpn, _)| vpn).collect();
            level.sort_by_key(|&vpn| self.rules.equals.key(vpn));
            for vpn in level {
                let places = self.contents[&vpn].chips.clone();
                let mut sources = places.iter().cycle();
                while self.contents[&vpn].chips.len() < self.wanted(reads) {
                    let before = (self.contents.clone(), self.chips.clone(), self.drops);
                    if self.pages() >= self.budget {
                        let Some(victim) = self.less_popular(reads) else { return };
                        self.drop_last(victim);
                    }
                    let Some(chip) = self.place(Vpn::new(vpn.number())) else {
                        // Nothing is dropped for a copy that finds no chip.
                        (self.contents, self.chips, self.drops) = before;
                        break;
                    };
                    self.copies.push((*sources.next().unwrap(), chip));
                    self.copy(Vpn::new(vpn.number()), chip);
                }
            }
        }
    }

    fn copy(&mut self, vpn: Vpn, chip: usize) {
        let next = self.contents.values().map(|content| content.seniority + 1).max().unwrap_or(0);
        let content = self.contents.get_mut(&vpn).unwrap();
        if content.chips.len() == 1 {
            content.seniority = next;
        }
        content.chips.push(chip);
        self.chips[chip].space -= 1;
        self.chips[chip].stored += 1;
        self.chips[chip].received += 1;
    }
}

/// The controller's present state. Reads are counted by the test itself.
fn contents(driver: &Driver, reads: &[u64]) -> BTreeMap<Vpn, Content> {
    let map = driver.contents();
    let order: BTreeMap<Vpn, usize> =
        map.replicas.live().into_iter().enumerate().map(|(at, (vpn, _))| (vpn, at)).collect();
    map.live()
        .map(|vpn| {
            let home = map.home(vpn);
            let pages = [home].into_iter().chain(map.replica_ppns(vpn).iter().copied());
            let chips = pages.map(|ppn| driver.chip_of(ppn).index()).collect();
            let seniority = order.get(&vpn).copied().unwrap_or(0);
            (vpn, Content { reads: reads[vpn.index()], chips, seniority })
        })
        .collect()
}

fn model<'a>(driver: &Driver, options: &'a Options, reads: &[u64]) -> Model<'a> {
    // No operation waits at the end of a period.
    let chips: Vec<Chip> = Chip::all(driver).into_iter().map(|chip| Chip { load: 0, ..chip }).collect();
    let room: u64 = chips.iter().map(|chip| chip.space + chip.stored).sum();
    let (_, percent) = ALPHAS[options.seed as usize % ALPHAS.len()];
    let budget = u64::from(options.footprint) * (100 + percent) / 100;
    Model {
        rules: &options.config.replication,
        budget: budget.min(room - 1),
        contents: contents(driver, reads),
        chips,
        blocks_per_chip: blocks_per_chip(driver),
        copies: Vec::new(),
        drops: 0,
    }
}

/// As the key says it, and in percent.
const ALPHAS: [(f64, u64); 5] = [(0.0, 0), (0.05, 5), (0.15, 15), (0.3, 30), (2.0, 200)];

fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.plain_dedup();
    options.modelled_placement();
    let replication = &mut options.config.replication;
    replication.policy = ReplicationPolicy::EndOfPeriod;
    replication.alpha = ALPHAS[seed as usize % ALPHAS.len()].0;
    // Turns are taken from pass to pass, and a model is of one.
    replication.score_ties = ScoreTies::First;
    options.read_percent = 70;
    options.period_every = 60;
    options.steps = 700;
    options
}

fn compare_period(driver: &mut Driver, options: &Options, period: u32, reads: &[u64]) -> u64 {
    let mut model = model(driver, options, reads);
    if period.is_multiple_of(options.config.replication.adjust_every) {
        model.adjust();
    }
    model.replicate();
    let (before, ops) = (*driver.ftl.counters(), driver.ops.len());
    driver.end_period().unwrap();
    let did = driver.ftl.counters().since(&before);
    assert_eq!((did.replication.copies, did.replication.dropped), (model.copies.len() as u64, model.drops));
    let chip = |op: &FlashOp| driver.chip_of(op.ppn).index();
    let made: Vec<&FlashOp> = driver.ops[ops..].iter().filter(|op| op.cause == Cause::Replica).collect();
    let made: Vec<(usize, usize)> = made.chunks(2).map(|copy| (chip(copy[0]), chip(copy[1]))).collect();
    assert_eq!(made, model.copies);
    let strip = |contents: &BTreeMap<Vpn, Content>| -> Vec<(Vpn, Vec<usize>)> {
        contents.iter().map(|(&vpn, content)| (vpn, content.chips.clone())).collect()
    };
    assert_eq!(strip(&contents(driver, reads)), strip(&model.contents));
    assert!(model.pages() <= model.budget);
    model.copies.len() as u64
}

#[test]
fn every_period_makes_and_drops_the_copies_that_the_rules_say() {
    let mut copies = 0;
    for seed in 0..300 {
        let options = options(seed);
        let mut driver = Driver::new(&options);
        let mut workload = Workload::new(&options);
        let saturation = u64::from(driver.geometry().chips()).saturating_sub(1).max(1);
        let mut reads = vec![0u64; 2 * options.steps as usize];
        let mut period = 0;
        for _ in 0..options.steps {
            match workload.next() {
                Step::Read { lpn } => {
                    driver.read(lpn).unwrap();
                    if let Some(count) = reads.get_mut(driver.contents().vpn_of(Lpn::new(lpn)).index()) {
                        *count = (*count + 1).min(saturation);
                    }
                }
                Step::Write { lpn, content, partial } => {
                    if driver.write(lpn, content, partial).unwrap().program.is_some() {
                        reads[driver.contents().vpn_of(Lpn::new(lpn)).index()] = 0;
                    }
                }
                Step::Trim { lpn } => driver.trim(lpn),
                Step::EndPeriod => {
                    period += 1;
                    copies += compare_period(&mut driver, &options, period, &reads);
                    reads.fill(0);
                }
            }
        }
        driver.ftl.audit().unwrap();
    }
    assert!(copies > 5_000, "only {copies} copies: the comparison says little");
}
