//! fio I/O logs of version 2 (`file action offset length`) and 3 (`time file action offset length`).
//!
//! The first line names the version. Offsets and lengths are bytes, each file is a volume. Times of version 3 are
//! microseconds. Version 2 has `wait` lines instead, with microseconds in the place of the offset: a request arrives at
//! the sum of the waits before it. Without any wait all arrive at 0, and the trace has a warning. `sync` and `datasync`
//! are flushes. `add`, `open` and `close` are skipped and counted. Version 1 is not read (fio dropped it in 2008).
//!
//! Source: fio, HOWTO, "Trace file format", and iolog.c (for the unit of version 3's times).

use super::Row;
use crate::options::Units;
use crate::request::Op;
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed};

pub(crate) const ROW: Row = Row::text::<Fio>(
    "fio",
    &["fio-iolog", "iolog"],
    "'fio version 2|3 iolog', then [time_us] file action offset_bytes length_bytes",
);

const VERSION: Field =
    Field { name: "first line", expected: "'fio version 2 iolog' or 'fio version 3 iolog'" };
const TIME: Field = Field { name: "timestamp", expected: "a whole number of microseconds" };
const FILE: Field = Field { name: "file", expected: "a file name" };
const ACTION: Field =
    Field { name: "action", expected: "read, write, trim, sync, datasync, add, open or close" };
const ACTION_2: Field =
    Field { name: "action", expected: "read, write, trim, sync, datasync, wait, add, open or close" };
const WAIT: Field = Field { name: "wait", expected: "a whole number of microseconds" };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Waits,
    Timestamps,
}

#[derive(Default)]
struct Fio {
    version: Option<Version>,
    waited: u64,
    files: Vec<Vec<u8>>,
}

impl LineParser for Fio {
    const UNITS: Units = Units::new(1_000, 1, 1);
    const DISTINCT: bool = true;
    const ANY_LENGTH: bool = true;

    fn line(&mut self, line: &[u8], sink: &mut Collector) -> Result<(), Bad> {
        let Some(version) = self.version else {
            self.version = match line.trim_ascii() {
                b"fio version 2 iolog" => Some(Version::Waits),
                b"fio version 3 iolog" => Some(Version::Timestamps),
                _ => return Err(Bad::new(0, Complaint::NotA(VERSION))),
            };
            return Ok(());
        };
        let mut fields = Fields::<false>::new(line);
        let time_at = fields.at;
        let (time, expected) = match version {
            Version::Waits => (self.waited, ACTION_2),
            Version::Timestamps => (fields.ticks(TIME)?, ACTION),
        };
        let file = fields.word(FILE)?;
        let action_at = fields.at;
        let op = match fields.word(expected)? {
            b"add" | b"open" | b"close" => {
                fields.end()?;
                sink.pass_line();
                return Ok(());
            }
            b"wait" if version == Version::Waits => return self.wait(fields, sink),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            _ => return Err(Bad::new(action_at, Complaint::NotA(expected))),
        };
        let offset_bytes = fields.offset(Field::OFFSET, sink.units.offset_bytes)?;
        let length_bytes = fields.length(Field::LENGTH, sink.units.length_bytes)?;
        fields.end()?;
        let time_ns = sink.ticks(time, time_at)?;
        let volume = sink.volume(self.file(file), |_| file.escape_ascii().to_string());
        if op == Op::Flush {
            return sink.push(&Parsed::flush(time_ns, time_at, volume));
        }
        sink.push(&Parsed { time_ns, time_at, volume, op, offset_bytes, length_bytes })
    }
}

impl Fio {
    fn wait(&mut self, mut fields: Fields<'_, false>, sink: &mut Collector) -> Result<(), Bad> {
        let wait_at = fields.at;
        let wait = fields.ticks(WAIT)?;
        fields.length(Field::LENGTH, sink.units.length_bytes)?;
        fields.end()?;
        let waited = self.waited.checked_add(wait).filter(|&waited| waited <= i64::MAX as u64);
        self.waited = waited.ok_or_else(|| Bad::new(wait_at, Complaint::Beyond(WAIT, "beyond 292 years")))?;
        sink.pass_line();
        Ok(())
    }

    fn file(&mut self, file: &[u8]) -> u64 {
        let known = self.files.iter().position(|known| known == file);
        known.unwrap_or_else(|| {
            self.files.push(file.to_owned());
            self.files.len() - 1
        }) as u64
    }
}
