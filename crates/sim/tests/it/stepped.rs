//! A drive on an external clock gives the results of a replay of the same requests at the same times.

use flashtwin_ftl::Rng;
use flashtwin_sim::{Resolved, RunResult, SteppedDrive, SteppedRequest, run};
use flashtwin_trace::{NO_CONTENT, Op, PageSource, PageTrace};

use crate::bench::{WRITE_ALL, column, nand, pick, system_with};
use crate::relations::{Shape, UNIQUE, engine, footprint, levels, look_alike, trace};

const SYSTEMS: [&str; 8] =
    ["conventional", "static", "ca-ssd", "ca-ssd-inverted", "rr-ssd", "rr-ssd-online", "pblru", "ds-ftl"];

fn request<'a>(op: Op, lpns: &'a [u32], contents: &'a [u32]) -> SteppedRequest<'a> {
    let bytes = 512 * lpns.len() as u64;
    let (first_is_partial, last_is_partial, durable) = (false, false, false);
    SteppedRequest { op, bytes, lpns, contents, first_is_partial, last_is_partial, durable }
}

fn stepped(pages: &PageTrace, resolved: &Resolved, rng: &mut Rng) -> (RunResult, Vec<(u64, u64)>) {
    let outline = pages.outline();
    let (footprint, contents) = (outline.pages(), outline.content_count);
    let mut stepped =
        SteppedDrive::new(resolved.clone(), "relations", footprint, contents, std::iter::empty()).unwrap();
    let period_ns = (resolved.config.replay.period_s * 1e9) as u64;
    let (mut boundary, mut done) = (period_ns, Vec::new());
    let mut windows = pages.windows().unwrap();
    while let Some(window) = windows.next().unwrap() {
        for index in 0..window.len() {
            let now = window.time_ns[index] as u64;
            while let Some(next) = stepped.next_event_ns().filter(|&next| next < now && rng.below(3) == 0) {
                // It says truly when something will happen: before that, nothing is complete.
                let before = done.len();
                if next > 0 {
                    stepped.take_done(&mut done);
                    let before = done.len();
                    stepped.advance((next - 1).min(boundary - 1)).unwrap();
                    stepped.take_done(&mut done);
                    assert_eq!(done.len(), before);
                }
                stepped.advance(next.min(boundary - 1)).unwrap();
                stepped.take_done(&mut done);
                assert!(done[before..].iter().all(|&(_, at)| at <= next));
                if next >= boundary {
                    break;
                }
            }
            while now >= boundary {
                stepped.end_period(boundary).unwrap();
                boundary += period_ns;
            }
            let ops = window.page_ops_of(index);
            let partial = window.marks[index];
            let request = SteppedRequest {
                first_is_partial: partial & 1 != 0,
                last_is_partial: partial & 2 != 0,
                durable: partial & 4 != 0,
                ..request(window.op[index], &window.lpn[ops.clone()], &window.content[ops])
            };
            assert_eq!(stepped.arrive(now, &request).unwrap(), index as u64);
        }
    }
    let mut last = 0;
    while let Some(next) = stepped.next_event_ns() {
        assert!(next >= last);
        last = next;
        stepped.advance(next).unwrap();
    }
    stepped.take_done(&mut done);
    (stepped.finish().unwrap(), done)
}

#[test]
fn the_same_requests_at_the_same_times_give_the_same_result() {
    for seed in 0..80 {
        let mut rng = Rng::stream(seed, "stepped");
        let (name, levels) = (pick(&mut rng, &SYSTEMS), levels(&mut rng));
        let mut engine = engine(&mut rng);
        engine.hash_us = pick(&mut rng, &[0.0, 12.0]);
        let footprint = footprint(&mut rng, levels);
        let shape = Shape { contents: pick(&mut rng, &[0, 150]), requests: 500, ..UNIQUE };
        let trace = trace(&mut rng, footprint, &shape);
        let mut resolved = system_with(nand(levels), name, &[("period_s", "0.5"), ("preload", "none")]);
        resolved.config.engine = engine;
        resolved.config.engine.slots = pick(&mut rng, &[0, 0, 1, 6]);
        resolved.config.engine.link_mb_s = pick(&mut rng, &[0.0, 0.0, 100.0]);
        let pages = PageTrace::build(&trace, 4096, resolved.content_source(true)).unwrap();
        let replayed = run(&pages, &resolved, &()).unwrap();
        let (lived, done) = stepped(&pages, &resolved, &mut rng);
        look_alike(&replayed, &lived, &format!("seed {seed}: {name} {levels:?}"));
        // With a write cache, some pages reach the flash only at the end; their requests were complete before.
        let mut numbers: Vec<u64> = done.iter().map(|&(number, _)| number).collect();
        numbers.sort_unstable();
        let all: Vec<u64> = (0..pages.outline().requests).collect();
        assert!(numbers == all, "seed {seed}: {name}: {} of {} were told of", numbers.len(), all.len());
    }
}

#[test]
fn what_it_holds_at_the_beginning_is_there_and_costs_nothing() {
    let mut resolved = system_with(nand([2, 2, 1, 1, 16, 8]), "ca-ssd", &[]);
    resolved.config.engine.hash_us = 12.0;
    let held = (0..64).map(|lpn| (lpn, lpn / 2));
    let mut stepped = SteppedDrive::new(resolved, "held", 80, 100, held).unwrap();
    let ask = |op, lpn: u32, content: u32| (op, [lpn], [content]);
    let mut done = Vec::new();
    for (at, (op, lpns, contents)) in
        [ask(Op::Read, 5, NO_CONTENT), ask(Op::Write, 70, 3), ask(Op::Read, 75, NO_CONTENT)]
            .iter()
            .enumerate()
    {
        arrive(&mut stepped, 1_000_000 * at as u64, *op, lpns, contents);
        while let Some(next) = stepped.next_event_ns() {
            stepped.advance(next).unwrap();
        }
        stepped.take_done(&mut done);
    }
    let times: Vec<u64> = done.iter().map(|&(number, at)| at - 1_000_000 * number).collect();
    // A read takes the array and the channel; a duplicate only its hash; an unwritten page no time.
    assert_eq!(times, [crate::bench::COMMAND + 50_000 + crate::bench::TRANSFER, 12_000, 0]);
    let result = stepped.finish().unwrap();
    assert_eq!(result.summary["pages_programmed"], 0);
}

fn new_twin(name: &str, contents: u32) -> SteppedDrive {
    let mut resolved = system_with(nand([2, 2, 1, 1, 16, 8]), name, &[("verify", "false")]);
    resolved.config.engine.hash_us = 0.0;
    SteppedDrive::new(resolved, "new", 80, contents, std::iter::empty()).unwrap()
}

fn arrive(stepped: &mut SteppedDrive, now_ns: u64, op: Op, lpns: &[u32], contents: &[u32]) {
    stepped.arrive(now_ns, &request(op, lpns, contents)).unwrap();
}

fn queues(stepped: &SteppedDrive) -> Vec<u32> {
    stepped.queue_lengths().iter().copied().collect()
}

fn ends(result: &RunResult) -> Vec<u64> {
    column(result, "periods", "end_ns")
}

#[test]
fn result_has_all_requests_and_queues_show_meanwhile() {
    let mut stepped = new_twin("conventional", 0);
    assert_eq!(queues(&stepped), [0; 4]);
    arrive(&mut stepped, 0, Op::Write, &[1, 2, 3, 4, 5], &[NO_CONTENT; 5]);
    let lengths = queues(&stepped);
    assert_eq!((lengths.iter().sum::<u32>(), lengths.len()), (5, 4));
    stepped.advance(50_000_000).unwrap();
    assert_eq!(queues(&stepped), [0; 4]);
    arrive(&mut stepped, 50_000_000, Op::Read, &[1, 2], &[NO_CONTENT; 2]);
    stepped.end_period(60_000_000).unwrap();
    arrive(&mut stepped, 70_000_000, Op::Trim, &[1], &[NO_CONTENT]);
    let result = stepped.finish().unwrap();
    assert_eq!(result.summary["trace"]["requests"], 3);
    assert_eq!(result.summary["trace"]["page_ops"], 8);
    let bytes = ["read", "write"].map(|kind| result.summary["throughput"][kind]["bytes"].as_u64());
    assert_eq!(bytes, [Some(1024), Some(2560)]);
    assert_eq!(ends(&result), [60_000_000, 70_000_001]);
    assert_eq!(ends(&new_twin("conventional", 0).finish().unwrap()), [0]);
}

#[test]
fn late_drive_is_measured_from_its_first_request() {
    let mut stepped = new_twin("conventional", 0);
    arrive(&mut stepped, 40_000_000, Op::Write, &[1], &[NO_CONTENT]);
    let result = stepped.finish().unwrap();
    let told = |name: &str| result.summary["throughput"][name].as_u64().unwrap();
    assert_eq!(told("first_arrival_ns"), 40_000_000);
    assert_eq!(told("last_response_ns"), 40_000_000 + WRITE_ALL);
    assert_eq!(told("span_ns"), WRITE_ALL);
}

#[test]
fn a_content_that_is_forgotten_is_written_again() {
    let programs = |forgets: bool| {
        let mut stepped = new_twin("ca-ssd", 8);
        arrive(&mut stepped, 0, Op::Write, &[1], &[3]);
        stepped.advance(10_000_000).unwrap();
        // Nobody has it any more, though it lies on flash still.
        arrive(&mut stepped, 10_000_000, Op::Write, &[1], &[4]);
        stepped.advance(20_000_000).unwrap();
        if forgets {
            stepped.forget_content(3);
        }
        arrive(&mut stepped, 20_000_000, Op::Write, &[2], &[3]);
        let writes = stepped.finish().unwrap().summary["flash_writes"].clone();
        ["unique", "reborn"].map(|cause| writes[cause].as_u64().unwrap())
    };
    assert_eq!(programs(false), [2, 1]);
    assert_eq!(programs(true), [3, 0]);
}

#[test]
fn as_many_periods_are_kept_as_of_a_replay_and_the_rest_is_one() {
    let mut stepped = new_twin("conventional", 0);
    for end in 1..=200_003 {
        stepped.end_period(end).unwrap();
    }
    arrive(&mut stepped, 300_000, Op::Trim, &[1], &[NO_CONTENT]);
    let ends = ends(&stepped.finish().unwrap());
    assert_eq!((ends.len(), ends[199_999], ends[200_000]), (200_001, 200_000, 300_001));
}

#[test]
fn a_mirror_is_refused() {
    let resolved = system_with(nand([2, 1, 1, 1, 16, 8]), "rr-ssd", &[("mirror", "conventional")]);
    let refused = SteppedDrive::new(resolved, "by hand", 4, 4, std::iter::empty());
    assert!(refused.err().is_some_and(|error| error.to_string().contains("has no mirror: set it to none")));
}
