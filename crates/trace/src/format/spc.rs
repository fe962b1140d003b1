//! UMass / SPC: `asu,lba_512,size_bytes,R|W,time_s[,...]`. Each application storage unit (ASU) is a volume. Times are
//! decimal seconds. Further columns, which the format allows, are skipped.
//!
//! Source: Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1, 2002.

use super::Row;
use crate::text::{Bad, Collector, Field, Fields, LineParser, Parsed, SECTOR_BYTES};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<Spc>("spc", &["umass"], "asu,lba_512,size_bytes,R|W,time_s");

const ASU: Field = Field { name: "ASU", expected: "a whole number" };
const TIME: Field = Field { name: "time", expected: "a decimal number of seconds" };

#[derive(Default)]
struct Spc;

impl LineParser for Spc {
    const UNITS: Units = Units::new(1_000_000_000, SECTOR_BYTES, 1);
    const COMMAS: bool = true;
    const HEADER: &'static str = "volume,offset,length,op,time";

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<true>::new(line);
        let asu = fields.small(ASU)?;
        let offset_bytes = fields.offset(Field::ADDRESS, units.offset_bytes)?;
        let length_bytes = fields.length(Field::SIZE, units.length_bytes, None)?;
        let operation = fields.operation("opcode", &sink.vocabulary)?;
        let time_at = fields.at;
        let time = fields.decimal_time(TIME, units.time_ns)?;
        let time_ns = sink.time(time, 1, time_at)?;
        let volume = sink.volume(u64::from(asu), |asu| asu.to_string());
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}
