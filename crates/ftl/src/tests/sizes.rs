//! The controller's statistics: bytes of its tables, contents by plane, uses of table pages.

use super::driver::{Driver, Options};
use crate::content::replication::ReplicationPolicy;
use crate::dedup::{EvictionPolicy, TableKind};
use crate::{CacheBytes, Content, Controller, Entries, FtlConfig, Mapping, PlaneContents};

fn device(config: &FtlConfig, contents: u32) -> Driver {
    Driver::new(&Options {
        levels: [2, 1, 1, 1, 20, 8],
        config: config.clone(),
        footprint: 40,
        contents,
        units_per_chip: 1,
        ..Options::draw(0)
    })
}

fn content_addressed() -> FtlConfig {
    FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() }
}

#[test]
fn a_content_takes_as_many_bytes_as_its_tables_say() {
    // Whether it was ever written and read: 1. Its place in the store: 4.
    let least = 1 + 4;
    // How often it is on flash, where the controller may not know: 4.
    let unknown = 4;
    let few = Entries::Limited(3);
    for (tables, entries, eviction, sampling_pages, bytes) in [
        (TableKind::TwoLevel, Entries::Unlimited, EvictionPolicy::LruWrites, 1, least),
        (TableKind::Inverted, Entries::Unlimited, EvictionPolicy::LruWrites, 1, least),
        (TableKind::TwoLevel, Entries::Unlimited, EvictionPolicy::LruWrites, 2, least + unknown),
        // Its neighbours in the order in which entries go: 8; its references and its list: 2.
        (TableKind::TwoLevel, few, EvictionPolicy::LruWrites, 1, least + unknown + 8),
        (TableKind::Inverted, few, EvictionPolicy::LruWrites, 1, least + unknown + 8),
        (TableKind::TwoLevel, few, EvictionPolicy::ReferenceCount, 1, least + unknown + 8 + 2),
    ] {
        let mut config = content_addressed();
        (config.dedup.tables, config.dedup.fingerprint_entries) = (tables, entries);
        (config.dedup.eviction, config.dedup.sampling_pages) = (eviction, sampling_pages);
        let held = |contents| device(&config, contents).ftl.table_sizes().content_table_bytes;
        assert_eq!(held(1_100) - held(100), 1_000 * bytes, "{tables:?}, {entries:?}, {eviction:?}");
    }
}

#[test]
fn a_page_that_was_used_takes_eight_bytes_of_inverted_tables() {
    let mut config = content_addressed();
    config.dedup.tables = TableKind::Inverted;
    let mut driver = device(&config, 40);
    let held =
        |driver: &Driver| driver.ftl.table_sizes().page_table_bytes - driver.ftl.flash.blocks.bytes_in_use();
    // A logical page: where it lies, and its two neighbours in the list of that page.
    assert_eq!(held(&driver), 40 * (4 + 8));
    driver.write(0, 0, false).unwrap();
    assert_eq!(held(&driver), 40 * (4 + 8) + 8 * 8, "the pages of one block");
    let without = driver.ftl.flash.blocks.bytes_in_use();
    assert!(without > 0 && driver.ftl.table_sizes().page_table_bytes > without);
}

#[test]
fn pages_of_the_tables_take_what_finds_and_orders_them() {
    let mut config = FtlConfig::default();
    assert_eq!(device(&config, 0).ftl.paging_sizes(), None);
    config.mapping_cache.bytes = CacheBytes::Limited(64);
    // 40 LPNs on three pages of 16: the page of each LPN; place, neighbours and flags of each page
    // and the neighbours of the ring's closing entry.
    let sizes = device(&config, 0).ftl.paging_sizes().unwrap();
    assert_eq!((sizes.pages, sizes.simulator_bytes), (3, 40 * 4 + 3 * (4 + 9) + 8));
}

#[test]
fn limited_cache_may_lack_table_and_fingerprint_pages() {
    let lacks = |limited, fingerprints| {
        let mut config = content_addressed();
        config.dedup.fingerprint_entries = Entries::Limited(4);
        config.mapping_cache.checkpoint_s = 1.0;
        if limited {
            config.mapping_cache.bytes = CacheBytes::Limited(64);
        }
        config.mapping_cache.fingerprints = fingerprints;
        let ftl = device(&config, 40).ftl;
        (Controller::pages_tables(&ftl), Controller::pages_fingerprints(&ftl))
    };
    assert_eq!([lacks(false, false), lacks(false, true)], [(false, false); 2]);
    assert_eq!([lacks(true, false), lacks(true, true)], [(true, false), (true, true)]);
    let in_ram = device(&content_addressed(), 40).ftl;
    assert_eq!((in_ram.pages_tables(), in_ram.pages_fingerprints()), (false, false));
}

#[test]
fn priority_lru_lists_the_pages_that_were_read() {
    let mut config = content_addressed();
    let sizes = |config: &FtlConfig| {
        let mut driver = device(config, 40);
        (0..5).for_each(|lpn| assert!(driver.write(lpn, lpn, false).is_ok()));
        (1..4).for_each(|lpn| assert!(driver.read(lpn).is_ok()));
        driver.ftl.table_sizes()
    };
    let without = sizes(&config);
    config.replication.policy = ReplicationPolicy::PriorityLru;
    let with = sizes(&config);
    assert_eq!((without.listed_pages, with.listed_pages), (0, 3));
    let lists = with.content_table_bytes - without.content_table_bytes;
    assert!(lists >= 3 * 12, "the class and two neighbours of three pages take {lists} bytes");
}

#[test]
fn what_planes_hold_is_known_where_contents_are() {
    let config = FtlConfig::default();
    let mut driver = device(&config, 0);
    driver.write(0, u32::MAX, false).unwrap();
    assert!(driver.ftl.plane_contents().is_none());
    let mut driver = device(&config, 9);
    for (lpn, content) in [(0, 5), (1, 5), (2, 5), (3, 7)] {
        driver.write(lpn, content, false).unwrap();
    }
    let of_planes = driver.ftl.plane_contents().unwrap();
    let pages: u64 = of_planes.iter().map(|plane| plane.pages).sum();
    // Addresses 0, 1, 3 and 4 go to chips 0, 1, 1 and 0.
    let expected = [PlaneContents { pages: 2, contents: 2 }, PlaneContents { pages: 2, contents: 1 }];
    assert_eq!((pages, of_planes.iter().copied().collect::<Vec<_>>()), (4, expected.to_vec()));
}

/// Uses of pages of the tables by looking up the fingerprint of a content, as an engine does it.
fn uses_of_a_lookup(config: &FtlConfig) -> u64 {
    fn look_up(controller: &mut impl Controller) {
        controller.look_up_fingerprint(Content::new(3)).unwrap();
    }
    let mut driver = device(config, 40);
    let before = driver.ftl.counters().mapping;
    look_up(&mut driver.ftl);
    let after = driver.ftl.counters().mapping;
    after.hits + after.misses - before.hits - before.misses
}

#[test]
fn fingerprint_lookup_uses_a_page_if_the_store_is_on_flash() {
    let mut config = content_addressed();
    config.mapping_cache.bytes = CacheBytes::Limited(4 * 64);
    assert_eq!(uses_of_a_lookup(&config), 0, "the store is in RAM");
    config.mapping_cache.fingerprints = true;
    assert_eq!(uses_of_a_lookup(&config), 1);
}
