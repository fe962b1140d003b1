//! A canonical Parquet file that is open only while a row group is appended, because a split trace may have more
//! parts than a process may have open files.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::writer::SerializedFileWriter;

use super::digests::RowDigests;
use super::growing::{encode, footer, moved};
use super::temporary::cannot_write;
use super::write::{
    CONTENT_COLUMN, DIGEST_COLUMN, FLAGS_COLUMN, STREAM_COLUMN, properties, schema, write_group,
};
use super::{INSIDE, KEY_HAS_DIGESTS, MAGIC};
use crate::error::TraceError;
use crate::requests::Requests;

/// It has no footer until it is finished.
#[derive(Default)]
pub(crate) struct Appended {
    path: PathBuf,
    groups: Vec<RowGroupMetaData>,
    end: u64,
}

impl Appended {
    pub(crate) fn new(path: PathBuf) -> Appended {
        Appended { path, groups: Vec::new(), end: 0 }
    }

    pub(crate) fn append(&mut self, run: &Requests<'_>, digests: &RowDigests) -> Result<(), TraceError> {
        self.append_group(run, digests).map_err(|error| cannot_write(&self.path, &error))
    }

    fn append_group(&mut self, run: &Requests<'_>, digests: &RowDigests) -> ParquetResult<()> {
        let (bytes, made) = self.encoded(Vec::new(), |writer| write_group(writer, run, Some(digests)))?;
        let magic = MAGIC.len();
        let start = if self.end == 0 { 0 } else { magic };
        let group = made.row_group(0);
        let by = self.end as i64 - start as i64;
        self.groups.push(moved(group, by, self.groups.len())?);
        Ok(self.write(&bytes[start..magic + group.compressed_size() as usize])?)
    }

    /// Writes the footer with this metadata.
    pub(crate) fn finish(mut self, known: Vec<(&str, String)>) -> Result<(), TraceError> {
        self.append_footer(known).map_err(|error| cannot_write(&self.path, &error))
    }

    fn append_footer(&mut self, mut known: Vec<(&str, String)>) -> ParquetResult<()> {
        known.push((KEY_HAS_DIGESTS, INSIDE.to_owned()));
        let (_, empty) = self.encoded(known, |_| Ok(()))?;
        Ok(self.write(&footer(empty.file_metadata(), &self.groups)?)?)
    }

    fn encoded(
        &self,
        known: Vec<(&str, String)>,
        write: impl FnOnce(&mut SerializedFileWriter<&mut Vec<u8>>) -> ParquetResult<()>,
    ) -> ParquetResult<(Vec<u8>, ParquetMetaData)> {
        let schema = schema(&[CONTENT_COLUMN, DIGEST_COLUMN, FLAGS_COLUMN, STREAM_COLUMN])?;
        encode(&schema, &Arc::new(properties(known).set_offset_index_disabled(true).build()), write)
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        File::options().create(true).append(true).open(&self.path)?.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}
