//! What keeps bytes: a file or a block device; tests bring one that loses power.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

/// A row of bytes that can be read, written and made durable. Several threads may call at once.
pub trait Medium: Send + Sync {
    /// Bytes that it has.
    ///
    /// # Errors
    /// What the system reports.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Reads; bytes beyond the end are an error.
    ///
    /// # Errors
    /// What the system reports.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes. After a power cut each 512-byte sector that was written since the last [`Medium::sync`] may hold
    /// anything.
    ///
    /// # Errors
    /// What the system reports.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes durable what was written before.
    ///
    /// # Errors
    /// What the system reports; what came before may then be lost, whatever a later call says.
    fn sync(&self) -> io::Result<()>;
}

impl<M: Medium + ?Sized> Medium for std::sync::Arc<M> {
    fn size_bytes(&self) -> io::Result<u64> {
        (**self).size_bytes()
    }
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_at(into, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        (**self).write_at(bytes, offset)
    }
    fn sync(&self) -> io::Result<()> {
        (**self).sync()
    }
}

/// A file or a block device, which no other process uses at the same time.
#[derive(Debug)]
pub struct FileMedium {
    file: File,
}

impl FileMedium {
    /// Makes a file of so many bytes, as yet without blocks of its file system; or takes a block device that has as
    /// many.
    ///
    /// # Errors
    /// A file that exists, a device that is too small, what the system reports.
    pub fn create(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let is_device = std::fs::metadata(path).is_ok_and(|data| data.file_type().is_block_device());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(!is_device);
        let medium = Self::locked(options.open(path)?, true)?;
        if !is_device {
            medium.file.set_len(size_bytes)?;
        } else if medium.size_bytes()? < size_bytes {
            let has = medium.size_bytes()?;
            let text = format!("the device has {has} bytes, {size_bytes} are needed");
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        Ok(medium)
    }

    /// Opens one that exists; `writable` also keeps others from reading it.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] where another process has it; what the system reports.
    pub fn open(path: &Path, writable: bool) -> io::Result<Self> {
        Self::locked(OpenOptions::new().read(true).write(writable).open(path)?, writable)
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
}
