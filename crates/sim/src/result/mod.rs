//! What a run leaves behind: one JSON summary and Arrow tables. Nothing is printed that is
//! not in them.

mod summary;
mod tables;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use self::summary::Summary;
use crate::error::SimError;
use crate::finished::Finished;

/// The results of one run.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// Figures of the whole run with the full configuration, by the schema of [`results_schema`].
    pub summary: Value,
    /// Tables by name.
    pub tables: Vec<(String, RecordBatch)>,
}

/// The JSON schema of what a run leaves behind: its `summary`, and a row of each of its `tables` by name.
pub fn results_schema() -> Value {
    let tables: serde_json::Map<String, Value> = tables::schemas().into_iter().collect();
    json!({ "summary": flashtwin_analysis::schema_of::<Summary>(), "tables": tables })
}

pub(crate) fn collect(mut finished: Finished<'_>) -> RunResult {
    let tables = tables::tables(&mut finished);
    let end_ns = finished.engine.now_ns();
    let bins = finished.engine.observer.hash_queue.finish(end_ns);
    let area = bins.iter().flatten().map(|bin| bin.area as f64).sum();
    finished.hash_queue = (area, bins.iter().flatten().map(|bin| bin.max).max().unwrap_or(0));
    // Plain structures of numbers and strings always have a JSON form.
    let summary = serde_json::to_value(Summary::of(&finished)).unwrap_or_default();
    RunResult { summary, tables }
}

impl RunResult {
    /// A table by its name.
    pub fn table(&self, name: &str) -> Option<&RecordBatch> {
        self.tables.iter().find(|(table, _)| table == name).map(|(_, batch)| batch)
    }

    /// Writes `summary.json` and one Parquet file a table into `dir`, which is made if need
    /// be. Each file appears under its name only when it is whole; the summary last.
    ///
    /// # Errors
    /// [`SimError::Write`] naming the file.
    pub fn write(&self, dir: &Path) -> Result<(), SimError> {
        let failed = |path: &Path, cause: String| SimError::Write { path: path.display().to_string(), cause };
        std::fs::create_dir_all(dir).map_err(|error| failed(dir, error.to_string()))?;
        for (name, batch) in &self.tables {
            let path = dir.join(format!("{name}.parquet"));
            whole(&path, |file| write_parquet(file, batch)).map_err(|cause| failed(&path, cause))?;
        }
        let path = dir.join("summary.json");
        let text =
            serde_json::to_string_pretty(&self.summary).map_err(|error| failed(&path, error.to_string()))?;
        whole(&path, |mut file| writeln!(file, "{text}").map_err(|error| error.to_string()))
            .map_err(|cause| failed(&path, cause))
    }
}

/// Writes a file beside its final name and renames it when it is complete.
fn whole(path: &Path, write: impl FnOnce(File) -> Result<(), String>) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let partial = path.with_extension("part");
    let outcome = File::create(&partial).map_err(text).and_then(write);
    match outcome {
        Ok(()) => std::fs::rename(&partial, path).map_err(text),
        Err(cause) => {
            // What is half-written is of no use; the first error is the one to report.
            std::fs::remove_file(&partial).unwrap_or_default();
            Err(cause)
        }
    }
}

fn write_parquet(file: File, batch: &RecordBatch) -> Result<(), String> {
    let level = ZstdLevel::try_new(3).map_err(|error| error.to_string())?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(format!("flashtwin {}", env!("CARGO_PKG_VERSION")))
        .build();
    let text = |error: parquet::errors::ParquetError| error.to_string();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(text)?;
    writer.write(batch).map_err(text)?;
    writer.close().map(|_| ()).map_err(text)
}
