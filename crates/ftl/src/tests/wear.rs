//! Wear levelling: which block is used next, and which data are moved.

use flashtwin_nand::{NO_PPN, Plane};

use super::driver::{Driver, late_fifo};
use super::write_amplification::Writer;
use crate::{Cause, FlashOp, FtlConfig, OpKind, Rng, WearConfig, WearPolicy};

fn tiny(wear: WearConfig, blocks: u32, footprint: u32) -> Driver {
    let config = late_fifo(FtlConfig { wear, ..FtlConfig::default() });
    Driver::of([1, 1, 1, 1, blocks, 2], config, footprint, 0)
}

fn write(driver: &mut Driver, lpn: u32) -> (u32, u32) {
    let (ppn, _) = driver.write(lpn, u32::MAX, false).unwrap().program.unwrap();
    driver.place(ppn)
}

fn opened(driver: &mut Driver, writes: u32) -> Vec<u32> {
    (0..writes).map(|_| write(driver, 0)).filter(|place| place.1 == 0).map(|place| place.0).collect()
}

#[test]
fn without_levelling_blocks_are_used_in_order_of_erases() {
    let used = |policy| {
        let mut driver = tiny(WearConfig { policy, ..WearConfig::default() }, 8, 4);
        // Block 0 holds pages 2 and 3 until they are written again, to block 6.
        write(&mut driver, 2);
        write(&mut driver, 3);
        let before = opened(&mut driver, 26);
        assert_eq!(before, [1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6]);
        write(&mut driver, 2);
        write(&mut driver, 3);
        opened(&mut driver, 20)
    };
    assert_eq!(used(WearPolicy::None), [1, 2, 3, 4, 5, 0, 6, 1, 2, 3]);
    // Block 0 was erased once, the others twice.
    assert_eq!(used(WearPolicy::Dynamic), [1, 2, 3, 0, 4, 5, 6, 1, 0, 2]);
}

#[test]
fn cold_data_change_places_with_the_most_worn_block() {
    let wear = WearConfig { policy: WearPolicy::Static, threshold: 2, every: 3 };
    let mut driver = tiny(wear, 8, 3);
    // Block 0 holds pages 1 and 2, which are not written again; all others take turns.
    write(&mut driver, 1);
    write(&mut driver, 2);
    let mut writes = 0;
    let block = driver.geometry().block_index_of(Plane::new(0), 1);
    while driver.ftl.flash.blocks.table.erases(block) < 3 {
        write(&mut driver, 0);
        writes += 1;
    }
    assert_eq!(writes, 37);
    assert!(driver.ops.iter().all(|op| op.kind == OpKind::Erase && op.cause == Cause::Gc));
    driver.ops.clear();
    assert_eq!((write(&mut driver, 0), driver.ops.len()), ((5, 1), 0), "no collection, no levelling");
    // The difference is above 2 now. Of the free blocks 1 and 7 the first is the most worn one.
    assert_eq!(write(&mut driver, 0), (6, 0));
    let op = |kind, ppn, source| FlashOp::new(kind, ppn, source, Cause::WearLevelling);
    let expected = [
        op(OpKind::Read, driver.page(0, 0), NO_PPN),
        op(OpKind::Program, driver.page(1, 0), driver.page(0, 0)),
        op(OpKind::Read, driver.page(0, 1), NO_PPN),
        op(OpKind::Program, driver.page(1, 1), driver.page(0, 1)),
        op(OpKind::Erase, driver.page(0, 0), NO_PPN),
    ];
    assert_eq!(driver.ops, expected);
    assert_eq!(driver.ftl.counters().wear.blocks_levelled, 1);
    // The block that was gained is the least worn: it is used next.
    assert_eq!([write(&mut driver, 0), write(&mut driver, 0)], [(6, 1), (0, 0)]);
    // It wears as all others do now, and the cold data stay until block 1 has fallen behind.
    let levelled = |driver: &Driver| driver.ftl.counters().wear.blocks_levelled;
    while levelled(&driver) == 1 {
        write(&mut driver, 0);
    }
    let wear = driver.ftl.wear();
    assert_eq!((wear[0].0, wear.last().unwrap().0), (4, 6), "block 1 has just been erased again");
    driver.ftl.audit().unwrap();
}

/// Fewest and most erases of a block, and write amplification, after writes to a tenth of the pages.
fn wear_after(rounds: u32, policy: WearPolicy, threshold: u32, every: u32) -> (u32, u32, f64) {
    let (blocks, pages) = (64, 16);
    let mut config = FtlConfig { wear: WearConfig { policy, threshold, every }, ..FtlConfig::default() };
    (config.gc.start, config.gc.stop) = (0.0, 0.0);
    let logical = blocks * pages * 3 / 4;
    let mut writer = Writer::new(&config, blocks, pages, logical);
    let mut rng = Rng::stream(1, "hot and cold writes");
    for write in 0..rounds * logical {
        writer.write(if write < logical { write } else { rng.below(logical / 10) });
    }
    let wear = writer.ftl.wear();
    (wear[0].0, wear.last().unwrap().0, writer.ftl.counters().write_amplification().unwrap())
}

#[test]
fn static_levelling_bounds_what_the_others_let_grow() {
    for (rounds, grown) in [(50, 100), (200, 400)] {
        for policy in [WearPolicy::None, WearPolicy::Dynamic] {
            let (least, most, _) = wear_after(rounds, policy, 1, 1);
            assert!(least == 0 && most > grown, "{policy:?}: {least} to {most}");
        }
        let unlevelled = wear_after(rounds, WearPolicy::Dynamic, 1, 1).2;
        // One block moved for each collected keeps the difference at the threshold; one for sixteen follows slowly.
        for (threshold, every, slack, cost) in
            [(4, 1, 1, 0.3), (16, 1, 1, 0.1), (16, 16, 1, 0.1), (4, 16, 16, 0.1)]
        {
            let (least, most, levelled) = wear_after(rounds, WearPolicy::Static, threshold, every);
            assert!(most - least <= threshold + slack, "{threshold} {every}: {least} to {most}");
            assert!(least > rounds / 2);
            assert!(levelled > unlevelled && levelled < unlevelled + cost, "{unlevelled} {levelled}");
        }
    }
}
