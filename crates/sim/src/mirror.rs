//! The mirror of a drive that replicates: a conventional drive that gets the same requests, and answers those that arrive
//! during a pass (RR-SSD paper III.B).
//!
//! The drives share nothing, so each serves all requests as if it were alone. Only whose answer counts is chosen, when a
//! request arrives.

use flashtwin_ftl::{Ftl, FtlConfig, Mapping};
use flashtwin_trace::Op;
use schemars::JsonSchema;
use serde::Serialize;

use crate::config;
use crate::engine::{Arrivals, Engine};
use crate::error::SimError;
use crate::metrics::{Metrics, Receivers};
use crate::resolve::Resolved;
use crate::totals::Totals;

/// Answers and wear of the mirror.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub(crate) struct MirrorCounts {
    /// Reads that it answered.
    reads: u64,
    /// Writes that it answered.
    writes: u64,
    /// Flushes that it answered.
    flushes: u64,
    /// Pages that it programmed, for all requests.
    pages_programmed: u64,
    /// Blocks that it erased.
    erases: u64,
}

impl Resolved {
    /// The mirror's configuration: the same drive without what looks at contents.
    pub(crate) fn mirror(&self) -> Option<Self> {
        let replicates = self.config.ftl.replication.policy.copies_at_period_ends();
        if self.config.replay.mirror == config::Mirror::None || !replicates {
            return None;
        }
        let mut mirror = self.clone();
        let FtlConfig { dedup, redirection, replication, spread, .. } = FtlConfig::default();
        let of_drive = mirror.config.ftl;
        mirror.config.ftl =
            FtlConfig { mapping: Mapping::Page, dedup, redirection, replication, spread, ..of_drive };
        mirror.config.ftl.mapping_cache.fingerprints = false;
        mirror.config.replay.mirror = config::Mirror::None;
        "conventional".clone_into(&mut mirror.config.name);
        Some(mirror)
    }
}

#[derive(Clone)]
pub(crate) struct Mirror {
    engine: Engine<Ftl, Metrics>,
    /// The end of the pass, in simulated time.
    until_ns: u64,
    answered: [u64; Op::COUNT],
    before: Totals,
    verify: bool,
}

impl Mirror {
    pub(crate) fn new(mut engine: Engine<Ftl, Metrics>, verify: bool) -> Self {
        engine.accounts_mut().observer.receivers = Receivers::default().and_host();
        Self { engine, until_ns: 0, answered: [0; Op::COUNT], before: Totals::default(), verify }
    }

    pub(crate) fn begin_window(&mut self) {
        self.engine.begin_window();
    }

    /// Both drives get a request of the window.
    pub(crate) fn serve(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        drive: &mut Engine<Ftl, Metrics>,
    ) -> Result<(), SimError> {
        if arrivals.arrival_ns(index) < self.until_ns {
            drive.accounts_mut().observer.elsewhere.add(arrivals.window.first_request + index as u64);
            self.answered[arrivals.window.op[index] as usize] += 1;
        }
        drive.serve(arrivals, index)?;
        self.engine.serve(arrivals, index)?;
        self.hand_over(drive);
        Ok(())
    }

    pub(crate) fn advance(&mut self, time_ns: u64, drive: &mut Engine<Ftl, Metrics>) -> Result<(), SimError> {
        self.engine.advance(time_ns)?;
        self.hand_over(drive);
        Ok(())
    }

    fn hand_over(&mut self, drive: &mut Engine<Ftl, Metrics>) {
        let books = &mut drive.accounts_mut().observer;
        if let Some(answers) = &mut self.engine.accounts_mut().observer.receivers.for_host {
            answers.hand_over(|arrived, done| books.answered_by_another(arrived, done));
        }
    }

    /// A period has ended, and the pass takes from one time to another.
    pub(crate) fn begin_pass(&mut self, (begin_ns, pass_ns): (u64, u64)) -> Result<(), SimError> {
        self.until_ns = self.until_ns.max(begin_ns + pass_ns);
        self.engine.end_period(|_| ())?;
        self.audit()
    }

    fn audit(&self) -> Result<(), SimError> {
        if self.verify {
            self.engine.controller().audit()?;
        }
        Ok(())
    }

    /// Only what comes from now on counts.
    pub(crate) fn restart(&mut self) {
        self.answered = [0; Op::COUNT];
        self.before = Totals::of(&self.engine, [0; Op::COUNT]);
    }

    pub(crate) fn next_event_ns(&self) -> Option<u64> {
        self.engine.next_event_ns()
    }

    /// Requests that it has served, whoever answered them.
    pub(crate) fn completed(&self) -> u64 {
        self.engine.accounts().counts.requests.iter().sum()
    }

    /// Serves everything under way.
    pub(crate) fn finish(mut self, drive: &mut Engine<Ftl, Metrics>) -> Result<MirrorCounts, SimError> {
        self.engine.drain()?;
        self.hand_over(drive);
        self.audit()?;
        let counted = Totals::of(&self.engine, [0; Op::COUNT]).since(&self.before);
        let of = |op: Op| self.answered[op as usize];
        Ok(MirrorCounts {
            reads: of(Op::Read),
            writes: of(Op::Write),
            flushes: of(Op::Flush),
            pages_programmed: counted.ftl.pages_programmed() + counted.engine.parity_pages,
            erases: counted.ftl.erases,
        })
    }
}
