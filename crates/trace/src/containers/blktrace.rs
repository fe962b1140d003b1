//! Raw blktrace: the events of one processor a file, `NAME.blktrace.N`. They become the lines that blkparse prints, all
//! processors merged by time, so that one parser has the rules.
//!
//! An event of version 7 has 48 bytes, one of version 8 has 64. Both begin with magic and version, sequence, time in
//! nanoseconds, sector and bytes. A payload may follow. Numbers have the byte order of the machine that recorded them.
//!
//! Source: the kernel's include/uapi/linux/blktrace_api.h (6.19, version 8), and blktrace's blkparse_fmt.c.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{Origin, Reader, made, next_layer, read_record};
use crate::error::{ErrorCause, TraceError};

pub(super) const NAME: &str = "raw blktrace";

const MAGIC: u64 = 0x6561_7400;
const LEAST_BYTES: usize = 48;
/// What version 8 has more: a wider action, and padding.
const WIDER_BYTES: usize = 16;

/// Letters of blkparse for the low byte of an action, from 1 (queued) on.
const ACTIONS: &[u8; 15] = b"QMFGSRDCPUTIXBA";
/// Categories, from bit 16 of an action on.
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const PASSTHROUGH: u64 = 1 << 25;
const NOTIFY: u64 = 1 << 26;
const DISCARD: u64 = 1 << 29;
const DRIVER_DATA: u64 = 1 << 30;
const DURABLE: u64 = 1 << 31;
const ZONE_APPEND: u64 = 1 << 32;
/// Reset, reset all, finish, open, close.
const ZONE_MANAGEMENT: u64 = 0x1f << 33;
const WRITE_ZEROES: u64 = 1 << 38;

pub(super) fn is_event(head: &[u8]) -> bool {
    head.len() >= LEAST_BYTES && matches!(head, [_, b't', b'a', b'e', ..] | [b'e', b'a', b't', _, ..])
}

/// Ordered by time, then by device and sequence, as blkparse sorts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time_ns: u64,
    device: u64,
    sequence: u64,
    file: usize,
    sector: u64,
    bytes: u64,
    action: u64,
    pid: u64,
    cpu: u64,
}

struct Events {
    reader: Reader,
    name: String,
    /// Bytes before the next event.
    at: u64,
    file: usize,
}

impl Events {
    /// The next event that blkparse prints a line for.
    fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            match self.any() {
                Ok(Some(event)) if event.action & (NOTIFY | DRIVER_DATA) != 0 => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(self.ends("is unfinished"));
                }
                other => return other,
            }
        }
    }

    fn any(&mut self) -> io::Result<Option<Event>> {
        let mut event = [0; LEAST_BYTES + WIDER_BYTES];
        if !read_record(&mut self.reader, &mut event[..LEAST_BYTES])? {
            return Ok(None);
        }
        let big = event[0] == b'e';
        let number = |event: &[u8], at: usize, bytes: usize| {
            let field = event[at..at + bytes].iter();
            let digit = |value, byte: &u8| value << 8 | u64::from(*byte);
            if big { field.fold(0, digit) } else { field.rev().fold(0, digit) }
        };
        // Version 8 has its action behind the process.
        let [action, pid, device, cpu, payload] = match number(&event, 0, 4) ^ MAGIC {
            7 => [(28, 4), (32, 4), (36, 4), (40, 4), (46, 2)],
            8 => [(32, 8), (28, 4), (40, 4), (44, 4), (50, 2)],
            version if version < 256 => {
                return Err(self.ends(&format!("is of version {version}, not of 7 or 8")));
            }
            _ => return Err(self.ends("is none")),
        };
        let wider = if action.1 == 8 { WIDER_BYTES } else { 0 };
        self.reader.read_exact(&mut event[LEAST_BYTES..][..wider])?;
        let [action, pid, device, cpu, payload] =
            [action, pid, device, cpu, payload].map(|(at, bytes)| number(&event, at, bytes));
        if io::copy(&mut (&mut self.reader).take(payload), &mut io::sink())? < payload {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += (LEAST_BYTES + wider) as u64 + payload;
        let [sequence, bytes] = [4, 24].map(|at| number(&event, at, 4));
        let [time_ns, sector] = [8, 16].map(|at| number(&event, at, 8));
        Ok(Some(Event { time_ns, device, sequence, file: self.file, sector, bytes, action, pid, cpu }))
    }

    #[cold]
    fn ends(&self, how: &str) -> io::Error {
        let what = format!("the event at byte {} {how}", self.at);
        let cure = format!("read those before it: truncate -s {} on a copy of the file", self.at);
        io::Error::other(TraceError::new(ErrorCause::Malformed, &self.name, what, cure))
    }
}

pub(super) fn open(reader: Reader, origin: &Origin) -> io::Result<Reader> {
    let mut files = vec![Events { reader, name: origin.name.clone(), at: 0, file: 0 }];
    for path in origin.path.iter().flat_map(|path| siblings(path)) {
        let (name, file) = (path.display().to_string(), File::open(path)?);
        *origin.total.borrow_mut() += file.metadata()?.len();
        let mut reader = origin.counted(file);
        let mut layers = vec![];
        while let Some(kind) = next_layer(&mut reader, &layers, origin).map_err(io::Error::other)?
            && kind.name != NAME
        {
            reader = kind.open(reader, origin)?;
            layers.push(kind.name);
        }
        files.push(Events { reader, name, at: 0, file: files.len() });
    }
    origin.notes.borrow_mut().push(format!("raw blktrace, files merged by time: {}", files.len()));
    let mut next = BinaryHeap::new();
    for file in &mut files {
        next.extend(file.next()?.map(Reverse));
    }
    Ok(made(move |text| {
        let Some(Reverse(event)) = next.pop() else { return Ok(()) };
        next.extend(files[event.file].next()?.map(Reverse));
        write_line(text, &event)
    }))
}

/// The files of the other processors beside `NAME.blktrace.N`; they may be compressed alike.
pub(super) fn siblings(path: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| -> Option<(String, u32, String)> {
        let (stem, rest) = path.file_name()?.to_str()?.rsplit_once(".blktrace.")?;
        let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
        Some((stem.to_owned(), rest[..digits].parse().ok()?, rest[digits..].to_owned()))
    };
    let Some((stem, number, ending)) = parts(path) else { return Vec::new() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut beside: Vec<_> = beside.filter_map(|path| Some((parts(&path)?, path))).collect();
    beside.retain(|((stem_beside, other, ending_beside), _)| {
        (stem_beside, ending_beside) == (&stem, &ending) && *other != number
    });
    beside.sort();
    beside.into_iter().map(|(_, path)| path).collect()
}

/// The line of blkparse. An event without sectors, or of a passthrough command, says only what it is.
fn write_line(text: &mut Vec<u8>, event: &Event) -> io::Result<()> {
    let Event { time_ns, device, sequence, sector, bytes, action, pid, cpu, .. } = *event;
    let place = (action & 0xff).wrapping_sub(1) as usize;
    let letter = char::from(ACTIONS.get(place).copied().unwrap_or(b'm'));
    let has = |category: u64| action & category != 0;
    let operation = match () {
        () if has(DISCARD) => "D",
        () if has(ZONE_MANAGEMENT) => "N",
        () if has(WRITE_ZEROES) => "WZ",
        () if has(WRITE | ZONE_APPEND) => "W",
        () if bytes > 0 => "R",
        () => "N",
    };
    let [flush, durable] = [FLUSH, DURABLE].map(|category| if has(category) { "F" } else { "" });
    let (major, minor) = (device >> 20, device & 0xf_ffff);
    let (seconds, part) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    write!(
        text,
        "{major},{minor} {cpu} {sequence} {seconds}.{part:09} {pid} {letter} {flush}{operation}{durable} "
    )?;
    if bytes > 0 && !has(PASSTHROUGH) {
        write!(text, "{sector} + {} ", bytes / 512)?;
    }
    text.extend_from_slice(b"[]\n");
    Ok(())
}
