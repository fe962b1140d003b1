//! Background jobs of the controller: it is offered idle time, and hears when an operation of a job has ended.

use flashtwin_ftl::Unit;

use super::{Controller, Engine, Observer};

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Offers a unit that has nothing else to do to the controller once it has been idle for long enough, step by step.
    /// Only between events, when nothing that the controller ordered waits to be queued.
    #[inline]
    pub(super) fn offer_idle_time(&mut self, unit: Unit) {
        if self.planes_of_units.is_some() && self.array.is_idle(unit) {
            self.offer(unit);
        }
    }

    #[inline(never)]
    fn offer(&mut self, unit: Unit) {
        if !self.array.has_idle_time(unit) {
            return;
        }
        let Some(planes) = &self.planes_of_units else { return };
        if let Err(error) = self.controller.use_idle_time(&planes[unit.index()], &mut self.own_ops) {
            self.accounts.fail(error);
        }
        self.queue_own(false);
    }

    /// Tells the controller of the operations of jobs that have ended, and queues what it orders next. Some
    /// of those orders take no time and end at once: they are told in the same call.
    #[inline]
    pub(super) fn tell_jobs_done(&mut self) {
        if !self.array.news.jobs_done.is_empty() {
            self.go_on_with_jobs();
        }
    }

    #[cold]
    fn go_on_with_jobs(&mut self) {
        // In the order in which they ended; what ends meanwhile is appended to the list.
        let mut at = 0;
        while at < self.array.news.jobs_done.len() {
            let job = self.array.news.jobs_done[at];
            at += 1;
            let (controller, loads, own_ops) = self.controller_and_loads();
            if let Err(error) = controller.job_done(job, &loads, own_ops) {
                self.accounts.fail(error);
            }
            self.queue_own(false);
        }
        self.array.news.jobs_done.clear();
    }
}
