//! Program units and flash pages: pages stay on a plane, units are padded, collection reads whole flash pages.

use flashtwin_nand::{Plane, Ppn};

use super::driver::geometry;
use super::flash::{Nobody, flash_on};
use crate::flash::Flash;
use crate::flash::allocation::AllocationPolicy;
use crate::flash::blocks::Stream;
use crate::flash::victim::VictimPolicy;
use crate::ids::Owner;
use crate::op::Cause;
use crate::{FtlConfig, LoadView, OpKind};

const HOST: Stream = Stream::host(0);

/// Planes of blocks of eight pages, units of four, flash pages of two.
fn flash(planes: u32, change: impl FnOnce(&mut FtlConfig)) -> Flash {
    let mut config = FtlConfig::default();
    change(&mut config);
    flash_on(&config, &geometry([planes, 1, 1, 1, 12, 8]).with_units(4, 2))
}

fn planes_of(flash: &mut Flash, addresses: impl Iterator<Item = u64>) -> Vec<u32> {
    let idle = vec![0; flash.geometry().chips() as usize];
    let loads = LoadView::new(&idle, &idle);
    let mut write = |address| {
        let plane = flash.pick_plane(HOST, address, &loads).unwrap();
        flash.blocks.program(plane, HOST, Owner::new(address as u32)).unwrap();
        plane.number()
    };
    addresses.map(&mut write).collect()
}

#[test]
fn pages_stay_on_a_plane_until_their_unit_is_full() {
    for policy in [AllocationPolicy::Dynamic, AllocationPolicy::LeastLoaded] {
        let mut flash = flash(3, |config| config.allocation.policy = policy);
        let planes = planes_of(&mut flash, 0..14);
        assert_eq!(planes, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0], "{policy:?}");
    }
}

#[test]
fn allocation_by_address_keeps_its_plane() {
    let mut flash = flash(3, |config| config.allocation.policy = AllocationPolicy::Static);
    assert_eq!(planes_of(&mut flash, 0..7), [0, 1, 2, 0, 1, 2, 0]);
    let open = |plane| flash.blocks.has_open_unit(Plane::new(plane), HOST);
    assert!((0..3).all(open), "units fill up over time");
}

#[test]
fn padding_fills_open_units_and_nothing_else() {
    let mut flash = flash(2, |config| config.allocation.policy = AllocationPolicy::Dynamic);
    planes_of(&mut flash, 0..6);
    flash.blocks.program(Plane::new(0), Stream::REPLICA, Owner::new(50)).unwrap();
    let mut ops = Vec::new();
    flash.pad_units(&mut ops).unwrap();
    let places = |page: Ppn| (flash.geometry().plane(page).number(), flash.geometry().page_in_block(page));
    assert_eq!(ops.iter().map(|op| places(op.ppn)).collect::<Vec<_>>(), [(1, 2), (1, 3)]);
    assert!(ops.iter().all(|op| op.kind == OpKind::Program && op.cause == Cause::Padding));
    assert_eq!(flash.counters.programs[Cause::Padding as usize], 2);
    ops.clear();
    flash.pad_units(&mut ops).unwrap();
    assert!(ops.is_empty(), "no unit is open any more");
    // The pages behind are the next unit's, and padding closes a block as data do.
    assert_eq!(planes_of(&mut flash, 6..9), [0, 0, 0]);
    flash.pad_units(&mut ops).unwrap();
    assert_eq!(ops.len(), 1);
    assert!(!flash.blocks.has_open_block(Plane::new(0), HOST));
    flash.blocks.audit().unwrap();
}

#[test]
fn steps_of_collection_end_with_a_flash_page() {
    let mut flash = flash(1, |config| {
        config.gc.victim = VictimPolicy::Fifo;
        (config.gc.start, config.gc.step_pages) = (0.9, 1);
    });
    let plane = Plane::new(0);
    let pages: Vec<Ppn> =
        (0..8).map(|page| flash.blocks.program(plane, HOST, Owner::new(page)).unwrap()).collect();
    [1, 4, 5].iter().for_each(|&page: &usize| flash.blocks.invalidate(pages[page]));
    let mut step = || {
        let mut ops = Vec::new();
        flash.collect_behind(plane, &mut Nobody, &mut ops).unwrap();
        let reads = ops.iter().filter(|op| op.kind == OpKind::Read);
        reads.map(|op| flash.geometry().page_in_block(op.ppn)).collect::<Vec<_>>()
    };
    assert_eq!([step(), step(), step()], [vec![0], vec![2, 3], vec![6, 7]]);
}
