//! The table of kinds: how one is recognised by its first bytes, and how it is read or what to do with it.

use std::io::{self, BufRead, BufReader, Read};

use super::{Origin, Reader, blktrace, records, utf16};

type Open = fn(Reader, &Origin) -> io::Result<Reader>;

enum Way {
    Unpack(Open),
    /// It is not read; the next command, for `FILE`.
    Name(&'static str),
}

pub(super) struct Kind {
    pub(super) name: &'static str,
    looks: Looks,
    way: Way,
}

enum Looks {
    Begin(&'static [u8]),
    Fit(fn(&[u8]) -> bool),
}

impl Kind {
    /// What is in it; an error with its name and the next command if it is not read.
    pub(super) fn open(&self, reader: Reader, origin: &Origin) -> io::Result<Reader> {
        match self.way {
            Way::Unpack(open) => open(reader, origin),
            Way::Name(command) => {
                let what = format!("this is {}, a text trace or Parquet was expected", self.name);
                Err(io::Error::other(origin.refusal(what, &command.replace("FILE", &origin.name))))
            }
        }
    }

    pub(super) fn fits(&self, head: &[u8]) -> bool {
        match self.looks {
            Looks::Begin(magic) => head.starts_with(magic),
            Looks::Fit(fits) => fits(head),
        }
    }
}

const fn begins(magic: &'static [u8], name: &'static str, way: Way) -> Kind {
    Kind { name, looks: Looks::Begin(magic), way }
}

const fn fits(looks: fn(&[u8]) -> bool, name: &'static str, way: Way) -> Kind {
    Kind { name, looks: Looks::Fit(looks), way }
}

const fn named(magic: &'static [u8], name: &'static str, command: &'static str) -> Kind {
    begins(magic, name, Way::Name(command))
}

const TO_FRAME: &str = "read it with PyArrow, Polars or pandas, and use ft.Trace.from_frame(frame)";
const AS_CSV: &str = "write its requests as CSV, and name the columns with --columns";
const BY_7Z: &str = "unpack it (7z x FILE), and name the trace in it";
const BY_UNZIP: &str =
    "read a file of it: unzip -p FILE MEMBER | flashtwin trace info - (unzip -l FILE lists them)";
const BY_TAR: &str =
    "read a file of it: tar -xOf FILE MEMBER | flashtwin trace info - (tar -tf FILE lists them)";
const BY_ZCAT: &str = "read it through zcat: zcat FILE | flashtwin trace info -";
const BY_LFS: &str = "fetch the file: git lfs pull --include FILE";
const BY_SQLITE: &str = "write its table as CSV: sqlite3 -header -csv FILE 'SELECT * FROM requests'";
const BY_PERF: &str = "write its events as text: perf script -i FILE";
const BY_TRACE_CMD: &str = "write its events as text: trace-cmd report -i FILE";
const DOWNLOAD: &str = "download the file itself: the address needs a log-in, or links to a page about it";
const BY_ORACLE: &str = "read it with numpy.fromfile('FILE', '<u4,<u8,<u4,<i8') (seconds, object, bytes, next use); it has no operations";
const BY_VSCSI: &str = "write it as text with libCacheSim: bin/tracePrint FILE vscsi";

/// The first that fits is taken.
pub(super) static KINDS: &[Kind] = &[
    begins(b"\x1f\x8b", "gzip", Way::Unpack(gzip)),
    begins(b"\x28\xb5\x2f\xfd", "zstd", Way::Unpack(zstd)),
    begins(b"\xfd7zXZ\0", "xz", Way::Unpack(xz)),
    fits(|head| matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', ..]), "bzip2", Way::Unpack(bzip2)),
    begins(b"\x04\x22\x4d\x18", "lz4", Way::Unpack(lz4)),
    begins(b"\x02\x21\x4c\x18", "lz4", Way::Unpack(lz4)),
    // A skippable frame, which some tools put before the first real one.
    fits(|head| matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]), "zstd", Way::Unpack(zstd)),
    named(b"PK\x03\x04", "a zip archive", BY_UNZIP),
    fits(|head| head.get(257..262) == Some(b"ustar"), "a tar archive", Way::Name(BY_TAR)),
    fits(utf16::fits, "UTF-16", Way::Unpack(utf16::open)),
    fits(blktrace::is_event, blktrace::NAME, Way::Unpack(blktrace::open)),
    fits(records::is_vscsi, "binary vSCSI (CloudPhysics)", Way::Name(BY_VSCSI)),
    fits(records::is_oracle_general, "oracleGeneral of libCacheSim", Way::Name(BY_ORACLE)),
    named(b"\xf0\xde\xbc\x9a\x78\x56\x34\x12", "an LCS trace of libCacheSim", AS_CSV),
    named(b"version https://git-lfs.github.com/spec/", "a Git LFS pointer, not the file itself", BY_LFS),
    fits(|head| is_markup(head, b"<!doctype html"), "an HTML page", Way::Name(DOWNLOAD)),
    fits(|head| is_markup(head, b"<html"), "an HTML page", Way::Name(DOWNLOAD)),
    fits(is_json, "JSON", Way::Name(TO_FRAME)),
    named(b"ARROW1\0\0", "an Arrow IPC file (Feather)", TO_FRAME),
    fits(|head| head.starts_with(b"FEA1") && head.contains(&0), "a Feather file", Way::Name(TO_FRAME)),
    fits(|head| head.starts_with(b"ORC") && head.contains(&0), "an ORC file", Way::Name(TO_FRAME)),
    named(b"\x89HDF\r\n\x1a\n", "an HDF5 file", TO_FRAME),
    named(b"\x93NUMPY", "a NumPy array", TO_FRAME),
    named(b"SQLite format 3\0", "an SQLite database", BY_SQLITE),
    named(b"PERFILE2", "a recording of perf", BY_PERF),
    named(b"\x17\x08\x44tracing", "a recording of trace-cmd", BY_TRACE_CMD),
    named(b"\xd4\xc3\xb2\xa1", "a packet capture (pcap)", AS_CSV),
    named(b"\xa1\xb2\xc3\xd4", "a packet capture (pcap)", AS_CSV),
    named(b"\x4d\x3c\xb2\xa1", "a packet capture (pcap)", AS_CSV),
    named(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a spreadsheet of Excel", "save it as CSV"),
    named(b"7z\xbc\xaf\x27\x1c", "a 7z archive", BY_7Z),
    named(b"Rar!\x1a\x07", "a RAR archive", BY_7Z),
    named(b"\x1f\x9d", "a file of compress", BY_ZCAT),
];

fn is_json(head: &[u8]) -> bool {
    let rest = |head: &[u8]| head.get(1..).and_then(|rest| rest.trim_ascii_start().first().copied());
    let head = head.trim_ascii_start();
    match head.first() {
        Some(b'{') => matches!(rest(head), Some(b'"' | b'}')),
        Some(b'[') => matches!(rest(head), Some(b'{' | b'[')),
        _ => false,
    }
}

fn is_markup(head: &[u8], start: &[u8]) -> bool {
    head.trim_ascii_start().get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

fn unpacked(decoder: impl Read + Send + 'static) -> io::Result<Reader> {
    Ok(Box::new(BufReader::new(decoder)))
}

fn gzip(reader: Reader, _: &Origin) -> io::Result<Reader> {
    unpacked(flate2::bufread::MultiGzDecoder::new(reader))
}

/// zstd windows up to 2 GiB are accepted (`zstd --long=31`); the default of 128 MiB is not enough.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

fn zstd(reader: Reader, _: &Origin) -> io::Result<Reader> {
    let mut decoder = ::zstd::stream::read::Decoder::with_buffer(reader)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    unpacked(decoder)
}

fn xz(reader: Reader, _: &Origin) -> io::Result<Reader> {
    unpacked(liblzma::bufread::XzDecoder::new_multi_decoder(reader))
}

fn bzip2(reader: Reader, _: &Origin) -> io::Result<Reader> {
    unpacked(::bzip2::bufread::MultiBzDecoder::new(reader))
}

fn lz4(reader: Reader, _: &Origin) -> io::Result<Reader> {
    unpacked(Lz4(lz4_flex::frame::FrameDecoder::new(reader)))
}

/// All frames of an lz4 file, behind one another.
struct Lz4(lz4_flex::frame::FrameDecoder<Reader>);

impl Read for Lz4 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // The decoder stops behind each frame.
            let read = self.0.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.0.get_mut().fill_buf()?.is_empty() {
                return Ok(read);
            }
        }
    }
}
