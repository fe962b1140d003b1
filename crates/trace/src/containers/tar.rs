//! tar: headers of 512 bytes, each followed by the bytes of its file, padded to 512.
//!
//! Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header"; GNU tar's manual, "Basic Tar
//! Format", for sizes in base 256.

use std::io::{self, BufRead, Read};

use super::archive::{Archive, one_file};
use super::{Origin, Reader};

const BLOCK_BYTES: usize = 512;
/// An extended header holds a few lines. A longer one is damaged.
const EXTENDED_BYTES_MAX: u64 = 1 << 20;

/// Whether a file begins with the header of a member.
pub(super) fn is_header(head: &[u8]) -> bool {
    let Some(header) = head.first_chunk::<BLOCK_BYTES>() else { return false };
    let sum = |at: usize, &byte: &u8| u64::from(if (148..156).contains(&at) { b' ' } else { byte });
    let sum: u64 = header.iter().enumerate().map(|(at, byte)| sum(at, byte)).sum();
    header[0] != 0 && octal(&header[148..156]) == Some(sum)
}

pub(super) fn open(reader: Reader, origin: &Origin) -> io::Result<Reader> {
    let archive = Tar { reader, left: 0, padding: 0 };
    one_file(archive, origin, ["tar -xOf FILE MEMBER", "tar -tf FILE"])
}

struct Tar {
    reader: Reader,
    /// Bytes of the file that are still to come, and behind them.
    left: u64,
    padding: u64,
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(|sign| sign == ' ' || sign == '\0');
    u64::from_str_radix(text, 8).ok()
}

fn size(field: &[u8]) -> Option<u64> {
    match field {
        // In base 256 where eleven octal digits are too few.
        [0x80, rest @ ..] => {
            rest.iter().try_fold(0u64, |size, &byte| size.checked_mul(256)?.checked_add(u64::from(byte)))
        }
        _ => octal(field),
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Tar {
    /// The size that an extended header gives its file: lines of `length key=value`.
    fn extended_size(&mut self, bytes: u64) -> io::Result<Option<u64>> {
        if bytes > EXTENDED_BYTES_MAX {
            return Err(damaged("an extended header is too long"));
        }
        let mut text = Vec::new();
        self.reader.by_ref().take(bytes).read_to_end(&mut text)?;
        let lines = text.split(|&byte| byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        let mut sizes = lines.filter_map(|line| line.split_once(' ')?.1.strip_prefix("size=")?.parse().ok());
        Ok(sizes.next_back())
    }

    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        match io::copy(&mut self.reader.by_ref().take(bytes), &mut io::sink())? {
            passed if passed == bytes => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Archive for Tar {
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut extended = None;
        loop {
            self.pass(self.left + self.padding)?;
            (self.left, self.padding) = (0, 0);
            let mut header = [0; BLOCK_BYTES];
            // Two empty blocks are the end; some tools leave them out.
            if self.reader.fill_buf()?.is_empty() {
                return Ok(None);
            }
            self.reader.read_exact(&mut header)?;
            if header == [0; BLOCK_BYTES] {
                return Ok(None);
            }
            if !is_header(&header) {
                return Err(damaged("a header has a wrong checksum"));
            }
            let bytes = size(&header[124..136]).ok_or_else(|| damaged("a header has no size"))?;
            let kind = header[156];
            let is_file = matches!(kind, b'0' | 0 | b'7');
            // Links and folders have no bytes, whatever their size says.
            let has_bytes = is_file || matches!(kind, b'x' | b'g' | b'L' | b'K' | b'S');
            let bytes = if is_file { extended.take().unwrap_or(bytes) } else { bytes };
            self.left = if has_bytes { bytes } else { 0 };
            self.padding = self.left.next_multiple_of(BLOCK_BYTES as u64) - self.left;
            if kind == b'x' {
                extended = self.extended_size(self.left)?;
                self.left = 0;
            } else if kind == b'S' {
                return Err(damaged("sparse files cannot be read"));
            } else if is_file {
                let name = header[..100].split(|&byte| byte == 0).next().unwrap_or_default();
                return Ok(Some(String::from_utf8_lossy(name).into_owned()));
            }
        }
    }
}

impl Read for Tar {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.by_ref().take(self.left).read(buffer)?;
        if read == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}
