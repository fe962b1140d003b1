//! Random devices, systems and workloads: after every step the tables agree with the plain truth beside them.

use flashtwin_nand::{Block, Plane};
use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::driver::{Driver, Options, Step, Workload, geometry};
use super::reach::Map;
use crate::flash::block_table::BlockState;
use crate::{Cause, FlashOp, Mapping, OpKind, ReadOutcome, ReplicationPolicy, Rng};

const SEEDS: u64 = 600;

#[test]
fn any_system_on_any_device_keeps_what_it_is_given() {
    let asked = |name: &str| std::env::var(name).ok()?.parse().ok();
    let (first, count) = (asked("FLASHTWIN_SEED").unwrap_or(0), asked("FLASHTWIN_SEEDS").unwrap_or(SEEDS));
    let fails = |seed: &u64| catch_unwind(AssertUnwindSafe(|| keeps_all(&Options::draw(*seed)))).is_err();
    let failed: Vec<u64> = (first..first + count).filter(fails).collect();
    let worst = failed.first().map(|&seed| Options::draw(seed));
    assert!(failed.is_empty(), "{} of {count} seeds fail, the first: {worst:?}", failed.len());
}

fn keeps_all(options: &Options) {
    let mut driver = Driver::new(options);
    let mut workload = Workload::new(options);
    for step in 0..options.steps {
        maybe_begin_run(&mut driver, options, &mut workload.rng);
        serve(&mut driver, workload.next());
        driver.shake_loads(&mut workload.rng);
        driver.idle(Some(&mut workload.rng)).unwrap();
        maybe_checkpoint(&mut driver, options, step);
        if step % options.audit_every == 0 {
            driver.ftl.audit().unwrap();
            check_budget(&driver, options);
        }
    }
    driver.idle(None).unwrap();
    driver.ftl.audit().unwrap();
    assert_eq!(driver.ftl.jobs_under_way(), 0);
    check_end(&driver, options);
}

fn maybe_begin_run(driver: &mut Driver, options: &Options, rng: &mut Rng) {
    let most = options.config.dedup.sampling_pages;
    if most > 1 && rng.below(most) == 0 {
        driver.begin_run(1 + rng.below(most));
    }
}

fn maybe_checkpoint(driver: &mut Driver, options: &Options, step: u32) {
    if options.checkpoint_every > 0 && step.is_multiple_of(options.checkpoint_every) {
        driver.checkpoint().unwrap();
        // Making room for the pages written may have made collection change a few.
        let clean = driver.ftl.paging_sizes().unwrap();
        assert!(clean.pages_dirty == 0 || clean.pages_on_flash > 0, "{clean:?}");
    }
}

fn serve(driver: &mut Driver, step: Step) {
    match step {
        Step::Read { lpn } => {
            let outcome = driver.read(lpn).unwrap();
            check_target(driver, outcome);
        }
        Step::Write { lpn, content, partial } => {
            let outcome = driver.write(lpn, content, partial).unwrap();
            assert!(outcome.program.is_some() || driver.ftl.spreader().is_none());
        }
        Step::Trim { lpn } => {
            driver.trim(lpn);
            assert_eq!(driver.read(lpn).unwrap(), ReadOutcome::Unmapped);
        }
        Step::EndPeriod => driver.end_period().unwrap(),
    }
}

fn check_target(driver: &Driver, outcome: ReadOutcome) {
    let ReadOutcome::Flash { target, .. } = outcome else { return };
    let geometry = driver.geometry();
    assert!(target.plane < Plane::new(geometry.planes()));
    assert!(driver.ftl.flash.blocks.owner(target.ppn).is_some());
}

fn check_budget(driver: &Driver, options: &Options) {
    let ftl = &driver.ftl;
    let Some(budget) = ftl.budget_pages() else {
        assert_eq!(ftl.replica_pages(), 0);
        return;
    };
    assert!(ftl.pages_in_use() <= budget, "{} pages in use, budget {budget}", ftl.pages_in_use());
    if options.config.replication.alpha == 0.0 {
        assert!(ftl.pages_in_use() <= u64::from(options.footprint));
    }
}

fn check_end(driver: &Driver, options: &Options) {
    check_space(driver);
    check_counts(driver);
    check_distinct_chips(driver, options);
    check_wear(driver);
}

/// free + valid + invalid = all pages, and free blocks are those that the planes think.
fn check_space(driver: &Driver) {
    let blocks = &driver.ftl.flash.blocks;
    let geometry = &blocks.geometry;
    for plane in 0..geometry.planes() {
        let (mut free, mut collecting) = (0, 0);
        for block in 0..geometry.blocks_per_plane {
            let index = geometry.block_index_of(Plane::new(plane), block);
            let (valid, written) = (blocks.table.valid(index), blocks.table.written(index));
            assert!(valid <= written && written <= geometry.pages_per_block);
            free += u32::from(blocks.table.state(index) == BlockState::Free);
            collecting += u32::from(blocks.table.state(index) == BlockState::Collecting);
        }
        assert_eq!(free, blocks.free_blocks(Plane::new(plane)), "plane {plane}");
        assert!(free + collecting >= 1, "plane {plane} has no block left to collect with");
        assert!(collecting <= 1, "plane {plane} collects {collecting} blocks at a time");
    }
}

fn check_counts(driver: &Driver) {
    let counters = driver.ftl.counters();
    let ordered = |kind: OpKind, cause: Cause| {
        driver.ops.iter().filter(|op: &&FlashOp| op.kind == kind && op.cause == cause).count() as u64
    };
    assert_eq!(ordered(OpKind::Program, Cause::Fingerprint), 0);
    for cause in [Cause::Gc, Cause::WearLevelling, Cause::Replica, Cause::Verify, Cause::Fingerprint] {
        assert_eq!(counters.programs[cause as usize], ordered(OpKind::Program, cause), "{cause:?}");
        assert_eq!(counters.reads[cause as usize], ordered(OpKind::Read, cause), "{cause:?}");
    }
    let levelled = ordered(OpKind::Erase, Cause::WearLevelling);
    let (gc, metadata) = (ordered(OpKind::Erase, Cause::Gc), ordered(OpKind::Erase, Cause::Metadata));
    assert_eq!((counters.erases, counters.mapping.erases), (gc + levelled + metadata, metadata));
    assert_eq!(counters.programs[Cause::Replica as usize], counters.replication.copies);
    let host = counters.host_programs();
    let gc = counters.programs[Cause::Gc as usize];
    let replica = counters.programs[Cause::Replica as usize];
    let wear = counters.programs[Cause::WearLevelling as usize];
    let metadata = counters.programs[Cause::Metadata as usize];
    assert_eq!(counters.pages_programmed(), host + gc + wear + replica + metadata);
    assert_eq!(counters.host_pages_written, host + counters.pages.duplicate_writes);
    check_dedup(driver);
    check_tables(driver, ordered(OpKind::Read, Cause::Metadata), ordered(OpKind::Program, Cause::Metadata));
    let victims: u64 = driver.ftl.victim_pages().iter().sum();
    let unfinished = driver.geometry().planes() as u64;
    let taken = victims + counters.wear.blocks_levelled;
    let erases = counters.erases - counters.mapping.erases;
    assert!(taken >= erases && taken <= erases + unfinished);
    assert!(
        levelled <= counters.wear.blocks_levelled && counters.wear.blocks_levelled <= victims + unfinished
    );
}

fn check_tables(driver: &Driver, reads: u64, programs: u64) {
    let counters = driver.ftl.counters();
    let mapping = counters.mapping;
    let looked_up = driver.lookups.iter().filter(|lookup| lookup.read.is_some()).count() as u64;
    assert_eq!(counters.reads[Cause::Metadata as usize], reads + looked_up);
    assert_eq!(counters.programs[Cause::Metadata as usize], programs);
    assert_eq!(programs, mapping.written_back + mapping.gc_updates + mapping.checkpointed + mapping.moved);
    assert!(looked_up <= mapping.misses);
    assert!(reads <= mapping.misses - looked_up + mapping.gc_updates + mapping.moved);
    let Some(sizes) = driver.ftl.paging_sizes() else {
        assert_eq!(mapping, crate::MappingCounts::default());
        return;
    };
    assert!(sizes.pages_cached <= driver.cache_pages && sizes.pages_on_flash <= sizes.pages, "{sizes:?}");
}

/// A page is hashed once at most when it is written, and once at most later.
fn check_dedup(driver: &Driver) {
    let counters = driver.ftl.counters();
    let dedup = counters.dedup;
    assert!(
        counters.pages.duplicate_writes <= dedup.hashes_inline
            && dedup.hashes_inline <= counters.host_pages_written
    );
    let unhashed = counters.host_pages_written - dedup.hashes_inline;
    assert!(matches!(driver.ftl.map(), Map::Page(_)) || dedup.hashes_out_of_line <= unhashed);
    assert!(dedup.hashes_out_of_line <= counters.reads[Cause::Fingerprint as usize]);
    assert!(dedup.duplicates_out_of_line <= dedup.hashes_out_of_line);
    assert!(dedup.duplicates_out_of_line <= counters.programs[Cause::MissedDuplicate as usize]);
    let moved =
        [Cause::Gc, Cause::WearLevelling].iter().map(|&cause| counters.programs[cause as usize]).sum::<u64>();
    let moved = if matches!(driver.ftl.map(), Map::Page(_)) { 0 } else { moved };
    assert_eq!(dedup.gc_updates_two_level, moved);
}

fn check_distinct_chips(driver: &Driver, options: &Options) {
    let Map::Content(map) = driver.ftl.map() else { return };
    let mut seen = HashSet::new();
    let mut copies = vec![0u64; 1 + geometry(options.levels).chips() as usize];
    for vpn in map.live() {
        let pages = map.replica_ppns(vpn).iter().chain([&map.home(vpn)]).copied().collect::<Vec<_>>();
        copies[pages.len()] += 1;
        for ppn in pages {
            let fresh = seen.insert((map.content(vpn), driver.ftl.flash.blocks.chip_of_page(ppn)));
            assert!(fresh || !options.config.dedup.knows_all());
        }
    }
    let told = driver.ftl.copies();
    assert!(told.iter().zip(&copies).all(|(a, b)| a == b));
    assert_eq!(driver.ftl.chip_replica_pages().iter().sum::<u64>(), driver.ftl.replica_pages());
}

fn check_wear(driver: &Driver) {
    let wear = driver.ftl.wear();
    let blocks: u64 = wear.iter().map(|row| row.1).sum();
    let erases: u64 = wear.iter().map(|row| u64::from(row.0) * row.1).sum();
    assert_eq!(blocks, driver.geometry().blocks());
    assert_eq!(erases, driver.ftl.counters().erases);
    assert_eq!(erases, driver.ftl.chip_erases().iter().sum::<u64>());
}

/// How often the swarm must reach a mechanism, over all its seeds, before its checks can be said to have tried it.
const OFTEN: u64 = 100;

/// Seeds that are enough for every mechanism to be reached as often.
const SEEDS_TO_REACH_ALL: u64 = 300;

#[test]
fn the_swarm_reaches_every_mechanism() {
    let mut reached = BTreeMap::new();
    for seed in 0..SEEDS_TO_REACH_ALL {
        let options = Options::draw(seed);
        let mut driver = Driver::new(&options);
        let mut workload = Workload::new(&options);
        for step in 0..options.steps {
            maybe_begin_run(&mut driver, &options, &mut workload.rng);
            serve(&mut driver, workload.next());
            driver.idle(Some(&mut workload.rng)).unwrap();
            driver.shake_loads(&mut workload.rng);
            maybe_checkpoint(&mut driver, &options, step);
        }
        for (mechanism, times) in mechanisms(&driver, &options) {
            *reached.entry(mechanism).or_insert(0) += times;
        }
        let content = options.config.mapping == Mapping::Content;
        assert!(content || options.config.replication.policy == ReplicationPolicy::None);
    }
    let seldom: Vec<_> = reached.iter().filter(|&(_, &times)| times <= OFTEN).collect();
    assert!(seldom.is_empty(), "reached at most {OFTEN} times: {seldom:?}");
}

fn mechanisms(driver: &Driver, options: &Options) -> Vec<(&'static str, u64)> {
    let (ftl, counters) = (&driver.ftl, driver.ftl.counters());
    let (mapping, programs) = (counters.mapping, |cause: Cause| counters.programs[cause as usize]);
    let only = |applies: bool, times: u64| if applies { times } else { 0 };
    let (hottest, colder) = pages_by_temperature(driver, options);
    vec![
        ("pages moved by collection", programs(Cause::Gc)),
        ("pages moved by wear levelling", programs(Cause::WearLevelling)),
        ("pages put on another plane than proposed", counters.pages.allocation_fallbacks),
        ("replicas made", counters.replication.copies),
        ("replicas made by priority-LRU", only(ftl.recency().is_some(), counters.replication.copies)),
        ("replicas dropped", counters.replication.dropped),
        ("duplicates missed", programs(Cause::MissedDuplicate)),
        ("pages hashed late", counters.dedup.hashes_out_of_line),
        ("duplicates merged late", counters.dedup.duplicates_out_of_line),
        (
            "inverted tables changed",
            only(matches!(ftl.map(), Map::Inverted(_)), counters.dedup.gc_updates_inverted),
        ),
        ("duplicates sent elsewhere", counters.pages.redirected_writes),
        ("duplicates found", counters.spread.twins_found),
        ("duplicates read", only(ftl.spreader().is_some(), counters.redirected_reads)),
        ("comparisons void", counters.spread.comparisons_void),
        ("comparisons dropped", counters.spread.jobs_dropped),
        ("filters rebuilt", counters.spread.filter_rebuilds),
        ("filters wrong by other entries", counters.spread.filter_false_positives),
        ("filters wrong by dead entries", counters.spread.filter_stale_positives),
        ("pages in the hottest partition", hottest),
        ("pages in colder partitions", colder),
        ("pages of tables missed", mapping.misses),
        ("pages of tables written back", mapping.written_back),
        ("pages of tables changed by collection", mapping.gc_updates),
        ("pages of tables in checkpoints", mapping.checkpointed),
        ("pages of tables moved", mapping.moved),
    ]
}

fn pages_by_temperature(driver: &Driver, options: &Options) -> (u64, u64) {
    if options.config.partitions() <= 1 {
        return (0, 0);
    }
    let blocks = &driver.ftl.flash.blocks;
    let all = (0..blocks.geometry.block_index_len() as u32).map(|block| {
        (blocks.table.partition(Block::new(block)) == 0, u64::from(blocks.table.written(Block::new(block))))
    });
    let (hottest, colder): (Vec<_>, Vec<_>) = all.partition(|&(hottest, _)| hottest);
    let sum = |blocks: Vec<(bool, u64)>| blocks.iter().map(|block| block.1).sum();
    (sum(hottest), sum(colder))
}
