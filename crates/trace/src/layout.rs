//! Layouts of the user's own: which column of a text holds what. Names of headers, and the call that would read a file.

use std::cmp::Reverse;

use hashbrown::HashSet;

use crate::error::{ErrorCause, TraceError, quoted};
use crate::operations::Vocabulary;
use crate::text::exact;
use crate::units::time_unit_ns;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Time,
    Op,
    Offset,
    Length,
    Volume,
    Content,
    Queue,
    Stream,
}

pub(crate) const PARTS: usize = 8;
/// Parts that every request has come first.
const NEEDED: usize = 4;

/// Name, canonical column, and names in headers of others (small letters, no signs, without a unit).
static NAMES: [(&str, &str, &str); PARTS] = [
    (
        "time",
        "time_ns",
        "timestamp ts when date datetime starttime start arrival arrivaltime issuetime requesttime iotime",
    ),
    (
        "op",
        "op",
        "optype opcode type iotype rw rwbs operation action cmd command direction dir iswrite requesttype ioop kind what",
    ),
    (
        "offset",
        "offset_bytes",
        "lba lbn sector startsector startingsector address addr byteoffset fileoffset block blkno position pos startlba slba",
    ),
    (
        "length",
        "length_bytes",
        "size len bytes sectors nsectors nrsectors count blocks nblocks iosize requestsize requestiosize nlb nbytes",
    ),
    (
        "volume",
        "volume",
        "volumeid device deviceid disk diskno diskid disknumber dev lun asu host hostname filename file",
    ),
    ("content", "content", "hash digest md5 sha1 sha256 fingerprint"),
    ("queue", "queue", "sq"),
    ("stream", "stream", "streamid placementid placementhandle"),
];

impl Part {
    pub(crate) const ALL: [Part; PARTS] = [
        Part::Time,
        Part::Op,
        Part::Offset,
        Part::Length,
        Part::Volume,
        Part::Content,
        Part::Queue,
        Part::Stream,
    ];

    pub(crate) fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    pub(crate) fn canonical(self) -> &'static str {
        NAMES[self as usize].1
    }

    pub(crate) fn is_needed(self) -> bool {
        (self as usize) < NEEDED
    }

    /// What a header's name stands for, and the unit that it has behind it (`time_us`, `TIME(s)`, `io_bytes`).
    fn of_header(name: &str) -> Option<(Part, Option<&'static str>)> {
        let lower = name.to_ascii_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let unit = |word: &&str| match *word {
            "s" | "sec" | "seconds" => Some("s"),
            "ms" => Some("ms"),
            "us" => Some("us"),
            "ns" => Some("ns"),
            "bytes" => Some("1"),
            "sectors" | "512" => Some("512"),
            _ => None,
        };
        let known = |words: &[&str]| {
            let joined = words.concat();
            let knows = |part: &Part| {
                let (name, _, others) = NAMES[*part as usize];
                name == joined || others.split(' ').any(|other| other == joined)
            };
            Part::ALL.into_iter().find(knows)
        };
        let last = words.last().and_then(unit);
        match known(&words) {
            Some(part) if words.len() == 1 => Some((part, None)),
            Some(part) => Some((part, last)),
            None if words.len() > 1 && last.is_some() => Some((known(&words[..words.len() - 1])?, last)),
            None => None,
        }
    }
}

/// A column by its name in the header or its number from 1, and its unit in nanoseconds or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) place: Place,
    pub(crate) unit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Name(String),
    Number(usize),
}

/// The columns of a text of any layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) columns: [Option<Column>; PARTS],
    /// `None`: by its looks.
    pub(crate) delimiter: Option<Delimiter>,
    /// Whether the first line may be one of names.
    pub(crate) header: bool,
}

/// What parts the fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    Byte(u8),
    /// Any number of blanks and tabs.
    Blanks,
}

impl Delimiter {
    pub(crate) const USUAL: [Delimiter; 5] = [
        Delimiter::Byte(b','),
        Delimiter::Byte(b'\t'),
        Delimiter::Byte(b';'),
        Delimiter::Byte(b'|'),
        Delimiter::Blanks,
    ];

    fn of(text: &str) -> Option<Delimiter> {
        match text {
            "tab" | "\\t" => Some(Delimiter::Byte(b'\t')),
            "blank" | "blanks" | " " => Some(Delimiter::Blanks),
            _ => match text.as_bytes() {
                &[byte] if !byte.is_ascii_alphanumeric() && byte != b'"' => Some(Delimiter::Byte(byte)),
                _ => None,
            },
        }
    }

    /// The fields of a line without quotes around them.
    pub(crate) fn fields(self, line: &[u8]) -> Vec<&[u8]> {
        let (mut fields, mut at) = (Vec::new(), 0);
        while at <= line.len()
            && let Some((start, end, next)) = self.field(&line[at..])
        {
            fields.push(&line[at + start..at + end]);
            at += next;
        }
        fields
    }

    /// The first field of a line, from and to, and where the next one begins.
    #[inline]
    pub(crate) fn field(self, line: &[u8]) -> Option<(usize, usize, usize)> {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        match self {
            Delimiter::Blanks => {
                let start = line.iter().position(|byte| !is_blank(byte))?;
                let length = line[start..].iter().position(is_blank);
                let end = length.map_or(line.len(), |length| start + length);
                Some((start, end, end + 1))
            }
            Delimiter::Byte(delimiter) => {
                let skipped = line.iter().take_while(|&&byte| byte == b' ').count();
                if let Some(b'"') = line.get(skipped) {
                    let close = memchr::memchr(b'"', &line[skipped + 1..])? + skipped + 1;
                    let behind = memchr::memchr(delimiter, &line[close..]);
                    return Some((skipped + 1, close, behind.map_or(line.len(), |at| close + at) + 1));
                }
                let next = memchr::memchr(delimiter, &line[skipped..]).map_or(line.len(), |at| skipped + at);
                let blanks = line[skipped..next].iter().rev().take_while(|&&byte| byte == b' ').count();
                Some((skipped, next - blanks, next + 1))
            }
        }
    }
}

impl Layout {
    /// From the names of parts with columns, such as `offset` with `4:512` or `LBA:512`.
    pub fn new<'a>(
        columns: impl IntoIterator<Item = (&'a str, &'a str)>,
        delimiter: Option<&str>,
        header: bool,
    ) -> Result<Layout, TraceError> {
        let wrong = |what: String, cure: &str| TraceError::new(ErrorCause::Argument, "columns", what, cure);
        let mut layout = Layout { columns: Default::default(), delimiter: None, header };
        if let Some(text) = delimiter {
            let cure = "give one sign, such as ';', or tab, or blanks";
            let unknown = || wrong(format!("{} parts no fields", quoted(text)), cure);
            layout.delimiter = Some(Delimiter::of(text).ok_or_else(unknown)?);
        }
        for (name, text) in columns {
            let Some(part) = Part::ALL.into_iter().find(|part| part.name() == name) else {
                let known: Vec<&str> = Part::ALL.iter().map(|part| part.name()).collect();
                let what = format!("a request has no {}", quoted(name));
                return Err(wrong(what, &format!("it has {}", known.join(", "))));
            };
            let column = column(part, text).ok_or_else(|| {
                let what = format!("{} is no column for {name}", quoted(text));
                wrong(what, "give a name or a number from 1, and a unit where there is one: time=1:us")
            })?;
            if !header && matches!(column.place, Place::Name(_)) {
                let what = format!("{} is the name of a column, but there is no header", quoted(text));
                return Err(wrong(what, "give the column's number from 1, or leave --no-header out"));
            }
            layout.columns[part as usize] = Some(column);
        }
        Ok(layout)
    }

    /// The canonical columns, by name.
    pub(crate) fn canonical() -> Layout {
        Layout { columns: Default::default(), delimiter: None, header: true }
    }
}

fn column(part: Part, text: &str) -> Option<Column> {
    let unit = |unit: &str| match part {
        Part::Time => time_unit_ns(unit).ok(),
        Part::Offset | Part::Length => unit.parse().ok().filter(|&bytes: &u64| bytes > 0),
        _ => None,
    };
    let split = text.rsplit_once(':').and_then(|(name, end)| Some((name, unit(end)?)));
    let (name, unit) = split.map_or((text, None), |(name, unit)| (name, Some(unit)));
    let place = match name.parse::<usize>() {
        Ok(0) => return None,
        Ok(number) => Place::Number(number),
        Err(_) if name.is_empty() => return None,
        Err(_) => Place::Name(name.to_owned()),
    };
    Some(Column { place, unit })
}

/// Whether a line names columns in the order of `parts`, such as `time,other,op`.
pub(crate) fn names(line: &[u8], parts: &str) -> bool {
    let fields = Delimiter::Byte(b',').fields(line);
    fields.len() == parts.split(',').count()
        && fields.iter().zip(parts.split(',')).all(|(field, part)| {
            let name = std::str::from_utf8(field).unwrap_or_default();
            let named = Part::of_header(name).map(|(part, _)| part.name());
            named == Some(part) || (part == "other" && is_word(field) && named.is_none())
        })
}

fn is_word(field: &[u8]) -> bool {
    field.first().is_some_and(u8::is_ascii_alphabetic)
}

/// The fields of a line that is one of names: at least three of them, all words, of which two are known.
pub(crate) fn header_of(line: &[u8]) -> Option<Vec<String>> {
    let fields = Delimiter::USUAL.map(|delimiter| delimiter.fields(line));
    let fields = fields.into_iter().max_by_key(Vec::len)?;
    let names: Vec<String> =
        fields.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect();
    let known = names.iter().filter(|name| Part::of_header(name).is_some()).count();
    (fields.len() >= 3 && known >= 2 && fields.iter().all(|field| is_word(field))).then_some(names)
}

/// The option that would read a text: from its header, or by the looks of its first lines.
pub(crate) fn proposal(lines: &[&[u8]]) -> String {
    let named = lines.first().and_then(|line| header_of(line));
    match &named {
        Some(names) => option(Some(names), by_names(names)),
        None => option(None, by_looks(lines)),
    }
}

/// The option that would read columns of these names.
pub fn columns_option(names: &[String]) -> String {
    option(Some(names), by_names(names))
}

fn option(named: Option<&[String]>, chosen: Chosen) -> String {
    let simple = |name: &&String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let parts = Part::ALL.into_iter().filter_map(|part| match chosen[part as usize] {
        Some((column, unit)) => {
            let name = named.map(|names| &names[column]).filter(simple);
            let name = name.map_or_else(|| (column + 1).to_string(), String::clone);
            Some(format!("{}={name}{}", part.name(), unit.map_or(String::new(), |unit| format!(":{unit}"))))
        }
        None => part.is_needed().then(|| format!("{}=COLUMN", part.name())),
    });
    format!("--columns '{}'", parts.collect::<Vec<_>>().join(","))
}

/// For each part its column from 0 and its unit.
type Chosen = [Option<(usize, Option<&'static str>)>; PARTS];

fn by_names(names: &[String]) -> Chosen {
    let mut chosen = Chosen::default();
    for (column, name) in names.iter().enumerate() {
        if let Some((part, unit)) = Part::of_header(name) {
            let lower = name.to_ascii_lowercase();
            let sectors = lower.contains("sector") || lower.contains("lb");
            chosen[part as usize].get_or_insert((column, unit.or(sectors.then_some("512"))));
        }
    }
    // A lone T is the time, or the type beside a time.
    if let Some(column) = names.iter().position(|name| name.eq_ignore_ascii_case("t")) {
        let part = if chosen[Part::Time as usize].is_some() { Part::Op } else { Part::Time };
        chosen[part as usize].get_or_insert((column, None));
    }
    chosen
}

fn by_looks(lines: &[&[u8]]) -> Chosen {
    let comma = lines.first().is_some_and(|line| line.contains(&b','));
    let delimiter = if comma { Delimiter::Byte(b',') } else { Delimiter::Blanks };
    let rows: Vec<Vec<&[u8]>> = lines.iter().map(|line| delimiter.fields(line)).collect();
    let columns = rows.iter().map(Vec::len).min().unwrap_or(0);
    let vocabulary = Vocabulary::default();
    let op = (0..columns).find(|&at| rows.iter().all(|row| vocabulary.operation(row[at]).is_some()));
    let of = |at: usize| {
        let values = rows.iter().map(|row| Some(exact::decimal(row[at], 1_000_000_000)?.0));
        values.collect::<Option<Vec<i128>>>().map(|values| (at, values))
    };
    let numbers: Vec<(usize, Vec<i128>)> = (0..columns).filter(|&at| Some(at) != op).filter_map(of).collect();
    let rising = numbers.iter().filter(|(_, values)| values.is_sorted() && values.first() < values.last());
    // Clocks have fractions or count from 1970, or come first; sequential addresses rise as well.
    const BILLION_UNITS: i128 = 1_000_000_000_000_000_000;
    let is_clock = |(at, values): &(usize, Vec<i128>)| {
        (rows[0][*at].contains(&b'.'), values[0] >= BILLION_UNITS, Reverse(*at))
    };
    let time = rising.max_by_key(|&column| is_clock(column));
    let time = time.map(|&(at, _)| at);
    let rest = || numbers.iter().filter(|&&(at, _)| Some(at) != time);
    let distinct = |values: &[i128]| values.iter().collect::<HashSet<_>>().len();
    let offset = rest().max_by_key(|(_, values)| distinct(values)).map(|&(at, _)| at);
    let sizes = || rest().filter(|(at, values)| Some(*at) != offset && values.iter().all(|&value| value > 0));
    let length = sizes().find(|(at, _)| Some(*at) > offset).or_else(|| sizes().next_back());
    let mut chosen = Chosen::default();
    let found = [time, op, offset, length.map(|&(at, _)| at)];
    chosen[..NEEDED].copy_from_slice(&found.map(|column| column.map(|column| (column, None))));
    chosen
}
