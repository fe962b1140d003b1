//! Tencent cloud block storage: `Timestamp,Offset,Size,IOType,VolumeID`: whole seconds since 1970, slightly out of
//! order; 512-byte sectors; 0 for a read, 1 for a write. Each virtual volume is a volume.
//!
//! Source: the SNIA IOTTA repository's description of its traces 27917; Y. Zhang et al., "OSCA: An Online-Model Based
//! Cache Allocation Scheme in Cloud Block Storage Systems", ATC '20.

use super::Row;
use crate::operations::{READ, WRITE};
use crate::text::{Bad, Collector, Field, Fields, LineParser, Parsed, SECTOR_BYTES};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<Tencent>(
    "tencent",
    &["tencent-cbs", "cbs"],
    "time_s,offset_512,size_512,type,volume, type 1 = write",
);

const TIME: Field = Field { name: "timestamp", expected: "a whole number of seconds" };
const OFFSET: Field = Field { name: "offset", expected: "a number of 512-byte sectors" };
const TYPE: Field = Field { name: "type", expected: "0 (read) or 1 (write)" };
const VOLUME: Field = Field { name: "volume id", expected: "a whole number" };

#[derive(Default)]
struct Tencent;

impl LineParser for Tencent {
    const UNITS: Units = Units::new(1_000_000_000, SECTOR_BYTES, SECTOR_BYTES);
    const COMMAS: bool = true;
    const VOLUMES_PERCENT: usize = 90;
    const HEADER: &'static str = "time,offset,length,op,volume";

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<true>::new(line);
        let time_at = fields.at;
        let time = fields.ticks(TIME)?;
        let offset_bytes = fields.offset(OFFSET, units.offset_bytes)?;
        let length_bytes = fields.length(Field::SECTORS, units.length_bytes, None)?;
        let operation = fields.meaning(TYPE, |word| match word {
            b"0" => Some(READ),
            b"1" => Some(WRITE),
            _ => None,
        })?;
        let volume = fields.small(VOLUME)?;
        fields.end()?;
        let time_ns = sink.time(time, units.time_ns, time_at)?;
        let volume = sink.volume(u64::from(volume), |volume| volume.to_string());
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}
