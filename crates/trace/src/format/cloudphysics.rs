//! CloudPhysics virtual machines: `version,time,op,size,lbn`.
//!
//! vSCSI records as text: version (1 or 2), seconds, the SCSI operation code in hex, bytes, and 512-byte sectors. Reads
//! and writes of 6 to 16 bytes are requests. SYNCHRONIZE CACHE (35, 91) is a flush of the whole disk, even if it names
//! a range. Other commands (such as UNMAP, whose addresses are not recorded) are skipped and counted. A file is one
//! disk.
//!
//! Source: libCacheSim, data/cloudPhysicsIO.csv and its guide on the units of a trace; C. Waldspurger et al.,
//! "Efficient MRC Construction with SHARDS", FAST '15; operation codes: SCSI Block Commands (SBC-4).

use super::Row;
use crate::operations::{FLUSH, Operation, READ, WRITE};
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed, SECTOR_BYTES};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<CloudPhysics>(
    "cloudphysics",
    &["vscsi"],
    "version,time_s,op,size_bytes,lbn_512, op 28 = read, 2a = write, 35 = flush",
);

const VERSION: Field = Field { name: "version", expected: "1 or 2" };
const TIME: Field = Field { name: "time", expected: "a number of seconds" };
const OP: Field = Field { name: "op", expected: "a SCSI operation code in hex, such as 28 or 2a" };
const SIZE: Field = Field { name: "size", expected: "a number of bytes, a multiple of 512" };
const LBN: Field = Field { name: "lbn", expected: "a number of 512-byte sectors" };

#[derive(Default)]
struct CloudPhysics;

impl LineParser for CloudPhysics {
    const UNITS: Units = Units::new(1_000_000_000, SECTOR_BYTES, 1);
    const COMMAS: bool = true;
    const HEADER: &'static str = "other,time,op,length,offset";

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<true>::new(line);
        fields.meaning(VERSION, |word| matches!(word, b"1" | b"2").then_some(()))?;
        let time_at = fields.at;
        let time = fields.decimal_time(TIME, units.time_ns)?;
        let operation = fields.meaning(OP, command)?;
        let size_at = fields.at;
        let length_bytes = fields.length(SIZE, units.length_bytes, None)?;
        let offset_bytes = fields.offset(LBN, units.offset_bytes)?;
        fields.end()?;
        if operation.op.is_some() && !length_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(Bad::new(size_at, Complaint::NotA(SIZE)));
        }
        let time_ns = sink.time(time, 1, time_at)?;
        let volume = sink.volume(0, |volume| volume.to_string());
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}

/// The operation of a SCSI command, without a request unless it moves data of known addresses or flushes.
#[inline]
fn command(code: &[u8]) -> Option<Operation> {
    match code {
        b"28" | b"88" | b"8" | b"08" | b"a8" => Some(READ),
        b"2a" | b"8a" | b"a" | b"0a" | b"aa" => Some(WRITE),
        b"35" | b"91" => Some(FLUSH),
        _ if code.len() <= 2 && code.iter().all(u8::is_ascii_hexdigit) => Some(Operation::default()),
        _ => None,
    }
}
