use flashtwin_bits::By;
use flashtwin_ftl::{Counters, Ftl, PlaneContents, PlaneWrites};
use flashtwin_nand::Plane;
use flashtwin_trace::Outline;

use crate::engine::{Engine, EngineCounts};
use crate::metrics::{Metrics, PeriodResponse};
use crate::mirror::MirrorCounts;
use crate::replication_time::PhaseTime;
use crate::resolve::Resolved;
use crate::totals::Totals;

/// Counts of one period. `Copy` keeps them small: a year has many seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeriodRow {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) reads: PeriodResponse,
    pub(crate) writes: PeriodResponse,
    pub(crate) flushes: PeriodResponse,
    pub(crate) engine: EngineCounts,
    pub(crate) ftl: Counters,
    pub(crate) phase: PhaseTime,
    pub(crate) replica_pages: u64,
    pub(crate) pages_in_use: u64,
}

pub(crate) struct FinishedRun<'a> {
    pub(crate) trace: &'a Outline,
    pub(crate) resolved: &'a Resolved,
    /// Since the warm-up.
    pub(crate) counted: Totals,
    pub(crate) engine: Engine<Ftl, Metrics>,
    pub(crate) periods: Vec<PeriodRow>,
    pub(crate) replication_passes: u64,
    /// `None` unless a mirror answers during passes.
    pub(crate) mirror: Option<MirrorCounts>,
    /// `None` if contents are not known.
    pub(crate) plane_contents: Option<By<Plane, Vec<PlaneContents>>>,
    /// `None` unless they are counted.
    pub(crate) plane_writes: Option<By<Plane, Vec<PlaneWrites>>>,
    pub(crate) hash_queue: (f64, u32),
}

impl FinishedRun<'_> {
    /// The end of the warm-up, in simulated time.
    pub(crate) fn counted_from_ns(&self) -> u64 {
        self.engine.now_ns() - self.counted.time_ns
    }
}
