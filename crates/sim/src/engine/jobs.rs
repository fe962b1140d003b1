//! Background jobs of the controller: told when their operations are done.

use flashtwin_ftl::NO_JOB;

use super::pool::{NONE, Op};
use super::unit::Queue;
use super::{Controller, Engine, Observer};

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Whether a unit that has nothing else to do has been so for as long as jobs are to wait (a fixed
    /// timer: Golding et al., USENIX 1995); if not, it is looked at again when it has. Once they have
    /// begun, jobs follow one another until other work comes.
    #[inline]
    pub(super) fn idle_long_enough(&mut self, unit: u32) -> bool {
        self.idle_ns == 0 || self.idle_time_is_up(unit)
    }

    fn idle_time_is_up(&mut self, unit: u32) -> bool {
        let state = &self.units[unit as usize];
        // An erase may wait for a job's program: then the job is what the unit has to do.
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

    /// Notes that an operation of a job is done. The controller is told once the event that ended it
    /// is over: what it orders then finds all queues in order.
    #[inline]
    pub(super) fn note_job_done(&mut self, op: &Op) {
        if op.job != NO_JOB {
            self.jobs_done.push(op.job);
        }
    }

    /// Tells the controller of operations that are done, and queues what it orders; some of that may
    /// take no time and be done at once.
    #[inline]
    pub(super) fn tell_jobs_done(&mut self) {
        if !self.jobs_done.is_empty() {
            self.go_on_with_jobs();
        }
    }

    #[cold]
    fn go_on_with_jobs(&mut self) {
        // In the order in which they were done; what comes meanwhile is appended.
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
