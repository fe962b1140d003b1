//! A text of any layout: its user says which column holds what, by name or by number ([`Layout`]).
//!
//! Times are decimal numbers of a unit, dates (ISO 8601) or times of day. Offsets and lengths are numbers of a unit, also
//! in hex. Volumes and contents may be any text. Fields may be quoted. The header may come again within the file.

use hashbrown::HashMap;

use crate::digest::bytes_of_hex;
use crate::error::{ErrorCause, TraceError, quoted};
use crate::flags::{QUEUE_SHIFT, QUEUES};
use crate::layout::{Delimiter, Layout, PARTS, Part, Place};
use crate::operations::KNOWN;
use crate::options::OpenOptions;
use crate::request::{CHUNK_BYTES, NO_STREAM, Op};
use crate::text::{
    BEYOND_OFFSET, Bad, Collector, Complaint, Field, LineParser, OFFSET_BYTES_MAX, Parsed, exact, length_max,
};
use crate::units::Units;

const TIME: Field = Field { name: "time", expected: "a number, a date or a time of day" };
const WHOLE_TIME: Field = Field {
    name: "time",
    expected: "a whole number of nanoseconds: give its unit, for example --time-unit s",
};
const OP: Field = Field { name: "op", expected: KNOWN };
const CONTENT: Field =
    Field { name: "content", expected: "32 hex digits for every 4,096 bytes that the request begins" };
const QUEUE: Field = Field { name: "queue", expected: "a number from 0 to 31" };
const STREAM: Field = Field { name: "stream", expected: "a number from 0 to 65534, or nothing" };

#[derive(Clone, Default)]
pub(crate) struct OwnColumns {
    delimiter: Option<Delimiter>,
    /// What each column holds.
    parts: Vec<Option<Part>>,
    header: Option<Vec<u8>>,
    time_unit_is_said: bool,
    /// The first time: ticks since 1601 are more nanoseconds than 64 bits hold.
    first_ns: Option<i128>,
    /// Whether that of offsets and lengths is said as well, by the user or by a canonical name.
    pub(crate) units_are_said: bool,
    /// Whether operations have the canonical name, which numbers belong to.
    pub(crate) has_numbers: bool,
    volumes: HashMap<Vec<u8>, u64>,
}

impl OwnColumns {
    /// For a text with this first line; and the units of its numbers.
    pub(crate) fn new(
        name: &str,
        layout: &Layout,
        options: &OpenOptions,
        line: &[u8],
    ) -> Result<(OwnColumns, Units), TraceError> {
        let usual = Delimiter::USUAL;
        let candidates = layout.delimiter.as_ref().map_or(&usual[..], std::slice::from_ref);
        let parted = |delimiter| OwnColumns::parted(name, layout, options, line, delimiter);
        // The one that makes most columns says best what is missing.
        let best = candidates.iter().copied().max_by_key(|delimiter| delimiter.fields(line).len());
        let made = candidates.iter().find_map(|&delimiter| parted(delimiter).ok());
        made.map_or_else(|| parted(best.unwrap_or(Delimiter::Blanks)), Ok)
    }

    fn parted(
        name: &str,
        layout: &Layout,
        options: &OpenOptions,
        line: &[u8],
        delimiter: Delimiter,
    ) -> Result<(OwnColumns, Units), TraceError> {
        let fields = delimiter.fields(line);
        let mut made = OwnColumns { delimiter: Some(delimiter), ..OwnColumns::default() };
        made.parts = vec![None; fields.len()];
        let mut units = [None; PARTS];
        units[Part::Time as usize] = options.time_unit_ns;
        units[Part::Offset as usize] = options.offset_unit_bytes;
        units[Part::Length as usize] = options.length_unit_bytes;
        let mut is_header = layout.header;
        for part in Part::ALL {
            let given = layout.columns[part as usize].as_ref();
            let canonical = Place::Name(part.canonical().to_owned());
            let place = given.map_or(&canonical, |column| &column.place);
            let column = match place {
                Place::Number(number) => (*number <= fields.len()).then_some(number - 1),
                Place::Name(name) => fields
                    .iter()
                    .position(|field| layout.header && field.eq_ignore_ascii_case(name.as_bytes())),
            };
            let Some(column) = column else {
                if given.is_none() && !part.is_needed() {
                    continue;
                }
                return Err(missing(name, place, part, &fields));
            };
            made.parts[column] = Some(part);
            let unit = &mut units[part as usize];
            *unit = given.and_then(|column| column.unit).or(*unit).or((*place == canonical).then_some(1));
            is_header &=
                matches!(place, Place::Name(_)) || !fields[column].first().is_some_and(u8::is_ascii_digit);
            made.has_numbers |= part == Part::Op && fields[column].eq_ignore_ascii_case(b"op");
        }
        made.header = is_header.then(|| line.trim_ascii().to_vec());
        let [time, offset, length] =
            [Part::Time, Part::Offset, Part::Length].map(|part| units[part as usize]);
        made.time_unit_is_said = time.is_some();
        made.units_are_said = time.is_some() && offset.is_some() && length.is_some();
        Ok((made, Units::new(time.unwrap_or(1), offset.unwrap_or(1), length.unwrap_or(1))))
    }

    /// Whether the first request of a text has a date or a time of day.
    pub(crate) fn has_dates(&self, lines: &[&[u8]]) -> bool {
        let column = self.parts.iter().position(|part| *part == Some(Part::Time));
        let fields = lines.iter().find(|line| !self.is_header(line)).zip(self.delimiter);
        let time = fields.zip(column).and_then(|((line, by), column)| by.fields(line).get(column).copied());
        time.is_some_and(|time| exact::decimal(time, 1).is_none() && exact::moment_ns(time).is_some())
    }

    fn volume(&mut self, text: &[u8]) -> u64 {
        const NAMED: u64 = 1 << 63;
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u32>().ok());
        let next = NAMED + self.volumes.len() as u64;
        *self.volumes.entry_ref(text).or_insert(number.map_or(next, u64::from))
    }
}

#[cold]
fn missing(name: &str, place: &Place, part: Part, fields: &[&[u8]]) -> TraceError {
    let wanted = match place {
        Place::Name(name) => format!("called {}", quoted(name)),
        Place::Number(number) => format!("number {number}"),
    };
    let fields: Vec<_> = fields.iter().map(|field| String::from_utf8_lossy(field)).collect();
    let (part, fields) = (part.name(), fields.join(", "));
    let what = format!("no column is {wanted}, which is to hold the {part} of requests; there are: {fields}");
    let cure = format!("say which one is, by name or number from 1: --columns {part}=COLUMN");
    TraceError::new(ErrorCause::Malformed, name, what, cure)
}

impl LineParser for OwnColumns {
    const UNITS: Units = Units::BASE;

    fn is_header(&self, line: &[u8]) -> bool {
        self.header.as_deref() == Some(line.trim_ascii())
    }

    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
        let delimiter = self.delimiter.unwrap_or(Delimiter::Blanks);
        let mut cells: [(usize, &[u8]); PARTS] = [(line.len(), &[]); PARTS];
        let mut at = 0;
        for part in &self.parts {
            let Some(rest) = line.get(at..) else { break };
            let Some((start, end, next)) = delimiter.field(rest) else { break };
            if let Some(part) = part {
                cells[*part as usize] = (at + start, &rest[start..end]);
            }
            at += next;
        }
        let [time, op, offset, length, volume, content, queue, stream] = cells;
        let time_ns = self.time_ns(time, units.time_ns)?;
        let operation = sink.vocabulary.operation(op.1);
        let unknown = if op.1.is_empty() { Complaint::Missing(OP) } else { Complaint::NoOperation(OP) };
        let operation = operation.ok_or_else(|| Bad::new(op.0, unknown))?;
        let Some(kind) = operation.op else {
            sink.pass_line();
            return Ok(());
        };
        let (mut offset_bytes, mut length_bytes) = (0, 0);
        if kind != Op::Flush {
            offset_bytes = bytes(offset, Field::OFFSET, units.offset_bytes, OFFSET_BYTES_MAX, BEYOND_OFFSET)?;
            let (most, limit) = length_max(operation.op);
            length_bytes = bytes(length, Field::LENGTH, units.length_bytes, most, limit)?;
        }
        let time_at = time.0;
        let queue = number(queue, QUEUE, QUEUES as u16, 0)? as u8;
        let stream = number(stream, STREAM, NO_STREAM, NO_STREAM)?;
        let time_ns = sink.time(time_ns as u64, 1, time_at)?;
        let volume = match volume.1 {
            [] => sink.volume(0, |key| key.to_string()),
            text => sink.volume(self.volume(text), |_| String::from_utf8_lossy(text).into_owned()),
        };
        if kind.moves_data() && length_bytes > 0 {
            add_contents(sink, content, length_bytes as u32)?;
        }
        let first_row = sink.rows();
        sink.push(&Parsed { operation, time_ns, time_at, volume, offset_bytes, length_bytes })?;
        if queue != 0 || stream != NO_STREAM {
            sink.mark_from(first_row, (queue << QUEUE_SHIFT, stream));
        }
        Ok(())
    }
}

/// A cell with its place on the line.
type Cell<'a> = (usize, &'a [u8]);

impl OwnColumns {
    #[inline]
    fn time_ns(&mut self, (at, text): Cell<'_>, unit_ns: u64) -> Result<i64, Bad> {
        let ns = match exact::decimal(text, unit_ns) {
            Some((_, false)) if !self.time_unit_is_said => Err(Complaint::NotA(WHOLE_TIME)),
            Some((ns, _)) => Ok(ns),
            None if text.is_empty() => Err(Complaint::Missing(TIME)),
            None => exact::moment_ns(text).ok_or(Complaint::NotA(TIME)),
        };
        // Half of 64 bits, so that times can be subtracted.
        let limit = Complaint::Beyond(TIME, "more than 146 years away from the first request");
        let since = |ns: i128| i64::try_from(ns - *self.first_ns.get_or_insert(ns)).ok();
        let ns = ns.map(since).and_then(|ns| ns.filter(|ns| ns.unsigned_abs() < 1 << 62).ok_or(limit));
        ns.map_err(|complaint| Bad::new(at, complaint))
    }
}

#[inline]
fn bytes((at, text): Cell<'_>, field: Field, unit: u64, most: u64, limit: &'static str) -> Result<u64, Bad> {
    let bytes = match text {
        [b'0', b'x' | b'X', digits @ ..] => {
            let digits = std::str::from_utf8(digits).ok();
            let units = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            units.map(|units| units.checked_mul(unit).filter(|&bytes| bytes <= most))
        }
        // A float of pandas, which has them where cells are empty, is a whole number as well.
        _ => exact::decimal(text, unit)
            .filter(|&(bytes, whole)| whole && bytes >= 0)
            .map(|(bytes, _)| u64::try_from(bytes).ok().filter(|&bytes| bytes <= most)),
    };
    let complaint = match bytes {
        Some(Some(bytes)) => return Ok(bytes),
        Some(None) => Complaint::Beyond(field, limit),
        None if text.is_empty() => Complaint::Missing(field),
        None if text.starts_with(b"-") => Complaint::Negative(field),
        None => Complaint::NotA(field),
    };
    Err(Bad::new(at, complaint))
}

/// A number below `end`; `none` where the cell is empty.
#[inline]
fn number((at, text): Cell<'_>, field: Field, end: u16, none: u16) -> Result<u16, Bad> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u16>().ok());
    let number = number.filter(|&number| number < end).or(text.is_empty().then_some(none));
    number.ok_or_else(|| Bad::new(at, Complaint::NotA(field)))
}

/// One text for a request of one chunk; digests of 32 hex digits behind one another for more. Equal texts are equal
/// contents.
#[inline]
fn add_contents(sink: &mut Collector, (at, text): Cell<'_>, length_bytes: u32) -> Result<(), Bad> {
    let chunks = length_bytes.div_ceil(CHUNK_BYTES) as usize;
    let digest = std::str::from_utf8(text).ok().and_then(bytes_of_hex);
    match digest {
        _ if text.is_empty() => {}
        Some(digests) if digests.len() == chunks * 16 => digests.chunks(16).for_each(|one| sink.content(one)),
        _ if chunks > 1 => return Err(Bad::new(at, Complaint::NotA(CONTENT))),
        Some(digest) => sink.content(&digest),
        None => sink.content(text),
    }
    Ok(())
}
