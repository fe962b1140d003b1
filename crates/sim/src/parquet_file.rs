use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use flashtwin_trace::read_records;
use parquet::basic::{Compression, Type as PhysicalType, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type as stored;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

const GROUP_ROWS: usize = 1 << 20;

/// Writes a table, batch by batch. Values of all columns may be missing.
#[derive(Debug)]
pub(crate) struct TableWriter<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> TableWriter<W> {
    pub(crate) fn new(to: W, schema: &Schema) -> Result<Self> {
        let columns: Result<String> = schema.fields().iter().map(|field| declaration(field)).collect();
        let schema = Arc::new(parse_message_type(&format!("message arrow_schema {{ {} }}", columns?))?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(format!("flashtwin {}", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self(SerializedFileWriter::new(to, schema, Arc::new(properties))?))
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for start in (0..batch.num_rows()).step_by(GROUP_ROWS) {
            let rows = batch.slice(start, GROUP_ROWS.min(batch.num_rows() - start));
            let mut group = self.0.next_row_group()?;
            for array in rows.columns() {
                write_column(&mut group, array)?;
            }
            group.close()?;
        }
        Ok(())
    }

    /// Writes the footer; returns the place that was written to.
    pub(crate) fn finish(self) -> Result<W> {
        self.0.into_inner()
    }
}

fn declaration(field: &Field) -> Result<String> {
    let name = field.name();
    Ok(match field.data_type() {
        DataType::UInt32 => format!("optional int32 {name} (INTEGER(32, false)); "),
        DataType::UInt64 => format!("optional int64 {name} (INTEGER(64, false)); "),
        DataType::Int64 => format!("optional int64 {name}; "),
        DataType::Float64 => format!("optional double {name}; "),
        DataType::Boolean => format!("optional boolean {name}; "),
        DataType::Utf8 => format!("optional binary {name} (STRING); "),
        other => return Err(ParquetError::General(format!("tables have no columns of type {other}"))),
    })
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    array: &ArrayRef,
) -> Result<()> {
    match array.data_type() {
        DataType::UInt32 => {
            let cells = array.as_primitive::<UInt32Type>().iter().map(|cell| cell.map(|cell| cell as i32));
            write_cells::<stored::Int32Type, W>(group, cells)
        }
        DataType::UInt64 => {
            let cells = array.as_primitive::<UInt64Type>().iter().map(|cell| cell.map(|cell| cell as i64));
            write_cells::<stored::Int64Type, W>(group, cells)
        }
        DataType::Int64 => {
            write_cells::<stored::Int64Type, W>(group, array.as_primitive::<Int64Type>().iter())
        }
        DataType::Float64 => {
            write_cells::<stored::DoubleType, W>(group, array.as_primitive::<Float64Type>().iter())
        }
        DataType::Boolean => write_cells::<stored::BoolType, W>(group, array.as_boolean().iter()),
        _ => {
            let cells = array.as_string::<i32>().iter().map(|cell| cell.map(stored::ByteArray::from));
            write_cells::<stored::ByteArrayType, W>(group, cells)
        }
    }
}

fn write_cells<T: stored::DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("a batch has more columns than its table".to_owned()));
    };
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

pub(crate) fn read_table(from: impl ChunkReader + 'static) -> std::result::Result<RecordBatch, String> {
    let text = |error: ParquetError| error.to_string();
    let file = SerializedFileReader::new(from).map_err(text)?;
    let mut columns = Vec::new();
    for (at, column) in file.metadata().file_metadata().schema_descr().columns().iter().enumerate() {
        let array = read_column(&file, at, column.physical_type(), column.logical_type_ref().is_some());
        columns.push((column.name().to_owned(), array.map_err(text)?, true));
    }
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| error.to_string())
}

fn read_column(
    file: &dyn FileReader,
    at: usize,
    kind: PhysicalType,
    has_logical_type: bool,
) -> Result<ArrayRef> {
    Ok(match kind {
        PhysicalType::INT32 => {
            let cells = read_cells::<stored::Int32Type>(file, at)?.into_iter();
            Arc::new(cells.map(|cell| cell.map(|cell| cell as u32)).collect::<UInt32Array>())
        }
        PhysicalType::INT64 if has_logical_type => {
            let cells = read_cells::<stored::Int64Type>(file, at)?.into_iter();
            Arc::new(cells.map(|cell| cell.map(|cell| cell as u64)).collect::<UInt64Array>())
        }
        PhysicalType::INT64 => Arc::new(Int64Array::from(read_cells::<stored::Int64Type>(file, at)?)),
        PhysicalType::DOUBLE => Arc::new(Float64Array::from(read_cells::<stored::DoubleType>(file, at)?)),
        PhysicalType::BOOLEAN => Arc::new(BooleanArray::from(read_cells::<stored::BoolType>(file, at)?)),
        _ => {
            let cells = read_cells::<stored::ByteArrayType>(file, at)?;
            let texts = cells.iter().map(|cell| cell.as_ref().map(stored::ByteArray::as_utf8).transpose());
            Arc::new(texts.collect::<Result<StringArray>>()?)
        }
    })
}

fn read_cells<T: stored::DataType>(file: &dyn FileReader, at: usize) -> Result<Vec<Option<T::T>>> {
    let mut cells = Vec::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows())?;
        let mut reader = get_typed_column_reader::<T>(group.get_column_reader(at)?);
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        read_records(&mut reader, rows, Some(&mut levels), None, &mut values)?;
        let mut values = values.into_iter();
        cells.extend(levels.iter().map(|&level| if level > 0 { values.next() } else { None }));
    }
    Ok(cells)
}

/// A file that is deleted on drop, unless it has been moved.
#[derive(Debug)]
pub(crate) struct PartFile(pub(crate) PathBuf);

impl Drop for PartFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

/// Writes a file beside its final name and renames it when it is complete.
pub(crate) fn whole(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    let part = PartFile(path.with_extension("part"));
    write(File::create(&part.0)?)?;
    std::fs::rename(&part.0, path)
}
