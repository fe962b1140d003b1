//! Programs and erases that make way for reads.
//!
//! G. Wu, X. He, "Reducing SSD read latency via NAND flash program and erase suspension", FAST '12. A read
//! that arrives while the array programs or erases stops it; once the reads that wait are served, it goes
//! on with what was left. Data on their way to the register are not interrupted.

use super::ledger::holder;
use super::pool::{Op, Work};
use super::unit::{Stage, UnitState};
use super::{Controller, Engine, Observer};
use crate::config::{EngineConfig, Suspend};
use flashtwin_ftl::Unit;

/// What may be suspended, what it costs, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suspension {
    what: Suspend,
    suspend_ns: u64,
    resume_ns: u64,
    times: u32,
    reads: u32,
}

/// An operation that was stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspended {
    slot: u32,
    remaining_ns: u64,
    since_ns: u64,
    /// How often it has been stopped, and how long it has stood still before.
    times: u32,
    lost_ns: u64,
    /// Reads that may still go before it goes on.
    reads_left: u32,
}

impl Suspension {
    pub(super) fn new(config: &EngineConfig) -> Self {
        let ns = |us: f64| (us * 1000.0).round() as u64;
        Self {
            what: config.suspend,
            suspend_ns: ns(config.suspend_us),
            resume_ns: ns(config.resume_us),
            times: config.suspend_times,
            reads: config.suspend_reads,
        }
    }

    #[inline]
    fn permits(&self, work: Work) -> bool {
        match work {
            Work::OwnErase => self.what != Suspend::None,
            Work::HostProgram | Work::OwnProgram => self.what == Suspend::ProgramErase,
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => false,
        }
    }

    /// How long a read that arrives now would wait for the operation in service.
    #[inline]
    pub(super) fn wait_ns(&self, unit: &UnitState, now_ns: u64) -> u64 {
        let rest_ns = unit.busy_until_ns.saturating_sub(now_ns);
        if unit.stage != Stage::Busy || !unit.suspendable { rest_ns } else { rest_ns.min(self.suspend_ns) }
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Notes whether the operation that a unit has just begun can be stopped.
    #[inline]
    pub(super) fn note_suspendable(&mut self, unit: Unit, work: Work, times: u32) {
        let suspendable = self.suspension.permits(work) && times < self.suspension.times;
        let state = &mut self.units[unit];
        state.suspendable = suspendable;
        state.suspensions = times;
    }

    /// A read has come to wait at a unit: stops what the array does, if that gains anything.
    #[inline]
    pub(super) fn suspend_for_read(&mut self, unit: Unit) {
        let state = &self.units[unit];
        if state.stage == Stage::Busy && state.suspendable {
            self.suspend(unit);
        }
    }

    #[cold]
    fn suspend(&mut self, unit: Unit) {
        let state = &mut self.units[unit];
        let array_ns = match self.ops[state.current].work {
            Work::OwnErase => self.timing.erase_ns,
            _ => self.timing.program_ns,
        };
        // The data may still be on their way: then the array has not begun.
        let begins_ns = state.busy_until_ns.saturating_sub(array_ns);
        let from_ns = self.now_ns.max(begins_ns);
        let remaining_ns = state.busy_until_ns - from_ns;
        if remaining_ns <= self.suspension.suspend_ns {
            return;
        }
        let stopped_ns = from_ns + self.suspension.suspend_ns;
        state.stage = Stage::Suspending;
        state.suspended = Some(Suspended {
            slot: state.current,
            remaining_ns,
            since_ns: from_ns,
            times: state.suspensions + 1,
            lost_ns: state.lost_ns,
            reads_left: self.suspension.reads,
        });
        self.counts.suspensions += 1;
        self.expect(unit, stopped_ns);
    }

    /// The array has stopped: reads go.
    #[cold]
    pub(super) fn suspended(&mut self, unit: Unit) {
        self.units[unit].fall_idle(self.now_ns);
        self.dispatch(unit);
    }

    /// With an operation stopped at the unit: whether one more read goes first.
    #[inline]
    pub(super) fn read_before_resuming(&mut self, unit: Unit) -> bool {
        match &mut self.units[unit].suspended {
            Some(suspended) if suspended.reads_left > 0 => {
                suspended.reads_left -= 1;
                true
            }
            _ => false,
        }
    }

    /// Goes on with the operation that was stopped.
    #[cold]
    pub(super) fn resume(&mut self, unit: Unit) {
        let now = self.now_ns;
        let state = &mut self.units[unit];
        let Some(suspended) = state.suspended.take() else { return };
        let until = now + self.suspension.resume_ns + suspended.remaining_ns;
        state.current = suspended.slot;
        state.busy_since_ns = now;
        state.stage = Stage::Busy;
        state.reading = false;
        state.lost_ns = suspended.lost_ns + (until - suspended.since_ns) - suspended.remaining_ns;
        let Op { work, ppn, cause, .. } = self.ops[suspended.slot];
        state.holder = holder(work, cause);
        self.expect(unit, until);
        self.units[unit].busy_until_ns = until;
        self.note_suspendable(unit, work, suspended.times);
        self.observer.started(now, "resume", unit, ppn);
    }
}
