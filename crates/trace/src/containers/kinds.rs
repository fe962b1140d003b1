//! The table of kinds: how one is recognised by its first bytes, and how it is read or what to do with it.

use std::io::{self, BufRead, BufReader, Read};

use super::{Origin, Reader, archives, blktrace, records, utf16};

type Open = fn(Reader, &Origin) -> io::Result<Reader>;

enum Way {
    Unpack(Open),
    /// It is not read; the next command, for `FILE`.
    Name(&'static str),
}

pub(super) struct Kind {
    pub(super) name: &'static str,
    way: Way,
    pub(super) fits: fn(&[u8]) -> bool,
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
}

const fn packed(name: &'static str, open: Open, fits: fn(&[u8]) -> bool) -> Kind {
    Kind { name, way: Way::Unpack(open), fits }
}

const fn named(name: &'static str, command: &'static str, fits: fn(&[u8]) -> bool) -> Kind {
    Kind { name, way: Way::Name(command), fits }
}

const TO_FRAME: &str = "read it with PyArrow, Polars or pandas, and use ft.Trace.from_frame(frame)";
const AS_CSV: &str = "write its requests as CSV, and name the columns with --columns";
const BY_7Z: &str = "unpack it (7z x FILE), and name the trace in it";
const BY_LFS: &str = "fetch the file: git lfs pull --include FILE";
const BY_SQLITE: &str = "write its table as CSV: sqlite3 -header -csv FILE 'SELECT * FROM requests'";
const DOWNLOAD: &str = "download the file itself: the address needs a log-in, or links to a page about it";
const BY_VSCSI: &str = "write it as text with libCacheSim: bin/tracePrint FILE vscsi";

/// The first that fits is taken.
pub(super) static KINDS: &[Kind] = &[
    packed("gzip", gzip, |head| head.starts_with(b"\x1f\x8b")),
    packed("zstd", zstd, |head| head.starts_with(b"\x28\xb5\x2f\xfd")),
    packed("xz", xz, |head| head.starts_with(b"\xfd7zXZ\0")),
    packed("bzip2", bzip2, |head| matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', ..])),
    packed("lz4", lz4, |head| matches!(head, [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..])),
    // A skippable frame, which some tools put before the first real one.
    packed("zstd", zstd, |head| matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])),
    packed("UTF-16", utf16::open, utf16::fits),
    packed(blktrace::NAME, blktrace::open, blktrace::is_event),
    packed("zip", archives::zip, |head| head.starts_with(b"PK\x03\x04")),
    packed("tar", archives::tar, |head| head.get(257..262) == Some(b"ustar")),
    named("a 7z archive", BY_7Z, |head| head.starts_with(b"7z\xbc\xaf\x27\x1c")),
    named("a RAR archive", BY_7Z, |head| head.starts_with(b"Rar!\x1a\x07")),
    named("binary vSCSI (CloudPhysics)", BY_VSCSI, records::is_vscsi),
    packed(records::ORACLE_GENERAL, records::open_oracle_general, records::is_oracle_general),
    named("an LCS trace of libCacheSim", AS_CSV, |head| {
        head.starts_with(b"\xf0\xde\xbc\x9a\x78\x56\x34\x12")
    }),
    named("a Git LFS pointer, not the file itself", BY_LFS, |head| {
        head.starts_with(b"version https://git-lfs")
    }),
    named("an HTML page", DOWNLOAD, |head| is_markup(head, b"<!doctype html") || is_markup(head, b"<html")),
    named("JSON", TO_FRAME, is_json),
    named("an Arrow IPC file (Feather)", TO_FRAME, |head| head.starts_with(b"ARROW1\0\0")),
    named("an ORC file", TO_FRAME, |head| head.starts_with(b"ORC") && head.contains(&0)),
    named("an HDF5 file", TO_FRAME, |head| head.starts_with(b"\x89HDF\r\n\x1a\n")),
    named("a NumPy array", TO_FRAME, |head| head.starts_with(b"\x93NUMPY")),
    named("an SQLite database", BY_SQLITE, |head| head.starts_with(b"SQLite format 3\0")),
    named("a spreadsheet of Excel", "save it as CSV", |head| {
        head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    }),
    named("a packet capture (pcap)", AS_CSV, |head| {
        head.starts_with(b"\xd4\xc3\xb2\xa1") || head.starts_with(b"\xa1\xb2\xc3\xd4")
    }),
];

fn is_json(head: &[u8]) -> bool {
    let mut signs = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    matches!((signs.next(), signs.next()), (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b'[')))
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
