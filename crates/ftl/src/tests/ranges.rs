//! Checks of a configuration just below, at and just above each bound, with their messages.

use super::driver::geometry;
use crate::error::RangeError;
use crate::page::spread::SpreadPolicy;
use crate::{FtlConfig, Mapping, ReplicationPolicy};

fn check(config: &FtlConfig, channels: u32, chips: u32) -> Result<(), RangeError> {
    config.check(&geometry([channels, chips, 1, 1, 8, 2]))
}

#[test]
fn spreading_takes_up_to_64_channels_and_a_map_of_pages() {
    let mut config = FtlConfig::default();
    assert_eq!(check(&config, 65, 1), Ok(()), "without spreading");
    config.spread.policy = SpreadPolicy::Duplicates;
    assert_eq!(
        (check(&config, 63, 1), check(&config, 64, 1), check(&config, 64, 2)),
        (Ok(()), Ok(()), Ok(()))
    );
    let refused = |expected| Err(("spread.policy", "duplicates".to_string(), expected));
    assert_eq!(check(&config, 65, 1), refused("a device of at most 64 channels"));
    assert_eq!(check(&config, 66, 1), refused("a device of at most 64 channels"));
    config.mapping = Mapping::Content;
    let (_, _, expected) = check(&config, 8, 1).unwrap_err();
    assert_eq!(check(&config, 8, 1), refused(expected));
    assert!(expected.contains("ftl.mapping = \"page\""), "{expected}");
}

#[test]
fn replication_takes_up_to_256_chips_and_a_map_of_contents() {
    for policy in ReplicationPolicy::ALL.into_iter().filter(|&policy| policy != ReplicationPolicy::None) {
        let name = crate::names::in_configurations(policy);
        let name = name.as_str();
        let mut config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
        assert_eq!(check(&config, 257, 1), Ok(()), "without replication");
        config.replication.policy = policy;
        for (channels, chips) in [(255, 1), (256, 1), (64, 4)] {
            assert_eq!(check(&config, channels, chips), Ok(()), "{policy:?}: {channels} times {chips} chips");
        }
        for (channels, chips) in [(257, 1), (129, 2)] {
            let refused = Err(("replication.policy", name.to_string(), "a device of at most 256 chips"));
            assert_eq!(check(&config, channels, chips), refused, "{policy:?}");
        }
        config.mapping = Mapping::Page;
        let (key, value, expected) = check(&config, 4, 1).unwrap_err();
        assert_eq!((key, value.as_str()), ("replication.policy", name));
        assert!(expected.contains("ftl.mapping = \"content\""), "{expected}");
    }
}

#[test]
fn least_popularity_is_one_up_to_the_counters_maximum() {
    let key = "replication.least_popularity";
    let checked = |policy, least_popularity, chips| {
        let mut config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
        (config.replication.policy, config.replication.least_popularity) = (policy, least_popularity);
        check(&config, chips, 1).map_err(|(key, value, _)| (key, value))
    };
    for policy in ReplicationPolicy::ALL {
        assert_eq!(checked(policy, 0, 8), Err((key, "0".into())), "{policy:?}");
        for (least, chips) in [(1, 1), (1, 2), (1, 8), (6, 8), (7, 8)] {
            assert_eq!(checked(policy, least, chips), Ok(()), "{policy:?}: {least} reads, {chips} chips");
        }
        // Where nothing counts reads, the key says nothing.
        for (least, chips) in [(2, 1), (2, 2), (8, 8)] {
            let expected = if policy.counts_popularity() { Err((key, least.to_string())) } else { Ok(()) };
            assert_eq!(checked(policy, least, chips), expected, "{policy:?}: {least} reads, {chips} chips");
        }
    }
}

#[test]
fn spreading_numbers_are_accepted_up_to_their_bounds() {
    let refused = |change: &dyn Fn(&mut FtlConfig)| {
        let mut config = FtlConfig::default();
        change(&mut config);
        check(&config, 4, 1).err()
    };
    let range = |key, value: &str, expected| Some((key, value.to_string(), expected));
    for (bits, taken) in [(0, false), (1, true), (64, true), (65, false)] {
        let expected = range("spread.bloom_bits_per_page", &bits.to_string(), "1 to 64 bits");
        let found = refused(&|config| config.spread.bloom_bits_per_page = bits);
        assert_eq!(found, expected.filter(|_| !taken));
    }
    for (hashes, taken) in [(0, false), (1, true), (16, true), (17, false)] {
        let expected = range("spread.bloom_hashes", &hashes.to_string(), "1 to 16 hashes");
        let found = refused(&|config| config.spread.bloom_hashes = hashes);
        assert_eq!(found, expected.filter(|_| !taken));
    }
    for (share, taken) in
        [(-0.5, false), (0.0, false), (0.001, true), (1.0, true), (1.001, false), (f64::NAN, false)]
    {
        let expected = range("spread.bloom_rebuild", &share.to_string(), "a share above 0, up to 1");
        let found = refused(&|config| config.spread.bloom_rebuild = share);
        assert_eq!(found, expected.filter(|_| !taken));
    }
    for (candidates, taken) in [(0, false), (1, true), (u32::MAX, true)] {
        let expected = range("spread.candidates", &candidates.to_string(), "at least 1");
        let found = refused(&|config| config.spread.candidates = candidates);
        assert_eq!(found, expected.filter(|_| !taken));
    }
}

#[test]
fn the_room_for_copies_is_a_share_that_ends_and_is_not_below_0() {
    let checked = |alpha| {
        let mut config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
        config.replication.alpha = alpha;
        check(&config, 4, 1)
    };
    assert_eq!([0.0, 0.1, 7.0].map(checked), [Ok(()), Ok(()), Ok(())]);
    for alpha in [-0.1, f64::INFINITY, f64::NAN] {
        let expected = "a share of the footprint, 0 or more";
        assert_eq!(checked(alpha), Err(("replication.alpha", alpha.to_string(), expected)));
    }
}
