//! A trace that grows while it is recorded, and is whole at any time.
//!
//! A Parquet reader starts at the footer, which lists all row groups. Here each row group is appended behind the last
//! footer, and a new footer behind that. The old footer becomes a gap, which the file system is asked to free. So a
//! killed process leaves a file that is readable up to its last whole footer ([`last_footer`]). At the end, a file with
//! many gaps is copied without them.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;

use super::digests::RowDigests;
use super::metadata::holes_in_json;
use super::temporary::{Temporary, cannot_write};
use super::write::{
    CONTENT_DIGEST_COLUMN, FLAGS_COLUMN, GROUP_ROWS, metadata, properties, schema, write_digests,
    write_flags, write_requests,
};
use super::{KEY_HAS_DIGESTS, KEY_HOLES, KEY_SCHEMA, MAGIC, sound};
use crate::columns::Columns;
use crate::error::{ErrorCause, TraceError};
use crate::holes::Holes;
use crate::request::{Op, Request};

/// Properties of a request that only a recorder sees: bits of the column `flags`. A trace keeps [`crate::flags`].
pub mod recorded {
    /// The request was to be durable before it was answered (forced unit access).
    pub const DURABLE: u8 = crate::flags::DURABLE;
    /// The request was a command to write zeroes, without the zeroes.
    pub const ZEROES: u8 = 2;
}

/// A request as a recorder saw it.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// Arrival in nanoseconds from any origin.
    pub time_ns: i64,
    /// Read, write, trim or flush.
    pub op: Op,
    /// Bits of [`recorded`].
    pub flags: u8,
    /// First byte addressed.
    pub offset_bytes: u64,
    /// Bytes addressed; 0 of a flush.
    pub length_bytes: u32,
    /// A digest for every [`CHUNK_BYTES`](crate::CHUNK_BYTES) that the request begins, or none.
    pub digests: &'a [[u8; 16]],
}

/// Digests that a row group has at most: bounds the memory of requests not yet written.
const GROUP_DIGESTS: usize = 1 << 20;

#[derive(Default)]
struct Waiting {
    /// Without contents; all requests have flags.
    requests: Columns,
    digests: RowDigests,
}

/// A canonical Parquet file of one volume that is being recorded.
pub struct Recording {
    path: PathBuf,
    /// Locked as long as it grows.
    file: File,
    schema: TypePtr,
    properties: Arc<WriterProperties>,
    common: FileMetaData,
    groups: Vec<RowGroupMetaData>,
    /// Where the footer begins, and where the file ends.
    footer: (u64, u64),
    waiting: Waiting,
    requests: u64,
}

impl Waiting {
    fn push(&mut self, request: &Recorded<'_>) {
        let &Recorded { time_ns, op, offset_bytes, length_bytes, .. } = request;
        self.requests.push(Request { time_ns, volume: 0, op, offset_bytes, length_bytes });
        self.requests.flags.push(request.flags);
        self.digests.counts.push(request.digests.len());
        self.digests.digests.extend_from_slice(request.digests);
    }

    fn write<W: Write + Send>(&self, writer: &mut SerializedFileWriter<W>) -> ParquetResult<()> {
        let mut group = writer.next_row_group()?;
        let run = self.requests.as_run();
        write_requests(&mut group, &run)?;
        write_flags(&mut group, &run)?;
        write_digests(&mut group, &self.digests, 2)?;
        group.close()?;
        Ok(())
    }
}

impl Recording {
    /// Begins a file for a volume called `name`, numbered 0, of which `holes` hold nothing; `more`
    /// are further key-value metadata. An existing file is replaced.
    ///
    /// # Errors
    /// [`ErrorCause::Io`] if the file cannot be written, or another process writes it.
    pub fn create(
        path: &Path,
        name: &str,
        holes: &Holes,
        more: &[(&str, String)],
    ) -> Result<Recording, TraceError> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| cannot_write(path, &error))?;
        lock(&file, path)?;
        file.set_len(0).map_err(|error| cannot_write(path, &error))?;
        let mut metadata = metadata(name, "record", &[name.to_owned()]);
        metadata.push((KEY_HAS_DIGESTS, false.to_string()));
        if !holes.is_empty() {
            metadata.push((KEY_HOLES, holes_in_json(holes)));
        }
        let properties = properties(metadata.into_iter().chain(more.iter().cloned()).collect());
        let properties = Arc::new(properties.set_offset_index_disabled(true).build());
        let schema = schema(&[FLAGS_COLUMN, CONTENT_DIGEST_COLUMN]);
        let schema = schema.map_err(|error| cannot_write(path, &error))?;
        let made = encode(&schema, &properties, |_| Ok(()));
        let (bytes, empty) = made.map_err(|error| cannot_write(path, &error))?;
        write_at(&file, &bytes, 0).map_err(|error| cannot_write(path, &error))?;
        Ok(Recording {
            path: path.to_owned(),
            file,
            schema,
            properties,
            common: empty.file_metadata().clone(),
            groups: Vec::new(),
            footer: (MAGIC.len() as u64, bytes.len() as u64),
            waiting: Waiting::default(),
            requests: 0,
        })
    }

    /// Takes the next request by time; returns whether enough wait to be written.
    pub fn push(&mut self, request: &Recorded<'_>) -> bool {
        self.waiting.push(request);
        self.requests += 1;
        self.waiting.requests.len() >= GROUP_ROWS || self.waiting.digests.digests.len() >= GROUP_DIGESTS
    }

    /// Requests taken so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.footer.1
    }

    /// Writes the waiting requests, if any, and makes them durable.
    ///
    /// # Errors
    /// [`ErrorCause::Io`]; up to its last footer the file is as before.
    pub fn commit(&mut self) -> Result<(), TraceError> {
        if self.waiting.requests.len() == 0 {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.append(&waiting).map_err(|why| {
            // On a full disk a part of it may be there, behind which no tool finds the footer.
            let _ = self.file.set_len(self.footer.1);
            cannot_write(&self.path, &why)
        })
    }

    fn append(&mut self, waiting: &Waiting) -> Result<(), ParquetError> {
        let (bytes, made) = encode(&self.schema, &self.properties, |writer| waiting.write(writer))?;
        let (old_footer, at) = self.footer;
        let mut group_bytes = 0;
        for group in made.row_groups() {
            group_bytes += group.compressed_size() as u64;
            let ordinal = self.groups.len();
            self.groups.push(moved(group, at as i64 - MAGIC.len() as i64, ordinal)?);
        }
        let group = &bytes[MAGIC.len()..MAGIC.len() + group_bytes as usize];
        let footer = footer(&self.common, &self.groups)?;
        let write = |bytes: &[u8], at| -> io::Result<()> {
            write_at(&self.file, bytes, at)?;
            self.file.sync_data()
        };
        // A footer must not outlive a power cut that its rows do not.
        write(group, at)?;
        write(&footer, at + group_bytes)?;
        self.footer = (at + group_bytes, at + group_bytes + footer.len() as u64);
        free(&self.file, old_footer, at);
        Ok(())
    }

    /// Writes the waiting requests and ends the file; returns the number of requests.
    ///
    /// # Errors
    /// [`ErrorCause::Io`]
    pub fn finish(mut self) -> Result<u64, TraceError> {
        self.commit()?;
        let used: u64 = self.groups.iter().map(|group| group.compressed_size() as u64).sum();
        if self.footer.0 - used > used / 8 {
            self.without_gaps()?;
        }
        Ok(self.requests)
    }

    fn without_gaps(&self) -> Result<(), TraceError> {
        let (temporary, copy) = Temporary::beside(&self.path)?;
        self.copy_groups(&copy).map_err(|error| cannot_write(&self.path, &error))?;
        temporary.finish()
    }

    fn copy_groups(&self, copy: &File) -> Result<(), ParquetError> {
        write_at(copy, MAGIC, 0)?;
        let mut end = MAGIC.len() as u64;
        let mut groups = Vec::with_capacity(self.groups.len());
        for (ordinal, group) in self.groups.iter().enumerate() {
            let start = group.columns().iter().map(|column| column.byte_range().0).min().unwrap_or(end);
            let mut bytes = vec![0; group.compressed_size() as usize];
            read_at(&self.file, &mut bytes, start)?;
            write_at(copy, &bytes, end)?;
            groups.push(moved(group, end as i64 - start as i64, ordinal)?);
            end += bytes.len() as u64;
        }
        write_at(copy, &footer(&self.common, &groups)?, end)?;
        Ok(copy.sync_data()?)
    }
}

/// Writes at an offset of a file that no other thread uses: Unix and Windows have no positioned write in common.
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

fn read_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}

fn lock(file: &File, path: &Path) -> Result<(), TraceError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(TraceError::new(
            ErrorCause::Io,
            path.display().to_string(),
            "somebody is recording to this file",
            "wait until that has ended, or choose another name",
        )),
        // Without locks of the file system another writer cannot be detected.
        _ => Ok(()),
    }
}

/// A file in memory, of the row groups that `write` writes.
pub(super) fn encode(
    schema: &TypePtr,
    properties: &Arc<WriterProperties>,
    write: impl FnOnce(&mut SerializedFileWriter<&mut Vec<u8>>) -> ParquetResult<()>,
) -> ParquetResult<(Vec<u8>, ParquetMetaData)> {
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::clone(schema), Arc::clone(properties))?;
    write(&mut writer)?;
    let metadata = writer.close()?;
    Ok((bytes, metadata))
}

/// A group that lies `by` bytes further on.
pub(super) fn moved(group: &RowGroupMetaData, by: i64, ordinal: usize) -> ParquetResult<RowGroupMetaData> {
    let columns = group.columns().iter().map(|column| {
        let dictionary = column.dictionary_page_offset().map(|offset| offset + by);
        let column = column.clone().into_builder().set_data_page_offset(column.data_page_offset() + by);
        column.set_dictionary_page_offset(dictionary).build()
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut moved = group.clone().into_builder().set_column_metadata(columns);
    if let Some(offset) = group.file_offset() {
        moved = moved.set_file_offset(offset + by);
    }
    // The field has 16 bits and no meaning without encryption.
    moved.set_ordinal((ordinal & 0x7fff) as i32).build()
}

pub(super) fn footer(common: &FileMetaData, groups: &[RowGroupMetaData]) -> ParquetResult<Vec<u8>> {
    let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
    let all = FileMetaData::new(
        common.version(),
        rows,
        common.created_by().map(str::to_owned),
        common.key_value_metadata().cloned(),
        common.schema_descr_ptr(),
        common.column_orders().cloned(),
    );
    let mut bytes = Vec::new();
    ParquetMetaDataWriter::new(&mut bytes, &ParquetMetaData::new(all, groups.to_vec())).finish()?;
    Ok(bytes)
}

/// Asks the file system to free a range of a file; a gap that stays does no harm.
#[cfg(target_os = "linux")]
fn free(file: &File, from: u64, to: u64) {
    use std::os::fd::AsRawFd;
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the descriptor is open as long as `file` is.
    let _ = unsafe { libc::fallocate(file.as_raw_fd(), mode, from as i64, (to - from) as i64) };
}

#[cfg(not(target_os = "linux"))]
fn free(_file: &File, _from: u64, _to: u64) {}

const WINDOW_BYTES: u64 = 1 << 20;
/// Bytes behind the metadata in a footer: its length and [`MAGIC`].
const TAIL_BYTES: u64 = 8;

/// The last whole footer of a recording that ends in the middle, and where the footer ends; none if there is none.
pub(super) fn last_footer<R: ChunkReader>(file: &R) -> Option<(ParquetMetaData, u64)> {
    let mut end = file.len();
    while end > TAIL_BYTES {
        let start = end.saturating_sub(WINDOW_BYTES);
        let window = file.get_bytes(start, (end - start) as usize).ok()?;
        for at in memchr::memmem::rfind_iter(&window, MAGIC) {
            let behind = start + at as u64 + MAGIC.len() as u64;
            if let Some(metadata) = footer_before(file, behind) {
                return Some((metadata, behind));
            }
        }
        // The mark may lie on the border.
        end = if start == 0 { 0 } else { start + MAGIC.len() as u64 - 1 };
    }
    None
}

fn footer_before<R: ChunkReader>(file: &R, end: u64) -> Option<ParquetMetaData> {
    let tail = end.checked_sub(TAIL_BYTES)?;
    let length = file.get_bytes(tail, 4).ok()?;
    let length = u64::from(u32::from_le_bytes(length.as_ref().try_into().ok()?));
    let start = tail.checked_sub(length).filter(|&start| start >= MAGIC.len() as u64)?;
    let metadata =
        ParquetMetaDataReader::decode_metadata(&file.get_bytes(start, length as usize).ok()?).ok()?;
    let ours = metadata.file_metadata().key_value_metadata()?.iter().any(|pair| pair.key == KEY_SCHEMA);
    (ours && sound::check(&metadata, start).is_ok()).then_some(metadata)
}

/// Truncates an interrupted recording to its last whole footer, so that every tool can read it.
/// Returns the number of requests, and of bytes cut off.
///
/// # Errors
/// [`ErrorCause::Io`] when the file cannot be written to or is being recorded to, [`ErrorCause::Malformed`] when it is
/// no recording.
pub fn recover_recording(path: &Path) -> Result<(u64, u64), TraceError> {
    let name = path.display().to_string();
    let file =
        File::options().read(true).write(true).open(path).map_err(|error| TraceError::io(&name, &error))?;
    lock(&file, path)?;
    let Some((metadata, end)) = last_footer(&file) else {
        let cure = "only a file that `flashtwin record` began can be recovered";
        return Err(TraceError::new(ErrorCause::Malformed, name, "this is no recording", cure));
    };
    let cut = file.len() - end;
    if cut > 0 {
        let shortened = file.set_len(end).and_then(|()| file.sync_data());
        shortened.map_err(|error| TraceError::io(&name, &error))?;
    }
    Ok((u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0), cut))
}
