//! The formats: one file each, one row each in [`REGISTRY`].
//!
//! To add a text format: write a file with a [`LineParser`] and a [`Row`], and name the row below.
//! Recognition needs no code of its own: a format fits when its parser reads the first lines.

mod alibaba;
mod blkparse;
mod cloudphysics;
mod columns;
mod disksim;
mod etw;
mod fio;
mod fiu;
mod foreign;
mod mqsim;
mod msr;
mod oracle_general;
pub(crate) mod parquet;
mod recognition;
mod spc;
mod systor;
mod tencent;

use std::str::FromStr;

use crate::error::{ErrorCause, TraceError, quoted};
use crate::feed::{Feed, Opened};
use crate::input::{Blocks, Input, Source};
use crate::layout::Layout;
use crate::options::{Format, OpenOptions};
use crate::progress::Progress;
use crate::text::{LineParser, Text, Trial, is_blank};
use crate::units::Units;

use columns::OwnColumns;
use recognition::{LINES_LOOKED_AT, lines_of, recognise};

static REGISTRY: &[Row] = &[
    fiu::ROW,
    msr::ROW,
    etw::ROW,
    spc::ROW,
    blkparse::ROW,
    fio::ROW,
    alibaba::ROW,
    tencent::ROW,
    systor::ROW,
    cloudphysics::ROW,
    mqsim::ROW,
    disksim::ROW_SECTORS,
    disksim::ROW_BYTES,
    oracle_general::ROW,
    parquet::ROW,
    COLUMNS,
];

/// Any text, with columns as the user says, or canonical ones.
const COLUMNS: Row = Row {
    name: "columns",
    aliases: &[],
    layout: "columns as --columns says, or with the canonical names",
    units: Units::BASE,
    yields_to: None,
    reader: Reader::Columns,
};

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) layout: &'static str,
    /// The usual ones.
    pub(crate) units: Units,
    /// The format that wins over this one where both read as many lines.
    pub(crate) yields_to: Option<&'static str>,
    pub(crate) reader: Reader,
}

impl Row {
    const fn text<P: LineParser>(
        name: &'static str,
        aliases: &'static [&'static str],
        layout: &'static str,
    ) -> Row {
        let reader = Reader::Text { fit: Trial::usual::<P>, open: Text::<P>::open };
        Row { name, aliases, layout, units: P::UNITS, yields_to: None, reader }
    }

    fn format(&self) -> Format {
        Format { name: self.name, units: self.units }
    }
}

pub(crate) enum Reader {
    Text {
        fit: fn(&[&[u8]], &OpenOptions) -> Trial,
        open: fn(Blocks, Vec<u8>, &OpenOptions, u64) -> Box<dyn Feed>,
    },
    Parquet,
    Columns,
}

impl Format {
    /// The canonical Parquet.
    pub const PARQUET: Format = Format { name: parquet::ROW.name, units: Units::BASE };

    /// All formats that can be read.
    pub fn all() -> impl Iterator<Item = Format> {
        REGISTRY.iter().map(Row::format)
    }

    /// Layout of a line (or a row).
    pub fn layout(self) -> &'static str {
        self.row().map_or("", |row| row.layout)
    }

    fn row(self) -> Option<&'static Row> {
        REGISTRY.iter().find(|row| row.name == self.name)
    }
}

impl FromStr for Format {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<Format, TraceError> {
        let wanted = name.to_ascii_lowercase();
        let called = |row: &&Row| row.name == wanted || row.aliases.contains(&wanted.as_str());
        match REGISTRY.iter().find(called) {
            Some(row) => Ok(row.format()),
            None => Err(TraceError::new(
                ErrorCause::Argument,
                "format",
                format!("there is no format {}", quoted(name)),
                format!("use one of {}", supported()),
            )),
        }
    }
}

fn supported() -> String {
    let names: Vec<&str> = REGISTRY.iter().map(|row| row.name).collect();
    names.join(", ")
}

fn known_endings() -> Vec<&'static str> {
    let compressions = ["gz", "zst", "xz", "bz2", "lz4", "zip", "tar", "tgz"];
    let texts = ["csv", "tsv", "trace", "ascii", "txt", "log", "blkparse"];
    let formats = REGISTRY.iter().flat_map(|row| [&[row.name], row.aliases].concat());
    compressions.into_iter().chain(texts).chain(formats).collect()
}

/// `digests`: whether the digests of contents are read as well.
pub(crate) fn open(
    source: &Source,
    options: &OpenOptions,
    digests: bool,
    progress: &dyn Progress,
) -> Result<Opened, TraceError> {
    let mut input = Input::open(source, options.format)?;
    let trace_name = source.trace_name(&known_endings());
    let is_parquet = input.peek(parquet::MAGIC.len())? == parquet::MAGIC;
    if is_parquet {
        if let Some(other) = options.format.filter(|format| format.name != Format::PARQUET.name) {
            return Err(TraceError::new(
                ErrorCause::Malformed,
                &input.name,
                format!("this is a Parquet file, {other} was asked for"),
                "leave --format out, or use --format parquet",
            ));
        }
        let mut format = Format::PARQUET;
        if options.layout.is_some() {
            check_table(source, options, progress)?;
            format.units = options.units(Units::BASE);
        }
        let feed = parquet::open(source, input, options, digests)?;
        return Ok(Opened { name: trace_name, format, feed });
    }
    let name = input.name.clone();
    let mut blocks = input.into_blocks(options.threaded);
    let Beginning { block, blank_lines } = beginning(&mut blocks, &name, progress)?;
    let lines = lines_of(&block);
    let canonical = Layout::canonical();
    let mut layout = options.layout.as_ref();
    if let Some(format) = options.format.filter(|format| format.name != COLUMNS.name)
        && layout.is_some()
    {
        return Err(TraceError::new(
            ErrorCause::Argument,
            &name,
            format!("the format {format} has columns and a delimiter of its own"),
            "leave out --format, or else --columns, --delimiter and --no-header",
        ));
    }
    if options.format.is_some_and(|format| format.name == COLUMNS.name)
        || is_canonical(&lines, options.format)
    {
        layout = layout.or(Some(&canonical));
    }
    if let Some(layout) = layout {
        let (parser, options) = own_columns(&name, layout, options, &lines)?;
        let units = options.units(Units::BASE);
        let time_ns = if parser.has_dates(&lines) { 0 } else { units.time_ns };
        let feed = Text::with(parser, units, blocks, block, &options, blank_lines);
        let format = Format { units: Units { time_ns, ..units }, ..COLUMNS.format() };
        return Ok(Opened { name: trace_name, format, feed });
    }
    let row = match options.format {
        Some(format) => format.row(),
        None => Some(recognise(&name, &lines, options)?),
    };
    let Some((row, open)) = row.and_then(|row| match row.reader {
        Reader::Text { open, .. } => Some((row, open)),
        Reader::Parquet | Reader::Columns => None,
    }) else {
        return Err(TraceError::new(
            ErrorCause::Malformed,
            &name,
            "this is not a Parquet file: it does not begin with PAR1",
            "leave --format out, the format is then recognised by its content",
        ));
    };
    let feed = open(blocks, block, options, blank_lines);
    Ok(Opened { name: trace_name, format: Format { units: options.units(row.units), ..row.format() }, feed })
}

/// Whether a text of no format has the canonical names in its first line.
fn is_canonical(lines: &[&[u8]], format: Option<Format>) -> bool {
    let options = OpenOptions::default();
    let made = |line: &&[u8]| OwnColumns::new("", &Layout::canonical(), &options, line).is_ok();
    format.is_none() && lines.first().is_some_and(made)
}

/// The parser for columns of the user's own, and the options with all units of them.
fn own_columns(
    name: &str,
    layout: &Layout,
    options: &OpenOptions,
    lines: &[&[u8]],
) -> Result<(OwnColumns, OpenOptions), TraceError> {
    let Some(line) = lines.first() else { return Err(crate::input::empty(name)) };
    let (parser, units) = OwnColumns::new(name, layout, options, line)?;
    let mut options = OpenOptions {
        time_unit_ns: Some(units.time_ns),
        offset_unit_bytes: Some(units.offset_bytes),
        length_unit_bytes: Some(units.length_bytes),
        ..options.clone()
    };
    if parser.has_numbers {
        options.op_words = options.op_words.with_numbers();
    }
    let trial = Trial::of(parser.clone(), lines, &options, units);
    check_units(name, &trial, parser.units_are_said).map(|()| (parser, options))
}

/// As [`own_columns`], for canonical Parquet that was made of somebody's table in the units of `options`.
fn check_table(source: &Source, options: &OpenOptions, progress: &dyn Progress) -> Result<(), TraceError> {
    let units = [options.time_unit_ns, options.offset_unit_bytes, options.length_unit_bytes];
    let mut feed = parquet::open(source, Input::open(source, None)?, options, false)?;
    let columns = feed.read(LINES_LOOKED_AT, progress)?;
    let trial = Trial::of_requests(columns, feed.volumes().len() as usize);
    check_units(&source.label(), &trial, units.iter().all(Option::is_some))
}

/// Refuses requests that cannot be a disk's, unless all units are said.
fn check_units(name: &str, trial: &Trial, are_said: bool) -> Result<(), TraceError> {
    match recognition::implausible(trial).filter(|_| !are_said) {
        None => Ok(()),
        Some(fault) => {
            let cure = "check the columns, and give --time-unit, --offset-unit and --length-unit: 512 for sectors, 1 \
                        says that they are bytes";
            Err(TraceError::new(ErrorCause::UnknownFormat, name, fault, cure))
        }
    }
}

struct Beginning {
    /// Whole lines, enough to recognise the format unless the text has no more.
    block: Vec<u8>,
    blank_lines: u64,
}

/// Reads until there are lines with content, however many blank lines and comments precede them.
fn beginning(blocks: &mut Blocks, name: &str, progress: &dyn Progress) -> Result<Beginning, TraceError> {
    let mut block = blocks.next(Vec::new())?;
    refuse_binary(name, &block)?;
    let (mut telling, mut blank_lines) = (telling_lines(&block), 0);
    while telling < LINES_LOOKED_AT {
        progress.update(blocks.done(), blocks.total);
        if progress.cancelled() {
            return Err(TraceError::cancelled(name));
        }
        let room = if telling == 0 { std::mem::take(&mut block) } else { Vec::new() };
        if telling == 0 {
            blank_lines += memchr::memchr_iter(b'\n', &room).count() as u64;
        }
        let more = blocks.next(room)?;
        if more.is_empty() {
            break;
        }
        if telling == 0 {
            refuse_binary(name, &more)?;
        }
        telling += telling_lines(&more);
        block.extend_from_slice(&more);
        if telling > 0 && block.len() >= RECOGNITION_BYTES_MAX {
            break;
        }
    }
    match block.is_empty() {
        true => Err(crate::input::empty(name)),
        false => Ok(Beginning { block, blank_lines }),
    }
}

fn telling_lines(block: &[u8]) -> usize {
    block.split(|&byte| byte == b'\n').filter(|line| !is_blank(line)).take(LINES_LOOKED_AT).count()
}

/// Bytes of the beginning that are searched for bytes that do not occur in text.
const BINARY_LOOK_BYTES: usize = 64 * 1024;

fn refuse_binary(name: &str, first: &[u8]) -> Result<(), TraceError> {
    let look = &first[..first.len().min(BINARY_LOOK_BYTES)];
    let Some(at) = look.iter().position(|&byte| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
    else {
        return Ok(());
    };
    Err(TraceError::new(
        ErrorCause::UnknownFormat,
        name,
        format!(
            "this is binary data (byte {:#04x} at offset {at}), a text trace or Parquet was expected",
            look[at]
        ),
        format!("convert it to one of the supported formats: {}", supported()),
    ))
}

/// Bytes of the beginning, comments included, after which fewer lines have to do.
const RECOGNITION_BYTES_MAX: usize = 64 << 20;
