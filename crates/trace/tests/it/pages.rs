//! `PageTrace` against a reference that is too simple to be wrong: hash maps over (volume, chunk).

use std::collections::{BTreeSet, HashMap};

use crate::common::Random;
use flashtwin_trace::{
    ContentSource, FirstAccess, NO_CONTENT, Op, PageQuality, PageTrace, Request, Trace, TraceBuilder,
};

const CHUNK: u64 = 4096;

type Page = (u32, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Value {
    Recorded(u32),
    Nameless(u32),
    Trimmed,
}

#[derive(Clone)]
struct Operation {
    request: usize,
    op: Op,
    page: Page,
    partial: bool,
}

struct Reference<'a> {
    trace: &'a Trace,
    page_bytes: u64,
    operations: Vec<Operation>,
    now: HashMap<Page, Vec<Value>>,
    nameless: u32,
    ids: HashMap<Vec<Value>, u32>,
    content: Vec<u32>,
    initial: HashMap<Page, u32>,
    quality: PageQuality,
}

impl<'a> Reference<'a> {
    fn new(trace: &'a Trace, page_bytes: u64) -> Reference<'a> {
        let mut reference = Reference {
            trace,
            page_bytes,
            operations: Vec::new(),
            now: HashMap::new(),
            nameless: 0,
            ids: HashMap::new(),
            content: Vec::new(),
            initial: HashMap::new(),
            quality: PageQuality::default(),
        };
        for index in 0..trace.len() {
            let request = trace.request(index);
            let (start, end) = reference.extent(index);
            if start != request.offset_bytes {
                reference.quality.unaligned_content_requests += 1;
            }
            for page in start / page_bytes..end.div_ceil(page_bytes) {
                let whole = start <= page * page_bytes && (page + 1) * page_bytes <= end;
                match request.op {
                    Op::Write if !whole => reference.quality.partial_writes += 1,
                    Op::Trim if !whole => reference.quality.partial_trims += 1,
                    _ => {}
                }
                reference.operations.push(Operation {
                    request: index,
                    op: request.op,
                    page: (request.volume, page),
                    partial: !whole,
                });
            }
        }
        reference
    }

    fn extent(&self, index: usize) -> (u64, u64) {
        let request = self.trace.request(index);
        let mut start = request.offset_bytes;
        if !self.trace.contents(index).is_empty() {
            start -= start % CHUNK;
        }
        (start, start + u64::from(request.length_bytes))
    }

    /// The effect of `operation` on the chunk in `slot`: none, a write of the whole chunk, or another.
    fn touch(&self, operation: &Operation, slot: u64) -> Option<Option<u32>> {
        let chunk = operation.page.1 * self.page_bytes + slot * CHUNK;
        let (start, end) = self.extent(operation.request);
        if chunk >= end || chunk + CHUNK <= start {
            return None;
        }
        let whole = start <= chunk && chunk + CHUNK <= end;
        let contents = self.trace.contents(operation.request);
        let known = whole && !contents.is_empty();
        Some(
            known
                .then(|| contents[((chunk - start) / CHUNK) as usize])
                .filter(|&content| content != NO_CONTENT),
        )
    }

    fn slots(&self) -> u64 {
        self.page_bytes / CHUNK
    }

    /// Whether each of these bytes of a volume lies in one of the trace's holes, by a look at every sector.
    fn is_hole(&self, volume: u32, start: u64, bytes: u64) -> bool {
        let holds =
            |sector: u64| self.trace.holes.iter().any(|(of, hole)| of == volume && hole.contains(&sector));
        (start..start + bytes).step_by(512).all(holds)
    }

    /// The first operation that does something to a page: its kind, and whether it is on a part of it.
    fn first(&self, page: Page) -> Option<(Op, bool)> {
        let mut operations = self.operations.iter().filter(|o| o.page == page);
        operations.find(|o| o.op != Op::Trim || !o.partial).map(|o| (o.op, o.partial))
    }

    fn first_access(&self, page: Page) -> FirstAccess {
        let hole = self.is_hole(page.0, page.1 * self.page_bytes, self.page_bytes);
        let written = self.operations.iter().any(|o| o.page == page && o.op == Op::Write);
        match self.first(page) {
            Some((Op::Write, partial)) if partial && !hole => FirstAccess::PartialWrite,
            Some((Op::Write, _)) => FirstAccess::Write,
            Some((Op::Read, _)) if !hole => FirstAccess::Read,
            Some((Op::Read, _)) if written => FirstAccess::Hole,
            Some((Op::Trim, _)) if written => FirstAccess::Trim,
            _ => FirstAccess::Never,
        }
    }

    /// Content of a chunk before the trace, if it is a hole or a read shows it before a write changes it.
    fn before(&self, page: Page, slot: u64) -> Option<Value> {
        if self.is_hole(page.0, page.1 * self.page_bytes + slot * CHUNK, CHUNK) {
            return Some(Value::Trimmed);
        }
        for operation in self.operations.iter().filter(|o| o.page == page) {
            match (operation.op, self.touch(operation, slot)) {
                (Op::Read, Some(Some(content))) => return Some(Value::Recorded(content)),
                (Op::Write, Some(_)) => return None,
                (Op::Trim, _) if !operation.partial => return None,
                _ => {}
            }
        }
        None
    }

    fn fresh(&mut self) -> Value {
        self.nameless += 1;
        Value::Nameless(self.nameless)
    }

    fn id(&mut self, page: &[Value]) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(page.to_vec()).or_insert(next)
    }

    fn follow_recorded(&mut self) {
        for operation in self.operations.clone() {
            let page = operation.page;
            let slots = self.slots();
            if operation.op == Op::Trim {
                if !operation.partial {
                    self.now.insert(page, vec![Value::Trimmed; slots as usize]);
                }
                self.content.push(NO_CONTENT);
                continue;
            }
            if !self.now.contains_key(&page) {
                let mut chunks = Vec::new();
                let overwritten = self.first(page) == Some((Op::Write, false));
                for slot in 0..slots {
                    chunks.push(match self.before(page, slot) {
                        _ if overwritten => Value::Trimmed,
                        Some(value) => value,
                        None => self.fresh(),
                    });
                }
                if chunks.iter().any(|&chunk| chunk != Value::Trimmed) {
                    let id = self.id(&chunks);
                    self.initial.insert(page, id);
                }
                self.now.insert(page, chunks);
            }
            let mut chunks = self.now[&page].clone();
            if operation.op == Op::Read {
                self.note_read(&operation, &chunks);
            } else {
                for slot in 0..slots {
                    match self.touch(&operation, slot) {
                        None => {}
                        Some(Some(content)) => chunks[slot as usize] = Value::Recorded(content),
                        Some(None) => chunks[slot as usize] = self.fresh(),
                    }
                }
                self.now.insert(page, chunks.clone());
            }
            let trimmed = chunks.iter().all(|&chunk| chunk == Value::Trimmed);
            let content = if trimmed { NO_CONTENT } else { self.id(&chunks) };
            self.content.push(content);
        }
    }

    fn note_read(&mut self, operation: &Operation, chunks: &[Value]) {
        if chunks.iter().all(|&chunk| chunk == Value::Trimmed) {
            self.quality.reads_of_holes += 1;
            return;
        }
        let found: Vec<(Value, u32)> = (0..self.slots())
            .filter_map(|slot| Some((chunks[slot as usize], self.touch(operation, slot)??)))
            .collect();
        let known_differs = |&(held, found): &(Value, u32)| matches!(held, Value::Recorded(c) if c != found);
        let is_unknown = |&(held, _): &(Value, u32)| !matches!(held, Value::Recorded(_));
        if found.iter().any(known_differs) {
            self.quality.read_mismatches += 1;
        } else if found.iter().any(is_unknown) {
            self.quality.unknown_content_reads += 1;
        }
    }

    fn follow_unique(&mut self) {
        let mut next = 0;
        self.follow_made(|_| {
            next += 1;
            next - 1
        });
    }

    fn follow_address(&mut self) {
        let mut numbers: HashMap<Page, u32> = HashMap::new();
        self.follow_made(|page| {
            let next = numbers.len() as u32;
            *numbers.entry(page).or_insert(next)
        });
    }

    fn follow_made(&mut self, mut make: impl FnMut(Page) -> u32) {
        let mut now: HashMap<Page, u32> = HashMap::new();
        for operation in &self.operations {
            let page = operation.page;
            if operation.op == Op::Trim {
                if !operation.partial {
                    now.insert(page, NO_CONTENT);
                }
                self.content.push(NO_CONTENT);
                continue;
            }
            if !now.contains_key(&page) && self.first(page) != Some((Op::Write, false)) {
                let hole = self.is_hole(page.0, page.1 * self.page_bytes, self.page_bytes);
                let id = if hole { NO_CONTENT } else { make(page) };
                now.insert(page, id);
                self.initial.insert(page, id);
            }
            if operation.op == Op::Write {
                now.insert(page, make(page));
            } else if now[&page] == NO_CONTENT {
                self.quality.reads_of_holes += 1;
            }
            self.content.push(now[&page]);
        }
    }
}

fn compare(trace: &Trace, page_bytes: u32, source: ContentSource) {
    let mut reference = Reference::new(trace, u64::from(page_bytes));
    match source {
        ContentSource::Recorded => reference.follow_recorded(),
        ContentSource::Unique => reference.follow_unique(),
        ContentSource::SameAsAddress => reference.follow_address(),
        ContentSource::Zipf { .. } => unreachable!("what is drawn has tests of its own"),
        ContentSource::None => reference.content = vec![NO_CONTENT; reference.operations.len()],
    }
    let pages = PageTrace::build(trace, page_bytes, source).unwrap();

    // Addresses: volumes one behind another, pages in order.
    let touched: BTreeSet<Page> = reference.operations.iter().map(|o| o.page).collect();
    let mut base: HashMap<u32, u64> = HashMap::new();
    let mut next = 0;
    for volume in 0..trace.volume_names.len() as u32 {
        base.insert(volume, next);
        let last = touched.iter().filter(|p| p.0 == volume).map(|p| p.1).max();
        next += last.map_or(0, |last| last + 1);
    }
    let addresses: Vec<u64> = touched.iter().map(|p| base[&p.0] + p.1).collect();
    assert_eq!(pages.outline.lpn_address, addresses);
    let lpn: HashMap<Page, u32> = touched.iter().copied().zip(0..).collect();

    assert_eq!(pages.columns.page_ops(), reference.operations.len());
    assert_eq!(pages.columns.requests(), trace.len());
    for (page_op, operation) in reference.operations.iter().enumerate() {
        assert!(pages.columns.page_ops_of(operation.request).contains(&page_op));
        assert_eq!(pages.columns.op[operation.request], operation.op);
        assert_eq!(pages.columns.lpn[page_op], lpn[&operation.page]);
        assert_eq!(pages.columns.is_partial(operation.request, page_op), operation.partial);
    }
    assert_eq!(pages.columns.content, reference.content);
    let held = lpn.keys().filter(|&&page| reference.first_access(page) != FirstAccess::Never).count();
    assert_eq!((pages.outline.pages(), pages.outline.footprint_pages()), (lpn.len() as u32, held as u32));
    for (page, &dense) in &lpn {
        let first = reference.first_access(*page);
        assert_eq!(pages.outline.first_access[dense as usize], first);
        let expected = reference.initial.get(page).copied().unwrap_or(NO_CONTENT);
        assert_eq!(pages.outline.initial_content[dense as usize], expected);
        if source != ContentSource::None {
            assert_eq!(pages.outline.existed_before(dense), expected != NO_CONTENT);
        }
    }
    let known = |id: &&u32| **id != NO_CONTENT;
    let contents: BTreeSet<u32> =
        pages.columns.content.iter().chain(&pages.outline.initial_content).filter(known).copied().collect();
    assert_eq!(contents.len(), pages.outline.content_count as usize);
    assert_eq!(contents.last().map_or(0, |last| last + 1), pages.outline.content_count);
    assert_eq!(pages.outline.quality, reference.quality);
    assert_eq!(pages.outline.digest, trace.digest());
}

/// A small trace with everything in it that can go together.
fn random_trace(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new("random");
    let volumes = 1 + random.below(3) as u32;
    let space = 4 + random.below(60);
    let (with_content, aligned) = (!random.one_in(5), random.one_in(3));
    let alphabet = 1 + random.below(12);
    for _ in 0..[0, 0, 1, 4][random.below(4) as usize] {
        let grid = if random.one_in(3) { 512 } else { 4096 };
        let start = random.below(space) * 4096 / grid * grid;
        let volume = random.below(u64::from(volumes)) as u32 * 3;
        builder.hole(volume, start..start + (1 + random.below(20)) * grid);
    }
    for number in 0..1 + random.below(50) {
        let op = match random.below(10) {
            0 => Op::Trim,
            1 => Op::Flush,
            2..=4 => Op::Read,
            _ => Op::Write,
        };
        let grid = if aligned || random.one_in(2) { 4096 } else { 512 };
        let length = (1 + random.below(10)) * grid;
        let offset = random.below(space * 4096 / grid) * grid;
        let mut contents: Vec<u32> = Vec::new();
        if with_content && op != Op::Trim && !random.one_in(6) {
            for _ in 0..length.div_ceil(4096) {
                let unknown = random.one_in(15);
                let content = random.below(alphabet) as u32 * 7;
                contents.push(if unknown { NO_CONTENT } else { content });
            }
        }
        let (time_ns, volume) = (1000 + (number / 2) as i64, random.below(u64::from(volumes)) as u32 * 3);
        if op == Op::Flush {
            let flush = Request { time_ns, volume, op, offset_bytes: 0, length_bytes: 0 };
            builder.push(flush, &[]);
            continue;
        }
        let request = Request { time_ns, volume, op, offset_bytes: offset, length_bytes: length as u32 };
        builder.push(request, &contents);
    }
    builder.build().unwrap()
}

#[test]
fn agrees_with_the_reference_on_random_traces() {
    for seed in 0..3000 {
        let trace = random_trace(seed);
        for page_bytes in [4096, 8192, 16384] {
            if trace.has_content() {
                compare(&trace, page_bytes, ContentSource::Recorded);
            }
            compare(&trace, page_bytes, ContentSource::Unique);
            compare(&trace, page_bytes, ContentSource::None);
            compare(&trace, page_bytes, ContentSource::SameAsAddress);
        }
    }
}

fn build(builder: &TraceBuilder, page_bytes: u32) -> PageTrace {
    PageTrace::build(&builder.build().unwrap(), page_bytes, ContentSource::Recorded).unwrap()
}

#[test]
fn a_large_page_is_the_tuple_of_its_chunks() {
    let mut builder = TraceBuilder::new("tuples");
    builder.request(0, Op::Write, 0, 16384, &[1, 2, 3, 4]);
    builder.request(1, Op::Write, 16384, 16384, &[1, 2, 3, 4]);
    builder.request(2, Op::Write, 4096, 4096, &[9]);
    builder.request(3, Op::Write, 4096, 4096, &[2]);
    builder.request(4, Op::Read, 40960, 4096, &[7]);
    let pages = build(&builder, 16384);
    assert_eq!(pages.columns.content, [0, 0, 1, 0, 2]);
    assert_eq!(pages.columns.marks, [0, 0, 3, 3, 3]);
    assert_eq!(pages.outline.initial_content, [NO_CONTENT, NO_CONTENT, 2]);
    assert_eq!(pages.outline.first_access[2], FirstAccess::Read);
}

#[test]
fn a_hole_holds_nothing_until_it_is_written() {
    let mut builder = TraceBuilder::new("holes");
    builder.hole(0, 0..5 * 4096);
    builder.request(0, Op::Read, 0, 4096, &[7]); // a page that is never written
    builder.request(1, Op::Read, 4096, 4096, &[7]).request(2, Op::Write, 4096, 4096, &[7]); // and is data then
    builder.request(3, Op::Write, 8192, 512, &[]); // a part
    builder.request(4, Op::Trim, 12288, 4096, &[]); // nothing to trim
    builder.request(5, Op::Read, 5 * 4096, 4096, &[7]); // no hole
    let pages = build(&builder, 4096);
    let first =
        [FirstAccess::Never, FirstAccess::Hole, FirstAccess::Write, FirstAccess::Never, FirstAccess::Read];
    assert_eq!(pages.outline.first_access, first);
    assert_eq!((pages.outline.pages(), pages.outline.footprint_pages()), (5, 3));
    assert_eq!(pages.columns.content, [NO_CONTENT, NO_CONTENT, 0, 1, NO_CONTENT, 0]);
    assert_eq!(pages.outline.initial_content, [NO_CONTENT, NO_CONTENT, NO_CONTENT, NO_CONTENT, 0]);
    assert_eq!(pages.outline.quality.reads_of_holes, 2);
    // Pages that were holes are equal where their writes are.
    let mut builder = TraceBuilder::new("large pages");
    builder.hole(0, 0..65536);
    builder.request(0, Op::Write, 0, 4096, &[3]).request(1, Op::Write, 16384, 4096, &[3]);
    builder.request(2, Op::Read, 4096, 4096, &[9]);
    let pages = build(&builder, 16384);
    assert_eq!((pages.columns.content, pages.outline.content_count), (vec![0, 0, 0], 1));
}

#[test]
fn refuses_what_makes_no_sense() {
    let mut builder = TraceBuilder::new("bare");
    builder.request(0, Op::Write, 0, 4096, &[]);
    let trace = builder.build().unwrap();
    let error = PageTrace::build(&trace, 4096, ContentSource::Recorded).unwrap_err();
    assert!(error.to_string().contains("--content unique"), "{error}");
    let error = PageTrace::build(&trace, 1000, ContentSource::None).unwrap_err();
    assert!(error.to_string().contains("multiple of 512"), "{error}");
    builder.request(1, Op::Write, 0, 4096, &[1]);
    let trace = builder.build().unwrap();
    let error = PageTrace::build(&trace, 2048, ContentSource::Recorded).unwrap_err();
    assert!(error.to_string().contains("multiple of 4096"), "{error}");
    PageTrace::build(&trace, 2048, ContentSource::None).unwrap();
}

fn zipf(text: &str) -> ContentSource {
    text.parse().unwrap()
}

#[test]
fn drawn_contents_stay_where_they_were_written() {
    for seed in 0..1000 {
        let trace = random_trace(seed);
        let source = zipf(["zipf(0,3)", "zipf(0.8,20)", "zipf(1,3000)", "zipf(2,1)"][seed as usize % 4]);
        let pages = PageTrace::build(&trace, 4096, source).unwrap();
        let unique = PageTrace::build(&trace, 4096, ContentSource::Unique).unwrap();
        let known = |contents: &[u32]| -> Vec<bool> { contents.iter().map(|&id| id != NO_CONTENT).collect() };
        assert_eq!(known(&pages.columns.content), known(&unique.columns.content));
        assert_eq!(known(&pages.outline.initial_content), known(&unique.outline.initial_content));
        assert_eq!(pages.outline.quality, unique.outline.quality);
        // A page's content changes only by a write: one unique content has one drawn one.
        let mut drawn: HashMap<u32, u32> = HashMap::new();
        let both = unique.columns.content.iter().zip(&pages.columns.content);
        for (&unique, &content) in
            both.chain(unique.outline.initial_content.iter().zip(&pages.outline.initial_content))
        {
            assert_eq!(*drawn.entry(unique).or_insert(content), content);
        }
        let contents: BTreeSet<u32> = drawn.values().filter(|&&id| id != NO_CONTENT).copied().collect();
        assert_eq!(contents.len(), pages.outline.content_count as usize);
        assert_eq!(contents.last().map_or(0, |last| last + 1), pages.outline.content_count);
        assert_eq!(pages, PageTrace::build(&trace, 4096, source).unwrap());
    }
}

/// Times that each value was written or held before, the most frequent first.
fn frequencies(contents: impl Iterator<Item = u32>) -> Vec<f64> {
    let mut counts: HashMap<u32, f64> = HashMap::new();
    contents.filter(|&id| id != NO_CONTENT).for_each(|id| *counts.entry(id).or_default() += 1.0);
    let mut counts: Vec<f64> = counts.into_values().collect();
    counts.sort_by(|a, b| b.total_cmp(a));
    counts
}

#[test]
fn writes_and_pages_before_the_trace_follow_the_formula() {
    const PAGES: u64 = 200_000;
    let mut builder = TraceBuilder::new("large");
    // Half of the pages are read first and held something before, all are written.
    for page in 0..PAGES / 2 {
        builder.request(page as i64, Op::Read, page * 4096, 4096, &[]);
    }
    for page in 0..PAGES {
        builder.request((PAGES + page) as i64, Op::Write, page * 4096, 4096, &[]);
    }
    let trace = builder.build().unwrap();
    for (text, exponent) in [("zipf(0,50)", 0.0), ("zipf(0.8,50)", 0.8), ("zipf(1,50,7)", 1.0)] {
        let pages = PageTrace::build(&trace, 4096, zipf(text)).unwrap();
        assert_eq!(pages.outline.content_count, 50);
        let weights: Vec<f64> = (1..=50).map(|i| f64::from(i).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        let written = &pages.columns.content[PAGES as usize / 2..];
        for (counts, draws) in [
            (frequencies(written.iter().copied()), PAGES as f64),
            (frequencies(pages.outline.initial_content.iter().copied()), PAGES as f64 / 2.0),
        ] {
            let square: f64 = counts
                .iter()
                .zip(&weights)
                .map(|(count, weight)| (count - weight / sum * draws).powi(2) / (weight / sum * draws))
                .sum();
            // Chi-square of 49 degrees of freedom exceeds 85.35 once in a thousand seeds.
            assert!(square < 85.35, "{text}: {square}");
        }
    }
}

#[test]
fn seeds_make_other_draws_and_reads_do_not() {
    let mut with_reads = TraceBuilder::new("with");
    let mut without = TraceBuilder::new("without");
    for number in 0..5000u64 {
        let offset = number % 700 * 4096;
        with_reads.request(number as i64, Op::Read, offset, 4096, &[]);
        for builder in [&mut with_reads, &mut without] {
            builder.request(number as i64, Op::Write, offset, 4096, &[]);
        }
    }
    let written = |builder: &TraceBuilder, text: &str| -> Vec<usize> {
        let pages = PageTrace::build(&builder.build().unwrap(), 4096, zipf(text)).unwrap();
        let writes = (0..pages.columns.requests()).filter(|&request| pages.columns.op[request] == Op::Write);
        let contents: Vec<u32> = writes.map(|request| pages.columns.content[request]).collect();
        let mut first: HashMap<u32, usize> = HashMap::new();
        contents.iter().enumerate().map(|(number, id)| *first.entry(*id).or_insert(number)).collect()
    };
    assert_eq!(written(&with_reads, "zipf(1,900)"), written(&without, "zipf(1,900)"));
    assert_eq!(written(&without, "zipf(1,900)"), written(&without, "zipf(1,900,1)"));
    assert_ne!(written(&without, "zipf(1,900)"), written(&without, "zipf(1,900,2)"));
}
