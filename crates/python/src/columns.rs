//! A trace as Arrow columns, the same as in its canonical Parquet file. Batches are made when they
//! are asked for, so that only one of them stands beside the trace in memory.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use flashtwin_trace::{Trace, batch_rows, request_columns, request_schema};

/// The trace's requests, batch by batch.
pub(crate) fn reader(trace: &Arc<Trace>) -> Box<dyn RecordBatchReader + Send> {
    let (trace, schema) = (Arc::clone(trace), request_schema());
    let of = Arc::clone(&schema);
    let batches = batch_rows(trace.len())
        .map(move |rows| RecordBatch::try_new(Arc::clone(&of), request_columns(&trace, rows)));
    Box::new(RecordBatchIterator::new(batches, schema))
}
