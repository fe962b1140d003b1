//! What a run leaves behind for the results: its periods, cut while it goes, and what stands at its end.

use flashtwin_bits::By;
use flashtwin_ftl::{Counters, Ftl, PlaneContents};
use flashtwin_nand::Plane;
use flashtwin_trace::Outline;

use crate::engine::{Engine, EngineCounts};
use crate::error::SimError;
use crate::metrics::{Metrics, PeriodResponse};
use crate::replication_time::{PhaseTime, phase_time};
use crate::resolve::Resolved;
use crate::result::RunResult;

/// What happened in one period; counts are of that period alone.
/// `Copy`, so that nobody makes it hold more than numbers: a year has many seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeriodRow {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) reads: PeriodResponse,
    pub(crate) writes: PeriodResponse,
    pub(crate) engine: EngineCounts,
    pub(crate) ftl: Counters,
    pub(crate) phase: PhaseTime,
    pub(crate) replica_pages: u64,
    pub(crate) pages_in_use: u64,
}

/// The periods of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Periods {
    rows: Vec<PeriodRow>,
    /// Counts when the period under way began.
    engine_before: EngineCounts,
    ftl_before: Counters,
}

impl Periods {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Cuts a row; between periods the controller also replicates.
    pub(crate) fn end(
        &mut self,
        engine: &mut Engine<Ftl, Metrics>,
        resolved: &Resolved,
        end_ns: i64,
        replicate: bool,
    ) -> Result<(), SimError> {
        let mut phase = PhaseTime::default();
        if replicate {
            engine.end_period(|ops| phase = phase_time(ops, &resolved.device))?;
        }
        let (counts, ftl) = (engine.counts, *engine.controller.counters());
        let row = PeriodRow {
            start_ns: self.rows.last().map_or(0, |row| row.end_ns),
            end_ns,
            reads: engine.observer.reads.end_period(),
            writes: engine.observer.writes.end_period(),
            engine: counts.since(&self.engine_before),
            ftl: ftl.since(&self.ftl_before),
            phase,
            replica_pages: engine.controller.replica_pages(),
            pages_in_use: engine.controller.pages_in_use(),
        };
        self.rows.push(row);
        (self.engine_before, self.ftl_before) = (counts, ftl);
        if resolved.config.verify {
            engine.controller.audit()?;
        }
        Ok(())
    }
}

/// The result of a run that has ended, the last row of its periods cut.
///
/// # Errors
/// [`SimError::Write`] where the table of requests cannot be written.
pub(crate) fn finish(
    mut engine: Engine<Ftl, Metrics>,
    periods: Periods,
    trace: &Outline,
    resolved: &Resolved,
) -> Result<RunResult, SimError> {
    let requests = engine.observer.following.finish()?;
    let passes = periods.rows.len() as u64 - 1;
    // On-line copies and priority-LRU know no passes.
    let replicates = resolved.config.ftl.replication.policy.copies_at_period_ends();
    let finished = Finished {
        trace,
        resolved,
        plane_contents: engine.controller.plane_contents(),
        engine,
        periods: periods.rows,
        replication_passes: if replicates { passes } else { 0 },
        hash_queue: (0.0, 0),
    };
    Ok(RunResult { requests, ..crate::result::collect(finished) })
}

/// Everything a run leaves behind for the results.
pub(crate) struct Finished<'a> {
    pub(crate) trace: &'a Outline,
    pub(crate) resolved: &'a Resolved,
    pub(crate) engine: Engine<Ftl, Metrics>,
    pub(crate) periods: Vec<PeriodRow>,
    pub(crate) replication_passes: u64,
    /// What lies on each plane at the end; `None` where contents are not known.
    pub(crate) plane_contents: Option<By<Plane, Vec<PlaneContents>>>,
    /// The hash unit's queue: length x nanoseconds, and the longest.
    pub(crate) hash_queue: (f64, u32),
}
