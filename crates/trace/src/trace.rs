//! A trace: the host's requests, as columns.

use std::ops::Range;
use std::sync::Arc;

use crate::columns::{Columns, check, check_digests, number_contents_by_appearance, sort_by_time};
use crate::digest::{Digests, TraceHasher};
use crate::error::TraceError;
use crate::flags;
use crate::holes::Holes;
use crate::options::Format;
use crate::quality::Quality;
use crate::read_as::ReadAs;
use crate::request::{CHUNK_BYTES, NO_CONTENT, NO_STREAM, Op, Request};
use crate::requests::{Requests, rows_there};
use crate::tally::Tally;
use crate::volumes::Volumes;

/// The host's requests: one entry for each in every column, sorted by time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Name for people: the file's name without folders and known endings.
    pub name: String,
    /// The format it was read from.
    pub format: Format,
    /// Arrival in nanoseconds; the first request is at 0.
    pub time_ns: Arc<Vec<i64>>,
    /// Dense volume number, ascending with the number in the file; see `volume_names`.
    pub volume: Arc<Vec<u32>>,
    /// Operation.
    pub op: Arc<Vec<Op>>,
    /// First byte addressed.
    pub offset_bytes: Arc<Vec<u64>>,
    /// Bytes addressed; never 0.
    pub length_bytes: Arc<Vec<u32>>,
    /// Request `i` has the contents `content[content_start[i]..content_start[i + 1]]`: none, or one for each
    /// `chunk_bytes`.
    pub content_start: Vec<u64>,
    /// Content ids, dense in order of first appearance; [`NO_CONTENT`] where one is unknown.
    pub content: Vec<u32>,
    /// Bytes that one content covers.
    pub chunk_bytes: u32,
    /// Digest of each content id; may be empty although there is content.
    pub digests: Digests,
    /// Rare properties of requests, as bits of [`crate::flags`]. The column ends with the last request that has any.
    pub flags: Vec<u8>,
    /// The stream that the host says a request belongs to, or [`NO_STREAM`]. The column ends with the last request that
    /// has one.
    pub stream: Arc<Vec<u16>>,
    /// Bytes that are known to hold nothing when the trace begins, by volume number.
    pub holes: Arc<Holes>,
    /// The content that is nothing but zeroes, if it is known and occurs.
    pub zero_content: Option<u32>,
    /// Name in the file of each dense volume number.
    pub volume_names: Vec<String>,
    /// Irregularities found while reading.
    pub quality: Quality,
}

impl Trace {
    /// The requests `range` as columns.
    pub fn requests(&self, range: Range<usize>) -> Requests<'_> {
        let content_start = match self.content_start.get(range.start..=range.end) {
            Some(starts) => starts,
            None => &[],
        };
        Requests {
            time_ns: &self.time_ns[range.clone()],
            volume: &self.volume[range.clone()],
            op: &self.op[range.clone()],
            offset_bytes: &self.offset_bytes[range.clone()],
            flags: rows_there(&self.flags, range.clone()),
            stream: rows_there(&self.stream, range.clone()),
            length_bytes: &self.length_bytes[range],
            content_start,
            content: &self.content,
            chunk_bytes: self.chunk_bytes,
            holes: &self.holes,
            zero_content: self.zero_content,
        }
    }

    /// A trace of columns that are in a trace's form.
    pub(crate) fn of(
        name: &str,
        format: Format,
        mut columns: Columns,
        holes: Arc<Holes>,
        volume_names: Vec<String>,
        quality: Quality,
    ) -> Trace {
        fn cut<T: PartialEq>(column: &mut Vec<T>, none: &T) {
            column.truncate(column.iter().rposition(|one| one != none).map_or(0, |last| last + 1));
        }
        // Without the end that says nothing, so that equal traces are equal.
        cut(&mut columns.flags, &0);
        cut(&mut columns.stream, &NO_STREAM);
        let has_content = !columns.content.is_empty();
        Trace {
            name: name.to_owned(),
            format,
            time_ns: Arc::new(columns.time_ns),
            volume: Arc::new(columns.volume),
            op: Arc::new(columns.op),
            offset_bytes: Arc::new(columns.offset_bytes),
            length_bytes: Arc::new(columns.length_bytes),
            content_start: if has_content { columns.content_start } else { Vec::new() },
            content: columns.content,
            chunk_bytes: CHUNK_BYTES,
            digests: columns.digests,
            flags: columns.flags,
            stream: Arc::new(columns.stream),
            holes,
            zero_content: columns.zero_content,
            volume_names,
            quality,
        }
    }

    /// Makes a trace from columns: checks them, sorts them by time (stably), and makes volumes and contents dense.
    ///
    /// # Errors
    /// [`Malformed`](crate::ErrorCause::Malformed) when columns disagree in length, a request is empty or reaches beyond
    /// 2^63, or a request's contents are neither none nor one a chunk.
    pub fn from_columns(
        name: &str,
        format: Format,
        columns: Columns,
        quality: Quality,
    ) -> Result<Trace, TraceError> {
        check(name, &columns, 0)?;
        check_digests(name, &columns)?;
        let mut volumes = Volumes::default();
        let mut columns = columns;
        for volume in &mut columns.volume {
            *volume = volumes.index(u64::from(*volume), |key| key.to_string());
        }
        columns.holes = columns.holes.renumbered(|volume| volumes.get(volume.into()));
        Ok(finish(name, format, columns, volumes, quality, None))
    }

    /// Writes the trace as canonical Parquet; see [`crate::write_parquet`].
    pub fn write_parquet(&self, path: &std::path::Path) -> Result<(), TraceError> {
        crate::write_parquet(self, path, &())
    }

    /// How it was read.
    pub fn read_as(&self) -> ReadAs {
        ReadAs::new(self.format, Some(self.volume_names.len()), &self.quality.notes)
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether there is no request; readers refuse such traces, builders do not.
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// Whether any request carries contents.
    pub fn has_content(&self) -> bool {
        !self.content.is_empty()
    }

    /// Number of distinct known contents; ids are below it.
    pub fn content_count(&self) -> u32 {
        let known = self.content.iter().filter(|&&id| id != NO_CONTENT);
        known.max().map_or(0, |&highest| highest + 1)
    }

    /// Arrival of the last request, the first being at 0; nanoseconds.
    pub fn duration_ns(&self) -> i64 {
        self.time_ns.last().copied().unwrap_or(0)
    }

    /// Request `index` without its contents.
    pub fn request(&self, index: usize) -> Request {
        Request {
            time_ns: self.time_ns[index],
            volume: self.volume[index],
            op: self.op[index],
            offset_bytes: self.offset_bytes[index],
            length_bytes: self.length_bytes[index],
        }
    }

    /// The contents that request `index` carries; empty when none are recorded.
    pub fn contents(&self, index: usize) -> &[u32] {
        match self.content_start.get(index..index + 2) {
            Some(&[start, end]) => &self.content[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Flags and stream of request `index`.
    pub(crate) fn marks_of(&self, index: usize) -> (u8, u16) {
        let all = self.requests(index..index + 1);
        (all.flags_of(0), all.stream_of(0))
    }

    /// 128-bit hash over all columns as 32 hex digits, equal in every format and compression. Of contents, only
    /// equality counts, not their digests. Names of volumes do not count.
    pub fn digest(&self) -> String {
        let mut hasher = TraceHasher::new(self.chunk_bytes);
        hasher.add(&self.requests(0..self.len()));
        hasher.finish(&self.holes)
    }
}

/// Brings columns with indices into `volumes` into a trace's form; `tally` counts if it is of all requests.
pub(crate) fn finish(
    name: &str,
    format: Format,
    mut columns: Columns,
    volumes: Volumes,
    mut quality: Quality,
    tally: Option<Tally>,
) -> Trace {
    let known = tally.filter(|tally| tally.in_time && tally.requests == columns.len());
    let tally = known.unwrap_or_else(|| {
        sort_from_zero(&mut columns);
        Tally::of(&columns)
    });
    let (dense, volume_names) = volumes.into_dense();
    if !dense.is_sorted() {
        for volume in &mut columns.volume {
            *volume = dense[*volume as usize];
        }
    }
    if columns.content.is_empty() {
        columns.digests = Digests::default();
    }
    if tally.numbered {
        columns.digests.bytes.truncate(tally.contents as usize);
        columns.zero_content = columns.zero_content.filter(|&zero| zero < tally.contents);
    } else {
        let digests = std::mem::take(&mut columns.digests);
        number_contents_by_appearance(&mut columns, &digests);
    }
    quality.unaligned_content = tally.unaligned;
    quality.judge(&tally.figures);
    let holes = columns.holes.renumbered(|volume| dense.get(volume as usize).copied());
    Trace::of(name, format, columns, Arc::new(holes), volume_names, quality)
}

fn sort_from_zero(columns: &mut Columns) {
    if !columns.time_ns.is_sorted() {
        sort_by_time(columns);
    }
    if let Some(&first) = columns.time_ns.first()
        && first != 0
    {
        columns.time_ns.iter_mut().for_each(|time| *time -= first);
    }
}

/// Builds a trace request by request, for tests and generators.
#[derive(Clone, Debug)]
pub struct TraceBuilder {
    name: String,
    columns: Columns,
}

impl TraceBuilder {
    /// Starts an empty trace.
    pub fn new(name: &str) -> TraceBuilder {
        TraceBuilder { name: name.to_owned(), columns: Columns::empty() }
    }

    /// Adds a request; `contents` are any numbers that stand for contents, one for each 4,096 bytes begun, or none.
    pub fn push(&mut self, request: Request, contents: &[u32]) -> &mut TraceBuilder {
        self.columns.content.extend_from_slice(contents);
        self.columns.push(request);
        self
    }

    /// These bytes hold nothing when the trace begins.
    pub fn hole(&mut self, volume: u32, bytes: Range<u64>) -> &mut TraceBuilder {
        self.columns.holes.add(volume, bytes);
        self
    }

    /// The content that is nothing but zeroes, by the number that requests have for it.
    pub fn zeroes(&mut self, content: u32) -> &mut TraceBuilder {
        self.columns.zero_content = Some(content);
        self
    }

    /// The request added last is to be on the medium before it is answered (FUA).
    pub fn durable(&mut self) -> &mut TraceBuilder {
        self.columns.mark_last((flags::DURABLE, NO_STREAM));
        self
    }

    /// The request added last is of this submission queue. Panics unless it is from 0 to 31.
    pub fn queue(&mut self, queue: u8) -> &mut TraceBuilder {
        assert!(usize::from(queue) < flags::QUEUES, "queue {queue} of {}", flags::QUEUES);
        self.columns.mark_last((queue << flags::QUEUE_SHIFT, NO_STREAM));
        self
    }

    /// The request added last belongs to this stream.
    pub fn stream(&mut self, stream: u16) -> &mut TraceBuilder {
        self.columns.mark_last((0, stream));
        self
    }

    /// Adds a request to volume 0.
    pub fn request(
        &mut self,
        time_ns: i64,
        op: Op,
        offset_bytes: u64,
        length_bytes: u32,
        contents: &[u32],
    ) -> &mut TraceBuilder {
        let request = Request { time_ns, volume: 0, op, offset_bytes, length_bytes };
        self.push(request, contents)
    }

    /// The trace. Fails as [`Trace::from_columns`].
    pub fn build(&self) -> Result<Trace, TraceError> {
        Trace::from_columns(&self.name, Format::MEMORY, self.columns.clone(), Quality::default())
    }
}
