//! oracleGeneral of libCacheSim: `time_s object size_bytes`, behind a line that says so. The binary form is read as these
//! lines (`containers/objects.rs`).
//!
//! It has no operations: all requests are reads. It has objects instead of addresses: ids are taken as 512-byte sectors,
//! which they are in traces of block devices. Hashes of names are no addresses, and are refused.
//!
//! Source: libCacheSim, libCacheSim/traceReader/customizedReader/oracle/oracleGeneralBin.h.

use super::Row;
use crate::request::Op;
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed, SECTOR_BYTES};

pub(crate) const ROW: Row = Row::text::<OracleGeneral>(
    "oraclegeneral",
    &["oracle-general"],
    "binary, or a first line 'oracleGeneral: ...', then time_s object size_bytes",
);

const NS_PER_SECOND: i64 = 1_000_000_000;

const BEGINNING: Field = Field { name: "first line", expected: "'oracleGeneral: time_s object size_bytes'" };
const TIME: Field = Field { name: "time", expected: "a whole number of seconds" };
const OBJECT: Field = Field { name: "object", expected: "a number of 512-byte sectors" };

#[derive(Default)]
struct OracleGeneral {
    begun: bool,
}

impl LineParser for OracleGeneral {
    fn notes(&self) -> Vec<String> {
        let note = "oracleGeneral has no operations and no addresses: all requests are reads, and object ids are sectors \
                    of 512 bytes";
        vec![note.to_owned()]
    }

    fn line(&mut self, line: &[u8], sink: &mut Collector) -> Result<(), Bad> {
        if !self.begun {
            self.begun = line.starts_with(b"oracleGeneral:");
            return if self.begun { Ok(()) } else { Err(Bad::new(0, Complaint::NotA(BEGINNING))) };
        }
        let mut fields = Fields::<false>::new(line);
        let time_at = fields.at;
        let time = fields.ticks(TIME)?;
        let offset_bytes = fields.offset(OBJECT, SECTOR_BYTES)?;
        let length_bytes = fields.length(Field::SIZE, 1)?;
        fields.end()?;
        let time_ns = sink.time(time, NS_PER_SECOND, time_at)?;
        let volume = sink.volume(0, |volume| volume.to_string());
        sink.push(&Parsed { time_ns, time_at, volume, op: Op::Read, offset_bytes, length_bytes })
    }
}
