//! Requests cut into pages as they come, for a drive whose host waits for its answers before it asks for more.

use std::ops::Range;

use super::content::Before;
use super::cut::{Numbering, cut_window};
use super::first_access::FirstAccesses;
use super::follow::Follower;
use super::outline::{FirstAccess, Outline, TraceProperties};
use super::window::{PageColumns, Window};
use super::{add_bytes, check_arguments, check_contents};
use crate::digest::TraceHasher;
use crate::error::TraceError;
use crate::holes::Holes;
use crate::request::CHUNK_BYTES;
use crate::requests::Requests;

/// Cuts requests as [`super::PageTrace`] does, without knowing later ones. Page numbers are addresses.
#[derive(Clone)]
pub struct PageIntake {
    /// The requests so far.
    pub outline: Outline,
    is_full: bool,
    hasher: TraceHasher,
    accesses: FirstAccesses,
    before: Before,
    follower: Follower,
    columns: PageColumns,
}

impl PageIntake {
    /// For the drive of an outline without requests, whose pages all hold contents of their own (`is_full`) or nothing.
    pub fn new(outline: Outline, is_full: bool) -> Result<PageIntake, TraceError> {
        let Outline { ref name, page_bytes, content_source, .. } = outline;
        check_arguments(name, page_bytes, content_source)?;
        check_contents(name, page_bytes, content_source, true)?;
        let pages = outline.lpn_address.len();
        let before = Before::of_all(page_bytes, CHUNK_BYTES, pages, is_full);
        // No page has a content that draws would have to know.
        let first = vec![FirstAccess::Write; pages];
        let known = TraceProperties { name, page_bytes, chunk_bytes: CHUNK_BYTES, first: Some(&first) };
        let follower = Follower::new(content_source, &known).unwrap_or(Follower::None);
        let (hasher, accesses) = (TraceHasher::new(CHUNK_BYTES), FirstAccesses::default());
        Ok(PageIntake {
            outline,
            is_full,
            hasher,
            accesses,
            before,
            follower,
            columns: PageColumns::default(),
        })
    }

    /// The next requests, which lie on the drive, as a window.
    pub fn add(&mut self, requests: &Requests<'_>) -> Result<Window<'_>, TraceError> {
        let (outline, columns) = (&mut self.outline, &mut self.columns);
        let (first, pages) = (outline.requests, outline.lpn_address.len());
        let unaligned = cut_window(requests, outline.page_bytes, &mut Addresses, columns);
        outline.quality.unaligned_content_requests += unaligned.unwrap_or(0);
        self.accesses.add(columns, 0..columns.requests(), pages);
        self.follower.add(requests, columns, pages, &self.before, &mut outline.quality)?;
        self.hasher.add(requests);
        add_bytes(requests, &mut outline.bytes);
        outline.requests += requests.len() as u64;
        outline.page_ops += columns.page_ops() as u64;
        outline.duration_ns = columns.time_ns.last().copied().unwrap_or(outline.duration_ns);
        Ok(columns.window(first, outline))
    }

    /// All requests, as a trace of them has it.
    pub fn finish(mut self) -> Outline {
        self.outline.digest = self.hasher.finish(Holes::NONE);
        self.accesses.count(&mut self.outline.quality);
        self.outline.content_count = self.follower.content_count();
        if !self.is_full {
            let pages = self.outline.lpn_address.len();
            self.outline.first_access = self.accesses.first(&self.before);
            self.outline.first_access.resize(pages, FirstAccess::Never);
        }
        self.outline
    }
}

struct Addresses;

impl Numbering for Addresses {
    fn ask_for(&mut self, _: u32, _: u64) {}

    fn number(&mut self, _: u32, pages: Range<u64>, ids: &mut Vec<u32>) -> bool {
        ids.extend(pages.map(|page| page as u32));
        true
    }
}
