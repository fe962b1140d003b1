//! Bugs planted on purpose: the checks that find nothing must be able to find something.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::driver::{Driver, Options, Step, Workload};
use crate::content::ContentMap;
use crate::dedup::{OutOfLinePolicy, TableKind};
use crate::flash::blocks::Stream;
use crate::flash::partition::{PartitionConfig, PartitionPolicy};
use crate::ids::{Owner, Vpn};
use crate::{Entries, FtlResult, Mapping, ReplicationPolicy, Rng, WearConfig, WearPolicy};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Garbage collection moves a replica and leaves its entry as it was.
    ForgottenMove,
    /// A page without references stays valid.
    SkippedInvalidate,
    /// A dead content's fingerprint stays in the store.
    StaleFingerprint,
    /// A page stays on the list of its duplicate pages when it is overwritten.
    KeptDuplicate,
    /// A dead content's popularity stays with the chips that held it.
    KeptShare,
    /// A page changes its class of priority-LRU, and its replicas stay listed under the old one.
    KeptClass,
    /// Garbage collection moves a page of the inverted tables and skips one of its LPNs.
    ForgottenLpn,
    /// Garbage collection moves a page to another partition.
    MixedPartitions,
    /// Wear levelling takes an erased block and leaves it among those.
    KeptFree,
    /// A page of the tables that was changed in RAM is taken for the one on flash.
    CleanPage,
    /// Collection moves a page of the tables and leaves the directory as it was.
    LostPage,
    /// A page that was overwritten while it was read to be fingerprinted is merged all the same.
    LateMerge,
}

thread_local! {
    /// The bug of this test and how many occasions pass before it strikes, once.
    static PLANTED: Cell<Option<(Bug, u32)>> = const { Cell::new(None) };
}

pub(crate) fn planted(bug: Bug) -> bool {
    match PLANTED.get() {
        Some((planted, 0)) if planted == bug => {
            PLANTED.set(None);
            true
        }
        Some((planted, occasions)) if planted == bug => {
            PLANTED.set(Some((bug, occasions - 1)));
            false
        }
        _ => false,
    }
}

pub(crate) fn mislaid(stream: Stream, partitions: u32) -> Stream {
    if partitions == 1 || !planted(Bug::MixedPartitions) {
        return stream;
    }
    Stream::gc((stream.partition(partitions) + 1) % partitions as u8)
}

fn partitioned(seed: u64) -> Options {
    let mut options = options(seed);
    options.config.partition.policy = PartitionPolicy::Offline;
    options.config.partition.partitions = 3;
    options.levels[4] = 16;
    options.footprint = 120;
    options.contents = 400;
    options
}

fn levelling(seed: u64) -> Options {
    let mut options = partitioned(seed);
    options.config.partition = PartitionConfig::default();
    options.config.wear = WearConfig { policy: WearPolicy::Static, threshold: 1, every: 1 };
    options.hot_percent = 90;
    options
}

fn spreading(seed: u64) -> Options {
    let mut options = options(seed);
    options.config.mapping = Mapping::Page;
    options.config.replication.policy = ReplicationPolicy::None;
    options.config.spread = super::driver::spread(&mut Rng::stream(seed, "spread"));
    options.config.background.jobs = 4096;
    options.contents = 30;
    options
}

fn inverted(seed: u64) -> Options {
    let mut options = options(seed);
    options.config.dedup.tables = TableKind::Inverted;
    options.config.replication.policy = ReplicationPolicy::None;
    options
}

/// A system whose tables are on flash, with two of their pages in RAM, on a single plane.
fn paging(seed: u64) -> Options {
    let mut options = options(seed);
    options.config.mapping_cache.bytes = crate::CacheBytes::Limited(2 * 64);
    options.levels = [1, 1, 1, 1, 14, 16];
    options
}

fn deduplicating_later(seed: u64) -> Options {
    let mut options = options(seed);
    (options.config.dedup.sampling_pages, options.config.dedup.out_of_line) = (4, OutOfLinePolicy::Unhashed);
    options.config.background.jobs = 4096;
    options
}

fn copying_on_line(seed: u64) -> Options {
    let mut options = options(seed);
    options.config.replication.policy = ReplicationPolicy::OnLine;
    options.config.replication.degree = crate::replication::degree::DegreePolicy::Popularity;
    options.config.background.jobs = 4096;
    options
}

fn copying_by_recency(seed: u64) -> Options {
    let mut options = copying_on_line(seed);
    options.config.replication.policy = ReplicationPolicy::PriorityLru;
    options.config.replication.class_pages = 5;
    options
}

fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.levels = [2, 2, 1, 1, 8, 4];
    options.footprint = 60;
    options.contents = 50;
    options.steps = 3_000;
    options.units_per_chip = 1;
    options.period_every = 50;
    options.read_percent = 40;
    options.audit_every = 1;
    options.plain_dedup();
    options.config.partition = PartitionConfig::default();
    options.config.wear = WearConfig::default();
    options.config.dedup.fingerprint_entries = Entries::Unlimited;
    options.config.replication.policy = ReplicationPolicy::EndOfPeriod;
    options.config.replication.alpha = 0.2;
    options.config.replication.few_copies = 2;
    options.config.replication.copies_per_read = 1.0;
    (options.config.replication.most_copies, options.config.replication.least_popularity) = (256, 1);
    options.trim_percent = 5;
    options
}

fn try_to_serve(driver: &mut Driver, step: Step) -> FtlResult {
    driver.serve(step)?;
    driver.idle(None)?;
    driver.ftl.audit()
}

fn run_with(bug: Bug, options: &Options) -> (bool, bool) {
    // Pages that die while they are read are rare.
    PLANTED.set(Some((bug, if bug == Bug::LateMerge { 0 } else { 5 })));
    let mut driver = Driver::new(options);
    let mut workload = Workload::new(options);
    let mut serve_all = || {
        (0..options.steps).try_for_each(|step| {
            if options.config.dedup.sampling_pages > 1 {
                if step % 5 == 0 {
                    driver.begin_run(4);
                }
                if step % 20 == 0 {
                    driver.idle(Some(&mut workload.rng))?;
                }
                return driver.serve(workload.next()).and_then(|()| driver.ftl.audit());
            }
            try_to_serve(&mut driver, workload.next())
        })
    };
    // Some bugs trip an assertion before a check comes round; both count as noticed.
    let noticed = catch_unwind(AssertUnwindSafe(&mut serve_all)).map_or(true, |outcome| outcome.is_err());
    let made = PLANTED.take().is_none();
    (made, noticed)
}

#[test]
fn every_planted_bug_is_noticed() {
    type System = fn(u64) -> Options;
    let systems: [(System, &[Bug]); 9] = [
        (options, &[Bug::ForgottenMove, Bug::SkippedInvalidate, Bug::StaleFingerprint]),
        (spreading, &[Bug::KeptDuplicate, Bug::SkippedInvalidate]),
        (copying_on_line, &[Bug::KeptShare, Bug::ForgottenMove]),
        (copying_by_recency, &[Bug::KeptClass, Bug::ForgottenMove]),
        (inverted, &[Bug::ForgottenLpn]),
        (deduplicating_later, &[Bug::LateMerge]),
        (partitioned, &[Bug::MixedPartitions]),
        (levelling, &[Bug::KeptFree]),
        (paging, &[Bug::CleanPage, Bug::LostPage]),
    ];
    for (system, bug) in systems.iter().flat_map(|(system, bugs)| bugs.iter().map(move |&bug| (system, bug)))
    {
        for seed in 0..8 {
            let (made, noticed) = run_with(bug, &system(seed));
            assert!(made, "{bug:?} had no occasion with seed {seed}");
            assert!(noticed, "{bug:?} went unnoticed with seed {seed}");
        }
    }
}

#[test]
fn damaged_tables_are_noticed() {
    let second_copy = |driver: &mut Driver| {
        let home = map(driver).home(Vpn::new(2));
        let plane = driver.geometry().plane(home);
        let page = driver.ftl.flash.blocks.program(plane, Stream::REPLICA, Owner::new(2)).unwrap();
        driver.ftl.flash.checker.as_mut().unwrap().copy(home, page, 0).unwrap();
        map(driver).add_replica(Vpn::new(2), 1, page);
    };
    let wrong_content = |driver: &mut Driver| {
        let (one, other) = (map(driver).home(Vpn::new(0)), map(driver).home(Vpn::new(1)));
        map(driver).place(Vpn::new(0), other);
        map(driver).place(Vpn::new(1), one);
    };
    type Damage = fn(&mut Driver);
    let damages: [(Damage, &str); 3] = [
        (|driver| map(driver).plant_reference(Vpn::new(3)), "VPN 3 counts 2 references, 1 pages point to it"),
        (second_copy, "VPN 2 has two copies on chip"),
        (wrong_content, "whose owner is"),
    ];
    for (damage, part) in damages {
        let mut driver = Driver::new(&options(0));
        (0..8).for_each(|lpn| assert!(driver.write(lpn, lpn, false).is_ok()));
        driver.ftl.audit().unwrap();
        damage(&mut driver);
        let error = driver.ftl.audit().unwrap_err().to_string();
        assert!(error.contains(part), "'{part}' is not in: {error}");
    }
}

fn map(driver: &mut Driver) -> &mut ContentMap {
    driver.ftl.contents_mut()
}

#[test]
fn a_program_out_of_order_is_noticed() {
    let mut driver = Driver::new(&options(0));
    driver.write(0, 0, false).unwrap();
    let home = map(&mut driver).home(Vpn::new(0));
    let geometry = driver.geometry().clone();
    let late = geometry.page_of_block(geometry.block_index(home), 3);
    let error = driver.ftl.flash.checker.as_mut().unwrap().program(late, 0, 7).unwrap_err();
    assert!(error.to_string().contains("the block's next page is 1"), "{error}");
}

#[test]
fn a_block_of_another_partition_than_its_pages_is_noticed() {
    let mut driver = Driver::new(&partitioned(0));
    driver.ftl.audit().unwrap();
    let page = driver.geometry().ppn(flashtwin_nand::Plane::new(0), 0, 0);
    // The controller knows nothing of this page: to it the block is of partition 0.
    driver.ftl.flash.checker.as_mut().unwrap().program(page, 2, 7).unwrap();
    let error = driver.ftl.audit().unwrap_err().to_string();
    assert!(error.contains("is of partition 0, its pages are of 2"), "{error}");
}
