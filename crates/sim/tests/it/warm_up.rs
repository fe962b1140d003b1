//! Figures after a warm-up are the rest of those of the whole run, and the drive is the same.

use flashtwin_ftl::Rng;
use flashtwin_sim::{Recording, RequestsTo, Resolved, RunResult, run, run_following};
use flashtwin_trace::PageTrace;
use serde_json::Value;

use crate::bench::{Ask, column, figure, flush, numbers, page_trace, read, system_on, trim, write};

const PAGES: u32 = 300;
const CONTENTS: u32 = 900;
const REQUESTS: usize = 3_000;
/// The first request that counts.
const FIRST: usize = 1_700;

/// Requests every 30 us on a drive that must collect, with `gap_ns` before the first that counts.
fn asks(gap_ns: i64) -> Vec<Ask> {
    let mut rng = Rng::stream(3, "warm-up");
    let ask = |at: usize| {
        let time_ns = at as i64 * 30_000 + if at < FIRST { 0 } else { gap_ns };
        let lpn = rng.below(PAGES);
        match rng.below(20) {
            0 => trim(time_ns, lpn),
            1 => flush(time_ns),
            2..8 => read(time_ns, lpn),
            _ => write(time_ns, lpn, rng.below(CONTENTS)),
        }
    };
    (0..REQUESTS).map(ask).collect()
}

fn system(name: &str, warm_up_s: f64, depth: u32) -> Resolved {
    let (warm_up, depth) = (warm_up_s.to_string(), depth.to_string());
    let sets = [("replay.warm_up_s", warm_up.as_str()), ("queue_depth", &depth), ("period_s", "0.02")];
    system_on([2, 2, 1, 1, 16, 8], name, &sets)
}

fn recorded(trace: &PageTrace, resolved: &Resolved) -> RunResult {
    let recording = Recording { requests: RequestsTo::Memory, ..Recording::default() };
    run_following(trace, resolved, &(), &recording, None).unwrap()
}

/// Number and response time of each request that has one, as they completed.
fn responses(result: &RunResult) -> Vec<(u64, u64)> {
    let table = result.requests.as_ref().unwrap().read().unwrap();
    let timed = table.column_by_name("response_ns").unwrap();
    let rows = numbers(&table, "request").into_iter().zip(numbers(&table, "response_ns")).enumerate();
    rows.filter(|(row, _)| timed.is_valid(*row)).map(|(_, row)| row).collect()
}

fn count(summary: &Value, path: &str) -> u64 {
    figure(summary, path).as_u64().unwrap_or_else(|| panic!("{path}"))
}

#[test]
fn counts_are_the_difference_of_two_runs_from_the_beginning() {
    // Contents are hashed before their write is decided, so nothing may be under way where the short run ends.
    for (name, gap_ns) in [("conventional", 0), ("conventional", 50_000_000), ("ca-ssd", 50_000_000)] {
        let asks = asks(gap_ns);
        let trace = page_trace(&asks, PAGES, CONTENTS);
        let warm_up_s = asks[FIRST].time_ns as f64 / 1e9;
        let warm = run(&trace, &system(name, warm_up_s, 0), &()).unwrap().summary;
        let whole = run(&trace, &system(name, 0.0, 0), &()).unwrap().summary;
        let first =
            run(&page_trace(&asks[..FIRST], PAGES, CONTENTS), &system(name, 0.0, 0), &()).unwrap().summary;
        let counts = [
            "requests.read",
            "requests.write",
            "requests.trim",
            "requests.flush",
            "requests.completed",
            "page_ops.read",
            "page_ops.write",
            "page_ops.trim",
            "page_ops.duplicate_writes",
            "pages_programmed",
            "host_pages_written",
            "flash_writes.host",
            "flash_writes.unique",
            "flash_writes.gc",
            "erases.total",
            "throughput.read.bytes",
            "throughput.write.bytes",
            "medium_bytes_written",
        ];
        for path in counts {
            assert_eq!(count(&warm, path), count(&whole, path) - count(&first, path), "{name}, {path}");
        }
        assert!(count(&warm, "erases.total") > 0 && count(&first, "erases.total") > 0, "{name}");
        assert_eq!(count(&warm, "counted_from_ns"), asks[FIRST].time_ns as u64);
        for path in ["space", "completed_ns", "trace", "duration_ns", "erases.per_block_max", "redundancy"] {
            assert_eq!(figure(&warm, path), figure(&whole, path), "{name}, {path}");
        }
    }
}

#[test]
fn requests_that_arrived_later_are_those_of_the_whole_run() {
    for (name, depth) in
        [("conventional", 0), ("ca-ssd", 0), ("rr-ssd", 0), ("conventional", 8), ("ca-ssd", 8)]
    {
        let asks = asks(0);
        let trace = page_trace(&asks, PAGES, CONTENTS);
        let warm = recorded(&trace, &system(name, asks[FIRST].time_ns as f64 / 1e9, depth));
        let mut later = responses(&recorded(&trace, &system(name, 0.0, depth)));
        later.retain(|&(number, _)| number >= FIRST as u64);
        assert_eq!(responses(&warm), later, "{name}, {depth}");
        let times: Vec<u64> = later.iter().map(|&(_, ns)| ns).collect();
        let sums = |table: &str, name: &str| column(&warm, table, name).iter().sum::<u64>();
        // The kind `all` repeats reads and writes.
        let flushes = count(&warm.summary, "response.flush.count");
        let histogram = (sums("latency_histogram", "count") + flushes) / 2;
        assert_eq!(histogram, times.len() as u64, "{name}, {depth}");
        assert_eq!(sums("request_blocks", "count"), times.len() as u64);
        assert_eq!(sums("request_blocks", "sum_ns"), times.iter().sum::<u64>());
        assert_eq!(sums("response_over_time", "count"), times.len() as u64);
        let periods: u64 = ["reads", "writes", "flushes"].map(|kind| sums("periods", kind)).iter().sum();
        assert_eq!(periods, times.len() as u64);
        assert_eq!(column(&warm, "periods", "start_ns")[0], asks[FIRST].time_ns as u64);
        let shares = ["channel_mean", "chip_mean"]
            .map(|name| figure(&warm.summary, &format!("utilisation.{name}")).as_f64().unwrap());
        assert!(shares.iter().all(|share| (0.01..=1.0).contains(share)), "{shares:?}");
    }
}

#[test]
fn a_warm_up_longer_than_the_trace_is_refused() {
    let trace = page_trace(&asks(0), PAGES, CONTENTS);
    let error = run(&trace, &system("conventional", 60.0, 0), &()).map(|_| ()).unwrap_err().to_string();
    let expected = "by hand lasts 0.1 s, and no request would count after a warm-up of 60 s: set replay.warm_up_s to less";
    assert_eq!(error, expected);
}
