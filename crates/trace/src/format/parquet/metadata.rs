//! The metadata of a file, and their errors.

use parquet::file::metadata::ParquetMetaData;

use crate::error::{ErrorCause, TraceError};

const SCHEMA_CURE: &str =
    "write the columns as docs/trace-formats.md lists them, or make the file with `flashtwin trace convert`";

/// The error of a file that is no trace of ours.
pub(super) fn malformed(name: &str, what: impl Into<String>) -> TraceError {
    TraceError::new(ErrorCause::Malformed, name, what, SCHEMA_CURE)
}

/// Key-value metadata of a file.
pub(super) struct Metadata(Vec<(String, String)>);

impl Metadata {
    pub(super) fn of(metadata: &ParquetMetaData) -> Metadata {
        let pairs = metadata.file_metadata().key_value_metadata();
        Metadata(
            pairs
                .into_iter()
                .flatten()
                .filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?)))
                .collect(),
        )
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// A row of a batch and the error in it.
pub(super) type BadRow = (usize, String);
