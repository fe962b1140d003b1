//! Text traces: lines in, columns out.

mod collect;
mod digits;
mod fields;
mod intern;

pub(crate) use collect::{Collector, Parsed};
pub(crate) use digits::{add_contents, digests};
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

pub(crate) fn lines_that_fit<P: LineParser>(lines: &[&[u8]]) -> usize {
    // Disorder says nothing about the layout.
    let options = OpenOptions { sort_window_ns: u64::MAX, ..OpenOptions::default() };
    let mut parser = P::default();
    parser.configure(&options);
    let mut sink = Collector::new(&options);
    lines.iter().filter(|line| parser.line(line, &mut sink).is_ok()).count()
}

/// No line of a request is shorter than this many bytes.
const LINE_BYTES: usize = 8;

pub(crate) struct Text<P> {
    blocks: Blocks,
    block: Vec<u8>,
    parser: P,
    sink: Collector,
    skip: bool,
    /// Whether a line that says something has been met that could not be read, a header among them.
    begun: bool,
    any: bool,
}

impl<P: LineParser> Text<P> {
    /// `first` is the first block, already taken from `blocks`; `lines_before` lines before it have been passed over.
    pub(crate) fn open(
        blocks: Blocks,
        first: Vec<u8>,
        options: &OpenOptions,
        lines_before: u64,
    ) -> Box<dyn Feed> {
        let (mut parser, mut sink) = (P::default(), Collector::new(options));
        parser.configure(options);
        sink.quality.lines = lines_before;
        let skip = options.on_bad_line == OnBadLine::Skip;
        Box::new(Text { blocks, block: first, parser, sink, skip, begun: false, any: false })
    }

    fn nothing(&self) -> TraceError {
        let name = &self.blocks.name;
        let quality = &self.sink.quality;
        if let Some(line) = quality.bad_lines.first() {
            let what = format!("no line could be read, all were skipped (the first: {line})");
            let cure = "check the format, or choose another with --format";
            return TraceError::new(ErrorCause::Empty, name, what, cure);
        }
        if quality.passed_lines > 0 {
            let what = format!("there is no request in it, {} lines say other things", quality.passed_lines);
            return TraceError::new(ErrorCause::Empty, name, what, P::NO_REQUESTS);
        }
        input::empty(name)
    }

    fn read_block(&mut self, block: &[u8]) -> Result<(), TraceError> {
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
        let error = bad.to_error(&self.blocks.name, number, line);
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

impl<P: LineParser> Feed for Text<P> {
    fn read(&mut self, rows: usize, progress: &dyn Progress) -> Result<Columns, TraceError> {
        while !self.ended() && self.sink.rows() <= rows {
            let growth = self.sink.bytes(self.block.len() / LINE_BYTES);
            memory::check_growth(&self.blocks.name, self.sink.rows(), growth)?;
            let block = std::mem::take(&mut self.block);
            self.read_block(&block)?;
            progress.update(self.blocks.done(), self.blocks.total);
            if progress.cancelled() {
                return Err(TraceError::cancelled(&self.blocks.name));
            }
            self.block = self.blocks.next(block)?;
        }
        let at_end = self.ended();
        let columns = self.sink.take(at_end);
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
        self.sink.latest_ns()
    }

    fn volumes(&self) -> &Volumes {
        self.sink.volumes()
    }

    fn zero_content(&self) -> Option<u32> {
        self.sink.zero_content()
    }

    fn digests(&self) -> Option<&[[u8; 16]]> {
        Some(self.sink.digests())
    }

    fn into_parts(self: Box<Self>, _digests: bool) -> Result<Parts, TraceError> {
        Ok(self.sink.into_parts())
    }
}

pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().first().is_none_or(|&byte| byte == b'#')
}
