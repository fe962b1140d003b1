//! Suspension of programs and erases for reads (G. Wu, X. He, FAST '12). Drives stop between slices (pulses), so a read
//! waits for the rest of one. A transfer to the register is not interrupted.

use super::op::holder;
use super::unit::{Stage, Suspended, UnitState};
use super::{Accounts, Array, Observer, Op, Work};
use crate::config::{EngineConfig, Suspend};
use flashtwin_ftl::{Rng, Unit};

#[derive(Debug, Clone)]
pub(super) struct Suspension {
    what: Suspend,
    suspend_ns: u64,
    /// Mean of the rest of a slice that a read meets, which is exponential and cut at `MOST_MEANS`.
    slice_ns: u64,
    rng: Rng,
    resume_ns: u64,
    times: u32,
    reads: u32,
}

impl Suspension {
    const MOST_MEANS: u64 = 5;

    pub(super) fn new(config: &EngineConfig, seed: u64) -> Self {
        let ns = |us: f64| (us * 1000.0).round() as u64;
        Self {
            what: config.suspend,
            suspend_ns: ns(config.suspend_us),
            slice_ns: ns(config.suspend_slice_us),
            rng: Rng::stream(seed, "suspend slices"),
            resume_ns: ns(config.resume_us),
            times: if config.suspend_times == 0 { u32::MAX } else { config.suspend_times },
            reads: config.suspend_reads,
        }
    }

    #[inline]
    fn permits(&self, work: Work) -> bool {
        match work {
            Work::OwnErase => self.what != Suspend::None,
            Work::HostProgram | Work::OwnProgram | Work::Parity => self.what == Suspend::ProgramErase,
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => false,
        }
    }

    fn slice_rest_ns(&mut self) -> u64 {
        self.rng.exponential(self.slice_ns, Self::MOST_MEANS)
    }

    #[inline]
    pub(super) fn wait_ns(&self, unit: &UnitState, now_ns: u64) -> u64 {
        let rest_ns = unit.busy_until_ns.saturating_sub(now_ns);
        let stop_ns = self.suspend_ns + self.slice_ns;
        if unit.stage != Stage::Busy || !unit.suspendable { rest_ns } else { rest_ns.min(stop_ns) }
    }
}

impl Array {
    #[inline]
    pub(super) fn note_suspendable(&mut self, unit: Unit, work: Work, times: u32) {
        let suspendable = self.suspension.permits(work) && times < self.suspension.times;
        let state = &mut self.units[unit];
        state.suspendable = suspendable;
        state.suspensions = times;
    }

    #[inline]
    pub(super) fn suspend_for_read<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>) {
        let state = &self.units[unit];
        if state.stage == Stage::Busy && state.suspendable {
            self.suspend(unit, accounts);
        }
    }

    #[cold]
    fn suspend<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>) {
        let state = &mut self.units[unit];
        let array_ns = match self.ops[state.current].work {
            Work::OwnErase => self.timing.erase_ns,
            _ => self.timing.program_ns,
        };
        // During the transfer the array has not begun: it is suspended when it does, also in its time to resume.
        let array_ns = if state.suspensions > 0 { array_ns + self.suspension.resume_ns } else { array_ns };
        let begins_ns = state.busy_until_ns.saturating_sub(array_ns);
        let from_ns = self.now_ns.max(begins_ns) + self.suspension.slice_rest_ns();
        let remaining_ns = state.busy_until_ns.saturating_sub(from_ns);
        if remaining_ns <= self.suspension.suspend_ns {
            // It ends before it could stand still; with the slice, for reads that come later as well.
            state.suspendable = self.suspension.slice_ns == 0;
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
        accounts.counts.pages.suspensions += 1;
        accounts.observer.command_stops(unit, stopped_ns);
        self.expect(unit, stopped_ns);
    }

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

    #[cold]
    pub(super) fn resume<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>) {
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
        accounts.observer.started(now, "resume", unit, ppn);
        accounts.observer.command_goes_on(unit, (now, until));
    }
}
