//! Columns of requests on their way into a trace: checked, sorted, numbered.

use std::ops::Range;

use flashtwin_bits::{SpareMemory, try_with_capacity};

use crate::digest::Digests;
use crate::error::{ErrorCause, TraceError};
use crate::holes::Holes;
use crate::request::{CHUNK_BYTES, NO_CONTENT, NO_STREAM, Op, Request};
use crate::requests::{Requests, rows_there};
use crate::volumes::Appearance;

/// The columns of a trace as anyone may bring them; see [`crate::Trace`]. Here times may start anywhere, and volumes
/// and content ids may be any numbers.
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
    pub flags: Vec<u8>,
    pub stream: Vec<u16>,
    pub holes: Holes,
    pub zero_content: Option<u32>,
}

impl Columns {
    pub(crate) fn empty() -> Columns {
        Columns { content_start: vec![0], ..Columns::default() }
    }

    pub(crate) fn with_capacity(requests: usize, contents: usize) -> Columns {
        let mut content_start = try_with_capacity(requests + 1);
        content_start.push(0);
        Columns {
            time_ns: try_with_capacity(requests),
            volume: try_with_capacity(requests),
            op: try_with_capacity(requests),
            offset_bytes: try_with_capacity(requests),
            length_bytes: try_with_capacity(requests),
            content_start,
            content: try_with_capacity(contents),
            ..Columns::default()
        }
    }

    pub(crate) fn rooms(&self) -> [SpareMemory; 7] {
        [
            SpareMemory::of(&self.time_ns),
            SpareMemory::of(&self.volume),
            SpareMemory::of(&self.offset_bytes),
            SpareMemory::of(&self.length_bytes),
            SpareMemory::of(&self.op),
            SpareMemory::of(&self.content),
            SpareMemory::of(&self.content_start),
        ]
    }

    /// Bytes of the columns now, and their largest growth at one time for `further` more requests.
    pub(crate) fn bytes(&self, further: usize) -> (u64, u64) {
        fn of<T>(column: &Vec<T>, further: usize) -> (u64, u64) {
            let item = size_of::<T>() as u64;
            let (held, needed) = (column.capacity() as u64, (column.len() + further) as u64);
            // A vector that is full takes twice its room.
            (held * item, if needed > held { needed.max(2 * held) * item - held * item } else { 0 })
        }
        let columns = [
            of(&self.time_ns, further),
            of(&self.volume, further),
            of(&self.op, further),
            of(&self.offset_bytes, further),
            of(&self.length_bytes, further),
            of(&self.content_start, further),
            of(&self.content, if self.content.is_empty() { 0 } else { further }),
        ];
        columns.into_iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// Bytes that sorting and numbering take for a while, beside the columns.
    pub(crate) fn finishing_bytes(&self) -> u64 {
        let sorted = self.time_ns.is_sorted();
        let order = if sorted { 0 } else { 16 * self.len() as u64 + 4 * self.content.len() as u64 };
        order + 24 * self.digests.len() as u64
    }

    /// The requests, as one run.
    pub fn as_run(&self) -> Requests<'_> {
        Requests {
            time_ns: &self.time_ns,
            volume: &self.volume,
            op: &self.op,
            offset_bytes: &self.offset_bytes,
            length_bytes: &self.length_bytes,
            content_start: &self.content_start,
            content: &self.content,
            chunk_bytes: CHUNK_BYTES,
            flags: &self.flags,
            stream: &self.stream,
            holes: &self.holes,
            zero_content: self.zero_content,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.time_ns.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, request: Request) {
        self.time_ns.push(request.time_ns);
        self.volume.push(request.volume);
        self.op.push(request.op);
        self.offset_bytes.push(request.offset_bytes);
        self.length_bytes.push(request.length_bytes);
        self.content_start.push(self.content.len() as u64);
    }

    /// Sets bits of [`crate::flags`] and the stream of the requests from `row` on.
    #[inline]
    pub(crate) fn mark_from(&mut self, row: usize, (bits, stream): (u8, u16)) {
        let rows = self.len();
        if bits != 0 && row < rows {
            self.flags.resize(rows, 0);
            self.flags[row..].iter_mut().for_each(|flags| *flags |= bits);
        }
        if stream != NO_STREAM && row < rows {
            self.stream.resize(rows, NO_STREAM);
            self.stream[row..].fill(stream);
        }
    }

    pub(crate) fn mark_last(&mut self, marks: (u8, u16)) {
        self.mark_from(self.len().saturating_sub(1), marks);
    }

    /// Adds the requests `rows` of `from` behind these. Digests stay where they are.
    pub(crate) fn extend_from(&mut self, from: &Columns, rows: Range<usize>) {
        extend(&mut self.flags, self.time_ns.len(), rows_there(&from.flags, rows.clone()), 0);
        extend(&mut self.stream, self.time_ns.len(), rows_there(&from.stream, rows.clone()), NO_STREAM);
        self.time_ns.extend_from_slice(&from.time_ns[rows.clone()]);
        self.volume.extend_from_slice(&from.volume[rows.clone()]);
        self.op.extend_from_slice(&from.op[rows.clone()]);
        self.offset_bytes.extend_from_slice(&from.offset_bytes[rows.clone()]);
        self.length_bytes.extend_from_slice(&from.length_bytes[rows.clone()]);
        let starts = &from.content_start[rows.start..=rows.end];
        let shift = (self.content.len() as u64).wrapping_sub(starts[0]);
        self.content_start.extend(starts[1..].iter().map(|&start| start.wrapping_add(shift)));
        self.content.extend_from_slice(&from.content[starts[0] as usize..starts[rows.len()] as usize]);
    }

    pub(crate) fn drop_first(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.time_ns.drain(..count);
        self.volume.drain(..count);
        self.op.drain(..count);
        self.offset_bytes.drain(..count);
        self.length_bytes.drain(..count);
        self.content_start.drain(..count);
        self.flags.drain(..count.min(self.flags.len()));
        self.stream.drain(..count.min(self.stream.len()));
        let first = self.content_start[0];
        self.content.drain(..first as usize);
        self.content_start.iter_mut().for_each(|start| *start -= first);
    }

    /// Takes all requests out but the last `keep`.
    pub(crate) fn take_but(&mut self, keep: usize) -> Columns {
        let taken = self.len().saturating_sub(keep);
        let mut rest = Columns::empty();
        rest.extend_from(self, taken..self.len());
        let mut all = std::mem::replace(self, rest);
        all.time_ns.truncate(taken);
        all.volume.truncate(taken);
        all.op.truncate(taken);
        all.offset_bytes.truncate(taken);
        all.length_bytes.truncate(taken);
        all.flags.truncate(taken);
        all.stream.truncate(taken);
        all.content_start.truncate(taken + 1);
        all.content.truncate(all.content_start[taken] as usize);
        all
    }
}

/// Adds `rows` to a column behind `before` rows, of which the last may be missing.
fn extend<T: Copy>(column: &mut Vec<T>, before: usize, rows: &[T], none: T) {
    if !rows.is_empty() {
        column.resize(before, none);
        column.extend_from_slice(rows);
    }
}

pub(crate) fn check(name: &str, columns: &Columns, first_row: usize) -> Result<(), TraceError> {
    check_lengths(name, columns)?;
    check_requests(name, columns, 0..columns.len(), first_row)
}

pub(crate) fn check_lengths(name: &str, columns: &Columns) -> Result<(), TraceError> {
    let bad = |what: String| Err(TraceError::new(ErrorCause::Malformed, name, what, ""));
    let requests = columns.time_ns.len();
    for (column, length) in [
        ("volume", columns.volume.len()),
        ("op", columns.op.len()),
        ("offset_bytes", columns.offset_bytes.len()),
        ("length_bytes", columns.length_bytes.len()),
    ] {
        if length != requests {
            return bad(format!("column {column} has {length} rows, time_ns has {requests}"));
        }
    }
    for (column, length) in [("flags", columns.flags.len()), ("stream", columns.stream.len())] {
        if length > requests {
            return bad(format!("column {column} has {length} rows, time_ns has {requests}"));
        }
    }
    let starts = &columns.content_start;
    let ends =
        |starts: &[u64]| starts.first() == Some(&0) && starts.last() == Some(&(columns.content.len() as u64));
    if (starts.is_empty() && columns.content.is_empty()) || (starts.len() == requests + 1 && ends(starts)) {
        return Ok(());
    }
    bad("content_start must have one entry more than there are requests, begin with 0 and end with the length of content"
        .to_owned())
}

/// Checks that the requests `rows` are possible. `first_row` requests came before the columns.
pub(crate) fn check_requests(
    name: &str,
    columns: &Columns,
    rows: Range<usize>,
    first_row: usize,
) -> Result<(), TraceError> {
    let bad = |what: String, row: usize| {
        let error = TraceError::new(ErrorCause::Malformed, name, what, "");
        Err(error.at_line((first_row + row) as u64 + 1, None))
    };
    let (offsets, lengths) = (&columns.offset_bytes[rows.clone()], &columns.length_bytes[rows.clone()]);
    let asked = columns.op[rows.clone()].iter().zip(offsets).zip(lengths);
    for (((&op, &offset), &length), row) in asked.zip(rows.clone()) {
        if (op == Op::Flush) != (length == 0) || (length == 0 && offset != 0) {
            return bad(wrong_extent(op, offset, length), row);
        }
        if offset > i64::MAX as u64 - u64::from(length) {
            return bad(format!("offset {offset} reaches beyond 2^63 bytes"), row);
        }
    }
    let starts = columns.content_start.get(rows.start..=rows.end).unwrap_or_default();
    for ((pair, &length), row) in starts.windows(2).zip(lengths).zip(rows) {
        let wanted = u64::from(length.div_ceil(CHUNK_BYTES));
        let got = pair[1].wrapping_sub(pair[0]);
        if got != 0 && got != wanted {
            return bad(
                format!(
                    "a request of {length} bytes must have {wanted} contents (one for each {CHUNK_BYTES} bytes it begins) or none, it has {got}"
                ),
                row,
            );
        }
    }
    Ok(())
}

#[cold]
fn wrong_extent(op: Op, offset: u64, length: u32) -> String {
    match op {
        Op::Flush => format!(
            "a flush of {length} bytes at {offset}: a flush has no address, 0 bytes at 0 were expected"
        ),
        _ => "a request of 0 bytes".to_owned(),
    }
}

pub(crate) fn check_digests(name: &str, columns: &Columns) -> Result<(), TraceError> {
    let digests = columns.digests.len();
    let lacks = |&&id: &&u32| id != NO_CONTENT && id as usize >= digests;
    match columns.content.iter().find(lacks).filter(|_| digests > 0) {
        None => Ok(()),
        Some(id) => Err(TraceError::new(
            ErrorCause::Malformed,
            name,
            format!("content {id} has no digest, there are {digests}"),
            "",
        )),
    }
}

pub(crate) fn sort_by_time(columns: &mut Columns) {
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
    fn permute_there<T: Copy>(column: &mut Vec<T>, order: &[usize], none: T) {
        if !column.is_empty() {
            column.resize(order.len(), none);
            permute(column, order);
        }
    }
    permute(&mut columns.time_ns, &order);
    permute(&mut columns.volume, &order);
    permute(&mut columns.op, &order);
    permute(&mut columns.offset_bytes, &order);
    permute(&mut columns.length_bytes, &order);
    permute_there(&mut columns.flags, &order, 0);
    permute_there(&mut columns.stream, &order, NO_STREAM);
}

/// Gives contents ids in order of first appearance, so that equal traces have equal ids. `known` has the digests of the
/// ids before.
pub(crate) fn number_contents_by_appearance(columns: &mut Columns, known: &Digests) {
    let mut appearance = Appearance::default();
    let mut digests = Vec::new();
    for id in &mut columns.content {
        if *id == NO_CONTENT {
            continue;
        }
        let (number, fresh) = appearance.number(*id);
        if fresh {
            digests.extend(known.get(*id));
        }
        *id = number;
    }
    columns.digests = Digests::new(digests);
    columns.zero_content = columns.zero_content.and_then(|zero| appearance.get(zero));
}
