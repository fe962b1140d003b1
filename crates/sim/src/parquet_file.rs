//! How results are written as files.

use std::fs::File;
use std::path::Path;

use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

pub(crate) fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(format!("flashtwin {}", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Writes a file beside its final name and renames it when it is complete.
pub(crate) fn whole(path: &Path, write: impl FnOnce(File) -> Result<(), String>) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let partial = path.with_extension("part");
    let outcome = File::create(&partial).map_err(text).and_then(write);
    match outcome {
        Ok(()) => std::fs::rename(&partial, path).map_err(text),
        Err(cause) => {
            // A half-written file is of no use; the first error is the one to report.
            std::fs::remove_file(&partial).unwrap_or_default();
            Err(cause)
        }
    }
}
