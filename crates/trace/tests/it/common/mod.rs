//! Shared by the tests of this crate.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use flashtwin_bits::SplitMix64;
use flashtwin_trace::{ErrorCause, Op, OpenOptions, Progress, Source, Trace, TraceError};

/// A folder of its own for each test, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("flashtwin-trace-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn open(path: &Path) -> Result<Trace, TraceError> {
    Trace::open(&Source::File(path.to_owned()), &OpenOptions::default(), &())
}

/// Bytes in memory, which messages call `t`.
pub(crate) fn source(text: impl AsRef<[u8]>) -> Source {
    Source::Bytes("t".to_owned(), text.as_ref().into())
}

pub(crate) fn open_text(text: impl AsRef<[u8]>) -> Result<Trace, TraceError> {
    open_with(text, &OpenOptions::default())
}

pub(crate) fn open_with(text: impl AsRef<[u8]>, options: &OpenOptions) -> Result<Trace, TraceError> {
    Trace::open(&source(text), options, &())
}

pub(crate) fn of_format(name: &str) -> OpenOptions {
    OpenOptions { format: Some(name.parse().unwrap()), ..OpenOptions::default() }
}

/// The message of a refusal of this kind, which has a cure and says all of `parts`.
pub(crate) fn refused(
    text: impl AsRef<[u8]>,
    options: &OpenOptions,
    cause: ErrorCause,
    parts: &[&str],
) -> String {
    let error = open_with(text, options).unwrap_err();
    let message = error.to_string();
    assert_eq!(error.cause, cause, "{message}");
    assert!(!error.cure.is_empty(), "no cure: {message}");
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
    message
}

/// Time, operation, offset and length of all requests.
pub(crate) fn asked(trace: &Trace) -> Vec<(i64, Op, u64, u32)> {
    let of = |row| (trace.time_ns[row], trace.op[row], trace.offset_bytes[row], trace.length_bytes[row]);
    (0..trace.len()).map(of).collect()
}

/// Stops the work at once.
pub(crate) struct Stop;

impl Progress for Stop {
    fn update(&self, _done: u64, _total: u64) {}

    fn cancelled(&self) -> bool {
        true
    }
}

pub(crate) struct Random(SplitMix64);

#[allow(dead_code)]
impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
