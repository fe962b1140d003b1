//! Where requests come from: a trace in memory, or a file that is read again for each pass.

use std::borrow::Cow;

use flashtwin_trace::{
    Format, Op, OpenOptions, Progress, Quality, ReadAs, Requests, Source, Trace, TraceError, TraceStream,
};
use rayon::prelude::*;

/// Requests handled together, by one metric after the other, while they are in the cache.
const RUN_REQUESTS: usize = 1 << 16;
/// ... and the bytes they address, so that few long requests do not take long until anybody can stop it.
const RUN_BYTES: u64 = 1 << 31;

#[derive(Clone, Debug, PartialEq)]
pub struct About {
    pub name: String,
    pub read_as: ReadAs,
    pub digest: String,
    pub quality: Quality,
    pub requests: u64,
    /// By kind.
    pub asked: [Asked; Op::COUNT],
    pub has_content: bool,
    /// Whether one of its contents is known to be zeroes.
    pub knows_zeroes: bool,
    /// Bytes that are known to hold nothing when it begins.
    pub hole_bytes: u64,
    /// By their numbers.
    pub volume_names: Vec<String>,
    pub duration_ns: i64,
    /// 512, or 4,096 when every request begins and ends on a multiple of it (SWC paper, sections 3.1 and 4).
    pub sector_bytes: u32,
}

/// Of the requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub requests: u64,
    /// Counted as often as they are addressed.
    pub bytes: u64,
}

/// A metric in the making: it is shown a trace run by run, in order, and finished by its own method.
pub(crate) trait Accumulator: Send {
    fn add(&mut self, requests: &Requests<'_>);
}

/// A trace that can be gone through from its beginning, as often as needed.
pub trait Input {
    fn about(&self) -> &About;

    /// Whether a pass costs no reading, so that many small ones are better than one large one.
    fn is_in_memory(&self) -> bool;

    /// Shows all requests to `visit` in order. Fails if the file cannot be read again or `progress` says to stop.
    fn pass(
        &mut self,
        progress: &dyn Progress,
        visit: &mut dyn FnMut(&Requests<'_>),
    ) -> Result<(), TraceError>;
}

/// Shows all requests to all accumulators, which work side by side on each run.
pub(crate) fn pass(
    input: &mut (dyn Input + Send),
    progress: &dyn Progress,
    accumulators: &mut [&mut dyn Accumulator],
) -> Result<(), TraceError> {
    input.pass(progress, &mut |requests| {
        accumulators.par_iter_mut().for_each(|accumulator| accumulator.add(requests));
    })
}

pub(crate) fn whole<A: Accumulator>(mut accumulator: A, trace: &Trace) -> A {
    for requests in runs(trace) {
        accumulator.add(&requests);
    }
    accumulator
}

fn runs(trace: &Trace) -> impl Iterator<Item = Requests<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (mut end, mut bytes) = (start, 0);
        while end < trace.len() && end - start < RUN_REQUESTS && bytes < RUN_BYTES {
            bytes += u64::from(trace.length_bytes[end]);
            end += 1;
        }
        let run = (start < end).then(|| trace.requests(start..end));
        start = end;
        run
    })
}

#[derive(Clone, Copy, Debug, Default)]
struct Gathered {
    offsets_and_lengths: u64,
    asked: [Asked; Op::COUNT],
    has_content: bool,
}

impl Gathered {
    fn add(&mut self, requests: &Requests<'_>) {
        let offsets = requests.offset_bytes.iter().fold(0, |bits, &offset| bits | offset);
        let lengths = requests.length_bytes.iter().fold(0, |bits, &length| bits | length);
        self.offsets_and_lengths |= offsets | u64::from(lengths);
        for (&op, &length) in requests.op.iter().zip(requests.length_bytes) {
            let asked = &mut self.asked[op as usize];
            asked.requests += 1;
            asked.bytes = asked.bytes.saturating_add(length.into());
        }
        self.has_content |= matches!(requests.content_start, [first, .., last] if first < last);
    }

    fn sector_bytes(&self) -> u32 {
        if self.offsets_and_lengths.is_multiple_of(4096) { 4096 } else { 512 }
    }
}

pub struct InMemory<'a> {
    trace: Cow<'a, Trace>,
    about: About,
}

impl<'a> InMemory<'a> {
    pub fn new(trace: &'a Trace) -> InMemory<'a> {
        InMemory::of(Cow::Borrowed(trace))
    }

    /// Of a trace that is kept only here.
    pub fn owned(trace: Trace) -> InMemory<'static> {
        InMemory::of(Cow::Owned(trace))
    }

    fn of(trace: Cow<'_, Trace>) -> InMemory<'_> {
        let mut gathered = Gathered::default();
        gathered.add(&trace.requests(0..trace.len()));
        let about = About {
            name: trace.name.clone(),
            read_as: trace.read_as(),
            digest: trace.digest(),
            quality: trace.quality.clone(),
            requests: trace.len() as u64,
            asked: gathered.asked,
            has_content: gathered.has_content,
            knows_zeroes: trace.zero_content.is_some(),
            hole_bytes: trace.holes.bytes(),
            volume_names: trace.volume_names.clone(),
            duration_ns: trace.duration_ns(),
            sector_bytes: gathered.sector_bytes(),
        };
        InMemory { trace, about }
    }
}

impl Input for InMemory<'_> {
    fn about(&self) -> &About {
        &self.about
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn pass(
        &mut self,
        progress: &dyn Progress,
        visit: &mut dyn FnMut(&Requests<'_>),
    ) -> Result<(), TraceError> {
        let mut done = 0;
        for requests in runs(&self.trace) {
            if progress.cancelled() {
                return Err(TraceError::cancelled(&self.trace.name));
            }
            visit(&requests);
            done += requests.len() as u64;
            progress.update(done, self.about.requests);
        }
        Ok(())
    }
}

/// Its memory does not grow with the trace's length, because each pass reads it again.
pub struct Streamed {
    source: Source,
    options: OpenOptions,
    about: About,
}

impl Streamed {
    /// Reads the trace once, to find out its properties.
    pub fn open(
        source: Source,
        options: OpenOptions,
        progress: &dyn Progress,
    ) -> Result<Streamed, TraceError> {
        let mut stream = TraceStream::open(&source, &options, progress)?;
        let mut gathered = Gathered::default();
        let mut duration_ns = 0;
        while let Some(batch) = stream.next(progress)? {
            gathered.add(&batch.requests(0..batch.len()));
            duration_ns = batch.duration_ns();
        }
        let about = About {
            name: stream.name().to_owned(),
            read_as: stream.read_as(),
            digest: stream.digest(),
            quality: stream.quality().clone(),
            requests: stream.requests(),
            asked: gathered.asked,
            has_content: gathered.has_content,
            knows_zeroes: stream.zero_content().is_some(),
            hole_bytes: stream.holes().bytes(),
            volume_names: stream.volume_names().to_vec(),
            duration_ns,
            sector_bytes: gathered.sector_bytes(),
        };
        Ok(Streamed { source, options, about })
    }

    /// As what the results name it, where the file is only a copy.
    pub fn named(mut self, name: &str, format: Format) -> Streamed {
        (self.about.name, self.about.read_as) = (name.to_owned(), ReadAs::new(format, Some(1), &[]));
        self
    }
}

impl Input for Streamed {
    fn about(&self) -> &About {
        &self.about
    }

    fn is_in_memory(&self) -> bool {
        false
    }

    fn pass(
        &mut self,
        progress: &dyn Progress,
        visit: &mut dyn FnMut(&Requests<'_>),
    ) -> Result<(), TraceError> {
        let mut stream = TraceStream::open(&self.source, &self.options, progress)?;
        while let Some(batch) = stream.next(progress)? {
            for requests in runs(&batch) {
                if progress.cancelled() {
                    return Err(TraceError::cancelled(&self.about.name));
                }
                visit(&requests);
            }
        }
        Ok(())
    }
}
