//! The file of a timeline: written under another name, and renamed when it is whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::SimError;
use crate::parquet_file::PartFile;

#[derive(Debug)]
pub(super) struct TimelineFile {
    path: PathBuf,
    part: PartFile,
    to: BufWriter<File>,
    failed: Option<SimError>,
}

impl TimelineFile {
    pub(super) fn new(path: &Path) -> Result<Self, SimError> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".partial");
        let part = PartFile(path.with_file_name(name));
        let to = BufWriter::new(File::create(&part.0).map_err(|error| failed(path, &error))?);
        Ok(Self { path: path.to_owned(), part, to, failed: None })
    }

    /// The first failure is kept; later bytes are dropped.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.to.write_all(bytes).err().map(|error| failed(&self.path, &error));
        }
    }

    pub(super) fn check(&mut self) -> Result<(), SimError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    pub(super) fn finish(mut self) -> Result<(), SimError> {
        self.check()?;
        self.to.flush().map_err(|error| failed(&self.path, &error))?;
        std::fs::rename(&self.part.0, &self.path).map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, cause: &std::io::Error) -> SimError {
    SimError::Write { path: path.display().to_string(), cause: format!("the timeline: {cause}") }
}
