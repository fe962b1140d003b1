//! MSR Cambridge: `filetime,host,disk,Read|Write,offset,size[,response]`: 100 ns ticks since 1601, bytes. Each (host,
//! disk) is a volume. The response time is that of a machine of 2007 and is not kept.
//!
//! Source: D. Narayanan, A. Donnelly, A. Rowstron, "Write Off-Loading", FAST '08, and the SNIA IOTTA
//! repository's description of its traces.

use super::Row;
use crate::text::{Bad, Collector, Field, Fields, LineParser, Parsed};
use crate::units::Units;

pub(crate) const ROW: Row =
    Row::text::<Msr>("msr", &["msr-cambridge"], "filetime,host,disk,Read|Write,offset,size,response");

const TIME: Field = Field { name: "time", expected: "a whole number of 100 ns ticks" };
const HOST: Field = Field { name: "host", expected: "a name" };
const DISK: Field = Field { name: "disk", expected: "a whole number" };
const RESPONSE: Field = Field { name: "response time", expected: "a whole number of ticks" };

#[derive(Default)]
struct Msr {
    hosts: Vec<Vec<u8>>,
}

impl LineParser for Msr {
    const UNITS: Units = Units::new(100, 1, 1);
    const DISTINCT: bool = true;
    const COMMAS: bool = true;
    const HEADER: &'static str = "time,volume,volume,op,offset,length,other";

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<true>::new(line);
        let time_at = fields.at;
        let ticks = fields.ticks(TIME)?;
        let host = fields.word(HOST)?;
        let disk = fields.small(DISK)?;
        let operation = fields.operation("type", &sink.vocabulary)?;
        let offset_bytes = fields.offset(Field::OFFSET, units.offset_bytes)?;
        let length_bytes = fields.length(Field::SIZE, units.length_bytes, operation.op)?;
        if !fields.ended() {
            fields.number(RESPONSE, u64::MAX, "beyond 2^64")?;
            fields.end()?;
        }
        let time_ns = sink.time(ticks, units.time_ns, time_at)?;
        let key = u64::from(self.host(host)) << 32 | u64::from(disk);
        let volume = sink.volume(key, |_| format!("{}.{disk}", host.escape_ascii()));
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}

impl Msr {
    #[inline]
    fn host(&mut self, host: &[u8]) -> u32 {
        let known = self.hosts.iter().position(|known| known == host);
        known.unwrap_or_else(|| {
            self.hosts.push(host.to_owned());
            self.hosts.len() - 1
        }) as u32
    }
}
