//! The storage below a drive: a file or a block device. Tests use one that loses power.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

pub trait Medium: Send + Sync {
    fn size_bytes(&self) -> io::Result<u64>;

    /// Bytes beyond the end are an error.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()>;

    /// After a power cut each 512-byte sector written since the last [`Medium::sync`] may hold anything.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes earlier writes durable. After an error they may be lost, even if a later call succeeds.
    fn sync(&self) -> io::Result<()>;

    /// Before a failed call is tried again.
    fn pause(&self, time: Duration) {
        thread::sleep(time);
    }

    /// From an offset on, where something may have been written. All before is zeroes.
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }
}

#[derive(Debug)]
pub struct FileMedium {
    file: File,
}

/// First bytes of the file while a drive is being made in it.
const UNFINISHED: [u8; 8] = *b"FTWMAKES";

impl FileMedium {
    pub fn of_device(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let medium = Self::open(path, true)?;
        let has = medium.size_bytes()?;
        if has < size_bytes {
            let text = format!("the device has {has} bytes, {size_bytes} are needed");
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        Ok(medium)
    }

    /// Makes a sparse file that only its owner can open. A file left by an interrupted creation is reused.
    pub fn begin(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let medium = loop {
            let medium = Self::locked(options.open(path)?, true)?;
            // Who had the lock before may have moved the file to its name, where it is a drive.
            if std::fs::symlink_metadata(path).is_ok_and(|there| is_same(&there, &medium.file)) {
                break medium;
            }
        };
        let mut first = [0; 8];
        let begins = medium.file.read_at(&mut first, 0)?;
        if begins > 0 && ![UNFINISHED, super::superblock::MAGIC].contains(&first) {
            let text =
                "it is in the way, and no drive that was being made: move it, or name the image otherwise";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        medium.file.set_len(0)?;
        medium.file.write_all_at(&UNFINISHED, 0)?;
        medium.file.set_len(size_bytes)?;
        Ok(medium)
    }

    /// `writable` also keeps others from reading it ([`io::ErrorKind::ResourceBusy`]).
    pub fn open(path: &Path, writable: bool) -> io::Result<Self> {
        // Opening a pipe would wait for a writer.
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a block device"));
        }
        let medium = Self::locked(OpenOptions::new().read(true).write(writable).open(path)?, writable)?;
        medium.forget_cached();
        Ok(medium)
    }

    /// After a failed sync the page cache shows bytes that the disk does not have, so recovery must read from the disk.
    fn forget_cached(&self) {
        // SAFETY: the descriptor is open as long as `self` is. The call is advice: pages not written yet stay.
        let _ = unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }

    fn locked(file: File, alone: bool) -> io::Result<Self> {
        match if alone { file.try_lock() } else { file.try_lock_shared() } {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => {
                Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process is using it"))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn is_same(there: &std::fs::Metadata, file: &File) -> bool {
    let ours = file.metadata().map(|ours| (ours.dev(), ours.ino()));
    ours.is_ok_and(|ours| ours == (there.dev(), there.ino()))
}

impl Medium for FileMedium {
    fn size_bytes(&self) -> io::Result<u64> {
        use std::io::{Seek, SeekFrom};
        // Of a block device, the file system knows no length.
        (&self.file).seek(SeekFrom::End(0))
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn next_data(&self, offset: u64) -> u64 {
        let Ok(signed) = i64::try_from(offset) else { return offset };
        // SAFETY: the descriptor is open as long as `self` is. Nobody minds the position that is set.
        let found = unsafe { libc::lseek(self.file.as_raw_fd(), signed, libc::SEEK_DATA) };
        let error = io::Error::last_os_error().raw_os_error();
        match u64::try_from(found) {
            Ok(found) => found,
            // There is none up to the end.
            Err(_) if error == Some(libc::ENXIO) => u64::MAX,
            Err(_) => offset,
        }
    }
}
