use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use flashtwin_analysis::{Nullable, table};

use super::{Entry, RequestRow};
use crate::error::SimError;
use crate::parquet_file::{self, PartFile, TableWriter, read_table};

/// Where the table of requests goes while a run makes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RequestsTo {
    /// Nowhere: it is not made.
    #[default]
    Nowhere,
    /// Into memory, compressed.
    Memory,
    /// Into this file, which is there while the run goes on and moves away when its results are written.
    File(PathBuf),
}

/// The finished table of requests of a run.
#[derive(Debug, Clone)]
pub struct RequestTable(Stored);

#[derive(Debug, Clone)]
enum Stored {
    Memory(Bytes),
    File(Arc<PartFile>),
}

#[derive(Debug)]
enum Sink {
    Memory(Vec<u8>),
    File(File),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Memory(all) => all.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(file) => file.flush(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    system: String,
    to: TableWriter<Sink>,
    file: Option<PartFile>,
}

fn failed(path: Option<&Path>, cause: &impl ToString) -> SimError {
    let path = path.map_or_else(|| "the table of requests".to_owned(), |path| path.display().to_string());
    SimError::Write { path, cause: cause.to_string() }
}

impl Writer {
    pub(super) fn new(system: &str, to: &RequestsTo) -> Result<Self, SimError> {
        let (sink, file) = match to {
            RequestsTo::File(path) => {
                let file = File::create(path).map_err(|error| failed(Some(path), &error))?;
                (Sink::File(file), Some(PartFile(path.clone())))
            }
            RequestsTo::Memory | RequestsTo::Nowhere => (Sink::Memory(Vec::new()), None),
        };
        let schema = batch(system, &[]).schema();
        let to = TableWriter::new(sink, &schema)
            .map_err(|error| failed(file.as_ref().map(|file| file.0.as_path()), &error))?;
        Ok(Self { system: system.to_owned(), to, file })
    }

    pub(super) fn write(&mut self, lot: &[Entry]) -> Result<(), SimError> {
        let written = self.to.write(&batch(&self.system, lot));
        written.map_err(|error| failed(self.path(), &error))
    }

    pub(super) fn finish(self) -> Result<RequestTable, SimError> {
        let Self { to, file, .. } = self;
        let path = file.as_ref().map(|file| file.0.clone());
        let sink = to.finish().map_err(|error| failed(path.as_deref(), &error))?;
        Ok(RequestTable(match (sink, file) {
            (Sink::Memory(bytes), _) => Stored::Memory(bytes.into()),
            (Sink::File(_), Some(file)) => Stored::File(Arc::new(file)),
            (Sink::File(_), None) => unreachable!("a file has a name"),
        }))
    }

    fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.0.as_path())
    }
}

pub(super) fn batch<'a>(system: &'a str, lot: impl IntoIterator<Item = &'a Entry>) -> RecordBatch {
    let rows: Vec<RequestRow<'_>> = lot.into_iter().map(|entry| RequestRow::of(system, entry)).collect();
    table(&rows, Nullable::All).1
}

impl RequestTable {
    /// The whole table, in memory.
    ///
    /// # Errors
    /// [`SimError::Write`] where the file is no longer there, or cannot be read.
    pub fn read(&self) -> Result<RecordBatch, SimError> {
        match &self.0 {
            Stored::Memory(bytes) => read_table(bytes.clone()).map_err(|cause| failed(None, &cause)),
            Stored::File(part) => {
                let file = File::open(&part.0).map_err(|error| failed(Some(&part.0), &error))?;
                read_table(file).map_err(|cause| failed(Some(&part.0), &cause))
            }
        }
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), SimError> {
        let outcome = match &self.0 {
            Stored::Memory(bytes) => parquet_file::whole(path, |mut file| file.write_all(bytes)),
            Stored::File(part) => std::fs::rename(&part.0, path),
        };
        outcome.map_err(|error| failed(Some(path), &error))
    }
}
