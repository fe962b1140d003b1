//! Decodes the columns of a trace, one row group after another.

use std::sync::Arc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;

use super::schema::{Places, integer};
use super::sound::read_records;
use super::source::ParquetSource;
use crate::columns::Columns;
use crate::digest::fold;
use crate::flags;
use crate::request::{NO_CONTENT, NO_STREAM, Op};

/// Rows of a batch: decoded rows stay in a processor's second-level cache until they are taken.
const DECODED_ROWS: usize = 1 << 16;

/// Rows whose digests are decoded at a time: the library has 40 bytes for each, and a count of references.
pub(super) const DIGEST_ROWS: usize = 1 << 12;

pub(super) type Batch = Result<Decoded, Fault>;

pub(super) struct Decoded {
    /// Without contents where they are given as digests.
    pub(super) columns: Columns,
    pub(super) digests: Option<Lists<Option<[u8; 16]>>>,
}

/// A list for each row: row `n` has the items from `starts[n]` to `starts[n + 1]`.
pub(super) struct Lists<T> {
    pub(super) starts: Vec<u64>,
    pub(super) items: Vec<T>,
}

#[derive(Debug)]
pub(super) enum Fault {
    File(ParquetError),
    /// A value that no trace has; the row counts from the batch's first.
    Value {
        column: String,
        row: usize,
        what: String,
    },
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Fault {
        Fault::File(error)
    }
}

#[derive(Clone)]
pub(super) struct Reading {
    pub(super) source: Arc<ParquetSource>,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) places: Places,
}

impl Reading {
    pub(super) fn batches(self, group: usize) -> impl Iterator<Item = Batch> {
        let (group, error) = match RowGroup::open(&self, group) {
            Ok(group) => (Some(group), None),
            Err(error) => (None, Some(Err(error.into()))),
        };
        group.into_iter().flatten().chain(error)
    }
}

struct RowGroup {
    rows_left: usize,
    required: [Column; 5],
    content: Option<Column>,
    digests: Option<Column>,
    flags: Option<Column>,
    stream: Option<Column>,
}

impl RowGroup {
    fn open(reading: &Reading, group: usize) -> ParquetResult<RowGroup> {
        let group = reading.metadata.row_group(group);
        let rows = usize::try_from(group.num_rows())?;
        let open = |at: usize| {
            let chunk = group.column(at);
            let pages = SerializedPageReader::new(Arc::clone(&reading.source), chunk, rows, None)?;
            let about = chunk.column_descr_ptr();
            let reader = get_column_reader(Arc::clone(&about), Box::new(pages));
            Ok::<_, ParquetError>(Column {
                reader,
                levels: Levels { about, definition: vec![], repetition: vec![] },
            })
        };
        let [time_ns, volume, op, offset_bytes, length_bytes] = reading.places.required;
        Ok(RowGroup {
            rows_left: rows,
            required: [open(time_ns)?, open(volume)?, open(op)?, open(offset_bytes)?, open(length_bytes)?],
            content: reading.places.content.map(open).transpose()?,
            digests: reading.places.digests.map(open).transpose()?,
            flags: reading.places.flags.map(open).transpose()?,
            stream: reading.places.stream.map(open).transpose()?,
        })
    }

    fn decode(&mut self, rows: usize) -> Batch {
        let [time_ns, volume, op, offset_bytes, length_bytes] = &mut self.required;
        let mut columns = Columns {
            time_ns: time_ns.numbers(rows)?,
            volume: volume.numbers(rows)?,
            offset_bytes: offset_bytes.numbers(rows)?,
            length_bytes: length_bytes.numbers(rows)?,
            content_start: vec![0; rows + 1],
            ..Columns::default()
        };
        let known_op = |(row, number)| {
            let what = || format!("{number} is not 0 (read), 1 (write), 2 (trim) or 3 (flush)");
            Op::from_number(number).ok_or_else(|| Fault::Value { column: "op".to_owned(), row, what: what() })
        };
        columns.op = op.numbers(rows)?.into_iter().enumerate().map(known_op).collect::<Result<_, _>>()?;
        if let Some(content) = &mut self.content {
            let lists = content.ids(rows)?;
            (columns.content_start, columns.content) = (lists.starts, lists.items);
        }
        let digests = self.digests.as_mut().map(|digests| digests.digests(rows)).transpose()?;
        if let Some(column) = &mut self.flags {
            let mut bits: Vec<u8> = column.numbers(rows)?;
            bits.iter_mut().for_each(|bits| *bits &= flags::ALL);
            if bits.iter().any(|&bits| bits != 0) {
                columns.flags = bits;
            }
        }
        if let Some(column) = &mut self.stream {
            columns.stream = column.streams(rows)?;
        }
        Ok(Decoded { columns, digests })
    }
}

impl Iterator for RowGroup {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let rows = self.rows_left.min(DECODED_ROWS);
        let batch = (rows > 0).then(|| self.decode(rows))?;
        self.rows_left = if batch.is_ok() { self.rows_left - rows } else { 0 };
        Some(batch)
    }
}

struct Column {
    reader: ColumnReader,
    levels: Levels,
}

/// The levels of a column's last rows. Parquet keeps only values that exist: the definition level of each place says
/// whether there is one, and the repetition level is 0 where a row begins.
struct Levels {
    about: ColumnDescPtr,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl Column {
    fn numbers<N: TryFrom<i64> + TryFrom<u64>>(&mut self, rows: usize) -> Result<Vec<N>, Fault> {
        let values = self.integers(rows)?;
        if values.len() < rows {
            let levels = &self.levels;
            let row = levels.definition.iter().position(|&level| level < levels.about.max_def_level());
            return Err(levels.fault(row.unwrap_or(0), "a value is missing (null)".to_owned()));
        }
        Ok(values)
    }

    /// [`NO_STREAM`] where there is none; empty if there is none at all.
    fn streams(&mut self, rows: usize) -> Result<Vec<u16>, Fault> {
        let values = self.integers(rows)?;
        if let Some(wrong) = values.iter().position(|&value| value == NO_STREAM) {
            let what = format!("{NO_STREAM} is out of range: 0 to 65534, or null, was expected");
            return Err(self.levels.fault(self.levels.row_of(wrong), what));
        }
        if values.is_empty() || values.len() == rows {
            return Ok(values);
        }
        let (exists, mut values) = (self.levels.about.max_def_level(), values.into_iter());
        let next = |&level| if level == exists { values.next().unwrap_or(NO_STREAM) } else { NO_STREAM };
        Ok(self.levels.definition.iter().map(next).collect())
    }

    fn ids(&mut self, rows: usize) -> Result<Lists<u32>, Fault> {
        let values = self.integers(rows)?;
        self.levels.lists(rows, values, NO_CONTENT)
    }

    fn digests(&mut self, rows: usize) -> Result<Lists<Option<[u8; 16]>>, Fault> {
        fn folded<T: AsBytes>(values: Vec<T>) -> impl Iterator<Item = Option<[u8; 16]>> {
            values.into_iter().map(|value| Some(fold(value.as_bytes())))
        }
        let mut digests = Vec::with_capacity(rows);
        self.levels.clear();
        for first in (0..rows).step_by(DIGEST_ROWS) {
            let few = DIGEST_ROWS.min(rows - first);
            match &mut self.reader {
                ColumnReader::ByteArrayColumnReader(reader) => {
                    digests.extend(folded(self.levels.read(reader, few)?));
                }
                ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                    digests.extend(folded(self.levels.read(reader, few)?));
                }
                _ => return Err(self.levels.fault(0, "this is no digest".to_owned())),
            }
        }
        self.levels.lists(rows, digests, None)
    }

    fn integers<N: TryFrom<i64> + TryFrom<u64>>(&mut self, rows: usize) -> Result<Vec<N>, Fault> {
        let is_signed = integer(&self.levels.about).is_some_and(|(is_signed, _)| is_signed);
        self.levels.clear();
        let values = match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => {
                let values = self.levels.read(reader, rows)?;
                if is_signed {
                    narrow(values, i64::from)
                } else {
                    narrow(values, |value| u64::from(value as u32))
                }
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let values = self.levels.read(reader, rows)?;
                if is_signed { narrow(values, |value| value) } else { narrow(values, |value| value as u64) }
            }
            _ => Err((0, "this is no whole number".to_owned())),
        };
        values.map_err(|(value, what)| self.levels.fault(self.levels.row_of(value), what))
    }
}

/// Converts numbers; the first that does not fit is the error, with its index.
fn narrow<S, W, N>(values: Vec<S>, widen: impl Fn(S) -> W) -> Result<Vec<N>, (usize, String)>
where
    W: std::fmt::Display + Copy,
    N: TryFrom<W>,
{
    let fit = |(at, value)| {
        let wide = widen(value);
        N::try_from(wide).map_err(|_| (at, format!("{wide} is out of range")))
    };
    values.into_iter().enumerate().map(fit).collect()
}

impl Levels {
    fn clear(&mut self) {
        self.definition.clear();
        self.repetition.clear();
    }

    /// Adds the levels of the next rows, and returns the values that exist.
    fn read<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
    ) -> Result<Vec<T::T>, Fault> {
        let mut values = Vec::with_capacity(rows);
        let (definition, repetition) = (&mut self.definition, &mut self.repetition);
        let read = read_records(reader, rows, Some(definition), Some(repetition), &mut values)?;
        if read < rows { Err(self.too_short(read, rows)) } else { Ok(values) }
    }

    /// The lists of the last rows from their values, and from `null` where an item is missing.
    fn lists<T: Copy>(&self, rows: usize, values: Vec<T>, null: T) -> Result<Lists<T>, Fault> {
        let (exists, is_item) = (self.about.max_def_level(), self.about.repeated_ancestor_def_level());
        let mut starts = Vec::with_capacity(rows + 1);
        let mut at = 0;
        for (&repetition, &definition) in self.repetition.iter().zip(&self.definition) {
            if repetition == 0 {
                starts.push(at);
            }
            at += u64::from(definition >= is_item);
        }
        if starts.len() != rows {
            return Err(self.too_short(starts.len(), rows));
        }
        starts.push(at);
        if at == values.len() as u64 {
            return Ok(Lists { starts, items: values });
        }
        let mut values = values.into_iter();
        let items = self.definition.iter().filter(|&&level| level >= is_item);
        let items = items.map(|&level| if level == exists { values.next().unwrap_or(null) } else { null });
        Ok(Lists { starts, items: items.collect() })
    }

    fn fault(&self, row: usize, what: String) -> Fault {
        let column = self.about.path().parts().first().cloned().unwrap_or_default();
        Fault::Value { column, row, what }
    }

    fn too_short(&self, read: usize, rows: usize) -> Fault {
        let column = self.about.path();
        ParquetError::General(format!("column {column} has {read} rows where others have {rows}")).into()
    }

    /// The row of the last rows that an existing value belongs to.
    #[cold]
    fn row_of(&self, value: usize) -> usize {
        let exists = self.about.max_def_level();
        let places = self.definition.iter().enumerate().filter(|&(_, &level)| level == exists);
        let Some((at, _)) = places.into_iter().nth(value) else { return value };
        match self.repetition.get(..=at) {
            Some(levels) => levels.iter().filter(|&&level| level == 0).count().saturating_sub(1),
            None => at,
        }
    }
}
