//! A stream's batches, one behind another, are the trace that is read as a whole.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{Folder, Random};
use flashtwin_trace::{
    ErrorCause, NO_CONTENT, OnBadLine, Op, OpenOptions, Request, Source, Trace, TraceBuilder, TraceStream,
};

fn concatenated(stream: &mut TraceStream) -> (Trace, usize) {
    let mut whole: Option<Trace> = None;
    let mut batches = 0;
    while let Some(batch) = stream.next(&()).unwrap() {
        batches += 1;
        assert!(!batch.is_empty());
        assert!(batch.volume.iter().all(|&volume| (volume as usize) < batch.volume_names.len()));
        match &mut whole {
            None => {
                whole = Some(Trace {
                    content_start: if batch.has_content() { batch.content_start.clone() } else { Vec::new() },
                    ..batch
                });
            }
            Some(whole) => append(whole, &batch),
        }
    }
    let mut whole = whole.unwrap();
    whole.volume_names = stream.volume_names().to_vec();
    whole.quality = stream.quality().clone();
    assert_eq!(stream.requests(), whole.len() as u64);
    assert_eq!(stream.content_count(), whole.content_count());
    (whole, batches)
}

fn append(whole: &mut Trace, batch: &Trace) {
    if batch.has_content() && whole.content_start.is_empty() {
        whole.content_start = vec![0; whole.len() + 1];
    }
    if !batch.flags.is_empty() {
        whole.flags.resize(whole.len(), 0);
        whole.flags.extend(&batch.flags);
    }
    let before = whole.content.len() as u64;
    let starts_before = whole.content_start.len();
    Arc::make_mut(&mut whole.time_ns).extend(&batch.time_ns[..]);
    Arc::make_mut(&mut whole.volume).extend(batch.volume.iter());
    Arc::make_mut(&mut whole.op).extend(&batch.op[..]);
    Arc::make_mut(&mut whole.offset_bytes).extend(batch.offset_bytes.iter());
    Arc::make_mut(&mut whole.length_bytes).extend(batch.length_bytes.iter());
    whole.content.extend(&batch.content);
    if batch.has_content() {
        whole.content_start.extend(batch.content_start[1..].iter().map(|start| before + start));
    } else if starts_before > 0 {
        whole.content_start.resize(whole.len() + 1, before);
    }
}

fn assert_same(source: &Source, options: &OpenOptions, what: &str) -> usize {
    let expected = Trace::open(source, options, &()).unwrap();
    let mut stream = TraceStream::open(source, options, &()).unwrap();
    let (got, batches) = concatenated(&mut stream);
    assert_eq!(stream.digest(), expected.digest(), "{what}");
    assert_eq!(stream.name(), expected.name, "{what}");
    assert_eq!(stream.format(), expected.format, "{what}");
    assert!(stream.next(&()).unwrap().is_none());
    let named = |trace: &Trace| -> Vec<String> {
        trace.volume.iter().map(|&volume| trace.volume_names[volume as usize].clone()).collect()
    };
    assert_eq!(named(&got), named(&expected), "{what}");
    let by_appearance =
        got.volume.iter().try_fold(0, |next, &volume| (volume <= next).then_some(next.max(volume + 1)));
    assert!(by_appearance.is_some(), "{what}");
    let mut names = (got.volume_names.clone(), expected.volume_names.clone());
    names.0.sort();
    names.1.sort();
    assert_eq!(names.0, names.1, "{what}");
    let expected = Trace { volume: got.volume.clone(), volume_names: got.volume_names.clone(), ..expected };
    let got = Trace { digests: expected.digests.clone(), ..got };
    assert_eq!(got, expected, "{what}");
    batches
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

#[test]
fn every_sample_is_the_same_as_a_stream() {
    let mut files = 0;
    for entry in std::fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("sample") {
            continue;
        }
        files += 1;
        let mut options = OpenOptions::default();
        if name.contains("bytes.disksim") {
            options.format = Some("disksim-bytes".parse().unwrap());
        }
        let source = Source::File(path);
        assert_same(&source, &options, &name);
        assert_same(&source, &OpenOptions { threaded: false, ..options }, &name);
    }
    assert!(files >= 10, "{files}");
}

/// FIU lines on several volumes: out of order by up to `window_ns`, some joined, some bad, some empty.
fn disordered_fiu(random: &mut Random, lines: u64, window_ns: u64) -> String {
    let mut text = String::new();
    let mut latest = 5_000_000_000u64;
    while text.len() < lines as usize * 60 {
        latest += random.below(50_000);
        let time = latest - if random.one_in(3) { random.below(window_ns + 1) } else { 0 };
        let (volume, page) = (random.below(4), random.below(100_000) * 8);
        let op = if random.one_in(3) { 'R' } else { 'W' };
        if random.one_in(50) {
            let _ = writeln!(text, "{time} 7 p {page} 0 {op} 8 {volume}");
        }
        if random.one_in(70) {
            let _ = writeln!(text, "{time} 7 p {page} x {op} 8 {volume} bad");
        }
        for part in 0..1 + random.below(5) {
            let content = random.below(3000);
            let _ = writeln!(text, "{time} 7 p {} 8 {op} 8 {volume} {content:032x}", page + part * 8);
        }
    }
    text
}

#[test]
fn random_traces_are_the_same_as_streams() {
    let mut random = Random::new(11);
    for round in 0..300 {
        let window_ns = 1 + random.below(400_000);
        let lines = random.below(60) + 1;
        let text = disordered_fiu(&mut random, lines, window_ns);
        let options = OpenOptions {
            sort_window_ns: window_ns,
            on_bad_line: OnBadLine::Skip,
            format: Some("fiu".parse().unwrap()),
            ..OpenOptions::default()
        };
        let source = Source::Bytes("random".to_owned(), text.into_bytes().into());
        assert_same(&source, &options, &format!("round {round}"));
    }
}

#[test]
fn large_traces_come_in_batches() {
    let mut random = Random::new(3);
    let text = disordered_fiu(&mut random, 700_000, 900_000);
    let compressed = zstd::stream::encode_all(text.as_bytes(), 1).unwrap();
    for window_ns in [1_000_000, 1_000_000_000, u64::MAX] {
        let options =
            OpenOptions { sort_window_ns: window_ns, on_bad_line: OnBadLine::Skip, ..OpenOptions::default() };
        let source = Source::Bytes("large".to_owned(), compressed.clone().into());
        let batches = assert_same(&source, &options, &format!("window {window_ns}"));
        assert!(batches > 2, "{batches}");
    }
}

#[test]
fn parquet_of_many_batches_with_gaps_in_the_numbers() {
    let mut random = Random::new(5);
    let mut builder = TraceBuilder::new("large");
    for number in 0..200_000u32 {
        let contents = [random.below(5000) as u32, NO_CONTENT];
        let request = Request {
            time_ns: i64::from(number / 3),
            volume: (random.below(3) * 7) as u32,
            op: Op::ALL[number as usize % 2],
            offset_bytes: u64::from(number) * 512,
            length_bytes: 8192,
        };
        builder.push(request, if number < 70_000 || number % 2 == 0 { &[] } else { &contents });
    }
    let mut trace = builder.build().unwrap();
    // As another tool may write it: times out of order, contents of any number.
    for row in (0..trace.len()).step_by(10) {
        Arc::make_mut(&mut trace.time_ns)[row] -= random.below(40) as i64;
    }
    for id in trace.content.iter_mut().filter(|id| **id != NO_CONTENT) {
        *id = id.wrapping_mul(858_993_459) % 4_000_000_000;
    }
    let folder = Folder::new();
    let path = folder.file("large.parquet");
    trace.write_parquet(&path).unwrap();
    let batches = assert_same(&Source::File(path), &OpenOptions::default(), "parquet");
    assert_eq!(batches, 4);
}

#[test]
fn errors_are_those_of_reading_as_a_whole() {
    let open = |text: &str| {
        let source = Source::Bytes("bad.fiu".to_owned(), text.as_bytes().into());
        let whole = Trace::open(&source, &OpenOptions::default(), &()).unwrap_err();
        let streamed = TraceStream::open(&source, &OpenOptions::default(), &()).err().unwrap();
        assert_eq!(streamed, whole);
        streamed
    };
    let line = "10 7 p 8 8 W 8 1 88b93b628d84082186026d9da044f173\n";
    assert_eq!(open(&line.repeat(3).replace("8 1 88", "8 x 88")).cause, ErrorCause::UnknownFormat);
    assert_eq!(open(&(line.repeat(3) + "11 7 p q\n")).cause, ErrorCause::Malformed);
    assert_eq!(open("").cause, ErrorCause::Empty);

    // Far behind the beginning: after good batches, once.
    let mut text = line.repeat(200_000);
    text.push_str("11 7 p q\n");
    let source = Source::Bytes("bad.fiu".to_owned(), text.into_bytes().into());
    let options = OpenOptions { sort_window_ns: 0, ..OpenOptions::default() };
    let mut stream = TraceStream::open(&source, &options, &()).unwrap();
    let error = loop {
        match stream.next(&()) {
            Ok(batch) => assert!(batch.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error, Trace::open(&source, &options, &()).unwrap_err());
    assert!(stream.next(&()).unwrap().is_none());
}

#[test]
fn standard_input_is_refused_with_a_cure() {
    let error = TraceStream::open(&Source::Stdin, &OpenOptions::default(), &()).err().unwrap();
    assert_eq!(error.cause, ErrorCause::Argument);
    assert!(error.to_string().contains("read only once"), "{error}");
    assert!(error.cure.contains("convert") && error.cure.contains("without streaming"), "{error}");
}
