//! A few lines may address terabytes: footprints by runs agree with sets of pages, and memory is known before.

use std::collections::HashSet;

use crate::common::{Random, Shape, shaped_trace, trace_of};
use flashtwin_analysis::{Options, basics, characterize_trace, trace_info};
use flashtwin_trace::{ErrorCause, Op, Trace, TraceBuilder};

const PAGE: u64 = 4096;

#[test]
fn footprint_and_partial_pages_agree_with_a_look_at_every_page() {
    let mut random = Random::new(1);
    for round in 0..400 {
        // Short and long requests over each other, of sectors.
        let longest = [3, 70, 400][random.below(3) as usize] * 8;
        let shape = Shape { requests: 1 + random.below(40), volumes: 2, pages: 600 * 8, longest };
        let trace = shaped_trace(&mut random, shape, 512);
        let mut touched = HashSet::new();
        let mut partial = [0u64; 3];
        for index in 0..trace.len() {
            let request = trace.request(index);
            let end = request.offset_bytes + u64::from(request.length_bytes);
            for page in request.offset_bytes / PAGE..end.div_ceil(PAGE) {
                if request.op != Op::Trim {
                    touched.insert((request.volume, page));
                }
                let whole = page * PAGE >= request.offset_bytes && (page + 1) * PAGE <= end;
                partial[request.op as usize] += u64::from(!whole);
            }
        }
        let info = trace_info(&trace);
        assert_eq!(info.footprint_pages, Some(touched.len() as u64), "round {round}");
        let quality = info.page_quality.as_ref().unwrap();
        let partials = [quality.partial_writes, quality.partial_trims];
        assert_eq!(partials, partial[1..], "round {round}");
        assert_eq!((quality.reads_of_holes, quality.read_mismatches), (0, 0));
        assert_eq!(basics(&trace, 0).0.info.footprint_pages, info.footprint_pages);
        let found = characterize_trace(&trace, &small(), &()).unwrap();
        assert_eq!(found.summary["info"], serde_json::to_value(&info).unwrap(), "round {round}");
    }
}

fn small() -> Options {
    let mut options = Options::default();
    options.locality.distance_max = 16;
    options.locality.time_max = 10;
    options.wa.other_page_bytes = vec![];
    options.wa.partitions = vec![1];
    options.wa.over_provisioning_percent = vec![28];
    options
}

/// Requests of nearly 4 GiB, one behind another.
fn huge_trace(requests: u64, contents: bool) -> Trace {
    let mut builder = TraceBuilder::new("huge");
    for number in 0..requests {
        let op = if number % 2 == 0 { Op::Read } else { Op::Write };
        builder.request(number as i64, op, number << 32, u32::MAX - 4095, &[]);
    }
    if contents {
        builder.request(requests as i64, Op::Write, 0, 4096, &[7]);
    }
    builder.build().unwrap()
}

#[test]
fn a_footprint_of_terabytes_takes_no_memory() {
    let info = trace_info(&huge_trace(4097, false));
    assert_eq!(info.footprint_pages, Some(4097 * ((1 << 20) - 1)));
    assert!(info.page_quality.is_some());
    // Page contents cannot be followed; all other figures are there.
    let info = trace_info(&huge_trace(4097, true));
    assert_eq!(info.footprint_pages, Some(4097 * ((1 << 20) - 1)));
    assert_eq!((info.page_quality, info.duplicate_write_percent), (None, None));
}

#[test]
fn what_would_take_too_much_is_refused_before_it_is_taken() {
    for contents in [false, true] {
        for requests in [300, 4097] {
            let trace = huge_trace(requests, contents);
            let error = characterize_trace(&trace, &Options::default(), &()).unwrap_err();
            assert_eq!(error.cause, ErrorCause::TooLarge);
            let message = error.to_string();
            for word in ["GiB", "is allowed", "--set memory_gb=", "--sample ", "unit of sizes"] {
                assert!(message.contains(word), "{word}: {message}");
            }
        }
    }
}

#[test]
fn pages_beyond_32_bits_are_refused() {
    let error = characterize_trace(&huge_trace(4097, false), &Options { memory_gb: 1e9, ..small() }, &());
    let message = error.unwrap_err().to_string();
    for word in ["about 4296", "distinct pages", "--sample 0.9"] {
        assert!(message.contains(word), "{word}: {message}");
    }
}

#[test]
fn what_is_addressed_again_and_again_is_not_refused() {
    // 300 requests of 64 MiB to the same place: sums say 19 GiB, of which 64 MiB are distinct.
    let trace = trace_of((0..300).map(|_| (Op::Write, 0, 64 << 20)));
    let options = Options { memory_gb: 0.05, ..small() };
    assert_eq!(characterize_trace(&trace, &options, &()).unwrap().summary["info"]["footprint_pages"], 16_384);
    // The same limit refuses as many bytes that are distinct, and a sample of them passes.
    let trace = trace_of((0..300).map(|number| (Op::Write, number * (64 << 20), 64 << 20)));
    assert_eq!(characterize_trace(&trace, &options, &()).unwrap_err().cause, ErrorCause::TooLarge);
    let sampled = Options { sample_rate: 0.001, ..options };
    let found = characterize_trace(&trace, &sampled, &()).unwrap();
    assert_eq!(found.summary["info"]["footprint_pages"], 300 * 16_384);
}
