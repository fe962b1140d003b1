//! Shared by the tests of several metrics.
#![allow(dead_code, missing_docs, unreachable_pub)]

mod random;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use flashtwin_trace::{Op, Request, Trace, TraceBuilder};
pub use random::Random;

pub const SECOND: i64 = 1_000_000_000;

/// Where the seeds of a long random test begin. `FLASHTWIN_SEED`, any text such as a commit, chooses others.
pub fn seed() -> u64 {
    let text = std::env::var("FLASHTWIN_SEED").unwrap_or_default();
    text.bytes().fold(100, |seed, byte| (seed * 31 + u64::from(byte)) % 1_000_000)
}

pub fn u32s(table: &RecordBatch, column: &str) -> Vec<u32> {
    table[column].as_primitive::<UInt32Type>().values().to_vec()
}

pub fn u64s(table: &RecordBatch, column: &str) -> Vec<u64> {
    table[column].as_primitive::<UInt64Type>().values().to_vec()
}

pub fn floats(table: &RecordBatch, column: &str) -> Vec<Option<f64>> {
    table[column].as_primitive::<Float64Type>().iter().collect()
}

/// A part of a whole in percent; missing of nothing.
pub fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}

/// Requests of one volume without contents, one each nanosecond: kind, first byte, bytes.
pub fn trace_of(requests: impl IntoIterator<Item = (Op, u64, u64)>) -> Trace {
    let mut builder = TraceBuilder::new("requests");
    for (time, (op, offset, length)) in (0..).zip(requests) {
        builder.request(time, op, offset, length as u32, &[]);
    }
    builder.build().unwrap()
}

/// Row, volume and page, and content of each page of all requests, which have whole pages.
pub fn page_ops(trace: &Trace) -> Vec<(usize, (u32, u64), u32)> {
    let mut page_ops = Vec::new();
    for row in 0..trace.len() {
        for nth in 0..u64::from(trace.length_bytes[row]) / 4096 {
            let page = (trace.volume[row], trace.offset_bytes[row] / 4096 + nth);
            let content = trace.contents(row).get(nth as usize).copied();
            page_ops.push((row, page, content.unwrap_or(flashtwin_trace::NO_CONTENT)));
        }
    }
    page_ops
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub requests: u64,
    pub volumes: u64,
    pub pages: u64,
    pub longest: u64,
}

/// Requests of whole pages without contents; one in four goes on where the one before ended.
pub fn shaped_trace(random: &mut Random, shape: Shape, page_bytes: u64) -> Trace {
    let mut builder = TraceBuilder::new("random");
    let mut next = 0;
    for number in 0..shape.requests {
        let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim][random.below(6) as usize];
        let page = if random.below(4) == 0 { next } else { random.below(shape.pages) };
        let pages = 1 + random.below(shape.longest);
        next = page + pages;
        let request = Request {
            time_ns: number as i64,
            volume: random.below(shape.volumes) as u32,
            op,
            offset_bytes: page * page_bytes,
            length_bytes: (pages * page_bytes) as u32,
        };
        builder.push(request, &[]);
    }
    builder.build().unwrap()
}

/// Aligned requests of 1 to 4 pages with contents, over about 20 seconds.
pub fn random_trace(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new("random");
    let mut time_ns = 0;
    for _ in 0..1 + random.below(80) {
        let op = match random.below(12) {
            0 => Op::Trim,
            1..=5 => Op::Read,
            _ => Op::Write,
        };
        let pages = 1 + random.below(4);
        let contents: Vec<u32> =
            (0..pages).filter(|_| op != Op::Trim).map(|_| random.below(20) as u32).collect();
        let request = Request {
            time_ns,
            volume: random.below(2) as u32,
            op,
            offset_bytes: random.below(12) * 4096,
            length_bytes: (pages * 4096) as u32,
        };
        builder.push(request, &contents);
        time_ns += random.below(SECOND as u64 / 2) as i64;
    }
    builder.build().unwrap()
}

/// Requests at any multiple of 512 bytes, with, without and with unknown contents, trims of parts of pages.
pub fn messy_trace(seed: u64) -> Trace {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut builder = TraceBuilder::new("messy");
    for time in 0..1 + random.below(60) {
        let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim][random.below(6) as usize];
        let length_bytes = (1 + random.below(24)) as u32 * 512;
        let chunks = u64::from(length_bytes.div_ceil(4096));
        let carries = op != Op::Trim && random.below(4) > 0;
        let content = |random: &mut Random| match random.below(8) {
            0 => flashtwin_trace::NO_CONTENT,
            _ => random.below(12) as u32,
        };
        let contents: Vec<u32> = (0..chunks).filter(|_| carries).map(|_| content(&mut random)).collect();
        let grid = if random.below(3) == 0 { 512 } else { 4096 };
        let request = Request {
            time_ns: time as i64,
            volume: random.below(2) as u32,
            op,
            offset_bytes: random.below(10 * 4096 / grid) * grid,
            length_bytes,
        };
        builder.push(request, &contents);
    }
    builder.build().unwrap()
}
