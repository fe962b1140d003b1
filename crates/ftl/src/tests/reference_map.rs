//! A content-addressed controller (systems.md, section 2) as a beginner would write it, compared write by write.

use flashtwin_nand::NO_PPN;

use super::driver::{Driver, Options, Step, Workload};
use super::reach::Map;
use super::reference_caftl::Reference;
use crate::ids::{Content, Lpn, NO_VPN, Owner};
use crate::{Entries, Mapping, ReplicationPolicy, SpreadConfig};

fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    let capacities = [1, 2, 5, 30].map(Entries::Limited);
    let tables = options.config.dedup.tables;
    options.plain_dedup();
    options.config.dedup.fingerprint_entries =
        capacities.get(seed as usize % 5).copied().unwrap_or(Entries::Unlimited);
    options.read_percent = 5;
    options.steps = 1_500;
    if seed.is_multiple_of(3) {
        options.config.replication.policy = ReplicationPolicy::EndOfPeriod;
    } else {
        options.config.dedup.tables = tables;
    }
    options
}

#[test]
fn every_write_programs_what_the_plain_model_says_and_why() {
    for seed in 0..120 {
        let options = options(seed);
        let mut driver = Driver::new(&options);
        let mut reference = Reference::new(options.config.dedup.fingerprint_entries, false);
        let mut workload = Workload::new(&options);
        for step in 0..options.steps {
            match workload.next() {
                Step::Write { lpn, content, partial } => {
                    let cause = driver.write(lpn, content, partial).unwrap().program.map(|page| page.1);
                    assert_eq!(cause, reference.write(lpn, content, true), "step {step} of {options:?}");
                }
                Step::Trim { lpn } => {
                    driver.trim(lpn);
                    reference.point(lpn, None);
                }
                step => driver.serve(step).unwrap(),
            }
            compare_sizes(&driver, &reference);
        }
        compare_tables(&driver, &reference, options.footprint);
    }
}

fn compare_sizes(driver: &Driver, reference: &Reference) {
    let sizes = driver.ftl.table_sizes();
    assert_eq!(sizes.mapped_lpns, reference.pages.len() as u64);
    assert_eq!(sizes.vpns, reference.held.len() as u64);
    assert_eq!(sizes.fingerprints, reference.store.len() as u64);
    assert_eq!(driver.ftl.pages_in_use(), sizes.vpns + sizes.replicas);
}

fn compare_tables(driver: &Driver, reference: &Reference, footprint: u32) {
    let content = |lpn| match driver.ftl.map() {
        Map::Content(map) => Some(map.vpn_of(lpn)).filter(|&vpn| vpn != NO_VPN).map(|vpn| map.content(vpn)),
        Map::Inverted(map) => {
            let owner = |ppn| driver.ftl.flash.blocks.owner(ppn);
            Some(map.get(lpn)).filter(|&ppn| ppn != NO_PPN).and_then(owner).map(Owner::id)
        }
        Map::Page(_) => unreachable!("the options say content"),
    };
    for lpn in 0..footprint {
        assert_eq!(content(Lpn::new(lpn)).map(Content::number), reference.content(lpn), "LPN {lpn}");
    }
    let is_known = |content| match driver.ftl.map() {
        Map::Content(map) => map.fingerprints.peek(content) != NO_VPN,
        Map::Inverted(map) => map.hashes.peek(content) != NO_PPN,
        Map::Page(_) => unreachable!("the options say content"),
    };
    for &content in &reference.ever {
        let known = reference.known(content).is_some();
        assert_eq!(is_known(Content::new(content)), known, "fingerprint of content {content}");
    }
}

#[test]
fn contents_that_never_repeat_make_deduplication_a_page_map() {
    for seed in 0..20 {
        let mut page = Options::draw(seed);
        page.contents = page.steps + 1;
        page.config.mapping = Mapping::Page;
        page.config.spread = SpreadConfig::default();
        page.config.mapping_cache = crate::MappingCacheConfig::default();
        page.config.replication.policy = ReplicationPolicy::None;
        let mut content = page.clone();
        content.config.mapping = Mapping::Content;
        let counts = [page, content].map(|options| {
            let mut driver = Driver::new(&options);
            let mut workload = Workload::new(&options);
            for step in 0..options.steps {
                match workload.next() {
                    Step::Write { lpn, partial, .. } => drop(driver.write(lpn, step, partial).unwrap()),
                    Step::Trim { lpn } => driver.trim(lpn),
                    _ => {}
                }
            }
            let counters = driver.ftl.counters();
            (driver.ops, counters.host_programs(), counters.erases, driver.ftl.wear())
        });
        assert!(counts[0] == counts[1], "seed {seed}");
    }
}
