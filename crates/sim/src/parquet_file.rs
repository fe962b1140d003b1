//! How results are written as files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

pub(crate) fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(format!("flashtwin {}", env!("CARGO_PKG_VERSION")))
        .build()
}

/// A file that is deleted on drop, unless it has been moved.
#[derive(Debug)]
pub(crate) struct PartFile(pub(crate) PathBuf);

impl Drop for PartFile {
    fn drop(&mut self) {
        // A finished file has been moved away; any other is of no use.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

/// Writes a file beside its final name and renames it when it is complete.
pub(crate) fn whole(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    let part = PartFile(path.with_extension("part"));
    write(File::create(&part.0)?)?;
    std::fs::rename(&part.0, path)
}
