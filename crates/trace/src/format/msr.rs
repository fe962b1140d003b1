//! MSR Cambridge: `filetime,host,disk,Read|Write,offset,size[,response]`.
//!
//! Times count 100 ns ticks since 1601, offsets and sizes bytes. Each (host, disk) is a volume. A header
//! line is skipped; the response time is that of a machine of 2007 and is not kept.
//!
//! Source: D. Narayanan, A. Donnelly, A. Rowstron, "Write Off-Loading", FAST '08, and the SNIA IOTTA
//! repository's description of its traces.

use super::{Reader, Row};
use crate::options::OpenOptions;
use crate::request::Op;
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed};

pub(crate) const ROW: Row = Row {
    name: "msr",
    aliases: &["msr-cambridge"],
    layout: "filetime,host,disk,Read|Write,offset,size,response",
    yields_to: None,
    reader: Reader::text::<Msr>(),
};

const NS_PER_TICK: i64 = 100;

const TIME: Field = Field { name: "time", expected: "a whole number of 100 ns ticks" };
const HOST: Field = Field { name: "host", expected: "a name" };
const DISK: Field = Field { name: "disk", expected: "a whole number" };
const TYPE: Field = Field { name: "type", expected: "Read or Write" };
const OFFSET: Field = Field { name: "offset", expected: "a number of bytes" };
const SIZE: Field = Field { name: "size", expected: "a number of bytes" };
const RESPONSE: Field = Field { name: "response time", expected: "a whole number of ticks" };

struct Msr {
    /// Hosts in order of appearance; almost always one.
    hosts: Vec<Vec<u8>>,
}

impl LineParser for Msr {
    fn new(_options: &OpenOptions) -> Msr {
        Msr { hosts: Vec::new() }
    }

    fn is_header(line: &[u8]) -> bool {
        line.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"timestamp"))
    }

    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<true>::new(line);
        let time_at = fields.at;
        let ticks = fields.ticks(TIME)?;
        let host = fields.word(HOST)?;
        let disk = fields.small(DISK)?;
        let type_at = fields.at;
        let kind = fields.word(TYPE)?;
        let op = if kind.eq_ignore_ascii_case(b"write") {
            Op::Write
        } else if kind.eq_ignore_ascii_case(b"read") {
            Op::Read
        } else {
            return Err(Bad::new(type_at, Complaint::NotA(TYPE)));
        };
        let offset_bytes = fields.offset(OFFSET, 1)?;
        let length_bytes = fields.length(SIZE, 1)?;
        if !fields.ended() {
            fields.number(RESPONSE, u64::MAX, "beyond 2^64")?;
            fields.end()?;
        }
        let time_ns = sink.time(ticks, NS_PER_TICK, time_at)?;
        let key = u64::from(self.host(host)) << 32 | u64::from(disk);
        let volume = sink.volume(key, |_| format!("{}.{disk}", host.escape_ascii()));
        sink.push(&Parsed { time_ns, time_at, volume, op, offset_bytes, length_bytes })
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
