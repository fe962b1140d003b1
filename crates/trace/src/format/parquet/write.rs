//! Writing the canonical Parquet.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt8Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use super::columns::{BATCH_ROWS, batch_rows, request_columns, request_schema};
use super::content_metadata::holes_in_json;
use super::digests::{self, ByFirstAppearance};
use super::temporary::{Temporary, cannot_write};
use super::{
    DIGEST, FLAGS, INSIDE, KEY_CHUNK_BYTES, KEY_HAS_DIGESTS, KEY_HOLES, KEY_QUALITY, KEY_SCHEMA,
    KEY_SOURCE_FORMAT, KEY_SOURCE_NAME, KEY_TRACE_DIGEST, KEY_VOLUME_NAMES, KEY_ZERO_CONTENT, SCHEMA_VERSION,
};
use crate::error::TraceError;
use crate::progress::Progress;
use crate::trace::Trace;

/// Writes `trace` as canonical Parquet to `path`, with its digests when it has any. Equal traces give equal
/// bytes. The complete file gets its name in one step; temporary files of killed processes are removed.
///
/// # Errors
/// [`crate::ErrorCause::Io`] when the folder cannot be written to, [`crate::ErrorCause::Cancelled`] when `progress`
/// says so.
pub fn write_parquet(trace: &Trace, path: &Path, progress: &dyn Progress) -> Result<(), TraceError> {
    write_requests(trace, path, progress)?;
    Ok(())
}

/// Plain values under a light compression: the fastest to read.
pub(super) fn properties(metadata: Vec<(&str, String)>) -> WriterPropertiesBuilder {
    let pairs = metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(BATCH_ROWS))
        .set_created_by("flashtwin".to_owned())
        .set_key_value_metadata(Some(pairs))
}

/// The column of flags, which only traces with some have.
fn flags_field() -> Field {
    Field::new(FLAGS, DataType::UInt8, false)
}

fn flags(trace: &Trace, rows: Range<usize>) -> ArrayRef {
    Arc::new(UInt8Array::from_iter_values(rows.map(|row| trace.flags_of(row))))
}

fn write_requests(trace: &Trace, path: &Path, progress: &dyn Progress) -> Result<(), TraceError> {
    let json =
        |value: serde_json::Result<String>| value.map_err(|error| cannot_write(path, &error.to_string()));
    let has_digests = !trace.digests.is_empty();
    let has_flags = !trace.flags.is_empty();
    let mut metadata = vec![
        (KEY_SCHEMA, SCHEMA_VERSION.to_string()),
        (KEY_CHUNK_BYTES, trace.chunk_bytes.to_string()),
        (KEY_SOURCE_NAME, trace.name.clone()),
        (KEY_SOURCE_FORMAT, trace.format.name().to_owned()),
        (KEY_VOLUME_NAMES, json(serde_json::to_string(&trace.volume_names))?),
        (KEY_QUALITY, json(serde_json::to_string(&trace.quality))?),
        (KEY_TRACE_DIGEST, trace.digest()),
        (KEY_HAS_DIGESTS, if has_digests { INSIDE } else { "false" }.to_owned()),
    ];
    if !trace.holes.is_empty() {
        metadata.push((KEY_HOLES, json(holes_in_json(&trace.holes))?));
    }
    metadata.extend(trace.zero_content.map(|content| (KEY_ZERO_CONTENT, content.to_string())));
    let digest = ColumnPath::new([DIGEST, "list", "item"].map(str::to_owned).to_vec());
    let properties = properties(metadata)
        // Times rise slowly, so their differences are small numbers.
        .set_column_encoding(ColumnPath::from("time_ns"), Encoding::DELTA_BINARY_PACKED)
        // Digests are random: compressing them only costs time.
        .set_column_compression(digest.clone(), Compression::UNCOMPRESSED)
        .set_column_statistics_enabled(digest, EnabledStatistics::None)
        .build();
    let requests = request_schema();
    let fields = requests.fields().iter().map(|field| field.as_ref().clone());
    let fields = fields.chain(has_digests.then(digests::field)).chain(has_flags.then(flags_field));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));

    let (temporary, file) = Temporary::beside(path)?;
    let failed = |why: String| cannot_write(path, &why);
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
        .map_err(|error| failed(error.to_string()))?;
    let mut by_appearance = ByFirstAppearance::new(trace);
    for rows in batch_rows(trace.len()) {
        progress.update(rows.start as u64, trace.len() as u64);
        if progress.cancelled() {
            return Err(TraceError::cancelled(&trace.name));
        }
        let mut columns = request_columns(trace, rows.clone());
        let flags = has_flags.then(|| flags(trace, rows.clone()));
        if has_digests {
            columns.push(by_appearance.column(rows).map_err(failed)?);
        }
        columns.extend(flags);
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| failed(error.to_string()))?;
        writer.write(&batch).map_err(|error| failed(error.to_string()))?;
    }
    writer.close().map_err(|error| failed(error.to_string()))?;
    temporary.finish()
}
