//! A trace as Arrow columns, the same as in its canonical Parquet file. Batches are made when they
//! are asked for, so that only one of them stands beside the trace in memory.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use flashtwin_trace::Trace;

/// Requests in a batch.
const ROWS: usize = 1 << 18;

/// The trace's requests, batch by batch.
pub(crate) fn reader(trace: &Arc<Trace>) -> Box<dyn RecordBatchReader + Send> {
    let item: FieldRef = Arc::new(Field::new("item", DataType::UInt32, false));
    let schema = Arc::new(Schema::new(vec![
        Field::new("time_ns", DataType::Int64, false),
        Field::new("volume", DataType::UInt32, false),
        Field::new("op", DataType::UInt8, false),
        Field::new("offset_bytes", DataType::UInt64, false),
        Field::new("length_bytes", DataType::UInt32, false),
        Field::new("content", DataType::List(Arc::clone(&item)), true),
    ]));
    let (trace, of) = (Arc::clone(trace), Arc::clone(&schema));
    let batches = (0..trace.len()).step_by(ROWS).map(move |start| {
        let end = trace.len().min(start + ROWS);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(trace.time_ns[start..end].iter().copied())),
            Arc::new(UInt32Array::from_iter_values(trace.volume[start..end].iter().copied())),
            Arc::new(UInt8Array::from_iter_values(trace.op[start..end].iter().map(|&op| op as u8))),
            Arc::new(UInt64Array::from_iter_values(trace.offset_bytes[start..end].iter().copied())),
            Arc::new(UInt32Array::from_iter_values(trace.length_bytes[start..end].iter().copied())),
            Arc::new(contents(&trace, start, end, &item)?),
        ];
        RecordBatch::try_new(Arc::clone(&of), columns)
    });
    Box::new(RecordBatchIterator::new(batches, schema))
}

/// The contents of the requests `start..end`: a list each, null where none are recorded.
fn contents(trace: &Trace, start: usize, end: usize, item: &FieldRef) -> Result<ListArray, ArrowError> {
    if trace.content_start.is_empty() {
        return Ok(ListArray::new_null(Arc::clone(item), end - start));
    }
    let lists = start..end;
    let offsets = OffsetBuffer::from_lengths(lists.clone().map(|request| trace.contents(request).len()));
    let known = NullBuffer::from_iter(lists.map(|request| !trace.contents(request).is_empty()));
    let values = &trace.content[trace.content_start[start] as usize..trace.content_start[end] as usize];
    let values = UInt32Array::new(ScalarBuffer::from(values.to_vec()), None);
    ListArray::try_new(Arc::clone(item), offsets, Arc::new(values), Some(known))
}
