//! The log: batches of records, each durable before the next is written.
//!
//! Each batch is written twice, because with a single copy a lost sector would look like a torn end.
//!
//! A batch begins at a multiple of 4096 bytes: magic `FTWBATCH` (8 bytes), epoch (u64), sequence of the batch (u64),
//! sequence of the first program in it (u64), bytes of records (u32), number of records (u32), number of the drive
//! (16), checksum of all this and the records (u64); then the records ([`super::record`]). The epoch is that of the
//! checkpoint before it, whose half of the log it is in; sequences go on from batch to batch and from half to half.

use std::io;

use super::bytes::{Taker, checksum};
use super::error::DriveError;
use super::layout::{ALIGN, Layout};
use super::medium::Medium;
use super::record::Record;

const MAGIC: [u8; 8] = *b"FTWBATCH";
const HEADER_BYTES: usize = 64;

pub(crate) struct Log {
    pub(crate) uuid: [u8; 16],
    pub(crate) epoch: u64,
    pub(crate) sequence: u64,
    /// Where in its half the next batch begins.
    pub(crate) position: u64,
    pub(crate) programs: u64,
    pending: Vec<u8>,
    records: u32,
    first_program: u64,
}

pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offsets: [u64; 2],
}

impl Log {
    pub(crate) fn new(uuid: [u8; 16], end: LogEnd) -> Self {
        let LogEnd { epoch, sequence, position, programs } = end;
        let pending = vec![0; HEADER_BYTES];
        Self { uuid, epoch, sequence, position, programs, pending, records: 0, first_program: programs }
    }

    pub(crate) fn push(&mut self, record: &Record) {
        record.append(&mut self.pending);
        self.records += 1;
    }

    pub(crate) fn next_program(&mut self) -> u64 {
        self.programs += 1;
        self.programs
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    pub(crate) fn pending_bytes(&self) -> u64 {
        self.pending.len() as u64
    }

    /// `None` if there is no room for it.
    pub(crate) fn seal(&mut self, layout: &Layout) -> Option<Batch> {
        let length = (self.pending.len() as u64).div_ceil(ALIGN) * ALIGN;
        if self.position + length > layout.log_bytes {
            return None;
        }
        let mut bytes = std::mem::replace(&mut self.pending, vec![0; HEADER_BYTES]);
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend(MAGIC);
        for word in [self.epoch, self.sequence, self.first_program] {
            header.extend(word.to_le_bytes());
        }
        header.extend(((bytes.len() - HEADER_BYTES) as u32).to_le_bytes());
        header.extend(self.records.to_le_bytes());
        header.extend(self.uuid);
        let sum = checksum(&self.uuid, &[&header, &bytes[HEADER_BYTES..]]);
        header.extend(sum.to_le_bytes());
        bytes[..HEADER_BYTES].copy_from_slice(&header);
        bytes.resize(length as usize, 0);
        let offsets = layout.log(self.epoch).map(|half| half + self.position);
        self.position += length;
        self.sequence += 1;
        self.records = 0;
        self.first_program = self.programs;
        Some(Batch { bytes, offsets })
    }

    /// A checkpoint of another epoch holds everything, so the log begins anew.
    pub(crate) fn restart(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.position = 0;
        self.pending.truncate(HEADER_BYTES);
        self.records = 0;
        self.first_program = self.programs;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub(crate) epoch: u64,
    pub(crate) sequence: u64,
    pub(crate) position: u64,
    pub(crate) programs: u64,
}

struct Header {
    epoch: u64,
    sequence: u64,
    first_program: u64,
    records_bytes: u32,
    records: u32,
    sum: u64,
}

impl Header {
    fn parse(uuid: &[u8; 16], bytes: &[u8]) -> Option<Self> {
        let mut taker = Taker(bytes);
        if taker.array()? != MAGIC {
            return None;
        }
        let (epoch, sequence, first_program) = (taker.u64()?, taker.u64()?, taker.u64()?);
        let (records_bytes, records) = (taker.u32()?, taker.u32()?);
        let ours = taker.array::<16>()? == *uuid;
        let sum = taker.u64()?;
        ours.then_some(Self { epoch, sequence, first_program, records_bytes, records, sum })
    }
}

struct WholeBatch {
    header: Header,
    bytes: Vec<u8>,
}

impl WholeBatch {
    fn records(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..HEADER_BYTES + self.header.records_bytes as usize]
    }
}

fn read(medium: &dyn Medium, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    medium.read_at(&mut bytes, offset).map(|()| bytes)
}

enum Copy {
    Whole(WholeBatch),
    /// It begins as the next batch would.
    Torn,
    Unreadable(io::Error),
    Other,
}

fn copy_at(medium: &dyn Medium, uuid: &[u8; 16], layout: &Layout, half: u64, end: &LogEnd) -> Copy {
    let first = match read(medium, half + end.position, ALIGN as usize) {
        Ok(first) => first,
        Err(error) => return Copy::Unreadable(error),
    };
    let Some(header) = Header::parse(uuid, &first) else { return Copy::Other };
    if header.epoch != end.epoch || header.sequence != end.sequence {
        return Copy::Other;
    }
    let length = (HEADER_BYTES as u64 + u64::from(header.records_bytes)).div_ceil(ALIGN) * ALIGN;
    if header.first_program != end.programs || end.position + length > layout.log_bytes {
        return Copy::Torn;
    }
    let bytes = match read(medium, half + end.position, length as usize) {
        Ok(bytes) => bytes,
        Err(error) => return Copy::Unreadable(error),
    };
    let found = WholeBatch { header, bytes };
    let sum = checksum(uuid, &[&found.bytes[..HEADER_BYTES - 8], found.records()]);
    if found.header.sum == sum { Copy::Whole(found) } else { Copy::Torn }
}

/// Reads an epoch's batches from `end`; returns where they end. Notes a damaged copy and a torn end. Fails if no copy
/// can be read, if `take` does, or if a whole batch follows a broken one: each is durable before the next.
pub(crate) fn replay(
    medium: &dyn Medium,
    uuid: &[u8; 16],
    layout: &Layout,
    mut end: LogEnd,
    notes: &mut Vec<String>,
    take: &mut dyn FnMut(&Record, u64) -> Result<(), String>,
) -> Result<LogEnd, DriveError> {
    let place = |position| format!("log of epoch {}, byte {position}", end.epoch);
    let halves = layout.log(end.epoch);
    while end.position + ALIGN <= layout.log_bytes {
        let [first, second] = halves.map(|half| copy_at(medium, uuid, layout, half, &end));
        let (found, is_alone) = match (first, second) {
            (Copy::Whole(found), other) | (other, Copy::Whole(found)) => {
                (found, !matches!(other, Copy::Whole(_)))
            }
            (Copy::Unreadable(error), _) | (_, Copy::Unreadable(error)) => {
                return Err(DriveError::medium(&place(end.position))(error));
            }
            (Copy::Other, Copy::Other) => break,
            (Copy::Torn, _) | (_, Copy::Torn) => {
                notes.push(format!(
                    "{}: no copy of the last batch is whole, as a cut in the middle of a flush leaves it",
                    place(end.position)
                ));
                break;
            }
        };
        if is_alone {
            notes.push(format!(
                "{}: one of the two copies is not whole; the other was read",
                place(end.position)
            ));
        }
        let mut taker = Taker(found.records());
        for _ in 0..found.header.records {
            let broken = |text: String| DriveError::image(place(end.position), text);
            let record = Record::take(&mut taker);
            let record = record.ok_or_else(|| broken("a record that is not known".into()))?;
            let programs =
                matches!(record, Record::Program { .. } | Record::Moved { .. } | Record::Copied { .. });
            end.programs += u64::from(programs);
            take(&record, end.programs).map_err(broken)?;
        }
        end.position += found.bytes.len() as u64;
        end.sequence += 1;
    }
    nothing_behind(medium, uuid, layout, &end)?;
    Ok(end)
}

const LOOK_BYTES: u64 = 256 << 10;

/// Fails if a later batch is whole. Of each only the first copy is checked, and an unreadable one does not count.
fn nothing_behind(
    medium: &dyn Medium,
    uuid: &[u8; 16],
    layout: &Layout,
    end: &LogEnd,
) -> Result<(), DriveError> {
    let [half, _] = layout.log(end.epoch);
    let last = half + layout.log_bytes;
    let mut at = half + end.position;
    loop {
        // Most of a log that was never full was never written.
        at = at.max(medium.next_data(at) / ALIGN * ALIGN);
        if at >= last {
            return Ok(());
        }
        let length = LOOK_BYTES.min(last - at);
        let bytes = read(medium, at, length as usize).unwrap_or_default();
        let is_later = |first: &[u8]| {
            let header = Header::parse(uuid, first);
            header.is_some_and(|header| header.epoch == end.epoch && header.sequence > end.sequence)
        };
        if bytes.chunks(ALIGN as usize).any(is_later) {
            let place = format!("log of epoch {}, byte {}", end.epoch, end.position);
            let text =
                "damaged: what follows it is there, so that this is no torn end; put back a copy of the file";
            return Err(DriveError::image(place, text));
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_the_room_that_those_before_left() {
        let geometry = flashtwin_nand::Geometry::new([1, 1, 1, 1, 4, 4, 512]).unwrap();
        let layout = Layout::new(&geometry, 8, false, 64 << 10);
        let end = LogEnd { epoch: 0, sequence: 0, position: layout.log_bytes - ALIGN, programs: 0 };
        let mut log = Log::new([0; 16], end);
        log.push(&Record::Trim { lpn: 0 });
        assert!(log.seal(&layout).is_some());
        log.push(&Record::Trim { lpn: 1 });
        assert!(log.seal(&layout).is_none(), "written behind its half of the log");
    }
}
