//! Forced unit access stays with its request; `queues` has it written and cut into pages.

use std::fmt::Write as _;

use crate::common::Random;
use flashtwin_trace::{Op, OpenOptions, SampleBy, Source, Trace, TraceStream};

/// blkparse's output for `requests` on two devices, each at its own address, some durable or late, and flushes.
fn text(requests: u64, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for number in 0..requests {
        let late_us = if random.one_in(5) { random.below(300) } else { 0 };
        let time_us = 1_000 + 20 * number - late_us;
        let (seconds, part) = (time_us / 1_000_000, time_us % 1_000_000);
        let flags = ["R", "W", "WFS", "FWFS", "FN"][random.below(5) as usize];
        let extent = if flags == "FN" { String::new() } else { format!("{} + 8 ", number * 8) };
        let device = random.below(2);
        let _ = writeln!(text, "8,{device} 0 {number} {seconds}.{part:06}000 7 D {flags} {extent}[x]");
    }
    text
}

fn source(text: &str) -> Source {
    Source::Bytes("made.blkparse".to_owned(), text.as_bytes().into())
}

fn open(source: &Source) -> Trace {
    Trace::open(source, &OpenOptions::default(), &()).unwrap()
}

fn durable(trace: &Trace) -> Vec<u64> {
    (0..trace.len()).filter(|&row| trace.is_durable(row)).map(|row| trace.offset_bytes[row]).collect()
}

fn told(text: &str) -> Vec<u64> {
    let forced = text.lines().filter(|line| line.contains("WFS"));
    forced.map(|line| line.split(' ').nth(7).unwrap().parse::<u64>().unwrap() * 512).collect()
}

fn sorted(mut addresses: Vec<u64>) -> Vec<u64> {
    addresses.sort_unstable();
    addresses
}

#[test]
fn it_is_read_sorted_and_streamed_with_its_request() {
    for (requests, seed) in [(1, 1), (60, 2), (3_000, 3), (200_000, 4)] {
        let text = text(requests, seed);
        let source = source(&text);
        let trace = open(&source);
        assert_eq!(sorted(durable(&trace)), told(&text), "{requests}");
        assert!((0..trace.len()).all(|row| !trace.is_durable(row) || trace.op[row] == Op::Write));

        let mut stream = TraceStream::open(&source, &OpenOptions::default(), &()).unwrap();
        let mut streamed = Vec::new();
        while let Some(batch) = stream.next(&()).unwrap() {
            streamed.extend(durable(&batch));
        }
        assert_eq!((streamed, stream.digest()), (durable(&trace), trace.digest()));
    }
}

#[test]
fn parts_of_a_trace_have_theirs() {
    let text = text(2_000, 9);
    let trace = open(&source(&text));
    let half = trace.duration_ns() / 2;
    let parts = [0..half, half..i64::MAX].map(|span| durable(&trace.excerpt(&span).unwrap()));
    assert_eq!(parts.concat(), durable(&trace));
    let volumes = ["8,0", "8,1"].map(|name| durable(&trace.of_volume(name).unwrap()));
    assert_eq!(sorted(volumes.concat()), told(&text));
    let sample = trace.sample(0.5, 1, SampleBy::Address).unwrap();
    let kept: Vec<u64> =
        durable(&trace).into_iter().filter(|offset| sample.offset_bytes.contains(offset)).collect();
    assert_eq!(durable(&sample), kept);
    assert!(kept.len() > 100);
}

#[test]
fn a_trace_without_any_has_no_column_and_the_digest_it_had() {
    let text = text(500, 5);
    let plain = open(&source(&text.replace("WFS", "WS")));
    assert_eq!(plain.flags, [0u8; 0]);
    let forced = open(&source(&text));
    assert_ne!(plain.digest(), forced.digest());
    let other = open(&source(&text.replacen(" WFS ", " WS ", 1)));
    assert_ne!(other.digest(), forced.digest());
}
