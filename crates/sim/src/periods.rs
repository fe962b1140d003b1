//! A run's periods, cut while it goes, and the end of it.

use flashtwin_ftl::{Counters, Ftl};
use flashtwin_trace::Outline;

use crate::engine::{Engine, EngineCounts};
use crate::error::SimError;
use crate::finished::{FinishedRun, PeriodRow};
use crate::metrics::Metrics;
use crate::mirror::MirrorCounts;
use crate::replication_time::{PhaseTime, phase_time};
use crate::resolve::Resolved;
use crate::result::RunResult;
use crate::totals::Totals;

#[derive(Debug, Clone, Default)]
pub(crate) struct Periods {
    rows: Vec<PeriodRow>,
    first_start_ns: i64,
    engine_before: EngineCounts,
    ftl_before: Counters,
}

impl Periods {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The end of the last one, or the beginning of the first.
    pub(crate) fn last_ns(&self) -> i64 {
        self.rows.last().map_or(self.first_start_ns, |row| row.end_ns)
    }

    /// Without the rows so far.
    pub(crate) fn restart(&mut self, engine: &Engine<Ftl, Metrics>, start_ns: i64) {
        let (engine_before, ftl_before) = (engine.accounts().counts, *engine.controller().counters());
        *self = Self { rows: Vec::new(), first_start_ns: start_ns, engine_before, ftl_before };
    }

    /// Cuts a row. Between periods the controller also replicates; how long its pass takes.
    pub(crate) fn end(
        &mut self,
        engine: &mut Engine<Ftl, Metrics>,
        resolved: &Resolved,
        end_ns: i64,
        replicate: bool,
    ) -> Result<PhaseTime, SimError> {
        let mut phase = PhaseTime::default();
        if replicate {
            engine.end_period(|ops| phase = phase_time(ops, &resolved.device))?;
        }
        let (counts, ftl) = (engine.accounts().counts, *engine.controller().counters());
        let row = PeriodRow {
            start_ns: self.last_ns(),
            end_ns,
            reads: engine.accounts_mut().observer.reads.end_period(),
            writes: engine.accounts_mut().observer.writes.end_period(),
            flushes: engine.accounts_mut().observer.flushes.end_period(),
            engine: counts.since(&self.engine_before),
            ftl: ftl.since(&self.ftl_before),
            phase,
            replica_pages: engine.controller().replica_pages(),
            pages_in_use: engine.controller().pages_in_use(),
        };
        self.rows.push(row);
        (self.engine_before, self.ftl_before) = (counts, ftl);
        if resolved.config.verify {
            engine.controller().audit()?;
        }
        Ok(phase)
    }
}

pub(crate) fn finish(
    mut engine: Engine<Ftl, Metrics>,
    periods: Periods,
    before: &Totals,
    trace: &Outline,
    (resolved, mirror): (&Resolved, Option<MirrorCounts>),
) -> Result<RunResult, SimError> {
    let end_ns = engine.now_ns();
    let requests = engine.accounts_mut().observer.receivers.finish(end_ns)?;
    let passes = periods.rows.len() as u64 - 1;
    // On-line copies and priority-LRU know no passes.
    let replicates = resolved.config.ftl.replication.policy.copies_at_period_ends();
    let finished = FinishedRun {
        trace,
        resolved,
        counted: Totals::of(&engine, trace.bytes).since(before),
        plane_contents: engine.controller().plane_contents(),
        plane_writes: engine.controller().plane_writes(),
        engine,
        periods: periods.rows,
        replication_passes: if replicates { passes } else { 0 },
        mirror,
        hash_queue: (0.0, 0),
    };
    Ok(RunResult { requests, ..crate::result::collect(finished) })
}
