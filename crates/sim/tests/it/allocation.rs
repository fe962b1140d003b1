//! Where pages go, seen in how long they take to be read.

use flashtwin_ftl::Rng;
use flashtwin_sim::{LoadMeasure, resolve, run};
use flashtwin_trace::{ContentSource, Op, PageTrace, TraceBuilder};

/// Stripes of eight pages, any of them, written one a second, and then read, one a second.
fn stripes() -> PageTrace {
    let mut trace = TraceBuilder::new("stripes");
    let mut rng = Rng::stream(1, "stripes");
    for (turn, op) in (0..400u64).zip([Op::Write; 300].into_iter().chain([Op::Read; 100])) {
        let first = u64::from(rng.below(100)) * 8;
        trace.request(turn as i64 * 1_000_000_000, op, first * 4096, 8 * 4096, &[]);
    }
    PageTrace::build(&trace.build().unwrap(), 4096, ContentSource::None).unwrap()
}

#[test]
fn an_idle_device_is_written_by_hipa_as_by_static() {
    let trace = stripes();
    for load in [LoadMeasure::QueueLength, LoadMeasure::ReadsWaiting, LoadMeasure::ExpectedWait] {
        let [fixed, hipa] = ["static", "hipa"].map(|system| {
            let mut resolved = resolve(system, &[]).unwrap();
            resolved.config.engine.load = load;
            run(&trace, &resolved, &()).unwrap()
        });
        let read = &fixed.summary["response"]["read"];
        assert_eq!((&read["min_ns"], &read["max_ns"]), (&125_775.into(), &125_775.into()));
        assert_eq!(&hipa.summary["response"], &fixed.summary["response"], "{load:?}");
        assert!(hipa.table("planes") == fixed.table("planes"));
    }
}
