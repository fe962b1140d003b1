//! A trace: what the host asked for, as columns.

use hashbrown::HashMap;

use crate::digest::ColumnHasher;
use crate::error::{Cause, TraceError};
use crate::format::{self, Format};
use crate::input::Source;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::request::{NO_CONTENT, Op, Request};
use crate::{CHUNK_BYTES, Digests};

/// What to do with a line that cannot be understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadLine {
    /// Stop with an error that names the line.
    #[default]
    Fail,
    /// Leave the line out, count it and list the first few in [`Quality::bad_lines`].
    Skip,
}

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// The format; `None` (default) finds out from the content.
    pub format: Option<Format>,
    /// What to do with malformed lines; default: fail.
    pub on_bad_line: OnBadLine,
    /// Requests up to this much earlier than the latest one before them are sorted into place and
    /// counted; anything earlier is an error. Nanoseconds; default one second.
    pub sort_window_ns: u64,
    /// Whether lines of one time, process and direction with consecutive addresses become the one
    /// request they were (FIU, which writes a line for every 4 KB); default yes.
    pub join_lines: bool,
    /// Whether decompression runs in a thread of its own; default yes. The result is the same.
    pub threaded: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            format: None,
            on_bad_line: OnBadLine::Fail,
            sort_window_ns: 1_000_000_000,
            join_lines: true,
            threaded: true,
        }
    }
}

/// What the host asked for: one entry a request in every column, sorted by time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Name for people: the file's name without folders and known endings.
    pub name: String,
    /// The format it was read from.
    pub format: Format,
    /// Arrival in nanoseconds; the first request is at 0.
    pub time_ns: Vec<i64>,
    /// Dense volume number, ascending with the number in the file; see `volume_names`.
    pub volume: Vec<u32>,
    /// What is asked.
    pub op: Vec<Op>,
    /// First byte addressed.
    pub offset_bytes: Vec<u64>,
    /// Bytes addressed; never 0.
    pub length_bytes: Vec<u32>,
    /// Request `i` has the contents `content[content_start[i]..content_start[i + 1]]`. A request
    /// carries either none or one for each `chunk_bytes` it begins. Empty without any content.
    pub content_start: Vec<u64>,
    /// Content ids, dense in order of first appearance; [`NO_CONTENT`] where one is unknown.
    pub content: Vec<u32>,
    /// Bytes that one content covers.
    pub chunk_bytes: u32,
    /// Digest of each content id; may be empty although there is content.
    pub digests: Digests,
    /// What each dense volume number is called in the file.
    pub volume_names: Vec<String>,
    /// What was noticed on reading.
    pub quality: Quality,
}

/// The columns of a trace as anyone may bring them; see the fields of [`Trace`].
///
/// Unlike there, times may start anywhere, volumes need not be dense and content ids may be any numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Columns {
    pub time_ns: Vec<i64>,
    pub volume: Vec<u32>,
    pub op: Vec<Op>,
    pub offset_bytes: Vec<u64>,
    pub length_bytes: Vec<u32>,
    pub content_start: Vec<u64>,
    pub content: Vec<u32>,
    pub digests: Digests,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// Names the place (`file:line:column` for text), what was expected there and what to do.
    pub fn open(
        source: &Source,
        options: &OpenOptions,
        progress: &dyn Progress,
    ) -> Result<Trace, TraceError> {
        format::open(source, options, progress)
    }

    /// Makes a trace from columns: checks them, sorts them by time (stably), lets the first request be
    /// at 0 and makes volumes and contents dense.
    ///
    /// # Errors
    /// [`Cause::Malformed`] when columns disagree in length, a request is empty or reaches beyond 2^63,
    /// or a request's contents are neither none nor one a chunk.
    pub fn from_columns(
        name: &str,
        format: Format,
        columns: Columns,
        quality: Quality,
    ) -> Result<Trace, TraceError> {
        check(name, &columns)?;
        let mut volumes = Volumes::default();
        let mut columns = columns;
        for volume in &mut columns.volume {
            *volume = volumes.index(u64::from(*volume), |key| key.to_string());
        }
        Ok(finish(name, format, columns, volumes, quality))
    }

    /// Writes the trace as canonical Parquet; see [`crate::write_parquet`].
    ///
    /// # Errors
    /// [`Cause::Io`] when the folder cannot be written to.
    pub fn write_parquet(&self, path: &std::path::Path) -> Result<(), TraceError> {
        crate::write_parquet(self, path)
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

    /// 128-bit hash over all columns as 32 hex digits: equal requests with equal contents at equal
    /// addresses give equal digests, whatever format and compression they were read from. The
    /// digests of contents do not enter, only which contents are the same.
    pub fn digest(&self) -> String {
        let mut hasher = ColumnHasher::new();
        hasher.column(&[self.chunk_bytes], u32::to_le_bytes);
        hasher.column(&self.time_ns, i64::to_le_bytes);
        hasher.column(&self.volume, u32::to_le_bytes);
        hasher.column(&self.op, |op: Op| [op as u8]);
        hasher.column(&self.offset_bytes, u64::to_le_bytes);
        hasher.column(&self.length_bytes, u32::to_le_bytes);
        hasher.column(&self.content_start, u64::to_le_bytes);
        hasher.column(&self.content, u32::to_le_bytes);
        hasher.finish()
    }
}

pub(crate) fn check(name: &str, columns: &Columns) -> Result<(), TraceError> {
    let bad = |what: String, row: Option<usize>| {
        let error = TraceError::new(Cause::Malformed, name, what, "");
        Err(match row {
            Some(row) => error.at_line(row as u64 + 1, None),
            None => error,
        })
    };
    let requests = columns.time_ns.len();
    for (column, length) in [
        ("volume", columns.volume.len()),
        ("op", columns.op.len()),
        ("offset_bytes", columns.offset_bytes.len()),
        ("length_bytes", columns.length_bytes.len()),
    ] {
        if length != requests {
            return bad(format!("column {column} has {length} rows, time_ns has {requests}"), None);
        }
    }
    for (row, (&offset, &length)) in columns.offset_bytes.iter().zip(&columns.length_bytes).enumerate() {
        if length == 0 {
            return bad("a request of 0 bytes".to_owned(), Some(row));
        }
        if offset > i64::MAX as u64 - u64::from(length) {
            return bad(format!("offset {offset} reaches beyond 2^63 bytes"), Some(row));
        }
    }
    let digests = columns.digests.len();
    if digests > 0
        && let Some(&id) = columns.content.iter().find(|&&id| id != NO_CONTENT && id as usize >= digests)
    {
        return bad(format!("content {id} has no digest, there are {digests}"), None);
    }
    let starts = &columns.content_start;
    if starts.is_empty() && columns.content.is_empty() {
        return Ok(());
    }
    if starts.len() != requests + 1
        || starts.first() != Some(&0)
        || starts.last() != Some(&(columns.content.len() as u64))
    {
        return bad(
            "content_start must have one entry more than there are requests, begin with 0 and end with the length of content"
                .to_owned(),
            None,
        );
    }
    for (row, pair) in starts.windows(2).enumerate() {
        let wanted = u64::from(columns.length_bytes[row].div_ceil(CHUNK_BYTES));
        let got = pair[1].wrapping_sub(pair[0]);
        if got != 0 && got != wanted {
            return bad(
                format!(
                    "a request of {} bytes must have {wanted} contents (one for each {CHUNK_BYTES} bytes it begins) or none, it has {got}",
                    columns.length_bytes[row]
                ),
                Some(row),
            );
        }
    }
    Ok(())
}

/// Volumes as a file numbers them, on their way to dense numbers.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    found: HashMap<u64, u32>,
    keys: Vec<(u64, String)>,
    last: Option<(u64, u32)>,
}

impl Volumes {
    /// Index of the volume with this key, in order of appearance; made by `name` when new.
    #[inline]
    pub(crate) fn index(&mut self, key: u64, name: impl FnOnce(u64) -> String) -> u32 {
        match self.last {
            Some((last, index)) if last == key => index,
            _ => self.look_up(key, name),
        }
    }

    fn look_up(&mut self, key: u64, name: impl FnOnce(u64) -> String) -> u32 {
        let index = *self.found.entry(key).or_insert_with(|| {
            self.keys.push((key, name(key)));
            (self.keys.len() - 1) as u32
        });
        self.last = Some((key, index));
        index
    }

    /// For each index the dense number (ascending with the key), and the names in that order.
    fn into_dense(self) -> (Vec<u32>, Vec<String>) {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.sort_by_key(|&index| self.keys[index as usize].0);
        let mut dense = vec![0; order.len()];
        for (number, &index) in order.iter().enumerate() {
            dense[index as usize] = number as u32;
        }
        let names = order.iter().map(|&index| self.keys[index as usize].1.clone()).collect();
        (dense, names)
    }
}

/// Brings columns into a trace's form. `columns.volume` holds indices into `volumes`.
pub(crate) fn finish(
    name: &str,
    format: Format,
    mut columns: Columns,
    volumes: Volumes,
    mut quality: Quality,
) -> Trace {
    if !columns.time_ns.is_sorted() {
        sort_by_time(&mut columns);
    }
    if let Some(&first) = columns.time_ns.first()
        && first != 0
    {
        columns.time_ns.iter_mut().for_each(|time| *time -= first);
    }
    let (dense, volume_names) = volumes.into_dense();
    if !dense.is_sorted() {
        for volume in &mut columns.volume {
            *volume = dense[*volume as usize];
        }
    }
    if columns.content.is_empty() {
        columns.content_start = Vec::new();
        columns.digests = Digests::default();
    }
    number_contents_by_appearance(&mut columns);
    count_unaligned(&columns, &mut quality);
    quality.judge(&columns.time_ns, &columns.offset_bytes, &columns.length_bytes);
    Trace {
        name: name.to_owned(),
        format,
        time_ns: columns.time_ns,
        volume: columns.volume,
        op: columns.op,
        offset_bytes: columns.offset_bytes,
        length_bytes: columns.length_bytes,
        content_start: columns.content_start,
        content: columns.content,
        chunk_bytes: CHUNK_BYTES,
        digests: columns.digests,
        volume_names,
        quality,
    }
}

fn sort_by_time(columns: &mut Columns) {
    let mut order: Vec<usize> = (0..columns.time_ns.len()).collect();
    order.sort_by_key(|&row| columns.time_ns[row]);
    if columns.content_start.len() > 1 {
        let mut content = Vec::with_capacity(columns.content.len());
        let mut starts = Vec::with_capacity(columns.content_start.len());
        starts.push(0);
        for &row in &order {
            let start = columns.content_start[row] as usize;
            let end = columns.content_start[row + 1] as usize;
            content.extend_from_slice(&columns.content[start..end]);
            starts.push(content.len() as u64);
        }
        columns.content = content;
        columns.content_start = starts;
    }
    fn permute<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
        *column = order.iter().map(|&row| column[row]).collect();
    }
    permute(&mut columns.time_ns, &order);
    permute(&mut columns.volume, &order);
    permute(&mut columns.op, &order);
    permute(&mut columns.offset_bytes, &order);
    permute(&mut columns.length_bytes, &order);
}

/// Gives contents ids in order of first appearance, so that equal traces have equal ids.
fn number_contents_by_appearance(columns: &mut Columns) {
    let mut next = 0;
    let in_order = columns.content.iter().all(|&id| {
        if id == next {
            next += 1;
        }
        id < next || id == NO_CONTENT
    });
    if !in_order {
        let mut number: HashMap<u32, u32> = HashMap::new();
        let mut digests = Vec::new();
        for id in &mut columns.content {
            if *id == NO_CONTENT {
                continue;
            }
            let fresh = number.len() as u32;
            let old = *id;
            *id = *number.entry(old).or_insert_with(|| {
                digests.extend(columns.digests.get(old));
                fresh
            });
        }
        columns.digests = Digests::new(digests);
    } else if !columns.digests.is_empty() {
        columns.digests.bytes.truncate(next as usize);
    }
}

fn count_unaligned(columns: &Columns, quality: &mut Quality) {
    quality.unaligned_content = columns
        .content_start
        .windows(2)
        .zip(&columns.offset_bytes)
        .filter(|(pair, offset)| pair[0] != pair[1] && *offset % u64::from(CHUNK_BYTES) != 0)
        .count() as u64;
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
        TraceBuilder {
            name: name.to_owned(),
            columns: Columns { content_start: vec![0], ..Columns::default() },
        }
    }

    /// Adds a request; `contents` are any numbers that stand for contents, one for each
    /// 4,096 bytes the request begins, or none.
    pub fn push(&mut self, request: Request, contents: &[u32]) -> &mut TraceBuilder {
        let columns = &mut self.columns;
        columns.time_ns.push(request.time_ns);
        columns.volume.push(request.volume);
        columns.op.push(request.op);
        columns.offset_bytes.push(request.offset_bytes);
        columns.length_bytes.push(request.length_bytes);
        columns.content.extend_from_slice(contents);
        columns.content_start.push(columns.content.len() as u64);
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

    /// The trace.
    ///
    /// # Errors
    /// As [`Trace::from_columns`].
    pub fn build(&self) -> Result<Trace, TraceError> {
        Trace::from_columns(&self.name, Format::MEMORY, self.columns.clone(), Quality::default())
    }
}
