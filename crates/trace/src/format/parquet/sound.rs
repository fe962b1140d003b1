//! What a damaged Parquet file must not do: the library trusts the offsets and counts of a footer, and its decoders
//! panic on some pages.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// `read_records` of a column, whose result is the number of rows. Where the library (60.1.0) panics, as on a page
/// that has values and tells of none, this is an error, after which the reader must not be used.
pub fn read_records<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    definition: Option<&mut Vec<i16>>,
    repetition: Option<&mut Vec<i16>>,
    values: &mut Vec<T::T>,
) -> ParquetResult<usize> {
    let read = AssertUnwindSafe(|| reader.read_records(rows, definition, repetition, values));
    match catch_unwind(read) {
        Ok(read) => Ok(read?.0),
        Err(_) => Err(ParquetError::General("a page of it is damaged".to_owned())),
    }
}

pub(super) fn check(metadata: &ParquetMetaData, end: u64) -> Result<(), String> {
    let mut rows = 0_i64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let wrong = |what: String| format!("row group {number}: {what}");
        if group.num_rows() < 0 {
            return Err(wrong(format!("it has {} rows", group.num_rows())));
        }
        rows = rows.saturating_add(group.num_rows());
        for column in group.columns() {
            check_column(column, group.num_rows(), end)
                .map_err(|what| wrong(format!("column {}: {what}", column.column_path())))?;
        }
    }
    let listed = metadata.file_metadata().num_rows();
    if listed != rows {
        return Err(format!("it tells of {listed} rows, its row groups of {rows}"));
    }
    Ok(())
}

fn check_column(column: &ColumnChunkMetaData, rows: i64, end: u64) -> Result<(), String> {
    let dictionary = column.dictionary_page_offset();
    // As the library has it: the dictionary comes first.
    let start = dictionary.unwrap_or(column.data_page_offset());
    for (what, offset) in [("data pages", Some(column.data_page_offset())), ("dictionary", dictionary)] {
        if let Some(offset) = offset.filter(|&offset| offset < 0) {
            return Err(format!("its {what} begin at byte {offset}"));
        }
    }
    let length = column.compressed_size();
    let lies_inside = u64::try_from(start).ok().zip(u64::try_from(length).ok());
    let lies_inside =
        lies_inside.and_then(|(start, length)| start.checked_add(length)).is_some_and(|last| last <= end);
    if !lies_inside {
        return Err(format!("its {length} bytes from byte {start} on lie beyond the end of the file"));
    }
    // A list has a value for each item and one where it is empty or missing.
    if column.num_values() < rows {
        return Err(format!("it has {} values for {rows} rows", column.num_values()));
    }
    if column.uncompressed_size() < 0 {
        return Err(format!("it is {} bytes when uncompressed", column.uncompressed_size()));
    }
    Ok(())
}
