//! oracleGeneral of libCacheSim: records of seconds, object, bytes and next use (binary), which become the lines
//! `oraclegeneral time object bytes`. They have no operations, and an object is a number. Only where pages were numbered,
//! as `flashtwin trace export` does, its number says where it lies, so that the format has to be asked for.
//!
//! Source: libCacheSim, libCacheSim/traceReader/customizedReader/oracle/oracleGeneralBin.h.

use super::Row;
use crate::containers::ORACLE_GENERAL;
use crate::operations::READ;
use crate::request::CHUNK_BYTES;
use crate::text::{Bad, Collector, Field, Fields, LineParser, Parsed};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<OracleGeneral>(
    ORACLE_GENERAL,
    &[],
    "binary: time_s (32 bits), object (64), size_bytes (32), next use (64)",
);

const MARK: Field = Field { name: "record", expected: "one of oracleGeneral" };
const TIME: Field = Field { name: "time", expected: "a whole number of seconds" };
const OBJECT: Field = Field { name: "object", expected: "the number of a page" };

#[derive(Default)]
struct OracleGeneral;

impl LineParser for OracleGeneral {
    const UNITS: Units = Units::new(1_000_000_000, CHUNK_BYTES as u64, 1);
    const DISTINCT: bool = true;

    fn notes(&self) -> Vec<String> {
        vec!["objects are taken for numbers of pages, and accesses for reads: the format has neither addresses nor \
              operations".to_owned()]
    }

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<false>::new(line);
        fields.meaning(MARK, |word| (word == ORACLE_GENERAL.as_bytes()).then_some(()))?;
        let time_at = fields.at;
        let time = fields.ticks(TIME)?;
        let offset_bytes = fields.offset(OBJECT, units.offset_bytes)?;
        let length_bytes = fields.length(Field::SIZE, units.length_bytes, None)?;
        let time_ns = sink.time(time, units.time_ns, time_at)?;
        let volume = sink.volume(0, |volume| volume.to_string());
        sink.push(&Parsed { operation: READ, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}
