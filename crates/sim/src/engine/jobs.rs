//! Background jobs of the controller: told when their operations are done.

use flashtwin_ftl::NO_JOB;

use super::pool::Op;
use super::{Controller, Engine, Observer};

impl<C: Controller, O: Observer> Engine<C, O> {
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
