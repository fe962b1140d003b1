//! The locality metrics beside a bare loop with only the unavoidable work. An argument filters benches by name.

#![allow(clippy::print_stdout)]

mod common;

use common::{ROUNDS, Random, best, numbered};
use flashtwin_analysis::{
    LogicalLocalityOptions, Sample, StackDistances, logical_locality, read_amplification, read_cost,
    value_locality,
};
use flashtwin_trace::{Op, Request, Trace, TraceBuilder, TraceError};

const ACCESSES: usize = 10_000_000;
const REQUESTS: usize = 10_000_000;

fn main() -> Result<(), TraceError> {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with("--")).unwrap_or_default();
    println!("one thread, best of {ROUNDS}");
    if "stack".contains(&wanted) {
        stack_distances();
    }
    for workload in [Workload::Skewed, Workload::Random, Workload::Dense, Workload::Sectors] {
        let trace = workload.trace()?;
        println!(
            "{workload:?}: {} M requests, {} M contents",
            trace.len() / 1_000_000,
            trace.content.len() / 1_000_000
        );
        if "value".contains(&wanted) && trace.has_content() {
            value(&trace);
        }
        if "logical".contains(&wanted) {
            logical(&trace, workload);
        }
        if "read".contains(&wanted) {
            read(&trace, workload);
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Workload {
    /// Hot places and contents over 16 GB, a quarter of the requests sequential, 1 to 8 pages of 4 KB.
    Skewed,
    /// One page of 4 KB anywhere in 64 GB: nothing is in the cache.
    Random,
    /// One page of 4 KB anywhere in 32 MB: every request has many others nearby.
    Dense,
    /// As skewed, in sectors of 512 bytes: 8 to 128 of them, now and then 2,048.
    Sectors,
}

impl Workload {
    fn sector_bytes(self) -> u32 {
        if self == Workload::Sectors { 512 } else { 4096 }
    }

    fn trace(self) -> Result<Trace, TraceError> {
        let mut random = Random::new(1);
        let mut builder = TraceBuilder::new("bench");
        let mut contents = Vec::new();
        let mut next = 0;
        for number in 0..REQUESTS as i64 {
            let op = if random.below(10) < 6 { Op::Write } else { Op::Read };
            let sectors = match self {
                Workload::Skewed => 1 + random.skewed(8),
                Workload::Random | Workload::Dense => 1,
                Workload::Sectors if random.below(200) == 0 => 2048,
                Workload::Sectors => 8 * (1 + random.skewed(16)),
            };
            let place = match self {
                Workload::Random => random.below(1 << 24),
                Workload::Dense => random.below(1 << 13),
                // Numbers say nothing about popularity.
                _ => random.skewed(1 << 22).wrapping_mul(0x9e37_79b9) % (1 << 22),
            };
            let uniform = matches!(self, Workload::Random | Workload::Dense);
            let goes_on = !uniform && random.below(4) == 0;
            let sectors_a_place = u64::from(4096 / self.sector_bytes());
            let sector = if goes_on { next } else { place * sectors_a_place };
            next = sector + sectors;
            contents.clear();
            if self == Workload::Skewed {
                contents.extend((0..sectors).map(|_| random.skewed(4_000_000) as u32));
            }
            let request = Request {
                time_ns: number * 25_000,
                volume: 0,
                op,
                offset_bytes: sector * u64::from(self.sector_bytes()),
                length_bytes: sectors as u32 * self.sector_bytes(),
            };
            builder.push(request, &contents);
        }
        builder.build()
    }
}

fn report(name: &str, of: &str, count: usize, seconds: f64, bare: f64) {
    let count = count as f64 / 1e6;
    println!(
        "{name:34} {:7.1} M {of}/s  bare loop {:7.1} M/s, {:.1} x as fast",
        count / seconds,
        count / bare,
        seconds / bare
    );
}

fn stack_distances() {
    for (name, items, skewed) in [
        ("skewed, 1 M items", 1_000_000, true),
        ("skewed, 16 M items", 16_000_000, true),
        ("uniform, 100 k items", 100_000, false),
        ("uniform, 1 M items", 1_000_000, false),
    ] {
        let mut random = Random::new(2);
        let draw = |_| if skewed { random.skewed(items) } else { random.below(items) };
        let (accesses, counts) = numbered((0..ACCESSES).map(draw), items);
        // When each item was accessed last has to be looked up and noted.
        let bare = best(|| {
            let mut last = vec![0u32; counts.len()];
            let now = accesses.iter().zip(1..);
            now.map(|(&item, now)| u64::from(now - std::mem::replace(&mut last[item as usize], now)))
                .sum::<u64>()
        });
        let seconds = best(|| {
            let mut stack = StackDistances::new();
            accesses.iter().filter_map(|&item| stack.access(item)).map(u64::from).sum::<u64>()
        });
        report(&format!("stack distances, {name}"), "accesses", ACCESSES, seconds, bare);
    }
}

fn value(trace: &Trace) {
    // Both by content and by address.
    let accesses = trace.content.len() * 2;
    let bare = best(|| {
        let mut counts = vec![0u32; trace.content_count() as usize];
        trace.content.iter().for_each(|&content| counts[content as usize] += 1);
        counts
    });
    let seconds = best(|| value_locality(trace, Sample::ALL));
    report("value locality, 4 streams", "accesses", accesses, seconds, bare);
    let seconds = best(|| value_locality(trace, Sample::new(0.01, 1)));
    report("value locality, 1 % sample", "accesses", accesses, seconds, bare);
}

/// Every request has to be looked at.
fn look_at_requests(trace: &Trace, page_bytes: u32) -> u64 {
    let requests = trace.requests(0..trace.len());
    (0..requests.len())
        .map(|index| requests.pages(index, page_bytes))
        .fold(0, |sum, pages| sum ^ pages.start ^ pages.end)
}

fn logical(trace: &Trace, workload: Workload) {
    let bytes = workload.sector_bytes();
    let bare = best(|| look_at_requests(trace, bytes));
    let seconds = best(|| logical_locality(trace, LogicalLocalityOptions::new(bytes)));
    report("logical locality, 1,024 x 5,000", "requests", trace.len(), seconds, bare);
}

fn read(trace: &Trace, workload: Workload) {
    let bytes = workload.sector_bytes();
    // The data for the discount are not measured here.
    let window = LogicalLocalityOptions {
        distance_pages_max: 128,
        time_requests_max: 16,
        ..LogicalLocalityOptions::new(bytes)
    };
    let locality = logical_locality(trace, window);
    let bare = best(|| look_at_requests(trace, bytes));
    let seconds = best(|| read_amplification(trace, &locality));
    report("read-simulator, all pages and caches", "requests", trace.len(), seconds, bare);
    let seconds = best(|| read_cost(trace));
    report("read cost, all pages", "requests", trace.len(), seconds, bare);
}
