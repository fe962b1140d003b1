//! Logs of dm-log-writes, of the kernel's device mapper or of QEMU's `blklogwrites` driver, as recordings.
//!
//! A log has writes with their data, in order of completion, and flushes and discards; no times, no reads. Layout
//! (drivers/md/dm-log-writes.c): a superblock, then a head and data for each entry, in whole sectors, little-endian.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flashtwin_trace::{Holes, Op, Progress, recorded};

use super::key::{Key, PAGE_BYTES};
use super::queue::Row;
use super::sink::{RecordFormat, Sink};

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;

const FLUSH: u64 = 1;
const FUA: u64 = 1 << 1;
const DISCARD: u64 = 1 << 2;
const MARK: u64 = 1 << 3;

/// Longer requests are cut.
const REQUEST_BYTES_MAX: u64 = 32 << 20;
const DISCARD_BYTES_MAX: u64 = 2 << 30;
/// No device is larger: a head of 512 bytes that promises more would be cut into requests for minutes.
const ENTRY_BYTES_MAX: u64 = 1 << 48;

/// Writes canonical Parquet with all times 0; returns the number of requests. No output after an error or a stop.
pub fn import_log_writes(path: &Path, out: &Path, key: &Key, progress: &dyn Progress) -> io::Result<u64> {
    let imported = import(path, out, key, progress);
    if imported.is_err() {
        let _ = std::fs::remove_file(out);
    }
    imported
}

fn import(path: &Path, out: &Path, key: &Key, progress: &dyn Progress) -> io::Result<u64> {
    let name = path.file_stem().map_or_else(|| "log".into(), |stem| stem.to_string_lossy());
    let named = |error: io::Error| {
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the log ends before its last entry".to_owned(),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("{}: {what}", path.display()))
    };
    let mut log = BufReader::with_capacity(1 << 20, File::open(path).map_err(named)?);
    let (entries, sector_bytes) = superblock(&mut log).map_err(named)?;
    let mut import = Import {
        sink: Sink::create(out, RecordFormat::Parquet, &name, key, &Holes::default())
            .map_err(io::Error::other)?,
        log,
        key,
        sector_bytes,
        sector: vec![0; sector_bytes as usize],
        data: Vec::new(),
    };
    for done in 0..entries {
        if done.is_multiple_of(256) {
            progress.update(done, entries);
            if progress.cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        import.entry().map_err(named)?;
    }
    let (requests, _) = import.sink.figures();
    import.sink.finish().map_err(io::Error::other)?;
    Ok(requests)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn malformed(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The number of entries, and the bytes of a sector. Reads the rest of the superblock's sector, too.
fn superblock(log: &mut impl Read) -> io::Result<(u64, u64)> {
    let mut head = [0; 32];
    log.read_exact(&mut head)?;
    if number(&head, 0) != MAGIC {
        return Err(malformed("this is no log of dm-log-writes".to_owned()));
    }
    if number(&head, 8) != VERSION {
        return Err(malformed(format!(
            "version {} of the log is not known, {VERSION} was expected",
            number(&head, 8)
        )));
    }
    let sector_bytes = number(&head, 24) & 0xffff_ffff;
    if !sector_bytes.is_power_of_two() || !(512..=65_536).contains(&sector_bytes) {
        return Err(malformed(format!("sectors of {sector_bytes} bytes make no sense")));
    }
    let mut rest = vec![0; sector_bytes as usize - head.len()];
    log.read_exact(&mut rest)?;
    Ok((number(&head, 16), sector_bytes))
}

struct Import<'a, R> {
    sink: Sink,
    log: R,
    key: &'a Key,
    sector_bytes: u64,
    sector: Vec<u8>,
    data: Vec<u8>,
}

impl<R: Read> Import<'_, R> {
    fn entry(&mut self) -> io::Result<()> {
        self.log.read_exact(&mut self.sector)?;
        let [sector, sectors, flags] = [0, 8, 16].map(|at| number(&self.sector, at));
        let offset = sector.checked_mul(self.sector_bytes);
        let length = sectors.checked_mul(self.sector_bytes).filter(|&length| length <= ENTRY_BYTES_MAX);
        let end = offset.zip(length).and_then(|(offset, length)| offset.checked_add(length));
        let (Some(offset), Some(length), Some(_)) = (offset, length, end.filter(|&end| end < 1 << 63)) else {
            return Err(malformed(format!(
                "an entry of {sectors} sectors at {sector} lies beyond any device"
            )));
        };
        if flags & FLUSH != 0 {
            self.push(Op::Flush, 0, 0, 0)?;
        }
        let durable = if flags & FUA != 0 { recorded::DURABLE } else { 0 };
        let (op, most) = match flags & DISCARD {
            0 => (Op::Write, REQUEST_BYTES_MAX),
            _ => (Op::Trim, DISCARD_BYTES_MAX),
        };
        let mut at = 0;
        while at < length {
            let bytes = most.min(length - at);
            self.data.clear();
            if op == Op::Write {
                // Grows as data come, not as they are promised.
                (&mut self.log).take(bytes).read_to_end(&mut self.data)?;
                if (self.data.len() as u64) < bytes {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            if flags & MARK == 0 {
                self.push(op, durable, offset + at, bytes)?;
            }
            at += bytes;
        }
        Ok(())
    }

    fn push(&mut self, op: Op, flags: u8, offset_bytes: u64, length: u64) -> io::Result<()> {
        let digests = match (op, length) {
            (Op::Write, 1..) => self.data.chunks(PAGE_BYTES).map(|page| self.key.digest(page)).collect(),
            _ => smallvec::SmallVec::new(),
        };
        let row = Row { time_ns: 0, op, flags, offset_bytes, length_bytes: length as u32, digests };
        self.sink.push(&row).map(drop).map_err(io::Error::other)
    }
}
