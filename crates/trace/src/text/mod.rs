//! Text traces: lines in, columns out.

mod collect;
mod digits;
mod fields;
mod intern;

pub(crate) use collect::{Collector, Parsed};
pub(crate) use digits::{add_contents, check_digest};
pub(crate) use fields::{Bad, Complaint, Field, Fields, SECTOR_BYTES};

use crate::error::{Cause, TraceError};
use crate::format::Format;
use crate::input::{self, Blocks};
use crate::progress::Progress;
use crate::quality::BAD_LINES_LISTED;
use crate::trace::{OnBadLine, OpenOptions, Trace, finish};

/// Reads the lines of one format. It may keep what it needs of the lines before.
pub(crate) trait LineParser: Sized {
    fn new(options: &OpenOptions) -> Self;

    /// Whether the first line is a header, to be passed over.
    fn is_header(_line: &[u8]) -> bool {
        false
    }

    /// Reads one line, which is not blank and comes without its end.
    fn line(&mut self, line: &[u8], sink: &mut Collector) -> Result<(), Bad>;
}

/// Everything a text reader needs.
pub(crate) struct Text<'a> {
    pub(crate) format: Format,
    pub(crate) trace_name: String,
    pub(crate) blocks: Blocks,
    /// The first block, already read to recognise the format.
    pub(crate) first: Vec<u8>,
    pub(crate) options: &'a OpenOptions,
    pub(crate) progress: &'a dyn Progress,
}

/// How many of `lines` the format can read.
pub(crate) fn lines_that_fit<P: LineParser>(lines: &[&[u8]]) -> usize {
    // Disorder says nothing about the layout.
    let options = OpenOptions { sort_window_ns: u64::MAX, ..OpenOptions::default() };
    let mut parser = P::new(&options);
    let mut sink = Collector::new(&options);
    lines.iter().filter(|line| parser.line(line, &mut sink).is_ok()).count()
}

/// Reads a whole text.
pub(crate) fn read_lines<P: LineParser>(text: Text<'_>) -> Result<Trace, TraceError> {
    let Text { format, trace_name, mut blocks, first, options, progress } = text;
    let mut reader = Reader {
        parser: P::new(options),
        sink: Collector::new(options),
        name: &blocks.name.clone(),
        skip: options.on_bad_line == OnBadLine::Skip,
    };
    let mut block = first;
    while !block.is_empty() {
        reader.block(&block)?;
        progress.update(blocks.done(), blocks.total);
        if progress.cancelled() {
            return Err(TraceError::cancelled(&blocks.name));
        }
        block = blocks.next(block)?;
    }
    let (columns, volumes, quality) = reader.sink.into_parts();
    if columns.time_ns.is_empty() {
        return Err(nothing_in(&blocks.name, quality.bad_lines.first()));
    }
    Ok(finish(&trace_name, format, columns, volumes, quality))
}

fn nothing_in(name: &str, bad_line: Option<&String>) -> TraceError {
    match bad_line {
        None => input::empty(name),
        Some(line) => TraceError::new(
            Cause::Empty,
            name,
            format!("no line could be read, all were skipped (the first: {line})"),
            "check the format, or choose another with --format",
        ),
    }
}

struct Reader<'a, P> {
    parser: P,
    sink: Collector,
    name: &'a str,
    skip: bool,
}

impl<P: LineParser> Reader<'_, P> {
    /// Reads a block of whole lines.
    fn block(&mut self, block: &[u8]) -> Result<(), TraceError> {
        let mut rest = block;
        while !rest.is_empty() {
            let (line, behind) = match memchr::memchr(b'\n', rest) {
                Some(newline) => (&rest[..newline], &rest[newline + 1..]),
                None => (rest, &rest[rest.len()..]),
            };
            rest = behind;
            self.sink.quality.lines += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Err(bad) = self.parser.line(line, &mut self.sink) {
                self.bad_line(line, &bad)?;
            }
        }
        Ok(())
    }

    /// A line that the parser did not like: blank, a comment, a header, or really bad.
    #[cold]
    fn bad_line(&mut self, line: &[u8], bad: &Bad) -> Result<(), TraceError> {
        let number = self.sink.quality.lines;
        if is_blank(line) || (number == 1 && P::is_header(line)) {
            return Ok(());
        }
        let error = bad.to_error(self.name, number, line);
        if !self.skip {
            return Err(error);
        }
        let quality = &mut self.sink.quality;
        quality.bad_lines_skipped += 1;
        if quality.bad_lines.len() < BAD_LINES_LISTED {
            quality.bad_lines.push(format!("{}: {}", error.place, error.what));
        }
        Ok(())
    }
}

/// Whether a line says nothing: blank, or a comment.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().first().is_none_or(|&byte| byte == b'#')
}
