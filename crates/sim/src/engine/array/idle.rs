//! When a unit has time for background jobs.

use flashtwin_ftl::{IDLE_STEP, Unit};

use super::{Array, NONE, Op, Queue};

impl Array {
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

    /// Whether a unit is idle with nothing queued and nothing suspended, and has been for long enough.
    pub(super) fn has_idle_time(&mut self, unit: Unit) -> bool {
        let state = &self.units[unit];
        let queued = [Queue::Reads, Queue::Writes, Queue::Background];
        let waits = queued.iter().any(|&queue| state.head(queue) != NONE);
        self.is_idle(unit) && !waits && state.suspended.is_none() && self.idle_long_enough(unit)
    }

    /// Notes that an operation of a job has ended. The controller hears of it after the present
    /// event, so that the queues are consistent when it orders operations.
    #[inline]
    pub(super) fn note_job_done(&mut self, op: &Op) {
        if op.job < IDLE_STEP {
            self.news.jobs_done.push(op.job);
        }
    }
}
