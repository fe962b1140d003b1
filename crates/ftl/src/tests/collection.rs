//! When planes collect: from one threshold to the other; and the error of a full plane.

use flashtwin_nand::Plane;

use super::driver::Driver;
use crate::flash::victim::VictimPolicy;
use crate::{Cause, FtlConfig, FtlError};

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
