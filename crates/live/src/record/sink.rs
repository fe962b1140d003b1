use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flashtwin_trace::{CHUNK_BYTES, Holes, Op, Recorded, Recording};

use super::key::{Key, hex};
use super::queue::Row;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordFormat {
    #[default]
    Parquet,
    /// FIU's text format: reads and writes of whole sectors only.
    Fiu,
}

const SECTOR_BYTES: u64 = 512;

pub(crate) enum Sink {
    Parquet(Box<Recording>),
    Fiu(Fiu),
}

pub(crate) struct Fiu {
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
    bytes: u64,
}

impl Sink {
    /// Replaces an existing file. Of a link it replaces the link, not its target.
    pub(crate) fn create(
        path: &Path,
        format: RecordFormat,
        name: &str,
        key: &Key,
        holes: &Holes,
    ) -> Result<Sink, String> {
        let named = |error: std::io::Error| format!("{}: {error}", path.display());
        if std::fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
            std::fs::remove_file(path).map_err(named)?;
        }
        match format {
            RecordFormat::Parquet => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                let more = [
                    ("flashtwin.content_digest", "blake3-keyed-128".to_owned()),
                    ("flashtwin.zero_digest", hex(&key.zero_digest())),
                    ("flashtwin.recorded_unix_ns", now.map_or(0, |time| time.as_nanos()).to_string()),
                ];
                let made = Recording::create(path, name, holes, &more).map_err(|error| error.to_string())?;
                Ok(Sink::Parquet(Box::new(made)))
            }
            RecordFormat::Fiu => {
                let file = File::create(path).map_err(named)?;
                let file = BufWriter::with_capacity(1 << 20, file);
                Ok(Sink::Fiu(Fiu { path: path.to_owned(), file, written: 0, bytes: 0 }))
            }
        }
    }

    /// Returns whether the format can express the request.
    pub(crate) fn push(&mut self, row: &Row) -> Result<bool, String> {
        match self {
            Sink::Parquet(recording) => {
                let full = recording.push(&Recorded {
                    time_ns: row.time_ns,
                    op: row.op,
                    flags: row.flags,
                    offset_bytes: row.offset_bytes,
                    length_bytes: row.length_bytes,
                    digests: &row.digests,
                });
                if full {
                    recording.commit().map_err(|error| error.to_string())?;
                }
                Ok(true)
            }
            Sink::Fiu(fiu) => fiu.push(row),
        }
    }

    pub(crate) fn figures(&self) -> (u64, u64) {
        match self {
            Sink::Parquet(recording) => (recording.requests(), recording.bytes()),
            Sink::Fiu(fiu) => (fiu.written, fiu.bytes),
        }
    }

    pub(crate) fn commit(&mut self) -> Result<(), String> {
        match self {
            Sink::Parquet(recording) => recording.commit().map_err(|error| error.to_string()),
            Sink::Fiu(fiu) => fiu.file.flush().map_err(|error| fiu.named(&error)),
        }
    }

    pub(crate) fn finish(self) -> Result<(), String> {
        match self {
            Sink::Parquet(recording) => recording.finish().map(drop).map_err(|error| error.to_string()),
            Sink::Fiu(mut fiu) => {
                let synced = fiu.file.flush().and_then(|()| fiu.file.get_ref().sync_data());
                synced.map_err(|error| fiu.named(&error))
            }
        }
    }
}

impl Fiu {
    fn named(&self, error: &std::io::Error) -> String {
        format!("{}: {error}", self.path.display())
    }

    fn push(&mut self, row: &Row) -> Result<bool, String> {
        let direction = match row.op {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Trim | Op::Flush => return Ok(false),
        };
        let length = u64::from(row.length_bytes);
        let whole = row.offset_bytes.is_multiple_of(SECTOR_BYTES) && length.is_multiple_of(SECTOR_BYTES);
        let contents = row.length_bytes.div_ceil(CHUNK_BYTES) as usize;
        if length == 0 || !whole || row.digests.len() != contents {
            return Ok(false);
        }
        let digests: String = row.digests.iter().map(hex).collect();
        let (lba, sectors) = (row.offset_bytes / SECTOR_BYTES, length / SECTOR_BYTES);
        let line = format!("{} 0 recorded {lba} {sectors} {direction} 0 0 {digests}\n", row.time_ns);
        self.file.write_all(line.as_bytes()).map_err(|error| self.named(&error))?;
        self.written += 1;
        self.bytes += line.len() as u64;
        Ok(true)
    }
}
