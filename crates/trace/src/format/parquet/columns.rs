//! The requests of a trace as Arrow columns, for the canonical Parquet file and for other tools in memory.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, UInt8Array, UInt32Array, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::requests::Requests;
use crate::trace::Trace;

/// Rows of a batch, and of a row group of the file.
pub(super) const BATCH_ROWS: usize = 1 << 18;

/// The rows of each batch of a table of `rows` rows.
pub fn batch_rows(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(BATCH_ROWS).map(move |start| start..rows.min(start + BATCH_ROWS))
}

fn item() -> FieldRef {
    Arc::new(Field::new("item", DataType::UInt32, false))
}

/// The columns of the canonical form; docs/trace-formats.md describes them.
pub fn request_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time_ns", DataType::Int64, false),
        Field::new("volume", DataType::UInt32, false),
        Field::new("op", DataType::UInt8, false),
        Field::new("offset_bytes", DataType::UInt64, false),
        Field::new("length_bytes", DataType::UInt32, false),
        Field::new("content", DataType::List(item()), true),
    ]))
}

/// Some requests of a trace as the columns of [`request_schema`].
pub fn request_columns(trace: &Trace, rows: Range<usize>) -> Vec<ArrayRef> {
    columns_of(&trace.requests(rows))
}

/// A run of requests as the columns of [`request_schema`].
pub(super) fn columns_of(run: &Requests<'_>) -> Vec<ArrayRef> {
    let op: Vec<u8> = run.op.iter().map(|&op| op as u8).collect();
    vec![
        Arc::new(Int64Array::from(run.time_ns.to_vec())),
        Arc::new(UInt32Array::from(run.volume.to_vec())),
        Arc::new(UInt8Array::from(op)),
        Arc::new(UInt64Array::from(run.offset_bytes.to_vec())),
        Arc::new(UInt32Array::from(run.length_bytes.to_vec())),
        Arc::new(contents(run)),
    ]
}

/// The content column of some rows: a list each, null where nothing is recorded.
fn contents(run: &Requests<'_>) -> ListArray {
    let starts = run.content_start;
    let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else {
        return ListArray::new_null(item(), run.len());
    };
    // A batch has at most 2^18 requests of at most 2^20 contents each; beyond 2^31 of them together
    // (8 TiB asked for in one batch) the offsets would not fit, which no trace reaches.
    let offsets: Vec<i32> = starts.iter().map(|&start| (start - first) as i32).collect();
    let values = run.content[first as usize..last as usize].to_vec();
    let valid: Vec<bool> = starts.windows(2).map(|pair| pair[0] != pair[1]).collect();
    ListArray::new(
        item(),
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Arc::new(UInt32Array::from(values)),
        Some(NullBuffer::from(valid)),
    )
}
