//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`: bytes, microseconds since 1970, R or W. Each
//! virtual disk is a volume.
//!
//! Source: Alibaba, block-traces (io_traces.csv, January 2020), README; J. Li et al., "An In-Depth Analysis of Cloud
//! Block Storage Workloads in Large-Scale Production", IISWC '20.

use super::Row;
use crate::text::{Bad, Collector, Field, Fields, LineParser, Parsed};
use crate::units::Units;

pub(crate) const ROW: Row =
    Row::text::<Alibaba>("alibaba", &["alibaba-block"], "device_id,R|W,offset_bytes,length_bytes,time_us");

const DEVICE: Field = Field { name: "device id", expected: "a whole number" };
const TIME: Field = Field { name: "timestamp", expected: "a whole number of microseconds" };

#[derive(Default)]
struct Alibaba;

impl LineParser for Alibaba {
    const UNITS: Units = Units::new(1_000, 1, 1);
    const COMMAS: bool = true;
    const VOLUMES_PERCENT: usize = 90;
    const HEADER: &'static str = "volume,op,offset,length,time";

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<true>::new(line);
        let device = fields.small(DEVICE)?;
        let operation = fields.operation("opcode", &sink.vocabulary)?;
        let offset_bytes = fields.offset(Field::OFFSET, units.offset_bytes)?;
        let length_bytes = fields.length(Field::LENGTH, units.length_bytes, operation.op)?;
        let time_at = fields.at;
        let time = fields.ticks(TIME)?;
        fields.end()?;
        let time_ns = sink.time(time, units.time_ns, time_at)?;
        let volume = sink.volume(u64::from(device), |device| device.to_string());
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}
