//! Writing the canonical Parquet.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use super::columns::{BATCH_ROWS, batch_rows, request_columns, request_schema};
use super::{
    KEY_CHUNK_BYTES, KEY_HAS_DIGESTS, KEY_QUALITY, KEY_SCHEMA, KEY_SOURCE_FORMAT, KEY_SOURCE_NAME,
    KEY_TRACE_DIGEST, KEY_VOLUME_NAMES, SCHEMA_VERSION, digests_path,
};
use crate::error::{Cause, TraceError};
use crate::trace::Trace;

/// Writes `trace` as canonical Parquet to `path`, and its digests beside it (as
/// `NAME.digests.parquet`) when it has any. Equal traces give equal bytes. Each file appears under
/// its name only when it is complete.
///
/// # Errors
/// [`Cause::Io`] when the folder cannot be written to.
pub fn write_parquet(trace: &Trace, path: &Path) -> Result<(), TraceError> {
    let digest = trace.digest();
    let beside = digests_path(path);
    if trace.digests.is_empty() {
        // Digests of an earlier trace of this name must not be taken for this one's.
        match std::fs::remove_file(&beside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(cannot_write(&beside, &error.to_string()));
            }
            _ => {}
        }
    } else {
        write_digests(trace, &digest, &beside)?;
    }
    write_requests(trace, &digest, path)
}

pub(super) fn cannot_write(path: &Path, why: &str) -> TraceError {
    TraceError::new(
        Cause::Io,
        path.display().to_string(),
        format!("cannot write ({why})"),
        "choose a folder that exists and is writable, with space left",
    )
}

/// A file under a temporary name, removed unless it is finished.
pub(super) struct Temporary {
    path: PathBuf,
    wanted: PathBuf,
    finished: bool,
}

impl Temporary {
    pub(super) fn beside(wanted: &Path) -> Result<(Temporary, File), TraceError> {
        let name = wanted.file_name().unwrap_or_default().to_string_lossy();
        let path = wanted.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::create(&path).map_err(|e| cannot_write(wanted, &e.to_string()))?;
        let temporary = Temporary { path, wanted: wanted.to_owned(), finished: false };
        Ok((temporary, file))
    }

    pub(super) fn finish(mut self) -> Result<(), TraceError> {
        std::fs::rename(&self.path, &self.wanted).map_err(|e| cannot_write(&self.wanted, &e.to_string()))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing more can be done about a file that cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Plain values under a light compression: what reads fastest.
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

fn write_batches(
    path: &Path,
    schema: &Arc<Schema>,
    properties: WriterProperties,
    batches: impl Iterator<Item = Vec<ArrayRef>>,
) -> Result<(), TraceError> {
    let (temporary, file) = Temporary::beside(path)?;
    let failed = |why: String| cannot_write(path, &why);
    let mut writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties))
        .map_err(|e| failed(e.to_string()))?;
    for columns in batches {
        let batch = RecordBatch::try_new(Arc::clone(schema), columns).map_err(|e| failed(e.to_string()))?;
        writer.write(&batch).map_err(|e| failed(e.to_string()))?;
    }
    writer.close().map_err(|e| failed(e.to_string()))?;
    temporary.finish()
}

fn write_requests(trace: &Trace, digest: &str, path: &Path) -> Result<(), TraceError> {
    let json =
        |value: serde_json::Result<String>| value.map_err(|error| cannot_write(path, &error.to_string()));
    let metadata = vec![
        (KEY_SCHEMA, SCHEMA_VERSION.to_string()),
        (KEY_CHUNK_BYTES, trace.chunk_bytes.to_string()),
        (KEY_SOURCE_NAME, trace.name.clone()),
        (KEY_SOURCE_FORMAT, trace.format.name().to_owned()),
        (KEY_VOLUME_NAMES, json(serde_json::to_string(&trace.volume_names))?),
        (KEY_QUALITY, json(serde_json::to_string(&trace.quality))?),
        (KEY_TRACE_DIGEST, digest.to_owned()),
        (KEY_HAS_DIGESTS, (!trace.digests.is_empty()).to_string()),
    ];
    // Times rise slowly, so their differences are small numbers.
    let properties = properties(metadata)
        .set_column_encoding(ColumnPath::from("time_ns"), Encoding::DELTA_BINARY_PACKED)
        .build();
    let batches = batch_rows(trace.len()).map(|rows| request_columns(trace, rows));
    write_batches(path, &request_schema(), properties, batches)
}

fn write_digests(trace: &Trace, digest: &str, path: &Path) -> Result<(), TraceError> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("content", DataType::UInt32, false),
        Field::new("digest", DataType::Binary, false),
    ]));
    let metadata = vec![(KEY_SCHEMA, SCHEMA_VERSION.to_string()), (KEY_TRACE_DIGEST, digest.to_owned())];
    let properties = properties(metadata)
        // Digests are random: compressing them only costs time.
        .set_column_compression(ColumnPath::from("digest"), Compression::UNCOMPRESSED)
        .set_column_statistics_enabled(ColumnPath::from("digest"), EnabledStatistics::None)
        .set_column_encoding(ColumnPath::from("content"), Encoding::DELTA_BINARY_PACKED)
        .build();
    let batches = batch_rows(trace.digests.len()).map(|rows| {
        let ids: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
        let digests = &trace.digests.bytes[rows];
        let columns: Vec<ArrayRef> =
            vec![Arc::new(UInt32Array::from(ids)), Arc::new(BinaryArray::from_iter_values(digests))];
        columns
    });
    write_batches(path, &schema, properties, batches)
}
