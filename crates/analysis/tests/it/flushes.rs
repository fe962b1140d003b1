//! A flush is counted and changes nothing else that is measured: it addresses no page and has no content.

use crate::common::{Random, SECOND, messy_trace, random_trace, u64s};
use flashtwin_analysis::{Options, characterize_trace, trace_info};
use flashtwin_trace::{Op, Request, Trace, TraceBuilder};
use serde_json::Value;

/// The same requests with flushes of random volumes among them, which arrive with the request before.
fn with_flushes(trace: &Trace, seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new(&trace.name);
    for index in 0..trace.len() {
        let request = trace.request(index);
        builder.push(request, trace.contents(index));
        for _ in 0..random.below(3) {
            let volume = random.below(trace.volume_names.len() as u64) as u32;
            let time_ns = request.time_ns;
            builder.push(Request { time_ns, volume, op: Op::Flush, offset_bytes: 0, length_bytes: 0 }, &[]);
        }
    }
    builder.build().unwrap()
}

/// A summary without the figures that flushes may change: the number of requests, and their rate.
fn rest(mut summary: Value) -> Value {
    let info = summary["info"].as_object_mut().unwrap();
    for key in ["requests", "flushes", "writes_per_flush", "digest", "requests_per_second"] {
        assert!(info.remove(key).is_some(), "{key}");
    }
    summary
}

#[test]
fn flushes_change_no_other_metric() {
    let mut options = Options { period_s: 4.0, ..Options::default() };
    options.wa.partitions = vec![1, 2];
    options.wa.over_provisioning_percent = vec![28];
    options.locality.distance_max = 64;
    options.locality.time_max = 200;
    let of = |trace: &Trace| characterize_trace(trace, &options, &()).unwrap();
    for seed in 0..60 {
        let plain = if seed % 2 == 0 { random_trace(seed) } else { messy_trace(seed) };
        let flushed = with_flushes(&plain, seed);
        let flushes = flushed.op.iter().filter(|&&op| op == Op::Flush).count() as u64;
        let (expected, found) = (of(&plain), of(&flushed));
        assert_eq!(found.summary["info"]["flushes"], flushes, "seed {seed}");
        assert_eq!(found.summary["info"]["requests"], flushed.len());
        assert_eq!(rest(found.summary), rest(expected.summary), "seed {seed}");
        for ((name, found), (_, expected)) in found.tables.iter().zip(&expected.tables) {
            match name.as_str() {
                // Of the time between requests.
                "interarrival" => {}
                "volumes" | "workload_periods" | "periods" => {
                    assert_eq!(u64s(found, "flushes").iter().sum::<u64>(), flushes, "{name}");
                    for (at, field) in found.schema().fields().iter().enumerate() {
                        let same = found.column(at) == expected.column(at);
                        assert!(same || field.name() == "flushes", "seed {seed}: {name}.{}", field.name());
                    }
                }
                _ => assert_eq!(found, expected, "seed {seed}: {name}"),
            }
        }
    }
}

#[test]
fn writes_between_flushes_are_a_mean() {
    let mut builder = TraceBuilder::new("flushed");
    for number in 0..12 {
        builder.request(number * SECOND, Op::Write, 0, 4096, &[]);
        if number % 4 == 3 {
            builder.request(number * SECOND, Op::Flush, 0, 0, &[]);
        }
    }
    let info = trace_info(&builder.build().unwrap());
    assert_eq!((info.flushes, info.writes_per_flush, info.requests), (3, Some(4.0), 15));
    // The writes are one train and none: a second apart, none of them behind another.
    assert_eq!((info.trains.trains, info.sequential_percent), (12, Some(0.0)));
    assert_eq!(info.requests_per_second.mean, Some(15.0 / 11.0));
    let none = trace_info(&random_trace(1));
    assert_eq!((none.flushes, none.writes_per_flush), (0, None));
}
