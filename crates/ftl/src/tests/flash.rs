//! Blocks and their collection by hand, mostly without a controller's tables.

use flashtwin_nand::{Chip, Geometry, Plane, Ppn};

use super::driver::{Driver, Levels, geometry};
use crate::flash::blocks::Stream;
use crate::flash::partition::PartitionPolicy;
use crate::flash::victim::VictimPolicy;
use crate::flash::{Flash, FlashKeys, Moved, Owners};
use crate::ids::Owner;
use crate::image::{BlockImage, BlockUse, OpenFor};
use crate::{Cause, FtlConfig, FtlError, OpKind, WearConfig, WearPolicy};

const PLANE: Plane = Plane::new(0);
const HOST: Stream = Stream::host(0);

pub(crate) fn flash(config: &FtlConfig, levels: Levels) -> Flash {
    flash_on(config, &geometry(levels))
}

pub(super) fn flash_on(config: &FtlConfig, geometry: &Geometry) -> Flash {
    let FtlConfig { allocation, gc, partition, redirection, wear, foreign, .. } = config;
    Flash::new(&FlashKeys { allocation, gc, partition, redirection, wear, foreign }, geometry, 100, 1)
}

fn levelling(policy: WearPolicy) -> FtlConfig {
    FtlConfig { wear: WearConfig { policy, ..WearConfig::default() }, ..FtlConfig::default() }
}

pub(super) struct Nobody;

impl Owners for Nobody {
    fn moved(&mut self, _page: Moved, _flash: &mut Flash) -> bool {
        true
    }
}

pub(crate) fn fill(flash: &mut Flash, plane: Plane) -> Vec<Ppn> {
    let pages = flash.geometry().pages_per_block;
    (0..pages).map(|page| flash.blocks.program(plane, HOST, Owner::new(page)).unwrap()).collect()
}

fn erase(flash: &mut Flash, pages: &[Ppn]) {
    pages.iter().for_each(|&page| flash.blocks.invalidate(page));
    let block = flash.geometry().block_index(pages[0]);
    flash.blocks.erase(block, false);
}

fn order_of_use(flash: &mut Flash, plane: Plane) -> Vec<u32> {
    let left = flash.blocks.free_blocks(plane);
    let firsts: Vec<Ppn> = (0..left).map(|_| fill(flash, plane)[0]).collect();
    let geometry = flash.geometry();
    firsts.into_iter().map(|page| geometry.block_in_plane(geometry.block_index(page))).collect()
}

/// One plane of twelve blocks, all but one full of valid pages; and the pages of the last.
fn full(partitions: u32) -> (Flash, Vec<Ppn>) {
    let mut config = FtlConfig::default();
    config.gc.victim = VictimPolicy::Fifo;
    if partitions > 1 {
        (config.partition.policy, config.partition.partitions) = (PartitionPolicy::Offline, partitions);
    }
    let mut flash = flash(&config, [1, 1, 1, 1, 12, 4]);
    let pages = (0..11).map(|_| fill(&mut flash, PLANE)).last().unwrap();
    assert_eq!(flash.blocks.free_blocks(PLANE), 1);
    (flash, pages)
}

#[test]
fn the_one_block_that_holds_nothing_is_found_behind_all_others() {
    for partitions in [1, 3] {
        let (mut flash, last) = full(partitions);
        last.iter().for_each(|&page| flash.blocks.invalidate(page));
        let mut ops = Vec::new();
        flash.make_room(PLANE, &mut Nobody, &mut ops).unwrap();
        assert_eq!(ops.iter().map(|op| (op.kind, op.ppn)).collect::<Vec<_>>(), [(OpKind::Erase, last[0])]);
        assert_eq!(flash.victim_pages(), [1, 0, 0, 0, 0], "it held no page");
        assert_eq!(flash.blocks.free_blocks(PLANE), 2);
    }
}

#[test]
fn plane_without_invalid_pages_is_reported_full() {
    for partitions in [1, 3] {
        let (mut flash, _) = full(partitions);
        let mut ops = Vec::new();
        let error = flash.make_room(PLANE, &mut Nobody, &mut ops).unwrap_err();
        assert!(matches!(error, FtlError::DeviceFull { valid_pages: 44, pages: 48, .. }), "{error}");
        assert!(ops.is_empty() && flash.victim_pages() == [0; 5]);
    }
}

#[test]
fn a_victim_policy_that_never_chooses_is_stuck_and_not_full() {
    let mut flash = flash(&FtlConfig::default(), [1, 1, 1, 1, 12, 4]);
    let pages: Vec<Ppn> = (0..11).flat_map(|_| fill(&mut flash, PLANE)).collect();
    pages[..16].iter().for_each(|&page| flash.blocks.invalidate(page));
    // The policy forgets the blocks, as one that returns none of them does.
    while flash.blocks.choose_victim(PLANE).is_some() {}
    let error = flash.make_room(PLANE, &mut Nobody, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, FtlError::Stuck { valid_pages: 28, pages: 48, .. }), "{error}");
}

#[test]
fn a_plane_knows_whether_it_moves_a_block_on_account_of_wear() {
    let mut flash = flash(&levelling(WearPolicy::Static), [2, 1, 1, 1, 8, 4]);
    let block = |plane, block| geometry([2, 1, 1, 1, 8, 4]).block_index_of(Plane::new(plane), block);
    flash.resume_collection(block(0, 3), true).unwrap();
    flash.resume_collection(block(1, 3), false).unwrap();
    let told = [(0, block(0, 3)), (0, block(0, 4)), (1, block(1, 3))];
    assert_eq!(
        told.map(|(plane, block)| flash.collects_for_wear(Plane::new(plane), block)),
        [true, false, false]
    );
    let error = flash.resume_collection(block(0, 4), true).unwrap_err();
    assert_eq!(error, "plane 0 collects two blocks at once");
}

#[test]
fn forgotten_wear_affects_neither_counts_nor_block_order() {
    for (policy, expected) in [(WearPolicy::None, [3, 1, 2, 0]), (WearPolicy::Dynamic, [0, 1, 2, 3])] {
        let mut flash = flash(&levelling(policy), [2, 1, 1, 1, 4, 2]);
        let plane = Plane::new(1);
        let blocks: Vec<Vec<Ppn>> = (0..4).map(|_| fill(&mut flash, plane)).collect();
        erase(&mut flash, &blocks[0]);
        assert_eq!(fill(&mut flash, plane), blocks[0]);
        [3, 1, 2, 0].iter().for_each(|&block| erase(&mut flash, &blocks[block]));
        assert_eq!(flash.blocks.wear(), [(0, 4), (1, 3), (2, 1)]);
        assert_eq!([0, 1].map(|chip| flash.blocks.chip_erases()[Chip::new(chip)]), [0, 5]);
        flash.end_preload();
        assert_eq!(flash.blocks.wear(), [(0, 8)]);
        assert_eq!([0, 1].map(|chip| flash.blocks.chip_erases()[Chip::new(chip)]), [0, 0]);
        // By the turn in which they were erased, or by number as equals.
        assert_eq!(order_of_use(&mut flash, plane), expected, "{policy:?}");
        flash.blocks.audit().unwrap();
    }
}

fn image(geometry: &Geometry, number: u32, erases: u32) -> BlockImage {
    let block = geometry.block_index_of(Plane::new(1), number);
    BlockImage { block, erases, written: 0, used: BlockUse::Free }
}

#[test]
fn restored_wear_decides_which_erased_block_is_used() {
    for (policy, expected) in [(WearPolicy::None, [0, 1, 2, 3]), (WearPolicy::Dynamic, [1, 2, 3, 0])] {
        let mut flash = flash(&levelling(policy), [2, 1, 1, 1, 4, 2]);
        let erases = [5, 3, 4, 4].into_iter().zip(0..);
        let images: Vec<_> = erases.map(|(erases, number)| image(flash.geometry(), number, erases)).collect();
        flash.blocks.restore(&images).unwrap();
        assert_eq!(flash.blocks.images(|_, _| false), images);
        assert_eq!([0, 1].map(|chip| flash.blocks.chip_erases()[Chip::new(chip)]), [0, 16]);
        flash.blocks.audit().unwrap();
        assert_eq!(order_of_use(&mut flash, Plane::new(1)), expected, "{policy:?}");
    }
}

#[test]
fn a_list_of_blocks_leaves_out_those_that_were_never_used() {
    let mut flash = flash(&FtlConfig::default(), [2, 1, 1, 1, 4, 2]);
    assert_eq!(flash.blocks.images(|_, _| false), []);
    let page = flash.blocks.program(PLANE, HOST, Owner::new(0)).unwrap();
    let (block, used) = (flash.geometry().block_index(page), BlockUse::Open(OpenFor::Host));
    assert_eq!(flash.blocks.images(|_, _| false), [BlockImage { block, erases: 0, written: 1, used }]);
}

#[test]
fn a_page_that_is_not_there_gets_no_owner() {
    let mut flash = flash(&FtlConfig::default(), [3, 1, 1, 1, 5, 2]);
    let geometry = flash.geometry().clone();
    let first = |plane, block| geometry.ppn(Plane::new(plane), block, 0).number();
    let stride = first(0, 1) - first(0, 0);
    let mut refused = |plane, block| {
        let ppn = Ppn::new(first(plane, 0) + block * stride);
        flash.blocks.adopt(ppn, Owner::new(0)).unwrap_err()
    };
    for (plane, block) in [(3, 0), (0, 5), (3, 5)] {
        assert!(refused(plane, block).contains("there is no page"));
    }
    assert!(refused(2, 4).contains("is not programmed"), "the last block of the last plane is there");
}

#[test]
fn a_block_that_was_opened_takes_bytes_and_the_others_none() {
    // An open block for each of four streams, two counts, and the lists of erased blocks and of ordered erases.
    let lists = size_of::<Vec<u64>>() + size_of::<std::collections::VecDeque<u64>>();
    let plane = (4 * 4 + 2 * 4 + lists) as u64;
    for (policy, of_plane, of_block) in [(WearPolicy::None, plane, 16), (WearPolicy::Static, plane + 8, 20)] {
        let mut flash = flash(&levelling(policy), [2, 2, 1, 1, 6, 8]);
        assert_eq!((flash.blocks.pages_opened(), flash.blocks.bytes_in_use()), (0, 4 * of_plane));
        fill(&mut flash, PLANE);
        (0..2).for_each(|_| drop(fill(&mut flash, Plane::new(1))));
        let pages = 3 * 8;
        assert_eq!(flash.blocks.pages_opened(), pages);
        assert_eq!(flash.blocks.bytes_in_use(), 4 * of_plane + 3 * of_block + 4 * pages);
    }
}

fn one_plane(config: FtlConfig, blocks: u32, footprint: u32) -> Driver {
    Driver::of([1, 1, 1, 1, blocks, 4], config, footprint, 0)
}

#[test]
fn plane_collects_up_to_the_upper_threshold() {
    let mut config = FtlConfig::default();
    config.gc.victim = VictimPolicy::Fifo;
    // Of 40 blocks: from 4 free ones on, until there are 12; a page or two at a time.
    (config.gc.start, config.gc.stop, config.gc.step_pages) = (0.1, 0.3, 2);
    let mut driver = one_plane(config, 40, 40);
    let plane = Plane::new(0);
    let (mut collecting, mut begun, mut ended) = (false, 0, 0);
    for step in 0..3_000 {
        let erased = driver.ftl.counters().erases;
        let moved = driver.ftl.counters().programs[Cause::Gc as usize];
        driver.write(step * 7 % 40, u32::MAX, false).unwrap();
        let free = driver.ftl.flash.blocks.free_blocks(plane);
        let counters = driver.ftl.counters();
        let worked = counters.erases > erased || counters.programs[Cause::Gc as usize] > moved;
        // A step may free a block: the number before it decided.
        let before = free - (counters.erases - erased) as u32;
        assert_eq!(worked, collecting || before <= 4, "step {step}: {before} blocks free");
        let goes_on = worked && free < 12;
        begun += u32::from(goes_on && !collecting);
        ended += u32::from(collecting && !goes_on);
        collecting = goes_on;
    }
    assert!(begun > 20 && ended > 20, "begun {begun} times, ended {ended}");
}

#[test]
fn a_device_full_of_valid_pages_says_so() {
    for blocks in [6, 10] {
        let footprint = blocks * 4;
        let mut driver = one_plane(FtlConfig::default(), blocks, footprint);
        let error = (0..footprint).find_map(|lpn| driver.write(lpn, u32::MAX, false).err()).unwrap();
        let FtlError::DeviceFull { plane, valid_pages, pages } = error else { panic!("{error}") };
        assert_eq!((plane, pages), (Plane::new(0), u64::from(footprint)));
        assert_eq!(valid_pages, driver.ftl.plane_limit_pages());
        // A page of the room is kept for the write that replaces another.
        assert_eq!(driver.ftl.lay_out_tables(&FtlConfig::default(), &[]), valid_pages - 1);
    }
}
