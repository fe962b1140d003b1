//! Where traces come from: files, standard input, memory; plain or compressed, in blocks of lines.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::fs::{File, Metadata};
use std::io::{self, BufRead as _, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::SystemTime;

use crate::containers::{self, Layers, Origin, Reader, read_error};
use crate::error::{ErrorCause, TraceError};
use crate::options::Format;

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
        // Raw blktrace has the number of a processor behind its ending.
        let is_number = |ending: &str| !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_digit());
        while let Some((stem, ending)) = name.rsplit_once('.')
            && !stem.is_empty()
            && (endings.iter().any(|e| e.eq_ignore_ascii_case(ending))
                || (is_number(ending) && stem.ends_with(".blktrace")))
        {
            name = stem;
        }
        name.to_owned()
    }
}

pub(crate) struct Input {
    pub(crate) name: String,
    reader: Reader,
    layers: Layers,
    done: Arc<AtomicU64>,
    /// Bytes of the compressed input; 0 when unknown.
    pub(crate) total: u64,
    watched: Option<Watched>,
    notes: Vec<String>,
}

impl Input {
    /// Unpacks it; some binary records only where their `format` is asked for.
    pub(crate) fn open(source: &Source, format: Option<Format>) -> Result<Input, TraceError> {
        let name = source.label();
        let io_error = |error: io::Error| TraceError::io(&name, &error);
        let mut watched = None;
        let (raw, total, path): (Box<dyn Read + Send>, u64, Option<&PathBuf>) = match source {
            Source::File(path) => {
                let file = File::open(path).map_err(io_error)?;
                let metadata = file.metadata().map_err(io_error)?;
                if metadata.is_dir() {
                    return Err(io_error(io::ErrorKind::IsADirectory.into()));
                }
                watched = Watched::new(&file, &metadata);
                (Box::new(file), metadata.len(), Some(path))
            }
            Source::Stdin => (Box::new(io::stdin()), 0, None),
            Source::Bytes(_, bytes) => (Box::new(Cursor::new(Arc::clone(bytes))), bytes.len() as u64, None),
        };
        let done = Arc::new(AtomicU64::new(0));
        let origin = Origin {
            name: name.clone(),
            format,
            path: path.cloned(),
            done: Arc::clone(&done),
            total: RefCell::new(total),
            notes: RefCell::default(),
        };
        let (mut reader, layers) = containers::unpack(origin.counted(raw), &origin)?;
        if layers.is_empty() && reader.fill_buf().map_err(io_error)?.is_empty() {
            return Err(empty(&name));
        }
        let (total, notes) = (origin.total.into_inner(), origin.notes.into_inner());
        Ok(Input { name, reader, layers, done, total, watched, notes })
    }

    pub(crate) fn into_blocks(self, threaded: bool) -> Blocks {
        let cutter = Cutter { reader: self.reader, carry: Vec::new(), ended: false };
        let feed =
            if threaded && !self.layers.is_empty() { Feed::thread(cutter) } else { Feed::Here(cutter) };
        Blocks {
            name: self.name,
            layers: self.layers,
            done: self.done,
            total: self.total,
            watched: self.watched,
            notes: self.notes,
            feed,
        }
    }

    /// Whether the bytes of the file are not those of the trace.
    pub(crate) fn is_packed(&self) -> bool {
        !self.layers.is_empty()
    }

    pub(crate) fn read_all(mut self) -> Result<Vec<u8>, TraceError> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(read_error(&self.name, &self.layers, &error)),
        }
    }

    /// The first `count` bytes of the unpacked input, which stay readable.
    pub(crate) fn peek(&mut self, count: usize) -> Result<Vec<u8>, TraceError> {
        containers::peek(&mut self.reader, count)
            .map_err(|error| read_error(&self.name, &self.layers, &error))
    }
}

/// A file as it was when reading began.
struct Watched {
    file: File,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Watched {
    fn new(file: &File, metadata: &Metadata) -> Option<Watched> {
        let file = file.try_clone().ok().filter(|_| metadata.is_file())?;
        Some(Watched { file, bytes: metadata.len(), modified: metadata.modified().ok() })
    }

    /// A note if the file has grown since, because its beginning is whole. Another change is an error.
    fn changes(&self, name: &str) -> Result<Option<String>, TraceError> {
        let now = self.file.metadata().map_err(|error| TraceError::io(name, &error))?;
        let (before, after) = (self.bytes, now.len());
        let what = match after.cmp(&before) {
            Ordering::Less => format!("the file shrank from {before} to {after} bytes while it was read"),
            Ordering::Equal if now.modified().ok() == self.modified => return Ok(None),
            Ordering::Equal => "the file was written to while it was read".to_owned(),
            Ordering::Greater => {
                return Ok(Some(format!("the file grew from {before} to {after} bytes while it was read")));
            }
        };
        Err(TraceError::new(ErrorCause::Io, name, what, "read it again when nothing writes to it"))
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
    reader: Reader,
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
    layers: Layers,
    done: Arc<AtomicU64>,
    pub(crate) total: u64,
    watched: Option<Watched>,
    /// Choices made in reading, in words. Complete at the end.
    pub(crate) notes: Vec<String>,
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
        let block = result.map_err(|trouble| {
            self.feed = Feed::Ended;
            match trouble {
                Trouble::Reading(error) => read_error(&self.name, &self.layers, &error),
                Trouble::LongLine => TraceError::new(
                    ErrorCause::UnknownFormat,
                    &self.name,
                    "there is a line of more than 16 MiB: this is no text trace",
                    "check the file; trace formats have a line for each request",
                ),
            }
        })?;
        if block.is_empty()
            && let Some(watched) = self.watched.take()
        {
            self.notes.extend(watched.changes(&self.name)?);
        }
        Ok(block)
    }

    pub(crate) fn done(&self) -> u64 {
        self.done.load(atomic::Ordering::Relaxed)
    }
}
