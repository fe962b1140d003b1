//! A drive in virtual time for another simulator, which hands in requests, lets time pass and takes completed requests.
//!
//! It is a replay whose windows come from outside: a trace's requests give the trace's results. It begins empty or, with
//! `replay.preload = "footprint"`, with data on all its pages, because nobody knows which of them will be read.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use flashtwin_bits::memory_limits;
use flashtwin_ftl::{PartitionPolicy, ZeroPage};
use flashtwin_trace::{
    CHUNK_BYTES, ContentSource, NO_CONTENT, Op, Outline, PageColumns, PageIntake, PageTrace, Progress,
    Requests,
};

use crate::config::{Config, Preload, PreloadContents};
use crate::error::{ConfigError, SimError, stop_if_asked};
use crate::memory;
use crate::metrics::Receivers;
use crate::requests::{RequestLog, RequestsTo};
use crate::resolve::Resolved;
use crate::result::RunResult;
use crate::run::{LONGEST_NS, Replay, check_times, check_warm_up};
use crate::stepped;

/// Simulated time between two looks at whether to stop.
const LOOK_NS: u64 = 1_000_000;

/// A drive and its clock, which begins at 0 and never runs backwards. After an error other than [`SimError::Request`] its
/// state has no meaning.
pub struct VirtualDrive {
    replay: Replay,
    intake: PageIntake,
    contents: u32,
    clock_ns: u64,
}

impl VirtualDrive {
    /// A drive of `pages` logical pages and at most `contents` distinct contents (`None`: 4 a page, 65,536 or more).
    /// Refuses keys that need later requests or a trace's clock.
    pub fn new(
        resolved: &Resolved,
        pages: u32,
        contents: Option<u32>,
        per_request: bool,
        progress: &dyn Progress,
    ) -> Result<Self, SimError> {
        let config = &resolved.config;
        if let Some(cause) = refusal(config) {
            return Err(ConfigError(cause.into()).into());
        }
        let content_source = resolved.content_source(config.ftl.looks_at_contents() || contents.is_some());
        let contents = match content_source {
            ContentSource::None => 0,
            _ => contents.unwrap_or(pages.saturating_mul(4).max(1 << 16)),
        };
        let outline = stepped::outline("drive", config.nand.page_bytes, pages, contents);
        let outline = Outline { content_source, read_as: "requests in virtual time".into(), ..outline };
        let source = PageTrace { outline, columns: PageColumns::default() };
        let mut replay = Replay::new(&source, resolved, None, progress, None)?;
        let log = per_request.then(|| RequestLog::new(&config.name, &RequestsTo::Memory));
        replay.tell(Receivers::new(log.transpose()?, None, None).and_host());
        let intake = PageIntake::new(source.outline, config.replay.preload == Preload::Footprint)?;
        Ok(Self { replay, intake, contents, clock_ns: 0 })
    }

    /// Takes requests in, each at its time, to which the clock moves; the number of the first.
    pub fn submit(&mut self, requests: &Requests<'_>, progress: &dyn Progress) -> Result<u64, SimError> {
        let mut clock_ns = self.clock_ns;
        for index in 0..requests.len() {
            if let Some(fault) = self.fault(requests, index, clock_ns) {
                return Err(SimError::Request(format!("request {index}: {fault}")));
            }
            clock_ns = requests.time_ns[index] as u64;
        }
        self.check_time(clock_ns)?;
        let first = self.intake.outline.requests;
        let window = self.intake.add(requests)?;
        // The controller's tables have no place for another.
        let most = self.contents;
        if window.content.iter().any(|&content| content != NO_CONTENT && content >= most) {
            let text = format!("more than {most} contents were written: make the drive with more (contents)");
            return Err(ConfigError(text).into());
        }
        self.replay.serve(window, 0, progress)?;
        self.settle(clock_ns);
        Ok(first)
    }

    /// Why a request cannot come behind another at `before_ns`, and the cure.
    fn fault(&self, requests: &Requests<'_>, index: usize, before_ns: u64) -> Option<String> {
        let (config, outline) = (&self.replay.resolved.config, &self.intake.outline);
        let size_bytes = u64::from(outline.pages()) * u64::from(outline.page_bytes);
        let (op, time_ns, name) = (requests.op[index], requests.time_ns[index], &config.name);
        let (offset, length) = (requests.offset_bytes[index], requests.length_bytes[index]);
        let (given, wanted) = (requests.contents(index).len(), length.div_ceil(CHUNK_BYTES) as usize);
        let looks = config.ftl.looks_at_contents() && outline.content_source == ContentSource::Recorded;
        Some(if time_ns < before_ns as i64 {
            format!("time_ns is {time_ns}, and the clock is at {before_ns} by then: submit in order of time")
        } else if (op == Op::Flush) != (length == 0) || (op == Op::Flush && offset > 0) {
            let kind = op.name();
            format!("a {kind} of {length} bytes at {offset}: expected 0 at 0 for a flush, else 1 or more")
        } else if offset.saturating_add(length.into()) > size_bytes {
            format!("{length} bytes at {offset} end beyond the drive's {size_bytes}: make it larger (size)")
        } else if given > 0 && given != wanted {
            format!("{given} contents: expected {wanted}, one for each {CHUNK_BYTES} bytes that it begins")
        } else if op == Op::Write && looks && requests.content_start.is_empty() {
            format!("a write without content, which '{name}' looks at: give it, or set content=\"unique\"")
        } else {
            return None;
        })
    }

    fn check_time(&self, to_ns: u64) -> Result<(), SimError> {
        let (now_ns, longest_ns) = (self.clock_ns, LONGEST_NS as u64);
        if !(now_ns..=longest_ns).contains(&to_ns) {
            let text = format!("the clock cannot go to {to_ns}: expected {now_ns} (now) to {longest_ns}");
            return Err(SimError::Request(text));
        }
        let checked = check_times("drive", to_ns as i64, &self.replay.resolved);
        checked.map_err(|error| SimError::Request(error.0))
    }

    /// Lets time pass; profiling periods end when they are due.
    pub fn advance(&mut self, to_ns: u64, progress: &dyn Progress) -> Result<(), SimError> {
        self.check_time(to_ns)?;
        loop {
            let boundary = self.replay.next_boundary_ns();
            let until_ns = to_ns.min(boundary as u64);
            while let Some(next_ns) =
                self.replay.next_event_ns(u64::MAX).filter(|&next_ns| next_ns <= until_ns)
            {
                stop_if_asked(progress)?;
                self.replay.advance((next_ns + LOOK_NS).min(until_ns))?;
            }
            self.replay.advance(until_ns)?;
            if boundary as u64 > to_ns {
                break;
            }
            self.replay.cross(boundary, self.intake.outline.requests)?;
            stop_if_asked(progress)?;
        }
        self.settle(to_ns);
        Ok(())
    }

    fn settle(&mut self, clock_ns: u64) {
        self.clock_ns = clock_ns;
        self.receivers().for_host.iter_mut().for_each(|host| host.settle(clock_ns));
    }

    fn receivers(&mut self) -> &mut Receivers {
        &mut self.replay.engine.accounts_mut().observer.receivers
    }

    /// The clock.
    pub fn now_ns(&self) -> u64 {
        self.clock_ns
    }

    /// When something happens next that may complete a request, unless another comes before; `None`: nothing will.
    pub fn next_event_ns(&mut self) -> Option<u64> {
        let certain_ns = self.receivers().for_host.as_ref().and_then(|host| host.next_ns());
        let next_ns = self.replay.next_event_ns(self.intake.outline.requests);
        next_ns.map(|next_ns| next_ns.max(self.clock_ns)).into_iter().chain(certain_ns).min()
    }

    /// Takes the requests completed by now since the last call, in the order of completion, as a table, with the `parts` of
    /// their times or without.
    pub fn take_completed(&mut self, parts: bool) -> Result<RecordBatch, ArrowError> {
        let name = self.replay.resolved.config.name.clone();
        self.receivers().for_host.get_or_insert_default().take(&name, parts)
    }

    /// Like [`VirtualDrive::take_completed`], at most `most` of them and only number, time, and response time in ns.
    pub fn take_times(&mut self, most: usize) -> Vec<[u64; 3]> {
        self.receivers().for_host.get_or_insert_default().take_times(most).collect()
    }

    /// Another drive in the same state, with the same requests under way, which goes on by itself.
    pub fn snapshot(&self) -> Result<Self, SimError> {
        let Self { replay, intake, contents, clock_ns } = self;
        if replay.engine.accounts().observer.receivers.has_log() {
            let text = "a drive with the table requests has no snapshots, because it is written out meanwhile: take \
                        its rows from completed, and make the drive without it (per_request)";
            return Err(SimError::Request(text.into()));
        }
        let sizes = (u64::from(intake.outline.pages()), u64::from(*contents), 1);
        memory::check(&replay.resolved, sizes, memory_limits())
            .map_err(|error| SimError::Request(format!("no room for a snapshot: {error}")))?;
        Ok(Self { replay: replay.clone(), intake: intake.clone(), contents: *contents, clock_ns: *clock_ns })
    }

    /// Serves everything under way; the results of a replay of all requests.
    pub fn finish(self) -> Result<RunResult, SimError> {
        check_warm_up("drive", self.clock_ns as i64, &self.replay.resolved)?;
        self.replay.finish(&self.intake.finish())
    }
}

/// Why no drive in virtual time can have these keys.
fn refusal(config: &Config) -> Option<&'static str> {
    let replay = &config.replay;
    match config.ftl.partition.policy {
        PartitionPolicy::Offline => {
            return Some(
                "ftl.partition.policy = \"offline\" needs later requests: choose another, such as bloom-filters",
            );
        }
        PartitionPolicy::Volumes => {
            return Some(
                "ftl.partition.policy = \"volumes\" needs a trace with volumes: choose streams or ranges",
            );
        }
        _ => {}
    }
    let draws = replay.preload == Preload::Footprint && config.ftl.looks_at_contents();
    if draws && replay.preload_contents == PreloadContents::Trace {
        return Some("replay.preload_contents = \"trace\" needs later requests: set it to own");
    }
    if config.ftl.zero_page == ZeroPage::Mapped {
        return Some(
            "ftl.zero_page needs a trace that says which content is zeroes: set it to stored, and trim instead",
        );
    }
    if replay.queue_depth > 0 {
        return Some(
            "replay.queue_depth is for traces: set it to 0, and submit a request when one is completed",
        );
    }
    (replay.speed != 1.0)
        .then_some("replay.speed is for traces: set it to 1, and scale the times of requests")
}
