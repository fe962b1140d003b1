//! Following contents through a trace: what each page holds before and after each operation.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::{FirstAccess, PageTrace, too_large};
use crate::error::TraceError;
use crate::request::{NO_CONTENT, Op};
use crate::requests::Requests;
use crate::trace::Trace;

/// The trace's own contents. See [`PageTrace`] for the rules.
pub(super) fn follow_recorded(trace: &Trace, pages: &mut PageTrace) -> Result<(), TraceError> {
    let requests = trace.requests(0..trace.len());
    let mut follower = Follower::new(trace, pages);
    for request in 0..pages.requests() {
        let carried = Carried::new(&requests, request, pages.page_bytes);
        for (nth, page_op) in pages.page_ops_of(request).enumerate() {
            let lpn = pages.lpn[page_op];
            let partial = pages.is_partial(request, page_op);
            let content = follower.apply(pages, request, nth as u64, lpn, partial, &carried)?;
            pages.content.push(content);
        }
    }
    pages.content_count = follower.interned.count;
    Ok(())
}

/// The contents of one request, by place.
struct Carried<'a> {
    contents: &'a [u32],
    start: u64,
    end: u64,
    first_page: u64,
    page_bytes: u64,
    chunk_bytes: u64,
}

/// What an operation does to one chunk of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Not,
    /// The whole chunk, with this content.
    Known(u32),
    /// A part of the chunk, or all of it with an unknown content.
    Unknown,
}

impl Carried<'_> {
    fn new<'a>(requests: &Requests<'a>, request: usize, page_bytes: u32) -> Carried<'a> {
        let (start, end) = requests.extent(request, page_bytes);
        Carried {
            contents: requests.contents(request),
            start,
            end,
            first_page: start / u64::from(page_bytes),
            page_bytes: u64::from(page_bytes),
            chunk_bytes: u64::from(requests.chunk_bytes),
        }
    }

    /// What the `nth` page operation of the request does to the page's `slot`th chunk.
    #[inline]
    fn touch(&self, nth: u64, slot: u64) -> Touch {
        let chunk_start = (self.first_page + nth) * self.page_bytes + slot * self.chunk_bytes;
        let chunk_end = chunk_start + self.chunk_bytes;
        if chunk_start >= self.end || chunk_end <= self.start {
            return Touch::Not;
        }
        if chunk_start < self.start || chunk_end > self.end || self.contents.is_empty() {
            return Touch::Unknown;
        }
        match self.contents[((chunk_start - self.start) / self.chunk_bytes) as usize] {
            NO_CONTENT => Touch::Unknown,
            content => Touch::Known(content),
        }
    }
}

/// A chunk that nothing has been found out about.
const UNSEEN: u32 = u32::MAX;
/// (Before the trace only:) a chunk that was written before its old content could be seen.
const OVERWRITTEN: u32 = u32::MAX - 1;

struct Follower {
    /// Chunks a page.
    slots: usize,
    /// Content of every chunk before the trace, as far as reads reveal it.
    before: Vec<u32>,
    /// Content of every chunk now: below `recorded` the trace's ids, then `trimmed`, then nameless ones.
    now: Vec<u32>,
    seen: Vec<bool>,
    recorded: u32,
    trimmed: u32,
    next_nameless: u32,
    interned: Interned,
}

impl Follower {
    fn new(trace: &Trace, pages: &mut PageTrace) -> Follower {
        let slots = (pages.page_bytes / trace.chunk_bytes) as usize;
        let footprint = pages.lpn_address.len();
        let recorded = trace.content_count();
        pages.initial_content = vec![NO_CONTENT; footprint];
        pages.content = Vec::with_capacity(pages.lpn.len());
        Follower {
            slots,
            before: contents_before(trace, pages, slots),
            now: vec![UNSEEN; footprint * slots],
            seen: vec![false; footprint],
            recorded,
            trimmed: recorded,
            next_nameless: recorded + 1,
            interned: Interned::new(slots, recorded),
        }
    }

    fn nameless(&mut self, name: &str) -> Result<u32, TraceError> {
        let id = self.next_nameless;
        if id >= OVERWRITTEN {
            return Err(too_large(name, "contents"));
        }
        self.next_nameless += 1;
        Ok(id)
    }

    /// Applies one page operation; its content.
    fn apply(
        &mut self,
        pages: &mut PageTrace,
        request: usize,
        nth: u64,
        lpn: u32,
        partial: bool,
        carried: &Carried<'_>,
    ) -> Result<u32, TraceError> {
        let page = lpn as usize;
        let chunks = page * self.slots..(page + 1) * self.slots;
        let op = pages.op[request];
        if op == Op::Trim {
            if !partial {
                self.seen[page] = true;
                self.now[chunks].fill(self.trimmed);
            }
            return Ok(NO_CONTENT);
        }
        if !self.seen[page] {
            self.seen[page] = true;
            if pages.first_access[page] != FirstAccess::Write {
                self.recall(pages, page)?;
            }
        }
        if op == Op::Write {
            for slot in 0..self.slots {
                match carried.touch(nth, slot as u64) {
                    Touch::Not => {}
                    Touch::Known(content) => self.now[chunks.start + slot] = content,
                    Touch::Unknown => {
                        self.now[chunks.start + slot] = self.nameless(&pages.name)?;
                    }
                }
            }
        } else {
            if self.now[chunks.clone()].iter().all(|&c| c == self.trimmed) {
                pages.quality.reads_after_trim += 1;
                return Ok(NO_CONTENT);
            }
            self.compare(pages, nth, chunks.start, carried);
        }
        self.interned.id(&pages.name, &self.now[chunks])
    }

    /// Puts into `page` what it held before the trace.
    fn recall(&mut self, pages: &mut PageTrace, page: usize) -> Result<(), TraceError> {
        let chunks = page * self.slots..(page + 1) * self.slots;
        for chunk in chunks.clone() {
            self.now[chunk] = match self.before[chunk] {
                UNSEEN | OVERWRITTEN => self.nameless(&pages.name)?,
                content => content,
            };
        }
        pages.initial_content[page] = self.interned.id(&pages.name, &self.now[chunks])?;
        Ok(())
    }

    /// Compares what a page read found, by its record, with what the page holds.
    fn compare(&self, pages: &mut PageTrace, nth: u64, first_chunk: usize, carried: &Carried<'_>) {
        let (mut differs, mut nameless) = (false, false);
        for slot in 0..self.slots {
            let held = self.now[first_chunk + slot];
            if let Touch::Known(found) = carried.touch(nth, slot as u64)
                && found != held
            {
                if held < self.recorded {
                    differs = true;
                } else {
                    nameless = true;
                }
            }
        }
        pages.quality.read_mismatches += u64::from(differs);
        pages.quality.unknown_content_reads += u64::from(nameless && !differs);
    }
}

/// The content of every chunk before the trace, where a read shows it before anything overwrites it.
fn contents_before(trace: &Trace, pages: &PageTrace, slots: usize) -> Vec<u32> {
    let requests = trace.requests(0..trace.len());
    let mut before = vec![UNSEEN; pages.lpn_address.len() * slots];
    for request in 0..pages.requests() {
        let carried = Carried::new(&requests, request, pages.page_bytes);
        let op = pages.op[request];
        for (nth, page_op) in pages.page_ops_of(request).enumerate() {
            if op == Op::Trim && pages.is_partial(request, page_op) {
                continue;
            }
            let first_chunk = pages.lpn[page_op] as usize * slots;
            for slot in 0..slots {
                let chunk = &mut before[first_chunk + slot];
                if *chunk != UNSEEN {
                    continue;
                }
                match (op, carried.touch(nth as u64, slot as u64)) {
                    (_, Touch::Not) | (Op::Read, Touch::Unknown) => {}
                    (Op::Read, Touch::Known(content)) => *chunk = content,
                    _ => *chunk = OVERWRITTEN,
                }
            }
        }
    }
    before
}

/// Page contents: tuples of chunk contents, numbered in order of first use.
struct Interned {
    slots: usize,
    count: u32,
    /// Pages of one chunk: chunk content -> page content.
    single: Vec<u32>,
    /// Pages of several chunks: the tuples, one behind another, and an index over them.
    tuples: Vec<u32>,
    index: HashTable<u32>,
}

impl Interned {
    fn new(slots: usize, recorded: u32) -> Interned {
        let single = if slots == 1 { recorded as usize } else { 0 };
        Interned {
            slots,
            count: 0,
            single: vec![NO_CONTENT; single],
            tuples: Vec::new(),
            index: HashTable::new(),
        }
    }

    #[inline]
    fn id(&mut self, name: &str, chunks: &[u32]) -> Result<u32, TraceError> {
        if let [chunk] = *chunks {
            return self.single_id(chunk as usize);
        }
        let slots = self.slots;
        let tuples = &self.tuples;
        let tuple = |id: u32| &tuples[id as usize * slots..(id as usize + 1) * slots];
        let entry = self.index.entry(hash(chunks), |&id| tuple(id) == chunks, |&id| hash(tuple(id)));
        match entry {
            Entry::Occupied(found) => Ok(*found.get()),
            Entry::Vacant(vacant) => {
                if self.count == NO_CONTENT {
                    return Err(too_large(name, "contents"));
                }
                let id = self.count;
                vacant.insert(id);
                self.tuples.extend_from_slice(chunks);
                self.count += 1;
                Ok(id)
            }
        }
    }

    #[inline]
    fn single_id(&mut self, chunk: usize) -> Result<u32, TraceError> {
        if chunk >= self.single.len() {
            self.single.resize(chunk + 1, NO_CONTENT);
        }
        let id = &mut self.single[chunk];
        if *id == NO_CONTENT {
            *id = self.count;
            self.count += 1;
        }
        Ok(*id)
    }
}

/// Mixes a tuple of ids into 64 bits (multiply and fold; ids are small and not hostile).
fn hash(chunks: &[u32]) -> u64 {
    chunks.iter().fold(0x9e37_79b9_7f4a_7c15, |state: u64, &id| {
        let wide = u128::from(state ^ u64::from(id)) * 0xa076_1d64_78bd_642f;
        (wide as u64) ^ ((wide >> 64) as u64)
    })
}
