//! MQSim and SSDSim ASCII: `time_ns device lba_512 sectors 0|1 [digest]`, 1 = read, 0 = write. Among formats of five
//! columns it is recognised by its times: whole nanoseconds, where DiskSim has milliseconds with a decimal point. Each
//! device is a volume. A sixth column, in converted FIU traces, holds digests as `fiu` lines do.

use super::Row;
use crate::operations::{READ, WRITE};
use crate::text::{Bad, Collector, DigestReader, Field, Fields, LineParser, Parsed, SECTOR_BYTES};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<MqSim>(
    "mqsim",
    &["ssdsim"],
    "time_ns device lba_512 sectors op [digest], op 1 = read, 0 = write",
);

const TIME: Field = Field { name: "time", expected: "a whole number of nanoseconds" };
const OPERATION: Field = Field { name: "operation", expected: "1 (read) or 0 (write)" };

#[derive(Default)]
struct MqSim {
    digests: DigestReader,
}

impl LineParser for MqSim {
    const UNITS: Units = Units::new(1, SECTOR_BYTES, SECTOR_BYTES);

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<false>::new(line);
        let time_at = fields.at;
        let time = fields.ticks(TIME)?;
        let device = fields.small(Field::DEVICE)?;
        let offset_bytes = fields.offset(Field::ADDRESS, units.offset_bytes)?;
        let length_bytes = fields.length(Field::SECTORS, units.length_bytes, None)?;
        let operation = fields.meaning(OPERATION, |word| match word {
            b"0" => Some(WRITE),
            b"1" => Some(READ),
            _ => None,
        })?;
        let digests =
            if fields.ended() { &[] } else { self.digests.read(&mut fields, length_bytes as u32)? };
        let time_ns = sink.time(time, units.time_ns, time_at)?;
        let volume = sink.volume(u64::from(device), |device| device.to_string());
        if !digests.is_empty() {
            self.digests.add(sink, digests, length_bytes as u32);
        }
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}
