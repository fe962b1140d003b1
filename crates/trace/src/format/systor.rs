//! SYSTOR '17 virtual desktops: `Timestamp,Response,IOType,LUN,Offset,Size`: decimal seconds since 1970, bytes. The
//! type is R or W, or blank where the recorder saw no response: such lines are skipped and counted. Each LUN is a
//! volume.
//!
//! Source: the README of the SNIA IOTTA repository's traces; C. Lee et al., "Understanding storage traffic
//! characteristics on enterprise virtual desktop infrastructure", SYSTOR '17.

use super::Row;
use crate::operations::Operation;
use crate::text::{Bad, Collector, Field, Fields, LineParser, Parsed};
use crate::units::Units;

pub(crate) const ROW: Row =
    Row::text::<Systor>("systor", &["systor17"], "time_s,response_s,R|W,lun,offset_bytes,size_bytes");

const TIME: Field = Field { name: "timestamp", expected: "a decimal number of seconds" };
const RESPONSE: Field = Field { name: "response", expected: "a decimal number of seconds" };
const LUN: Field = Field { name: "LUN", expected: "a whole number" };

#[derive(Default)]
struct Systor;

impl LineParser for Systor {
    const UNITS: Units = Units::new(1_000_000_000, 1, 1);
    const COMMAS: bool = true;
    const HEADER: &'static str = "time,other,op,volume,offset,length";

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<true>::new(line);
        let time_at = fields.at;
        let time = fields.decimal_time(TIME, units.time_ns)?;
        if !fields.nothing() {
            fields.decimal_time(RESPONSE, units.time_ns)?;
        }
        let operation = match fields.nothing() {
            true => Operation::default(),
            false => fields.operation("type", &sink.vocabulary)?,
        };
        let lun = fields.small(LUN)?;
        let offset_bytes = fields.offset(Field::OFFSET, units.offset_bytes)?;
        let length_bytes = fields.length(Field::SIZE, units.length_bytes, operation.op)?;
        fields.end()?;
        let time_ns = sink.time(time, 1, time_at)?;
        let volume = sink.volume(u64::from(lun), |lun| lun.to_string());
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}
