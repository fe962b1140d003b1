//! Contents of table pages on flash, entry by entry, and the time of write-backs.

use crate::controller::Controller;
use std::collections::BTreeSet;

use super::driver::Driver;
use crate::ftl::Scheme;
use crate::ids::TablePage;
use crate::paging::{Layout, Map as _};
use crate::{CacheBytes, Content, Entries, FtlConfig, Lpn, Mapping};

/// Two channels of one plane; four pages of the tables fit in RAM.
fn device(mapping: Mapping) -> (Driver, FtlConfig) {
    let mut config = FtlConfig { mapping, ..FtlConfig::default() };
    config.mapping_cache.bytes = CacheBytes::Limited(4 * 64);
    config.mapping_cache.fingerprints = mapping == Mapping::Content;
    config.dedup.fingerprint_entries = Entries::Limited(8);
    (Driver::of([2, 1, 1, 1, 40, 8], config.clone(), 160, 200), config)
}

fn layout(driver: &Driver, config: &FtlConfig) -> Layout {
    Layout::new(config.table_shape(), driver.geometry(), (0..160u32).map(u64::from))
}

fn entries(driver: &Driver, layout: &Layout, page: TablePage) -> (Vec<u32>, bool) {
    let mut entries = Vec::new();
    let mut take = |entry| entries.push(entry);
    let any = match &driver.ftl.tables {
        Scheme::Page(scheme) => {
            scheme.tables.map.each_entry(layout, page, &mut take);
            scheme.tables.map.has_entries(layout, page)
        }
        Scheme::Content(scheme) => {
            scheme.tables.map.each_entry(layout, page, &mut take);
            scheme.tables.map.has_entries(layout, page)
        }
        Scheme::Inverted(_) => unreachable!("they stay in RAM"),
    };
    (entries, any)
}

#[test]
fn a_page_of_a_page_map_says_where_its_logical_pages_lie() {
    let (mut driver, config) = device(Mapping::Page);
    let layout = layout(&driver, &config);
    // 16 entries a page: the first is of pages 0 to 15.
    let of = |lpn| layout.of_lpn(Lpn::new(lpn));
    assert_eq!((of(0), of(15) == of(16)), (of(15), false));
    assert_eq!(entries(&driver, &layout, of(0)), (vec![flashtwin_nand::NO_PPN.number(); 16], false));
    let places = [3, 7].map(|lpn| driver.write(lpn, u32::MAX, false).unwrap().program.unwrap().0);
    let mut expected = vec![flashtwin_nand::NO_PPN.number(); 16];
    (expected[3], expected[7]) = (places[0].number(), places[1].number());
    assert_eq!(entries(&driver, &layout, of(0)), (expected, true));
    assert!(!entries(&driver, &layout, of(16)).1);
}

#[test]
fn a_page_of_the_store_says_which_of_its_contents_are_where() {
    let (mut driver, config) = device(Mapping::Content);
    let layout = layout(&driver, &config);
    let of = |content| layout.of_fingerprint(Content::new(content)).unwrap();
    assert_eq!(entries(&driver, &layout, of(9)), (vec![], false));
    for (lpn, content) in [(0, 9), (1, 30), (2, 31), (3, 9)] {
        driver.write(lpn, content, false).unwrap();
    }
    let vpn_of = |lpn| driver.contents().vpn_of(Lpn::new(lpn)).number();
    let mut found = BTreeSet::new();
    for page in BTreeSet::from([9, 30, 31].map(|content| of(content).number())) {
        let (entries, any) = entries(&driver, &layout, TablePage::new(page));
        assert!(any && entries.len() >= 2 && entries.len() % 2 == 0, "page {page}: {entries:?}");
        found.extend(entries.chunks(2).map(|entry| (entry[0], entry[1], page)));
    }
    let expected =
        [(9, 0), (30, 1), (31, 2)].map(|(content, lpn)| (content, vpn_of(lpn), of(content).number()));
    assert_eq!(found, BTreeSet::from(expected));
}

#[test]
fn the_end_of_a_period_sees_to_what_trims_changed() {
    for mapping in [Mapping::Page, Mapping::Content] {
        let (mut driver, _) = device(mapping);
        for lpn in 0..160 {
            driver.write(lpn, lpn, false).unwrap();
        }
        driver.ftl.begin_jobs(&mut driver.ops).unwrap();
        let before = driver.ops.len();
        // Each in another page of the table: more than fit in RAM.
        (0..160).step_by(16).for_each(|lpn| driver.trim(lpn));
        assert_eq!(driver.ops.len(), before, "a trim orders nothing");
        driver.end_period().unwrap();
        let after = driver.ops.len();
        assert!(after > before, "{mapping:?}: pages gave way");
        driver.ftl.begin_jobs(&mut driver.ops).unwrap();
        assert_eq!(driver.ops.len(), after, "{mapping:?}: nothing is left to do");
        driver.ftl.audit().unwrap();
    }
}
