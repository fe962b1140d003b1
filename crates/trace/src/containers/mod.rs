//! The packing of a trace: compression, archives, encodings, binary records. Each layer is recognised by its first bytes
//! and unpacked on the way in, so that a reader gets text (or Parquet). Other things get their name and the next command.

mod archives;
mod blktrace;
mod kinds;
mod records;
mod utf16;

pub(crate) use records::ORACLE_GENERAL;

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::kinds::{KINDS, Kind};
use crate::error::{ErrorCause, TraceError};
use crate::options::Format;

pub(crate) type Reader = Box<dyn BufRead + Send>;

/// Bytes that tell the kind of a layer.
const HEAD_BYTES: usize = 4096;
/// An archive in an archive in a compressed file has three.
const LAYERS_MAX: usize = 8;
const RAW_BUFFER_BYTES: usize = 1 << 18;
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The input of a trace, and what became known of it while it was unpacked.
pub(crate) struct Origin {
    /// How messages call it.
    pub(crate) name: String,
    /// The format that the user names.
    pub(crate) format: Option<Format>,
    /// Its file, beside which others of the same recording may be.
    pub(crate) path: Option<PathBuf>,
    /// Bytes read so far, of all files.
    pub(crate) done: Arc<AtomicU64>,
    /// Bytes of all files.
    pub(crate) total: RefCell<u64>,
    /// Choices made, in words.
    pub(crate) notes: RefCell<Vec<String>>,
}

impl Origin {
    /// A reader that counts what is read of `raw`.
    pub(crate) fn counted(&self, raw: impl Read + Send + 'static) -> Reader {
        let counting = Counting { inner: raw, done: Arc::clone(&self.done) };
        Box::new(BufReader::with_capacity(RAW_BUFFER_BYTES, counting))
    }

    fn refusal(&self, what: String, cure: &str) -> TraceError {
        TraceError::new(ErrorCause::UnknownFormat, &self.name, what, cure)
    }
}

struct Counting<R> {
    inner: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Names of the layers taken off, the outermost first.
pub(crate) type Layers = Vec<&'static str>;

/// Takes all layers off; an input without a byte has none.
pub(crate) fn unpack(mut reader: Reader, origin: &Origin) -> Result<(Reader, Layers), TraceError> {
    let mut layers = Layers::new();
    while let Some(kind) = next_layer(&mut reader, &layers, origin)? {
        layers.push(kind.name);
        reader = kind.open(reader, origin).map_err(|error| read_error(&origin.name, &layers, &error))?;
    }
    Ok((reader, layers))
}

fn next_layer(
    reader: &mut Reader,
    layers: &[&str],
    origin: &Origin,
) -> Result<Option<&'static Kind>, TraceError> {
    if layers.len() == LAYERS_MAX {
        let what = format!("there are more than {LAYERS_MAX} archives or compressed files in one another");
        return Err(origin.refusal(what, "unpack it first"));
    }
    let head = peek(reader, HEAD_BYTES).map_err(|error| read_error(&origin.name, layers, &error))?;
    let head = match head.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => {
            reader.consume(BYTE_ORDER_MARK.len());
            rest
        }
        None => &head[..],
    };
    // A processor without events has an empty file.
    let is_share = head.is_empty()
        && layers.is_empty()
        && origin.path.as_deref().is_some_and(|path| !blktrace::siblings(path).is_empty());
    let is_asked_for = origin.format.is_some_and(|format| format.name() == records::ORACLE_GENERAL)
        && !layers.contains(&records::ORACLE_GENERAL);
    Ok(KINDS.iter().find(|kind| {
        (kind.fits)(head)
            || (is_share && kind.name == blktrace::NAME)
            || (is_asked_for && kind.name == records::ORACLE_GENERAL)
    }))
}

/// The first `count` bytes, which stay readable.
pub(crate) fn peek(reader: &mut Reader, count: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(count);
    reader.by_ref().take(count as u64).read_to_end(&mut head)?;
    let rest = std::mem::replace(reader, Box::new(io::empty()));
    *reader = Box::new(Cursor::new(head.clone()).chain(rest));
    Ok(head)
}

/// An error of reading through `layers`. Those of this module carry a [`TraceError`].
pub(crate) fn read_error(name: &str, layers: &[&str], error: &io::Error) -> TraceError {
    if let Some(ready) = error.get_ref().and_then(|inner| inner.downcast_ref::<TraceError>()) {
        return ready.clone();
    }
    if layers.is_empty() {
        return TraceError::io(name, error);
    }
    let packing: Vec<&str> = layers.iter().rev().copied().collect();
    let packing = packing.join(" in ");
    let (what, cure) = match error.kind() {
        io::ErrorKind::UnexpectedEof => (
            format!("the {packing} data ends too early: the file is truncated"),
            "fetch or compress the file again",
        ),
        io::ErrorKind::Unsupported => {
            (format!("the {packing} data cannot be read: {error}"), "unpack it, and name the trace in it")
        }
        _ => (format!("the {packing} data is damaged ({error})"), "fetch or compress the file again"),
    };
    TraceError::new(ErrorCause::Compression, name, what, cure)
}

/// Text that is made piece by piece: `make` appends some, or nothing at the end.
struct Made<F> {
    make: F,
    text: Vec<u8>,
    at: usize,
}

const PIECE_BYTES: usize = 1 << 16;

fn made(make: impl FnMut(&mut Vec<u8>) -> io::Result<()> + Send + 'static) -> Reader {
    Box::new(BufReader::new(Made { make, text: Vec::new(), at: 0 }))
}

impl<F: FnMut(&mut Vec<u8>) -> io::Result<()>> Read for Made<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            loop {
                let before = self.text.len();
                (self.make)(&mut self.text)?;
                if self.text.len() == before || self.text.len() >= PIECE_BYTES {
                    break;
                }
            }
        }
        let count = buffer.len().min(self.text.len() - self.at);
        buffer[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Fills `record`; false at the end of the input, an error within a record.
fn read_record(reader: &mut Reader, record: &mut [u8]) -> io::Result<bool> {
    if reader.fill_buf()?.is_empty() {
        return Ok(false);
    }
    reader.read_exact(record).map(|()| true)
}

/// The `N` bytes at `at`; records are of fixed size, so that they are there.
fn bytes_at<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| record.get(at + i).copied().unwrap_or(0))
}
