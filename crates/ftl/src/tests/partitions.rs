//! Partitions of the host's data: placement of pages, garbage collection, and their gain.

use flashtwin_nand::{Block, NO_PPN};

use super::driver::{Driver, late_fifo};
use super::write_amplification::{Writer, fifo_model, greedy_model};
use crate::flash::block_table::BlockState;
use crate::flash::partition::{Isolation, PartitionPolicy};
use crate::flash::victim::VictimPolicy;
use crate::{Cause, FlashOp, FtlConfig, OpKind, PartitionSize, Rng};

/// One plane of `blocks` blocks of two pages; pages are in the partitions that the list says.
fn tiny(blocks: u32, partitions: u32, of_page: &[u8]) -> Driver {
    let mut config = late_fifo(FtlConfig::default());
    config.partition.policy = PartitionPolicy::Offline;
    config.partition.partitions = partitions;
    let mut driver = Driver::of([1, 1, 1, 1, blocks, 2], config, of_page.len() as u32, 0);
    driver.ftl.assign_partitions(of_page.to_vec());
    driver
}

fn write(driver: &mut Driver, lpn: u32) -> (u32, u32) {
    let (ppn, _) = driver.write(lpn, u32::MAX, false).unwrap().program.unwrap();
    driver.place(ppn)
}

#[test]
fn partitions_keep_separate_blocks_through_collection() {
    // Page 0 is hot, 1 and 2 are cold. Of 8 blocks 5 are active and one is kept back.
    let mut driver = tiny(8, 2, &[0, 1, 1]);
    let written: Vec<_> = [1, 0, 2, 0, 1, 0, 0, 0, 0].iter().map(|&lpn| write(&mut driver, lpn)).collect();
    let expected = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (3, 1), (4, 0), (4, 1)];
    assert_eq!(written, expected);
    let size = |pages_written, blocks, valid_pages| PartitionSize {
        pages_written,
        pages_moved: 0,
        blocks,
        valid_pages,
    };
    assert_eq!(driver.ftl.partition_sizes(), [size(6, 3, 1), size(3, 2, 2)]);
    let partitions = |driver: &Driver, blocks: &[u32]| {
        blocks
            .iter()
            .map(|&block| driver.ftl.flash.blocks.table.partition(Block::new(block)))
            .collect::<Vec<_>>()
    };
    assert_eq!(partitions(&driver, &[0, 1, 2, 3, 4]), [1, 0, 1, 0, 0]);
    assert!(driver.ops.is_empty());
    // Two free blocks are left: block 0 was closed first, and holds page 2, which stays among the cold.
    assert_eq!(write(&mut driver, 0), (5, 0));
    let op = |kind, ppn, source| FlashOp::new(kind, ppn, source, Cause::Gc);
    let (from, to) = (driver.page(0, 1), driver.page(6, 0));
    let mut expected = vec![
        op(OpKind::Read, from, NO_PPN),
        op(OpKind::Program, to, from),
        op(OpKind::Erase, driver.page(0, 0), NO_PPN),
    ];
    assert_eq!(driver.ops, expected);
    assert_eq!(partitions(&driver, &[5, 6]), [0, 1]);
    // Collection goes on until three blocks are free: hot blocks with nothing valid in them.
    let written: Vec<_> = (0..3).map(|_| write(&mut driver, 0)).collect();
    assert_eq!(written, [(5, 1), (7, 0), (7, 1)]);
    expected.extend([1, 3].map(|block| op(OpKind::Erase, driver.page(block, 0), NO_PPN)));
    assert_eq!(driver.ops, expected);
    // A cold page takes the rest of its partition's block; block 0 was cold and becomes hot.
    assert_eq!(write(&mut driver, 2), (2, 1));
    assert_eq!(write(&mut driver, 0), (0, 0));
    assert_eq!(partitions(&driver, &[0, 2, 6]), [0, 1, 1]);
    let moved = |driver: &Driver| {
        driver.ftl.partition_sizes().iter().map(|size| size.pages_moved).collect::<Vec<_>>()
    };
    assert_eq!(moved(&driver), [0, 1]);
    driver.ftl.audit().unwrap();
    driver.ftl.end_preload();
    assert_eq!(moved(&driver), [0, 0]);
    write(&mut driver, 0);
    let written: Vec<u64> = driver.ftl.partition_sizes().iter().map(|size| size.pages_written).collect();
    assert_eq!(written, [1, 0]);
}

#[test]
fn pages_that_are_not_told_apart_have_no_partitions() {
    let mut driver = Driver::of([1, 1, 1, 1, 8, 2], FtlConfig::default(), 3, 0);
    write(&mut driver, 0);
    assert_eq!(driver.ftl.partition_sizes(), []);
}

const BLOCKS: u32 = 1024;
const PAGES: u32 = 32;
/// Blocks of the plane that hold no data in the mean: two or three are free while it collects, and of the
/// active blocks, two a partition, half is unwritten.
const IDLE_BLOCKS: f64 = 4.5;

struct Measured {
    write_amplification: f64,
    of_partition: Vec<f64>,
    blocks: Vec<f64>,
}

/// One plane whose pages below `hot` get `percent` of the writes.
struct TwoTemperatures {
    victim: VictimPolicy,
    logical: u32,
    hot: u32,
    percent: u32,
}

impl TwoTemperatures {
    fn writer(&self, policy: PartitionPolicy) -> Writer {
        let mut config = FtlConfig::default();
        config.gc.victim = self.victim;
        (config.gc.start, config.gc.stop) = (0.0, 0.0);
        config.partition.policy = policy;
        let mut writer = Writer::new(&config, BLOCKS, PAGES, self.logical);
        if policy == PartitionPolicy::Offline {
            writer.ftl.assign_partitions((0..self.logical).map(|lpn| u8::from(lpn >= self.hot)).collect());
        }
        writer
    }

    fn measure(&self, policy: PartitionPolicy) -> Measured {
        let mut writer = self.writer(policy);
        let mut rng = Rng::stream(1, "two temperatures");
        let partitions = writer.ftl.flash.blocks.partitions() as usize;
        let (mut host, mut moved, mut blocks) =
            (vec![0u64; partitions], vec![0u64; partitions], vec![0.0; partitions]);
        let rounds = 150;
        // The cold pages must come round, too, before anything is counted.
        let from = 100 * self.logical;
        for turn in 0..rounds * self.logical {
            let lpn = match (turn < self.logical, rng.below(100) < self.percent) {
                (true, _) => turn,
                (_, true) => rng.below(self.hot),
                _ => self.hot + rng.below(self.logical - self.hot),
            };
            let outcome = writer.write(lpn);
            if turn < from {
                continue;
            }
            let blocks_of = &writer.ftl.flash.blocks;
            let of = |ppn| usize::from(blocks_of.table.partition(blocks_of.geometry.block_index(ppn)));
            host[of(outcome.program.unwrap().0)] += 1;
            let programs = writer.ops.iter().filter(|op| op.kind == OpKind::Program);
            programs.for_each(|op| moved[of(op.ppn)] += 1);
            if turn % self.logical == 0 {
                let table = &blocks_of.table;
                let held = Block::each(0..BLOCKS).filter(|&block| table.state(block) == BlockState::Closed);
                held.for_each(|block| {
                    blocks[usize::from(table.partition(block))] += 1.0 / f64::from(rounds - 100);
                });
            }
        }
        let ratio = |moved: u64, host: u64| (host + moved) as f64 / host as f64;
        Measured {
            write_amplification: ratio(moved.iter().sum(), host.iter().sum()),
            of_partition: moved.iter().zip(&host).map(|(&moved, &host)| ratio(moved, host)).collect(),
            blocks,
        }
    }
}

/// In the mean field greedy collection takes victims of one number of valid pages, in any
/// partition. That number follows from the number of blocks a logical page has, so a partition gets
/// its share of the spare blocks, and its write amplification is that of uniform writes on a device
/// of its own (Desnoyers, ACM TOS 2014; Van Houdt, SIGMETRICS 2013).
#[test]
fn separate_temperatures_amplify_like_uniform_writes() {
    for (spare, hot_share, percent) in [(0.1, 0.2, 80), (0.22, 0.1, 90), (0.22, 0.5, 80)] {
        let logical = (f64::from(BLOCKS * PAGES) * (1.0 - spare)) as u32;
        let hot = (f64::from(logical) * hot_share) as u32;
        let workload = TwoTemperatures { victim: VictimPolicy::Greedy, logical, hot, percent };
        let apart = workload.measure(PartitionPolicy::Offline);
        for (partition, pages) in [hot, logical - hot].into_iter().enumerate() {
            // Two active blocks, half of them written.
            let blocks = apart.blocks[partition] + 1.0;
            let model = greedy_model(blocks * f64::from(PAGES) / f64::from(pages), PAGES);
            let found = apart.of_partition[partition];
            assert!((found / model - 1.0).abs() < 0.015, "partition {partition}: {found}, model {model}");
        }
        let blocks = f64::from(BLOCKS) - IDLE_BLOCKS;
        let model = greedy_model(blocks * f64::from(PAGES) / f64::from(logical), PAGES);
        let (found, mixed) =
            (apart.write_amplification, workload.measure(PartitionPolicy::None).write_amplification);
        // Equal numbers of valid pages are taken by age, which gives the hot pages a little more space
        // than their share and the device a little less to move.
        assert!(found < model && found > 0.94 * model, "spare {spare}: {found}, model {model}");
        assert!(found < 0.98 * mixed, "spare {spare}: apart {found}, mixed {mixed}");
    }
}

#[test]
fn filters_find_out_most_of_what_the_trace_would_tell() {
    for victim in [VictimPolicy::Greedy, VictimPolicy::Fifo] {
        let logical = (f64::from(BLOCKS * PAGES) * 0.78) as u32;
        let workload = TwoTemperatures { victim, logical, hot: logical / 10, percent: 90 };
        let [mixed, found_out, known] =
            [PartitionPolicy::None, PartitionPolicy::BloomFilters, PartitionPolicy::Offline]
                .map(|policy| workload.measure(policy).write_amplification);
        let gained = (mixed - found_out) / (mixed - known);
        assert!(mixed > known && gained > 0.5 && gained < 1.0, "{victim:?}: {mixed} {found_out} {known}");
    }
}

#[test]
fn page_moved_by_ageing_stays_in_its_partition() {
    let mut driver = tiny(8, 2, &[0, 1, 1]);
    assert_eq!([0, 1, 2].map(|lpn| write(&mut driver, lpn)), [(0, 0), (1, 0), (1, 1)]);
    let moved = [0, 1].map(|lpn| driver.rewrite(lpn).unwrap().unwrap());
    let blocks = &driver.ftl.flash.blocks;
    assert_eq!(moved.map(|ppn| blocks.table.partition(blocks.geometry.block_index(ppn))), [0, 1]);
    let counters = driver.ftl.counters();
    assert_eq!((counters.host_pages_written, counters.programs[Cause::Host as usize]), (5, 5));
    driver.ftl.audit().unwrap();
}

/// Pages 0 and 2 are of one partition, 1 and 3 of the other. Blocks 0 and 1 each keep one valid page, 2 and 3.
#[test]
fn what_collection_moves_is_apart_only_if_isolation_persists() {
    for (isolation, shared) in [(Isolation::Persistent, false), (Isolation::Initial, true)] {
        let mut config = late_fifo(FtlConfig::default());
        (config.partition.policy, config.partition.partitions) = (PartitionPolicy::Volumes, 2);
        config.partition.isolation = isolation;
        assert_eq!(config.streams(), if shared { 4 } else { 5 }, "one block fewer is kept back");
        let mut driver = Driver::of([1, 1, 1, 1, 12, 2], config, 4, 0);
        driver.ftl.assign_partitions(vec![0, 1, 0, 1]);
        let first: Vec<_> = (0..4).map(|lpn| write(&mut driver, lpn)).collect();
        assert_eq!(first, [(0, 0), (1, 0), (0, 1), (1, 1)], "the host's writes are apart in both");
        let mut turn = 0;
        while driver.ftl.counters().programs[Cause::Gc as usize] < 2 {
            write(&mut driver, turn % 2);
            turn += 1;
        }
        let block = |lpn| {
            let ppn = driver.ftl.home_of(crate::Lpn::new(lpn)).unwrap();
            driver.place(ppn).0
        };
        assert!(block(2) != 0 && block(3) != 1, "both were moved");
        assert_eq!(block(2) == block(3), shared, "{isolation:?}");
        driver.ftl.audit().unwrap();
    }
}

/// Two regions that take turns: one is written in order again and again, the other at random.
fn ordered_and_random(
    victim: VictimPolicy,
    isolation: Option<Isolation>,
    ordered: u32,
    random: u32,
) -> [f64; 2] {
    let mut config = FtlConfig::default();
    config.gc.victim = victim;
    (config.gc.start, config.gc.stop) = (0.0, 0.0);
    let logical = ordered + random;
    if let Some(isolation) = isolation {
        (config.partition.policy, config.partition.isolation) = (PartitionPolicy::Volumes, isolation);
    }
    let mut writer = Writer::new(&config, 2 * BLOCKS, PAGES, logical);
    if isolation.is_some() {
        writer.ftl.assign_partitions((0..logical).map(|lpn| u8::from(lpn >= ordered)).collect());
    }
    let mut rng = Rng::stream(1, "ordered and random");
    let (mut moved, mut host) = ([0u64; 2], [0u64; 2]);
    let (rounds, counted) = (24, 12);
    let mut region_of = vec![0usize; (2 * BLOCKS * PAGES) as usize];
    for turn in 0..rounds * logical {
        let lpn = match turn {
            fill if fill < logical => fill,
            even if even % 2 == 0 => even / 2 % ordered,
            _ => ordered + rng.below(random),
        };
        let region = usize::from(lpn >= ordered);
        let ppn = writer.write(lpn).program.unwrap().0;
        for op in writer.ops.iter().filter(|op| op.kind == OpKind::Program) {
            let of = region_of[op.source.index()];
            region_of[op.ppn.index()] = of;
            moved[of] += u64::from(turn >= counted * logical);
        }
        region_of[ppn.index()] = region;
        host[region] += u64::from(turn >= counted * logical);
    }
    [0, 1].map(|region| (host[region] + moved[region]) as f64 / host[region] as f64)
}

/// The random region then has all spare space but the open blocks, and amplifies like uniform writes on a device of its
/// own. Greedy collection takes the ordered region's block that is just being overwritten, so that each page of it moves
/// once; cost-benefit leaves it alone, because it is young.
#[test]
fn with_handles_the_random_region_has_the_spare_space_to_itself() {
    let total = |of: [f64; 2]| of[0] + of[1];
    for (ordered_share, spare) in [(0.5, 0.1), (0.25, 0.15), (0.5, 0.25)] {
        let logical = f64::from(2 * BLOCKS * PAGES) * (1.0 - spare);
        let ordered = (logical * ordered_share) as u32;
        let random = logical as u32 - ordered;
        let measure = |victim, isolation| ordered_and_random(victim, isolation, ordered, random);
        let blocks = f64::from(2 * BLOCKS) - IDLE_BLOCKS - f64::from(ordered) / f64::from(PAGES);
        let model = greedy_model(blocks * f64::from(PAGES) / f64::from(random), PAGES);
        let [persistent, initial] =
            [Isolation::Persistent, Isolation::Initial].map(|one| measure(VictimPolicy::Greedy, Some(one)));
        let place =
            format!("share {ordered_share}, spare {spare}: {persistent:?}, {initial:?}, model {model}");
        assert!((persistent[1] / model - 1.0).abs() < 0.02, "{place}");
        assert!((1.0..2.001).contains(&persistent[0]), "{place}");
        assert!(total(initial) > 0.99 * total(persistent), "{place}");
        let mixed = measure(VictimPolicy::Greedy, None);
        assert!(total(mixed) > total(persistent), "{place}, mixed {mixed:?}");
        let by_age = measure(VictimPolicy::CostBenefit, Some(Isolation::Persistent));
        assert!(by_age[0] < 1.001, "{place}, by age {by_age:?}");
    }
}

/// Under FIFO a page of the random region is valid at the end of the queue with probability e^-x, where x is the writes a page
/// while the queue turns once. The ordered region comes round sooner, so that its blocks are empty by then; but they stay in
/// the queue. Of `ratio` blocks for each that the random region fills they take x, as both regions are written equally often,
/// and the rest is x / (1 - e^-x).
fn writes_a_turn(ratio: f64) -> f64 {
    let (mut low, mut high) = (0.0, ratio);
    while high - low > 1e-9 {
        let x: f64 = f64::midpoint(low, high);
        let holds = x + x / (1.0 - (-x).exp());
        (low, high) = if holds < ratio { (x, high) } else { (low, x) };
    }
    low
}

/// So FIFO gives the random region what the ordered one leaves, with handles and without, and that is less than all spare
/// space: its amplification is Desnoyers' a / (a + W0(-a e^-a)) of that rest.
#[test]
fn under_fifo_handles_save_nothing_beside_an_ordered_region() {
    for (ordered_share, spare) in [(0.1, 0.15), (0.2, 0.25), (0.3, 0.4)] {
        let logical = f64::from(2 * BLOCKS * PAGES) * (1.0 - spare);
        let ordered = (logical * ordered_share) as u32;
        let random = logical as u32 - ordered;
        for isolation in [Some(Isolation::Persistent), Some(Isolation::Initial), None] {
            let idle_blocks = if isolation.is_some() { IDLE_BLOCKS } else { IDLE_BLOCKS - 1.0 };
            let ratio = (f64::from(2 * BLOCKS) - idle_blocks) * f64::from(PAGES) / f64::from(random);
            let x = writes_a_turn(ratio);
            assert!(x > f64::from(ordered) / f64::from(random), "the ordered region comes round in time");
            let model = fifo_model(ratio - x);
            let found = ordered_and_random(VictimPolicy::Fifo, isolation, ordered, random);
            let place =
                format!("share {ordered_share}, spare {spare}, {isolation:?}: {found:?}, model {model}");
            assert!((found[1] / model - 1.0).abs() < 0.02, "{place}");
            assert!(found[0] < 1.001, "{place}");
        }
    }
}
