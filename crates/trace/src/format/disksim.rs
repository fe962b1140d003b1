//! DiskSim ASCII: `time_ms device lba size flags`, decimal milliseconds, flag bit 0 = read.
//!
//! DiskSim counts 512-byte sectors (`disksim`). There are converted traces in bytes as well (`disksim-bytes`). A size
//! that is no multiple of 512 proves sectors, because no request to a block device has such a number of bytes.
//! Otherwise the user has to name the format. A file whose times are all whole numbers is recognised as `mqsim`, in
//! nanoseconds.
//!
//! Source: J. Bucy et al., "The DiskSim Simulation Environment Version 4.0 Reference Manual", 2008.

use super::Row;
use crate::operations::{READ, WRITE};
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed, SECTOR_BYTES};
use crate::units::Units;

pub(crate) const ROW_SECTORS: Row = Row {
    yields_to: Some(super::mqsim::ROW.name),
    ..Row::text::<DiskSim<SECTOR_BYTES>>(
        "disksim",
        &["disksim-sectors"],
        "time_ms device lba_512 sectors flags, flag 1 = read",
    )
};

pub(crate) const ROW_BYTES: Row = Row {
    yields_to: Some(super::mqsim::ROW.name),
    ..Row::text::<DiskSim<1>>(
        "disksim-bytes",
        &[],
        "time_ms device offset_bytes size_bytes flags, flag 1 = read",
    )
};

const READ_FLAG: u64 = 1;

const TIME: Field = Field { name: "time", expected: "a decimal number of milliseconds" };
const ADDRESS_BYTES: Field = Field { name: "address", expected: "a number of bytes, a multiple of 512" };
const SIZE_BYTES: Field = Field { name: "size", expected: "a number of bytes, a multiple of 512" };
const FLAGS: Field = Field { name: "flags", expected: "a whole number" };

/// `UNIT`: bytes that an address or size of 1 stands for.
#[derive(Default)]
struct DiskSim<const UNIT: u64>;

impl<const UNIT: u64> LineParser for DiskSim<UNIT> {
    const UNITS: Units = Units::new(1_000_000, UNIT, UNIT);

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let (address, size) =
            if UNIT == 1 { (ADDRESS_BYTES, SIZE_BYTES) } else { (Field::ADDRESS, Field::SECTORS) };
        let mut fields = Fields::<false>::new(line);
        let time_at = fields.at;
        let time = fields.decimal_time(TIME, units.time_ns)?;
        let device = fields.small(Field::DEVICE)?;
        let offset_at = fields.at;
        let offset_bytes = fields.offset(address, units.offset_bytes)?;
        if !offset_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(Bad::new(offset_at, Complaint::NotA(address)));
        }
        let length_at = fields.at;
        let length_bytes = fields.length(size, units.length_bytes, None)?;
        if !length_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(Bad::new(length_at, Complaint::NotA(size)));
        }
        let flags = fields.number(FLAGS, u64::from(u32::MAX), "beyond 2^32")?;
        fields.end()?;
        let operation = if flags & READ_FLAG == 0 { WRITE } else { READ };
        let time_ns = sink.time(time, 1, time_at)?;
        let volume = sink.volume(u64::from(device), |device| device.to_string());
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}
