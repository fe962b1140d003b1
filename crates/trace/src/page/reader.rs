//! Passes over the file of a scanned trace: each reads it anew, and detects if it has changed since the scan.

use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use super::content::Before;
use super::cut::{Numbering, cut_window, window_of};
use super::follow::{Followed, Follower};
use super::outline::{Outline, PageQuality, TraceProperties};
use super::table::{LastRegion, PageTable};
use super::window::PageColumns;
use crate::error::{ErrorCause, TraceError};
use crate::input::Source;
use crate::options::{Format, OpenOptions};
use crate::progress::Progress;
use crate::request::CHUNK_BYTES;
use crate::stream::TraceStream;
use crate::trace::Trace;

pub(super) struct Scanned {
    pub(super) source: Source,
    pub(super) options: OpenOptions,
    pub(super) window_requests: usize,
    pub(super) outline: Outline,
    /// The number of each volume of the stream, which numbers them as they come.
    pub(super) volume_order: Vec<u32>,
    pub(super) table: Arc<PageTable>,
    pub(super) before: Arc<Before>,
    pub(super) format: Format,
    pub(super) has_content: bool,
    pub(super) stamp: Option<Stamp>,
}

/// Properties of a file that change when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

pub(super) fn stamp(source: &Source) -> Result<Option<Stamp>, TraceError> {
    let Source::File(path) = source else { return Ok(None) };
    let metadata = std::fs::metadata(path).map_err(|error| TraceError::io(&source.label(), &error))?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(TraceStream::read_only_once(source));
    }
    Ok(Some(Stamp { bytes: metadata.len(), modified: metadata.modified().ok() }))
}

impl Scanned {
    pub(super) fn check_unchanged(&self) -> Result<(), TraceError> {
        if stamp(&self.source)? == self.stamp { Ok(()) } else { Err(self.changed()) }
    }

    pub(super) fn changed(&self) -> TraceError {
        TraceError::new(
            ErrorCause::Io,
            self.source.label(),
            "the file has changed while it was replayed; it is read several times",
            "replay it again when nobody writes to it any more",
        )
    }

    /// Explains an error on a later read: if the file was written to, that is the cause.
    pub(super) fn blame(&self, error: TraceError) -> TraceError {
        if error.cause != ErrorCause::Cancelled && self.check_unchanged().is_err() {
            self.changed()
        } else {
            error
        }
    }
}

pub(super) struct Reader {
    scanned: Arc<Scanned>,
    stream: TraceStream,
    batch: Option<Trace>,
    /// Requests of the batch that are cut already.
    taken: usize,
    last: LastRegion,
    follower: Follower,
    quality: PageQuality,
}

impl Reader {
    pub(super) fn open(scanned: &Arc<Scanned>, progress: &dyn Progress) -> Result<Reader, TraceError> {
        scanned.check_unchanged()?;
        let stream = TraceStream::open(&scanned.source, &scanned.options, progress);
        let stream = stream.map_err(|error| scanned.blame(error))?;
        let outline = &scanned.outline;
        let first = Some(&outline.first_access[..]);
        let known = TraceProperties {
            name: &outline.name,
            page_bytes: outline.page_bytes,
            chunk_bytes: CHUNK_BYTES,
            first,
        };
        Ok(Reader {
            // With the first accesses known, every source can make its contents.
            follower: Follower::new(outline.content_source, &known).unwrap_or(Follower::None),
            scanned: Arc::clone(scanned),
            stream,
            batch: None,
            taken: 0,
            last: LastRegion::default(),
            quality: PageQuality::default(),
        })
    }

    /// Puts the next window into `columns`; false at the end, after a check that the file is unchanged.
    pub(super) fn next(
        &mut self,
        columns: &mut PageColumns,
        progress: &dyn Progress,
    ) -> Result<bool, TraceError> {
        if self.batch.as_ref().is_none_or(|batch| self.taken == batch.len()) {
            self.batch = self.stream.next(progress).map_err(|error| self.scanned.blame(error))?;
            self.taken = 0;
        }
        let outline = &self.scanned.outline;
        let Some(batch) = &self.batch else {
            let same = self.stream.requests() == outline.requests && self.stream.digest() == outline.digest;
            return if same { Ok(false) } else { Err(self.scanned.changed()) };
        };
        let window = window_of(batch, self.taken, self.scanned.window_requests, outline.page_bytes);
        self.taken = window.end;
        let requests = batch.requests(window);
        let mut numbers = Numbers { scanned: &self.scanned, last: &mut self.last };
        if cut_window(&requests, outline.page_bytes, &mut numbers, columns).is_none() {
            return Err(self.scanned.changed());
        }
        for volume in Arc::make_mut(&mut columns.volume) {
            let number = self.scanned.volume_order.get(*volume as usize);
            *volume = *number.ok_or_else(|| self.scanned.changed())?;
        }
        let (pages, before) = (outline.lpn_address.len(), &self.scanned.before);
        self.follower.add(&requests, columns, pages, before, &mut self.quality)?;
        if self.follower.content_count() > outline.content_count {
            return Err(self.scanned.changed());
        }
        Ok(true)
    }

    pub(super) fn finish(self) -> (Followed, PageQuality) {
        let pages = self.scanned.outline.lpn_address.len();
        (self.follower.finish(pages, self.stream.zero_content()), self.quality)
    }
}

struct Numbers<'a> {
    scanned: &'a Scanned,
    last: &'a mut LastRegion,
}

impl Numbering for Numbers<'_> {
    #[inline]
    fn ask_for(&mut self, volume: u32, page: u64) {
        self.scanned.table.ask_for_known(self.last, volume, page);
    }

    #[inline]
    fn number(&mut self, volume: u32, pages: Range<u64>, ids: &mut Vec<u32>) -> bool {
        self.scanned.table.look_up(self.last, volume, pages, ids)
    }
}
