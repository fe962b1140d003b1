//! Checks of a configuration just below, at and just above each bound, with their messages.

use super::driver::geometry;
use crate::error::RangeError;
use crate::flash::partition::PartitionPolicy;
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
        check(&config, chips, 1).map_err(|(key, value, expected)| {
            assert!(expected.contains("chips less one"), "{expected}");
            (key, value)
        })
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

type Change = fn(&mut FtlConfig, f64);

/// A key with the expected range, numbers that are accepted, and numbers that are not.
type Range = (&'static str, &'static str, Change, &'static [f64], &'static [f64]);

const RANGES: [Range; 21] = [
    ("gc.start", SHARE, |config, share| config.gc.start = share, &[0.0, 0.99], &[1.0, -0.1]),
    ("gc.stop", SHARE, |config, share| config.gc.stop = share, &[0.0, 0.99], &[1.0, -0.1]),
    ("gc.idle_reserve", SHARE, |config, share| config.gc.idle_reserve = share, &[0.0], &[1.0]),
    ("gc.idle_valid", SHARE, |config, share| config.gc.idle_valid = share, &[0.0], &[1.0]),
    ("gc.urgent", SOME, |config, count| config.gc.urgent = count as u32, &[1.0], &[0.0]),
    ("gc.choices", SOME, |config, count| config.gc.choices = count as u32, &[1.0], &[0.0]),
    ("wear.threshold", SOME, |config, count| config.wear.threshold = count as u32, &[1.0], &[0.0]),
    ("wear.every", SOME, |config, count| config.wear.every = count as u32, &[1.0], &[0.0]),
    ("background.jobs", SOME, |config, count| config.background.jobs = count as u32, &[1.0], &[0.0]),
    (
        "allocation.hipa_threshold",
        "a factor from 1 to 1000",
        |config, factor| config.allocation.hipa_threshold = factor,
        &[1.0, 1000.0],
        &[0.9, 1000.5],
    ),
    (
        "allocation.hipa_weight",
        "a weight above 0, up to 1",
        |config, weight| config.allocation.hipa_weight = weight,
        &[1.0],
        &[0.0, 1.1, f64::NAN],
    ),
    (
        "allocation.hipa_sample_us",
        "0.001 to 1e9 microseconds",
        |config, sample| config.allocation.hipa_sample_us = sample,
        &[0.001, 1e9],
        &[0.0009],
    ),
    (
        "spread.bloom_bits_per_page",
        "1 to 64 bits",
        |config, bits| config.spread.bloom_bits_per_page = bits as u32,
        &[1.0, 64.0],
        &[0.0, 65.0],
    ),
    (
        "spread.bloom_hashes",
        "1 to 16 hashes",
        |config, hashes| config.spread.bloom_hashes = hashes as u32,
        &[1.0, 16.0],
        &[0.0, 17.0],
    ),
    (
        "spread.bloom_rebuild",
        "a share above 0, up to 1",
        |config, share| config.spread.bloom_rebuild = share,
        &[0.001, 1.0],
        &[-0.5, 0.0, 1.001, f64::NAN],
    ),
    ("spread.candidates", SOME, |config, count| config.spread.candidates = count as u32, &[1.0], &[0.0]),
    (
        "replication.alpha",
        "a share of the footprint, 0 or more",
        |config, alpha| config.replication.alpha = alpha,
        &[0.0, 0.1, 7.0],
        &[-0.1, f64::INFINITY, f64::NAN],
    ),
    (
        "replication.copies_per_read",
        "a number of copies above 0, up to 256",
        |config, copies| config.replication.copies_per_read = copies,
        &[0.01, 256.0],
        &[0.0, 256.5, f64::NAN],
    ),
    (
        "replication.most_copies",
        "1 to 256 copies",
        |config, copies| config.replication.most_copies = copies as u32,
        &[1.0, 256.0],
        &[0.0, 257.0],
    ),
    (
        "partition.window",
        "a share of the logical pages, above 0 and up to 100",
        |config, window| config.partition.window = window,
        &[0.01, 100.0],
        &[0.0, f64::NAN],
    ),
    (
        "partition.filter_bits",
        "from 1 to 64",
        |config, bits| config.partition.filter_bits = bits as u32,
        &[1.0, 64.0],
        &[0.0, 65.0],
    ),
];

const SHARE: &str = "a share from 0 up to but not including 1";
const SOME: &str = "at least 1";

#[test]
fn numbers_are_accepted_up_to_their_bounds() {
    for (key, expected, change, accepted, refused) in RANGES {
        let checked = |number| {
            let mut config = FtlConfig::default();
            change(&mut config, number);
            check(&config, 4, 1)
        };
        for &number in accepted {
            assert_eq!(checked(number), Ok(()), "{key} = {number}");
        }
        for &number in refused {
            assert_eq!(checked(number), Err((key, number.to_string(), expected)));
        }
    }
}

#[test]
fn partitions_are_up_to_32_and_two_by_filters() {
    let checked = |policy, partitions| {
        let mut config = FtlConfig::default();
        (config.partition.policy, config.partition.partitions) = (policy, partitions);
        check(&config, 1, 1)
    };
    use PartitionPolicy::{BloomFilters, Offline};
    assert_eq!((checked(Offline, 32), checked(BloomFilters, 2)), (Ok(()), Ok(())));
    assert_eq!(checked(Offline, 33), Err(("partition.partitions", "33".into(), "from 1 to 32")));
    let (key, value, expected) = checked(BloomFilters, 3).unwrap_err();
    assert_eq!((key, value.as_str()), ("partition.partitions", "3"));
    assert!(expected.contains("bloom-filters"), "{expected}");
}
