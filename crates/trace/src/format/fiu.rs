//! FIU IODedup and SRCMap: `ts_ns pid process lba_512 sectors W|R major minor digest`.
//!
//! A line is a request or 4 KB of one: lines of equal time, process, direction and volume with consecutive addresses
//! are joined. The digest is an MD5 for each 4 KB (32 hex digits) or, in the homes traces, one for each sector (256
//! digits); those of a longer request are concatenated. A process name may contain blanks.
//!
//! Source: R. Koller, R. Rangaswami, "I/O Deduplication", FAST '10, and the SNIA IOTTA repository's description of its
//! traces.

use super::Row;
use crate::operations::Operation;
use crate::request::CHUNK_BYTES;
use crate::text::{Bad, Collector, DigestReader, Field, Fields, LineParser, Parsed, SECTOR_BYTES};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<Fiu>(
    "fiu",
    &["iodedup", "srcmap"],
    "time_ns pid process lba_512 sectors W|R major minor digest",
);

const TIME: Field = Field { name: "time", expected: "a whole number of nanoseconds" };
const PROCESS: Field = Field { name: "process name", expected: "a word" };
const MAJOR: Field = Field { name: "major device number", expected: "a whole number" };
const MINOR: Field = Field { name: "minor device number", expected: "a whole number" };

#[derive(PartialEq, Eq)]
struct Continued {
    time: u64,
    pid: u64,
    operation: Operation,
    volume: u32,
    address: u64,
}

#[derive(Default)]
struct Fiu {
    last: Option<Continued>,
    digests: DigestReader,
}

impl LineParser for Fiu {
    const UNITS: Units = Units::new(1, SECTOR_BYTES, SECTOR_BYTES);
    const DISTINCT: bool = true;

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<false>::new(line);
        let time_at = fields.at;
        let time = fields.ticks(TIME)?;
        let pid = fields.number(Field::PID, u64::MAX, "beyond 2^64")?;
        fields.word(PROCESS)?;
        if !matches!(fields.peek(), Some(b'0'..=b'9')) {
            pass_name_with_blanks(&mut fields);
        }
        let address = fields.offset(Field::ADDRESS, units.offset_bytes)?;
        let length = fields.length(Field::SECTORS, units.length_bytes, None)? as u32;
        let operation = fields.operation("direction", &sink.vocabulary)?;
        let major = fields.small(MAJOR)?;
        let minor = fields.small(MINOR)?;
        let volume_key = u64::from(major) << 32 | u64::from(minor);
        let digests = self.digests.read(&mut fields, length)?;
        let volume = sink.volume(volume_key, |_| format!("{major}:{minor}"));
        let time_ns = sink.time(time, units.time_ns, time_at)?;
        let this = Continued { time, pid, operation, volume, address };
        self.digests.add(sink, digests, length);
        let continues = self.last.as_ref() == Some(&this);
        if !(continues && sink.lengthen_last(length)) {
            let (offset_bytes, length_bytes) = (address, length.into());
            let request = Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes };
            if let Err(bad) = sink.push(&request) {
                self.last = None;
                return Err(bad);
            }
        }
        // Contents lie on a grid from the start of the request, so only whole chunks can be continued.
        self.last = (length > 0 && length.is_multiple_of(CHUNK_BYTES))
            .then(|| Continued { address: address + u64::from(length), ..this });
        Ok(())
    }
}

const FIELDS_BEHIND_NAME: usize = 6;
const FIELDS: usize = 9;

/// Steps to the address of a line whose process name contains blanks, counting fields from the end.
#[cold]
fn pass_name_with_blanks(fields: &mut Fields<'_, false>) {
    let mut starts = Vec::new();
    let mut inside = false;
    for (at, byte) in fields.line.iter().enumerate() {
        let blank = matches!(byte, b' ' | b'\t');
        if !blank && !inside {
            starts.push(at);
        }
        inside = !blank;
    }
    if starts.len() > FIELDS {
        fields.at = starts[starts.len() - FIELDS_BEHIND_NAME];
    }
}
