//! zip: stored and deflated files, read from the front, so that a pipe will do.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10, 4.3.7 (local header), 4.3.9 (data descriptor), 4.4.4 (flags).

use std::io::{self, Read, Take};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::archive::{Archive, one_file};
use super::{Origin, Reader, bytes_at, read_record};
use crate::error::{ErrorCause, TraceError};

const FILE_HEADER: [u8; 4] = *b"PK\x03\x04";
const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";
const ENCRYPTED: u16 = 1;
/// Checksum and sizes stand behind the bytes.
const SIZE_BEHIND: u16 = 8;

pub(super) fn open(reader: Reader, origin: &Origin) -> io::Result<Reader> {
    let archive = Zip {
        body: Body::Between(reader),
        crc: Crc::new(),
        bytes: 0,
        expected_crc: None,
        input: origin.name.clone(),
    };
    one_file(archive, origin, ["unzip -p FILE MEMBER", "unzip -l FILE"])
}

enum Body {
    Between(Reader),
    Stored(Take<Reader>),
    Deflated(Box<DeflateDecoder<Reader>>),
    Ended,
}

struct Zip {
    body: Body,
    /// Of the file's bytes so far.
    crc: Crc,
    bytes: u64,
    /// `None` if it stands behind the bytes.
    expected_crc: Option<u32>,
    input: String,
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Zip {
    fn unreadable(&self, what: &str) -> io::Error {
        let cure = format!("unpack it: unzip -p {} | flashtwin trace info -", self.input);
        io::Error::other(TraceError::new(ErrorCause::UnknownFormat, &self.input, what, cure))
    }

    /// Steps behind the file that has been read, and compares its checksum.
    fn finish_file(&mut self) -> io::Result<Reader> {
        let (mut reader, packed) = match std::mem::replace(&mut self.body, Body::Ended) {
            Body::Between(reader) => return Ok(reader),
            Body::Stored(taken) if taken.limit() > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Body::Stored(taken) => (taken.into_inner(), self.bytes),
            Body::Deflated(decoder) => {
                let packed = decoder.total_in();
                (decoder.into_inner(), packed)
            }
            Body::Ended => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        let expected = match self.expected_crc {
            Some(crc) => crc,
            None => descriptor_crc(&mut reader, packed, self.bytes)?,
        };
        if expected == self.crc.sum() { Ok(reader) } else { Err(damaged("its checksum differs")) }
    }
}

/// Reads checksum and sizes behind a file. Sizes have 4 bytes, or 8 if one of them needs it or the tool likes it.
fn descriptor_crc(reader: &mut Reader, packed: u64, bytes: u64) -> io::Result<u32> {
    let mut word = [0; 4];
    reader.read_exact(&mut word)?;
    if word == DESCRIPTOR {
        reader.read_exact(&mut word)?;
    }
    let crc = u32::from_le_bytes(word);
    let mut sizes = [0; 16];
    reader.read_exact(&mut sizes[..8])?;
    let short = sizes[..4] == (packed as u32).to_le_bytes() && sizes[4..8] == (bytes as u32).to_le_bytes();
    if !short {
        reader.read_exact(&mut sizes[8..])?;
    }
    Ok(crc)
}

impl Archive for Zip {
    fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let mut reader = self.finish_file()?;
            let mut header = [0; 30];
            if !read_record(&mut reader, &mut header[..4])? || header[..4] != FILE_HEADER {
                // The directory of the archive follows.
                self.body = Body::Between(Box::new(io::empty()));
                return Ok(None);
            }
            reader.read_exact(&mut header[4..])?;
            let short = |at| u16::from_le_bytes(bytes_at(&header, at));
            let long = |at| u32::from_le_bytes(bytes_at(&header, at));
            let (flags, method, packed) = (short(6), short(8), long(18));
            let mut name = vec![0; short(26).into()];
            reader.read_exact(&mut name)?;
            let mut extra = vec![0; short(28).into()];
            reader.read_exact(&mut extra)?;
            let name = String::from_utf8_lossy(&name).into_owned();
            if name == "[Content_Types].xml" {
                let cure = "save it as CSV";
                let what = "this is an Office document, a text trace or Parquet was expected";
                let error = TraceError::new(ErrorCause::UnknownFormat, &self.input, what, cure);
                return Err(io::Error::other(error));
            }
            let behind = flags & SIZE_BEHIND != 0;
            let packed = if packed == u32::MAX { long_size(&extra) } else { Some(packed.into()) };
            self.body = match (method, packed) {
                _ if flags & ENCRYPTED != 0 => return Err(self.unreadable("this zip archive is encrypted")),
                (8, _) => Body::Deflated(Box::new(DeflateDecoder::new(reader))),
                (0, Some(packed)) if packed > 0 || !behind => Body::Stored(reader.take(packed)),
                _ => return Err(self.unreadable(&format!("method {method} of this zip archive is not read"))),
            };
            (self.crc, self.bytes) = (Crc::new(), 0);
            self.expected_crc = (!behind).then(|| long(14));
            if !name.ends_with('/') {
                return Ok(Some(name));
            }
            io::copy(self, &mut io::sink())?;
        }
    }
}

/// The packed size of a file of 4 GiB and more: the second number of the extra field 1.
fn long_size(mut extra: &[u8]) -> Option<u64> {
    while let Some((head, rest)) = extra.split_first_chunk::<4>() {
        let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
        if head[..2] == [1, 0] {
            return rest.get(8..16).map(|size| u64::from_le_bytes(bytes_at(size, 0)));
        }
        extra = rest.get(length..)?;
    }
    None
}

impl Read for Zip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.body {
            Body::Stored(taken) => taken.read(buffer)?,
            Body::Deflated(decoder) => decoder.read(buffer)?,
            Body::Between(_) | Body::Ended => 0,
        };
        self.crc.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
