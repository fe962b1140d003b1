//! Waiting times and throughput against closed forms, within 2 %.

use std::sync::Arc;

use flashtwin_ftl::{Ftl, Rng};
use flashtwin_nand::Chip;
use flashtwin_sim::engine::{Charge, Completed, Engine, Observer};
use flashtwin_trace::{Op, PageTrace};

use crate::bench::{Ask, Bench, COMMAND, READ_ALL, TRANSFER, WRITE_ALL, page_trace, write};

const TOLERANCE: f64 = 0.02;

#[derive(Default)]
struct Means {
    reads: Sums,
    writes: Sums,
}

#[derive(Default)]
struct Sums {
    count: u64,
    queueing_ns: u64,
    hashing_ns: u64,
    served_ns: u64,
}

impl Observer for Means {
    fn completed(&mut self, done: &Completed<'_>) {
        let (sums, ledger) =
            (if done.kind == Op::Read { &mut self.reads } else { &mut self.writes }, done.ledger);
        sums.count += 1;
        let unit = |charge: &Charge| charge.part() == "unit";
        sums.queueing_ns += Charge::ALL.into_iter().filter(unit).map(|charge| ledger.of(charge)).sum::<u64>();
        sums.hashing_ns += ledger.of(Charge::HashQueue) + ledger.of(Charge::Hash);
        sums.served_ns += ledger.of(Charge::Channel) + ledger.of(Charge::Transfer) + ledger.of(Charge::Flash);
    }
}

impl Sums {
    fn mean(&self, sum_ns: u64) -> f64 {
        sum_ns as f64 / self.count as f64
    }
}

fn close(what: &str, found: f64, wanted: f64) {
    let off = found / wanted - 1.0;
    assert!(off.abs() < TOLERANCE, "{what}: {found:.1}, closed form {wanted:.1} ({:+.2} %)", off * 100.0);
}

fn poisson(
    requests: usize,
    mean_ns: f64,
    footprint: u32,
    choose: impl Fn(&mut Rng, usize) -> (Op, u32, u32),
) -> PageTrace {
    let mut rng = Rng::stream(11, "arrivals");
    let mut trace = page_trace(&[], footprint, 64);
    let mut now = 0.0;
    for request in 0..requests {
        let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        now -= (1.0 - uniform).ln() * mean_ns;
        let (op, lpn, content) = choose(&mut rng, request);
        Arc::make_mut(&mut trace.columns.time_ns).push(now as i64);
        Arc::make_mut(&mut trace.columns.op).push(op);
        trace.columns.marks.push(0);
        trace.columns.lpn.push(lpn);
        trace.columns.content.push(content);
        trace.columns.first_page_op.push(request as u32 + 1);
    }
    trace
}

#[test]
fn reads_of_a_single_die_wait_as_in_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let service = READ_ALL as f64;
        let trace = poisson(3_000_000, service / load, 16, |_, _| (Op::Read, 0, 0));
        let engine = Bench::new([1, 1, 1, 1, 16, 8])
            .holding(1)
            .with(|bench| bench.verify = false)
            .serve_trace(&trace, Means::default());
        let reads = &engine.accounts().observer.reads;
        // Pollaczek and Khinchine, for a service time without variance.
        let wanted = load * service / (2.0 * (1.0 - load));
        close(&format!("waiting at load {load}"), reads.mean(reads.queueing_ns), wanted);
        assert_eq!(reads.served_ns, reads.count * READ_ALL);
        let busy = engine.chip_busy_ns()[Chip::new(0)] as f64 / engine.now_ns() as f64;
        close(&format!("utilisation at load {load}"), busy, load);
    }
}

#[test]
fn pages_wait_for_the_hash_as_in_an_m_d_1_queue() {
    let (load, hash) = (0.7, 12_000.0);
    let trace = poisson(2_000_000, hash / load, 16, |_, request| (Op::Write, 1 + request as u32 % 8, 0));
    let engine = Bench::new([1, 1, 1, 1, 16, 8])
        .holding(1)
        .deduplicating()
        .with(|bench| (bench.engine.hash_us, bench.verify) = (12.0, false))
        .serve_trace(&trace, Means::default());
    let writes = &engine.accounts().observer.writes;
    let wanted = hash + load * hash / (2.0 * (1.0 - load));
    close("hashing", writes.mean(writes.hashing_ns), wanted);
}

#[test]
fn reads_go_before_writes_as_in_a_priority_queue() {
    // Cobham 1954: the residual service time, divided by the share of time that the classes ahead leave.
    let (read_load, write_load) = (0.25, 0.35);
    let (read, write) = (READ_ALL as f64, WRITE_ALL as f64);
    let (read_rate, write_rate) = (read_load / read, write_load / write);
    let residual = (read_rate * read * read + write_rate * write * write) / 2.0;
    let total = read_rate + write_rate;
    let share = (read_rate / total * 4_294_967_296.0) as u64;
    let trace = poisson(2_500_000, 1.0 / total, 16, |rng, request| match rng.next_u64() >> 32 < share {
        true => (Op::Read, 0, 0),
        false => (Op::Write, 1 + request as u32 % 8, 1),
    });
    let engine = Bench::new([1, 1, 1, 1, 6_000, 256])
        .holding(1)
        .with(|bench| bench.verify = false)
        .serve_trace(&trace, Means::default());
    let Means { reads, writes } = &engine.accounts().observer;
    close("reads", reads.mean(reads.queueing_ns), residual / (1.0 - read_load));
    let behind = residual / ((1.0 - read_load) * (1.0 - read_load - write_load));
    close("writes", writes.mean(writes.queueing_ns), behind);
}

fn pace(op: Op, chips: u32, requests: usize) -> f64 {
    let engine = closed_loop(op, chips, 4 * chips, requests);
    engine.now_ns() as f64 / requests as f64
}

/// One-page requests to each chip in turn, on one channel, `depth` of them under way at any time.
fn closed_loop(op: Op, chips: u32, depth: u32, requests: usize) -> Engine<Ftl, Means> {
    let asks: Vec<Ask> = (0..requests as u32).map(|at| Ask { op, ..write(0, at % chips, 0) }).collect();
    let bench = Bench::new([1, chips, 1, 1, 64, 64]).holding(chips).with(|bench| {
        bench.footprint = chips;
        (bench.queue_depth, bench.verify) = (depth, false);
    });
    bench.serve_trace(&page_trace(&asks, chips, 64), Means::default())
}

fn rate<O: Observer>(engine: &Engine<Ftl, O>) -> f64 {
    let (first, last) = engine.served_ns().unwrap();
    engine.accounts().counts.requests.iter().sum::<u64>() as f64 / (last - first) as f64
}

#[test]
fn one_request_at_a_time_has_the_inverse_response_as_rate() {
    let engine = closed_loop(Op::Read, 1, 1, 5_000);
    assert_eq!(engine.served_ns(), Some((0, 5_000 * READ_ALL)));
    assert!((rate(&engine) * READ_ALL as f64 - 1.0).abs() < 1e-12);
}

#[test]
fn requests_under_way_are_throughput_times_response() {
    // Little's law, as long as requests do not run out: the last ones, 32 of 20,000, are fewer than the depth.
    for (op, chips, depth) in [(Op::Read, 4, 2), (Op::Read, 4, 16), (Op::Read, 16, 32), (Op::Write, 4, 8)] {
        let engine = closed_loop(op, chips, depth, 20_000);
        let Means { reads, writes } = &engine.accounts().observer;
        let sums = if op == Op::Read { reads } else { writes };
        let response = sums.mean(sums.queueing_ns + sums.served_ns);
        close(&format!("{op:?} of {chips} chips"), rate(&engine) * response, f64::from(depth));
    }
}

#[test]
fn internal_work_after_the_last_response_does_not_count() {
    // Programs complete in controller RAM here; the flash is busy long after.
    let bench = Bench::new([1, 1, 1, 1, 64, 64])
        .with(|bench| bench.engine.write_completes = flashtwin_sim::WriteCompletes::Buffered);
    let trace = page_trace(&[write(700, 0, 1), write(900, 1, 2)], 16, 64);
    let engine = bench.serve_trace(&trace, Means::default());
    assert_eq!(engine.served_ns(), Some((700, 900)));
    assert!(engine.now_ns() > 900 + WRITE_ALL);
}

#[test]
fn a_saturated_channel_passes_a_page_every_transfer_time() {
    let on_the_bus = (COMMAND + TRANSFER) as f64;
    for chips in [8, 16, 64] {
        close(&format!("reads of {chips} chips"), pace(Op::Read, chips, 20_000), on_the_bus);
    }
    for chips in [32, 64] {
        close(&format!("programs of {chips} chips"), pace(Op::Write, chips, 20_000), on_the_bus);
    }
}

#[test]
fn dies_limit_the_throughput_where_the_channel_does_not() {
    for chips in [1, 2, 4] {
        let wanted = READ_ALL as f64 / f64::from(chips);
        close(&format!("reads of {chips} chips"), pace(Op::Read, chips, 5_000), wanted);
    }
    for chips in [1, 4, 12] {
        let wanted = WRITE_ALL as f64 / f64::from(chips);
        close(&format!("programs of {chips} chips"), pace(Op::Write, chips, 3_000), wanted);
    }
}
