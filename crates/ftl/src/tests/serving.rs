//! Which copy serves a read where some are not on the flash yet; what a controller says of its needs and its peak.

use flashtwin_nand::Ppn;

use super::driver::{Driver, Options, geometry};
use crate::flash::allocation::{AllocationConfig, AllocationPolicy};
use crate::redirection::RedirectionPolicy;
use crate::{FtlConfig, LoadView, Lpn, MappingForm, ReplicationPolicy};

/// Eight chips of one plane; page 1 has copies, page 2 has none, page 9 was never written.
fn with_copies(redirection: RedirectionPolicy) -> Driver {
    let mut config = FtlConfig { mapping: MappingForm::Content, ..FtlConfig::default() };
    (config.replication.policy, config.replication.alpha) = (ReplicationPolicy::OnLine, 20.0);
    config.redirection.policy = redirection;
    let levels = [8, 1, 1, 1, 12, 8];
    let mut driver = Driver::new(&Options {
        levels,
        config,
        footprint: 20,
        contents: 40,
        units_per_chip: 1,
        ..Options::draw(0)
    });
    (0..3).for_each(|lpn| assert!(driver.write(lpn, lpn, false).is_ok()));
    (0..3).for_each(|_| assert!(driver.read(1).is_ok()));
    driver.idle(None).unwrap();
    driver
}

#[test]
fn a_read_takes_a_copy_that_is_there_and_none_where_its_policy_may_take_none() {
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
        let idlest = *copies.iter().min_by_key(|&&ppn| driver.ftl.flash.blocks.chip_of_page(ppn)).unwrap();
        let chip = |ppn| driver.ftl.flash.blocks.chip_of_page(ppn);
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
    // What goes does not lower it; what comes counts from what is left.
    driver.ftl.trim(Lpn::new(1));
    driver.write(5, 5, false).unwrap();
    let peak = driver.ftl.peak();
    assert_eq!((peak.pages_in_use, peak.replica_pages), (3 + copies, copies));
    driver.ftl.end_preload();
    let peak = driver.ftl.peak();
    assert_eq!((peak.pages_in_use, peak.replica_pages), (3, 0), "from the end of preloading on");
}

#[test]
fn only_allocations_that_follow_addresses_want_them() {
    use AllocationPolicy::{Dynamic, Hipa, LeastLoaded, Static};
    for (policy, wants) in [(Static, true), (Dynamic, false), (LeastLoaded, false), (Hipa, true)] {
        let mut config = FtlConfig::default();
        config.allocation.policy = policy;
        let driver = Driver::new(&Options { config, ..Options::draw(0) });
        assert_eq!(driver.ftl.wants_address(), wants, "{policy:?}");
    }
}

#[test]
fn numbers_of_allocation_out_of_range_are_refused_and_the_last_ones_are_taken() {
    let geometry = geometry([1, 1, 1, 1, 8, 2]);
    let checked = |change: &dyn Fn(&mut AllocationConfig)| {
        let mut config = FtlConfig::default();
        change(&mut config.allocation);
        config.check(&geometry).map_err(|(key, number, _)| (key, number))
    };
    let (threshold, weight, sample) =
        ("allocation.hipa_threshold", "allocation.hipa_weight", "allocation.hipa_sample_us");
    assert_eq!(checked(&|config| config.hipa_threshold = 0.9), Err((threshold, "0.9".into())));
    assert_eq!(checked(&|config| config.hipa_threshold = 1000.5), Err((threshold, "1000.5".into())));
    assert_eq!(checked(&|config| config.hipa_weight = 0.0), Err((weight, "0".into())));
    assert_eq!(checked(&|config| config.hipa_weight = 1.1), Err((weight, "1.1".into())));
    assert_eq!(checked(&|config| config.hipa_weight = f64::NAN), Err((weight, "NaN".into())));
    assert_eq!(checked(&|config| config.hipa_sample_us = 0.0009), Err((sample, "0.0009".into())));
    let last = |config: &mut AllocationConfig| {
        (config.hipa_threshold, config.hipa_weight, config.hipa_sample_us) = (1.0, 1.0, 1e9);
    };
    assert_eq!(checked(&last), Ok(()));
}
