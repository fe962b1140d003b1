//! Partitions by temperature: against the wa-simulator, against one another, their results and errors.

use flashtwin_analysis::{WaCell, WaOptions, write_amplification};
use flashtwin_ftl::{PartitionPolicy, Rng};
use flashtwin_sim::{Preload, Resolved, RunResult, resolve, run};
use flashtwin_trace::{ContentSource, Op, PageTrace, Trace};
use serde_json::Value;

use crate::bench::{nand, trace_of_pages};

const PAGES: u32 = 12_000;
const BLOCK_PAGES: u32 = 32;

/// Every page once, then three update frequencies, 16 to 4 to 1, without queueing.
fn trace() -> Trace {
    let mut rng = Rng::stream(1, "three temperatures");
    let third = PAGES / 3;
    trace_of_pages((0..20 * PAGES).map(|write| {
        let page = match (write < PAGES, rng.below(21)) {
            (true, _) => write,
            (_, 0..16) => rng.below(third),
            (_, 16..20) => third + rng.below(third),
            _ => 2 * third + rng.below(third),
        };
        (i64::from(write) * 1_000_000, Op::Write, page.into(), None)
    }))
}

fn system(blocks: u32, policy: PartitionPolicy, partitions: u32) -> Resolved {
    let mut resolved = resolve("conventional", &[]).unwrap();
    let config = &mut resolved.config;
    config.nand = nand([1, 1, 1, 1, blocks, BLOCK_PAGES]);
    (config.ftl.gc.start, config.ftl.gc.stop) = (0.0, 0.0);
    (config.ftl.partition.policy, config.ftl.partition.partitions) = (policy, partitions);
    config.replay.preload = Preload::None;
    resolved.device = config.nand.resolve().unwrap();
    resolved
}

fn amplification(result: &RunResult) -> f64 {
    result.summary["write_amplification"].as_f64().unwrap()
}

#[test]
fn run_amplifies_writes_like_the_wa_simulator() {
    let trace = trace();
    let options = WaOptions {
        page_bytes: 4096,
        partitions: vec![1, 2, 3],
        over_provisioning_percent: vec![12, 28],
        other_page_bytes: vec![],
        frequency_ratios: vec![],
        block_pages: vec![BLOCK_PAGES],
        ..WaOptions::default()
    };
    let cells = write_amplification(&trace, 4096, &options, &()).unwrap().cells;
    let pages = PageTrace::build(&trace, 4096, ContentSource::None).unwrap();
    for cell in &cells {
        let WaCell { partitions, physical_blocks, write_amplification, .. } = *cell;
        // Beside its standby block the wa-simulator has an active block a partition; here are two and two free.
        let blocks = physical_blocks as u32 + partitions + 1;
        let result = run(&pages, &system(blocks, PartitionPolicy::Offline, partitions), &()).unwrap();
        let (found, expected) = (amplification(&result), write_amplification.unwrap());
        assert!((found / expected - 1.0).abs() < 0.015, "{partitions}: {found}, without a clock {expected}");
    }
    // The same order as there: each partition more brings something, the spare blocks much more.
    let all: Vec<f64> = cells.iter().filter_map(|cell| cell.write_amplification).collect();
    assert!(all.len() == 6 && all.is_sorted_by(|a, b| a > b), "{all:?}");
}

#[test]
fn results_show_partitions_and_their_ram() {
    let pages = PageTrace::build(&trace(), 4096, ContentSource::None).unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    let mut found = Vec::new();
    for (policy, bytes) in [
        (PartitionPolicy::None, 0),
        // 3,000 writes a window, four filters of 8 bits for each; a bit a page.
        (PartitionPolicy::BloomFilters, 3_000 * 4),
        (PartitionPolicy::Offline, u64::from(PAGES / 8)),
    ] {
        let mut resolved = system(450, policy, 2);
        resolved.config.verify = policy == PartitionPolicy::BloomFilters;
        let result = run(&pages, &resolved, &()).unwrap();
        let ram = &result.summary["ram"];
        assert_eq!(number(&ram["partition_bytes"]), bytes, "{policy:?}");
        assert_eq!(number(&ram["total_bytes"]), bytes + 4 * u64::from(PAGES));
        let partitions = result.summary["partitions"].as_array().unwrap().clone();
        found.push((partitions.clone(), amplification(&result)));
        if policy == PartitionPolicy::None {
            assert!(partitions.is_empty());
            continue;
        }
        let sum = |key: &str| partitions.iter().map(|partition| number(&partition[key])).sum::<u64>();
        assert_eq!(sum("pages_written"), number(&result.summary["host_pages_written"]));
        assert_eq!(sum("valid_pages"), u64::from(PAGES));
        assert!((440..=450).contains(&sum("blocks")));
    }
    for (partitions, _) in &found[1..] {
        let writes_a_page = |at: usize| {
            number(&partitions[at]["pages_written"]) as f64 / number(&partitions[at]["valid_pages"]) as f64
        };
        assert!(writes_a_page(0) > 2.0 * writes_a_page(1), "{partitions:?}");
    }
    assert!(found[2].1 < found[0].1, "known beforehand they lower write amplification: {found:?}");
}
