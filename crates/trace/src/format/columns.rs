//! A text of any layout: its user says which column holds what, by name or by number ([`Layout`]).
//!
//! Times are decimal numbers of a unit, dates (ISO 8601) or times of day. Offsets and lengths are numbers of a unit, also
//! in hex. Volumes and contents may be any text. Fields may be quoted. The header may come again within the file.

use std::collections::HashMap;

use crate::digest::bytes_of_hex;
use crate::error::{ErrorCause, TraceError, quoted};
use crate::flags::{QUEUE_SHIFT, QUEUES};
use crate::layout::{Delimiter, Layout, PARTS, Part, Place};
use crate::options::{OpenOptions, Units};
use crate::request::{CHUNK_BYTES, Op};
use crate::text::{
    BEYOND_LENGTH, BEYOND_OFFSET, Bad, Collector, Complaint, Field, LENGTH_BYTES_MAX, LineParser,
    OFFSET_BYTES_MAX, Parsed, exact, in_bytes,
};

const TIME: Field = Field { name: "time", expected: "a number, a date or a time of day" };
const WHOLE_TIME: Field = Field {
    name: "time",
    expected: "a whole number of nanoseconds: give its unit, for example --time-unit s",
};
const OP: Field = Field { name: "op", expected: "an operation" };
const CONTENT: Field =
    Field { name: "content", expected: "32 hex digits for every 4,096 bytes that the request begins" };
const QUEUE: Field = Field { name: "queue", expected: "a number from 0 to 31" };

#[derive(Default)]
pub(crate) struct OwnColumns {
    delimiter: Option<Delimiter>,
    /// What each column holds, up to the last one that is wanted.
    parts: Vec<Option<Part>>,
    units: Option<Units>,
    /// Whether the units of time, offset and length are said, by the user or by a canonical name.
    said: [bool; 3],
    header: Option<Vec<u8>>,
    volumes: HashMap<Vec<u8>, u64>,
}

impl OwnColumns {
    /// For a text that begins with `lines`.
    pub(crate) fn new(
        name: &str,
        layout: &Layout,
        options: &OpenOptions,
        lines: &[&[u8]],
    ) -> Result<OwnColumns, TraceError> {
        let usual = Delimiter::USUAL;
        let candidates = layout.delimiter.as_ref().map_or(&usual[..], std::slice::from_ref);
        let (mut error, mut unread) = (None, None);
        for &delimiter in candidates {
            match OwnColumns::parted(name, layout, options, lines, delimiter) {
                Ok(mut columns) => {
                    let mut sink = Collector::new(options, columns.units());
                    sink.vocabulary = options.op_words.clone().with_numbers();
                    let reads = lines.iter().any(|line| columns.line(line, &mut sink).is_ok());
                    let columns = OwnColumns { volumes: HashMap::new(), ..columns };
                    if reads {
                        return Ok(columns);
                    }
                    unread.get_or_insert(columns);
                }
                Err((columns, fault)) if error.as_ref().is_none_or(|&(most, _)| columns > most) => {
                    error = Some((columns, fault));
                }
                Err(_) => {}
            }
        }
        // Its lines say what is wrong with them.
        unread.ok_or_else(|| error.map_or_else(|| crate::input::empty(name), |(_, error)| error))
    }

    /// With the number of columns that there are, if it fails.
    fn parted(
        name: &str,
        layout: &Layout,
        options: &OpenOptions,
        lines: &[&[u8]],
        delimiter: Delimiter,
    ) -> Result<OwnColumns, (usize, TraceError)> {
        let fields = delimiter.fields(lines[0]);
        let names: Vec<String> =
            fields.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect();
        let mut made = OwnColumns { delimiter: Some(delimiter), ..OwnColumns::default() };
        let mut units = [None; PARTS];
        let given_for_all = [options.time_unit_ns, options.offset_unit_bytes, options.length_unit_bytes];
        let mut by_name = false;
        for part in Part::ALL {
            let given = layout.columns[part as usize].as_ref();
            units[part as usize] = given.and_then(|column| column.unit);
            if let Some(at) = [Part::Time, Part::Offset, Part::Length].iter().position(|other| *other == part)
            {
                let named = matches!(given.map(|column| &column.place), Some(Place::Name(name)) if name == part.canonical());
                made.said[at] =
                    units[part as usize].or(given_for_all[at]).is_some() || given.is_none() || named;
            }
            let wanted = match given.map(|column| &column.place) {
                Some(Place::Number(number)) => {
                    made.put(part, number - 1);
                    continue;
                }
                Some(Place::Name(wanted)) => wanted.as_str(),
                None => part.canonical(),
            };
            let found = names.iter().position(|name| layout.header && name.eq_ignore_ascii_case(wanted));
            by_name |= found.is_some();
            match found {
                Some(column) => made.put(part, column),
                None if given.is_none() && !part.is_needed() => {}
                None => return Err((names.len(), missing(name, layout.header, wanted, part, &names))),
            }
        }
        let number = |part: Part| {
            let field =
                made.parts.iter().position(|other| *other == Some(part)).and_then(|at| fields.get(at));
            field.is_some_and(|field| field.first().is_some_and(u8::is_ascii_digit))
        };
        if by_name || (layout.header && !number(Part::Time) && !number(Part::Offset)) {
            made.header = Some(lines[0].trim_ascii().to_vec());
        }
        let usual = options.units(Units::BASE);
        let of = |part: Part, usual: u64| units[part as usize].unwrap_or(usual);
        made.units = Some(Units::new(
            of(Part::Time, usual.time_ns),
            of(Part::Offset, usual.offset_bytes),
            of(Part::Length, usual.length_bytes),
        ));
        Ok(made)
    }

    fn put(&mut self, part: Part, column: usize) {
        if self.parts.len() <= column {
            self.parts.resize(column + 1, None);
        }
        self.parts[column] = Some(part);
    }

    pub(crate) fn units(&self) -> Units {
        self.units.unwrap_or(Units::BASE)
    }

    /// Whether the column of operations has its canonical name, which numbers belong to.
    pub(crate) fn has_numbers(&self) -> bool {
        let Some(header) = &self.header else { return false };
        let at = self.parts.iter().position(|part| *part == Some(Part::Op));
        let fields = self.delimiter.unwrap_or(Delimiter::Blanks).fields(header);
        at.and_then(|at| fields.get(at)).is_some_and(|name| name.eq_ignore_ascii_case(b"op"))
    }

    pub(crate) fn units_are_said(&self) -> bool {
        self.said == [true; 3]
    }

    fn volume(&mut self, text: &[u8]) -> u64 {
        const NAMED: u64 = 1 << 63;
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u32>().ok());
        let next = NAMED + self.volumes.len() as u64;
        match self.volumes.get(text) {
            Some(&key) => key,
            None => *self.volumes.entry(text.to_vec()).or_insert(number.map_or(next, u64::from)),
        }
    }
}

#[cold]
fn missing(name: &str, header: bool, wanted: &str, part: Part, names: &[String]) -> TraceError {
    let (what, cure) = match header {
        true => (
            format!(
                "no column is called {}, which is to hold the {} of requests; there are: {}",
                quoted(wanted),
                part.name(),
                names.join(", ")
            ),
            format!("name another with --columns {}=NAME, or give its number from 1", part.name()),
        ),
        false => (
            format!("no column holds the {} of requests", part.name()),
            format!("give its number from 1 with --columns {}=NUMBER", part.name()),
        ),
    };
    TraceError::new(ErrorCause::Malformed, name, what, cure)
}

impl LineParser for OwnColumns {
    const UNITS: Units = Units::BASE;

    fn is_header(&self, line: &[u8]) -> bool {
        self.header.as_deref() == Some(line.trim_ascii())
    }

    fn line(&mut self, line: &[u8], sink: &mut Collector) -> Result<(), Bad> {
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
        let (op_at, word) = cells[Part::Op as usize];
        let (time_at, time) = cells[Part::Time as usize];
        // Told apart so that a short line is called one.
        let time_ns = self.time_ns(time_at, time)?;
        if word.is_empty() {
            return Err(Bad::new(op_at, Complaint::Missing(OP)));
        }
        let operation = sink.vocabulary.operation(word).ok_or_else(|| {
            Bad::new(op_at, Complaint::NoOperation(Field { expected: crate::operations::KNOWN, ..OP }))
        })?;
        let Some(op) = operation.op else {
            sink.pass_line();
            return Ok(());
        };
        let units = sink.units;
        let flushes = op == Op::Flush;
        let (offset_at, offset) = cells[Part::Offset as usize];
        let (length_at, length) = cells[Part::Length as usize];
        let (offset_bytes, length_bytes) = match flushes {
            true => (0, 0),
            false => (
                bytes(offset_at, offset, Field::OFFSET, units.offset_bytes, OFFSET_BYTES_MAX, BEYOND_OFFSET)?,
                bytes(length_at, length, Field::LENGTH, units.length_bytes, LENGTH_BYTES_MAX, BEYOND_LENGTH)?
                    as u32,
            ),
        };
        let time_ns = sink.time(time_ns as u64, 1, time_at)?;
        let queue = queue(cells[Part::Queue as usize])?;
        let volume = match cells[Part::Volume as usize].1 {
            [] => sink.volume(0, |key| key.to_string()),
            text => sink.volume(self.volume(text), |_| String::from_utf8_lossy(text).into_owned()),
        };
        if op.moves_data() && length_bytes > 0 {
            add_contents(sink, cells[Part::Content as usize], length_bytes)?;
        }
        let request = |op| Parsed { time_ns, time_at, volume, op, offset_bytes, length_bytes };
        sink.push_operation(operation, request)?;
        if queue != 0 && (flushes || length_bytes > 0) {
            sink.flag_last(queue << QUEUE_SHIFT);
        }
        Ok(())
    }
}

impl OwnColumns {
    #[inline]
    fn time_ns(&self, at: usize, text: &[u8]) -> Result<i64, Bad> {
        if text.is_empty() {
            return Err(Bad::new(at, Complaint::Missing(TIME)));
        }
        let ns = match exact::decimal(text, self.units().time_ns) {
            Some((_, false)) if !self.said[0] => {
                return Err(Bad::new(at, Complaint::NotA(WHOLE_TIME)));
            }
            Some((ns, _)) => Some(ns),
            None => exact::moment_ns(text),
        };
        let ns = ns.ok_or_else(|| Bad::new(at, Complaint::NotA(TIME)))?;
        // Half of 64 bits, so that times can be subtracted.
        let fits = i64::try_from(ns).ok().filter(|ns| ns.unsigned_abs() < 1 << 62);
        fits.ok_or_else(|| Bad::new(at, Complaint::Beyond(TIME, "more than 146 years from 1970")))
    }
}

#[inline]
fn bytes(
    at: usize,
    text: &[u8],
    field: Field,
    unit: u64,
    most: u64,
    limit: &'static str,
) -> Result<u64, Bad> {
    let units = match text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) {
        Some(digits) => std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(|units| in_bytes(units, unit, most).ok_or(limit)),
        // A float of pandas, where some cells are empty, is a whole number as well.
        None => exact::decimal(text, unit).and_then(|(bytes, whole)| {
            let range = u64::try_from(bytes).ok().filter(|&bytes| bytes <= most).ok_or(limit);
            (whole && bytes >= 0).then_some(range)
        }),
    };
    match units {
        Some(Ok(bytes)) => Ok(bytes),
        Some(Err(limit)) => Err(Bad::new(at, Complaint::Beyond(field, limit))),
        None if text.is_empty() => Err(Bad::new(at, Complaint::Missing(field))),
        None if text.starts_with(b"-") => Err(Bad::new(at, Complaint::Negative(field))),
        None => Err(Bad::new(at, Complaint::NotA(field))),
    }
}

#[inline]
fn queue((at, text): (usize, &[u8])) -> Result<u8, Bad> {
    if text.is_empty() {
        return Ok(0);
    }
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u8>().ok());
    number.filter(|&queue| usize::from(queue) < QUEUES).ok_or_else(|| Bad::new(at, Complaint::NotA(QUEUE)))
}

/// One text for a request of one chunk; digests of 32 hex digits behind one another for more. Equal texts are equal
/// contents.
#[inline]
fn add_contents(sink: &mut Collector, (at, text): (usize, &[u8]), length_bytes: u32) -> Result<(), Bad> {
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
