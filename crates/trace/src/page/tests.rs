//! A trace is cut the same in any number of parts.

use flashtwin_bits::SplitMix64;

use super::*;
use crate::request::Op;
use crate::trace::TraceBuilder;

fn mixed(requests: u64, seed: u64, space_chunks: u64) -> Trace {
    let mut draw = SplitMix64(seed);
    let mut builder = TraceBuilder::new("mixed");
    for number in 0..requests {
        let (op, aligned) = (
            [Op::Read, Op::Write, Op::Write, Op::Trim][draw.next() as usize % 4],
            !draw.next().is_multiple_of(3),
        );
        let offset = draw.next() % space_chunks * 4096 + if aligned { 0 } else { draw.next() % 8 * 512 };
        let length = if aligned { 4096 * (1 + draw.next() % 5) } else { 512 * (1 + draw.next() % 40) } as u32;
        let told = if op == Op::Trim || draw.next().is_multiple_of(4) { 0 } else { length.div_ceil(4096) };
        let unknown = |id: u64| if id == 0 { crate::NO_CONTENT } else { id as u32 };
        let contents: Vec<u32> = (0..told).map(|_| unknown(draw.next() % 50)).collect();
        let request = crate::Request {
            time_ns: number as i64,
            volume: (draw.next() % 3) as u32,
            op,
            offset_bytes: offset,
            length_bytes: length,
        };
        builder.push(request, &contents);
    }
    builder.build().unwrap()
}

#[test]
fn a_trace_is_cut_the_same_in_any_number_of_parts() {
    // Few pages, as many as requests, and more than parts have memory for.
    for (seed, space_chunks) in [(1, 40), (2, 3_000), (3, 1 << 30)] {
        let trace = mixed(3_000, seed, space_chunks);
        for (page_bytes, source) in [
            (4096, ContentSource::Recorded),
            (16_384, ContentSource::Recorded),
            (4096, ContentSource::Unique),
            (2048, ContentSource::None),
        ] {
            let cut = |count: usize| {
                let parts = in_parts(trace.len(), count);
                PageTrace::in_parts(&trace, page_bytes, source, &parts).unwrap()
            };
            let whole = cut(1);
            assert!(whole.outline.quality.partial_writes > 0 && whole.outline.quality.partial_trims > 0);
            for count in [2, 3, 8] {
                assert_eq!(
                    cut(count),
                    whole,
                    "{count} parts, {space_chunks} chunks, {page_bytes} bytes, {source}"
                );
            }
        }
    }
}

#[test]
fn too_many_page_operations_are_refused_in_parts_as_well() {
    let mut builder = TraceBuilder::new("long");
    for number in 0..520 {
        builder.request(number, Op::Trim, 0, u32::MAX - 511, &[]);
    }
    let trace = builder.build().unwrap();
    for count in [1, 2, 4] {
        let cut = PageTrace::in_parts(&trace, 512, ContentSource::None, &in_parts(trace.len(), count));
        let refused = cut.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("more than 4294967294 page operations"), "{count} parts: {refused}");
    }
}
