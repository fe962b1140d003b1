//! Which bytes held nothing, and which content is zeroes, wherever a trace goes.

use std::sync::Arc;

use crate::common::Folder;
use flashtwin_bits::SplitMix64;
use flashtwin_trace::{
    ContentSource, Holes, Op, OpenOptions, PageTrace, Recorded, Recording, Request, SampleBy, Source, Trace,
    TraceBuilder, TraceError, TraceStream,
};

fn open(source: &Source, options: &OpenOptions) -> Trace {
    Trace::open(source, options, &()).unwrap()
}

fn streamed(source: &Source, options: &OpenOptions) -> (String, Holes, Option<u32>) {
    let mut stream = TraceStream::open(source, options, &()).unwrap();
    while stream.next(&()).unwrap().is_some() {}
    (stream.digest(), stream.holes().clone(), stream.zero_content())
}

const PAGE: u64 = 4096;
const SPACE: u64 = 200;

/// Requests of whole pages on three volumes that have holes, a millisecond apart; content 900 is zeroes.
fn random_trace(seed: u64) -> Trace {
    let mut draw = SplitMix64(seed);
    let mut below = move |limit: u64| draw.next() % limit;
    let mut builder = TraceBuilder::new("random");
    builder.zeroes(900);
    for _ in 0..12 {
        let start = below(SPACE) * PAGE;
        builder.hole([4, 9, 6][below(3) as usize], start..start + (1 + below(20)) * PAGE);
    }
    for number in 0..400 {
        let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][below(4) as usize];
        let pages = if op == Op::Flush { 0 } else { 1 + below(6) };
        let offset_bytes = if op == Op::Flush { 0 } else { below(SPACE) * PAGE };
        let contents: Vec<u32> =
            if op.moves_data() { (0..pages).map(|_| 890 + below(20) as u32).collect() } else { Vec::new() };
        let (time_ns, volume) = (number * 1_000_000, [9, 4, 6][below(3) as usize]);
        builder.push(
            Request { time_ns, volume, op, offset_bytes, length_bytes: (pages * PAGE) as u32 },
            &contents,
        );
    }
    builder.build().unwrap()
}

#[test]
fn they_stay_with_a_trace_that_is_written_read_and_streamed() {
    for seed in 0..20 {
        let (trace, folder) = (random_trace(seed), Folder::new());
        let place = folder.file("whole.parquet");
        let source = Source::File(place.clone());
        assert!(trace.holes.len() > 3 && trace.zero_content.is_some());
        trace.write_parquet(&place).unwrap();
        for volume in [None, Some("4"), Some("6")] {
            for excerpt_ns in [None, Some(150_000_000..300_000_000), Some(200_000_000..i64::MAX)] {
                let made = volume.map_or_else(|| trace.clone(), |name| trace.of_volume(name).unwrap());
                let made = match (&excerpt_ns, made.time_ns.first()) {
                    (Some(span), Some(_)) => made.excerpt(span).unwrap(),
                    _ => made,
                };
                let options =
                    OpenOptions { volume: volume.map(str::to_owned), excerpt_ns, ..OpenOptions::default() };
                let read = open(&source, &options);
                let label = format!("seed {seed}: {options:?}");
                assert_eq!((&read.holes, read.zero_content), (&made.holes, made.zero_content), "{label}");
                assert_eq!(read.digest(), made.digest(), "{label}");
                let (digest, holes, zero) = streamed(&source, &options);
                assert_eq!((digest, zero), (made.digest(), made.zero_content), "{label}");
                assert_eq!(holes.bytes(), made.holes.bytes(), "{label}: volumes are numbered otherwise");
            }
        }
    }
}

#[test]
fn an_excerpt_begins_with_the_holes_that_are_left_and_new_ones() {
    // Page by page: the content of every page when the excerpt begins, from all earlier requests.
    for seed in 0..20 {
        let trace = random_trace(seed);
        let excerpt = trace.excerpt(&(200_000_000..i64::MAX)).unwrap();
        for volume in 0..3 {
            for page in 0..SPACE + 30 {
                let bytes = page * PAGE..(page + 1) * PAGE;
                let mut hole = trace.holes.cover(volume, &bytes);
                for row in (0..200).filter(|&row| trace.volume[row] == volume) {
                    let end = trace.offset_bytes[row] + u64::from(trace.length_bytes[row]);
                    if (trace.offset_bytes[row]..end).contains(&bytes.start) {
                        hole = match trace.op[row] {
                            Op::Write => false,
                            Op::Trim => true,
                            _ => hole,
                        };
                    }
                }
                assert_eq!(
                    excerpt.holes.cover(volume, &bytes),
                    hole,
                    "seed {seed}, volume {volume}, page {page}"
                );
            }
        }
    }
    // Also where the trace itself knows of none.
    let mut builder = TraceBuilder::new("trims");
    builder.request(0, Op::Trim, 0, 8192, &[]).request(1, Op::Write, 4096, 4096, &[1]);
    builder.request(2, Op::Read, 0, 8192, &[0, 1]);
    let excerpt = builder.build().unwrap().excerpt(&(2..3)).unwrap();
    assert_eq!(excerpt.holes.iter().collect::<Vec<_>>(), [(0, 0..4096)]);
    let pages = PageTrace::build(&excerpt, 4096, ContentSource::Recorded).unwrap();
    assert_eq!((pages.outline.existed_before(0), pages.outline.existed_before(1)), (false, true));
}

#[test]
fn a_sample_has_those_of_its_volumes() {
    let trace = random_trace(3);
    let sample = trace.sample(0.5, 1, SampleBy::Address).unwrap();
    assert_eq!((&sample.holes, sample.holes.is_empty()), (&trace.holes, false));
}

#[test]
fn holes_are_in_the_digest_and_traces_without_any_keep_theirs() {
    let request = |builder: &mut TraceBuilder| builder.request(0, Op::Read, 0, 4096, &[5]).build().unwrap();
    let mut builders = ["plain", "hole", "other"].map(TraceBuilder::new);
    builders[1].hole(0, 0..4096);
    builders[2].hole(0, 0..8192);
    let [plain, hole, other] = builders.each_mut().map(request);
    assert_ne!(plain.digest(), hole.digest());
    assert_ne!(hole.digest(), other.digest());
    // A hole on a volume that no request goes to says nothing.
    let mut elsewhere = TraceBuilder::new("elsewhere");
    elsewhere.hole(1, 0..4096);
    assert_eq!(request(&mut elsewhere).digest(), plain.digest());
}

fn recorded(metadata: &[(&str, String)]) -> Result<Trace, TraceError> {
    let folder = Folder::new();
    let place = folder.file("made.parquet");
    let mut recording = Recording::create(&place, "made", &Holes::default(), metadata).unwrap();
    recording.push(&Recorded {
        time_ns: 0,
        op: Op::Read,
        flags: 0,
        offset_bytes: 0,
        length_bytes: 8192,
        digests: &[[7; 16], [9; 16]],
    });
    recording.finish().unwrap();
    Trace::open(&Source::File(place), &OpenOptions::default(), &())
}

#[test]
fn metadata_that_say_nothing_sensible_are_refused_by_name() {
    for (key, value) in [
        ("flashtwin.holes", "[[0, 4096]]"),
        ("flashtwin.holes", "[[-1, 0, 4096]]"),
        ("flashtwin.holes", "[[0, 9223372036854775807, 4096]]"),
        ("flashtwin.zero_content", "-1"),
        ("flashtwin.zero_content", "4294967295"),
        ("flashtwin.zero_digest", "12"),
        ("flashtwin.zero_digest", "zz000000000000000000000000000000"),
        ("flashtwin.zero_digest", "\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}"),
    ] {
        let error = recorded(&[(key, value.to_owned())]).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("trace-formats.md"), "{error}");
    }
    let digest = ("flashtwin.zero_digest", "09".repeat(16));
    let trace = recorded(&[digest, ("flashtwin.holes", "[[0, 4096, 8192]]".to_owned())]).unwrap();
    assert_eq!((trace.zero_content, trace.contents(0)), (Some(1), &[0, 1][..]));
    assert_eq!(trace.holes.iter().collect::<Vec<_>>(), [(0, 4096..12288)]);
}

/// A trace in FIU's format, which has the digests that recorders made: MD5 of 4 KB, or of each sector.
fn fiu(digests: &[&str]) -> Source {
    let line =
        |(number, digest): (usize, &&str)| format!("{number}000 1 app {} 8 W 0 0 {digest}\n", number * 8);
    let text: String = digests.iter().enumerate().map(line).collect();
    Source::Bytes("made.fiu".to_owned(), Arc::from(text.into_bytes()))
}

#[test]
fn zeroes_are_known_by_their_plain_digests() {
    // md5sum and sha1sum of 4,096 bytes of /dev/zero, and md5sum of 512 of them.
    let (whole, sector) = ("620f0b67a91f7f74151bc5be745b7110", "bf619eac0cdf3f68d496ea9344137e8b");
    let eight = sector.repeat(8);
    let other = "0".repeat(32);
    for (digests, zero) in [
        (vec![whole], Some(0)),
        (vec![&other, whole, whole], Some(1)),
        (vec![&other, &eight], Some(1)),
        (vec![&other, sector], None),
        (vec![&other], None),
    ] {
        let source = fiu(&digests);
        let trace = open(&source, &OpenOptions::default());
        assert_eq!(trace.zero_content, zero, "{digests:?}");
        assert_eq!(streamed(&source, &OpenOptions::default()).2, zero);
        let folder = Folder::new();
        let place = folder.file("converted.parquet");
        trace.write_parquet(&place).unwrap();
        let source = Source::File(place);
        assert_eq!(open(&source, &OpenOptions::default()).zero_content, zero);
        assert_eq!(streamed(&source, &OpenOptions::default()).2, zero);
    }
}
