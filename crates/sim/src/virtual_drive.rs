//! A drive in virtual time for another simulator, which hands in requests, lets time pass and takes completed requests.
//!
//! It is a replay whose windows come from outside: a trace's requests give the trace's results. It begins empty or, with
//! `replay.preload = "footprint"`, with data on all its pages, because nobody knows which of them will be read.

use arrow_array::RecordBatch;
use flashtwin_ftl::PartitionPolicy;
use flashtwin_trace::{ContentSource, Op, Outline, PageColumns, PageIntake, PageTrace, Progress, Requests};

use crate::config::{Config, Preload, PreloadContents};
use crate::error::{ConfigError, SimError, stop_if_asked};
use crate::metrics::Receivers;
use crate::requests::{RequestLog, RequestsTo};
use crate::resolve::Resolved;
use crate::result::RunResult;
use crate::run::{LONGEST_NS, Replay, check_periods};
use crate::stepped;

/// Contents that a drive knows for each of its pages, if nobody says how many.
const CONTENTS_A_PAGE: u32 = 4;
const FEWEST_CONTENTS: u32 = 1 << 16;
/// Simulated time between two looks at whether to stop.
const LOOK_NS: u64 = 1_000_000;
/// Requests that are served in a few milliseconds.
const BRIEF_REQUESTS: u64 = 4_096;

/// How a [`VirtualDrive`] is made.
#[derive(Debug, Clone)]
pub struct VirtualDriveOptions {
    /// Its name in the results, in place of a trace's.
    pub name: String,
    /// Logical pages.
    pub pages: u32,
    /// Distinct page contents that may be written; `None`: 4 for each page, 65,536 or more.
    pub contents: Option<u32>,
    /// Whether the result has the table `requests`.
    pub per_request: bool,
}

/// A drive and its clock, which begins at 0 and never runs backwards. After an error its state has no meaning.
pub struct VirtualDrive {
    replay: Replay,
    resolved: Resolved,
    intake: PageIntake,
    contents: u32,
    clock_ns: u64,
}

impl VirtualDrive {
    /// A drive before its first request.
    ///
    /// # Errors
    /// [`SimError`]: keys that need later requests or a trace's clock, a size above the capacity, not enough memory.
    pub fn new(
        resolved: &Resolved,
        options: &VirtualDriveOptions,
        progress: &dyn Progress,
    ) -> Result<Self, SimError> {
        let config = &resolved.config;
        if let Some((key, cause)) = refused(config) {
            return Err(ConfigError(format!("{key}: {cause}")).into());
        }
        let has_contents = config.ftl.looks_at_contents() || options.contents.is_some();
        let content_source = resolved.content_source(has_contents);
        let contents = options.contents.unwrap_or(match content_source {
            ContentSource::None => 0,
            ContentSource::Zipf { values, .. } => values,
            ContentSource::SameAsAddress => options.pages,
            _ => options.pages.saturating_mul(CONTENTS_A_PAGE).max(FEWEST_CONTENTS),
        });
        let outline = stepped::outline(&options.name, config.nand.page_bytes, options.pages, contents);
        let outline = Outline { content_source, read_as: "requests in virtual time".into(), ..outline };
        let source = PageTrace { outline, columns: PageColumns::default() };
        let mut replay = Replay::new(&source, resolved, None, progress, None)?;
        let log = options.per_request.then(|| RequestLog::new(&config.name, &RequestsTo::Memory));
        replay.tell(Receivers::new(log.transpose()?, None, None).and_host());
        let intake = PageIntake::new(source.outline, config.replay.preload == Preload::Footprint)?;
        Ok(Self { replay, resolved: resolved.clone(), intake, contents, clock_ns: 0 })
    }

    /// Why these requests cannot be submitted, if so: the place among them, the fault and its cure.
    pub fn refusal(&self, requests: &Requests<'_>) -> Option<String> {
        let outline = self.intake.outline();
        let size_bytes = u64::from(outline.pages()) * u64::from(outline.page_bytes);
        let looks = self.resolved.config.ftl.looks_at_contents();
        let needs_contents = looks && outline.content_source == ContentSource::Recorded;
        let mut before_ns = self.clock_ns as i64;
        for index in 0..requests.len() {
            let (op, time_ns) = (requests.op[index], requests.time_ns[index]);
            let (offset, length) = (requests.offset_bytes[index], requests.length_bytes[index]);
            let end = offset.checked_add(length.into());
            let fault = if time_ns < before_ns {
                format!(
                    "time_ns is {time_ns}, and the clock is at {before_ns} by then: submit requests in the order of time"
                )
            } else if (op == Op::Flush) != (length == 0) {
                format!(
                    "a {} of {length} bytes: expected 0 for a flush, and 1 or more for all others",
                    op.name()
                )
            } else if op != Op::Flush && end.is_none_or(|end| end > size_bytes) {
                format!(
                    "{length} bytes at {offset} end beyond the drive's {size_bytes} bytes: make it larger (size)"
                )
            } else if op == Op::Write && needs_contents && requests.content_start.is_empty() {
                let name = &self.resolved.config.name;
                format!(
                    "a write without contents, which '{name}' looks at: give content, or make the drive with \
                     replay.content = \"unique\""
                )
            } else {
                before_ns = time_ns;
                continue;
            };
            return Some(format!("request {index}: {fault}"));
        }
        self.time_refusal(before_ns as u64)
    }

    /// Why the clock cannot be set to this time, if so.
    pub fn time_refusal(&self, to_ns: u64) -> Option<String> {
        if to_ns < self.clock_ns {
            return Some(format!(
                "{to_ns} ns, and the clock is at {}: time never runs backwards",
                self.clock_ns
            ));
        }
        if to_ns as f64 > LONGEST_NS {
            return Some(format!("{to_ns} ns: expected at most 2^60 ns (36 years)"));
        }
        check_periods(&self.intake.outline().name, to_ns as i64, &self.resolved).err().map(|error| error.0)
    }

    /// Takes requests in, each at its time, to which the clock moves; the number of the first.
    ///
    /// # Errors
    /// More contents than the drive knows, a controller error, [`SimError::Interrupted`].
    pub fn submit(&mut self, requests: &Requests<'_>, progress: &dyn Progress) -> Result<u64, SimError> {
        let first = self.intake.outline().requests;
        let window = self.intake.add(requests)?;
        let total = first + requests.len() as u64;
        if let Some(&last_ns) = requests.time_ns.last() {
            self.clock_ns = last_ns as u64;
        }
        // Checked before the controller, whose tables have no place for another.
        let known = window.content.iter().filter(|&&content| content != flashtwin_trace::NO_CONTENT).max();
        if known.is_some_and(|&content| content >= self.contents) {
            return Err(ConfigError(format!(
                "{}: the drive knows {} contents, and more were written: make it with more (contents)",
                self.resolved.config.name, self.contents
            ))
            .into());
        }
        self.replay.serve(window, &self.resolved, total, progress)?;
        self.settle();
        Ok(first)
    }

    /// Lets time pass; profiling periods end when they are due.
    ///
    /// # Errors
    /// A controller error, [`SimError::Interrupted`].
    pub fn advance(&mut self, to_ns: u64, progress: &dyn Progress) -> Result<(), SimError> {
        loop {
            let boundary = self.replay.next_boundary_ns();
            self.pass(to_ns.min(boundary as u64), progress)?;
            if boundary as u64 > to_ns {
                break;
            }
            self.replay.cross(boundary, self.intake.outline().requests, &self.resolved)?;
            stop_if_asked(progress)?;
        }
        self.clock_ns = to_ns;
        self.settle();
        Ok(())
    }

    fn pass(&mut self, until_ns: u64, progress: &dyn Progress) -> Result<(), SimError> {
        let engine = &mut self.replay.engine;
        while let Some(next_ns) = engine.next_event_ns().filter(|&next_ns| next_ns <= until_ns) {
            stop_if_asked(progress)?;
            engine.advance((next_ns + LOOK_NS).min(until_ns))?;
        }
        engine.advance(until_ns)
    }

    fn settle(&mut self) {
        let clock_ns = self.clock_ns;
        self.receivers().for_host.iter_mut().for_each(|done| done.settle(clock_ns));
    }

    fn receivers(&mut self) -> &mut Receivers {
        &mut self.replay.engine.accounts_mut().observer.receivers
    }

    /// The clock.
    pub fn now_ns(&self) -> u64 {
        self.clock_ns
    }

    /// Requests that have not been completed by now.
    pub fn under_way(&mut self) -> u64 {
        let requests = self.intake.outline().requests;
        requests - self.receivers().for_host.as_ref().map_or(0, |done| done.settled())
    }

    /// Whether the clock gets to `to_ns` with some more requests in less time than a person notices.
    pub fn is_brief(&mut self, to_ns: u64, requests: usize) -> bool {
        self.under_way() + requests as u64 <= BRIEF_REQUESTS && to_ns < self.replay.next_boundary_ns() as u64
    }

    /// When something happens next that may complete a request, unless another comes before; `None`: nothing will.
    pub fn next_event_ns(&mut self) -> Option<u64> {
        let certain_ns = self.receivers().for_host.as_ref().and_then(|done| done.next_ns());
        let next_ns = if self.under_way() > 0 { self.replay.engine.next_event_ns() } else { None };
        next_ns.map(|next_ns| next_ns.max(self.clock_ns)).into_iter().chain(certain_ns).min()
    }

    /// Takes the requests completed by now since the last call, in the order of completion.
    pub fn take_completed(&mut self) -> RecordBatch {
        let name = self.resolved.config.name.clone();
        self.receivers().for_host.get_or_insert_default().take(&name)
    }

    /// Serves everything under way; the results of a replay of all requests.
    ///
    /// # Errors
    /// A warm-up that has not ended, a controller error.
    pub fn finish(self) -> Result<RunResult, SimError> {
        let Self { replay, resolved, intake, clock_ns, .. } = self;
        if replay.is_warming_up() {
            return Err(ConfigError(format!(
                "the clock is at {:.1} s, and no request has come after a warm-up of {} s: set replay.warm_up_s to less",
                clock_ns as f64 / 1e9,
                resolved.config.replay.warm_up_s,
            ))
            .into());
        }
        replay.finish(&intake.finish(), &resolved)
    }
}

/// A key that no drive in virtual time can follow, with its value, cause and cure.
fn refused(config: &Config) -> Option<(&'static str, &'static str)> {
    let replay = &config.replay;
    if config.ftl.partition.policy == PartitionPolicy::Offline {
        let cause = "offline partitions need all later requests, which a drive in virtual time does not know: choose \
                     another policy, such as bloom-filters";
        return Some(("ftl.partition.policy", cause));
    }
    let draws = replay.preload == Preload::Footprint && config.ftl.looks_at_contents();
    if draws && replay.preload_contents == PreloadContents::Trace {
        let cause = "contents before the first request cannot be drawn from later ones: set it to own";
        return Some(("replay.preload_contents", cause));
    }
    if replay.queue_depth > 0 {
        let cause = "the host of a drive in virtual time decides when requests come: set it to 0, and submit the next \
                     request when one is completed";
        return Some(("replay.queue_depth", cause));
    }
    if replay.speed != 1.0 {
        let cause = "a drive in virtual time has no clock but its host's: set it to 1, and scale the times of requests";
        return Some(("replay.speed", cause));
    }
    None
}
