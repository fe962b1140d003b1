//! Where a Parquet file is read from: any part of it at any time, by several threads at once.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A file or memory. Clones read the same without a common position.
#[derive(Clone)]
pub(super) enum ParquetSource {
    File { file: Arc<File>, bytes: u64 },
    Memory(Bytes),
}

impl ParquetSource {
    /// A file that is open.
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
        Ok(Part { place: self.clone(), at: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let file = match self {
            Self::Memory(memory) => return memory.get_bytes(start, length),
            Self::File { file, .. } => file,
        };
        // A file that is damaged may ask for more than there is of it.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of {}", self.len())));
        }
        let mut bytes = vec![0; length];
        let mut read = 0;
        while read < length {
            match read_at(file, &mut bytes[read..], start + read as u64)? {
                0 => return Err(ParquetError::EOF(format!("{length} bytes at {start}, {read} are there"))),
                more => read += more,
            }
        }
        Ok(bytes.into())
    }
}

/// The bytes at a position and behind it.
pub(super) struct Part {
    place: ParquetSource,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &self.place {
            ParquetSource::File { file, .. } => read_at(file, into, self.at)?,
            ParquetSource::Memory(memory) => {
                let rest = usize::try_from(self.at).ok().and_then(|at| memory.get(at..)).unwrap_or(&[]);
                let length = rest.len().min(into.len());
                into[..length].copy_from_slice(&rest[..length]);
                length
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads at a position, without regard to where another read has left off.
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, into, at);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, into, at);
        match read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
