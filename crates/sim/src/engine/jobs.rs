//! Background jobs of the controller: when a unit has time for them, and how the controller hears that an
//! operation of a job has ended.

use flashtwin_ftl::{IDLE_STEP, Unit};
use flashtwin_nand::{Geometry, Plane};

use super::pool::{NONE, Op};
use super::unit::Queue;
use super::{Controller, Engine, Observer};

/// The planes that each unit serves.
pub(super) fn planes_of_units(planes_per_unit: u32, geometry: &Geometry) -> Vec<Vec<Plane>> {
    let planes: Vec<Plane> = geometry.all_planes().collect();
    planes.chunks(planes_per_unit as usize).map(<[Plane]>::to_vec).collect()
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Whether a unit with nothing else to do has been idle for long enough that work of background jobs
    /// may begin (a fixed timer: Golding et al., USENIX 1995). If not, an event is set for the moment when
    /// it will have been. Work of jobs does not end the idle time, so that once begun it goes on until
    /// other work comes.
    #[inline]
    pub(super) fn idle_long_enough(&mut self, unit: Unit) -> bool {
        self.idle_ns == 0 || self.idle_time_is_up(unit)
    }

    fn idle_time_is_up(&mut self, unit: Unit) -> bool {
        let state = &self.units[unit];
        // An erase in the queue before may wait for this very program: then there is no point in waiting.
        if state.head(Queue::Background) != NONE {
            return true;
        }
        let due_ns = state.idle_since_ns + self.idle_ns;
        if due_ns <= self.now_ns {
            return true;
        }
        if state.suspended.is_none() && state.event_ns != due_ns {
            self.expect(unit, due_ns);
        }
        false
    }

    /// Offers a unit that has nothing else to do to the controller once it has been idle for long enough, step by step.
    /// Only between events, when nothing that the controller ordered waits to be queued.
    #[inline]
    pub(super) fn offer_idle_time(&mut self, unit: Unit) {
        if self.planes_of_units.is_some() && self.is_idle(unit) {
            self.offer(unit);
        }
    }

    #[inline(never)]
    fn offer(&mut self, unit: Unit) {
        let state = &self.units[unit];
        let queued = [Queue::Reads, Queue::Writes, Queue::Background];
        let waits = queued.iter().any(|&queue| state.head(queue) != NONE);
        if waits || state.suspended.is_some() || !self.idle_long_enough(unit) {
            return;
        }
        let Some(planes) = &self.planes_of_units else { return };
        if let Err(error) = self.controller.use_idle_time(&planes[unit.index()], &mut self.own_ops) {
            self.failed.get_or_insert(error.into());
        }
        self.queue_own(false);
    }

    /// Notes that an operation of a job has ended. The controller is told when the event in hand is over, so
    /// that the queues are consistent when the controller orders something.
    #[inline]
    pub(super) fn note_job_done(&mut self, op: &Op) {
        if op.job < IDLE_STEP {
            self.jobs_done.push(op.job);
        }
    }

    /// Tells the controller of the operations of jobs that have ended, and queues what it orders next. Some
    /// of those orders take no time and end at once: they are told in the same call.
    #[inline]
    pub(super) fn tell_jobs_done(&mut self) {
        if !self.jobs_done.is_empty() {
            self.go_on_with_jobs();
        }
    }

    #[cold]
    fn go_on_with_jobs(&mut self) {
        // In the order in which they ended; what ends meanwhile is appended to the list.
        let mut at = 0;
        while at < self.jobs_done.len() {
            let job = self.jobs_done[at];
            at += 1;
            let (controller, loads, own_ops) = self.controller_and_loads();
            if let Err(error) = controller.job_done(job, &loads, own_ops) {
                self.failed.get_or_insert(error.into());
            }
            self.queue_own(false);
        }
        self.jobs_done.clear();
    }
}
