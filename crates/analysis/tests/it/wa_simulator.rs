//! WA-simulator against the algorithms written down naively, and against published models.

mod naive;
mod theory;

use std::collections::BTreeMap;

use flashtwin_analysis::{
    Options, OrderError, WaBlockRole, WaCounts, WaDevice, WaError, WaOptions, WaSimulator,
    characterize_trace, page_writes, physical_blocks, temperature, write_amplification,
};
use flashtwin_trace::{Op, Progress, Trace};
use naive::Naive;

use crate::common::{Random, trace_of};

impl Random {
    /// Lower numbers more often, the more the larger `skew` is.
    fn least_of(&mut self, limit: u64, skew: u64) -> u64 {
        (0..=skew).map(|_| self.below(limit)).min().unwrap_or(0)
    }
}

/// SWC paper, section 3.2.
#[test]
fn the_example_of_physical_blocks() {
    assert_eq!(physical_blocks(1_000_000, 128, 7), 8359);
    // 14 x 1.07 is 14.98; the floating-point error of 100 x 1.07 must not matter.
    assert_eq!(physical_blocks(13 * 128, 128, 7), 14);
    assert_eq!(physical_blocks(99 * 128, 128, 7), 107);
    assert_eq!(physical_blocks(0, 128, 28), 1);
    assert_eq!(physical_blocks(u64::MAX, 1, u32::MAX), u64::MAX);
}

/// The whole state of both, and their counts.
fn compare(fast: &WaSimulator<'_>, slow: &Naive, device: WaDevice, pages: u32) {
    for block in 0..device.physical_blocks as u32 {
        assert_eq!(fast.role(block), Some(slow.role(block)), "block {block}");
        assert_eq!(fast.pages(block).as_ref(), Some(&slow.blocks[block as usize].pages), "block {block}");
    }
    assert_eq!(fast.counts(), slow.counts);
    invariants(fast, device, pages);
}

/// Valid counts, bitmap and map tell the same; every page is free, valid or invalid.
fn invariants(fast: &WaSimulator<'_>, device: WaDevice, pages: u32) {
    let mut mapped = (0..pages).filter(|&page| fast.place(page).is_some()).count();
    for block in 0..device.physical_blocks as u32 {
        let held = fast.pages(block).unwrap();
        let valid: Vec<_> = held.iter().enumerate().filter_map(|(at, page)| Some((at, (*page)?))).collect();
        assert!(valid.iter().all(|&(at, page)| fast.place(page) == Some((block, at as u32))));
        mapped -= valid.len();
        match fast.role(block).unwrap() {
            WaBlockRole::Clean | WaBlockRole::Standby => assert!(held.is_empty()),
            WaBlockRole::Active { .. } => assert!(held.len() < device.block_pages as usize),
            WaBlockRole::Closed { .. } => {
                assert_eq!(held.len(), device.block_pages as usize);
                assert_eq!(fast.valid_pages(block), Some(valid.len() as u32));
            }
        }
    }
    assert_eq!(mapped, 0);
}

#[test]
fn agrees_with_the_algorithms_write_by_write() {
    let mut random = Random::new(1);
    let mut branches = BTreeMap::<_, u64>::new();
    let mut stuck = 0;
    for round in 0..3000 {
        let block_pages = [1, 2, 2, 3, 3, 4, 4, 5, 8, 13, 64, 70][random.below(12) as usize];
        let partitions = 1 + random.below(5) as u32;
        let pages = 1 + random.below(if block_pages > 8 { 300 } else { 60 }) as u32;
        let percent = [7, 10, 28, 50, 100, 300][random.below(6) as usize];
        let wanted = physical_blocks(pages.into(), block_pages, percent);
        // Sometimes too few blocks, mostly just enough or some more.
        let least = u64::from(partitions) + random.below(8);
        let device = WaDevice { block_pages, physical_blocks: wanted.max(least), partitions };
        let of_page: Vec<u8> = (0..pages).map(|_| random.below(partitions.into()) as u8).collect();
        let slow = Naive::new(device, &of_page);
        let fast = WaSimulator::new(device, &of_page);
        let (Some(mut slow), Ok(mut fast)) = (slow, fast) else {
            assert!(device.physical_blocks < u64::from(partitions) + 1);
            continue;
        };
        let skew = random.below(5);
        let turns = if block_pages > 8 { 3 } else { 6 };
        for _ in 0..random.below(1 + turns * device.physical_blocks * u64::from(block_pages)) {
            let page = random.least_of(pages.into(), skew) as u32;
            let (found, expected) = (fast.write(page), slow.write(page));
            assert_eq!(found.is_ok(), expected, "round {round}");
            if !expected {
                assert_eq!(found, Err(WaError::NothingToGain));
                assert_eq!(fast.write(page), found);
                assert_eq!(fast.write_all(&[page]), found);
                assert_eq!(fast.counts(), slow.counts);
                stuck += 1;
                break;
            }
            compare(&fast, &slow, device, pages);
        }
        slow.branches.into_iter().for_each(|(branch, times)| *branches.entry(branch).or_default() += times);
    }
    // The comparison means something: every line was reached often.
    assert!(stuck > 100, "{stuck}");
    assert!(branches.len() == 8 && branches.values().all(|&times| times > 500), "{branches:?}");
}

#[test]
fn many_writes_at_once_are_many_writes() {
    let mut random = Random::new(2);
    for _ in 0..60 {
        let (pages, block_pages, partitions) = (3000u32, 16 + random.below(50) as u32, 3);
        let physical_blocks = physical_blocks(pages.into(), block_pages, 12) + 3;
        let device = WaDevice { block_pages, physical_blocks, partitions };
        let of_page: Vec<u8> = (0..pages).map(|page| (page % partitions) as u8).collect();
        let mut by_one = WaSimulator::new(device, &of_page).unwrap();
        let mut at_once = WaSimulator::new(device, &of_page).unwrap();
        let writes: Vec<u32> = (0..40_000).map(|_| random.least_of(pages.into(), 2) as u32).collect();
        for batch in writes.chunks(1 + random.below(9000) as usize) {
            at_once.write_all(batch).unwrap();
        }
        writes.iter().for_each(|&page| by_one.write(page).unwrap());
        assert_eq!(by_one.counts(), at_once.counts());
        for block in 0..physical_blocks as u32 {
            assert_eq!(by_one.pages(block), at_once.pages(block));
        }
        invariants(&at_once, device, pages);
    }
}

/// Larger devices, on which places run out and the limit moves, against the naive simulator at the end.
#[test]
fn agrees_with_the_algorithms_after_many_writes() {
    let mut random = Random::new(3);
    for round in 0..40 {
        let block_pages = 2 + random.below(12) as u32;
        let partitions = 1 + random.below(6) as u32;
        let pages = 300 * block_pages;
        let physical_blocks = physical_blocks(pages.into(), block_pages, 10);
        let device = WaDevice { block_pages, physical_blocks, partitions };
        let of_page: Vec<u8> = (0..pages).map(|page| (page * partitions / pages) as u8).collect();
        let mut fast = WaSimulator::new(device, &of_page).unwrap();
        let mut slow = Naive::new(device, &of_page).unwrap();
        for step in 0..8 * pages {
            // Random, in order, and all on few pages: the workload changes its mind.
            let page = match (step / (pages / 2) + round) % 4 {
                0 => random.below(pages.into()) as u32,
                1 => step % pages,
                2 => random.least_of(pages.into(), 9) as u32,
                _ => random.below(1 + u64::from(pages) / 50) as u32,
            };
            fast.write(page).unwrap();
            assert!(slow.write(page));
        }
        compare(&fast, &slow, device, pages);
    }
}

/// Blocks of two pages, five of them, two partitions: pages 0 and 1 in the first, 2 and 3 in the second.
#[test]
fn every_step_of_a_small_example() {
    let device = WaDevice { block_pages: 2, physical_blocks: 5, partitions: 2 };
    let mut ssd = WaSimulator::new(device, &[0, 0, 1, 1]).unwrap();
    let state = |ssd: &WaSimulator<'_>| -> Vec<String> {
        let page = |page: &Option<u32>| page.map_or("-".to_owned(), |page| page.to_string());
        let block = |block| {
            let pages: Vec<String> = ssd.pages(block).unwrap().iter().map(page).collect();
            match ssd.role(block).unwrap() {
                WaBlockRole::Clean => "clean".to_owned(),
                WaBlockRole::Standby => "standby".to_owned(),
                WaBlockRole::Active { partition } => format!("P{partition}>{}", pages.join(" ")),
                WaBlockRole::Closed { partition } => format!("P{partition}:{}", pages.join(" ")),
            }
        };
        (0..5).map(block).collect()
    };
    assert_eq!(state(&ssd), ["P0>", "P1>", "standby", "clean", "clean"]);
    let steps: [(u32, [&str; 5], u64, u64); 11] = [
        (0, ["P0>0", "P1>", "standby", "clean", "clean"], 1, 0),
        // Full: a clean block, the one with the lowest number.
        (1, ["P0:0 1", "P1>", "standby", "P0>", "clean"], 2, 0),
        (2, ["P0:0 1", "P1>2", "standby", "P0>", "clean"], 3, 0),
        (3, ["P0:0 1", "P1:2 3", "standby", "P0>", "P1>"], 4, 0),
        (0, ["P0:- 1", "P1:2 3", "standby", "P0>0", "P1>"], 5, 0),
        (2, ["P0:- 1", "P1:- 3", "standby", "P0>0", "P1>2"], 6, 0),
        // No clean block. Three have one valid page, the first was closed first and is P0's own: line 12.
        (0, ["P0>1", "P1:- 3", "standby", "P0:- 0", "P1>2"], 8, 1),
        // Block 1 has no valid page left: erased and P1's again.
        (3, ["P0>1", "P1>", "standby", "P0:- 0", "P1:2 3"], 9, 2),
        (2, ["P0>1", "P1>2", "standby", "P0:- 0", "P1:- 3"], 10, 2),
        // The victim is block 3 of P0. Its page fills P0's active block exactly, so the standby block
        // goes to P0 and block 3 to P1; for a new standby block, block 4 moves its page to block 3.
        (2, ["P0:1 0", "P1:- 2", "P0>", "P1>3", "standby"], 13, 4),
        // Block 1 was closed before block 3: written back into itself.
        (3, ["P0:1 0", "P1>2", "P0>", "P1:- 3", "standby"], 15, 5),
    ];
    for (step, (page, blocks, programmed, erases)) in steps.into_iter().enumerate() {
        ssd.write(page).unwrap();
        assert_eq!(state(&ssd), blocks, "step {step}");
        let page_writes = step as u64 + 1;
        assert_eq!(ssd.counts(), WaCounts { page_writes, pages_programmed: programmed, erases });
    }
}

#[test]
fn says_what_it_cannot_simulate() {
    let device = WaDevice { block_pages: 4, physical_blocks: 3, partitions: 2 };
    let fails = |device, of_page: &[u8]| WaSimulator::new(device, of_page).err();
    assert_eq!(fails(device, &[0, 1]), None);
    assert_eq!(fails(device, &[0, 2]), Some(WaError::UnknownPartition(2)));
    assert_eq!(fails(WaDevice { block_pages: 0, ..device }, &[]), Some(WaError::BlockPages(0)));
    assert_eq!(fails(WaDevice { block_pages: 32_768, ..device }, &[]), Some(WaError::BlockPages(32_768)));
    assert_eq!(fails(WaDevice { block_pages: 32_767, ..device }, &[]), None);
    assert_eq!(fails(WaDevice { partitions: 0, ..device }, &[]), Some(WaError::Partitions(0)));
    assert_eq!(fails(WaDevice { partitions: 257, ..device }, &[]), Some(WaError::Partitions(257)));
    let few = WaDevice { physical_blocks: 2, ..device };
    assert_eq!(fails(few, &[]), Some(WaError::TooFewBlocks { physical_blocks: 2, partitions: 2 }));
    let many = WaDevice { physical_blocks: 1 << 26, ..device };
    assert_eq!(fails(many, &[]), Some(WaError::TooManyPages));
    assert_eq!(fails(WaDevice { physical_blocks: u64::MAX, ..device }, &[]), Some(WaError::TooManyPages));
    let mut ssd = WaSimulator::new(device, &[0, 1]).unwrap();
    assert_eq!(ssd.write(2), Err(WaError::UnknownPage(2)));
    assert_eq!(ssd.write_all(&[0, 7, 1]), Err(WaError::UnknownPage(7)));
    assert_eq!(ssd.counts().page_writes, 1);
    assert_eq!(ssd.write(1), Ok(()));
}

fn random_trace(random: &mut Random) -> Trace {
    let pages = 10 + random.below(200);
    let requests = 400 + random.below(800);
    trace_of((0..requests).map(|_| {
        let op = if random.below(8) == 0 { Op::Read } else { Op::Write };
        (op, random.least_of(pages, 3) * 4096, 4096 * (1 + random.below(3)))
    }))
}

/// Partitions by the tested partitions, devices by the naive simulator.
#[test]
fn the_grid_agrees_with_the_reference() {
    let mut random = Random::new(4);
    let (mut missing, mut equal) = (0, 0);
    for _ in 0..60 {
        let trace = random_trace(&mut random);
        let options = WaOptions { block_pages: vec![4, 7], ..WaOptions::default() };
        let result = write_amplification(&trace, 4096, &options, &()).unwrap();
        assert_eq!(result.cells.len(), 2 * (3 * 9 + 4 * 5));
        assert_eq!(result.table.num_rows(), result.cells.len());
        for cell in &result.cells {
            let writes = page_writes(&trace, cell.page_bytes, true);
            let frequencies = flashtwin_analysis::Frequencies::of(&writes.writes);
            let ratio = match cell.purpose.as_str() {
                "grid" => frequencies.lowest_ratio(cell.partitions_asked).unwrap(),
                "f_r<=2" => flashtwin_analysis::Ratio::new(2.0).unwrap(),
                _ => flashtwin_analysis::Ratio::new(3.0).unwrap(),
            };
            let partitioning = frequencies.partitions(ratio);
            assert_eq!(cell.partitions as usize, partitioning.len());
            assert_eq!(cell.frequency_ratio, partitioning.ratio.map(|ratio| ratio.value()));
            let pages = writes.writes.len() as u64;
            let logical = 1 + pages / u64::from(cell.block_pages);
            let blocks = logical * u64::from(100 + cell.over_provisioning_percent) / 100;
            assert_eq!((cell.physical_blocks, cell.over_provisioned_blocks), (blocks, blocks - logical));
            let overhead = f64::from(cell.partitions + 1) / (blocks - logical) as f64;
            assert_eq!(cell.partitioning_overhead, Some(overhead).filter(|overhead| overhead.is_finite()));
            let device = WaDevice {
                block_pages: cell.block_pages,
                physical_blocks: blocks,
                partitions: cell.partitions,
            };
            let mut counts = WaCounts::default();
            let mut done = false;
            if let Some(mut naive) = Naive::new(device, &partitioning.of_pages(&writes.writes).unwrap()) {
                let order = writes.order.as_ref().unwrap().as_ref().unwrap();
                done = order
                    .batches(|pages| {
                        let stuck = || OrderError::Io("stuck".to_owned());
                        pages.iter().try_for_each(|&page| naive.write(page).then_some(()).ok_or_else(stuck))
                    })
                    .is_ok();
                counts = naive.counts;
            }
            let found = WaCounts {
                page_writes: cell.page_writes,
                pages_programmed: cell.pages_programmed,
                erases: cell.erases,
            };
            assert_eq!(found, counts);
            assert_eq!((cell.write_amplification.is_some(), cell.why_missing.is_none()), (done, done));
            missing += usize::from(!done);
            equal += usize::from(done);
            // With as many over-provisioned blocks as partitions no simulation fails.
            assert!(done || cell.over_provisioned_blocks < cell.partitions.into());
        }
    }
    assert!(missing > 100 && equal > 100, "{missing} and {equal}");
}

#[test]
fn the_summary_is_of_the_base_page_size() {
    let page = |time| if time < 25_000 { time } else { Random::new(time).least_of(25_000, 4) };
    let trace = trace_of((0..100_000).map(|time| (Op::Write, page(time) * 4096, 4096)));
    let options = WaOptions { other_page_bytes: vec![], ..WaOptions::default() };
    let result = write_amplification(&trace, 4096, &options, &()).unwrap();
    assert_eq!((result.page_bytes, result.pages_written, result.page_writes), (4096, 25_000, 100_000));
    assert_eq!(result.writes_per_page_mean, Some(4.0));
    assert!(result.enters_statistics);
    let of = |purpose: &str, percent| {
        let wanted = |cell: &&flashtwin_analysis::WaCell| {
            cell.purpose == purpose && cell.over_provisioning_percent == percent
        };
        result.cells.iter().find(wanted).unwrap()
    };
    assert_eq!(result.write_amplification_1, of("grid", 7).write_amplification);
    assert_eq!(result.write_amplification_for_ratio_2, of("f_r<=2", 7).write_amplification);
    assert_eq!(result.write_amplification_for_ratio_3, of("f_r<=3", 7).write_amplification);
    assert!(result.write_amplification_1 > Some(1.0));
    assert!(of("grid", 28).write_amplification < result.write_amplification_1);
    assert_eq!(temperature(&trace, 4096).partitions_for_ratio_2, u64::from(of("f_r<=2", 7).partitions));
    // One sector more, or one write less, and it does not enter.
    for (pages, writes) in [(25_001, 100_000), (20_000, 99_999)] {
        let trace = trace_of((0..writes).map(|time| (Op::Write, time % pages * 4096, 4096)));
        let options = WaOptions { partitions: vec![1], frequency_ratios: vec![], ..options.clone() };
        assert!(!write_amplification(&trace, 4096, &options, &()).unwrap().enters_statistics);
    }
}

/// 100,000 requests that write pages of 4 KB in turn, each one or all of the eight sectors of a page.
fn sector_writes(pages: u64, sectors: u64) -> Trace {
    let write = |time| {
        let sector = if sectors == 1 { time / pages % 8 } else { 0 };
        (Op::Write, time % pages * 4096 + sector * 512, sectors * 512)
    };
    // One request off the 4 KB grid, so that the granularity is 512 bytes.
    trace_of((0..100_000).map(write).chain([(Op::Write, 512, 512)]))
}

#[test]
fn statistics_ask_for_four_writes_of_each_sector() {
    // Pages are written 8 times each, their sectors but once: "each of the sectors ... at least four times".
    let options = WaOptions {
        partitions: vec![1],
        frequency_ratios: vec![],
        other_page_bytes: vec![],
        ..WaOptions::default()
    };
    let of = |trace: &Trace| write_amplification(trace, 512, &options, &()).unwrap();
    let single = of(&sector_writes(12_500, 1));
    assert!(single.page_writes > 100_000 && single.writes_per_page_mean > Some(8.0));
    assert!(single.writes_per_sector_mean < Some(1.1));
    assert!(!single.enters_statistics);
    // Whole pages: sectors as often as pages.
    let whole = of(&sector_writes(12_500, 8));
    assert!(whole.writes_per_sector_mean > Some(8.0));
    assert!(whole.enters_statistics);
    // The whole characterization says the same.
    let trace = sector_writes(12_500, 1);
    let found =
        characterize_trace(&trace, &Options { wa: options.clone(), ..Options::default() }, &()).unwrap();
    let summary = &found.summary["write_amplification"];
    assert_eq!(summary["enters_statistics"], false);
    assert_eq!(summary["writes_per_sector_mean"], found.summary["temperature"]["writes_per_sector_mean"]);
}

#[test]
fn nonsense_is_a_reason_not_a_crash() {
    let mut random = Random::new(5);
    let trace = random_trace(&mut random);
    let options = WaOptions {
        partitions: vec![0, 1, 300],
        over_provisioning_percent: vec![0, 7],
        frequency_ratios: vec![0.5, f64::NAN],
        block_pages: vec![0, 4, 40_000],
        other_page_bytes: vec![],
        ..WaOptions::default()
    };
    let result = write_amplification(&trace, 4096, &options, &()).unwrap();
    assert_eq!(result.cells.len(), 3 * 2 * 5);
    for cell in &result.cells {
        let possible = cell.block_pages == 4
            && cell.partitions > 0
            && cell.over_provisioned_blocks >= cell.partitions.into();
        assert!(!possible || cell.write_amplification.is_some(), "{cell:?}");
        assert_eq!(cell.write_amplification.is_none(), cell.why_missing.is_some());
    }
    let empty = trace_of([]);
    let result = write_amplification(&empty, 512, &WaOptions::default(), &()).unwrap();
    assert_eq!(result.cells.len(), 3 * 9 + 7 * 5);
    assert!(result.cells.iter().all(|cell| cell.why_missing.as_deref() == Some("nothing is written")));
    assert!(!result.enters_statistics);
}

#[test]
fn gives_up_when_told_to() {
    struct GiveUp;
    impl Progress for GiveUp {
        fn update(&self, _done: u64, _total: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let trace = random_trace(&mut Random::new(6));
    let result = write_amplification(&trace, 4096, &WaOptions::default(), &GiveUp);
    assert_eq!(result, Err(WaError::Cancelled));
}
