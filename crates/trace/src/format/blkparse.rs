//! blkparse text, default format: `major,minor cpu sequence time pid action rwbs sector + sectors [process]`.
//!
//! blktrace records several events a request. The requests of the trace are the events of one action: D (issued to the
//! driver) unless the options name another. All others are skipped and counted. Times are seconds, addresses and sizes
//! 512-byte sectors. Flags (RWBS): read (R), write (W, or ZA for a zone append), discard (D). An F before that is a
//! flush: of its own without sectors (`FN`, `FWS`, `FF`), else one that comes before the request (`FWFS`). An F behind
//! it is forced unit access (`WFS`). Other events without sectors (passthrough commands) are empty requests. Messages
//! and the summary are skipped. Each device is a volume. A request that the driver gave back (R) is issued again: it
//! counts once, from its first D.
//!
//! Source: blktrace, blkparse(1), and blkparse_fmt.c (REQ_PREFLUSH and REQ_OP_FLUSH are the F in front); the kernel's
//! Documentation/block/writeback_cache_control.rst.

use hashbrown::HashSet;

use super::Row;
use crate::operations::{Operation, WRITE};
use crate::options::OpenOptions;
use crate::request::Op;
use crate::text::{Bad, Collector, Complaint, Field, Fields, LineParser, Parsed, SECTOR_BYTES};
use crate::units::Units;

pub(crate) const ROW: Row = Row::text::<Blkparse>(
    "blkparse",
    &["blktrace"],
    "major,minor cpu sequence time_s pid action rwbs sector + sectors [process]",
);

const DEVICE: Field = Field { name: "device", expected: "major and minor number, such as 8,16" };
const CPU: Field = Field { name: "CPU", expected: "a whole number" };
const SEQUENCE: Field = Field { name: "sequence number", expected: "a whole number" };
const TIME: Field = Field { name: "time", expected: "a decimal number of seconds" };
const ACTION: Field = Field { name: "action", expected: "one or two letters, such as Q, D or C" };
const SECTOR: Field = Field { name: "sector", expected: "a number of 512-byte sectors" };
const PLUS: Field = Field { name: "separator", expected: "a plus sign" };

/// A time before the start of the recording is below 0. The kernel has 64 bits of nanoseconds, of which blkparse prints
/// the seconds modulo 2^32: 2^64 ns less 40 ms are 1266874889.669551616. Recordings do not begin earlier than an hour
/// before their start.
const ZERO_NS: u64 = 1_266_874_889_709_551_616;
const NS_PER_SECOND: u64 = 1_000_000_000;
const BEFORE_START_NS: u64 = 3600 * NS_PER_SECOND;

/// Volume, operation, offset and length of a request that is to be issued again.
type Requeued = (u64, Option<Op>, u64, u64);

#[derive(Default)]
struct Blkparse {
    action: u8,
    in_summary: bool,
    /// Events of other actions, by their first letter.
    others: [u64; 26],
    requeued: HashSet<Requeued>,
    issued_again: u64,
}

impl LineParser for Blkparse {
    const UNITS: Units = Units::new(1_000_000_000, SECTOR_BYTES, SECTOR_BYTES);
    const DISTINCT: bool = true;

    const NO_REQUESTS: &'static str = "no line is a request of the action looked for: choose another with \
                                      --blkparse-action Q, D or C (RAM disks and device-mapper issue nothing: take Q)";

    fn other_lines(&self) -> String {
        let counts = (b'A'..).zip(self.others).filter(|&(_, count)| count > 0);
        let counts: Vec<String> =
            counts.map(|(letter, count)| format!("{count} {}", char::from(letter))).collect();
        if counts.is_empty() { String::new() } else { format!(" (events: {})", counts.join(", ")) }
    }

    fn notes(&self) -> Vec<String> {
        let note =
            format!("requests issued again count once, from when they first were: {}", self.issued_again);
        if self.issued_again > 0 { vec![note] } else { Vec::new() }
    }

    fn configure(&mut self, options: &OpenOptions) {
        self.action = options.blkparse_action.letter();
    }

    #[inline]
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let mut fields = Fields::<false>::new(line);
        if !matches!(fields.peek(), Some(b'0'..=b'9')) {
            return self.other(&fields, sink);
        }
        let (major, minor) = fields.meaning(DEVICE, device)?;
        fields.small(CPU)?;
        fields.number(SEQUENCE, u64::MAX, "beyond 2^64")?;
        let time_at = fields.at;
        let time = fields.decimal_time(TIME, units.time_ns)?;
        fields.number(Field::PID, u64::MAX, "beyond 2^64")?;
        let action_at = fields.at;
        let action = fields.word(ACTION)?;
        if action.len() > 2 || !action.iter().all(u8::is_ascii_alphabetic) {
            return Err(Bad::new(action_at, Complaint::NotA(ACTION)));
        }
        self.in_summary = false;
        let issued = self.action == b'D';
        let requeue = issued && action == b"R";
        if action != [self.action] && !requeue {
            if let Some(count) = self.others.get_mut(usize::from(action[0].to_ascii_uppercase() - b'A')) {
                *count += 1;
            }
            sink.pass_line();
            return Ok(());
        }
        let operation = fields.operation("flags", &sink.vocabulary)?;
        let (offset_bytes, length_bytes) = extent(&mut fields, operation, units)?;
        let key = u64::from(major) << 32 | u64::from(minor);
        if requeue || (issued && !self.requeued.is_empty()) {
            let request = (key, operation.op, offset_bytes, length_bytes);
            if requeue {
                self.requeued.insert(request);
            }
            if requeue || self.requeued.remove(&request) {
                self.issued_again += u64::from(!requeue);
                sink.pass_line();
                return Ok(());
            }
        }
        let time = match time.checked_sub(ZERO_NS - BEFORE_START_NS) {
            Some(time) if time < BEFORE_START_NS => time,
            _ => time.saturating_add(BEFORE_START_NS).min(i64::MAX as u64),
        };
        let time_ns = sink.time(time, 1, time_at)?;
        let volume = sink.volume(key, |_| format!("{major},{minor}"));
        // A command that moves no data is an empty request.
        let operation = if operation.op.is_some() { operation } else { WRITE };
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })
    }
}

impl Blkparse {
    #[cold]
    fn other(&mut self, fields: &Fields<'_, false>, sink: &mut Collector) -> Result<(), Bad> {
        let text = &fields.line[fields.at..];
        let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start.as_bytes()));
        self.in_summary |= begins(&["CPU", "Total (", "Throughput (", "Events ("]);
        if self.in_summary || begins(&["Input file "]) {
            sink.pass_line();
            return Ok(());
        }
        Err(Bad::new(fields.at, Complaint::NotA(DEVICE)))
    }
}

#[inline]
fn device(word: &[u8]) -> Option<(u32, u32)> {
    let comma = memchr::memchr(b',', word)?;
    let number = |digits: &[u8]| -> Option<u32> { std::str::from_utf8(digits).ok()?.parse().ok() };
    Some((number(&word[..comma])?, number(&word[comma + 1..])?))
}

/// Offset and length in bytes; both 0 without sectors.
#[inline]
fn extent(fields: &mut Fields<'_, false>, operation: Operation, units: Units) -> Result<(u64, u64), Bad> {
    // Without sectors only the process follows, or (completed) a sector without a size.
    let ended = |fields: &Fields<'_, false>| matches!(fields.peek(), Some(b'[' | b'('));
    if matches!(operation.op, None | Some(Op::Flush)) || ended(fields) {
        return Ok((0, 0));
    }
    let offset_bytes = fields.offset(SECTOR, units.offset_bytes)?;
    if ended(fields) {
        return Ok((0, 0));
    }
    fields.meaning(PLUS, |word| (word == b"+").then_some(()))?;
    Ok((offset_bytes, fields.length(Field::SECTORS, units.length_bytes, operation.op)?))
}
