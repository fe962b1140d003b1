//! The receivers of single requests: a table of requests, a timeline, the caller of the engine.

use crate::engine::{Arrived, Completed};
use crate::error::SimError;
use crate::requests::{RequestLog, RequestTable};
use crate::timeline::Timeline;

/// Most runs have none of them.
#[derive(Debug, Default)]
pub(crate) struct Receivers {
    /// A table of all requests.
    pub(crate) log: Option<Box<RequestLog>>,
    /// It also receives commands and hashes.
    pub(crate) timeline: Option<Box<Timeline>>,
    /// For the caller of the engine, who takes completed requests from time to time.
    pub(crate) completions: Option<Box<Completions>>,
}

impl Receivers {
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.log.is_some() || self.timeline.is_some() || self.completions.is_some()
    }

    pub(super) fn arrived(&mut self, request: u32, arrived: &Arrived) {
        self.log.iter_mut().for_each(|log| log.arrived(request, arrived));
        self.timeline.iter_mut().for_each(|timeline| timeline.arrived(request, arrived));
        self.completions.iter_mut().for_each(|completions| completions.arrived(request, arrived));
    }

    pub(super) fn trimmed(&mut self, arrived: &Arrived) {
        self.log.iter_mut().for_each(|log| log.trimmed(arrived));
        self.timeline.iter_mut().for_each(|timeline| timeline.trimmed(arrived));
        let trim = (arrived.number, arrived.arrival_ns);
        self.completions.iter_mut().for_each(|completions| completions.done.push(trim));
    }

    #[inline]
    pub(super) fn completed(&mut self, done: &Completed<'_>) {
        self.log.iter_mut().for_each(|log| log.completed(done));
        self.timeline.iter_mut().for_each(|timeline| timeline.completed(done));
        self.completions.iter_mut().for_each(|completions| completions.completed(done));
    }

    /// Reports the first failure to write.
    pub(crate) fn check(&mut self) -> Result<(), SimError> {
        self.timeline.as_mut().map_or(Ok(()), |timeline| timeline.check())?;
        self.log.as_mut().map_or(Ok(()), |log| log.check())
    }

    /// The run has ended. Returns the table of requests, if it is wanted.
    pub(crate) fn finish(&mut self, end_ns: u64) -> Result<Option<RequestTable>, SimError> {
        let Self { log, timeline, .. } = std::mem::take(self);
        timeline.map_or(Ok(()), |timeline| timeline.finish(end_ns))?;
        log.map(|log| log.finish()).transpose()
    }
}

/// Requests completed since the caller last looked.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    /// The number of the request in each slot of the engine.
    under_way: Vec<u64>,
    /// Number, and when it was complete.
    pub(crate) done: Vec<(u64, u64)>,
}

impl Completions {
    #[cold]
    fn arrived(&mut self, request: u32, arrived: &Arrived) {
        let slot = request as usize;
        if slot >= self.under_way.len() {
            self.under_way.resize(slot + 1, 0);
        }
        self.under_way[slot] = arrived.number;
    }

    #[cold]
    fn completed(&mut self, done: &Completed<'_>) {
        let number = self.under_way.get(done.request as usize).copied().unwrap_or_default();
        self.done.push((number, done.arrival_ns + done.total_ns));
    }
}
