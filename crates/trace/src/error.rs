//! Errors: fault, place, expected value, cure.

use std::fmt;

/// The place of an error in its input, for example `mail.csv:12:39`: line 12, column 39.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The file as the user named it, `standard input`, or the trace's name.
    pub input: String,
    /// Line (text) or row (Parquet), counted from 1.
    pub line: Option<u64>,
    /// Column in bytes, counted from 1.
    pub column: Option<usize>,
}

impl Location {
    /// The input as a whole.
    pub fn input(name: impl Into<String>) -> Location {
        Location { input: name.into(), line: None, column: None }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.input)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        Ok(())
    }
}

/// The kind of error, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause {
    /// The file is missing, a directory, not readable, or its storage fails.
    Io,
    /// The compressed data is damaged or ends too early.
    Compression,
    /// There is no request in the input.
    Empty,
    /// No supported format fits the content.
    UnknownFormat,
    /// Several formats fit the content, and only the user can say which.
    AmbiguousFormat,
    /// A line, row or column does not follow the format.
    Malformed,
    /// Time runs backwards further than the sorting window.
    Disorder,
    /// More page operations, pages or contents than 32-bit ids can name.
    TooLarge,
    /// The trace does not have the requested content.
    NoContent,
    /// An argument makes no sense.
    Argument,
    /// The caller asked to stop.
    Cancelled,
}

/// An error about a trace, in one line: `place: fault; cure`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}{}", Cure(.cure))]
pub struct TraceError {
    /// Its kind.
    pub cause: ErrorCause,
    /// Where it is.
    pub place: Location,
    /// The fault and the expected value.
    pub what: String,
    /// The cure; empty if there is none.
    pub cure: String,
}

const SHOWN: usize = 600;
/// Characters of a value that a message quotes.
const QUOTED: usize = 60;

pub(crate) fn quoted(value: &str) -> String {
    format!("'{}'", cut_short(value.escape_debug().to_string(), QUOTED))
}

fn cut_short(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}... ({} characters in all)", &text[..end], text.chars().count()),
        None => text,
    }
}

struct Cure<'a>(&'a str);

impl fmt::Display for Cure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; {}", self.0) }
    }
}

impl TraceError {
    /// An error about the whole of `input`.
    pub fn new(
        cause: ErrorCause,
        input: impl Into<String>,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) -> TraceError {
        TraceError {
            cause,
            place: Location::input(input),
            what: cut_short(what.into(), SHOWN),
            cure: cut_short(cure.into(), SHOWN),
        }
    }

    pub(crate) fn io(input: &str, error: &std::io::Error) -> TraceError {
        use std::io::ErrorKind;
        let (what, cure) = match error.kind() {
            ErrorKind::NotFound => {
                ("no such file".to_owned(), "check the path, or use '-' for standard input")
            }
            ErrorKind::PermissionDenied => {
                ("permission denied".to_owned(), "make the file readable for this user")
            }
            ErrorKind::IsADirectory => {
                ("this is a directory, a trace file was expected".to_owned(), "name one of the files in it")
            }
            _ => (error.to_string(), ""),
        };
        TraceError::new(ErrorCause::Io, input, what, cure)
    }

    /// The machine gives no threads.
    pub fn threads(input: &str, error: &dyn std::fmt::Display) -> TraceError {
        let what = format!("no threads could be started ({error})");
        TraceError::new(ErrorCause::Io, input, what, "ask for fewer threads")
    }

    /// The caller wanted the work to end; see [`crate::Progress::cancelled`].
    pub fn cancelled(input: &str) -> TraceError {
        TraceError::new(ErrorCause::Cancelled, input, "stopped on request", "")
    }

    pub(crate) fn at_line(mut self, line: u64, column: Option<usize>) -> TraceError {
        self.place.line = Some(line);
        self.place.column = column;
        self
    }
}
