//! A trace cut into pages as a whole, before any of its page operations is replayed.

use schemars::JsonSchema;
use serde::Serialize;

use super::ContentSource;
use crate::request::Op;

/// Kind of the first access to a page, which tells whether the page existed before the trace.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstAccess {
    /// It never holds anything: it is trimmed, or read as a hole, and never written.
    Never,
    /// It is read: it existed.
    Read,
    /// It is written as a whole: whether it existed does not matter.
    Write,
    /// A part of it is written: it existed, and the rest is kept (read-modify-write).
    PartialWrite,
    /// It is trimmed, and written later: whether it existed does not matter.
    Trim,
    /// It is read although it is known to hold nothing (see [`crate::Holes`]), and written later.
    Hole,
}

/// Irregularities found while following pages and their contents through a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PageQuality {
    /// Page reads whose recorded content differs from the page's last known content, which wins.
    pub read_mismatches: u64,
    /// Page reads with a recorded content of a page whose own content is unknown, for example after
    /// a partial write. The page keeps its nameless content.
    pub unknown_content_reads: u64,
    /// Page reads of empty pages: trimmed, or known as holes when the trace begins, and not written
    /// since. They have no content.
    pub reads_of_holes: u64,
    /// Requests with contents that do not begin on the grid of contents; they were aligned down to
    /// it.
    pub unaligned_content_requests: u64,
    /// Page writes that cover only a part of their page.
    pub partial_writes: u64,
    /// Page trims that cover only a part of their page; they change nothing.
    pub partial_trims: u64,
}

/// A trace cut into pages, without its page operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The trace's name.
    pub name: String,
    /// [`Trace::digest`](crate::Trace::digest) of the trace.
    pub digest: String,
    /// How the trace was read: format, units, volumes.
    pub read_as: String,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Number of requests.
    pub requests: u64,
    /// Number of page operations.
    pub page_ops: u64,
    /// Bytes that all requests of a kind address, as the trace has them: by its number.
    pub bytes: [u64; Op::COUNT],
    /// Arrival of the last request in nanoseconds, the first being at 0; 0 without any.
    pub duration_ns: i64,
    /// Page number on the host's address space of each dense page, ascending. Volumes lie one behind another.
    pub lpn_address: Vec<u64>,
    /// Name and first dense page of each volume, by number. Their pages lie one behind another.
    pub volumes: Vec<(String, u32)>,
    /// Number of contents; ids are below it, in order of first appearance.
    pub content_count: u32,
    /// The content of a page of nothing but zeroes, if it is known and occurs.
    pub zero_content: Option<u32>,
    /// For each dense page the content before the trace; [`NO_CONTENT`](crate::NO_CONTENT) if it did not exist.
    pub initial_content: Vec<u32>,
    /// First access to each dense logical page.
    pub first_access: Vec<FirstAccess>,
    /// Where the contents come from.
    pub content_source: ContentSource,
    /// Irregularities of the pages.
    pub quality: PageQuality,
}

impl Outline {
    /// Number of distinct logical pages touched; their numbers are below it.
    pub fn pages(&self) -> u32 {
        self.lpn_address.len() as u32
    }

    /// Logical pages that hold data at some time. Pages only trimmed or never written take no room on a drive.
    pub fn footprint_pages(&self) -> u32 {
        self.first_access.iter().map(|&first| u32::from(first != FirstAccess::Never)).sum()
    }

    /// Whether a dense logical page must have existed before the trace: it is first read, or first written in part.
    pub fn existed_before(&self, lpn: u32) -> bool {
        existed(self.first_access[lpn as usize])
    }
}

pub(super) fn existed(first: FirstAccess) -> bool {
    matches!(first, FirstAccess::Read | FirstAccess::PartialWrite)
}

pub(super) struct TraceProperties<'a> {
    pub(super) name: &'a str,
    pub(super) page_bytes: u32,
    pub(super) chunk_bytes: u32,
    /// First access to each page; `None` during the first pass over the trace.
    pub(super) first: Option<&'a [FirstAccess]>,
}
