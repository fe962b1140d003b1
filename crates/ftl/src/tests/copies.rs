//! Sources and places of copies, one after another, and the room for them.

use flashtwin_nand::NO_PPN;

use super::copying::{holding, options};
use super::driver::{Driver, Options};
use crate::redirection::RedirectionPolicy;
use crate::{Cause, FlashOp, Ftl, Lpn, OpKind, ReplicationPolicy};

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
    let geometry = driver.ftl.flash.blocks.geometry.clone();
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
fn copies_are_dropped_only_when_a_page_has_no_room() {
    for policy in [ReplicationPolicy::OnLine, ReplicationPolicy::PriorityLru] {
        let mut tight = options(policy);
        tight.config.replication.alpha = 0.0;
        let mut driver = holding(3, &tight);
        assert_eq!(driver.ftl.budget_pages(), Some(20));
        read(&mut driver, 1, 8);
        assert_eq!((driver.ftl.replica_pages(), driver.ftl.pages_in_use()), (7, 10), "{policy:?}");
        for lpn in 3..13 {
            driver.write(lpn, lpn, false).unwrap();
        }
        assert_eq!(
            (driver.ftl.replica_pages(), driver.ftl.pages_in_use()),
            (7, 20),
            "as many as there may be"
        );
        for (lpn, replicas) in [(13, 6), (14, 5)] {
            driver.write(lpn, lpn, false).unwrap();
            assert_eq!((driver.ftl.replica_pages(), driver.ftl.pages_in_use()), (replicas, 20));
        }
        assert_eq!(driver.ftl.counters().replication.dropped, 2);
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
    let most = Ftl::capacity_pages(&options.config, &driver.ftl.flash.blocks.geometry.clone());
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
