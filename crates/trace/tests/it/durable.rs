//! Forced unit access is read with its request; `queues` has it wherever a trace goes.

use std::fmt::Write as _;

use crate::common::{Random, source};
use flashtwin_trace::{Op, OpenOptions, Source, Trace, TraceStream};

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

fn open(source: &Source) -> Trace {
    Trace::open(source, &OpenOptions::default(), &()).unwrap()
}

fn durable(trace: &Trace) -> Vec<u64> {
    let all = trace.requests(0..trace.len());
    (0..all.len()).filter(|&row| all.is_durable(row)).map(|row| all.offset_bytes[row]).collect()
}

fn told(text: &str) -> Vec<u64> {
    let forced = text.lines().filter(|line| line.contains("WFS"));
    forced.map(|line| line.split(' ').nth(7).unwrap().parse::<u64>().unwrap() * 512).collect()
}

#[test]
fn it_is_read_sorted_and_streamed_with_its_request() {
    for (requests, seed) in [(1, 1), (60, 2), (3_000, 3), (200_000, 4)] {
        let text = text(requests, seed);
        let made = source(&text);
        let trace = open(&made);
        let mut addresses = durable(&trace);
        addresses.sort_unstable();
        assert_eq!(addresses, told(&text), "{requests}");
        let all = trace.requests(0..trace.len());
        assert!((0..all.len()).all(|row| !all.is_durable(row) || all.op[row] == Op::Write));

        let mut stream = TraceStream::open(&made, &OpenOptions::default(), &()).unwrap();
        let mut streamed = Vec::new();
        while let Some(batch) = stream.next(&()).unwrap() {
            streamed.extend(durable(&batch));
        }
        assert_eq!((streamed, stream.digest()), (durable(&trace), trace.digest()));
        assert_eq!(
            open(&source(text.replace("WFS", "WS"))).flags,
            [0u8; 0],
            "a trace without any has no column"
        );
    }
}
