//! Writing the canonical Parquet of a trace that is never whole in memory.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::metadata::KeyValue;
use parquet::schema::types::ColumnPath;

use super::columns::{BATCH_ROWS, columns_of, request_schema};
use super::temporary::{Temporary, cannot_write};
use super::write::properties;
use super::{
    KEY_CHUNK_BYTES, KEY_HAS_DIGESTS, KEY_QUALITY, KEY_SCHEMA, KEY_SOURCE_FORMAT, KEY_SOURCE_NAME,
    KEY_TRACE_DIGEST, KEY_VOLUME_NAMES, SCHEMA_VERSION,
};
use crate::columns::Columns;
use crate::digest::TraceHasher;
use crate::error::TraceError;
use crate::holes::Holes;
use crate::options::Format;
use crate::progress::Progress;
use crate::quality::{Figures, Quality};
use crate::request::CHUNK_BYTES;

/// Batches made ahead of the one that is being written.
const AHEAD: usize = 2;

/// Writes the requests that `make` brings, in order and on one volume, without digests; how many there
/// are. `make` is asked for a number of rows and brings fewer only at the end. Contents must be numbered
/// by first appearance.
///
/// # Errors
/// [`ErrorCause::Io`](crate::ErrorCause::Io) when the file cannot be written.
pub(crate) fn write_streamed(
    name: &str,
    format: Format,
    mut make: impl FnMut(usize) -> Columns + Send,
    total: u64,
    path: &Path,
    threaded: bool,
    progress: &dyn Progress,
) -> Result<u64, TraceError> {
    let mut file = Streamed::new(name, format, path)?;
    let mut write = |columns: &Columns| {
        progress.update(file.requests, total);
        if progress.cancelled() { Err(TraceError::cancelled(name)) } else { file.add(columns) }
    };
    if threaded {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(AHEAD);
            scope.spawn(move || {
                loop {
                    let columns = make(BATCH_ROWS);
                    // Nobody receives when writing has failed.
                    if columns.len() == 0 || sender.send(columns).is_err() {
                        return;
                    }
                }
            });
            receiver.iter().try_for_each(|columns| write(&columns))
        })?;
    } else {
        loop {
            let columns = make(BATCH_ROWS);
            if columns.len() == 0 {
                break;
            }
            write(&columns)?;
        }
    }
    let requests = file.finish()?;
    Ok(requests)
}

/// A file that is being written.
struct Streamed<'a> {
    path: &'a Path,
    temporary: Temporary,
    writer: ArrowWriter<File>,
    hasher: TraceHasher,
    figures: Figures,
    requests: u64,
}

impl Streamed<'_> {
    fn new<'a>(name: &str, format: Format, path: &'a Path) -> Result<Streamed<'a>, TraceError> {
        let (temporary, file) = Temporary::beside(path)?;
        let metadata = vec![
            (KEY_SCHEMA, SCHEMA_VERSION.to_string()),
            (KEY_CHUNK_BYTES, CHUNK_BYTES.to_string()),
            (KEY_SOURCE_NAME, name.to_owned()),
            (KEY_SOURCE_FORMAT, format.name().to_owned()),
            (KEY_VOLUME_NAMES, r#"["0"]"#.to_owned()),
            (KEY_HAS_DIGESTS, false.to_string()),
        ];
        let properties = properties(metadata)
            .set_column_encoding(ColumnPath::from("time_ns"), Encoding::DELTA_BINARY_PACKED)
            .build();
        let writer = ArrowWriter::try_new(file, request_schema(), Some(properties))
            .map_err(|error| cannot_write(path, &error.to_string()))?;
        let hasher = TraceHasher::new(CHUNK_BYTES);
        Ok(Streamed { path, temporary, writer, hasher, figures: Figures::default(), requests: 0 })
    }

    fn add(&mut self, columns: &Columns) -> Result<(), TraceError> {
        let run = columns.as_run();
        self.hasher.add(&run);
        self.figures.add(run.time_ns, run.op, run.offset_bytes, run.length_bytes);
        self.requests += run.len() as u64;
        let failed = |why: String| cannot_write(self.path, &why);
        let batch =
            RecordBatch::try_new(request_schema(), columns_of(&run)).map_err(|e| failed(e.to_string()))?;
        self.writer.write(&batch).map_err(|e| failed(e.to_string()))
    }

    fn finish(mut self) -> Result<u64, TraceError> {
        let mut quality = Quality::default();
        quality.judge(&self.figures);
        let quality =
            serde_json::to_string(&quality).map_err(|error| cannot_write(self.path, &error.to_string()))?;
        let mut add = |key: &str, value| {
            self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), Some(value)));
        };
        add(KEY_QUALITY, quality);
        add(KEY_TRACE_DIGEST, self.hasher.finish(Holes::NONE));
        self.writer.close().map_err(|error| cannot_write(self.path, &error.to_string()))?;
        self.temporary.finish()?;
        Ok(self.requests)
    }
}
