//! One sample in every format and compression (tests/data): all readers see the same trace.

use crate::common::{Folder, of_format};
use crate::sample;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flashtwin_trace::{ErrorCause, Format, Source, Trace, TraceError};

struct Sample {
    file: &'static str,
    format: &'static str,
    with_content: bool,
    unit_ns: u64,
    one_volume: bool,
    with_flushes: bool,
}

const fn sample(file: &'static str, format: &'static str) -> Sample {
    Sample { file, format, with_content: false, unit_ns: 100, one_volume: false, with_flushes: false }
}

const fn with_content(file: &'static str, format: &'static str) -> Sample {
    Sample { with_content: true, ..sample(file, format) }
}

const fn with_flushes(sample: Sample) -> Sample {
    Sample { with_flushes: true, ..sample }
}

const fn in_units(unit_ns: u64, file: &'static str, format: &'static str) -> Sample {
    Sample { unit_ns, ..sample(file, format) }
}

const MICROSECOND: u64 = 1000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

const FILES: [Sample; 17] = [
    with_content("sample.fiu", "fiu"),
    with_content("sample-lines.fiu.gz", "fiu"),
    with_content("sample-homes.fiu.zst", "fiu"),
    with_content("sample-digests.mqsim.xz", "mqsim"),
    sample("sample.csv", "msr"),
    sample("sample.spc.bz2", "spc"),
    sample("sample.mqsim.zst", "mqsim"),
    sample("sample.disksim", "disksim"),
    sample("sample-bytes.disksim.gz", "disksim-bytes"),
    with_flushes(sample("sample.blkparse.zst", "blkparse")),
    sample("sample.systor.csv.gz", "systor"),
    with_flushes(in_units(MICROSECOND, "sample.etw.csv.xz", "etw")),
    with_flushes(in_units(MILLISECOND, "sample-2.fio.gz", "fio")),
    with_flushes(in_units(MICROSECOND, "sample-3.fio.bz2", "fio")),
    in_units(MICROSECOND, "sample.alibaba.csv.zst", "alibaba"),
    in_units(SECOND, "sample.tencent.csv.xz", "tencent"),
    Sample {
        one_volume: true,
        with_flushes: true,
        ..in_units(SECOND, "sample.cloudphysics.csv.gz", "cloudphysics")
    },
];

impl Sample {
    fn expected(&self) -> Trace {
        let requests = if self.one_volume { sample::of_one_volume() } else { sample::requests() };
        sample::trace_of(requests, self.unit_ns, self.with_content, self.with_flushes)
    }
}

const PARQUET: &str = "sample.parquet";

fn data(file: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    folder.join(file)
}

fn open(source: &Source, format: Option<&str>) -> Result<Trace, TraceError> {
    Trace::open(source, &format.map(of_format).unwrap_or_default(), &())
}

/// Bytes in DiskSim's layout cannot be recognised, only asked for.
fn asked_for(format: &str) -> Option<&str> {
    Some(format).filter(|&format| format == "disksim-bytes")
}

fn assert_same_requests(one: &Trace, other: &Trace, what: &str) {
    assert_eq!(one.time_ns, other.time_ns, "{what}");
    assert_eq!(one.volume, other.volume, "{what}");
    assert_eq!(one.op, other.op, "{what}");
    assert_eq!(one.offset_bytes, other.offset_bytes, "{what}");
    assert_eq!(one.length_bytes, other.length_bytes, "{what}");
    if one.has_content() && other.has_content() {
        assert_eq!(one.content_start, other.content_start, "{what}");
        assert_eq!(one.content, other.content, "{what}");
        assert_eq!(one.digest(), other.digest(), "{what}");
    }
}

#[test]
fn all_files_hold_the_sample_whatever_their_names_and_threads() {
    for sample in FILES {
        let Sample { file, format, .. } = sample;
        let trace = open(&Source::File(data(file)), asked_for(format)).unwrap();
        let nameless = Source::Bytes("nameless".to_owned(), std::fs::read(data(file)).unwrap().into());
        let mut options = asked_for(format).map(of_format).unwrap_or_default();
        options.threaded = false;
        let other = Trace::open(&nameless, &options, &()).unwrap();
        assert_eq!(trace, Trace { name: trace.name.clone(), ..other }, "{file}");
        let expected = sample.expected();
        assert_eq!(trace.has_content(), sample.with_content, "{file}");
        assert_same_requests(&trace, &expected, file);
        assert_eq!(trace.digest(), expected.digest(), "{file}");
        assert_eq!(trace.format.name(), format, "{file}");
        assert!(trace.name.starts_with("sample"), "{file}: {}", trace.name);
        assert!(!trace.name.contains('.'), "{file}: {}", trace.name);
        assert_eq!(trace.quality.warnings, [""; 0], "{file}");
    }
    let trace = open(&Source::File(data(PARQUET)), None).unwrap();
    assert_same_requests(&trace, &sample::trace(true), PARQUET);
    assert_eq!(trace.format, Format::PARQUET);
}

#[test]
fn lines_of_one_request_are_joined_and_counted() {
    let source = Source::File(data("sample-lines.fiu.gz"));
    let trace = open(&source, None).unwrap();
    assert_eq!(trace.quality.lines, trace.content.len() as u64);
    assert_eq!(trace.quality.joined_lines, (trace.content.len() - trace.len()) as u64);
}

#[test]
fn bytes_and_sectors_are_not_guessed() {
    let error = open(&Source::File(data("sample-bytes.disksim.gz")), None).unwrap_err();
    assert_eq!(error.cause, ErrorCause::AmbiguousFormat);
    let message = error.to_string();
    assert!(message.contains("--format disksim or --format disksim-bytes"), "{message}");
}

#[test]
fn digests_are_those_of_the_lines() {
    let trace = open(&Source::File(data("sample.fiu")), None).unwrap();
    let lines = text_of("sample.fiu");
    let recorded = lines.split_whitespace().nth(8).unwrap();
    let hex: String = trace.digests.get(0).unwrap().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, recorded[..32]);
    assert_eq!(trace.digests.len(), trace.content_count() as usize);
    let parquet = open(&Source::File(data(PARQUET)), None).unwrap();
    assert_eq!(parquet.digests, trace.digests);
    assert_eq!(parquet.volume_names, ["8:0", "8:1"]);
}

#[test]
fn the_parquet_file_is_written_as_ever() {
    let folder = Folder::new();
    let place = folder.file(PARQUET);
    open(&Source::File(data("sample.fiu")), None).unwrap().write_parquet(&place).unwrap();
    let [written, there] = [place, data(PARQUET)].map(|path| open(&Source::File(path), None).unwrap());
    assert_eq!(written, there);
}

fn ending(file: &str) -> &str {
    file.rsplit('.').next().unwrap_or_default()
}

pub(crate) fn compress(file: &str, text: &[u8]) -> io::Result<Vec<u8>> {
    match ending(file) {
        "gz" => {
            let level = flate2::Compression::best();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(text)?;
            encoder.finish()
        }
        "bz2" => {
            let level = bzip2::Compression::best();
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), level);
            encoder.write_all(text)?;
            encoder.finish()
        }
        "xz" => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 9);
            encoder.write_all(text)?;
            encoder.finish()
        }
        "zst" => zstd::stream::encode_all(text, 19),
        _ => Ok(text.to_vec()),
    }
}

/// The text of a sample file, read without the library's own decompression.
pub(crate) fn text_of(file: &str) -> String {
    let mut text = String::new();
    let bytes = io::Cursor::new(std::fs::read(data(file)).unwrap());
    match ending(file) {
        "gz" => flate2::read::GzDecoder::new(bytes).read_to_string(&mut text),
        "bz2" => bzip2::read::BzDecoder::new(bytes).read_to_string(&mut text),
        "xz" => liblzma::read::XzDecoder::new(bytes).read_to_string(&mut text),
        "zst" => zstd::stream::Decoder::new(bytes).unwrap().read_to_string(&mut text),
        _ => { bytes }.read_to_string(&mut text),
    }
    .unwrap();
    text
}
