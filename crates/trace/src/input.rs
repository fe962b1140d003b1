//! Where traces come from: files, standard input, memory; plain or compressed, in blocks of lines.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::error::{ErrorCause, TraceError};

/// Where a trace comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, with a name for messages.
    Bytes(String, Arc<[u8]>),
}

impl Source {
    /// A source as named on the command line: a path, for example `traces/mail.fiu.zst`, or `-` for
    /// standard input.
    pub fn from_argument(argument: impl AsRef<Path>) -> Source {
        let path = argument.as_ref();
        if path == Path::new("-") { Source::Stdin } else { Source::File(path.to_owned()) }
    }

    /// How messages call it.
    pub fn label(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Stdin => "standard input".to_owned(),
            Source::Bytes(name, _) => name.clone(),
        }
    }

    /// Name of the trace in it: the file's name without folders and the endings of `endings`.
    pub(crate) fn trace_name(&self, endings: &[&str]) -> String {
        let whole = match self {
            Source::File(path) => path.file_name().map(|n| n.to_string_lossy().into_owned()),
            Source::Stdin => Some("stdin".to_owned()),
            Source::Bytes(name, _) => Some(name.clone()),
        };
        let whole = whole.unwrap_or_else(|| "trace".to_owned());
        let mut name = whole.as_str();
        while let Some((stem, ending)) = name.rsplit_once('.')
            && !stem.is_empty()
            && endings.iter().any(|e| e.eq_ignore_ascii_case(ending))
        {
            name = stem;
        }
        name.to_owned()
    }
}

/// Compression formats, recognised by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

const MAGIC_BYTES: usize = 6;

impl Compression {
    fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            // A skippable frame, which some tools put before the first real one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
        }
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

pub(crate) struct Input {
    pub(crate) name: String,
    reader: Box<dyn Read + Send>,
    compression: Compression,
    done: Arc<AtomicU64>,
    /// Bytes of the compressed input; 0 when unknown.
    pub(crate) total: u64,
}

/// zstd windows up to 2 GiB are accepted (`zstd --long=31`); the default of 128 MiB is not enough.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
const RAW_BUFFER_BYTES: usize = 1 << 18;

impl Input {
    pub(crate) fn open(source: &Source) -> Result<Input, TraceError> {
        let name = source.label();
        let io_error = |error: io::Error| TraceError::io(&name, &error);
        let (raw, total): (Box<dyn Read + Send>, u64) = match source {
            Source::File(path) => {
                let file = File::open(path).map_err(io_error)?;
                let metadata = file.metadata().map_err(io_error)?;
                if metadata.is_dir() {
                    return Err(io_error(io::ErrorKind::IsADirectory.into()));
                }
                (Box::new(file), metadata.len())
            }
            Source::Stdin => (Box::new(io::stdin()), 0),
            Source::Bytes(_, bytes) => (Box::new(Cursor::new(Arc::clone(bytes))), bytes.len() as u64),
        };
        let done = Arc::new(AtomicU64::new(0));
        let mut raw = Counting { inner: raw, done: Arc::clone(&done) };
        let mut head = Vec::with_capacity(MAGIC_BYTES);
        raw.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut head).map_err(io_error)?;
        if head.is_empty() {
            return Err(empty(&name));
        }
        let compression = Compression::of(&head);
        let raw = io::BufReader::with_capacity(RAW_BUFFER_BYTES, Cursor::new(head).chain(raw));
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(raw),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(raw).map_err(io_error)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(io_error)?;
                Box::new(decoder)
            }
            Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(raw)),
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(raw)),
        };
        Ok(Input { name, reader, compression, done, total })
    }

    pub(crate) fn into_blocks(self, threaded: bool) -> Blocks {
        let state = Blocks {
            name: self.name.clone(),
            compression: self.compression,
            done: Arc::clone(&self.done),
            total: self.total,
            feed: Feed::Ended,
        };
        let cutter = Cutter { reader: self.reader, carry: Vec::new(), ended: false };
        let feed = if threaded && self.compression != Compression::None {
            Feed::thread(cutter)
        } else {
            Feed::Here(cutter)
        };
        Blocks { feed, ..state }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    pub(crate) fn read_all(mut self) -> Result<Vec<u8>, TraceError> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(read_error(&self.name, self.compression, &error)),
        }
    }

    /// The first `count` bytes of the decompressed input, which stay readable.
    pub(crate) fn peek(&mut self, count: usize) -> Result<Vec<u8>, TraceError> {
        let mut head = Vec::with_capacity(count);
        let read = self.reader.by_ref().take(count as u64).read_to_end(&mut head);
        if let Err(error) = read {
            return Err(read_error(&self.name, self.compression, &error));
        }
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(head.clone()).chain(rest));
        Ok(head)
    }
}

pub(crate) fn empty(name: &str) -> TraceError {
    TraceError::new(
        ErrorCause::Empty,
        name,
        "the input is empty, a trace was expected",
        "check that the file was written or downloaded completely",
    )
}

fn read_error(name: &str, compression: Compression, error: &io::Error) -> TraceError {
    if compression == Compression::None {
        return TraceError::io(name, error);
    }
    let what = if error.kind() == io::ErrorKind::UnexpectedEof {
        format!("the {} data ends too early: the file is truncated", compression.name())
    } else {
        format!("the {} data is damaged ({error})", compression.name())
    };
    TraceError::new(ErrorCause::Compression, name, what, "fetch or compress the file again")
}

/// Lines are handed on in blocks of about this size.
const BLOCK_BYTES: usize = 1 << 20;
/// A line longer than this is taken for something else than text.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Blocks that may be waiting between the decompressing thread and the parser.
const BLOCKS_AHEAD: usize = 4;

enum Trouble {
    Reading(io::Error),
    LongLine,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Reading(error)
    }
}

struct Cutter {
    reader: Box<dyn Read + Send>,
    /// The beginning of a line whose end is not read yet.
    carry: Vec<u8>,
    ended: bool,
}

impl Cutter {
    /// The next block in `block` (whose allocation is used again); false at the end.
    fn next(&mut self, block: &mut Vec<u8>) -> Result<bool, Trouble> {
        block.clear();
        block.append(&mut self.carry);
        let mut wanted = BLOCK_BYTES;
        while !self.ended {
            let filled = block.len();
            block.resize(wanted.max(filled), 0);
            let end = self.fill(block, filled)?;
            let complete = memchr::memrchr(b'\n', &block[filled..end]);
            block.truncate(end);
            if self.ended {
                break;
            }
            if let Some(newline) = complete {
                self.carry.extend_from_slice(&block[filled + newline + 1..]);
                block.truncate(filled + newline + 1);
                return Ok(true);
            }
            if block.len() >= LINE_BYTES_MAX {
                return Err(Trouble::LongLine);
            }
            wanted = block.len() * 2;
        }
        Ok(!block.is_empty())
    }

    fn fill(&mut self, block: &mut [u8], mut filled: usize) -> io::Result<usize> {
        while filled < block.len() {
            match self.reader.read(&mut block[filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

type Cut = Result<Vec<u8>, Trouble>;

enum Feed {
    Here(Cutter),
    Thread { blocks: Receiver<Cut>, used: SyncSender<Vec<u8>> },
    Ended,
}

impl Feed {
    fn thread(mut cutter: Cutter) -> Feed {
        let (send, blocks) = sync_channel::<Cut>(BLOCKS_AHEAD);
        let (used, recycle) = sync_channel::<Vec<u8>>(BLOCKS_AHEAD * 2);
        // Ends by itself when the receiver is gone: the next send fails.
        thread::spawn(move || {
            loop {
                let mut block = recycle.try_recv().unwrap_or_default();
                let message = match cutter.next(&mut block) {
                    Ok(true) => Ok(block),
                    Ok(false) => return,
                    Err(error) => Err(error),
                };
                let last = message.is_err();
                if send.send(message).is_err() || last {
                    return;
                }
            }
        });
        Feed::Thread { blocks, used }
    }
}

pub(crate) struct Blocks {
    pub(crate) name: String,
    compression: Compression,
    done: Arc<AtomicU64>,
    pub(crate) total: u64,
    feed: Feed,
}

impl Blocks {
    /// The next block of whole lines, empty at the end. `used` is the block before.
    pub(crate) fn next(&mut self, mut used: Vec<u8>) -> Result<Vec<u8>, TraceError> {
        let result = match &mut self.feed {
            Feed::Here(cutter) => cutter.next(&mut used).map(|_| used),
            Feed::Thread { blocks, used: back } => {
                // A full channel means that there are buffers enough.
                let _ = back.try_send(used);
                blocks.recv().unwrap_or_else(|_| Ok(Vec::new()))
            }
            Feed::Ended => Ok(Vec::new()),
        };
        result.map_err(|trouble| {
            self.feed = Feed::Ended;
            match trouble {
                Trouble::Reading(error) => read_error(&self.name, self.compression, &error),
                Trouble::LongLine => TraceError::new(
                    ErrorCause::UnknownFormat,
                    &self.name,
                    "there is a line of more than 16 MiB: this is no text trace",
                    "check the file; trace formats have a line for each request",
                ),
            }
        })
    }

    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}
