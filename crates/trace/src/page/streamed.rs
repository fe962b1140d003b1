//! The page operations of a file, window by window, once it is known which pages there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::PageSource;
use super::outline::Outline;
use super::reader::Reader;
use super::scan::PageScan;
use super::window::{PageColumns, Window, Windows};
use crate::error::TraceError;
use crate::progress::Progress;

const WINDOWS_AHEAD: usize = 2;

impl PageSource for PageScan {
    fn outline(&self) -> &Outline {
        &self.scanned.outline
    }

    fn windows(&self) -> Result<Box<dyn Windows + '_>, TraceError> {
        let stop = Arc::new(AtomicBool::new(false));
        let reader = Reader::open(&self.scanned, &())?;
        let (send, ready) = sync_channel(WINDOWS_AHEAD);
        let (used, recycled) = sync_channel(WINDOWS_AHEAD * 2);
        let watch = Watch(Arc::clone(&stop));
        let thread = thread::spawn(move || read_all(reader, &watch, &send, &recycled));
        Ok(Box::new(Ahead {
            ready,
            used,
            thread: Some(thread),
            stop,
            window: PageColumns::default(),
            next_request: 0,
            outline: &self.scanned.outline,
        }))
    }
}

type Made = Result<PageColumns, TraceError>;

fn read_all(mut reader: Reader, watch: &Watch, ready: &SyncSender<Made>, recycled: &Receiver<PageColumns>) {
    loop {
        let mut columns = recycled.try_recv().unwrap_or_default();
        let made = match reader.next(&mut columns, watch) {
            Ok(true) => Ok(columns),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        let last = made.is_err();
        if ready.send(made).is_err() || last {
            return;
        }
    }
}

struct Watch(Arc<AtomicBool>);

impl Progress for Watch {
    fn update(&self, _done: u64, _total: u64) {}

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Ahead<'a> {
    ready: Receiver<Made>,
    used: SyncSender<PageColumns>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    window: PageColumns,
    next_request: u64,
    outline: &'a Outline,
}

impl Windows for Ahead<'_> {
    fn next(&mut self) -> Result<Option<Window<'_>>, TraceError> {
        // A full channel means that there are buffers enough.
        let _ = self.used.try_send(std::mem::take(&mut self.window));
        let Ok(made) = self.ready.recv() else {
            // The thread has ended: with the file, unless it panicked, which then goes on here.
            if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                std::panic::resume_unwind(panic);
            }
            return Ok(None);
        };
        self.window = made?;
        let first = self.next_request;
        self.next_request += self.window.requests() as u64;
        Ok(Some(self.window.window(first, self.outline)))
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
