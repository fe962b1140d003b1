//! A trace as Arrow columns. Batches are made when they are asked for.
//!
//! Every trace has the same columns, and nothing in them depends on the trace around them, so that rows of two traces
//! can be put into one frame: contents are digests, volumes have names beside their numbers, and known holes
//! stand in a column, because Polars and pandas drop metadata.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder};
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, ListArray, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use flashtwin_trace::{Digests, NO_STREAM, Trace};

const BATCH_ROWS: usize = 1 << 18;

/// The trace's requests, batch by batch.
pub(crate) fn reader(trace: &Arc<Trace>) -> Box<dyn RecordBatchReader + Send> {
    let digests = DataType::List(Arc::new(Field::new("item", DataType::Binary, true)));
    let schema = Arc::new(Schema::new(vec![
        Field::new("time_ns", DataType::Int64, false),
        Field::new("volume", DataType::UInt32, false),
        Field::new_dictionary("volume_name", DataType::UInt32, DataType::Utf8, false),
        Field::new("op", DataType::UInt8, false),
        Field::new("offset_bytes", DataType::UInt64, false),
        Field::new("length_bytes", DataType::UInt32, false),
        Field::new("content_digest", digests, true),
        Field::new("flags", DataType::UInt8, false),
        Field::new("stream", DataType::UInt16, true),
        Field::new("holes", DataType::Utf8, true),
    ]));
    let (trace, of) = (Arc::clone(trace), Arc::clone(&schema));
    let digests = trace.content_digests().into_owned();
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(&trace.volume_names));
    let holes = holes_by_row(&trace);
    let batches = (0..trace.len()).step_by(BATCH_ROWS).map(move |start| {
        let rows = start..trace.len().min(start + BATCH_ROWS);
        RecordBatch::try_new(Arc::clone(&of), columns(&trace, rows, &digests, &names, &holes)?)
    });
    Box::new(RecordBatchIterator::new(batches, schema))
}

/// The holes of each volume, beside its first request, as JSON: `[[offset_bytes, length_bytes], ...]`.
fn holes_by_row(trace: &Trace) -> HashMap<usize, String> {
    let mut of_volume: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for (volume, range) in trace.holes.iter() {
        of_volume.entry(volume).or_default().push((range.start, range.end - range.start));
    }
    let rows = trace.volume.iter().enumerate();
    let first = rows.filter_map(|(row, volume)| Some((row, of_volume.remove(volume)?)));
    first.filter_map(|(row, holes)| Some((row, serde_json::to_string(&holes).ok()?))).collect()
}

fn columns(
    trace: &Trace,
    rows: Range<usize>,
    digests: &Digests,
    names: &ArrayRef,
    holes: &HashMap<usize, String>,
) -> Result<Vec<ArrayRef>, ArrowError> {
    let run = trace.requests(rows.clone());
    let volumes = UInt32Array::from(run.volume.to_vec());
    let mut flags = run.flags.to_vec();
    flags.resize(run.len(), 0);
    let stream = |row| Some(run.stream_of(row)).filter(|&stream| stream != NO_STREAM);
    Ok(vec![
        Arc::new(Int64Array::from(run.time_ns.to_vec())),
        Arc::new(volumes.clone()),
        Arc::new(DictionaryArray::<UInt32Type>::try_new(volumes, Arc::clone(names))?),
        Arc::new(UInt8Array::from_iter_values(run.op.iter().map(|&op| op as u8))),
        Arc::new(UInt64Array::from(run.offset_bytes.to_vec())),
        Arc::new(UInt32Array::from(run.length_bytes.to_vec())),
        Arc::new(contents(trace, rows.clone(), digests)),
        Arc::new(UInt8Array::from(flags)),
        Arc::new((0..run.len()).map(stream).collect::<UInt16Array>()),
        Arc::new(rows.map(|row| holes.get(&row)).collect::<StringArray>()),
    ])
}

/// A list for each row, null where nothing is recorded, with null where a content is unknown. Values have any length,
/// because pandas has no lists of values of one length.
fn contents(trace: &Trace, rows: Range<usize>, digests: &Digests) -> ListArray {
    let mut lists = ListBuilder::new(BinaryBuilder::new());
    for row in rows {
        let contents = trace.contents(row);
        contents.iter().for_each(|&id| lists.values().append_option(digests.get(id)));
        lists.append(!contents.is_empty());
    }
    lists.finish()
}
