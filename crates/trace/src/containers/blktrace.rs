//! Raw blktrace: the events of one processor a file, `NAME.blktrace.N`. They become the lines that blkparse prints, all
//! processors merged by time, so that one parser has the rules.
//!
//! An event of version 7 has 48 bytes, one of version 8 has 64. Both begin with magic and version, sequence, time in
//! nanoseconds, sector and bytes. A payload may follow. Numbers have the byte order of the machine that recorded them.
//!
//! Source: the kernel's include/uapi/linux/blktrace_api.h (6.19, version 8), and blktrace's blkparse_fmt.c.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use super::{Origin, Reader, bytes_at, made, opened, read_record, unpack_to};
use crate::error::{ErrorCause, TraceError};

pub(super) const NAME: &str = "raw blktrace";

const MAGIC: u32 = 0x6561_7400;
const HEAD_BYTES: usize = 48;

/// Letters of blkparse for the low byte of an action, from 1 (queued) on; blanks are never a request.
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
    let magic = bytes_at(head, 0);
    head.len() >= HEAD_BYTES
        && [u32::from_le_bytes(magic), u32::from_be_bytes(magic)].map(|it| it & !0xff).contains(&MAGIC)
}

/// By time, then by device and sequence, as blkparse sorts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time_ns: u64,
    device: u32,
    sequence: u32,
    file: usize,
    sector: u64,
    bytes: u32,
    action: u64,
    pid: u32,
    cpu: u32,
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
            let mut head = [0; HEAD_BYTES];
            if !read_record(&mut self.reader, &mut head).map_err(|error| self.unfinished(error))? {
                return Ok(None);
            }
            let little = head[0] != 0x65;
            let short = |at| {
                if little {
                    u16::from_le_bytes(bytes_at(&head, at))
                } else {
                    u16::from_be_bytes(bytes_at(&head, at))
                }
            };
            let word = |at| {
                if little {
                    u32::from_le_bytes(bytes_at(&head, at))
                } else {
                    u32::from_be_bytes(bytes_at(&head, at))
                }
            };
            let long = |at| {
                if little {
                    u64::from_le_bytes(bytes_at(&head, at))
                } else {
                    u64::from_be_bytes(bytes_at(&head, at))
                }
            };
            let wide = match word(0) ^ MAGIC {
                7 => false,
                8 => true,
                _ => return Err(self.not_an_event(word(0))),
            };
            // Version 8 has its action behind the process, and 16 bytes more.
            let (action, pid, device, cpu) = if wide {
                (long(32), word(28), word(40), word(44))
            } else {
                (word(28).into(), word(32), word(36), word(40))
            };
            let payload = if wide {
                let mut rest = [0; 16];
                self.reader.read_exact(&mut rest).map_err(|error| self.unfinished(error))?;
                let length = bytes_at(&rest, 2);
                if little { u16::from_le_bytes(length) } else { u16::from_be_bytes(length) }
            } else {
                short(46)
            };
            let passed = io::copy(&mut self.reader.by_ref().take(payload.into()), &mut io::sink())?;
            if passed < payload.into() {
                return Err(self.unfinished(io::ErrorKind::UnexpectedEof.into()));
            }
            self.at += (HEAD_BYTES + if wide { 16 } else { 0 }) as u64 + passed;
            if action & (NOTIFY | DRIVER_DATA) == 0 {
                let [time_ns, sector] = [long(8), long(16)];
                let (sequence, bytes, file) = (word(4), word(24), self.file);
                return Ok(Some(Event { time_ns, device, sequence, file, sector, bytes, action, pid, cpu }));
            }
        }
    }

    #[cold]
    fn unfinished(&self, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::UnexpectedEof
            || error.get_ref().is_some_and(|inner| inner.is::<TraceError>())
        {
            return error;
        }
        let what = format!(
            "the file ends within an event, which begins at byte {}: it was not written completely",
            self.at
        );
        let cure = format!("read what comes before it: truncate -s {} on a copy of the file", self.at);
        io::Error::other(TraceError::new(ErrorCause::Malformed, &self.name, what, cure))
    }

    #[cold]
    fn not_an_event(&self, magic: u32) -> io::Error {
        let (what, cure) = if magic & !0xff == MAGIC {
            let what = format!("this is raw blktrace of version {}, 7 or 8 was expected", magic & 0xff);
            (what, format!("write its events as text: blkparse -i {} -o FILE.txt", self.name))
        } else {
            let what = format!("no event begins at byte {}: the file is damaged", self.at);
            (what, format!("read what comes before it: truncate -s {} on a copy of the file", self.at))
        };
        io::Error::other(TraceError::new(ErrorCause::Malformed, &self.name, what, cure))
    }
}

pub(super) fn open(reader: Reader, origin: &Origin) -> io::Result<Reader> {
    let mut files = vec![Events { reader, name: origin.name.clone(), at: 0, file: 0 }];
    for path in origin.path.iter().flat_map(|path| siblings(path)) {
        let beside = opened(&path, origin)?;
        let name = path.display().to_string();
        if let Some(reader) = unpack_to(NAME, beside, origin).map_err(io::Error::other)? {
            files.push(Events { reader, name, at: 0, file: files.len() });
        }
    }
    if files.len() > 1 {
        let note =
            format!("{} files of one recording were merged by time, one file a processor", files.len());
        origin.notes.borrow_mut().push(note);
    }
    let mut next = BinaryHeap::new();
    for file in &mut files {
        next.extend(file.next()?.map(Reverse));
    }
    Ok(made(move |text| {
        let Some(Reverse(event)) = next.pop() else { return Ok(()) };
        write_line(text, &event)?;
        next.extend(files[event.file].next()?.map(Reverse));
        Ok(())
    }))
}

pub(super) fn has_siblings(path: &Path) -> bool {
    !siblings(path).is_empty()
}

/// The files of the other processors beside `NAME.blktrace.N`; they may be compressed alike.
fn siblings(path: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| -> Option<(String, u32, String)> {
        let name = path.file_name()?.to_str()?;
        let (stem, rest) = name.rsplit_once(".blktrace.")?;
        let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
        Some((stem.to_owned(), rest[..digits].parse().ok()?, rest[digits..].to_owned()))
    };
    let Some((stem, number, ending)) = parts(path) else { return Vec::new() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let alike = entries.filter_map(|entry| Some((parts(&entry.path())?, entry.path())));
    let others = alike.filter(|((other_stem, other, other_ending), _)| {
        (other_stem, other_ending) == (&stem, &ending) && *other != number
    });
    let mut found: Vec<_> = others.map(|((_, number, _), path)| (number, path)).collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// The line of blkparse. An event without sectors, or of a passthrough command, says only what it is.
fn write_line(text: &mut Vec<u8>, event: &Event) -> io::Result<()> {
    let Event { time_ns, device, sequence, sector, bytes, action, pid, cpu, .. } = *event;
    let place = (action & 0xff).checked_sub(1).and_then(|place| ACTIONS.get(place as usize));
    let letter = char::from(place.copied().unwrap_or(b'm'));
    let has = |category: u64| action & category != 0;
    let operation = match () {
        () if has(DISCARD) => "D",
        () if has(ZONE_MANAGEMENT) => "N",
        () if has(WRITE | ZONE_APPEND | WRITE_ZEROES) => "W",
        () if bytes > 0 => "R",
        () => "N",
    };
    let flush = if has(FLUSH) { "F" } else { "" };
    let durable = if has(DURABLE) { "F" } else { "" };
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
