//! Spreading of duplicates beside a plain map of what each page holds and where.

use std::collections::HashMap;

use super::driver::{Driver, Options, Step, Workload};
use crate::ftl::Map;
use crate::spread::{SpreadConfig, SpreadPolicy};
use crate::{MappingForm, ReplicationPolicy};

/// Filters that are never wrong: a rebuild at every death, and bits enough.
fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.config.mapping = MappingForm::Page;
    options.config.replication.policy = ReplicationPolicy::None;
    options.config.spread = SpreadConfig {
        policy: SpreadPolicy::Duplicates,
        bloom_bits_per_page: 64,
        bloom_hashes: 16,
        bloom_rebuild: 1e-9,
        ..SpreadConfig::default()
    };
    options.config.background.jobs = 4096;
    options.contents = options.contents.min(12);
    options
}

/// Logical page to content and channel, and the rule of the paper read off it.
struct Reference {
    held: HashMap<u32, (u32, u32)>,
}

impl Reference {
    fn holds(&self, content: u32, channel: u32) -> bool {
        self.held.values().any(|&held| held == (content, channel))
    }
}

fn channel(driver: &Driver, ppn: u32) -> u32 {
    let geometry = &driver.ftl.blocks.geometry;
    geometry.channel_of_chip(geometry.chip_of_plane(geometry.plane(ppn)))
}

#[test]
fn a_page_avoids_the_channels_that_hold_its_content_and_its_twins_hold_the_same() {
    let (mut apart, mut twins) = (0, 0);
    for seed in 0..150 {
        let options = options(seed);
        let mut driver = Driver::new(&options);
        let mut reference = Reference { held: HashMap::new() };
        let mut workload = Workload::new(&options);
        let channels = options.levels[0];
        for _ in 0..options.steps {
            match workload.next() {
                Step::Write { lpn, content, partial } => {
                    let full = (0..driver.ftl.blocks.geometry.planes())
                        .any(|plane| !driver.ftl.blocks.has_room(plane));
                    let before = *driver.ftl.counters();
                    let (ppn, _) = driver.write(lpn, content, partial).unwrap().program.unwrap();
                    let chosen = channel(&driver, ppn);
                    let held = (0..channels).filter(|&at| reference.holds(content, at)).count() as u32;
                    // Where there was room everywhere, only a content that all hold is written twice.
                    assert!(full || held == channels || !reference.holds(content, chosen));
                    let after = driver.ftl.counters();
                    assert_eq!(after.filter_false_positives, before.filter_false_positives);
                    assert_eq!(after.filter_stale_positives, 0);
                    apart += u64::from(after.redirected_writes > before.redirected_writes);
                    reference.held.insert(lpn, (content, chosen));
                }
                Step::Trim { lpn } => {
                    driver.ftl.trim(lpn);
                    reference.held.remove(&lpn);
                }
                Step::Read { lpn } => drop(driver.read(lpn).unwrap()),
                Step::EndPeriod => driver.end_period().unwrap(),
            }
            driver.shake_loads(&mut workload.rng);
            driver.idle(Some(&mut workload.rng)).unwrap();
        }
        twins += compare(&driver, &reference, options.footprint);
    }
    assert!(apart > 2_000 && twins > 2_000, "{apart} writes sent elsewhere, {twins} pages with twins");
}

/// Every page that a read may choose holds what the reference says of the page asked for.
fn compare(driver: &Driver, reference: &Reference, footprint: u32) -> u64 {
    let Map::Page(map) = &driver.ftl.map else { unreachable!("the options say page") };
    let spreader = driver.ftl.spreader.as_ref().unwrap();
    let mut twins = 0;
    for lpn in 0..footprint {
        let held = reference.held.get(&lpn).copied();
        let found = (map.get(lpn) != flashtwin_nand::NO_PPN)
            .then(|| (map.content(lpn), channel(driver, map.get(lpn))));
        assert_eq!(found, held, "LPN {lpn}");
        for &ppn in spreader.choices(lpn) {
            let owner = driver.ftl.blocks.owner(ppn).unwrap();
            assert_eq!(reference.held[&owner].0, held.unwrap().0);
            twins += 1;
        }
    }
    twins
}
