//! Duplicates on different channels, comparisons in idle time, and reads that share one flash read.

use flashtwin_ftl::allocation::AllocationPolicy;
use flashtwin_ftl::redirection::RedirectionPolicy;
use flashtwin_ftl::spread::{PlacePolicy, SpreadPolicy};
use flashtwin_ftl::{Mapping, Rng};
use flashtwin_sim::engine::{Charge, Ledger};
use flashtwin_sim::{MergeReads, Preload, RunResult, resolve, run};
use flashtwin_trace::{ContentSource, Op, PageTrace, TraceBuilder};

use crate::bench::{Ask, Bench, ONE, SENSE, WRITE_ALL, nand, read, served, system_on, trace_of_pages, write};
use crate::drawn::random_trace;

/// Two channels of one chip each. Even pages belong on channel 0, odd ones on channel 1.
const TWO: [u32; 6] = [2, 1, 1, 1, 16, 8];

fn spreading(levels: [u32; 6], before: &[(u32, u32)]) -> Bench {
    Bench::new(levels).with(|bench| {
        bench.ftl.spread.policy = SpreadPolicy::Duplicates;
        bench.ftl.redirection.policy = RedirectionPolicy::Replicas;
        bench.before = before.to_vec();
    })
}

#[test]
fn duplicate_goes_to_the_next_channel_and_is_compared() {
    // Page 2 belongs on channel 0, which holds its content as page 0.
    let outcome = spreading(TWO, &[(0, 7)]).serve(&[write(0, 2, 7)]);
    // Channel 0 has nothing else to do; the new page is read when it is programmed.
    assert_eq!(outcome.log.commands, [(0, "program", 1), (0, "read", 0), (WRITE_ALL, "read", 1)]);
    assert_eq!(outcome.log.response_times(), [WRITE_ALL]);
}

#[test]
fn a_content_that_no_filter_knows_stays_where_it_belongs() {
    let outcome = spreading(TWO, &[(0, 7)]).serve(&[write(0, 2, 8)]);
    assert_eq!(outcome.log.commands, [(0, "program", 0)]);
    let outcome = spreading(TWO, &[(0, 7)]).serve(&[write(0, 1, 7)]);
    assert_eq!(outcome.log.commands, [(0, "program", 1)]);
}

#[test]
fn where_all_channels_hold_the_content_the_proposal_stands() {
    let outcome = spreading(TWO, &[(0, 7), (2, 7)]).serve(&[write(0, 4, 7)]);
    // Pages 0 and 2 are twins already: one of them is read.
    let expected = [(0, "program", 0), (210_100, "read", 0), (270_200, "read", 0)];
    assert_eq!(outcome.log.commands, expected);
}

#[test]
fn comparisons_wait_for_whatever_else_the_unit_has_to_do() {
    let bench = spreading(TWO, &[(0, 7), (1, 1)]);
    let outcome = bench.serve(&[write(0, 2, 7), write(1_000, 3, 9), read(220_000, 1)]);
    assert_eq!(outcome.kinds(), "program@1 read program@1 read@1 read@1");
    assert_eq!(outcome.starts(), [0, 0, 210_100, 420_200, 480_300]);
}

#[test]
fn only_what_was_compared_is_read_elsewhere() {
    // Twins since before: page 2 lies on channel 1, and channel 0 is busy.
    let twins = spreading(TWO, &[(0, 7), (2, 7)]).serve(&[write(0, 4, 9), read(1_000, 0)]);
    assert_eq!(twins.log.commands, [(0, "program", 0), (1_000, "read", 1)]);
    assert_eq!(twins.log.redirected, [1]);
    let soon = spreading(TWO, &[(0, 7)]).serve(&[write(0, 2, 7), read(1_000, 0)]);
    let expected = [(0, "program", 1), (0, "read", 0), (60_100, "read", 0), (210_100, "read", 1)];
    assert_eq!(soon.log.commands, expected);
    // And here never: page 0 was overwritten before it was compared.
    let asks = [write(0, 2, 7), write(1_000, 0, 5), write(500_000, 1, 3), read(501_000, 2)];
    let never = spreading(TWO, &[(0, 7)]).serve(&asks);
    assert!(never.log.redirected.is_empty());
}

#[test]
fn without_verification_twins_are_known_at_once() {
    let bench = spreading(TWO, &[(0, 7)]).with(|bench| bench.ftl.spread.verify = false);
    let outcome = bench.serve(&[write(0, 2, 7), write(250_000, 4, 9), read(251_000, 0)]);
    assert_eq!(outcome.log.commands, [(0, "program", 1), (250_000, "program", 0), (251_000, "read", 1)]);
}

#[test]
fn jobs_beyond_the_limit_are_dropped() {
    let bench = spreading(TWO, &[(0, 7), (4, 8)]).with(|bench| bench.ftl.background.jobs = 1);
    let outcome = bench.serve(&[write(0, 2, 7), write(1_000, 6, 8)]);
    let expected = [(0, "program", 1), (0, "read", 0), (210_100, "program", 1), (420_200, "read", 1)];
    assert_eq!(outcome.log.commands, expected);
}

fn waited(program_ns: u64, read_ns: u64) -> Ledger {
    served(&[(Charge::HostProgram, program_ns), (Charge::HostRead, read_ns)], SENSE)
}

#[test]
fn reads_that_wait_for_the_same_page_share_one_flash_read() {
    let bench = Bench::new(ONE).holding(2).with(|bench| bench.engine.merge_reads = MergeReads::SameContent);
    let asks = [write(0, 2, 2), read(1_000, 0), read(2_000, 1), read(3_000, 0), read(4_000, 0)];
    let outcome = bench.serve(&asks);
    assert_eq!(outcome.log.commands, [(0, "program", 0), (210_100, "read", 0), (270_200, "read", 0)]);
    // All three of page 0 are complete at 270,200.
    let expected = [waited(209_100, 0), waited(207_100, 0), waited(206_100, 0), waited(208_100, 60_100)];
    assert_eq!(outcome.log.responses[1..], expected);
    assert_eq!(outcome.counts.pages.merged_reads, 2);
}

#[test]
fn a_read_in_service_is_not_joined() {
    let bench = Bench::new(ONE).holding(1).with(|bench| bench.engine.merge_reads = MergeReads::SameContent);
    let outcome = bench.serve(&[read(0, 0), read(1_000, 0), read(2_000, 0), read(60_200, 0)]);
    assert_eq!(outcome.log.commands, [(0, "read", 0), (60_100, "read", 0), (120_200, "read", 0)]);
    assert_eq!(outcome.counts.pages.merged_reads, 1);
    assert_eq!(outcome.log.response_times(), [60_100, 119_200, 118_200, 120_100]);
}

#[test]
fn a_read_joins_one_of_its_twin_on_another_die_of_the_chip() {
    let asks = [write(0, 2, 8), write(0, 3, 9), read(1_000, 0), read(2_000, 1)];
    let bench = || spreading([1, 1, 2, 1, 16, 8], &[(0, 7), (1, 7)]);
    let programs = [(0, "program", 0), (0, "program", 1)];
    let merged = bench().with(|bench| bench.engine.merge_reads = MergeReads::SameContent).serve(&asks);
    assert_eq!(merged.log.commands, [programs[0], programs[1], (210_100, "read", 0)]);
    assert_eq!(merged.counts.pages.merged_reads, 1);
    let apart = bench().serve(&asks);
    assert_eq!(apart.log.commands, [programs[0], programs[1], (210_100, "read", 0), (220_200, "read", 1)]);
}

#[test]
fn the_host_writes_as_much_to_flash_as_without_spreading() {
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "host writes");
        let trace = random_trace(&mut rng);
        let pages = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap();
        for policy in AllocationPolicy::ALL {
            let written = [SpreadPolicy::None, SpreadPolicy::Duplicates].map(|spread| {
                let mut resolved = resolve("ds-ftl", &[]).unwrap();
                let config = &mut resolved.config;
                assert_eq!(config.ftl.mapping, Mapping::Page);
                (config.ftl.allocation.policy, config.ftl.spread.policy) = (policy, spread);
                (config.verify, config.replay.preload) = (true, Preload::FirstReads);
                config.nand = nand([3, 1, 2, 1, pages.outline.footprint_pages() / 20 + 6, 4]);
                resolved.device = resolved.config.nand.resolve().unwrap();
                let result = run(&pages, &resolved, &()).unwrap();
                let summary = &result.summary;
                assert_eq!(summary["flash_writes"]["host"], summary["host_pages_written"]);
                assert_eq!(summary["page_ops"]["duplicate_writes"], 0);
                summary["flash_writes"]["host"].as_u64().unwrap()
            });
            assert_eq!(written[0], written[1], "seed {seed}, {policy:?}");
        }
    }
}

#[test]
fn contents_that_a_fixed_place_would_pile_up_are_spread_evenly() {
    // 64 planes: page p belongs on plane p modulo 64 and holds content p modulo 64.
    let write = |page: u32| (i64::from(page) * 1_000_000, Op::Write, page.into(), Some(page % 64));
    let pages =
        PageTrace::build(&trace_of_pages((0..256).map(write)), 4096, ContentSource::Recorded).unwrap();
    let summary = |system: &str| run(&pages, &resolve(system, &[]).unwrap(), &()).unwrap().summary;
    let (fixed, spread) = (summary("static"), summary("ds-ftl"));
    assert_eq!(fixed["redundancy"]["plane_mean"], 0.75);
    assert_eq!(spread["redundancy"]["plane_mean"], 0.0);
    // Three pages of each content went elsewhere, past one, two and three channels that hold it.
    assert_eq!(spread["page_ops"]["redirected_writes"], 192);
    assert_eq!(spread["spread"]["filter_positives"], 64 * (1 + 2 + 3));
    assert_eq!(spread["spread"]["comparisons"], 192);
    assert_eq!(spread["spread"]["twin_contents"], 64);
    assert_eq!(spread["spread"]["twin_pages"], 256);
    // Two pages each: the earlier ones are on one list by then.
    assert_eq!(spread["flash_reads"]["verify"], 2 * 192);
    assert_eq!(spread["ram"]["twin_lists_bytes"], 4 * 256 + 2 * 64);
}

#[test]
fn what_is_written_counts_versions_that_are_invalid_by_now() {
    // Page 0 gets one content three times. Its plane has it already, as page 64 from before the trace.
    let writes = (1..4).map(|write| (write * 1_000_000, Op::Write, 0, Some(7)));
    let trace = trace_of_pages([(0, Op::Read, 64, Some(7))].into_iter().chain(writes));
    let pages = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap();
    let redundancy = |system: &str, counted: bool| {
        let mut resolved = resolve(system, &[]).unwrap();
        resolved.config.ftl.spread.count_written = counted;
        run(&pages, &resolved, &()).unwrap().summary["redundancy"].clone()
    };
    assert_eq!(redundancy("static", true)["written_mean"], 2.0 / 3.0);
    assert_eq!(redundancy("static", true)["written_equal_mean"], 1.0);
    assert_eq!(redundancy("static", true)["plane_mean"], 0.5, "of the valid pages, 0 and 64 hold the same");
    assert_eq!(redundancy("ds-ftl", true)["written_mean"], 0.0, "each version goes to another channel");
    assert!(redundancy("static", false)["written_mean"].is_null());
}

fn plain_and_spread(pages: &PageTrace, preload: Preload) -> [RunResult; 2] {
    ["static", "ds-ftl"].map(|system| {
        let mut resolved = system_on([4, 2, 2, 1, 20, 16], system, &[]);
        resolved.config.replay.preload = preload;
        run(pages, &resolved, &()).unwrap()
    })
}

#[test]
fn without_equal_contents_ds_ftl_is_static_new_and_aged() {
    for seed in 0..20 {
        let trace = random_trace(&mut Rng::stream(seed, "unique contents"));
        let pages = PageTrace::build(&trace, 4096, ContentSource::Unique).unwrap();
        for preload in [Preload::FirstReads, Preload::Footprint] {
            let [plain, spread] = plain_and_spread(&pages, preload);
            assert_eq!(spread.summary["spread"]["filter_positives"], 0);
            for figure in ["response", "page_ops", "flash_reads", "flash_writes", "erases", "utilisation"] {
                assert_eq!(plain.summary[figure], spread.summary[figure], "{figure}, seed {seed}");
            }
            for table in ["periods", "chips", "planes", "blocks", "latency_histogram"] {
                assert!(plain.table(table) == spread.table(table), "{table}, seed {seed}");
            }
        }
    }
}

#[test]
fn an_aged_device_is_read_in_whole_stripes() {
    // Eight pages a second, never written: they lie on eight dies of four channels.
    let mut trace = TraceBuilder::new("stripes");
    for turn in 0..40u32 {
        trace.request(i64::from(turn) * 1_000_000_000, Op::Read, u64::from(turn) * 32_768, 32_768, &[]);
    }
    let pages = PageTrace::build(&trace.build().unwrap(), 4096, ContentSource::Unique).unwrap();
    for result in plain_and_spread(&pages, Preload::Footprint) {
        // Two reads share a channel, no more: 50 us, and 10 us for the data of each.
        assert_eq!(result.summary["response"]["read"]["max_ns"], 2 * 100 + 50_000 + 2 * 10_000 - 100);
    }
}

#[test]
fn duplicates_take_turns_among_the_dies_of_their_channel() {
    // Page 0 belongs on channel 0, page 1 on the first die of channel 1. Channel 0 holds contents 7 to 10.
    let responses = |place| {
        let bench = spreading([2, 2, 2, 1, 16, 8], &[(8, 7), (16, 8), (24, 9), (32, 10)]);
        let turn = |turn: u32| {
            let both = write(i64::from(turn) * 10_000_000, 0, 7 + turn);
            Ask { contents: vec![7 + turn, 100 + turn], ..both }
        };
        let bench = bench.with(|bench| {
            bench.footprint = 40;
            (bench.ftl.spread.place, bench.ftl.spread.verify) = (place, false);
        });
        bench.serve(&(0..4).map(turn).collect::<Vec<_>>()).log.response_times()
    };
    // On one die one after the other, or two dies of a channel that their data share.
    let (one_die, two_dies) = (2 * WRITE_ALL, WRITE_ALL + 10_100);
    assert_eq!(responses(PlacePolicy::RoundRobin), [one_die, two_dies, two_dies, two_dies]);
    assert_eq!(responses(PlacePolicy::SamePlace), [one_die; 4]);
}
