//! Basics and popularity on ten million requests, beside a loop that only counts requests and contents.

#![allow(clippy::print_stdout)]

mod common;

use common::{Random, best};
use flashtwin_analysis::{basics, drift, duplication, space};
use flashtwin_trace::{Op, Request, Trace, TraceBuilder};

const REQUESTS: usize = 10_000_000;

fn main() {
    // Cargo passes --bench; anything else is a filter that this program does not have.
    let trace = trace(REQUESTS);
    println!("{REQUESTS} requests, {} page contents, one thread", trace.content.len());
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let Ok(threads) = threads else { return };
    threads.install(|| {
        measure("bare loop", || bare(&trace));
        measure("basics + popularity", || basics(&trace, i64::MAX));
        measure("drift, 7 periods", || drift(&trace, trace.duration_ns() / 7 + 1));
        measure("space", || space(&trace, i64::MAX));
        measure("duplicates by plane, 64", || duplication(&trace, &[64]));
    });
}

fn measure<T>(name: &str, work: impl FnMut() -> T) {
    println!("  {name:<28}{:>8.2} M requests/s", REQUESTS as f64 / best(work) / 1e6);
}

/// Requests, bytes and accesses a content: the minimum of any implementation.
fn bare(trace: &Trace) -> (u64, u64, Vec<u32>) {
    let (mut requests, mut bytes) = ([0u64; 3], [0u64; 3]);
    let mut counts = vec![0u32; trace.content_count() as usize * 2];
    for index in 0..trace.len() {
        let kind = trace.op[index] as usize;
        requests[kind] += 1;
        bytes[kind] += u64::from(trace.length_bytes[index]);
        for &content in trace.contents(index) {
            counts[content as usize * 2 + (kind & 1)] += 1;
        }
    }
    (requests.iter().sum(), bytes.iter().sum(), counts)
}

/// Skewed addresses over 8 GB and skewed contents, 1 to 4 pages a request, 60 % writes.
fn trace(requests: usize) -> Trace {
    let mut builder = TraceBuilder::new("bench");
    let mut random = Random::new(1);
    // The square of a uniform number: a few pages and contents are much hotter than the rest.
    let mut skewed = move |limit: u64| {
        let uniform = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        (uniform * uniform * limit as f64) as u64
    };
    for index in 0..requests {
        let pages = 1 + skewed(4);
        let contents: Vec<u32> = (0..pages).map(|_| skewed(3_000_000) as u32).collect();
        let op = if skewed(100) < 36 { Op::Write } else { Op::Read };
        let request = Request {
            time_ns: index as i64 * 100_000,
            volume: 0,
            op,
            offset_bytes: skewed(2 << 20) * 4096,
            length_bytes: pages as u32 * 4096,
        };
        builder.push(request, &contents);
    }
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}
