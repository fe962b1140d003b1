//! Text traces: lines in, columns out.

mod collect;
mod digits;
mod fields;
mod intern;

pub(crate) use collect::{Collector, Parsed};
pub(crate) use digits::{add_contents, check_digest};
pub(crate) use fields::{Bad, Complaint, Field, Fields, SECTOR_BYTES};

use crate::columns::Columns;
use crate::error::{ErrorCause, TraceError};
use crate::feed::{Feed, Parts};
use crate::input::{self, Blocks};
use crate::memory;
use crate::options::{OnBadLine, OpenOptions};
use crate::progress::Progress;
use crate::quality::BAD_LINES_LISTED;
use crate::volumes::Volumes;

/// Reads the lines of one format. It may keep state of the lines before.
pub(crate) trait LineParser: Default + Send + 'static {
    /// The cure if lines were skipped and none was a request.
    const NO_REQUESTS: &'static str = "";

    fn configure(&mut self, _options: &OpenOptions) {}

    /// Whether the first line that is neither blank nor a comment is a header, to be passed over.
    fn is_header(_line: &[u8]) -> bool {
        false
    }

    /// Reads one line, which is not blank and comes without its end.
    fn line(&mut self, line: &[u8], sink: &mut Collector) -> Result<(), Bad>;
}

/// How many of `lines` the format can read.
pub(crate) fn lines_that_fit<P: LineParser>(lines: &[&[u8]]) -> usize {
    // Disorder says nothing about the layout.
    let options = OpenOptions { sort_window_ns: u64::MAX, ..OpenOptions::default() };
    let mut parser = P::default();
    parser.configure(&options);
    let mut sink = Collector::new(&options);
    lines.iter().filter(|line| parser.line(line, &mut sink).is_ok()).count()
}

/// Reads blocks of lines into a collector: a [`LineParser`] whose format is forgotten.
pub(crate) trait Lines: Send {
    fn block(&mut self, block: &[u8]) -> Result<(), TraceError>;

    fn sink(&mut self) -> &mut Collector;

    fn seen(&self) -> &Collector;

    fn no_requests(&self) -> &'static str;

    fn into_parts(self: Box<Self>) -> Parts;
}

/// A reader of lines for the input called `name`, of which `lines_before` lines have been passed over.
pub(crate) fn lines<P: LineParser>(name: &str, options: &OpenOptions, lines_before: u64) -> Box<dyn Lines> {
    let mut sink = Collector::new(options);
    sink.quality.lines = lines_before;
    let skip = options.on_bad_line == OnBadLine::Skip;
    let mut parser = P::default();
    parser.configure(options);
    Box::new(Reader { parser, sink, name: name.to_owned(), skip, begun: false })
}

/// No line of a request is shorter than this many bytes.
const LINE_BYTES: usize = 8;

/// The requests of a text.
pub(crate) struct Text {
    blocks: Blocks,
    /// The block to be read next, empty at the end.
    block: Vec<u8>,
    lines: Box<dyn Lines>,
    any: bool,
}

impl Text {
    /// `first` is the first block, already taken from `blocks` to recognise the format.
    pub(crate) fn new(blocks: Blocks, first: Vec<u8>, lines: Box<dyn Lines>) -> Text {
        Text { blocks, block: first, lines, any: false }
    }

    fn nothing(&self) -> TraceError {
        let name = &self.blocks.name;
        let quality = &self.lines.seen().quality;
        if let Some(line) = quality.bad_lines.first() {
            let what = format!("no line could be read, all were skipped (the first: {line})");
            let cure = "check the format, or choose another with --format";
            return TraceError::new(ErrorCause::Empty, name, what, cure);
        }
        if quality.passed_lines > 0 {
            let what = format!("there is no request in it, {} lines say other things", quality.passed_lines);
            return TraceError::new(ErrorCause::Empty, name, what, self.lines.no_requests());
        }
        input::empty(name)
    }
}

impl Feed for Text {
    fn read(&mut self, rows: usize, progress: &dyn Progress) -> Result<Columns, TraceError> {
        while !self.ended() && self.lines.seen().rows() <= rows {
            let seen = self.lines.seen();
            memory::check_growth(&self.blocks.name, seen.rows(), seen.bytes(self.block.len() / LINE_BYTES))?;
            self.lines.block(&self.block)?;
            progress.update(self.blocks.done(), self.blocks.total);
            if progress.cancelled() {
                return Err(TraceError::cancelled(&self.blocks.name));
            }
            self.block = self.blocks.next(std::mem::take(&mut self.block))?;
        }
        let at_end = self.ended();
        let columns = self.lines.sink().take(at_end);
        self.any |= columns.len() > 0;
        if at_end && !self.any {
            return Err(self.nothing());
        }
        Ok(columns)
    }

    fn ended(&self) -> bool {
        self.block.is_empty()
    }

    fn latest_ns(&self) -> i64 {
        self.lines.seen().latest_ns()
    }

    fn volumes(&self) -> &Volumes {
        self.lines.seen().volumes()
    }

    fn zero_content(&self) -> Option<u32> {
        self.lines.seen().zero_content()
    }

    fn into_parts(self: Box<Self>, _digests: bool) -> Result<Parts, TraceError> {
        Ok(self.lines.into_parts())
    }
}

struct Reader<P> {
    parser: P,
    sink: Collector,
    name: String,
    skip: bool,
    /// Whether a line that says something has been met that could not be read, a header among them.
    begun: bool,
}

impl<P: LineParser> Lines for Reader<P> {
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

    fn sink(&mut self) -> &mut Collector {
        &mut self.sink
    }

    fn seen(&self) -> &Collector {
        &self.sink
    }

    fn no_requests(&self) -> &'static str {
        P::NO_REQUESTS
    }

    fn into_parts(self: Box<Self>) -> Parts {
        self.sink.into_parts()
    }
}

impl<P: LineParser> Reader<P> {
    /// A line that the parser did not like: blank, a comment, a header, or really bad.
    #[cold]
    fn bad_line(&mut self, line: &[u8], bad: &Bad) -> Result<(), TraceError> {
        let number = self.sink.quality.lines;
        if is_blank(line) {
            return Ok(());
        }
        // A header is the first line that says anything.
        let first = !std::mem::replace(&mut self.begun, true) && self.sink.is_unused();
        if first && P::is_header(line) {
            return Ok(());
        }
        let error = bad.to_error(&self.name, number, line);
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
