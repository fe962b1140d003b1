//! A trace of any size, some requests at a time.

use std::sync::Arc;

use crate::columns::{Columns, sort_by_time};
use crate::digest::TraceHasher;
use crate::error::{ErrorCause, TraceError};
use crate::feed::{Feed, Opened};
use crate::holes::Holes;
use crate::input::Source;
use crate::opening;
use crate::options::{Format, OpenOptions};
use crate::progress::Progress;
use crate::quality::{Figures, Quality};
use crate::read_as::ReadAs;
use crate::request::{CHUNK_BYTES, NO_CONTENT};
use crate::tally::count_unaligned;
use crate::trace::Trace;
use crate::volumes::Appearance;

/// Requests of a batch; the last one has fewer.
const BATCH_REQUESTS: usize = 1 << 16;

/// Goes through a trace in order of time, in memory that does not grow with its requests.
///
/// The batches, one behind another, are the trace that [`Trace::open`] reads, except that volumes are numbered by order
/// of first appearance and digests of contents are not kept. Memory holds every distinct digest (about 40 bytes each),
/// the requests of the sorting window, and two batches; a compressed Parquet file as a whole.
pub struct TraceStream {
    name: String,
    format: Format,
    /// Where requests come from; none at the end.
    feed: Option<Box<dyn Feed>>,
    held: SortWindow,
    /// The first batch; opening reads it, so that a bad file fails there.
    first: Option<Trace>,
    /// Time of the first request, as the feed counts.
    origin_ns: Option<i64>,
    volumes: Appearance,
    volume_names: Vec<String>,
    volume_order: Vec<u32>,
    contents: Appearance,
    /// Digests of the contents so far, by number; only where they are wanted and known.
    digests: Option<Vec<[u8; 16]>>,
    requests: u64,
    hasher: TraceHasher,
    figures: Figures,
    unaligned: u64,
    quality: Quality,
    holes: Arc<Holes>,
    zero_content: Option<u32>,
}

impl TraceStream {
    /// Opens a trace and reads its first requests. Fails as [`Trace::open`], as far as the beginning shows it. Standard
    /// input is refused, for it can be read only once.
    pub fn open(
        source: &Source,
        options: &OpenOptions,
        progress: &dyn Progress,
    ) -> Result<TraceStream, TraceError> {
        if *source == Source::Stdin {
            return Err(TraceStream::read_only_once(source));
        }
        TraceStream::begin(source, options, false, progress)
    }

    /// For a single pass, with the digests of contents if they are wanted and known.
    pub(crate) fn begin(
        source: &Source,
        options: &OpenOptions,
        digests: bool,
        progress: &dyn Progress,
    ) -> Result<TraceStream, TraceError> {
        let Opened { name, format, feed } = opening::open(source, options, digests, progress)?;
        let mut stream = TraceStream {
            name,
            format,
            held: SortWindow::new(options.sort_window_ns),
            first: None,
            origin_ns: None,
            volumes: Appearance::default(),
            volume_names: Vec::new(),
            volume_order: Vec::new(),
            contents: Appearance::default(),
            digests: feed.digests().filter(|_| digests).map(|_| Vec::new()),
            requests: 0,
            hasher: TraceHasher::new(CHUNK_BYTES),
            figures: Figures::default(),
            unaligned: 0,
            quality: Quality::default(),
            holes: Arc::default(),
            zero_content: None,
            feed: Some(feed),
        };
        stream.first = stream.advance(progress)?;
        Ok(stream)
    }

    pub(crate) fn read_only_once(source: &Source) -> TraceError {
        let what = match source {
            Source::Stdin => "standard input can",
            _ => "this is no regular file, it can",
        };
        TraceError::new(
            ErrorCause::Argument,
            source.label(),
            format!("{what} be read only once, but a stream is gone through several times"),
            "write it to a file first (`flashtwin trace convert - FILE.parquet`), or read it into memory without streaming",
        )
    }

    /// The next requests, at least one; `None` at the end and after an error. Fails as [`Trace::open`]. Content ids and
    /// volume numbers hold for the whole trace. Digests and `quality` are empty, and `volume_names` are those met so
    /// far.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self, progress: &dyn Progress) -> Result<Option<Trace>, TraceError> {
        match self.first.take() {
            Some(batch) => Ok(Some(batch)),
            None => self.advance(progress),
        }
    }

    /// How many of the requests to come address each volume, by name; the stream is at its end then.
    pub fn requests_by_volume(&mut self, progress: &dyn Progress) -> Result<Vec<(String, u64)>, TraceError> {
        let mut requests: Vec<u64> = Vec::new();
        while let Some(batch) = self.next(progress)? {
            for &volume in batch.volume.iter() {
                if volume as usize >= requests.len() {
                    requests.resize(volume as usize + 1, 0);
                }
                requests[volume as usize] += 1;
            }
        }
        let counts = self.volume_names.iter().cloned().zip(requests);
        Ok(counts.filter(|&(_, requests)| requests > 0).collect())
    }

    /// Name of the trace for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format it is read from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How it is read; with volumes and assumptions after the last batch.
    pub fn read_as(&self) -> ReadAs {
        let volumes = self.feed.is_none().then_some(self.volume_names.len());
        ReadAs::new(self.format, volumes, &self.quality.notes)
    }

    /// Names of the volumes met so far, by number. After the last batch, volumes without any request follow.
    pub fn volume_names(&self) -> &[String] {
        &self.volume_names
    }

    /// After the last batch, the number that [`Trace`] gives each volume.
    pub(crate) fn volume_order(&self) -> &[u32] {
        &self.volume_order
    }

    /// Requests read so far; all of them after the last batch.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Distinct known contents read so far; ids are below it.
    pub fn content_count(&self) -> u32 {
        self.contents.count()
    }

    /// Irregularities; only after the last batch, and none before.
    pub fn quality(&self) -> &Quality {
        &self.quality
    }

    /// After the last batch, [`Trace::digest`] of the trace.
    pub fn digest(&self) -> String {
        self.hasher.finish(&self.holes)
    }

    /// Digests of the contents read so far, by number.
    pub(crate) fn digests(&self) -> Option<&[[u8; 16]]> {
        self.digests.as_deref()
    }

    /// The content of nothing but zeroes, if it is known and has come.
    pub fn zero_content(&self) -> Option<u32> {
        self.zero_content
    }

    /// Bytes that are known to hold nothing when the trace begins, on the volumes met so far.
    pub fn holes(&self) -> &Holes {
        &self.holes
    }

    fn advance(&mut self, progress: &dyn Progress) -> Result<Option<Trace>, TraceError> {
        let Some(mut feed) = self.feed.take() else {
            return Ok(None);
        };
        // An error leaves the stream without a feed, at its end.
        while self.held.ready() < BATCH_REQUESTS && !feed.ended() {
            self.held.refill(feed.as_mut(), progress)?;
        }
        let batch = self.held.take(BATCH_REQUESTS);
        let batch = self.finish_batch(batch, feed.as_ref());
        if feed.ended() && self.held.ready() == 0 {
            self.finish(feed)?;
        } else {
            self.feed = Some(feed);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    fn finish_batch(&mut self, mut columns: Columns, feed: &dyn Feed) -> Trace {
        if let Some(&first) = columns.time_ns.first() {
            let origin = *self.origin_ns.get_or_insert(first);
            columns.time_ns.iter_mut().for_each(|time| *time -= origin);
        }
        for volume in &mut columns.volume {
            let index = *volume;
            let (number, fresh) = self.volumes.number(index);
            if fresh {
                self.volume_names.extend(feed.volumes().name(index).cloned());
            }
            *volume = number;
        }
        let known = feed.digests().unwrap_or_default();
        for id in columns.content.iter_mut().filter(|id| **id != NO_CONTENT) {
            let (number, fresh) = self.contents.number(*id);
            if let (Some(digests), true) = (&mut self.digests, fresh) {
                digests.push(known.get(*id as usize).copied().unwrap_or_default());
            }
            *id = number;
        }
        self.zero_content = feed.zero_content().and_then(|zero| self.contents.get(zero));
        if !feed.holes().is_empty() {
            self.holes = Arc::new(feed.holes().renumbered(|index| self.volumes.get(index)));
        }
        self.unaligned += count_unaligned(&columns.content_start, &columns.offset_bytes);
        self.figures.add(&columns.time_ns, &columns.op, &columns.offset_bytes, &columns.length_bytes);
        columns.zero_content = self.zero_content;
        let (holes, names) = (Arc::clone(&self.holes), self.volume_names.clone());
        let batch = Trace::of(&self.name, self.format, columns, holes, names, Quality::default());
        self.requests += batch.len() as u64;
        self.hasher.add(&batch.requests(0..batch.len()));
        batch
    }

    fn finish(&mut self, feed: Box<dyn Feed>) -> Result<(), TraceError> {
        let parts = feed.into_parts(false)?;
        for index in 0..parts.volumes.len() {
            if self.volumes.number(index).1 {
                self.volume_names.extend(parts.volumes.name(index).cloned());
            }
        }
        let (dense, _) = parts.volumes.into_dense();
        self.volume_order = vec![0; dense.len()];
        for (index, number) in (0u32..).zip(dense) {
            self.volume_order[self.volumes.number(index).0 as usize] = number;
        }
        self.quality = parts.quality;
        self.quality.unaligned_content = self.unaligned;
        self.quality.judge(&self.figures);
        Ok(())
    }
}

struct SortWindow {
    window_ns: u64,
    /// In order of time; the first `taken` are gone already, those before `ready` may go.
    columns: Columns,
    taken: usize,
    ready: usize,
}

impl SortWindow {
    fn new(window_ns: u64) -> SortWindow {
        SortWindow { window_ns, columns: Columns::empty(), taken: 0, ready: 0 }
    }

    fn ready(&self) -> usize {
        self.ready - self.taken
    }

    /// Reads as many requests as are held, so that each is moved and sorted a few times only.
    fn refill(&mut self, feed: &mut dyn Feed, progress: &dyn Progress) -> Result<(), TraceError> {
        self.columns.drop_first(self.taken);
        self.taken = 0;
        let fresh = feed.read(self.columns.len().max(BATCH_REQUESTS), progress)?;
        self.columns.extend_from(&fresh, 0..fresh.len());
        if !self.columns.time_ns.is_sorted() {
            sort_by_time(&mut self.columns);
        }
        self.ready = if feed.ended() {
            self.columns.len()
        } else {
            // Later requests of the file are no earlier than this.
            let safe_ns = feed.latest_ns().saturating_sub_unsigned(self.window_ns);
            self.columns.time_ns.partition_point(|&time| time <= safe_ns)
        };
        Ok(())
    }

    fn take(&mut self, count: usize) -> Columns {
        let end = self.ready.min(self.taken.saturating_add(count));
        let starts = &self.columns.content_start;
        let contents = (starts[end] - starts[self.taken]) as usize;
        let mut batch = Columns::with_capacity(end - self.taken, contents);
        batch.extend_from(&self.columns, self.taken..end);
        self.taken = end;
        batch
    }
}

#[cfg(test)]
mod tests;
