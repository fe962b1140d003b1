//! fio I/O logs of version 2 (`file action offset length`) and 3 (`time file action offset length`).
//!
//! The first line names the version. Offsets and lengths are bytes, each file is a volume. Times of version 3 are
//! microseconds. A time that goes back to the start of the log, or further than the sorting window, begins a lap: it
//! follows the one before, because fio waits for the differences and never back.
//!
//! Version 2 has `wait` lines with milliseconds since fio started in the place of the offset. A wait that is over does
//! nothing. fio's manual says microseconds since the request before, which `--time-unit us` reads. Without any wait all
//! requests arrive at 0, and the trace has a warning.
//!
//! `sync` and `datasync` are flushes. `add`, `open` and `close` are skipped and counted. Version 1 is not read (fio
//! dropped it in 2008).
//!
//! Source: fio, HOWTO, "Trace file format", and iolog.c (`read_iolog_get` for waits, `delay_since_ttime` for laps).

use super::Row;
use crate::operations::Operation;
use crate::options::OpenOptions;
use crate::request::Op;
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<Fio>(
    "fio",
    &["fio-iolog", "iolog"],
    "'fio version 2|3 iolog', then [time_us] file action offset_bytes length_bytes",
);

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
/// A time in this part of a lap, behind its start, begins the next.
const START_OF_LAP: u64 = 10;

const VERSION: Field =
    Field { name: "first line", expected: "'fio version 2 iolog' or 'fio version 3 iolog'" };
const TIME: Field = Field { name: "timestamp", expected: "a whole number of microseconds" };
const FILE: Field = Field { name: "file", expected: "a file name" };
const ACTION: Field =
    Field { name: "action", expected: "read, write, trim, sync, datasync, add, open or close" };
const ACTION_2: Field =
    Field { name: "action", expected: "read, write, trim, sync, datasync, wait, add, open or close" };
const WAIT: Field = Field { name: "wait", expected: "a whole number of milliseconds" };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Waits,
    Timestamps,
}

#[derive(Default)]
struct Fio {
    version: Option<Version>,
    waited_ns: u64,
    wait_unit_ns: Option<u64>,
    laps: Laps,
    files: Vec<Vec<u8>>,
}

/// Laps of a log, one behind another.
#[derive(Default)]
struct Laps {
    window_us: u64,
    /// First time of the log.
    first_us: Option<u64>,
    /// Added to the times of this lap.
    shift_us: u64,
    latest_us: u64,
    begun: u64,
    /// Whether another log begins here.
    header: bool,
}

impl Laps {
    /// The time since the start of the first lap.
    fn time_us(&mut self, time_us: u64) -> u64 {
        let first_us = *self.first_us.get_or_insert(time_us);
        let arrival_us = time_us.saturating_add(self.shift_us).min(i64::MAX as u64);
        if arrival_us >= self.latest_us {
            (self.latest_us, self.header) = (arrival_us, false);
            return arrival_us;
        }
        self.earlier_us(time_us, first_us, self.latest_us - arrival_us)
    }

    /// Of a time that is behind the latest: another lap begins, or threads have overtaken one another.
    #[cold]
    fn earlier_us(&mut self, time_us: u64, first_us: u64, behind_us: u64) -> u64 {
        let length_us = self.latest_us.saturating_sub(self.shift_us).saturating_sub(first_us);
        let is_start = time_us.saturating_sub(first_us) <= length_us / START_OF_LAP;
        let header = std::mem::take(&mut self.header);
        if !is_start && !header && behind_us <= self.window_us {
            return self.latest_us - behind_us;
        }
        self.shift_us += behind_us;
        self.begun += 1;
        self.latest_us
    }
}

impl LineParser for Fio {
    const UNITS: Units = Units::new(NS_PER_US, 1, 1);
    const DISTINCT: bool = true;
    const ANY_LENGTH: bool = true;

    fn configure(&mut self, options: &OpenOptions) {
        self.laps.window_us = options.sort_window_ns / NS_PER_US;
        self.wait_unit_ns = options.time_unit_ns;
    }

    fn notes(&self) -> Vec<String> {
        let laps = format!("{} laps of the log follow one another, as fio replays them", self.laps.begun + 1);
        let waits = "a wait is taken for milliseconds since fio started, as fio does (--time-unit us: microseconds since \
                     the request before, as its manual says)";
        let as_fio = self.waited_ns > 0 && self.wait_unit_ns.is_none();
        let notes = [(self.laps.begun > 0, laps), (as_fio, waits.to_owned())];
        notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect()
    }

    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let header = match line {
            // Nearly all lines.
            [b'0'..=b'9' | b'/', ..] => None,
            _ => match line.trim_ascii() {
                b"fio version 2 iolog" => Some(Version::Waits),
                b"fio version 3 iolog" => Some(Version::Timestamps),
                _ => None,
            },
        };
        if header.is_some() && (self.version.is_none() || self.version == header) {
            // Logs may stand one behind another.
            if self.version.is_some() {
                sink.pass_line();
            }
            (self.version, self.laps.header) = (header, true);
            return Ok(());
        }
        let Some(version) = self.version else { return Err(Bad::new(0, Complaint::NotA(VERSION))) };
        let mut fields = Fields::<false>::new(line);
        let time_at = fields.at;
        let (time, expected) = match version {
            Version::Waits => (0, ACTION_2),
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
            b"wait" if version == Version::Waits => return self.wait(fields, units, sink),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            _ => return Err(Bad::new(action_at, Complaint::NotA(expected))),
        };
        let offset_bytes = fields.offset(Field::OFFSET, units.offset_bytes)?;
        let length_bytes = fields.length(Field::LENGTH, units.length_bytes, Some(op))?;
        fields.end()?;
        let time_ns = match version {
            Version::Waits => sink.time(self.waited_ns, 1, time_at)?,
            Version::Timestamps => sink.time(self.laps.time_us(time), units.time_ns, time_at)?,
        };
        let volume = sink.volume(self.file(file), |_| file.escape_ascii().to_string());
        let operation = Operation::plain(op);
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}

impl Fio {
    fn wait(&mut self, mut fields: Fields<'_, false>, units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let wait_at = fields.at;
        let wait = fields.ticks(WAIT)?;
        fields.length(Field::LENGTH, units.length_bytes, None)?;
        fields.end()?;
        let unit_ns = self.wait_unit_ns.unwrap_or(NS_PER_MS);
        // By the manual, a wait begins with the request before.
        let before_ns = if unit_ns == NS_PER_US { self.waited_ns } else { 0 };
        let until_ns = wait.checked_mul(unit_ns).and_then(|wait_ns| wait_ns.checked_add(before_ns));
        let until_ns = until_ns.filter(|&until_ns| until_ns <= i64::MAX as u64);
        let until_ns =
            until_ns.ok_or_else(|| Bad::new(wait_at, Complaint::Beyond(WAIT, "beyond 292 years")))?;
        self.waited_ns = self.waited_ns.max(until_ns);
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
