//! A simulated drive on an external clock: the caller hands in requests, and the drive reports their completions.
//!
//! A replay of the same requests at the same times gives the same results.

use flashtwin_bits::{By, memory_limits};
use flashtwin_ftl::{Content, Ftl, Mapping};
use flashtwin_nand::{Chip, FlashArray};
use flashtwin_trace::{ContentSource, FirstAccess, Op, Outline, PageQuality, Window, marks};

use crate::config::{Mirror, PartialWrite};
use crate::engine::{Arrivals, Engine};
use crate::error::{ConfigError, SimError};
use crate::memory;
use crate::metrics::{Metrics, Receivers};
use crate::periods::{Periods, finish};
use crate::preload::load;
use crate::resolve::Resolved;
use crate::result::RunResult;
use crate::run::MOST_PERIODS;
use crate::totals::Totals;

/// A request, as pages.
#[derive(Debug, Clone, Copy)]
pub struct SteppedRequest<'a> {
    /// Read, write, trim or flush, which has no pages.
    pub op: Op,
    /// Bytes that it asks for.
    pub bytes: u64,
    /// The logical pages that the request touches.
    pub lpns: &'a [u32],
    /// The content of each of these pages after the request; [`flashtwin_trace::NO_CONTENT`] if the
    /// system ignores contents.
    pub contents: &'a [u32],
    /// Whether it covers only a part of its first page.
    pub first_is_partial: bool,
    /// Whether it covers only a part of its last page.
    pub last_is_partial: bool,
    /// Whether it is to be on flash before it is answered (forced unit access).
    pub durable: bool,
}

/// A trace that has no requests yet.
pub(crate) fn outline(name: &str, page_bytes: u32, pages: u32, contents: u32) -> Outline {
    Outline {
        name: name.into(),
        digest: String::new(),
        read_as: String::new(),
        page_bytes,
        requests: 0,
        page_ops: 0,
        bytes: [0; Op::COUNT],
        duration_ns: 0,
        lpn_address: (0..u64::from(pages)).collect(),
        volumes: Vec::new(),
        content_count: contents,
        zero_content: None,
        initial_content: Vec::new(),
        first_access: vec![FirstAccess::Write; pages as usize],
        content_source: if contents > 0 { ContentSource::Recorded } else { ContentSource::None },
        quality: PageQuality::default(),
    }
}

/// A drive and its clock. Times are nanoseconds since it was made, and never run backwards.
pub struct SteppedDrive {
    engine: Engine<Ftl, Metrics>,
    resolved: Resolved,
    /// The trace of the requests so far.
    outline: Outline,
    periods: Periods,
    read_modify_write: bool,
    /// Requests that have arrived may still wait for the controller's own time.
    clock_ns: u64,
}

impl SteppedDrive {
    /// A drive of `pages` logical pages with their first contents; content ids are below
    /// `contents`.
    ///
    /// # Errors
    /// [`SimError`]: an impossible drive, or more data than its capacity.
    pub fn new(
        resolved: Resolved,
        name: &str,
        logical_pages: u32,
        contents: u32,
        held: impl Iterator<Item = (u32, u32)>,
    ) -> Result<Self, SimError> {
        let config = &resolved.config;
        if config.ftl.mapping_cache.is_on() {
            let text =
                "ftl.mapping_cache: a drive by another clock than the trace's has all mapping tables in RAM";
            return Err(ConfigError(text.into()).into());
        }
        if config.replay.mirror != Mirror::None {
            let text =
                "replay.mirror: a drive by another clock than the trace's has no mirror: set it to none";
            return Err(ConfigError(text.into()).into());
        }
        memory::check(&resolved, (u64::from(logical_pages), u64::from(contents), 1), memory_limits())?;
        let geometry = &resolved.device.geometry;
        let mut ftl = Ftl::new(&config.ftl, geometry, logical_pages, contents, config.seed);
        let mut flash = FlashArray::new(geometry);
        load(&mut ftl, &mut flash, &resolved, held)?;
        let hashes = config.ftl.mapping == Mapping::Content;
        let metrics = Metrics::new(geometry.chips(), None);
        let device = &resolved.device;
        let mut engine = Engine::new(ftl, metrics, device, &config.engine, flash, hashes, config.seed);
        engine.accounts_mut().observer.receivers = Receivers::to_caller();
        engine.direct_by(config.ftl.partition.handles());
        let outline = outline(name, geometry.page_bytes, logical_pages, contents);
        let read_modify_write = config.replay.partial_write == PartialWrite::ReadModifyWrite;
        Ok(Self { engine, resolved, outline, periods: Periods::default(), read_modify_write, clock_ns: 0 })
    }

    /// Takes a request in, at `now_ns` or as soon after as the clock has come already; its number.
    ///
    /// # Errors
    /// A controller error; later results have no meaning.
    pub fn arrive(&mut self, now_ns: u64, request: &SteppedRequest<'_>) -> Result<u64, SimError> {
        let number = self.outline.requests;
        self.clock_ns = now_ns.max(self.clock_ns).min(i64::MAX as u64);
        let time_ns = self.clock_ns as i64;
        let marks = (u8::from(request.first_is_partial) * marks::FIRST_IS_PARTIAL)
            | (u8::from(request.last_is_partial) * marks::LAST_IS_PARTIAL)
            | (u8::from(request.durable) * marks::DURABLE);
        let arrivals = Arrivals {
            window: Window {
                first_request: number,
                time_ns: &[time_ns],
                op: &[request.op],
                volume: &[],
                offset_bytes: &[],
                length_bytes: &[u32::try_from(request.bytes).unwrap_or(u32::MAX)],
                stream: &[],
                marks: &[marks],
                first_page_op: &[0, request.lpns.len() as u32],
                lpn: request.lpns,
                content: request.contents,
                lpn_address: &self.outline.lpn_address,
            },
            queue_depth: 0,
            speed: 1.0,
            read_modify_write: self.read_modify_write,
        };
        self.engine.begin_window();
        self.engine.serve(&arrivals, 0)?;
        self.outline.requests += 1;
        self.outline.page_ops += request.lpns.len() as u64;
        self.outline.bytes[request.op as usize] += request.bytes;
        self.outline.duration_ns = time_ns;
        Ok(number)
    }

    /// A content that is not needed any more: its number is another's from now on.
    pub fn forget_content(&mut self, content: u32) {
        self.engine.controller_mut().forget_content(Content::new(content));
        self.engine.forget_cached(Content::new(content));
    }

    /// Lets time pass. After an error of the controller results have no meaning.
    pub fn advance(&mut self, now_ns: u64) -> Result<(), SimError> {
        self.clock_ns = now_ns.max(self.clock_ns);
        self.engine.advance(now_ns)
    }

    /// When something will happen next unless a request comes before; `None`: nothing will.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.engine.next_event_ns()
    }

    /// Operations waiting and in service at each chip, as of the time that it was let pass to.
    pub fn queue_lengths(&self) -> &By<Chip, Vec<u32>> {
        self.engine.queue_lengths()
    }

    /// Takes the requests completed since the last call: number and time.
    pub fn take_done(&mut self, into: &mut Vec<(u64, u64)>) {
        if let Some(completions) = &mut self.engine.accounts_mut().observer.receivers.completions {
            into.append(completions);
        }
    }

    /// Ends a profiling period: copies are made as popularity has earned them, which costs no time.
    pub fn end_period(&mut self, now_ns: u64) -> Result<(), SimError> {
        self.advance(now_ns)?;
        if self.periods.len() as u64 >= MOST_PERIODS {
            // Completed requests are counted with the last period.
            return self.engine.end_period(|_| ());
        }
        self.periods.end(&mut self.engine, &self.resolved, self.clock_ns as i64, true).map(|_| ())
    }

    /// Serves everything under way and returns the results, as a replay does.
    pub fn finish(mut self) -> Result<RunResult, SimError> {
        self.engine.drain()?;
        let last_ns = if self.outline.requests == 0 { 0 } else { self.outline.duration_ns + 1 };
        let last_ns = last_ns.max(self.engine.now_ns() as i64);
        self.periods.end(&mut self.engine, &self.resolved, last_ns, false)?;
        finish(self.engine, self.periods, &Totals::default(), &self.outline, (&self.resolved, None))
    }
}
