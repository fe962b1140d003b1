//! A Parquet file to read from: any part of it at any time, by several threads at once.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A file or memory. Clones have no position in common, as clones of a [`File`] have.
#[derive(Clone)]
pub(super) enum ParquetSource {
    File { file: Arc<File>, bytes: u64 },
    Memory(Bytes),
}

impl ParquetSource {
    pub(super) fn file(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self::File { file: Arc::new(file), bytes })
    }
}

impl Length for ParquetSource {
    fn len(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => *bytes,
            Self::Memory(memory) => memory.len() as u64,
        }
    }
}

impl ChunkReader for ParquetSource {
    type T = Part;

    fn get_read(&self, start: u64) -> Result<Part> {
        Ok(Part { source: self.clone(), at: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A file that is damaged may ask for more than there is of it.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of {}", self.len())));
        }
        if let Self::Memory(memory) = self {
            return memory.get_bytes(start, length);
        }
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

pub(super) struct Part {
    source: ParquetSource,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &self.source {
            #[cfg(unix)]
            ParquetSource::File { file, .. } => std::os::unix::fs::FileExt::read_at(&**file, into, self.at)?,
            #[cfg(windows)]
            ParquetSource::File { file, .. } => {
                std::os::windows::fs::FileExt::seek_read(&**file, into, self.at)?
            }
            ParquetSource::Memory(memory) => {
                let start = usize::try_from(self.at).unwrap_or(usize::MAX);
                memory.get(start..).unwrap_or_default().read(into)?
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}
