//! Traces: every format, columns of one's own, recordings that were cut.

use std::fs;
use std::io::Read;
use std::path::Path;

use flashtwin_trace::{
    ContentSource, Format, Layout, OnBadLine, OpenOptions, PageTrace, Recipe, Source, Trace, TraceError,
    TraceStream, recover_recording, synthesize, workload_toml,
};

use crate::places::scratch;

/// The first byte picks a format, or 0 finds out; the rest is the trace. Every reader refuses it, or reads the same whole
/// and in a stream, and what was read can be written and read again.
pub(crate) fn trace(bytes: &[u8]) {
    let Some((&picked, rest)) = bytes.split_first() else { return };
    let format = Format::all().nth((picked as usize).wrapping_sub(1));
    read(rest, &OpenOptions { format, ..OpenOptions::default() });
}

/// A table with a header or without, whose columns are named.
pub(crate) fn columns(bytes: &[u8]) {
    let Some((&picked, rest)) = bytes.split_first() else { return };
    let header = picked & 1 == 0;
    let names = [
        ["1:us", "2", "3:512", "4:512", "5"],
        ["time_ns:ns", "op", "offset_bytes", "length_bytes", "content"],
    ];
    let parts = ["time", "op", "offset", "length", "content"];
    let named = parts.into_iter().zip(names[usize::from(header)]);
    let layout = Layout::new(named, [None, Some(";"), Some("blanks")][picked as usize / 2 % 3], header);
    read(rest, &OpenOptions { layout: Some(layout.expect("a layout")), ..OpenOptions::default() });
}

fn read(bytes: &[u8], options: &OpenOptions) {
    let source = Source::Bytes("fuzzed".to_owned(), bytes.into());
    for on_bad_line in [OnBadLine::Fail, OnBadLine::Skip] {
        let options = OpenOptions { on_bad_line, threaded: false, ..options.clone() };
        let whole = Trace::open(&source, &options, &());
        match (&whole, streamed(&source, &options)) {
            (Ok(trace), Ok(digest)) => {
                assert_eq!(trace.digest(), digest);
                again(trace);
            }
            (Err(_), Err(_)) => {}
            // A stream does not read digests, so it does not see damage to their column.
            (Err(_), Ok(_)) if bytes.starts_with(b"PAR1") => {}
            (whole, streamed) => {
                panic!("whole: {:?}, streamed: {streamed:?}", whole.as_ref().map(Trace::digest))
            }
        }
    }
}

fn streamed(source: &Source, options: &OpenOptions) -> Result<String, TraceError> {
    let mut stream = TraceStream::open(source, options, &())?;
    while stream.next(&())?.is_some() {}
    Ok(stream.digest())
}

/// Cuts a trace into pages, and writes it down and reads it back.
fn again(trace: &Trace) {
    let content = if trace.has_content() { ContentSource::Recorded } else { ContentSource::Unique };
    // Requests may ask for more pages than there is memory for, which is said.
    let _ = PageTrace::build(trace, 4096, content);
    let path = scratch("again.parquet");
    if trace.write_parquet(&path).is_ok() {
        let read = Trace::open(&Source::File(path), &OpenOptions::default(), &());
        assert_eq!(read.map(|read| read.digest()).as_ref(), Ok(&trace.digest()));
    }
}

/// A file that a recorder left when its machine lost power: it is made whole, or is refused.
pub(crate) fn recording(bytes: &[u8]) {
    let path = scratch("recording.parquet");
    fs::write(&path, bytes).expect("a folder for temporary files");
    if let Ok((requests, _)) = recover_recording(&path) {
        // Recovery looks for the last whole footer. Damage to what it names is told by who reads it.
        if let Ok(trace) = Trace::open(&Source::File(path), &OpenOptions::default(), &()) {
            assert_eq!(trace.len() as u64, requests, "as many requests as recovery says");
        }
    }
}

/// The samples of all formats, unpacked, because mutants of packed bytes say little.
pub(crate) fn samples() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("tests/data").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let unpacked = paths.iter().map(|path| {
        let packed = fs::read(path).expect("a sample");
        let ending = path.extension().map_or("", |ending| ending.to_str().unwrap_or(""));
        let mut reader: Box<dyn Read> = match ending {
            "gz" => Box::new(flate2::read::GzDecoder::new(&packed[..])),
            "bz2" => Box::new(bzip2::read::BzDecoder::new(&packed[..])),
            "xz" => Box::new(liblzma::read::XzDecoder::new(&packed[..])),
            "zst" => Box::new(zstd::Decoder::new(&packed[..]).expect("zstd")),
            _ => Box::new(&packed[..]),
        };
        let mut bytes = vec![0];
        reader.read_to_end(&mut bytes).expect("a whole sample");
        // A mutant of a long sample is as good as one of a short one, and slower.
        if ending != "parquet" {
            bytes.truncate(4096);
        }
        bytes
    });
    unpacked.collect()
}

pub(crate) fn tables() -> Vec<Vec<u8>> {
    let numbered = "1,R,8,8,00ff\n2,W,16,1,01ff\n5,W,8,8,\n".replace(',', ";");
    vec![
        [&[0][..], b"time_ns,op,offset_bytes,length_bytes,content\n1,R,0,4096,a\n2,W,4096,8192,b|c\n"]
            .concat(),
        [&[3][..], numbered.as_bytes()].concat(),
        [&[5][..], numbered.replace(';', "  ").as_bytes()].concat(),
    ]
}

/// Some two hundred requests with contents.
pub(crate) fn short_trace() -> Trace {
    let recipe = Recipe::parse("cello99", workload_toml("ca-ssd/cello99").expect("a recipe of ours"));
    synthesize(&recipe.expect("a recipe"), "cello99", 0.000_5, 0, &()).expect("a short trace")
}

pub(crate) fn recordings() -> Vec<Vec<u8>> {
    let trace = short_trace();
    let path = scratch("seed.parquet");
    trace.write_parquet(&path).expect("a folder for temporary files");
    vec![fs::read(&path).expect("what was just written")]
}
