use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

use crate::export::{self, Caller, Export, Extent, LOOK_BYTES, Look, Writing};

pub struct FileExport {
    file: File,
    size_bytes: u64,
    is_device: bool,
    read_only: Option<String>,
}

impl FileExport {
    /// Opens an existing file or device. A lock lets one server write to a file, or any number read it.
    pub fn open(path: &Path, read_only: bool) -> io::Result<FileExport> {
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        FileExport::open_it(path, read_only).map_err(told)
    }

    fn open_it(path: &Path, read_only: bool) -> io::Result<FileExport> {
        // Opening a pipe would wait for a writer.
        let kind = path.metadata()?.file_type();
        let is_device = kind.is_block_device();
        if !is_device && !kind.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a block device"));
        }
        let file = OpenOptions::new().read(true).write(!read_only).open(path)?;
        let locked = if read_only { file.try_lock_shared() } else { file.try_lock() };
        if let Err(std::fs::TryLockError::WouldBlock) = locked {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "in use by another server"));
        }
        let size_bytes = if is_device { seek(&file, 0, libc::SEEK_END)? } else { file.metadata()?.len() };
        if size_bytes == 0 {
            let message = "it has no bytes; give it a size first (truncate -s 8G FILE)";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let read_only = read_only.then(|| "it was opened for reading only".to_owned());
        Ok(FileExport { file, size_bytes, is_device, read_only })
    }

    fn allocate(&self, mode: libc::c_int, offset: u64, length: u64) -> io::Result<bool> {
        let (offset, length) = (signed(offset)?, signed(length)?);
        loop {
            // SAFETY: the descriptor is open as long as `self` is.
            if unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset, length) } == 0 {
                return Ok(true);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::ENODEV | libc::EINVAL) => return Ok(false),
                _ => return Err(error),
            }
        }
    }

    fn settle(&self, how: Writing) -> io::Result<()> {
        if how.durable { self.flush() } else { Ok(()) }
    }
}

fn signed(number: u64) -> io::Result<i64> {
    i64::try_from(number).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn seek(file: &File, offset: u64, whence: libc::c_int) -> io::Result<u64> {
    // SAFETY: the descriptor is open as long as `file` is. Nobody minds the position that is set.
    let found = unsafe { libc::lseek(file.as_raw_fd(), signed(offset)?, whence) };
    u64::try_from(found).map_err(|_| io::Error::last_os_error())
}

fn write_durably(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: the descriptor is open as long as `file` is, and the part is read from only.
        let written =
            unsafe { libc::pwritev2(file.as_raw_fd(), &raw const part, 1, signed(offset)?, libc::RWF_DSYNC) };
        match usize::try_from(written) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                offset += written as u64;
                bytes = &bytes[written..];
            }
            Err(_) => {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => {
                        file.write_all_at(bytes, offset)?;
                        return file.sync_data();
                    }
                    _ => return Err(error),
                }
            }
        }
    }
    Ok(())
}

impl Export for FileExport {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_only(&self) -> Option<String> {
        self.read_only.clone()
    }

    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        let (mut at, mut look) = (offset, Look::new(caller));
        for piece in into.chunks_mut(LOOK_BYTES as usize) {
            look.at(piece.len() as u64)?;
            self.file.read_exact_at(piece, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()> {
        if how.durable {
            return write_durably(&self.file, offset, bytes);
        }
        let (mut at, mut look) = (offset, Look::new(caller));
        for piece in bytes.chunks(LOOK_BYTES as usize) {
            look.at(piece.len() as u64)?;
            self.file.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn trim(&self, offset: u64, length: u64, how: Writing, _caller: &dyn Caller) -> io::Result<()> {
        // Without support for it, the bytes stay, which a trim allows.
        self.allocate(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, length)?;
        self.settle(how)
    }

    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let zero = libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE;
        let ways: &[libc::c_int] = if how.keep_room { &[zero] } else { &[punch, zero] };
        for &way in ways {
            if self.allocate(way, offset, length)? {
                return self.settle(how);
            }
        }
        if how.only_if_fast {
            return Err(io::ErrorKind::Unsupported.into());
        }
        export::write_zeroes(self, offset, length, how, caller)
    }

    fn extents(
        &self,
        offset: u64,
        length: u64,
        runs_max: usize,
        _caller: &dyn Caller,
    ) -> io::Result<Vec<Extent>> {
        let all_data = || vec![Extent { length_bytes: length, hole: false, zero: false }];
        if self.is_device {
            return Ok(all_data());
        }
        let (mut at, end) = (offset, offset + length);
        let mut extents = Vec::new();
        while at < end && extents.len() < runs_max {
            let data = match seek(&self.file, at, libc::SEEK_DATA) {
                Ok(data) => data.min(end),
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => end,
                Err(_) => return Ok(all_data()),
            };
            if data > at {
                extents.push(Extent { length_bytes: data - at, hole: true, zero: true });
            }
            if data < end && extents.len() < runs_max {
                let hole = seek(&self.file, data, libc::SEEK_HOLE)?.clamp(data + 1, end);
                extents.push(Extent { length_bytes: hole - data, hole: false, zero: false });
                at = hole;
            } else {
                break;
            }
        }
        Ok(extents)
    }
}
