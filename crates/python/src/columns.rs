//! A trace as Arrow columns, as in its canonical Parquet file. Batches are made when they are asked for.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array, ListArray, RecordBatch, RecordBatchIterator, RecordBatchReader, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use flashtwin_trace::{Requests, Trace};

const BATCH_ROWS: usize = 1 << 18;

/// The trace's requests, batch by batch.
pub(crate) fn reader(trace: &Arc<Trace>) -> Box<dyn RecordBatchReader + Send> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("time_ns", DataType::Int64, false),
        Field::new("volume", DataType::UInt32, false),
        Field::new("op", DataType::UInt8, false),
        Field::new("offset_bytes", DataType::UInt64, false),
        Field::new("length_bytes", DataType::UInt32, false),
        Field::new("content", DataType::List(item()), true),
    ]));
    let (trace, of) = (Arc::clone(trace), Arc::clone(&schema));
    let batches = (0..trace.len()).step_by(BATCH_ROWS).map(move |start| {
        RecordBatch::try_new(Arc::clone(&of), columns(&trace, start..trace.len().min(start + BATCH_ROWS)))
    });
    Box::new(RecordBatchIterator::new(batches, schema))
}

fn item() -> FieldRef {
    Arc::new(Field::new("item", DataType::UInt32, false))
}

fn columns(trace: &Trace, rows: Range<usize>) -> Vec<ArrayRef> {
    let run = trace.requests(rows);
    vec![
        Arc::new(Int64Array::from(run.time_ns.to_vec())),
        Arc::new(UInt32Array::from(run.volume.to_vec())),
        Arc::new(UInt8Array::from_iter_values(run.op.iter().map(|&op| op as u8))),
        Arc::new(UInt64Array::from(run.offset_bytes.to_vec())),
        Arc::new(UInt32Array::from(run.length_bytes.to_vec())),
        Arc::new(contents(&run)),
    ]
}

/// The content column of some rows: a list each, null where nothing is recorded.
fn contents(run: &Requests<'_>) -> ListArray {
    let starts = run.content_start;
    let Some(&first) = starts.first() else { return ListArray::new_null(item(), run.len()) };
    // A batch is far below 2^31 contents: these would be 8 TiB asked for in one batch.
    let offsets: Vec<i32> = starts.iter().map(|&start| (start - first) as i32).collect();
    let valid: Vec<bool> = starts.windows(2).map(|pair| pair[0] != pair[1]).collect();
    ListArray::new(
        item(),
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Arc::new(UInt32Array::from(run.all_contents().to_vec())),
        Some(NullBuffer::from(valid)),
    )
}
