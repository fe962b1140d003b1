//! Recording: an export that forwards every request to another one and writes a trace of them.
//!
//! The data path makes the digests while the bytes are in the processor's cache. A thread sorts and writes rows. If it
//! cannot keep up, requests wait, so that the trace has no gaps. If it fails, they go on and the recording reports it.

mod holes;
mod import;
mod key;
mod queue;
mod sink;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use flashtwin_trace::{Op, recorded};
use serde::Serialize;
use smallvec::SmallVec;

pub use import::import_log_writes;
pub use key::Key;
use key::{Digest, PAGE_BYTES};
use queue::{Arrived, InOrder, Queue, Row};
pub use sink::RecordFormat;
use sink::Sink;

use crate::export::{Caller, Export, Extent, LOOK_BYTES, Writing};
use crate::locks::lock;

#[derive(Clone, Debug)]
pub struct RecordOptions {
    pub name: String,
    pub format: RecordFormat,
    /// What a killed process may lose: at most this, or a 256th of the recording's time if that is longer.
    pub loss_max: Duration,
    /// Bytes of rows that wait to be written. Beyond, requests wait.
    pub queue_bytes_max: usize,
}

impl Default for RecordOptions {
    fn default() -> RecordOptions {
        RecordOptions {
            name: "recording".to_owned(),
            format: RecordFormat::Parquet,
            loss_max: Duration::from_secs(10),
            queue_bytes_max: 64 << 20,
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct RecordFigures {
    pub path: PathBuf,
    pub requests: u64,
    /// Requests that the format cannot express.
    pub left_out: u64,
    pub file_bytes: u64,
    /// Time that requests have waited for the writer, added up.
    pub stalled_ns: u64,
    pub failure: Option<String>,
}

pub struct Recorder {
    inner: Arc<dyn Export>,
    key: Key,
    zero: Digest,
    queue: Arc<Queue>,
    figures: Arc<Mutex<RecordFigures>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Recorder {
    /// Fails if the file cannot be written, or is being recorded to.
    pub fn start(
        inner: Arc<dyn Export>,
        path: &Path,
        key: Key,
        options: &RecordOptions,
    ) -> io::Result<Recorder> {
        let holes = holes::of(&*inner);
        let sink =
            Sink::create(path, options.format, &options.name, &key, &holes).map_err(io::Error::other)?;
        let queue = Arc::new(Queue::new(options.queue_bytes_max));
        let figures = RecordFigures { path: path.to_owned(), ..RecordFigures::default() };
        let figures = Arc::new(Mutex::new(figures));
        let (its_queue, its_figures, loss_max) = (Arc::clone(&queue), Arc::clone(&figures), options.loss_max);
        let writer = thread::Builder::new().name("record".to_owned()).spawn(move || {
            if let Err(failure) = write_down(&its_queue, &its_figures, sink, loss_max) {
                lock(&its_figures).failure = Some(failure);
                // Nobody shall wait for room that there will never be.
                its_queue.end();
            }
        })?;
        let zero = key.zero_digest();
        let writer = Mutex::new(Some(writer));
        Ok(Recorder { inner, key, zero, queue, figures, writer })
    }

    pub fn figures(&self) -> RecordFigures {
        RecordFigures { stalled_ns: self.queue.stalled_ns.load(Relaxed), ..lock(&self.figures).clone() }
    }

    /// Later requests pass unrecorded. Fails if not everything could be written.
    pub fn finish(&self) -> io::Result<RecordFigures> {
        self.queue.end();
        let writer = lock(&self.writer).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            let path = lock(&self.figures).path.clone();
            return Err(io::Error::other(format!("{}: the writer has failed", path.display())));
        }
        let figures = self.figures();
        match &figures.failure {
            Some(failure) => Err(io::Error::other(failure.clone())),
            None => Ok(figures),
        }
    }

    fn digests(&self, bytes: &[u8]) -> SmallVec<[Digest; 1]> {
        bytes.chunks(PAGE_BYTES).map(|page| self.key.digest(page)).collect()
    }

    fn zeroes(&self, length: u64) -> SmallVec<[Digest; 1]> {
        let mut digests = SmallVec::from_elem(self.zero, (length / PAGE_BYTES as u64) as usize);
        let rest = (length % PAGE_BYTES as u64) as usize;
        if rest > 0 {
            digests.push(self.key.digest(&[0; PAGE_BYTES][..rest]));
        }
        digests
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// Longer zeroings are recorded in several requests, because each page has its digest.
pub(crate) const ZEROES_BYTES_MAX: u64 = 32 << 20;

fn durable(how: Writing) -> u8 {
    if how.durable { recorded::DURABLE } else { 0 }
}

fn done(arrived: Arrived<'_>, op: Op, flags: u8, offset: u64, length: u64, digests: SmallVec<[Digest; 1]>) {
    let (time_ns, offset_bytes) = (arrived.time_ns, offset);
    // The protocol has 32 bits for it.
    let length_bytes = u32::try_from(length).unwrap_or(u32::MAX);
    arrived.done(Row { time_ns, op, flags, offset_bytes, length_bytes, digests });
}

impl Export for Recorder {
    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn preferred_block_bytes(&self) -> u32 {
        self.inner.preferred_block_bytes()
    }

    fn read_only(&self) -> Option<String> {
        self.inner.read_only()
    }

    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        let arrived = self.queue.arrive();
        self.inner.read(offset, into, caller)?;
        if into.len() as u64 > LOOK_BYTES {
            caller.expect_there()?;
        }
        done(arrived, Op::Read, 0, offset, into.len() as u64, self.digests(into));
        Ok(())
    }

    fn read_again(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        self.inner.read_again(offset, into, caller)
    }

    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()> {
        let arrived = self.queue.arrive();
        self.inner.write(offset, bytes, how, caller)?;
        done(arrived, Op::Write, durable(how), offset, bytes.len() as u64, self.digests(bytes));
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let arrived = self.queue.arrive();
        self.inner.flush()?;
        done(arrived, Op::Flush, 0, 0, 0, SmallVec::new());
        Ok(())
    }

    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        let arrived = self.queue.arrive();
        self.inner.trim(offset, length, how, caller)?;
        done(arrived, Op::Trim, durable(how), offset, length, SmallVec::new());
        Ok(())
    }

    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        let arrived = self.queue.arrive();
        self.inner.write_zeroes(offset, length, how, caller)?;
        let flags = durable(how) | recorded::ZEROES;
        if !how.keep_room {
            // The drive may drop the pages: the trace has a trim.
            done(arrived, Op::Trim, flags, offset, length, SmallVec::new());
            return Ok(());
        }
        let first = length.min(ZEROES_BYTES_MAX);
        done(arrived, Op::Write, flags, offset, first, self.zeroes(first));
        for at in (first..length).step_by(ZEROES_BYTES_MAX as usize) {
            let bytes = ZEROES_BYTES_MAX.min(length - at);
            done(self.queue.arrive(), Op::Write, flags, offset + at, bytes, self.zeroes(bytes));
        }
        Ok(())
    }

    fn extents(
        &self,
        offset: u64,
        length: u64,
        runs_max: usize,
        caller: &dyn Caller,
    ) -> io::Result<Vec<Extent>> {
        self.inner.extents(offset, length, runs_max, caller)
    }
}

/// Short at first, for users who look at a new recording, then the allowed loss, because each footer lists all groups.
fn commit_interval(recorded: Duration, loss_max: Duration) -> Duration {
    (recorded / 2).max(FIRST_ROWS).min(loss_max).max(recorded / LOSS_SHARE)
}

const FIRST_ROWS: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);
const LOSS_SHARE: u32 = 256;

fn write_down(
    queue: &Queue,
    figures: &Mutex<RecordFigures>,
    mut sink: Sink,
    loss_max: Duration,
) -> Result<(), String> {
    let (mut rows, mut order) = (Vec::new(), InOrder::default());
    let begun = Instant::now();
    let mut committed = begun;
    loop {
        let more = queue.take(&mut rows, LOOK);
        let (mut outcome, mut left_out) = (Ok(()), 0);
        order.add(&mut rows, !more, |row| {
            if outcome.is_ok() {
                outcome = sink.push(&row).map(|expressed| left_out += u64::from(!expressed));
            }
        });
        lock(figures).left_out += left_out;
        outcome?;
        let (requests, file_bytes) = sink.figures();
        let mut now = lock(figures);
        (now.requests, now.file_bytes) = (requests, file_bytes);
        drop(now);
        if !more {
            return sink.finish();
        }
        if committed.elapsed() >= commit_interval(begun.elapsed(), loss_max) {
            sink.commit()?;
            committed = Instant::now();
        }
    }
}
