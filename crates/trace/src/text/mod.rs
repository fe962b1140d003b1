//! Text traces: lines in, columns out.

mod collect;
mod digits;
pub(crate) mod exact;
mod fields;
mod intern;

pub(crate) use collect::{Collector, Parsed};
pub(crate) use digits::DigestReader;
pub(crate) use fields::{
    BEYOND_OFFSET, Bad, Complaint, Field, Fields, OFFSET_BYTES_MAX, SECTOR_BYTES, length_max,
};

use crate::columns::Columns;
use crate::containers::BYTE_ORDER_MARK;
use crate::error::{ErrorCause, TraceError};
use crate::feed::{Feed, Parts};
use crate::input::{self, Blocks};
use crate::layout;
use crate::memory;
use crate::options::{OnBadLine, OpenOptions};
use crate::progress::Progress;
use crate::quality::BAD_LINES_LISTED;
use crate::units::Units;
use crate::volumes::Volumes;

const USUAL_VOLUMES_PERCENT: usize = 10;

/// Reads the lines of one format. It may keep state of the lines before.
pub(crate) trait LineParser: Default + Send + 'static {
    /// The cure if lines were skipped and none was a request.
    const NO_REQUESTS: &'static str = "";

    /// The lines that are no requests, in words, if there is nothing else.
    fn other_lines(&self) -> String {
        String::new()
    }

    fn configure(&mut self, _options: &OpenOptions) {}

    /// The usual units of its numbers.
    const UNITS: Units;

    /// Whether commas part its fields, which may be quoted then.
    const COMMAS: bool = false;

    /// What the columns of a header hold, if there may be one: names of parts, and `other`.
    const HEADER: &'static str = "";

    /// Whether lengths need not be multiples of 512, because requests go to files.
    const ANY_LENGTH: bool = false;

    /// Most volumes, of 100 requests.
    const VOLUMES_PERCENT: usize = USUAL_VOLUMES_PERCENT;

    /// Whether its lines are like no other's, so that a rate of requests says nothing about the format.
    const DISTINCT: bool = false;

    /// Choices made, in words, once all lines are read.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a line is a header, which is passed over wherever it stands: files are made of several.
    fn is_header(&self, line: &[u8]) -> bool {
        !Self::HEADER.is_empty() && layout::names(line, Self::HEADER)
    }

    /// Reads one line, which is not blank and comes without its end, in these units.
    fn line(&mut self, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad>;
}

/// What a parser makes of the first lines of a text.
pub(crate) struct Trial {
    /// Lines that are no headers, and those of them that it reads.
    pub(crate) lines: usize,
    pub(crate) read: usize,
    /// Whether the first line is its header.
    pub(crate) has_header: bool,
    pub(crate) columns: Columns,
    pub(crate) volumes: usize,
    pub(crate) any_length: bool,
    pub(crate) volumes_percent: usize,
    pub(crate) distinct: bool,
}

impl Trial {
    pub(crate) fn of<P: LineParser>(
        mut parser: P,
        lines: &[&[u8]],
        options: &OpenOptions,
        units: Units,
    ) -> Trial {
        // Disorder says nothing about the layout.
        let options = OpenOptions { sort_window_ns: u64::MAX, ..options.clone() };
        parser.configure(&options);
        let (units, mut sink) = (options.units(units), Collector::new(&options));
        let has_header = lines.first().is_some_and(|line| parser.is_header(line));
        let (mut read, mut all) = (0, 0);
        for line in lines {
            if parser.is_header(line) {
                continue;
            }
            all += 1;
            read += usize::from(
                (!P::COMMAS || line.contains(&b',')) && parse(&mut parser, line, units, &mut sink).is_ok(),
            );
        }
        let volumes = sink.volumes().len() as usize;
        Trial {
            lines: all,
            read,
            has_header,
            columns: sink.take(true),
            volumes,
            any_length: P::ANY_LENGTH,
            volumes_percent: P::VOLUMES_PERCENT,
            distinct: P::DISTINCT,
        }
    }

    /// Of requests that were read already.
    pub(crate) fn of_requests(columns: Columns, volumes: usize) -> Trial {
        let read = columns.time_ns.len();
        let (has_header, any_length, distinct) = (false, false, false);
        let volumes_percent = USUAL_VOLUMES_PERCENT;
        Trial { lines: read, read, has_header, columns, volumes, any_length, volumes_percent, distinct }
    }

    pub(crate) fn usual<P: LineParser>(lines: &[&[u8]], options: &OpenOptions) -> Trial {
        Trial::of(P::default(), lines, options, P::UNITS)
    }

    pub(crate) fn duration_ns(&self) -> i64 {
        let times = &self.columns.time_ns;
        times.iter().max().zip(times.iter().min()).map_or(0, |(last, first)| last - first)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.columns.length_bytes.iter().map(|&length| u64::from(length)).sum()
    }
}

/// Reads a line, whose fields may be in quotes where commas part them.
#[inline(never)]
fn parse<P: LineParser>(parser: &mut P, line: &[u8], units: Units, sink: &mut Collector) -> Result<(), Bad> {
    let read = parser.line(line, units, sink);
    if read.is_ok() || !P::COMMAS || !line.contains(&b'"') {
        return read;
    }
    let fields = layout::Delimiter::Byte(b',').fields(line).join(&b',');
    parser.line(&fields, units, sink).or(read)
}

/// No line of a request is shorter than this many bytes.
const LINE_BYTES: usize = 8;

pub(crate) struct Text<P> {
    blocks: Blocks,
    block: Vec<u8>,
    parser: P,
    units: Units,
    sink: Collector,
    skip: bool,
    /// A request out of order that may be the last one, and how many requests had come.
    stray: Option<(TraceError, usize)>,
    /// Whether a header has come: further ones are counted.
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
        Text::with(P::default(), P::UNITS, blocks, first, options, lines_before)
    }

    pub(crate) fn with(
        mut parser: P,
        units: Units,
        blocks: Blocks,
        first: Vec<u8>,
        options: &OpenOptions,
        lines_before: u64,
    ) -> Box<dyn Feed> {
        let (units, mut sink) = (options.units(units), Collector::new(options));
        parser.configure(options);
        sink.quality.lines = lines_before;
        let skip = options.on_bad_line == OnBadLine::Skip;
        Box::new(Text {
            blocks,
            block: first,
            parser,
            units,
            sink,
            skip,
            stray: None,
            begun: false,
            any: false,
        })
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
            let passed = quality.passed_lines;
            let what = format!(
                "there is no request in it, {passed} lines say other things{}",
                self.parser.other_lines()
            );
            return TraceError::new(ErrorCause::Empty, name, what, P::NO_REQUESTS);
        }
        input::empty(name)
    }

    fn read_block(&mut self, block: &[u8]) -> Result<(), TraceError> {
        // Constants are a third faster than units in memory.
        let usual = self.units == P::UNITS;
        let mut rest = block;
        while !rest.is_empty() {
            let (line, behind) = match memchr::memchr(b'\n', rest) {
                Some(newline) => (&rest[..newline], &rest[newline + 1..]),
                None => (rest, &rest[rest.len()..]),
            };
            rest = behind;
            self.sink.quality.lines += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let read = match usual {
                true => self.parser.line(line, P::UNITS, &mut self.sink),
                false => parse(&mut self.parser, line, self.units, &mut self.sink),
            };
            if read.is_err() {
                self.odd_line(line)?;
            }
        }
        self.check_stray()
    }

    /// A request out of order is an error as soon as others follow.
    fn check_stray(&mut self) -> Result<(), TraceError> {
        let others_follow = |&mut (_, requests): &mut (TraceError, usize)| self.sink.rows() > requests;
        self.stray.take_if(others_follow).map_or(Ok(()), |(error, _)| Err(error))
    }

    /// A line that is blank, a header, in quotes, behind a mark, or bad.
    #[cold]
    fn odd_line(&mut self, mut line: &[u8]) -> Result<(), TraceError> {
        let number = self.sink.quality.lines;
        // Files were put together, and each may begin with marks.
        while let Some(rest) = line.strip_prefix(BYTE_ORDER_MARK) {
            line = rest;
        }
        if is_blank(line) {
            return Ok(());
        }
        self.check_stray()?;
        let Err(bad) = parse(&mut self.parser, line, self.units, &mut self.sink) else { return Ok(()) };
        if self.parser.is_header(line) {
            self.sink.quality.passed_lines += u64::from(std::mem::replace(&mut self.begun, true));
            return Ok(());
        }
        let error = bad.to_error(&self.blocks.name, number, line);
        match self.stray.take() {
            _ if self.skip => self.leave_out(&error),
            Some((first, _)) => return Err(first),
            None if error.cause == ErrorCause::Disorder => self.stray = Some((error, self.sink.rows())),
            None => return Err(error),
        }
        Ok(())
    }

    fn leave_out(&mut self, error: &TraceError) {
        let quality = &mut self.sink.quality;
        quality.bad_lines_skipped += 1;
        if quality.bad_lines.len() < BAD_LINES_LISTED {
            quality.bad_lines.push(format!("{}: {}", error.place, error.what));
        }
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
        if at_end {
            self.sink.quality.notes = [std::mem::take(&mut self.blocks.notes), self.parser.notes()].concat();
            if let Some((error, _)) = self.stray.take() {
                self.leave_out(&error);
                let note = format!("the last request is left out: {}", error.what);
                self.sink.quality.notes.push(note);
            }
        }
        let columns = self.sink.take(at_end);
        if self.sink.digests().len() >= memory::IDS_MAX {
            return Err(memory::too_many_contents(&self.blocks.name));
        }
        if let Some((_, requests)) = &mut self.stray {
            *requests = self.sink.rows();
        }
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
