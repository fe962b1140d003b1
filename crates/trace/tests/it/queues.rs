//! Submission queues, streams and forced unit access of requests: they stay with them wherever a trace goes.

use crate::common::{Folder, open};
use flashtwin_trace::{
    ContentSource, NO_STREAM, Op, OpenOptions, PageScan, PageSource, PageTrace, SampleBy, Source, Trace,
    TraceBuilder, TraceStream,
};

fn trace(requests: u64, queue: impl Fn(u64) -> u8) -> Trace {
    let mut builder = TraceBuilder::new("queues");
    for at in 0..requests {
        let op = [Op::Read, Op::Write, Op::Trim][at as usize % 3];
        let late = if at % 5 == 0 { 7 } else { 0 };
        builder.request(10 * at as i64 - late, op, at * 4096, 4096, &[]);
        builder.queue(queue(at));
        if at % 7 == 0 && op == Op::Write {
            builder.durable();
        }
        builder.stream(stream_of(at));
    }
    builder.request(10 * requests as i64, Op::Flush, 0, 0, &[]).queue(31);
    builder.build().unwrap()
}

fn stream_of(at: u64) -> u16 {
    if at % 3 == 1 { (at * 7 % u64::from(NO_STREAM)) as u16 } else { NO_STREAM }
}

/// Whether each request has the queue, the durability and the stream that it was given.
fn have_their_own(trace: &Trace) -> bool {
    let all = trace.requests(0..trace.len());
    (0..all.len()).all(|row| {
        let (at, op) = (all.offset_bytes[row] / 4096, all.op[row]);
        let queue = if op == Op::Flush { 31 } else { (at * 11 % 32) as u8 };
        let stream = if op == Op::Flush { NO_STREAM } else { stream_of(at) };
        (all.queue(row), all.is_durable(row), all.stream_of(row))
            == (queue, at % 7 == 0 && op == Op::Write, stream)
    })
}

#[test]
fn queues_go_wherever_requests_go() {
    let trace = trace(200_000, |at| (at * 11 % 32) as u8);
    assert!(have_their_own(&trace));
    let folder = Folder::new();
    let path = folder.file("queues.parquet");
    trace.write_parquet(&path).unwrap();
    let read = open(&path).unwrap();
    assert_eq!((&read.flags, &read.stream, read.digest()), (&trace.flags, &trace.stream, trace.digest()));

    let source = Source::File(path.clone());
    let mut stream = TraceStream::open(&source, &OpenOptions::default(), &()).unwrap();
    while let Some(batch) = stream.next(&()).unwrap() {
        assert!(have_their_own(&batch));
    }
    assert_eq!(stream.digest(), trace.digest());

    let pages = PageTrace::build(&trace, 4096, ContentSource::None).unwrap();
    let (window, requests) = (pages.window(), trace.requests(0..trace.len()));
    for row in 0..trace.len() {
        assert_eq!(
            (window.queue(row), window.is_durable(row)),
            (requests.queue(row), requests.is_durable(row))
        );
    }
    let scan = PageScan::open(&source, &OpenOptions::default(), 4096, |_| ContentSource::None, &()).unwrap();
    let (mut windows, mut marks, mut streams) = (scan.windows().unwrap(), Vec::<u8>::new(), Vec::new());
    while let Some(window) = windows.next().unwrap() {
        marks.extend(window.marks);
        streams.extend((0..window.len()).map(|row| window.stream_of(row)));
    }
    assert_eq!(
        (marks, &streams[..pages.columns.stream.len()]),
        (pages.columns.marks, &pages.columns.stream[..])
    );

    let half = trace.duration_ns() / 2;
    for part in [
        trace.excerpt(&(half..i64::MAX)).unwrap(),
        trace.of_volume("0").unwrap(),
        trace.sample(0.5, 1, SampleBy::Address).unwrap(),
    ] {
        assert!(part.len() > 1_000 && have_their_own(&part));
    }
}

#[test]
fn the_digest_tells_queues_apart() {
    let [none, some, others] = [0, 1, 2].map(|queue| trace(40, |at| queue * u8::from(at == 3)));
    let mut plain = none.clone();
    plain.flags.truncate(none.len() - 1);
    let digests = [&plain, &none, &some, &others].map(|trace| trace.digest());
    assert!((0..4).all(|at| !digests[..at].contains(&digests[at])), "{digests:?}");
    let [mut durable, mut queued] = [plain.clone(), plain.clone()];
    (durable.flags, queued.flags) = (vec![0, 1], vec![0, 8]);
    assert!(durable.digest() != queued.digest() && durable.digest() != plain.digest());
    let mut without = plain.clone();
    without.stream = Default::default();
    assert_ne!(without.digest(), plain.digest());
}
