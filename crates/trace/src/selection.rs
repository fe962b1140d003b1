//! One volume of a trace, or its requests between two moments, as a trace of its own.

use std::ops::Range;

use crate::columns::{Columns, number_contents_by_appearance};
use crate::error::{ErrorCause, TraceError, quoted};
use crate::feed::{Feed, Opened, Parts, ROWS_AT_A_TIME};
use crate::holes::Holes;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::trace::{Trace, finish};
use crate::volumes::Volumes;

/// Volumes that a message lists.
const LISTED: usize = 20;

impl Trace {
    /// The requests that arrive from `span_ns.start` on and before `span_ns.end`, as a trace of its own, the first at
    /// 0. Pages trimmed before and not written since are known to be holes. Irregularities are those of the whole file.
    ///
    /// # Errors
    /// [`ErrorCause::Argument`] when no request lies there.
    pub fn excerpt(&self, span_ns: &Range<i64>) -> Result<Trace, TraceError> {
        let first = self.time_ns.partition_point(|&time| time < span_ns.start);
        let end = self.time_ns.partition_point(|&time| time < span_ns.end).max(first);
        if first == end {
            return Err(no_request_in(span_ns, &self.name, self.duration_ns()));
        }
        let mut columns = self.columns_of(first..end);
        columns.holes = Holes::clone(&self.holes);
        self.requests(0..first).pass(0..first, &mut columns.holes);
        let mut volumes = Volumes::default();
        for (key, name) in self.volume_names.iter().enumerate() {
            volumes.index(key as u64, |_| name.clone());
        }
        Ok(self.part(&span_name(&self.name, span_ns), columns, volumes))
    }

    /// The requests of one volume as a trace of its own, the first at 0, as if the file held no others (SWC 2.2).
    /// Irregularities are those of the whole file.
    ///
    /// # Errors
    /// [`ErrorCause::Argument`] when no volume has this name.
    pub fn of_volume(&self, name: &str) -> Result<Trace, TraceError> {
        let Some(wanted) = self.volume_names.iter().position(|other| other == name) else {
            return Err(no_such_volume(name, &self.name, &self.volume_names));
        };
        let requests = (0..self.len()).filter(|&request| self.volume[request] as usize == wanted);
        Ok(self.of_requests(wanted as u32, requests))
    }

    /// Requests that are all of the one volume.
    pub(crate) fn of_requests(&self, volume: u32, requests: impl Iterator<Item = usize>) -> Trace {
        let name = &self.volume_names[volume as usize];
        let mut columns = self.columns_of(requests);
        columns.volume.fill(0);
        columns.holes = self.holes.renumbered(|other| (other == volume).then_some(0));
        self.part(&format!("{}:{name}", self.name), columns, only(name))
    }

    fn columns_of(&self, requests: impl Iterator<Item = usize>) -> Columns {
        let mut columns = Columns::empty();
        for request in requests {
            columns.content.extend_from_slice(self.contents(request));
            columns.push(self.request(request));
            columns.mark_last(self.marks_of(request));
        }
        columns
    }

    /// A trace of `columns`, which hold requests of this one with its numbers of contents.
    pub(crate) fn part(&self, name: &str, mut columns: Columns, volumes: Volumes) -> Trace {
        columns.zero_content = self.zero_content;
        number_contents_by_appearance(&mut columns, &self.digests);
        // Warnings are judged again.
        let quality = Quality { warnings: Vec::new(), ..self.quality.clone() };
        finish(name, self.format, columns, volumes, quality, None)
    }
}

/// The name of a span's trace, for example `web:60s-120s`.
fn span_name(trace: &str, span_ns: &Range<i64>) -> String {
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

fn only(name: &str) -> Volumes {
    let mut volumes = Volumes::default();
    volumes.index(0, |_| name.to_owned());
    volumes
}

fn no_request_in(span_ns: &Range<i64>, place: &str, duration_ns: i64) -> TraceError {
    let end = if span_ns.end == i64::MAX { String::new() } else { format!(" to {}", seconds(span_ns.end)) };
    TraceError::new(
        ErrorCause::Argument,
        place,
        format!("no request arrives from {}{end}", seconds(span_ns.start)),
        format!("the last one arrives at {}; times count from the first", seconds(duration_ns)),
    )
}

fn no_such_volume(name: &str, place: &str, known: &[String]) -> TraceError {
    let mut listed: Vec<&str> = known.iter().take(LISTED).map(String::as_str).collect();
    listed.sort_unstable();
    let more = match known.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    TraceError::new(
        ErrorCause::Argument,
        place,
        format!("no volume is called {}", quoted(name)),
        format!("there are: {}{more}", listed.join(", ")),
    )
}

/// Restricts an opened trace to the volume of this name.
pub(crate) fn volume_of(opened: Opened, name: &str, label: &str) -> Opened {
    let trace = format!("{}:{name}", opened.name);
    Selection::of(opened, trace, label, Wanted::Volume { name: name.to_owned(), volumes: only(name) })
}

/// Restricts an opened trace to a span of time; `window_ns` is the sorting window.
pub(crate) fn span_of(opened: Opened, span_ns: &Range<i64>, window_ns: u64, label: &str) -> Opened {
    let trace = span_name(&opened.name, span_ns);
    let span_ns = span_ns.clone();
    Selection::of(opened, trace, label, Wanted::Span { span_ns, window_ns, origin_ns: None })
}

enum Wanted {
    Volume {
        name: String,
        volumes: Volumes,
    },
    Span {
        span_ns: Range<i64>,
        window_ns: u64,
        /// When the first request of the file arrives, by the file's clock.
        origin_ns: Option<i64>,
    },
}

/// The wanted requests of a feed.
struct Selection {
    feed: Box<dyn Feed>,
    wanted: Wanted,
    label: String,
    /// Requests read before the time of the first one was certain.
    early: Columns,
    any: bool,
    /// Holes before the first wanted request, once some requests were read.
    holes: Option<Holes>,
}

impl Selection {
    fn of(opened: Opened, name: String, label: &str, wanted: Wanted) -> Opened {
        let label = label.to_owned();
        let early = Columns::empty();
        let feed = Selection { feed: opened.feed, wanted, label, early, any: false, holes: None };
        Opened { name, format: opened.format, feed: Box::new(feed) }
    }

    /// Reads a span's first requests, until no earlier request can come than those read.
    fn find_origin(&mut self, rows: usize, progress: &dyn Progress) -> Result<(), TraceError> {
        let Wanted::Span { window_ns, origin_ns: origin @ None, .. } = &mut self.wanted else {
            return Ok(());
        };
        loop {
            let read = self.feed.read(rows, progress)?;
            self.early.extend_from(&read, 0..read.len());
            let earliest = self.early.time_ns.iter().copied().min().unwrap_or(i64::MAX);
            if self.feed.ended() || self.feed.latest_ns().saturating_sub_unsigned(*window_ns) >= earliest {
                *origin = Some(earliest);
                return Ok(());
            }
        }
    }

    /// Adds those of the requests read that are wanted.
    fn take(&mut self, read: &Columns, columns: &mut Columns) {
        let mut from = 0;
        let mut add = |length: usize, wanted: bool| {
            let rows = from..from + length;
            from = rows.end;
            if wanted {
                columns.extend_from(read, rows.clone());
            }
            rows
        };
        match &self.wanted {
            Wanted::Volume { name, .. } => {
                let volumes = self.feed.volumes();
                let wanted = (0..volumes.len()).find(|&index| volumes.name(index) == Some(name));
                for run in read.volume.chunk_by(|a, b| a == b) {
                    add(run.len(), Some(run[0]) == wanted);
                }
                columns.volume.fill(0);
                // The volume may come only with a later request.
                if read.len() > 0 && self.holes().is_empty() {
                    let number = |index| (Some(index) == wanted).then_some(0);
                    self.holes = Some(self.feed.holes().renumbered(number));
                }
            }
            Wanted::Span { span_ns, origin_ns, .. } => {
                let since = |time: i64| time.saturating_sub(origin_ns.unwrap_or(i64::MAX));
                let wanted = |time: i64| span_ns.contains(&since(time));
                let holes = self.holes.get_or_insert_with(|| self.feed.holes().clone());
                for run in read.time_ns.chunk_by(|&a, &b| wanted(a) == wanted(b)) {
                    let rows = add(run.len(), wanted(run[0]));
                    if since(run[0]) < span_ns.start {
                        read.as_run().pass(rows, holes);
                    }
                }
            }
        }
    }

    fn nothing(&self) -> TraceError {
        match &self.wanted {
            Wanted::Volume { name, .. } => {
                let volumes = self.feed.volumes();
                let known: Vec<String> =
                    (0..volumes.len()).filter_map(|at| volumes.name(at).cloned()).collect();
                no_such_volume(name, &self.label, &known)
            }
            Wanted::Span { span_ns, origin_ns, .. } => {
                let duration_ns = self.feed.latest_ns().saturating_sub(origin_ns.unwrap_or(0));
                no_request_in(span_ns, &self.label, duration_ns)
            }
        }
    }
}

impl Feed for Selection {
    fn read(&mut self, rows: usize, progress: &dyn Progress) -> Result<Columns, TraceError> {
        self.find_origin(rows.min(ROWS_AT_A_TIME), progress)?;
        let mut columns = Columns::empty();
        let mut read = std::mem::replace(&mut self.early, Columns::empty());
        loop {
            self.take(&read, &mut columns);
            if self.ended() || columns.len() >= rows {
                break;
            }
            read = self.feed.read(rows.min(ROWS_AT_A_TIME), progress)?;
        }
        self.any |= columns.len() > 0;
        if self.ended() && !self.any { Err(self.nothing()) } else { Ok(columns) }
    }

    /// Also when nothing more of a span can come: the rest of the file is not read.
    fn ended(&self) -> bool {
        let over = match &self.wanted {
            Wanted::Span { span_ns, window_ns, origin_ns: Some(origin), .. } => {
                let safe_ns = self.feed.latest_ns().saturating_sub_unsigned(*window_ns);
                safe_ns.saturating_sub(*origin) >= span_ns.end
            }
            _ => false,
        };
        over || self.feed.ended()
    }

    fn latest_ns(&self) -> i64 {
        self.feed.latest_ns()
    }

    fn volumes(&self) -> &Volumes {
        match &self.wanted {
            Wanted::Volume { volumes, .. } => volumes,
            Wanted::Span { .. } => self.feed.volumes(),
        }
    }

    fn holes(&self) -> &Holes {
        self.holes.as_ref().unwrap_or(Holes::NONE)
    }

    fn zero_content(&self) -> Option<u32> {
        self.feed.zero_content()
    }

    fn digests(&self) -> Option<&[[u8; 16]]> {
        self.feed.digests()
    }

    fn into_parts(self: Box<Self>, digests: bool) -> Result<Parts, TraceError> {
        let Selection { feed, wanted, .. } = *self;
        let parts = feed.into_parts(digests)?;
        Ok(match wanted {
            Wanted::Volume { volumes, .. } => Parts { volumes, ..parts },
            Wanted::Span { .. } => parts,
        })
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
        assert_eq!(tail.offset_bytes[..], whole.offset_bytes[17..]);
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
