//! Results of a run: one JSON summary and Arrow tables. All output is made from them.

mod summary;
mod tables;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use flashtwin_analysis::Row;
use serde_json::{Value, json};

use self::summary::Summary;
use crate::error::SimError;
use crate::finished::FinishedRun;
use crate::parquet_file::{TableWriter, whole};
use crate::requests::{RequestRow, RequestTable};

/// The results of one run.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// Figures of the whole run with the full configuration, by the schema of [`results_schema`].
    pub summary: Value,
    /// Tables by name.
    pub tables: Vec<(String, RecordBatch)>,
    /// The table of single requests, if asked for.
    pub requests: Option<RequestTable>,
}

/// The JSON schema of a run's results: its `summary`, and a row of each of its `tables` by name.
pub fn results_schema() -> Value {
    let tables: serde_json::Map<String, Value> = tables::schemas().into_iter().collect();
    json!({ "summary": flashtwin_analysis::schema_of::<Summary>(), "tables": tables })
}

pub(crate) fn collect(mut finished: FinishedRun<'_>) -> RunResult {
    let tables = tables::tables(&mut finished);
    let end_ns = finished.engine.now_ns();
    let bins = finished.engine.accounts_mut().observer.hash_queue.finish(end_ns);
    let area = bins.iter().flatten().map(|bin| bin.area as f64).sum();
    finished.hash_queue = (area, bins.iter().flatten().map(|bin| bin.max).max().unwrap_or(0));
    // Plain structures of numbers and strings always have a JSON form.
    let summary = serde_json::to_value(Summary::of(&finished)).unwrap_or_default();
    RunResult { summary, tables, requests: None }
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
        let failed = |path: &Path, cause: io::Error| SimError::Write {
            path: path.display().to_string(),
            cause: cause.to_string(),
        };
        std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
        for (name, batch) in &self.tables {
            let path = dir.join(format!("{name}.parquet"));
            whole(&path, |file| write_parquet(file, batch)).map_err(|cause| failed(&path, cause))?;
        }
        if let Some(requests) = &self.requests {
            requests.write(&dir.join(format!("{}.parquet", <RequestRow<'_> as Row>::TABLE)))?;
        }
        let path = dir.join("summary.json");
        let text =
            serde_json::to_string_pretty(&self.summary).map_err(|error| failed(&path, error.into()))?;
        whole(&path, |mut file| writeln!(file, "{text}")).map_err(|cause| failed(&path, cause))
    }
}

fn write_parquet(file: File, batch: &RecordBatch) -> io::Result<()> {
    let mut writer = TableWriter::new(file, &batch.schema())?;
    writer.write(batch)?;
    writer.finish()?;
    Ok(())
}
