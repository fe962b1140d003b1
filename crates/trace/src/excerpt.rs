//! The requests of a trace between two moments, as a trace of its own.

use std::ops::Range;

use crate::columns::Columns;
use crate::error::{ErrorCause, TraceError};
use crate::feed::{Feed, Opened, Parts, ROWS_AT_A_TIME};
use crate::holes::Holes;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::trace::{Trace, finish};
use crate::volumes::Volumes;

impl Trace {
    /// The requests that arrive from `span_ns.start` on and before `span_ns.end`, by the trace's
    /// clock, as a trace of its own, the first at 0. Earlier page contents are not part of it, but
    /// pages trimmed before and not written since are known to be holes. Irregularities are those
    /// of the whole file.
    ///
    /// # Errors
    /// [`ErrorCause::Argument`] when no request lies there.
    pub fn excerpt(&self, span_ns: &Range<i64>) -> Result<Trace, TraceError> {
        let first = self.time_ns.partition_point(|&time| time < span_ns.start);
        let end = self.time_ns.partition_point(|&time| time < span_ns.end).max(first);
        if first == end {
            return Err(nothing(&self.name, span_ns, self.duration_ns()));
        }
        let mut columns = Columns::empty();
        for request in first..end {
            columns.content.extend_from_slice(self.contents(request));
            columns.push(self.request(request));
            columns.add_to_last(self.flags_of(request));
        }
        columns.digests = self.digests.clone();
        columns.zero_content = self.zero_content;
        columns.holes = Holes::clone(&self.holes);
        self.requests(0..first).pass(0..first, &mut columns.holes);
        let mut volumes = Volumes::default();
        for (key, name) in self.volume_names.iter().enumerate() {
            volumes.index(key as u64, |_| name.clone());
        }
        // Warnings are judged again.
        let quality = Quality { warnings: Vec::new(), ..self.quality.clone() };
        Ok(finish(&named(&self.name, span_ns), self.format, columns, volumes, quality, None))
    }
}

/// Restricts the opened trace to a span of time; `window_ns` is the sorting window.
pub(crate) fn of_opened(opened: Opened, span_ns: &Range<i64>, window_ns: u64, label: &str) -> Opened {
    let feed = Excerpt {
        feed: opened.feed,
        span_ns: span_ns.clone(),
        window_ns,
        label: label.to_owned(),
        early: Columns::empty(),
        origin_ns: None,
        any: false,
        holes: None,
    };
    Opened { name: named(&opened.name, span_ns), format: opened.format, feed: Box::new(feed) }
}

/// The name of a span's trace, for example `web:60s-120s`.
fn named(trace: &str, span_ns: &Range<i64>) -> String {
    let end = if span_ns.end == i64::MAX { "end".to_owned() } else { seconds(span_ns.end) };
    format!("{trace}:{}-{end}", seconds(span_ns.start))
}

fn seconds(time_ns: i64) -> String {
    let fraction = format!("{:09}", time_ns % 1_000_000_000);
    match fraction.trim_end_matches('0') {
        "" => format!("{}s", time_ns / 1_000_000_000),
        digits => format!("{}.{digits}s", time_ns / 1_000_000_000),
    }
}

fn nothing(place: &str, span_ns: &Range<i64>, duration_ns: i64) -> TraceError {
    let end = if span_ns.end == i64::MAX { String::new() } else { format!(" to {}", seconds(span_ns.end)) };
    TraceError::new(
        ErrorCause::Argument,
        place,
        format!("no request arrives from {}{end}", seconds(span_ns.start)),
        format!("the last one arrives at {}; times count from the first", seconds(duration_ns)),
    )
}

struct Excerpt {
    feed: Box<dyn Feed>,
    span_ns: Range<i64>,
    window_ns: u64,
    label: String,
    /// Requests read before the time of the first one was certain.
    early: Columns,
    /// When the first request of the file arrives, by the file's clock.
    origin_ns: Option<i64>,
    any: bool,
    /// Holes after the requests before the span.
    holes: Option<Holes>,
}

impl Excerpt {
    /// No request that comes can arrive earlier than this.
    fn safe_ns(&self) -> i64 {
        self.feed.latest_ns().saturating_sub_unsigned(self.window_ns)
    }

    /// Reads until no earlier request can come than those read.
    fn find_origin(&mut self, rows: usize, progress: &dyn Progress) -> Result<i64, TraceError> {
        loop {
            let read = self.feed.read(rows, progress)?;
            self.early.extend_from(&read, 0..read.len());
            let earliest = self.early.time_ns.iter().copied().min().unwrap_or(i64::MAX);
            if self.feed.ended() || self.safe_ns() >= earliest {
                return Ok(earliest);
            }
        }
    }
}

impl Feed for Excerpt {
    fn read(&mut self, rows: usize, progress: &dyn Progress) -> Result<Columns, TraceError> {
        let origin = match self.origin_ns {
            Some(origin) => origin,
            None => self.find_origin(rows.min(ROWS_AT_A_TIME), progress)?,
        };
        self.origin_ns = Some(origin);
        let mut holes = self.holes.take().unwrap_or_else(|| self.feed.holes().clone());
        let wanted = |time: i64| self.span_ns.contains(&time.saturating_sub(origin));
        let mut columns = Columns::empty();
        let mut read = std::mem::replace(&mut self.early, Columns::empty());
        loop {
            let mut from = 0;
            for run in read.time_ns.chunk_by(|&a, &b| wanted(a) == wanted(b)) {
                let rows = from..from + run.len();
                if wanted(run[0]) {
                    columns.extend_from(&read, rows);
                } else if run[0].saturating_sub(origin) < self.span_ns.start {
                    read.as_run().pass(rows, &mut holes);
                }
                from += run.len();
            }
            if self.ended() || columns.len() >= rows {
                break;
            }
            read = self.feed.read(rows.min(ROWS_AT_A_TIME), progress)?;
        }
        self.holes = Some(holes);
        self.any |= columns.len() > 0;
        if self.ended() && !self.any {
            let duration_ns = self.feed.latest_ns().saturating_sub(origin);
            return Err(nothing(&self.label, &self.span_ns, duration_ns));
        }
        Ok(columns)
    }

    /// Also when nothing more of the span can come: the rest of the file is not read.
    fn ended(&self) -> bool {
        let over = |origin: i64| self.safe_ns().saturating_sub(origin) >= self.span_ns.end;
        self.feed.ended() || self.origin_ns.is_some_and(over)
    }

    fn latest_ns(&self) -> i64 {
        self.feed.latest_ns()
    }

    fn volumes(&self) -> &Volumes {
        self.feed.volumes()
    }

    fn holes(&self) -> &Holes {
        self.holes.as_ref().unwrap_or(Holes::NONE)
    }

    fn zero_content(&self) -> Option<u32> {
        self.feed.zero_content()
    }

    fn into_parts(self: Box<Self>, digests: bool) -> Result<Parts, TraceError> {
        self.feed.into_parts(digests)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::input::Source;
    use crate::options::OpenOptions;
    use crate::request::Op;
    use crate::stream::TraceStream;
    use crate::trace::TraceBuilder;

    /// A write every second, of contents that come back.
    fn minute() -> Trace {
        let mut builder = TraceBuilder::new("minute");
        for second in 0..60 {
            builder.request(
                second * 1_000_000_000,
                Op::Write,
                second as u64 * 4096,
                4096,
                &[second as u32 % 7],
            );
        }
        builder.build().unwrap()
    }

    /// An I/O log of fio, whose times are microseconds.
    fn fio(lines_ms: &[i64]) -> Source {
        let mut text = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n".to_owned();
        for time_ms in lines_ms {
            text.push_str(&format!("{} /dev/a write {} 4096\n", time_ms * 1000, time_ms * 4096));
        }
        Source::Bytes("late.fio".to_owned(), Arc::from(text.into_bytes()))
    }

    fn opened(source: &Source, span_ns: Range<i64>) -> Result<Trace, TraceError> {
        let options = OpenOptions { excerpt_ns: Some(span_ns), ..OpenOptions::default() };
        Trace::open(source, &options, &())
    }

    #[test]
    fn a_trace_is_the_requests_of_its_excerpts() {
        let whole = minute();
        let cut = 17_000_000_000;
        let (head, tail) = (whole.excerpt(&(0..cut)).unwrap(), whole.excerpt(&(cut..i64::MAX)).unwrap());
        assert_eq!((head.len(), tail.len()), (17, 43));
        assert_eq!(tail.time_ns[0], 0);
        assert_eq!(tail.offset_bytes, whole.offset_bytes[17..]);
        assert_eq!((head.name.as_str(), tail.name.as_str()), ("minute:0s-17s", "minute:17s-end"));
        assert_eq!(head.content, whole.content[..17]);
        // Contents are numbered anew, and equal ones stay equal.
        assert_eq!(tail.content[..9], [0, 1, 2, 3, 4, 5, 6, 0, 1]);
    }

    #[test]
    fn late_lines_belong_where_their_time_is() {
        // In the file the second line is 400 ms late, and the first is not the earliest.
        let source = fio(&[500, 100, 900, 1500, 1200, 5000, 9000]);
        let whole = Trace::open(&source, &OpenOptions::default(), &()).unwrap();
        for span in [0..1_000_000_000, 300_000_000..1_200_000_000, 1_100_000_000..i64::MAX] {
            let read = opened(&source, span.clone()).unwrap();
            let made = whole.excerpt(&span).unwrap();
            assert_eq!(read.digest(), made.digest(), "{span:?}");
            let options = OpenOptions { excerpt_ns: Some(span), ..OpenOptions::default() };
            let mut stream = TraceStream::open(&source, &options, &()).unwrap();
            while stream.next(&()).unwrap().is_some() {}
            assert_eq!(stream.digest(), made.digest());
        }
    }

    #[test]
    fn a_span_without_requests_is_refused_with_the_traces_length() {
        let error = minute().excerpt(&(90_500_000_000..91_000_000_000)).unwrap_err().to_string();
        assert!(error.contains("no request arrives from 90.5s to 91s"), "{error}");
        assert!(error.contains("the last one arrives at 59s"), "{error}");
        let error = opened(&fio(&[0, 500]), 7_000_000_000..i64::MAX).unwrap_err().to_string();
        assert!(error.contains("no request arrives from 7s"), "{error}");
    }
}
