//! Relations that spreading of duplicates keeps on any device, with any allocation and workload.

use super::driver::{Driver, Options, Step, Workload};
use super::reach::Map;
use crate::flash::allocation::AllocationPolicy;
use crate::ids::Lpn;
use crate::page::spread::{SpreadConfig, SpreadPolicy};
use crate::{FtlConfig, Mapping, ReplicationPolicy, Rng};
use flashtwin_nand::Ppn;

/// The same system without and with spreading. Filters with as many bits as a key allows.
fn pair(seed: u64) -> [Options; 2] {
    [SpreadPolicy::None, SpreadPolicy::Duplicates].map(|policy| {
        let mut options = Options::draw(seed);
        options.config.mapping = Mapping::Page;
        options.config.mapping_cache.fingerprints = false;
        options.config.replication.policy = ReplicationPolicy::None;
        options.config.spread =
            SpreadConfig { policy, bloom_bits_per_page: 64, bloom_hashes: 7, ..options.config.spread };
        options.contents = 2 * options.footprint + options.steps;
        options
    })
}

fn place_of(driver: &Driver, lpn: u32) -> Ppn {
    match driver.ftl.map() {
        Map::Page(map) => map.get(Lpn::new(lpn)),
        _ => unreachable!("the options say page"),
    }
}

/// Writes every page and ages the device; returns the outcome of each step, and the filters' wrong answers.
fn begin_full(driver: &mut Driver, options: &Options) -> (Vec<String>, u64) {
    let mut rng = Rng::stream(options.seed, "ageing");
    let mut steps: Vec<String> =
        (0..options.footprint).map(|lpn| format!("{:?}", driver.write(lpn, lpn, false).unwrap())).collect();
    for _ in 0..3 * options.footprint {
        let lpn = rng.below(options.footprint);
        steps.push(format!("{:?}", driver.rewrite(lpn).unwrap()));
    }
    let wrong = driver.ftl.counters().spread.filter_false_positives;
    driver.ftl.end_preload();
    (steps, wrong)
}

/// The same step, and of a write the content given.
fn with_content(step: Step, content: u32) -> Step {
    match step {
        Step::Write { lpn, partial, .. } => Step::Write { lpn, content, partial },
        other => other,
    }
}

#[test]
fn spreading_changes_nothing_without_equal_contents() {
    let (mut compared, mut aged) = (0, 0);
    for seed in 0..200 {
        let [plain, spread] = pair(seed);
        let mut drivers = [Driver::new(&plain), Driver::new(&spread)];
        if seed % 2 == 0 {
            let [plain_begin, (steps, wrong)] = drivers.each_mut().map(|driver| begin_full(driver, &plain));
            if wrong > 0 {
                continue;
            }
            assert!(plain_begin.0 == steps, "seed {seed}");
            aged += steps.len();
        }
        let mut workload = Workload::new(&plain);
        let mut next = plain.footprint;
        for _ in 0..plain.steps {
            let step = with_content(workload.next(), next);
            let loads = workload.rng.clone();
            let outcomes = drivers.each_mut().map(|driver| {
                driver.shake_loads(&mut loads.clone());
                driver.outcome(step)
            });
            next += u32::from(matches!(step, Step::Write { .. }));
            // Where other contents have all of a content's bits, the filter cannot know better.
            if drivers[1].ftl.counters().spread.filter_false_positives > 0 {
                break;
            }
            assert_eq!(outcomes[0], outcomes[1], "seed {seed}");
            compared += 1;
        }
        let [plain_ftl, spread_ftl] = drivers.each_ref().map(|driver| &driver.ftl);
        if spread_ftl.counters().spread.filter_false_positives == 0 {
            assert!(drivers[0].ops == drivers[1].ops, "seed {seed}");
            assert_eq!(plain_ftl.counters().erases, spread_ftl.counters().erases);
            assert!((0..plain.footprint).all(|lpn| place_of(&drivers[0], lpn) == place_of(&drivers[1], lpn)));
        }
        drivers.iter().for_each(|driver| driver.ftl.audit().unwrap());
    }
    assert!(compared > 50_000 && aged > 20_000, "{compared} steps, {aged} of ageing: they say little");
}

/// Two channels of one chip. Returns where each write of content 7 to page 0 went, and the comparisons.
fn rewritten_four_times(own_copy_counts: bool) -> (Vec<u32>, u64) {
    let mut config = FtlConfig::default();
    config.allocation.policy = AllocationPolicy::Static;
    config.spread =
        SpreadConfig { policy: SpreadPolicy::Duplicates, own_copy_counts, ..SpreadConfig::default() };
    let mut driver = Driver::of([2, 1, 1, 1, 12, 8], config, 16, 16);
    let channels = (0..4).map(|_| {
        driver.write(0, 7, false).unwrap();
        driver.idle(None).unwrap();
        driver.ftl.audit().unwrap();
        driver.geometry().plane(place_of(&driver, 0)).number()
    });
    (channels.collect(), driver.ftl.counters().spread.comparisons)
}

#[test]
fn rewritten_page_moves_only_if_its_own_copy_counts() {
    // Channel 1 once it holds nothing else: its dead entry is more than half of them, so it is forgotten.
    assert_eq!(rewritten_four_times(true), (vec![0, 1, 0, 1], 0));
    assert_eq!(rewritten_four_times(false), (vec![0, 0, 0, 0], 0));
}
