//! Microsoft production servers: ETW events as `xperf` dumps them; `DiskRead`, `DiskWrite` and `DiskFlush` count.
//!
//! A header, from `BeginHeader` to `EndHeader`, lists the fields of every kind of event, and fields are found by name
//! (later recorders add `CPU`). Without a header they are those of the published traces: `kind, TimeStamp, Process Name
//! ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, ...`; a flush lacks offset and size. Offset and
//! size are bytes in hex, times microseconds. All other events are skipped and counted. Each disk is a volume.
//!
//! The recorder writes the event at the completion of the request. `TimeStamp` is nevertheless read as the arrival, as
//! in the published studies: `ElapsedTime` is the response time of a disk of 2007.
//!
//! Source: the SNIA IOTTA repository's description of its Microsoft production server traces; S. Kavalanekar et al.,
//! "Characterization of storage workload traces from production Windows Servers", IISWC '08; Microsoft,
//! "DiskIo_TypeGroup1 class" (reads and writes) and "DiskIo_TypeGroup3 class" (flushes).

use super::Row;
use crate::operations::Operation;
use crate::request::Op;
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<Etw>(
    "etw",
    &["msps", "microsoft-production", "xperf"],
    "DiskRead|DiskWrite|DiskFlush, time_us, process (pid), thread, irp, offset_hex, size_hex, elapsed, disk, ...",
);

const KIND: Field = Field { name: "event", expected: "a kind of event, such as DiskRead" };
const TIME: Field = Field { name: "TimeStamp", expected: "a whole number of microseconds" };
const OFFSET: Field = Field { name: "ByteOffset", expected: "a number of bytes in hex, such as 0x1f000" };
const SIZE: Field = Field { name: "IOSize", expected: "a number of bytes in hex, such as 0x1000" };
const DISK: Field = Field { name: "DiskNum", expected: "a whole number" };

#[derive(Clone, Copy)]
struct Positions {
    time: usize,
    disk: usize,
    extent: Option<(usize, usize)>,
}

/// Those of a read or a write, and of a flush, in the published traces.
const PUBLISHED: Positions = Positions { time: 1, disk: 8, extent: Some((5, 6)) };
const PUBLISHED_FLUSH: Positions = Positions { time: 1, disk: 6, extent: None };

struct Etw {
    recognised: bool,
    in_header: bool,
    places: Positions,
    flush_places: Positions,
}

impl Default for Etw {
    fn default() -> Etw {
        Etw { recognised: false, in_header: false, places: PUBLISHED, flush_places: PUBLISHED_FLUSH }
    }
}

impl LineParser for Etw {
    const UNITS: Units = Units::new(1_000, 1, 1);
    const DISTINCT: bool = true;

    const NO_REQUESTS: &'static str =
        "there is no DiskRead or DiskWrite among its events: record the trace with disk I/O";

    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let comma = memchr::memchr(b',', line).unwrap_or(line.len());
        let kind = line[..comma].trim_ascii();
        let op = match kind {
            b"DiskRead" => Some(Op::Read),
            b"DiskWrite" => Some(Op::Write),
            b"DiskFlush" => Some(Op::Flush),
            _ => None,
        };
        match op {
            Some(op) if !self.in_header => self.event(op, line, units, sink),
            Some(op) => self.header(op, line, sink),
            None => self.other(kind, sink),
        }
    }
}

impl Etw {
    fn event(&mut self, op: Op, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let places = if op == Op::Flush { self.flush_places } else { self.places };
        let starts = starts(line);
        let at = |place: usize| starts.get(place).copied().unwrap_or(line.len());
        let mut fields = Fields::<true> { line, at: at(places.time) };
        let time_at = fields.at;
        let time = fields.ticks(TIME)?;
        let (mut offset_bytes, mut length_bytes) = (0, 0);
        if let Some((offset, size)) = places.extent {
            fields.at = at(offset);
            offset_bytes = fields.hex_offset(OFFSET, units.offset_bytes)?;
            fields.at = at(size);
            length_bytes = fields.hex_length(SIZE, units.length_bytes)?;
        }
        fields.at = at(places.disk);
        let disk = fields.small(DISK)?;
        self.recognised = true;
        let time_ns = sink.time(time, units.time_ns, time_at)?;
        let volume = sink.volume(u64::from(disk), |disk| disk.to_string());
        let operation = Operation::plain(op);
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }

    fn header(&mut self, op: Op, line: &[u8], sink: &mut Collector) -> Result<(), Bad> {
        let names: Vec<&[u8]> = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
        let place = |field: Field| {
            let position = names.iter().position(|&name| name == field.name.as_bytes());
            position.ok_or_else(|| Bad::new(line.len(), Complaint::Missing(field)))
        };
        let (time, disk) = (place(TIME)?, place(DISK)?);
        match op {
            Op::Flush => self.flush_places = Positions { time, disk, extent: None },
            _ => self.places = Positions { time, disk, extent: Some((place(OFFSET)?, place(SIZE)?)) },
        }
        sink.pass_line();
        Ok(())
    }

    fn other(&mut self, kind: &[u8], sink: &mut Collector) -> Result<(), Bad> {
        match kind {
            b"BeginHeader" => (self.recognised, self.in_header) = (true, true),
            b"EndHeader" => self.in_header = false,
            b"DiskReadInit" | b"DiskWriteInit" | b"DiskFlushInit" => self.recognised = true,
            _ => {}
        }
        if !self.recognised || !kind.first().is_some_and(u8::is_ascii_alphabetic) {
            return Err(Bad::new(0, Complaint::NotA(KIND)));
        }
        sink.pass_line();
        Ok(())
    }
}

/// Fields looked for; the last ones (file names) may contain commas.
const FIELDS: usize = 12;

#[inline]
fn starts(line: &[u8]) -> [usize; FIELDS] {
    let mut starts = [line.len(); FIELDS];
    let commas = memchr::memchr_iter(b',', line).map(|comma| comma + 1);
    for (start, at) in starts.iter_mut().zip(std::iter::once(0).chain(commas)) {
        let padding = line[at..].iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
        *start = at + padding;
    }
    starts
}
