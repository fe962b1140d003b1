//! Mapping tables on flash: a naive cache beside the real one, commands by hand, a closed form.

use std::collections::{HashMap, HashSet};

use flashtwin_nand::{NO_PPN, Plane, Ppn};

use super::driver::{Driver, geometry, late_fifo};
use super::reach::Map;
use crate::ids::{Lpn, NO_VPN, Vpn};
use crate::{CacheBytes, Cause, FlashOp, FtlConfig, Lookup, Mapping, OpKind, Rng, TablePage};
use flashtwin_bits::mix;

/// One plane without collection, with room for `pages` translation pages of 16 LPNs or 10 VPNs in RAM.
fn device(mapping: Mapping, blocks: u32, pages_per_block: u32, pages: u64, footprint: u32) -> Driver {
    device_with(mapping, false, blocks, pages_per_block, pages, footprint)
}

fn device_with(
    mapping: Mapping,
    fingerprints: bool,
    blocks: u32,
    pages_per_block: u32,
    pages: u64,
    footprint: u32,
) -> Driver {
    let mut config = FtlConfig { mapping, ..FtlConfig::default() };
    config.mapping_cache.bytes = CacheBytes::Limited(pages * 64);
    config.mapping_cache.fingerprints = fingerprints;
    Driver::of([1, 1, 1, 1, blocks, pages_per_block], late_fifo(config), footprint, 1 << 20)
}

struct Naive {
    capacity: usize,
    order: Vec<u32>,
    dirty: HashMap<u32, bool>,
    on_flash: HashSet<u32>,
    /// Changed pages that gave way in this operation: until it is over, they are still there.
    leaving: Vec<u32>,
    written: u64,
}

impl Naive {
    fn touch(&mut self, page: u32, changes: bool) -> bool {
        let leaves = self.leaving.contains(&page);
        let cached = self.order.contains(&page) || leaves;
        self.order.retain(|&other| other != page);
        self.leaving.retain(|&other| other != page);
        self.order.insert(0, page);
        *self.dirty.entry(page).or_default() |= changes || leaves;
        if self.order.len() > self.capacity {
            let last = self.order.pop().unwrap();
            if self.dirty.remove(&last).unwrap() {
                self.leaving.push(last);
            }
        }
        !cached && self.on_flash.contains(&page)
    }

    fn wait_for(&mut self, page: u32, changes: bool, expected: &mut Vec<(u32, bool, bool)>) {
        let missed = self.touch(page, changes);
        expected.push((page, missed, true));
    }

    fn change(&mut self, page: u32) -> bool {
        let there = self.order.contains(&page);
        if there {
            self.dirty.insert(page, true);
        }
        there
    }

    fn settle(&mut self) {
        self.written += self.leaving.len() as u64;
        self.on_flash.extend(self.leaving.drain(..));
    }
}

#[test]
fn tables_on_flash_have_the_traffic_of_a_plain_list() {
    reads_and_writes_what_a_plain_list_would(Mapping::Page, false);
    reads_and_writes_what_a_plain_list_would(Mapping::Content, false);
    reads_and_writes_what_a_plain_list_would(Mapping::Content, true);
}

/// The page of the primary table with an LPN's entry; 150 LPNs take ten pages.
fn primary(lpn: u32) -> u32 {
    lpn / 16
}

/// The page of the secondary table behind them with a VPN's entry; 151 VPNs take 16 pages.
fn secondary(vpn: u32) -> u32 {
    10 + vpn / 10
}

/// The page of the fingerprint store behind those with a content's entry; 151 fingerprints, two a page, take 76.
fn store(content: u32) -> u32 {
    26 + ((u128::from(mix(u64::from(content) + 1)) * 76) >> 64) as u32
}

#[derive(Default)]
struct HeldContents {
    of_lpn: HashMap<u32, u32>,
    references: HashMap<u32, u32>,
}

impl HeldContents {
    /// Sets a logical page's content. Returns the content that lost its last page.
    fn write(&mut self, lpn: u32, content: u32) -> Option<u32> {
        let before = self.of_lpn.insert(lpn, content);
        *self.references.entry(content).or_default() += 1;
        let before = before?;
        let left = self.references.get_mut(&before).unwrap();
        *left -= 1;
        (*left == 0).then_some(before)
    }
}

fn vpn_of(driver: &Driver, lpn: Lpn) -> Vpn {
    match driver.ftl.map() {
        Map::Content(map) => map.vpn_of(lpn),
        _ => NO_VPN,
    }
}

fn reads_and_writes_what_a_plain_list_would(mapping: Mapping, fingerprints: bool) {
    let (mut misses, mut moved) = (0, 0);
    for seed in 0..6 {
        let mut rng = Rng::stream(seed, "paging");
        let capacity = [1, 2, 3, 5, 9, 40][seed as usize];
        let mut driver = device_with(mapping, fingerprints, 400, 16, capacity, 150);
        let mut naive = Naive {
            capacity: capacity as usize,
            order: Vec::new(),
            dirty: HashMap::new(),
            on_flash: HashSet::new(),
            leaving: Vec::new(),
            written: 0,
        };
        let mut held_contents = HeldContents::default();
        for step in 0..1_500 {
            let among = if rng.below(2) == 0 { 20 } else { 150 };
            let lpn = rng.below(among);
            let held = vpn_of(&driver, Lpn::new(lpn));
            driver.lookups.clear();
            let mut expected = Vec::new();
            if rng.below(3) == 0 {
                driver.read(lpn).unwrap();
                naive.wait_for(primary(lpn), false, &mut expected);
                if held != NO_VPN {
                    naive.wait_for(secondary(held.number()), false, &mut expected);
                }
            } else {
                // Every tenth content comes again, and so does an LPN with the content it has.
                let content = if rng.below(10) == 0 { lpn % 10 } else { 100 + step };
                let programmed = driver.write(lpn, content, false).unwrap().program.is_some();
                let holds = vpn_of(&driver, Lpn::new(lpn));
                let changes = programmed || held != holds;
                naive.wait_for(primary(lpn), changes && !fingerprints, &mut expected);
                if fingerprints {
                    naive.wait_for(store(content), false, &mut expected);
                    // Looking the content up may have made the page of the LPN give way.
                    if changes && !naive.change(primary(lpn)) {
                        expected.extend(naive.touch(primary(lpn), true).then_some((
                            primary(lpn),
                            true,
                            false,
                        )));
                    }
                }
                for vpn in [held, holds].into_iter().filter(|&vpn| vpn != NO_VPN && held != holds) {
                    let missed = naive.touch(secondary(vpn.number()), true);
                    expected.extend(missed.then_some((secondary(vpn.number()), true, false)));
                }
                let forgotten = held_contents.write(lpn, content);
                // A new content is entered, then one without pages is forgotten.
                for content in
                    programmed.then_some(content).into_iter().chain(forgotten).filter(|_| fingerprints)
                {
                    naive.settle();
                    naive.touch(store(content), true);
                }
            }
            let found: Vec<_> = driver
                .lookups
                .iter()
                .map(|&Lookup { page, read, delays }| (page.number(), read.is_some(), delays))
                .collect();
            assert_eq!(found, expected, "seed {seed}, step {step}");
            naive.settle();
            let mapping = driver.ftl.counters().mapping;
            assert_eq!((mapping.written_back, mapping.gc_updates), (naive.written, 0));
        }
        driver.ftl.audit().unwrap();
        assert_eq!(driver.ftl.counters().programs[Cause::Gc as usize], 0, "the device is too small");
        let mapping = driver.ftl.counters().mapping;
        misses += mapping.misses;
        moved += mapping.moved;
    }
    assert!(misses > 3_000 && moved > 15, "{misses} {moved}");
}

#[test]
fn blocks_for_translation_pages_are_kept_back_from_the_data() {
    // Three translation pages, two of them in a block: twice two blocks and one; three streams and one block more.
    let driver = device(Mapping::Page, 20, 2, 1, 48);
    assert_eq!(driver.ftl.plane_limit_pages(), (20 - 5 - 3 - 1) * 2);
}

#[test]
fn uniform_reads_hit_as_often_as_pages_fit() {
    for (capacity, pages) in [(1, 40), (10, 40), (30, 40), (40, 40)] {
        let mut driver = device(Mapping::Page, 200, 16, capacity, 16 * pages);
        (0..16 * pages).for_each(|lpn| assert!(driver.write(lpn, lpn, false).is_ok()));
        let mut rng = Rng::stream(capacity, "uniform");
        let mut read = |driver: &mut Driver| assert!(driver.read(rng.below(16 * pages)).is_ok());
        (0..1_000).for_each(|_| read(&mut driver));
        driver.ftl.end_preload();
        (0..60_000).for_each(|_| read(&mut driver));
        let found = driver.ftl.counters().mapping.hit_ratio().unwrap();
        let expected = capacity as f64 / f64::from(pages);
        // Five standard deviations.
        let tolerance = 5.0 * (expected * (1.0 - expected) / 60_000.0_f64).sqrt();
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }
}

fn metadata(kind: OpKind, ppn: Ppn, source: Ppn) -> FlashOp {
    FlashOp::new(kind, ppn, source, Cause::Metadata)
}

#[test]
fn translation_pages_have_blocks_of_their_own() {
    // Three translation pages, room for one, blocks of four pages: LPNs 0, 16 and 32 drive one another out.
    let mut driver = device(Mapping::Page, 20, 4, 1, 48);
    let page = |block, at| geometry([1, 1, 1, 1, 20, 4]).ppn(Plane::new(0), block, at);
    let mut write = |lpn| {
        let before = driver.ops.len();
        driver.lookups.clear();
        driver.write(lpn, 0, false).unwrap();
        (driver.ops[before..].to_vec(), driver.lookups.clone())
    };
    let program = |block, at| metadata(OpKind::Program, page(block, at), NO_PPN);
    let looked = |page, read| vec![Lookup { page: TablePage::new(page), read, delays: true }];
    assert_eq!(write(32), (vec![], looked(2, None)));
    // The host fills block 0, the translation pages block 1.
    assert_eq!(write(0), (vec![program(1, 0)], looked(0, None)));
    assert_eq!(write(16), (vec![program(1, 1)], looked(1, None)));
    assert_eq!(write(0), (vec![program(1, 2)], looked(0, Some(page(1, 1)))));
    assert_eq!(write(16), (vec![program(1, 3)], looked(1, Some(page(1, 2)))));
    // The host has gone on to block 2.
    assert_eq!(write(0), (vec![program(3, 0)], looked(0, Some(page(1, 3)))));
    assert_eq!(write(16), (vec![program(3, 1)], looked(1, Some(page(3, 0)))));
    assert_eq!(write(0), (vec![program(3, 2)], looked(0, Some(page(3, 1)))));
    assert_eq!(write(16), (vec![program(3, 3)], looked(1, Some(page(3, 2)))));
    // Two full blocks are the most: of two with one valid page each the older, with LPN 32's page, is collected.
    let collected = vec![
        metadata(OpKind::Read, page(1, 0), NO_PPN),
        metadata(OpKind::Program, page(5, 0), page(1, 0)),
        metadata(OpKind::Erase, page(1, 0), NO_PPN),
        program(5, 1),
    ];
    assert_eq!(write(0), (collected, looked(0, Some(page(3, 3)))));
    driver.ftl.audit().unwrap();
    let mapping = driver.ftl.counters().mapping;
    assert_eq!((mapping.written_back, mapping.moved, mapping.erases), (9, 1, 1));
}

#[test]
fn changed_entries_are_written_once_for_a_victim() {
    // Blocks of four pages, GC when two are free; pages 0 to 15 and 16 to 31 have a translation page
    // each, and a third, of page 32, is in RAM.
    let mut driver = device(Mapping::Page, 11, 4, 1, 33);
    let geometry = geometry([1, 1, 1, 1, 11, 4]);
    for lpn in [0, 16, 1, 32, 2, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32] {
        driver.write(lpn, 0, false).unwrap();
    }
    let before = driver.ops.len();
    for _ in 0..60 {
        if driver.ftl.counters().mapping.gc_updates == 0 {
            driver.write(32, 0, false).unwrap();
        }
    }
    let batch: Vec<_> = driver.ops[before..]
        .iter()
        .filter(|op| op.cause == Cause::Gc || op.cause == Cause::Metadata)
        .map(|op| (op.kind, op.cause, geometry.block_in_plane(geometry.block_index(op.ppn))))
        .collect();
    let (gc, metadata) = (Cause::Gc, Cause::Metadata);
    // Block 0 held pages of two translation pages: each is read and written once, after the victim is gone.
    let expected = [
        (OpKind::Read, gc, 0),
        (OpKind::Program, gc, batch[1].2),
        (OpKind::Read, gc, 0),
        (OpKind::Program, gc, batch[1].2),
        (OpKind::Read, gc, 0),
        (OpKind::Program, gc, batch[1].2),
        (OpKind::Erase, gc, 0),
        (OpKind::Read, metadata, batch[7].2),
        (OpKind::Program, metadata, batch[8].2),
        (OpKind::Read, metadata, batch[9].2),
        (OpKind::Program, metadata, batch[10].2),
    ];
    let ends = batch.iter().position(|op| *op == (OpKind::Read, gc, 0)).unwrap();
    assert_eq!(batch[ends..ends + expected.len()], expected, "{batch:?}");
    assert_eq!(driver.ftl.counters().mapping.gc_updates, 2);
    driver.ftl.audit().unwrap();
}

#[test]
fn a_checkpoint_writes_each_changed_page_once() {
    let mut driver = device(Mapping::Content, 60, 4, 100, 64);
    (0..40).for_each(|lpn| assert!(driver.write(lpn, lpn, false).is_ok()));
    assert!(driver.ops.is_empty());
    // 40 LPNs on three pages, 40 VPNs on four.
    driver.checkpoint().unwrap();
    assert_eq!(driver.ops.len(), 7);
    driver.checkpoint().unwrap();
    driver.write(0, 39, false).unwrap();
    // LPN 0, VPN 0 (gone) and VPN 39: three pages.
    driver.checkpoint().unwrap();
    let mapping = driver.ftl.counters().mapping;
    assert_eq!((mapping.checkpoints, mapping.checkpointed, driver.ops.len()), (2, 10, 10));
    assert_eq!(driver.ftl.paging_sizes().unwrap().pages_dirty, 0);
    driver.ftl.audit().unwrap();
}
