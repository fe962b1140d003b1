//! Follows contents through a trace: those of each page before and after each operation.

use std::ops::Range;

use flashtwin_bits::prefetch;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::outline::{PageQuality, TraceProperties};
use super::too_large;
use super::window::{PageColumns, marks};
use crate::error::TraceError;
use crate::request::{NO_CONTENT, Op};
use crate::requests::Requests;

struct Carried<'a> {
    contents: &'a [u32],
    start: u64,
    end: u64,
    first_page: u64,
    page_bytes: u64,
    chunk_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Not,
    Content(u32),
    /// A part of the chunk, or all of it with an unknown content.
    Unknown,
}

impl Carried<'_> {
    #[inline]
    fn new<'a>(requests: &Requests<'a>, request: usize, page_bytes: u32) -> Carried<'a> {
        let contents = requests.contents(request);
        let (start, end) = requests.extent(request, page_bytes);
        let (page_bytes, chunk_bytes) = (u64::from(page_bytes), u64::from(requests.chunk_bytes));
        Carried { contents, start, end, first_page: start / page_bytes, page_bytes, chunk_bytes }
    }

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
            content => Touch::Content(content),
        }
    }
}

/// Distance in page operations of the prefetch of page contents.
const AHEAD: usize = 16;

/// A chunk that nothing has been found out about.
const UNSEEN: u32 = NO_CONTENT;
/// (Before the trace only:) a chunk that was written before its old content could be seen.
const OVERWRITTEN: u32 = u32::MAX - 1;

/// A chunk that was trimmed, or was a hole before the trace.
const TRIMMED: u32 = u32::MAX - 2;
/// The first id of an unnamed content. Ids of unnamed contents count downwards.
const NAMELESS: u32 = u32::MAX - 3;

/// The content of every chunk before the trace, if it is known to be a hole or is read before it is overwritten;
/// gathered window by window.
#[derive(Clone)]
pub(super) struct Before {
    page_bytes: u32,
    chunk_bytes: u32,
    slots: usize,
    chunks: Vec<u32>,
    wholes: Vec<Whole>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Unseen,
    Hole,
    Data,
}

impl Before {
    pub(super) fn new(page_bytes: u32, chunk_bytes: u32) -> Before {
        // Pages that are not made of whole chunks have no recorded contents.
        let slots = if page_bytes.is_multiple_of(chunk_bytes) { page_bytes / chunk_bytes } else { 0 };
        Before { page_bytes, chunk_bytes, slots: slots as usize, chunks: Vec::new(), wholes: Vec::new() }
    }

    /// Of so many pages that all hold data (`is_full`), of which nothing is known, or none.
    pub(super) fn of_all(page_bytes: u32, chunk_bytes: u32, pages: usize, is_full: bool) -> Before {
        let (chunk, whole) = if is_full { (UNSEEN, Whole::Data) } else { (TRIMMED, Whole::Hole) };
        let before = Before::new(page_bytes, chunk_bytes);
        Before { chunks: vec![chunk; pages * before.slots], wholes: vec![whole; pages], ..before }
    }

    /// Looks up which of the pages of some `requests`, which `columns` were cut from, are holes; comes before [`Before::add`].
    pub(super) fn look_up(&mut self, requests: &Requests<'_>, columns: &PageColumns, pages: usize) {
        if requests.holes.is_empty() {
            return;
        }
        self.wholes.resize(pages.max(self.wholes.len()), Whole::Unseen);
        self.chunks.resize(self.chunks.len().max(pages * self.slots), UNSEEN);
        let page_bytes = u64::from(self.page_bytes);
        for request in 0..columns.requests() {
            let (volume, first) = (requests.volume[request], requests.pages(request, self.page_bytes).start);
            for (at, &page) in (first..).zip(&columns.lpn[columns.page_ops_of(request)]) {
                let (page, start) = (page as usize, at * page_bytes);
                if self.wholes[page] != Whole::Unseen {
                    continue;
                }
                let is_hole = requests.holes.cover(volume, &(start..start + page_bytes));
                self.wholes[page] = if is_hole { Whole::Hole } else { Whole::Data };
                let chunks = &mut self.chunks[page * self.slots..(page + 1) * self.slots];
                for (chunk, start) in chunks.iter_mut().zip((start..).step_by(self.chunk_bytes as usize)) {
                    if requests.holes.cover(volume, &(start..start + u64::from(self.chunk_bytes))) {
                        *chunk = TRIMMED;
                    }
                }
            }
        }
    }

    #[inline]
    pub(super) fn is_hole(&self, page: usize) -> bool {
        self.wholes.get(page) == Some(&Whole::Hole)
    }

    pub(super) fn add(
        &mut self,
        requests: &Requests<'_>,
        columns: &PageColumns,
        part: Range<usize>,
        pages: usize,
    ) {
        let slots = self.slots;
        if pages * slots > self.chunks.len() {
            self.chunks.resize(pages * slots, UNSEEN);
        }
        for request in part {
            let (op, page_ops) = (columns.op[request], columns.page_ops_of(request));
            // As in following, most are these.
            if slots == 1 && columns.marks[request] & marks::PARTIAL == 0 {
                if let Some(&page) = columns.lpn.get(page_ops.start + AHEAD) {
                    prefetch(&self.chunks, page as usize);
                }
                for (nth, &page) in columns.lpn[page_ops].iter().enumerate() {
                    let chunk = &mut self.chunks[page as usize];
                    if *chunk == UNSEEN {
                        // `NO_CONTENT` doubles as `UNSEEN`.
                        let recorded = || requests.contents(request).get(nth).copied().unwrap_or(NO_CONTENT);
                        *chunk = if op == Op::Read { recorded() } else { OVERWRITTEN };
                    }
                }
                continue;
            }
            let carried = Carried::new(requests, request, self.page_bytes);
            for (nth, page_op) in page_ops.enumerate() {
                if op == Op::Trim && columns.is_partial(request, page_op) {
                    continue;
                }
                let first_chunk = columns.lpn[page_op] as usize * slots;
                for slot in 0..slots {
                    let chunk = &mut self.chunks[first_chunk + slot];
                    if *chunk != UNSEEN {
                        continue;
                    }
                    match (op, carried.touch(nth as u64, slot as u64)) {
                        (_, Touch::Not) | (Op::Read, Touch::Unknown) => {}
                        (Op::Read, Touch::Content(content)) => *chunk = content,
                        _ => *chunk = OVERWRITTEN,
                    }
                }
            }
        }
    }

    /// Merges the observations of a later window of the same pages; a chunk already known keeps its value.
    pub(super) fn followed_by(mut self, later: &Before) -> Before {
        for (chunk, &later) in self.chunks.iter_mut().zip(&later.chunks) {
            *chunk = if *chunk == UNSEEN { later } else { *chunk };
        }
        self
    }

    pub(super) fn renumbered(self, renumbered: &[u32]) -> Before {
        let mut chunks = vec![UNSEEN; self.chunks.len()];
        for (page, old) in self.chunks.chunks_exact(self.slots.max(1)).enumerate() {
            let first = renumbered[page] as usize * self.slots;
            chunks[first..first + self.slots].copy_from_slice(old);
        }
        let mut wholes = self.wholes.clone();
        for (&whole, &to) in self.wholes.iter().zip(renumbered) {
            wholes[to as usize] = whole;
        }
        Before { chunks, wholes, ..self }
    }

    fn is_known(&self, chunk: u32) -> bool {
        !matches!(self.chunks[chunk as usize], UNSEEN | OVERWRITTEN)
    }
}

/// The trace's own contents. See [`super::PageTrace`] for the rules.
#[derive(Clone)]
pub(super) struct Recorded {
    name: String,
    page_bytes: u32,
    slots: usize,
    /// Content of every chunk now: the trace's ids, [`TRIMMED`], or nameless ones; [`UNSEEN`] in a page never touched.
    now: Vec<u32>,
    initial: Vec<u32>,
    /// The trace's own ids met so far are below it.
    named: u32,
    next_nameless: u32,
    /// Chunks that were given a nameless content because nothing was known of them yet; kept while that may change.
    guessed: Option<Vec<u32>>,
    interned: Interned,
}

impl Recorded {
    pub(super) fn new(known: &TraceProperties<'_>) -> Recorded {
        let slots = (known.page_bytes / known.chunk_bytes) as usize;
        Recorded {
            name: known.name.to_owned(),
            page_bytes: known.page_bytes,
            slots,
            now: Vec::new(),
            initial: Vec::new(),
            named: 0,
            next_nameless: NAMELESS,
            guessed: known.first.is_none().then(Vec::new),
            interned: Interned::new(slots),
        }
    }

    pub(super) fn add(
        &mut self,
        requests: &Requests<'_>,
        columns: &mut PageColumns,
        pages: usize,
        before: &Before,
        quality: &mut PageQuality,
    ) -> Result<(), TraceError> {
        if pages > self.initial.len() {
            self.now.resize(pages * self.slots, UNSEEN);
            self.initial.resize(pages, NO_CONTENT);
        }
        let known = requests.all_contents().iter().filter(|&&id| id != NO_CONTENT);
        self.named = self.named.max(known.max().map_or(0, |&highest| highest + 1));
        if self.named > self.next_nameless {
            return Err(too_large(&self.name, "contents"));
        }
        let mut content = std::mem::take(&mut columns.content);
        let followed = self.follow(requests, columns, &mut content, before, quality);
        columns.content = content;
        followed
    }

    fn follow(
        &mut self,
        requests: &Requests<'_>,
        columns: &PageColumns,
        content: &mut Vec<u32>,
        before: &Before,
        quality: &mut PageQuality,
    ) -> Result<(), TraceError> {
        for request in 0..columns.requests() {
            let (op, partial, page_ops) =
                (columns.op[request], columns.marks[request] & marks::PARTIAL, columns.page_ops_of(request));
            if let Some(&page) = columns.lpn.get(page_ops.start + AHEAD) {
                prefetch(&self.now, page as usize * self.slots);
            }
            if let Some(&start) = requests.content_start.get(request)
                && let Some(&content) = requests.content.get(start as usize + AHEAD)
            {
                prefetch(&self.interned.single, content as usize);
            }
            if self.slots == 1 && partial == 0 {
                let mut recorded = requests.contents(request).iter();
                for &page in &columns.lpn[page_ops] {
                    let recorded = recorded.next().copied().unwrap_or(NO_CONTENT);
                    content.push(self.apply_to_chunk(page as usize, op, recorded, before, quality)?);
                }
                continue;
            }
            let carried = Carried::new(requests, request, self.page_bytes);
            for (nth, page_op) in page_ops.enumerate() {
                let partial = columns.is_partial(request, page_op);
                let page = columns.lpn[page_op] as usize;
                let touched = Touched { op, partial, nth: nth as u64, carried: &carried };
                content.push(self.apply(page, &touched, before, quality)?);
            }
        }
        Ok(())
    }

    pub(super) fn content_count(&self) -> u32 {
        self.interned.count
    }

    /// Whether no later read revealed a content that was guessed to be unknown.
    pub(super) fn was_right(&self, before: &Before) -> bool {
        self.guessed.iter().flatten().all(|&chunk| !before.is_known(chunk))
    }

    pub(super) fn into_initial(self) -> Vec<u32> {
        self.initial
    }

    /// The content of a page whose chunks are all `chunk`, if there was one.
    pub(super) fn page_of(&self, chunk: u32) -> Option<u32> {
        self.interned.known(&vec![chunk; self.slots])
    }

    fn nameless(&mut self) -> Result<u32, TraceError> {
        let id = self.next_nameless;
        if id <= self.named {
            return Err(too_large(&self.name, "contents"));
        }
        self.next_nameless -= 1;
        Ok(id)
    }

    /// Applies an operation on a whole page of one chunk with the recorded content; the content of the page operation.
    #[inline]
    fn apply_to_chunk(
        &mut self,
        page: usize,
        op: Op,
        recorded: u32,
        before: &Before,
        quality: &mut PageQuality,
    ) -> Result<u32, TraceError> {
        match op {
            Op::Write => self.now[page] = if recorded == NO_CONTENT { self.nameless()? } else { recorded },
            Op::Read => {
                if self.now[page] == UNSEEN {
                    self.recall(page, before)?;
                }
                let held = self.now[page];
                if held == TRIMMED {
                    quality.reads_of_holes += 1;
                    return Ok(NO_CONTENT);
                }
                if recorded != NO_CONTENT && recorded != held {
                    let named = self.is_named(held);
                    quality.read_mismatches += u64::from(named);
                    quality.unknown_content_reads += u64::from(!named);
                }
            }
            Op::Trim => {
                self.now[page] = TRIMMED;
                return Ok(NO_CONTENT);
            }
            Op::Flush => return Ok(NO_CONTENT),
        }
        Ok(self.interned.single_id(self.now[page]))
    }

    fn apply(
        &mut self,
        page: usize,
        touched: &Touched<'_>,
        before: &Before,
        quality: &mut PageQuality,
    ) -> Result<u32, TraceError> {
        let chunks = page * self.slots..(page + 1) * self.slots;
        let Touched { op, partial, nth, carried } = *touched;
        if op == Op::Trim {
            if !partial {
                self.now[chunks].fill(TRIMMED);
            }
            return Ok(NO_CONTENT);
        }
        if (op == Op::Read || partial) && self.now[chunks.start] == UNSEEN {
            self.recall(page, before)?;
        }
        if op == Op::Write {
            for slot in 0..self.slots {
                match carried.touch(nth, slot as u64) {
                    Touch::Not => {}
                    Touch::Content(content) => self.now[chunks.start + slot] = content,
                    Touch::Unknown => {
                        self.now[chunks.start + slot] = self.nameless()?;
                    }
                }
            }
        } else {
            if self.now[chunks.clone()].iter().all(|&c| c == TRIMMED) {
                quality.reads_of_holes += 1;
                return Ok(NO_CONTENT);
            }
            self.compare(touched, chunks.start, quality);
        }
        self.interned.id(&self.name, &self.now[chunks])
    }

    fn recall(&mut self, page: usize, before: &Before) -> Result<(), TraceError> {
        let chunks = page * self.slots..(page + 1) * self.slots;
        for chunk in chunks.clone() {
            let known = before.chunks[chunk];
            if let (UNSEEN, Some(guessed)) = (known, &mut self.guessed) {
                guessed.push(chunk as u32);
            }
            self.now[chunk] = match known {
                UNSEEN | OVERWRITTEN => self.nameless()?,
                content => content,
            };
        }
        if self.now[chunks.clone()].iter().any(|&chunk| chunk != TRIMMED) {
            self.initial[page] = self.interned.id(&self.name, &self.now[chunks])?;
        }
        Ok(())
    }

    fn compare(&self, touched: &Touched<'_>, first_chunk: usize, quality: &mut PageQuality) {
        let (mut differs, mut nameless) = (false, false);
        for slot in 0..self.slots {
            let held = self.now[first_chunk + slot];
            if let Touch::Content(recorded) = touched.carried.touch(touched.nth, slot as u64)
                && recorded != held
            {
                let named = self.is_named(held);
                differs |= named;
                nameless |= !named;
            }
        }
        quality.read_mismatches += u64::from(differs);
        quality.unknown_content_reads += u64::from(nameless && !differs);
    }

    fn is_named(&self, held: u32) -> bool {
        held <= self.next_nameless
    }
}

struct Touched<'a> {
    op: Op,
    partial: bool,
    nth: u64,
    carried: &'a Carried<'a>,
}

/// Page contents: tuples of chunk contents, numbered in order of first use.
#[derive(Clone)]
struct Interned {
    slots: usize,
    count: u32,
    /// Pages of one chunk: chunk content -> page content, of the trace's contents and of nameless ones.
    single: Vec<u32>,
    single_nameless: Vec<u32>,
    /// Pages of several chunks: the tuples, one behind another, and an index over them.
    tuples: Vec<u32>,
    index: HashTable<u32>,
}

impl Interned {
    fn new(slots: usize) -> Interned {
        Interned {
            slots,
            count: 0,
            single: Vec::new(),
            single_nameless: Vec::new(),
            tuples: Vec::new(),
            index: HashTable::new(),
        }
    }

    #[inline]
    fn id(&mut self, name: &str, chunks: &[u32]) -> Result<u32, TraceError> {
        if let [chunk] = *chunks {
            return Ok(self.single_id(chunk));
        }
        let slots = self.slots;
        let tuples = &self.tuples;
        let tuple = |id: u32| &tuples[id as usize * slots..(id as usize + 1) * slots];
        let entry = self.index.entry(hash(chunks), |&id| tuple(id) == chunks, |&id| hash(tuple(id)));
        match entry {
            Entry::Occupied(entry) => Ok(*entry.get()),
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

    fn known(&self, chunks: &[u32]) -> Option<u32> {
        if let [chunk] = *chunks {
            return self.single.get(chunk as usize).copied().filter(|&id| id != NO_CONTENT);
        }
        let tuple = |&id: &u32| self.tuples.chunks_exact(self.slots).nth(id as usize) == Some(chunks);
        self.index.find(hash(chunks), tuple).copied()
    }

    #[inline]
    fn single_id(&mut self, chunk: u32) -> u32 {
        // Nameless contents are few and numbered downwards; a trace's own are below half of all numbers.
        let (ids, at) = if chunk < NAMELESS / 2 {
            (&mut self.single, chunk as usize)
        } else {
            (&mut self.single_nameless, (NAMELESS - chunk) as usize)
        };
        if at >= ids.len() {
            ids.resize(at + 1, NO_CONTENT);
        }
        let id = &mut ids[at];
        if *id == NO_CONTENT {
            *id = self.count;
            self.count += 1;
        }
        *id
    }
}

/// Mixes a tuple of ids into 64 bits (multiply and fold; ids are small and not hostile).
fn hash(chunks: &[u32]) -> u64 {
    chunks.iter().fold(0x9e37_79b9_7f4a_7c15, |state: u64, &id| {
        let wide = u128::from(state ^ u64::from(id)) * 0xa076_1d64_78bd_642f;
        (wide as u64) ^ ((wide >> 64) as u64)
    })
}
