//! The front end by hand, by closed forms, and its invariants for random requests.

use flashtwin_ftl::Rng;
use flashtwin_sim::engine::{Charge, Ledger};
use flashtwin_sim::{Arbitration, RunResult, Suspend, run};
use flashtwin_trace::{Op, PageTrace};
use serde_json::Value;

use crate::bench::{
    Ask, Bench, Done, Log, Outcome, PROGRAM, READ_ALL, SENSE, WRITE_ALL, column, flush, ledger, most_at_once,
    page_trace, pick, read, read_pages, served, system_on, trim, write,
};
use crate::drawn::{self, spaced_trace};
use crate::swarm::random_run;
use crate::traces::same_in_windows;

/// Of a page on a link of 409.6 MB/s, as on the channel.
const LINK: u64 = 10_000;

fn bench() -> Bench {
    Bench::new([2, 1, 1, 1, 40, 8]).holding(8)
}

fn with_slots(slots: u32) -> Bench {
    bench().with(|bench| bench.engine.slots = slots)
}

fn with_link() -> Bench {
    bench().with(|bench| bench.engine.link_mb_s = 409.6)
}

fn with_limit(limit: u32) -> Bench {
    bench().with(|bench| bench.queue_limit = limit)
}

fn of_queue(queue: u8, ask: Ask) -> Ask {
    Ask { queue, ..ask }
}

fn over_link(waits: &[(Charge, u64)], data_ns: u64, array_ns: u64) -> Ledger {
    served(&[waits, &[(Charge::Transfer, data_ns)]].concat(), array_ns)
}

#[test]
fn requests_wait_for_a_slot_in_order() {
    let outcome = with_slots(1).serve(&[read(0, 0), read(10, 1), read(20, 2)]);
    let waits = [0, READ_ALL - 10, 2 * READ_ALL - 20];
    let expected = waits.map(|ns| served(&[(Charge::Slot, ns)], SENSE));
    assert_eq!(outcome.log.responses, expected);
    assert_eq!(outcome.end_ns, 3 * READ_ALL);
}

#[test]
fn request_of_several_pages_keeps_one_slot_until_the_last() {
    let outcome = with_slots(1).serve(&[read_pages(0, 0, 2), read(0, 4)]);
    let expected = [served(&[], SENSE), served(&[(Charge::Slot, READ_ALL)], SENSE)];
    assert_eq!(outcome.log.responses, expected);
}

#[test]
fn data_of_writes_come_in_over_the_link_one_after_the_other() {
    let outcome = with_link().serve(&[write(0, 0, 0), write(0, 1, 1)]);
    let expected = [over_link(&[], LINK, PROGRAM), over_link(&[(Charge::Link, LINK)], LINK, PROGRAM)];
    assert_eq!(outcome.log.responses, expected);
    assert_eq!(outcome.log.commands, [(LINK, "program", 0), (2 * LINK, "program", 1)]);
}

#[test]
fn read_data_leave_over_the_link_without_delay_by_writes() {
    let outcome = with_link().serve(&[read(0, 0), read(0, 1), write(READ_ALL as i64, 4, 4)]);
    let reads = [over_link(&[], LINK, SENSE), over_link(&[(Charge::Link, LINK)], LINK, SENSE)];
    assert_eq!(outcome.log.responses, [&reads[..], &[over_link(&[], LINK, PROGRAM)]].concat());
    let read_ns = outcome.log.response_times();
    assert_eq!(read_ns, [READ_ALL + LINK, READ_ALL + 2 * LINK, WRITE_ALL + LINK]);
}

#[test]
fn read_keeps_its_slot_until_its_data_are_at_the_host() {
    let outcome = with_link().with(|bench| bench.engine.slots = 1).serve(&[read(0, 0), read(0, 1)]);
    let second = over_link(&[(Charge::Slot, READ_ALL + LINK)], LINK, SENSE);
    assert_eq!(outcome.log.responses, [over_link(&[], LINK, SENSE), second]);
}

#[test]
fn controller_time_comes_after_slot_and_link() {
    let controller = |bench: &mut Bench| (bench.engine.controller_us, bench.engine.slots) = (3.0, 1);
    let outcome = with_link().with(controller).serve(&[write(0, 0, 0), write(0, 1, 1)]);
    let all = WRITE_ALL + LINK + 3_000;
    let own = (Charge::Controller, 3_000);
    let second = over_link(&[own, (Charge::Slot, all)], LINK, PROGRAM);
    assert_eq!(outcome.log.responses, [over_link(&[own], LINK, PROGRAM), second]);
    assert_eq!(outcome.log.commands, [(LINK + 3_000, "program", 0), (all + LINK + 3_000, "program", 1)]);
}

#[test]
fn full_queue_is_submitted_to_when_one_of_it_is_answered() {
    let asks = [read(0, 0), read(10, 2), of_queue(5, read(20, 3))];
    let kept = with_limit(1).serve(&asks).log.done;
    // The other queue finds the second die idle; the second request does not wait for it, for it comes later.
    let times: Vec<_> = kept.iter().map(|done| (done.arrival_ns, done.total_ns)).collect();
    assert_eq!(times, [(0, READ_ALL), (20, READ_ALL), (READ_ALL, READ_ALL)]);
}

#[test]
fn round_robin_takes_queues_in_turn() {
    let asks = |arbitration, burst| {
        let asks: Vec<Ask> = [0, 0, 0, 7, 7, 2].map(|queue| of_queue(queue, read(0, 0))).into();
        let bench = with_slots(1)
            .with(|bench| (bench.engine.arbitration, bench.engine.arbitration_burst) = (arbitration, burst));
        bench.serve(&asks).log.done.iter().map(|done| done.number).collect::<Vec<_>>()
    };
    assert_eq!(asks(Arbitration::Fifo, 1), [0, 1, 2, 3, 4, 5]);
    assert_eq!(asks(Arbitration::RoundRobin, 1), [0, 5, 3, 1, 4, 2]);
    assert_eq!(asks(Arbitration::RoundRobin, 2), [0, 1, 5, 3, 4, 2]);
}

/// The waits for holds, by the numbers of the requests.
fn held(bench: Bench, asks: &[Ask]) -> Vec<u64> {
    let log = bench.serve(asks).log;
    let mut waits: Vec<(u64, u64)> = log
        .done
        .iter()
        .zip(&log.responses)
        .map(|(done, ledger)| (done.number, ledger.of(Charge::CachePlace)))
        .collect();
    waits.sort_unstable();
    waits.into_iter().map(|(_, wait)| wait).collect()
}

/// A hold lasts from 100 to 120 us. The second write comes 5 us before its end, and the last one at its end.
#[test]
fn a_hold_lets_writes_wait_and_no_reads() {
    let bench =
        with_slots(9).with(|bench| (bench.engine.hold_every_us, bench.engine.hold_us) = (100.0, 20.0));
    let asks = [write(99_999, 0, 0), write(115_000, 1, 0), read(116_000, 2), write(120_000, 3, 0)];
    assert_eq!(held(bench, &asks), [0, 5_000, 0, 0]);
}

/// One write in the millisecond before the hold are 1,000 a second. From 2 us after its begin on both slots are taken.
#[test]
fn a_write_passes_a_hold_by_its_mode_once_no_slot_is_free() {
    let first_held = |urgent_per_s, pass_share| {
        let bench = with_slots(2).with(|bench| {
            let engine = &mut bench.engine;
            (engine.hold_every_us, engine.hold_us, engine.urgent_hold_us) = (1000.0, 5000.0, 5000.0);
            (engine.urgent_writes_per_s, engine.hold_pass_share) = (urgent_per_s, pass_share);
        });
        held(bench, &[write(0, 0, 0), write(1_001_000, 1, 0), write(1_002_000, 2, 0)])[1]
    };
    // At once; every 2 ms; not before the end.
    assert_eq!(
        [(1_000, 0.5), (1_001, 0.5), (0, 0.0)].map(|(urgent, pass)| first_held(urgent, pass)),
        [1_000, 1_999_000, 4_999_000]
    );
}

#[test]
fn trim_waits_for_a_slot_and_gives_it_back_at_once() {
    let outcome = with_slots(1).serve(&[read(0, 0), trim(0, 2), read(0, 2), read(0, 1)]);
    // The page is trimmed when the trim is taken in: the read behind it finds nothing.
    let unmapped = ledger(&[(Charge::Slot, READ_ALL)]);
    let expected = [served(&[], SENSE), unmapped, served(&[(Charge::Slot, READ_ALL)], SENSE)];
    assert_eq!(outcome.log.responses, expected);
    assert_eq!(outcome.counts.requests, [3, 0, 1, 0]);
}

#[test]
fn flush_keeps_a_slot_while_it_waits_for_writes() {
    let outcome = with_slots(2).serve(&[write(0, 0, 0), flush(0), read(10, 1)]);
    assert_eq!(outcome.log.flushes, [ledger(&[(Charge::EarlierWrites, WRITE_ALL)])]);
    let read = served(&[(Charge::Slot, WRITE_ALL - 10)], SENSE);
    assert_eq!(outcome.log.responses, [served(&[], PROGRAM), read]);
}

#[test]
fn flush_does_not_overtake_a_write_whose_data_come_in() {
    let outcome = with_link().serve(&[write(0, 0, 0), flush(0)]);
    let waits = [(Charge::Link, LINK), (Charge::EarlierWrites, WRITE_ALL)];
    assert_eq!(outcome.log.flushes, [ledger(&waits)]);
}

#[test]
fn closed_loop_submits_when_the_host_is_answered() {
    let bench = with_slots(1).with(|bench| bench.queue_depth = 2);
    let outcome = bench.serve(&[read(0, 0), read(0, 1), read(0, 2), read(0, 3)]);
    let waits = [0, READ_ALL, READ_ALL, READ_ALL];
    assert_eq!(outcome.log.responses, waits.map(|ns| served(&[(Charge::Slot, ns)], SENSE)));
    assert_eq!(outcome.end_ns, 4 * READ_ALL);
}

#[test]
fn what_is_held_back_is_served_before_the_end() {
    let asks: Vec<Ask> = (0..50).map(|at| write(0, at % 8, at)).collect();
    for limit in [1, 3] {
        let Outcome { counts, end_ns, log, .. } = with_limit(limit).serve(&asks);
        assert_eq!((counts.requests[1], log.responses.len()), (50, 50));
        let rounds = if limit == 1 { 50 } else { 25 };
        assert!(end_ns >= rounds * PROGRAM, "{end_ns}");
    }
}

#[test]
fn checkpoints_go_on_while_requests_are_held_back() {
    let bench = Bench::new([1, 1, 1, 1, 40, 8]).with(|bench| {
        bench.ftl.mapping_cache.checkpoint_s = 0.001;
        bench.queue_limit = 1;
    });
    let asks: Vec<Ask> = (0..14).map(|at| write(0, at % 8, at)).collect();
    let outcome = bench.serve(&asks);
    // The fourth write is in the array at 1 ms; the checkpoint's page is next. The last writes are of no checkpoint.
    assert_eq!(outcome.log.commands.len(), 14 + 3, "{:?}", outcome.log.commands);
    assert_eq!(outcome.end_ns, 17 * WRITE_ALL);
    assert_eq!(outcome.log.responses.len(), 14);
}

#[test]
fn periods_end_by_the_trace_clock_while_requests_wait() {
    let mut asks: Vec<Ask> = (0..10).map(|at| write(0, at % 8, at)).collect();
    asks.push(of_queue(1, write(1_200_000, 1, 11)));
    let trace = page_trace(&asks, 16, 64);
    let resolved =
        system_on([1, 1, 1, 1, 40, 8], "conventional", &[("period_s", "0.0005"), ("queue_limit", "1")]);
    let result = run(&trace, &resolved, &()).unwrap();
    // Two of 0.21 ms each until 0.5 ms, two until 1 ms.
    assert_eq!(column(&result, "periods", "writes"), [2, 2, 7]);
}

fn mean_ns(log: &Log, kind: Op, of: impl Fn(&Done) -> u64) -> f64 {
    let done = log.done[log.done.len() / 10..].iter().filter(|done| done.kind == kind);
    let all: Vec<u64> = done.map(of).collect();
    all.iter().sum::<u64>() as f64 / all.len() as f64
}

/// Four dies that programs keep busy, with one read among many writes; reads may interrupt programs.
fn saturated(slots: u32, limit: u32, asks: &[Ask], arbitration: Arbitration) -> Log {
    let bench = Bench::new([4, 1, 1, 1, 1200, 32]).holding(64).with(|bench| {
        (bench.footprint, bench.verify) = (256, false);
        (bench.engine.slots, bench.engine.arbitration, bench.queue_limit) = (slots, arbitration, limit);
        (bench.engine.suspend, bench.engine.suspend_us, bench.engine.suspend_times) =
            (Suspend::ProgramErase, 0.0, 0);
    });
    bench.serve(asks).log
}

fn loaded() -> Vec<Ask> {
    let mut rng = Rng::stream(1, "saturated");
    (0..20_000)
        .map(|at| if at % 50 == 0 { read(0, rng.below(64)) } else { write(0, 64 + rng.below(192), 0) })
        .collect()
}

fn rate(kept: &Log) -> f64 {
    let end = |done: &Done| done.arrival_ns + done.total_ns;
    let (from, to) = (&kept.done[kept.done.len() / 10], &kept.done[kept.done.len() - 1]);
    (kept.done.len() - kept.done.len() / 10) as f64 / (end(to) - end(from)) as f64
}

#[test]
fn with_one_queue_reads_wait_for_slots_as_long_as_writes() {
    let asks = loaded();
    for (slots, limit) in [(16, 64), (32, 256), (64, 128)] {
        let kept = saturated(slots, limit, &asks, Arbitration::Fifo);
        let (waiting_ns, all_ns) = (f64::from(limit - slots) / rate(&kept), f64::from(limit) / rate(&kept));
        let waits = mean_ns(&kept, Op::Read, |done| done.ledger.of(Charge::Slot));
        let writes = mean_ns(&kept, Op::Write, |done| done.total_ns);
        assert!((waits / waiting_ns - 1.0).abs() < 0.03, "{slots} {limit}: {waits} {waiting_ns}");
        assert!((writes / all_ns - 1.0).abs() < 0.03, "{slots} {limit}: {writes} {all_ns}");
        let service = mean_ns(&kept, Op::Read, |done| done.total_ns) - waits;
        assert!(service < 2.0 * READ_ALL as f64, "{service}");
    }
}

#[test]
fn with_as_many_slots_as_wanted_reads_pass_stalled_writes() {
    let kept = saturated(0, 256, &loaded(), Arbitration::Fifo);
    let (reads, writes) =
        (mean_ns(&kept, Op::Read, |done| done.total_ns), mean_ns(&kept, Op::Write, |done| done.total_ns));
    assert!(reads < 2.0 * READ_ALL as f64 && writes > 250.0 / rate(&kept), "{reads} {writes}");
}

#[test]
fn in_turn_a_queue_below_its_share_waits_for_one_slot() {
    let mut asks: Vec<Ask> = loaded().into_iter().filter(|ask| ask.op == Op::Write).collect();
    asks.extend((1..400).map(|at| of_queue(1, read(at * 2_000_003, at as u32 % 64))));
    let wait = |arbitration| {
        let kept = saturated(16, 128, &asks, arbitration);
        let rate = rate(&kept);
        (mean_ns(&kept, Op::Read, |done| done.ledger.of(Charge::Slot)) * rate, rate)
    };
    let (fifo, _) = wait(Arbitration::Fifo);
    let (in_turn, _) = wait(Arbitration::RoundRobin);
    // In requests served meanwhile: all that stand before it, or one at most.
    assert!((fifo / f64::from(128 - 16) - 1.0).abs() < 0.1, "{fifo}");
    assert!((0.2..1.5).contains(&in_turn), "{in_turn}");
}

#[test]
fn slots_and_queue_limits_are_never_exceeded() {
    let mut full = [0; 2];
    for seed in 0..150 {
        let mut rng = Rng::stream(seed, "limits");
        let trace = spaced_trace(&mut rng, 1);
        let pages = PageTrace::build(&trace, 4096, flashtwin_trace::ContentSource::None).unwrap();
        let bench = Bench::new([2, 2, 1, 1, 200, 8]).with(|bench| {
            (bench.footprint, bench.contents) = (pages.outline.pages(), 1);
            bench.engine.slots = pick(&mut rng, &drawn::SLOTS);
            bench.engine.link_mb_s = pick(&mut rng, &drawn::LINK_MB_S);
            bench.engine.controller_us = pick(&mut rng, &drawn::CONTROLLER_US);
            bench.engine.arbitration = pick(&mut rng, &[Arbitration::Fifo, Arbitration::RoundRobin]);
            bench.queue_limit = pick(&mut rng, &drawn::QUEUE_LIMIT);
        });
        let kept = bench.serve_trace(&pages, Log::default()).into_observer();
        let window = pages.window();
        let under_way = |from: &dyn Fn(&Done) -> u64, of: &dyn Fn(&Done) -> bool| {
            let spans = kept.done.iter().filter(|done| of(done));
            most_at_once(spans.map(|done| (from(done), done.arrival_ns + done.total_ns)))
        };
        let limit = bench.queue_limit as i32;
        for queue in 0..32 {
            let most =
                under_way(&|done| done.arrival_ns, &|done| window.queue(done.number as usize) == queue);
            assert!(limit == 0 || most <= limit, "seed {seed}: {most} of queue {queue}");
            full[0] += i32::from(most == limit);
        }
        let slots = bench.engine.slots as i32;
        let begun = |done: &Done| done.arrival_ns + done.ledger.of(Charge::Slot);
        let most = under_way(&begun, &|_| true);
        assert!(slots == 0 || most <= slots, "seed {seed}: {most} in {slots} slots");
        full[1] += i32::from(most == slots);
    }
    assert!(full[0] > 20 && full[1] > 20, "{full:?}");
}

fn without_config(mut result: RunResult) -> (Value, String) {
    result.summary["config"] = Value::Null;
    result.tables.retain(|(name, _)| *name != "wait_ledger");
    (result.summary, format!("{:?}", result.tables))
}

#[test]
fn slots_that_are_enough_change_nothing() {
    for seed in 0..60 {
        let (_, pages, mut resolved) = random_run(seed, "enough slots");
        drawn::without_front(&mut resolved);
        // A period may end while a request is in the controller; it then is taken in behind the end.
        resolved.config.engine.controller_us = 0.0;
        let expected = without_config(run(&pages, &resolved, &()).unwrap());
        resolved.config.engine.slots = u32::MAX;
        let found = without_config(run(&pages, &resolved, &()).unwrap());
        assert_eq!(found.0, expected.0, "seed {seed}: {}", resolved.json());
        assert!(found.1 == expected.1, "seed {seed}: {}", resolved.json());
    }
}

#[test]
fn streamed_requests_pass_the_front_end_as_those_in_memory() {
    for seed in 0..40 {
        let (mut rng, pages, mut resolved) = random_run(seed, "front end in windows");
        (resolved.config.engine.slots, resolved.config.engine.link_mb_s) = (1 + rng.below(8), 300.0);
        same_in_windows(&pages, &resolved, &[1, 7, 100], &format!("seed {seed}"));
    }
}
