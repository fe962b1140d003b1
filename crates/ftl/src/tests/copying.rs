//! Copies made one by one: the effects of a few reads, step by step.

use super::driver::{Driver, Options, Step, Workload};
use crate::content::replication::degree::DegreePolicy;
use crate::content::replication::placement::PlacementPolicy;
use crate::controller::Controller;
use crate::flash::allocation::AllocationPolicy;
use crate::ids::{Content, Lpn};
use crate::redirection::RedirectionPolicy;
use crate::{
    Cause, CopyingCounts, FlashOp, FtlConfig, Host, LoadView, Mapping, OpKind, ReplicationConfig,
    ReplicationPolicy,
};
use flashtwin_nand::Ppn;

/// Eight chips of one plane, room for as many copies as anybody wants.
pub(super) fn options(policy: ReplicationPolicy) -> Options {
    let mut config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
    config.replication.policy = policy;
    config.replication.alpha = 20.0;
    config.redirection.policy = RedirectionPolicy::Replicas;
    Options::of([8, 1, 1, 1, 12, 8], config, 20, 40)
}

pub(super) fn holding(pages: u32, options: &Options) -> Driver {
    let mut driver = Driver::new(options);
    for lpn in 0..pages {
        driver.write(lpn, lpn, false).unwrap();
    }
    driver
}

fn copies_of(driver: &Driver, lpn: u32) -> usize {
    let map = driver.contents();
    map.copies(map.vpn_of(Lpn::new(lpn))).count()
}

#[test]
fn reads_while_a_copy_is_under_way_earn_theirs_too() {
    for (policy, reads, copies) in [
        (ReplicationPolicy::OnLine, 5, 6),
        (ReplicationPolicy::OnLine, 30, 8),
        // The first read brings a page into the lowest class, which earns nothing.
        (ReplicationPolicy::PriorityLru, 5, 5),
        (ReplicationPolicy::PriorityLru, 30, 8),
    ] {
        let mut driver = holding(3, &options(policy));
        for _ in 0..reads {
            driver.read(1).unwrap();
        }
        assert_eq!(copies_of(&driver, 1), 1, "no time for any");
        driver.idle(None).unwrap();
        assert_eq!(copies_of(&driver, 1), copies, "{policy:?}, {reads} reads");
        driver.ftl.audit().unwrap();
        assert_eq!(driver.ftl.jobs_under_way(), 0);
    }
}

#[test]
fn content_that_reuses_a_vpn_gets_its_own_copies() {
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::PriorityLru] {
        let mut driver = holding(3, &options(policy));
        for _ in 0..4 {
            driver.read(1).unwrap();
        }
        // Content 1 dies while it is read to be copied; content 9 is given its number.
        driver.write(1, 9, false).unwrap();
        driver.write(4, 1, false).unwrap();
        driver.write(4, 5, false).unwrap();
        for _ in 0..3 {
            driver.read(1).unwrap();
        }
        driver.idle(None).unwrap();
        let earned = if policy == ReplicationPolicy::OnLine { 3 } else { 2 };
        assert_eq!(copies_of(&driver, 1), 1 + earned, "{policy:?}");
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn copies_that_find_no_room_are_not_tried_again_and_again() {
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::PriorityLru] {
        let mut tight = options(policy);
        tight.config.replication.alpha = 0.0;
        let mut driver = holding(tight.footprint, &tight);
        for _ in 0..9 {
            driver.read(1).unwrap();
        }
        driver.idle(None).unwrap();
        assert_eq!((copies_of(&driver, 1), driver.ftl.jobs_under_way()), (1, 0));
    }
}

/// The sources of copies since operation `since`, as places of page 1's content: 0 is its home,
/// then its replicas.
fn sources(driver: &Driver, since: usize) -> Vec<usize> {
    let map = driver.contents();
    let places: Vec<Ppn> = map.copies(map.vpn_of(Lpn::new(1))).collect();
    let reads = driver.ops[since..].iter().filter(|op| op.kind == OpKind::Read && op.cause == Cause::Replica);
    reads.map(|op| places.iter().position(|&ppn| ppn == op.ppn).unwrap()).collect()
}

#[test]
fn copies_of_a_period_are_read_in_turn_from_earlier_places() {
    let mut driver = holding(3, &options(ReplicationPolicy::EndOfPeriod));
    for (reads, expected) in [(2, vec![0, 0]), (7, vec![0, 1, 2, 0, 1]), (3, vec![])] {
        for _ in 0..reads {
            driver.read(1).unwrap();
        }
        let since = driver.ops.len();
        driver.end_period().unwrap();
        assert_eq!(sources(&driver, since), expected);
    }
}

#[test]
fn on_line_copy_is_read_where_its_earning_read_was_served() {
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::PriorityLru] {
        let mut driver = holding(3, &options(policy));
        let home = 1;
        for _ in 0..2 {
            driver.read(1).unwrap();
            driver.idle(None).unwrap();
        }
        // The home chip is busy now, and so is the first replica's, a little less.
        let second = copies_of(&driver, 1) - 1;
        driver.chip.fill(9);
        driver.chip[home] = 20;
        let map = driver.contents();
        let ppn = map.replica_ppns(map.vpn_of(Lpn::new(1)))[second - 1];
        let chip = driver.chip_of(ppn);
        driver.chip[chip.index()] = 8;
        let since = driver.ops.len();
        driver.read(1).unwrap();
        assert_eq!(sources(&driver, since), [second], "{policy:?}");
        // Those that follow: from the least loaded place that is programmed by then.
        for _ in 0..2 {
            driver.read(1).unwrap();
        }
        driver.idle(None).unwrap();
        assert_eq!(sources(&driver, since), [second; 3], "{policy:?}");
        driver.ftl.audit().unwrap();
    }
}

#[test]
fn the_budget_is_exact() {
    for (alpha, budget) in [(0.0, 100), (0.15, 115), (0.29, 129), (0.001, 100), (5.0, 600), (1e300, 639)] {
        let mut options = options(ReplicationPolicy::EndOfPeriod);
        (options.footprint, options.config.replication.alpha) = (100, alpha);
        options.levels[4] = 14;
        assert_eq!(Driver::new(&options).ftl.budget_pages(), Some(budget), "alpha = {alpha}");
    }
}

#[test]
fn no_copy_gives_way_to_one_that_finds_no_chip() {
    for policy in [ReplicationPolicy::EndOfPeriod, ReplicationPolicy::OnLine] {
        // Two chips of one plane that takes eight pages; even addresses belong on chip 0.
        let mut options = options(policy);
        options.levels = [2, 1, 1, 1, 6, 4];
        (options.footprint, options.config.replication.alpha) = (10, 0.0);
        options.config.allocation.policy = AllocationPolicy::Static;
        let mut driver = Driver::new(&options);
        let page = |driver: &mut Driver, lpn: u32, chip: u64| {
            let loads = LoadView::new(&driver.chip, &driver.unit);
            let page = Host { lpn: Lpn::new(lpn), address: chip, content: Content::new(lpn) };
            driver.ftl.write(page, false, &loads, &mut driver.ops).unwrap();
        };
        page(&mut driver, 0, 0);
        (1..8).for_each(|lpn| page(&mut driver, lpn, 1));
        // Content 1 gets a copy on chip 0, then chip 1 is full: ten pages in all, which is the budget.
        driver.read(1).unwrap();
        driver.idle(None).unwrap();
        driver.end_period().unwrap();
        page(&mut driver, 8, 1);
        assert_eq!((copies_of(&driver, 1), driver.ftl.pages_in_use()), (2, 10));
        // Content 0 is more popular now, but there is no chip for its copy.
        for _ in 0..3 {
            driver.read(0).unwrap();
            driver.idle(None).unwrap();
        }
        driver.end_period().unwrap();
        assert_eq!((copies_of(&driver, 0), copies_of(&driver, 1)), (1, 2), "{policy:?}");
        driver.ftl.audit().unwrap();
    }
}

/// Copies of contents 0, 1, 2, ... that were read 0, 1, 2, ... times.
fn copies_by_reads(change: impl Fn(&mut ReplicationConfig), policy: ReplicationPolicy) -> Vec<usize> {
    let mut options = options(policy);
    change(&mut options.config.replication);
    let mut driver = holding(8, &options);
    for lpn in 0..8 {
        for _ in 0..lpn {
            driver.read(lpn).unwrap();
        }
    }
    driver.idle(None).unwrap();
    driver.end_period().unwrap();
    driver.ftl.audit().unwrap();
    (0..8).map(|lpn| copies_of(&driver, lpn)).collect()
}

#[test]
fn how_many_copies_reads_earn_can_be_said() {
    for policy in [ReplicationPolicy::EndOfPeriod, ReplicationPolicy::OnLine] {
        let copies = |change: fn(&mut ReplicationConfig)| copies_by_reads(change, policy);
        assert_eq!(copies(|_| {}), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(copies(|rules| rules.copies_per_read = 0.25), [1, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(copies(|rules| rules.copies_per_read = 2.5), [1, 3, 6, 8, 8, 8, 8, 8]);
        assert_eq!(copies(|rules| rules.most_copies = 4), [1, 2, 3, 4, 4, 4, 4, 4]);
        assert_eq!(copies(|rules| rules.most_copies = 1), [1; 8]);
        assert_eq!(copies(|rules| rules.least_popularity = 3), [1, 1, 1, 4, 5, 6, 7, 8]);
        let all_three = |rules: &mut ReplicationConfig| {
            (rules.degree, rules.most_copies, rules.least_popularity) = (DegreePolicy::ManyOfFew, 5, 6);
        };
        assert_eq!(copies(all_three), [1, 1, 1, 1, 1, 1, 5, 5]);
    }
}

fn collection(ops: &[FlashOp]) -> CopyingCounts {
    let count = |kind, causes: &[Cause]| {
        ops.iter().filter(|op| op.kind == kind && causes.contains(&op.cause)).count() as u64
    };
    CopyingCounts {
        gc_reads: count(OpKind::Read, &[Cause::Gc]),
        gc_programs: count(OpKind::Program, &[Cause::Gc]),
        wear_levelling_programs: count(OpKind::Program, &[Cause::WearLevelling]),
        erases: count(OpKind::Erase, &[Cause::Gc, Cause::WearLevelling]),
    }
}

#[test]
fn collection_that_copies_set_off_is_counted_apart() {
    let mut pages = [0; 2];
    for seed in 0..200 {
        let mut options = Options::draw(seed);
        options.config.mapping = Mapping::Content;
        options.plain_dedup();
        let policies = [ReplicationPolicy::EndOfPeriod, ReplicationPolicy::OnLine];
        options.config.replication.policy = policies[seed as usize % 2];
        (options.config.replication.alpha, options.read_percent, options.period_every) = (30.0, 50, 30);
        let mut driver = Driver::new(&options);
        let mut workload = Workload::new(&options);
        // Operations that only copies can have set off: those of period ends and of idle time.
        let mut set_off = Vec::new();
        for _ in 0..options.steps {
            let mut first = driver.ops.len();
            let step = workload.next();
            driver.serve(step).unwrap();
            if !matches!(step, Step::EndPeriod) {
                first = driver.ops.len();
            }
            driver.idle(None).unwrap();
            set_off.extend_from_slice(&driver.ops[first..]);
            assert_eq!(driver.ftl.counters().copying, collection(&set_off), "seed {seed}");
        }
        pages[seed as usize % 2] += driver.ftl.counters().copying.gc_programs;
    }
    assert!(pages.iter().all(|&pages| pages > 1_000), "{pages:?} pages collected say little");
}

#[test]
fn periods_without_reads_or_contents_make_no_copies() {
    for policy in ReplicationPolicy::ALL {
        for (degree, placement) in [
            (DegreePolicy::ManyOfFew, PlacementPolicy::Score),
            (DegreePolicy::Popularity, PlacementPolicy::Random),
        ] {
            let mut options = options(policy);
            let rules = &mut options.config.replication;
            (rules.degree, rules.placement, rules.adjust_every) = (degree, placement, 1);
            let mut driver = Driver::new(&options);
            let end = |driver: &mut Driver| {
                let first = driver.ops.len();
                (0..3).for_each(|_| driver.end_period().unwrap());
                driver.ftl.audit().unwrap();
                driver.ops.len() - first
            };
            assert_eq!(end(&mut driver), 0);
            driver.read(3).unwrap();
            assert_eq!(end(&mut driver), 0);
            for lpn in 0..8 {
                driver.write(lpn, lpn, false).unwrap();
            }
            assert_eq!(end(&mut driver), 0);
            // Read, and gone when the period ends, or when its copy is to be placed.
            for _ in 0..4 {
                driver.read(3).unwrap();
            }
            (0..8).for_each(|lpn| driver.trim(lpn));
            driver.idle(None).unwrap();
            driver.read(3).unwrap();
            assert_eq!((end(&mut driver), driver.ftl.pages_in_use()), (0, 0), "{policy:?}");
        }
    }
}
