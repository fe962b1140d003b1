//! Archives: the one file in one is read. Of several, the names are listed.

use std::io::{self, Read};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use flate2::CrcReader;
use flate2::bufread::DeflateDecoder;

use super::{Origin, PIECE_BYTES, Reader, bytes_at, made};
use crate::error::{ErrorCause, TraceError};

/// A first file of up to this size is not handed on before it is known to be the only one.
const HELD_BYTES: usize = 1 << 20;
/// Pieces that the thread may be ahead.
const AHEAD: usize = 2;
const LISTED: usize = 20;

/// The files of an archive, as far as it was gone through.
struct Files {
    names: Vec<String>,
    held: Vec<u8>,
    pieces: SyncSender<io::Result<Vec<u8>>>,
}

impl Files {
    /// Goes through the next file. The first one is handed on, except for what only describes others.
    fn add(&mut self, name: &str, mut data: impl Read) -> io::Result<()> {
        let last = name.rsplit('/').next().unwrap_or_default();
        let describes = name.starts_with("__MACOSX/") || last.starts_with("._") || last == ".DS_Store";
        if last.is_empty() || describes {
            return io::copy(&mut data, &mut io::sink()).map(drop);
        }
        self.names.push(name.to_owned());
        if self.names.len() > 1 {
            return io::copy(&mut data, &mut io::sink()).map(drop);
        }
        while data.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut self.held)? > 0 {
            if self.held.len() > HELD_BYTES {
                self.hand_on()?;
            }
        }
        Ok(())
    }

    /// Fails when reading has been given up, so that nobody receives.
    fn hand_on(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.held);
        self.pieces.send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn end(mut self, name: &str, command: &str) -> io::Result<()> {
        if self.names.len() == 1 {
            return self.hand_on();
        }
        let listed: Vec<&str> = self.names.iter().take(LISTED).map(String::as_str).collect();
        let count = self.names.len();
        let what = format!("one file was expected in this archive, there are {count}: {}", listed.join(", "));
        let what = what.trim_end_matches(": ");
        let cure =
            command.replace("FILE", name).replace("NAME", self.names.first().map_or("NAME", |name| name));
        Err(io::Error::other(TraceError::new(ErrorCause::UnknownFormat, name, what, cure)))
    }
}

/// Goes through an archive in a thread, because readers of its files borrow it.
fn unpacked(
    origin: &Origin,
    command: &'static str,
    go_through: impl FnOnce(&mut Files) -> io::Result<()> + Send + 'static,
) -> Reader {
    let (send, pieces) = sync_channel(AHEAD);
    let name = origin.name.clone();
    let mut thread = Some(thread::spawn(move || {
        let mut files = Files { names: Vec::new(), held: Vec::new(), pieces: send.clone() };
        if let Err(error) = go_through(&mut files).and_then(|()| files.end(&name, command)) {
            let _ = send.send(Err(error));
        }
    }));
    made(move |text| match pieces.recv() {
        Ok(piece) => {
            text.append(&mut piece?);
            Ok(())
        }
        // The thread has ended: with the archive, unless it panicked, which then goes on here.
        Err(_) => match thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => Ok(()),
        },
    })
}

pub(super) fn tar(reader: Reader, origin: &Origin) -> io::Result<Reader> {
    let command = "read one of them: tar -xOf FILE NAME | flashtwin trace info -";
    Ok(unpacked(origin, command, move |files| {
        for file in tar::Archive::new(reader).entries()? {
            let file = file?;
            if file.header().entry_type().is_file() {
                let name = file.path()?.to_string_lossy().into_owned();
                files.add(&name, file)?;
            }
        }
        Ok(())
    }))
}

const ZIP_HEADER_BYTES: usize = 26;
const ENCRYPTED: u16 = 1;
/// Sizes and checksum follow the data.
const SIZES_FOLLOW: u16 = 1 << 3;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const MARK: usize = 4;
const FILE_MARK: &[u8; MARK] = b"PK\x03\x04";
const SIZES_MARK: &[u8; MARK] = b"PK\x07\x08";

/// Goes through the files in their order, so that a pipe will do. What follows them lists them again.
///
/// Source: PKWARE, APPNOTE.TXT 6.3.10, 4.3.7 (local file header) and 4.3.9 (data descriptor).
pub(super) fn zip(mut reader: Reader, origin: &Origin) -> io::Result<Reader> {
    let command = "read one of them: unzip -p FILE NAME | flashtwin trace info -";
    Ok(unpacked(origin, command, move |files| {
        let mut mark = [0; MARK];
        loop {
            reader.read_exact(&mut mark)?;
            if mark != *FILE_MARK {
                return Ok(());
            }
            let mut header = [0; ZIP_HEADER_BYTES];
            reader.read_exact(&mut header)?;
            let [flags, method, name, extra] =
                [2, 4, 22, 24].map(|at| u16::from_le_bytes(bytes_at(&header, at)));
            let [mut crc, bytes] = [10, 14].map(|at| u32::from_le_bytes(bytes_at(&header, at)));
            let [mut name, mut extra] = [vec![0; name.into()], vec![0; extra.into()]];
            reader.read_exact(&mut name)?;
            reader.read_exact(&mut extra)?;
            let name = String::from_utf8_lossy(&name);
            let follows = flags & SIZES_FOLLOW != 0;
            let whole = flags & ENCRYPTED == 0;
            let found = match method {
                DEFLATED if whole => {
                    let (data, found) = checked(files, &name, DeflateDecoder::new(reader))?;
                    reader = data.into_inner();
                    found
                }
                STORED if whole && (!follows || name.ends_with('/')) => {
                    let (data, found) = checked(files, &name, reader.take(stored_bytes(bytes, &extra)))?;
                    reader = data.into_inner();
                    found
                }
                _ => {
                    let what = format!("{name} is encrypted, or packed by method {method}");
                    return Err(io::Error::new(io::ErrorKind::Unsupported, what));
                }
            };
            if follows {
                reader.read_exact(&mut mark)?;
                if mark == *SIZES_MARK {
                    reader.read_exact(&mut mark)?;
                }
                crc = u32::from_le_bytes(mark);
                // Two sizes of 32 bits, or of 64 where the name of the next entry comes only behind those.
                reader.read_exact(&mut [0; 8])?;
                if !reader.fill_buf()?.starts_with(b"PK") {
                    reader.read_exact(&mut [0; 8])?;
                }
            }
            if found != crc {
                return Err(io::Error::other(format!("{name} has another checksum")));
            }
        }
    }))
}

/// Adds a file; what it was read from, and the checksum of what came.
fn checked<R: Read>(files: &mut Files, name: &str, data: R) -> io::Result<(R, u32)> {
    let mut data = CrcReader::new(data);
    files.add(name, &mut data)?;
    let sum = data.crc().sum();
    Ok((data.into_inner(), sum))
}

/// Bytes of a file that is only stored: with zip64 they stand in an extra field, behind the size unpacked.
fn stored_bytes(bytes: u32, extra: &[u8]) -> u64 {
    const ZIP64: [u8; 2] = [1, 0];
    match bytes {
        u32::MAX if extra.starts_with(&ZIP64) => u64::from_le_bytes(bytes_at(extra, 12)),
        _ => bytes.into(),
    }
}
