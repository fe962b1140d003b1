//! Copies made one by one: the effects of a few reads, step by step, and which copy serves a read.

use super::driver::{Driver, Options, Step, Workload};
use crate::controller::Controller;
use crate::flash::allocation::AllocationPolicy;
use crate::ids::{Content, Lpn};
use crate::redirection::RedirectionPolicy;
use crate::{
    Cause, CopyingCounts, FlashOp, Ftl, FtlConfig, Host, LoadView, Mapping, OpKind, ReplicationPolicy,
};
use flashtwin_nand::{NO_PPN, Ppn};

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

fn read(driver: &mut Driver, lpn: u32, reads: u32) {
    for _ in 0..reads {
        driver.read(lpn).unwrap();
        driver.idle(None).unwrap();
    }
}

fn of_copies(ops: &[FlashOp]) -> impl Iterator<Item = &FlashOp> {
    ops.iter().filter(|op| op.cause == Cause::Replica)
}

#[test]
fn each_copy_is_programmed_from_the_page_that_was_read_for_it() {
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::PriorityLru, ReplicationPolicy::EndOfPeriod]
    {
        // The home copy serves all reads; or the one that is least loaded, which is another each time.
        for redirection in [RedirectionPolicy::Home, RedirectionPolicy::Replicas] {
            let mut options = options(policy);
            options.config.redirection.policy = redirection;
            let mut driver = holding(3, &options);
            for turn in 0..6 {
                let chips = driver.chip.len();
                (0..chips).for_each(|chip| driver.chip[chip] = ((chip + 3 * turn) % chips) as u32);
                driver.unit.clone_from(&driver.chip);
                read(&mut driver, 1, 1);
            }
            driver.end_period().unwrap();
            let ops: Vec<_> = of_copies(&driver.ops).collect();
            assert!(ops.len() >= 2 * 5, "{policy:?}: {ops:?}");
            for pair in ops.chunks(2) {
                let [read, program] = pair else { panic!("a read and a program each: {ops:?}") };
                assert_eq!((read.kind, read.source), (OpKind::Read, NO_PPN), "{policy:?}");
                assert_eq!((program.kind, program.source), (OpKind::Program, read.ppn), "{policy:?}");
            }
            driver.ftl.audit().unwrap();
        }
    }
}

#[test]
fn copies_take_turns_among_the_planes_of_their_chip() {
    let mut options = Options { levels: [2, 1, 1, 4, 12, 8], ..options(ReplicationPolicy::OnLine) };
    options.units_per_chip = 4;
    let mut driver = holding(10, &options);
    (0..10).for_each(|lpn| read(&mut driver, lpn, 1));
    let geometry = driver.geometry().clone();
    let mut turns = [Vec::new(), Vec::new()];
    for op in of_copies(&driver.ops).filter(|op| op.kind == OpKind::Program) {
        let plane = geometry.plane(op.ppn);
        turns[geometry.chip_of_plane(plane).index()].push(plane.number() % 4);
    }
    assert_eq!(turns[0].len() + turns[1].len(), 10, "a copy of each content on the other chip");
    for planes in turns {
        let expected: Vec<u32> = (0..planes.len() as u32).map(|turn| turn % 4).collect();
        assert_eq!(planes, expected);
        assert!(planes.len() > 1);
    }
}

#[test]
fn content_never_drops_its_own_copy_for_another() {
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::PriorityLru] {
        let mut tight = options(policy);
        tight.config.replication.alpha = 0.0;
        let mut driver = holding(3, &tight);
        read(&mut driver, 1, 3);
        let replicas = driver.ftl.replica_pages();
        // While the next page is read, the host takes the free room.
        driver.read(1).unwrap();
        let free = 20 - driver.ftl.pages_in_use() as u32;
        for lpn in 3..3 + free {
            driver.write(lpn, lpn, false).unwrap();
        }
        driver.idle(None).unwrap();
        assert_eq!((driver.ftl.replica_pages(), driver.ftl.pages_in_use()), (replicas, 20), "{policy:?}");
        assert_eq!(driver.ftl.counters().replication.dropped, 0, "{policy:?}");
        assert!(of_copies(&driver.ops).last().unwrap().kind == OpKind::Read, "it was read in vain");
    }
}

#[test]
fn copies_for_which_there_is_no_job_are_counted_one_by_one() {
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::PriorityLru] {
        let mut driver = holding(4, &options(policy));
        driver.ftl.refuse_jobs();
        // A first read brings a page into the lowest class, which earns nothing.
        let (first, again) = if policy == ReplicationPolicy::OnLine { (1, 0) } else { (2, 1) };
        for (lpn, reads, dropped) in [(1, first, 1), (2, first, 2), (3, first, 3), (1, 1 + again, 4 + again)]
        {
            for _ in 0..reads {
                driver.read(lpn).unwrap();
            }
            let counters = driver.ftl.counters();
            assert_eq!(counters.spread.jobs_dropped, dropped, "{policy:?}, page {lpn}");
        }
        assert_eq!((driver.ftl.replica_pages(), of_copies(&driver.ops).count()), (0, 0));
    }
}

#[test]
fn copies_have_no_more_room_than_tables_on_flash_leave() {
    let footprint = 1_500;
    let mut options = Options { footprint, ..options(ReplicationPolicy::OnLine) };
    options.levels = [8, 1, 1, 1, 60, 8];
    options.config.mapping_cache.checkpoint_s = 1.0;
    let mut driver = Driver::new(&options);
    let most = Ftl::capacity_pages(&options.config, driver.geometry());
    // Entries with gaps between them: a page of the table for each.
    let addresses: Vec<u64> = (0..u64::from(footprint)).map(|lpn| lpn * 1_000).collect();
    let budget = driver.ftl.budget_pages();
    let capacity = driver.ftl.lay_out_tables(&options.config, &addresses);
    assert!(budget.is_some_and(|budget| budget <= most && budget > capacity), "{budget:?}, {capacity}");
    assert_eq!(driver.ftl.budget_pages(), Some(capacity));
}

#[test]
fn reads_before_preloading_ended_earn_no_copies_after_it() {
    for ends in [false, true] {
        let mut driver = holding(3, &options(ReplicationPolicy::EndOfPeriod));
        for _ in 0..5 {
            driver.read(1).unwrap();
        }
        if ends {
            driver.ftl.end_preload();
        }
        driver.read(2).unwrap();
        driver.end_period().unwrap();
        let copies = [1, 2].map(|lpn| driver.ftl.copies_of(Lpn::new(lpn)).unwrap().1.len());
        assert_eq!(copies, if ends { [0, 1] } else { [5, 1] });
    }
}

/// Page 1 has copies, page 2 has none, page 9 was never written.
fn with_copies(redirection: RedirectionPolicy) -> Driver {
    let mut options = options(ReplicationPolicy::OnLine);
    options.config.redirection.policy = redirection;
    let mut driver = holding(3, &options);
    (0..3).for_each(|_| assert!(driver.read(1).is_ok()));
    driver.idle(None).unwrap();
    driver
}

#[test]
fn read_takes_only_a_programmed_copy_that_its_policy_allows() {
    // The chips' queues in the order of their numbers: lower ones are less loaded.
    let queues: Vec<u32> = (0..8).collect();
    let loads = LoadView::new(&queues, &queues);
    for (policy, reads_copies) in [(RedirectionPolicy::Replicas, true), (RedirectionPolicy::Home, false)] {
        let driver = with_copies(policy);
        let among = |lpn, there: &dyn Fn(Ppn) -> bool| {
            let found = driver.ftl.locate_among(Lpn::new(lpn), &loads, there).unwrap();
            found.map(|(target, _)| (target.ppn, target.redirected))
        };
        let (home, copies) = driver.ftl.copies_of(Lpn::new(1)).unwrap();
        assert!(copies.len() >= 2, "{policy:?}");
        let chip = |ppn| driver.chip_of(ppn);
        let idlest = *copies.iter().min_by_key(|&&ppn| chip(ppn)).unwrap();
        let best = if chip(idlest) < chip(home) { (idlest, true) } else { (home, false) };
        assert_eq!(among(1, &|_| true), Some(if reads_copies { best } else { (home, false) }));
        // The home copy is on its way: the least loaded of the others; without it, the next.
        assert_eq!(among(1, &|ppn| ppn != home), reads_copies.then_some((idlest, true)));
        let second = *copies.iter().filter(|&&ppn| ppn != idlest).min_by_key(|&&ppn| chip(ppn)).unwrap();
        let rest = |ppn| ppn != home && ppn != idlest;
        assert_eq!(among(1, &rest), reads_copies.then_some((second, true)));
        assert_eq!(among(1, &|ppn| ppn == home), Some((home, false)), "the copies are on their way");
        assert_eq!((among(1, &|_| false), among(9, &|_| true)), (None, None));
        let (alone, none) = driver.ftl.copies_of(Lpn::new(2)).unwrap();
        assert_eq!((among(2, &|_| true), none), (Some((alone, false)), &[][..]));
        assert_eq!(among(2, &|ppn| ppn != alone), None);
    }
}

#[test]
fn a_controller_knows_the_most_that_it_held() {
    let mut driver = with_copies(RedirectionPolicy::Replicas);
    let copies = driver.ftl.copies_of(Lpn::new(1)).unwrap().1.len() as u64;
    let peak = driver.ftl.peak();
    assert_eq!((peak.pages_in_use, peak.replica_pages), (3 + copies, copies));
    // Trims do not lower it; new writes count from the rest.
    driver.trim(1);
    driver.write(5, 5, false).unwrap();
    let peak = driver.ftl.peak();
    assert_eq!((peak.pages_in_use, peak.replica_pages), (3 + copies, copies));
    driver.ftl.end_preload();
    let peak = driver.ftl.peak();
    assert_eq!((peak.pages_in_use, peak.replica_pages), (3, 0), "from the end of preloading on");
}
