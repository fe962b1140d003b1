//! The inputs that allocations need from the driver, and the numbers they accept.

use super::driver::{Driver, Options, geometry};
use crate::FtlConfig;
use crate::controller::Hints;
use crate::flash::allocation::{AllocationConfig, AllocationPolicy};

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
fn allocation_numbers_are_accepted_up_to_their_bounds() {
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
