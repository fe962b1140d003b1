//! The log: batches of records, each durable before the next is written.
//!
//! A batch begins at a multiple of 4096 bytes: magic `FTWBATCH` (8 bytes), epoch (u64), sequence of the batch (u64),
//! sequence of the first program in it (u64), bytes of records (u32), number of records (u32), number of the drive (16),
//! checksum of all this and the records (u64); then the records ([`super::record`]). The epoch is that of the checkpoint
//! before it, whose half of the log it is in; sequences go on from batch to batch and from half to half.

use super::bytes::{Taker, checksum};
use super::error::DriveError;
use super::layout::{ALIGN, Layout};
use super::medium::Medium;
use super::record::Record;

const MAGIC: [u8; 8] = *b"FTWBATCH";
const HEADER_BYTES: usize = 64;

/// The end of a log, and what is not in it yet.
pub(crate) struct Log {
    pub(crate) uuid: [u8; 16],
    pub(crate) epoch: u64,
    /// Of the next batch.
    pub(crate) sequence: u64,
    /// Where in its half the next batch begins.
    pub(crate) position: u64,
    /// Of the next page that is programmed.
    pub(crate) programs: u64,
    /// Header and records of the next batch.
    pending: Vec<u8>,
    records: u32,
    first_program: u64,
}

/// A batch made ready: to be written there.
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: u64,
}

impl Log {
    pub(crate) fn new(uuid: [u8; 16], end: LogEnd) -> Self {
        let LogEnd { epoch, sequence, position, programs } = end;
        let pending = vec![0; HEADER_BYTES];
        Self { uuid, epoch, sequence, position, programs, pending, records: 0, first_program: programs }
    }

    /// Adds a record to the next batch.
    pub(crate) fn push(&mut self, record: &Record) {
        record.append(&mut self.pending);
        self.records += 1;
    }

    /// A page was programmed; its sequence.
    pub(crate) fn next_program(&mut self) -> u64 {
        self.programs += 1;
        self.programs
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Bytes of the next batch as it is now.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.pending.len() as u64
    }

    /// The next batch, if there is room for it; the log then goes on behind it.
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
        let offset = layout.log(self.epoch) + self.position;
        self.position += length;
        self.sequence += 1;
        self.records = 0;
        self.first_program = self.programs;
        Some(Batch { bytes, offset })
    }

    /// A checkpoint of another epoch holds everything: the log begins anew behind it.
    pub(crate) fn restart(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.position = 0;
        self.pending.truncate(HEADER_BYTES);
        self.records = 0;
        self.first_program = self.programs;
    }
}

/// Where a log ends that was read.
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

/// Reads the half of an epoch, batch by batch, as long as they follow on `end`; returns where they end.
///
/// # Errors
/// What the medium reports; what `take` says of a record; a batch that is whole behind one that is not: that is no torn
/// end, as each is durable before the next is written.
pub(crate) fn replay(
    medium: &dyn Medium,
    uuid: &[u8; 16],
    layout: &Layout,
    mut end: LogEnd,
    take: &mut dyn FnMut(&Record, u64) -> Result<(), String>,
) -> Result<LogEnd, DriveError> {
    let place = |position| format!("log of epoch {}, byte {position}", end.epoch);
    let failed = |error| DriveError::medium("log")(error);
    let half = layout.log(end.epoch);
    let mut bytes = Vec::new();
    while end.position + ALIGN <= layout.log_bytes {
        bytes.resize(ALIGN as usize, 0);
        medium.read_at(&mut bytes, half + end.position).map_err(failed)?;
        let Some(header) = Header::parse(uuid, &bytes) else { break };
        let length = (HEADER_BYTES as u64 + u64::from(header.records_bytes)).div_ceil(ALIGN) * ALIGN;
        let follows = header.epoch == end.epoch && header.sequence == end.sequence;
        if !follows || header.first_program != end.programs || end.position + length > layout.log_bytes {
            break;
        }
        bytes.resize(length as usize, 0);
        medium.read_at(&mut bytes, half + end.position).map_err(failed)?;
        let records = &bytes[HEADER_BYTES..HEADER_BYTES + header.records_bytes as usize];
        if header.sum != checksum(uuid, &[&bytes[..HEADER_BYTES - 8], records]) {
            break;
        }
        let mut taker = Taker(records);
        for _ in 0..header.records {
            let broken = |text: String| DriveError::image(place(end.position), text);
            let record = Record::take(&mut taker);
            let record = record.ok_or_else(|| broken("a record that is not known".into()))?;
            let programs =
                matches!(record, Record::Program { .. } | Record::Moved { .. } | Record::Copied { .. });
            end.programs += u64::from(programs);
            take(&record, end.programs).map_err(broken)?;
        }
        end.position += length;
        end.sequence += 1;
    }
    nothing_behind(medium, uuid, layout, &end)?;
    Ok(end)
}

/// Behind the end of the log no batch is whole that was written later.
fn nothing_behind(
    medium: &dyn Medium,
    uuid: &[u8; 16],
    layout: &Layout,
    end: &LogEnd,
) -> Result<(), DriveError> {
    let half = layout.log(end.epoch);
    let mut bytes = vec![0; HEADER_BYTES];
    let mut position = end.position;
    while position + ALIGN <= layout.log_bytes {
        medium.read_at(&mut bytes, half + position).map_err(DriveError::medium("log"))?;
        let later = Header::parse(uuid, &bytes)
            .is_some_and(|header| header.epoch == end.epoch && header.sequence > end.sequence);
        if later {
            let place = format!("log of epoch {}, byte {}", end.epoch, end.position);
            let text =
                "damaged: what follows it is there, so that this is no torn end; put back a copy of the file";
            return Err(DriveError::image(place, text));
        }
        position += ALIGN;
    }
    Ok(())
}
