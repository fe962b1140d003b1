//! Which copy serves a read where some are not on the flash yet; the most that was held at once.

use crate::controller::Controller;
use flashtwin_nand::Ppn;

use super::copying::{holding, options};
use super::driver::Driver;
use crate::redirection::RedirectionPolicy;
use crate::{LoadView, Lpn, ReplicationPolicy};

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
