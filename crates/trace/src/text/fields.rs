//! The fields of a line: numbers, times, words, each with its place for error messages.

use crate::error::{ErrorCause, Location, TraceError};
use crate::operations::{self, Operation, Vocabulary};
use crate::request::Op;

pub(crate) const SECTOR_BYTES: u64 = 512;
/// Highest offset accepted: a request of any length then ends below 2^63 bytes.
pub(crate) const OFFSET_BYTES_MAX: u64 = i64::MAX as u64 - u32::MAX as u64;
const LENGTH_BYTES_MAX: u64 = u32::MAX as u64;
pub(crate) const BEYOND_OFFSET: &str = "an offset beyond 2^63 bytes";
const BEYOND_LENGTH: &str = "4 GiB or more";

/// The greatest length of an operation, and how messages call what is beyond. A trim may be that of a whole device.
#[inline]
pub(crate) fn length_max(op: Option<Op>) -> (u64, &'static str) {
    match op {
        Some(Op::Trim) => ((1 << 46) - 1, "64 TiB or more"),
        _ => (LENGTH_BYTES_MAX, BEYOND_LENGTH),
    }
}

/// A field as messages call it: "`name` 'text' is not `expected`".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) expected: &'static str,
}

/// Fields that several formats have.
impl Field {
    pub(crate) const OFFSET: Field = Field::new("offset", "a number of bytes");
    pub(crate) const LENGTH: Field = Field::new("length", "a number of bytes");
    pub(crate) const SIZE: Field = Field::new("size", "a number of bytes");
    pub(crate) const SECTORS: Field = Field::new("size", "a number of 512-byte sectors");
    pub(crate) const ADDRESS: Field = Field::new("address", "a number of 512-byte sectors");
    pub(crate) const DIGEST: Field = Field::new("digest", "hex digits, 32 or 256 for every 4 KB");
    pub(crate) const DEVICE: Field = Field::new("device", "a whole number");
    pub(crate) const PID: Field = Field::new("process id", "a whole number");

    const fn new(name: &'static str, expected: &'static str) -> Field {
        Field { name, expected }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Complaint {
    NotA(Field),
    Missing(Field),
    Negative(Field),
    Beyond(Field, &'static str),
    Surplus,
    NoOperation(Field),
    TooEarly { behind_ns: u64, window_ns: u64 },
    DigestLength { digits: usize, pages: u64, width: usize },
}

/// A line that cannot be read: where on the line (bytes from 0), and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bad {
    pub(crate) at: usize,
    pub(crate) complaint: Complaint,
}

const QUOTED_BYTES_MAX: usize = 40;

impl Bad {
    #[cold]
    pub(crate) fn new(at: usize, complaint: Complaint) -> Bad {
        Bad { at, complaint }
    }

    pub(crate) fn to_error(&self, name: &str, number: u64, line: &[u8]) -> TraceError {
        let quoted = quote(line, self.at);
        let mut cause = ErrorCause::Malformed;
        // The first line may be a header: skipping it would hide that the columns are others.
        let mut cure = match number {
            1 => "correct the line, or say with --columns which column holds what".to_owned(),
            _ => "correct the line, or skip such lines with --on-bad-line skip".to_owned(),
        };
        let what = match &self.complaint {
            Complaint::NotA(field) => format!("{} '{quoted}' is not {}", field.name, field.expected),
            Complaint::Missing(field) if self.at < line.len() => {
                format!("the {} is empty, {} was expected", field.name, field.expected)
            }
            Complaint::Missing(field) => {
                format!("the line ends before its {}, which should be {}", field.name, field.expected)
            }
            Complaint::Negative(field) => {
                format!("{} '{quoted}' is negative, {} was expected", field.name, field.expected)
            }
            Complaint::Beyond(field, limit) => format!("{} '{quoted}' is {limit}", field.name),
            Complaint::Surplus => {
                format!("'{quoted}' is more than the format has fields for, the line should end here")
            }
            Complaint::NoOperation(field) => {
                cure = operations::cure(&quoted);
                format!("{} '{quoted}' is not {}", field.name, field.expected)
            }
            Complaint::TooEarly { behind_ns, window_ns } => {
                cause = ErrorCause::Disorder;
                cure = format!(
                    "sort the file by time, or widen the window: sort_window_ns = {behind_ns} or more (--sort-window on the \
                     command line); if another recording begins here, part the file and append it: flashtwin trace merge \
                     A B --shift 0,TIME"
                );
                format!(
                    "time '{quoted}' is {:.6} s earlier than a request before it, the sorting window is {:.6} s",
                    *behind_ns as f64 / 1e9,
                    *window_ns as f64 / 1e9
                )
            }
            Complaint::DigestLength { digits, pages, width } => format!(
                "the digest has {digits} hex digits, a request of {pages} pages of 4 KB should have {} or {}",
                pages * *width as u64,
                pages * 8 * *width as u64
            ),
        };
        TraceError {
            cause,
            place: Location { input: name.to_owned(), line: Some(number), column: Some(self.at + 1) },
            what,
            cure,
        }
    }
}

fn quote(line: &[u8], at: usize) -> String {
    let rest = line.get(at..).unwrap_or_default();
    let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t' | b',')).unwrap_or(rest.len());
    let shown = &rest[..end.min(QUOTED_BYTES_MAX)];
    let mut text = shown.escape_ascii().to_string();
    if end > QUOTED_BYTES_MAX {
        text.push_str("...");
    }
    text
}

/// Digits of a number that 64 bits hold in any case.
const EXACT_DIGITS: usize = 18;

/// Walks over the fields of a line, which are separated by commas (`COMMA`) or by blanks.
pub(crate) struct Fields<'a, const COMMA: bool> {
    pub(crate) line: &'a [u8],
    pub(crate) at: usize,
}

impl<'a, const COMMA: bool> Fields<'a, COMMA> {
    #[inline]
    pub(crate) fn new(line: &'a [u8]) -> Self {
        let mut fields = Fields { line, at: 0 };
        fields.pass_blanks();
        fields
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    #[inline]
    fn pass_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn ends_field(byte: u8) -> bool {
        matches!(byte, b' ' | b'\t') || (COMMA && byte == b',')
    }

    #[inline]
    fn at_field_end(&self) -> bool {
        self.peek().is_none_or(Self::ends_field)
    }

    #[inline]
    fn pass_separator(&mut self) {
        self.pass_blanks();
        if COMMA && self.peek() == Some(b',') {
            self.at += 1;
            self.pass_blanks();
        }
    }

    #[cold]
    #[inline(never)]
    fn reject(&self, start: usize, field: Field) -> Bad {
        let complaint = match self.line.get(start..) {
            None | Some([]) => Complaint::Missing(field),
            Some([b'-', b'0'..=b'9', ..]) => Complaint::Negative(field),
            Some(_) => Complaint::NotA(field),
        };
        Bad::new(start, complaint)
    }

    /// Digits up to something else; `None` if there is none or they exceed 64 bits.
    #[inline]
    fn digits(&mut self) -> Option<u64> {
        let start = self.at;
        let mut value = 0u64;
        for byte in &self.line[start..] {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            // Cannot be exact beyond 19 digits; checked below.
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        match self.at - start {
            1..=19 => Some(value),
            0 => None,
            _ => self.line[start..self.at]
                .iter()
                .try_fold(0u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))),
        }
    }

    /// An unsigned whole number up to `max`; `limit` describes the limit in the error.
    #[inline]
    pub(crate) fn number(&mut self, field: Field, max: u64, limit: &'static str) -> Result<u64, Bad> {
        let (mut at, mut value) = (self.at, 0u64);
        while let Some(byte @ b'0'..=b'9') = self.line.get(at) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            at += 1;
        }
        // Nearly all numbers are exact and end here.
        let ends = (1..=EXACT_DIGITS).contains(&(at - self.at)) && value <= max;
        match self.line.get(at) {
            None if ends => self.at = at,
            Some(b',') if ends && COMMA => {
                self.at = at + 1;
                self.pass_blanks();
            }
            Some(b' ' | b'\t') if ends => {
                self.at = at + 1;
                self.pass_separator();
            }
            _ => return self.odd_number(field, max, limit),
        }
        Ok(value)
    }

    #[cold]
    fn odd_number(&mut self, field: Field, max: u64, limit: &'static str) -> Result<u64, Bad> {
        let start = self.at;
        let value = self.digits();
        if !self.at_field_end() || self.at == start {
            return Err(self.reject(start, field));
        }
        match value {
            Some(value) if value <= max => {
                self.pass_separator();
                Ok(value)
            }
            _ => Err(Bad::new(start, Complaint::Beyond(field, limit))),
        }
    }

    #[inline]
    pub(crate) fn small(&mut self, field: Field) -> Result<u32, Bad> {
        let value = self.number(field, u64::from(u32::MAX), "beyond 2^32")?;
        Ok(value as u32)
    }

    #[inline]
    pub(crate) fn ticks(&mut self, field: Field) -> Result<u64, Bad> {
        self.number(field, i64::MAX as u64, "beyond 2^63")
    }

    #[inline]
    pub(crate) fn offset(&mut self, field: Field, unit: u64) -> Result<u64, Bad> {
        Ok(self.number(field, OFFSET_BYTES_MAX / unit, BEYOND_OFFSET)? * unit)
    }

    #[inline]
    pub(crate) fn length(&mut self, field: Field, unit: u64, op: Option<Op>) -> Result<u64, Bad> {
        let (most, limit) = length_max(op);
        Ok(self.number(field, most / unit, limit)? * unit)
    }

    /// A decimal number of units of `ns_per_unit` (a power of ten), in nanoseconds; digits below them are cut off.
    #[inline]
    pub(crate) fn decimal_time(&mut self, field: Field, ns_per_unit: u64) -> Result<u64, Bad> {
        let start = self.at;
        let whole = self.digits();
        if self.at == start {
            return Err(self.reject(start, field));
        }
        let mut fraction_ns = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let mut weight = ns_per_unit;
            while let Some(byte @ b'0'..=b'9') = self.peek() {
                weight /= 10;
                fraction_ns += weight * u64::from(byte - b'0');
                self.at += 1;
            }
        }
        if !self.at_field_end() {
            return Err(self.reject(start, field));
        }
        let time = whole
            .and_then(|whole| whole.checked_mul(ns_per_unit))
            .and_then(|ns| ns.checked_add(fraction_ns))
            .filter(|&ns| ns <= i64::MAX as u64);
        self.pass_separator();
        time.ok_or_else(|| Bad::new(start, Complaint::Beyond(field, "beyond 292 years")))
    }

    /// A number of bytes in hex (`0x...`) up to `max`; `limit` describes the limit in the error.
    #[inline]
    fn hex(&mut self, field: Field, max: u64, limit: &'static str) -> Result<u64, Bad> {
        let start = self.at;
        let digits = self.word(field)?.strip_prefix(b"0x").filter(|digits| !digits.is_empty());
        let mut value = 0u64;
        let mut beyond = false;
        for &byte in digits.ok_or_else(|| Bad::new(start, Complaint::NotA(field)))? {
            let digit = char::from(byte).to_digit(16);
            let digit = digit.ok_or_else(|| Bad::new(start, Complaint::NotA(field)))?;
            beyond |= value >> 60 != 0;
            value = value << 4 | u64::from(digit);
        }
        if beyond || value > max { Err(Bad::new(start, Complaint::Beyond(field, limit))) } else { Ok(value) }
    }

    #[inline]
    pub(crate) fn hex_offset(&mut self, field: Field, unit: u64) -> Result<u64, Bad> {
        Ok(self.hex(field, OFFSET_BYTES_MAX / unit, BEYOND_OFFSET)? * unit)
    }

    #[inline]
    pub(crate) fn hex_length(&mut self, field: Field, unit: u64) -> Result<u64, Bad> {
        Ok(self.hex(field, LENGTH_BYTES_MAX / unit, BEYOND_LENGTH)? * unit)
    }

    /// Whether a field between commas is empty; steps over it then.
    #[inline]
    pub(crate) fn nothing(&mut self) -> bool {
        let nothing = COMMA && self.peek() == Some(b',');
        if nothing {
            self.pass_separator();
        }
        nothing
    }

    /// The text of a field; fails when there is none.
    #[inline]
    pub(crate) fn word(&mut self, field: Field) -> Result<&'a [u8], Bad> {
        let start = self.at;
        let rest = &self.line[start..];
        let length = rest.iter().position(|&byte| Self::ends_field(byte));
        let word = &rest[..length.unwrap_or(rest.len())];
        self.at += word.len();
        if word.is_empty() {
            return Err(self.reject(start, field));
        }
        self.pass_separator();
        Ok(word)
    }

    /// What the word of a field stands for, for example an operation.
    #[inline]
    pub(crate) fn meaning<T>(&mut self, field: Field, of: impl Fn(&[u8]) -> Option<T>) -> Result<T, Bad> {
        let start = self.at;
        of(self.word(field)?).ok_or_else(|| Bad::new(start, Complaint::NotA(field)))
    }

    #[inline(always)]
    pub(crate) fn operation(&mut self, name: &'static str, of: &Vocabulary) -> Result<Operation, Bad> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        // Nearly all words of most formats.
        let (length, usual) = match rest {
            [b'R', b'e', b'a', b'd', ..] => (4, operations::READ),
            [b'W', b'r', b'i', b't', b'e', ..] => (5, operations::WRITE),
            [b'R' | b'r', ..] => (1, operations::READ),
            [b'W' | b'w', ..] => (1, operations::WRITE),
            _ => return self.any_operation(name, of),
        };
        if !of.is_plain() || !rest.get(length).is_some_and(|&end| Self::ends_field(end)) {
            return self.any_operation(name, of);
        }
        self.at += length;
        self.pass_separator();
        Ok(usual)
    }

    #[inline(never)]
    fn any_operation(&mut self, name: &'static str, of: &Vocabulary) -> Result<Operation, Bad> {
        let (start, field) = (self.at, Field::new(name, operations::KNOWN));
        let word = self.word(field)?;
        of.operation(word).ok_or_else(|| Bad::new(start, Complaint::NoOperation(field)))
    }

    #[inline]
    pub(crate) fn ended(&self) -> bool {
        self.at >= self.line.len()
    }

    #[inline]
    pub(crate) fn end(&self) -> Result<(), Bad> {
        if self.ended() { Ok(()) } else { Err(Bad::new(self.at, Complaint::Surplus)) }
    }
}
