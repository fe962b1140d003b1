//! The receiver of single requests: none, a table of requests, a timeline, or the caller of the engine.

use crate::engine::{Arrived, Completed};
use crate::error::SimError;
use crate::requests::{RequestLog, RequestTable};
use crate::timeline::Timeline;

#[derive(Debug)]
pub(crate) enum Following {
    Nobody,
    Log(Box<RequestLog>),
    /// A timeline, and a table if one is wanted as well.
    Timeline(Box<Timeline>, Option<Box<RequestLog>>),
    /// The caller of the engine, who takes completed requests from time to time.
    Caller(Box<Completions>),
}

impl Following {
    pub(super) fn arrived(&mut self, request: u32, arrived: &Arrived) {
        match self {
            Self::Nobody => {}
            Self::Log(log) => log.arrived(request, arrived),
            Self::Timeline(timeline, log) => {
                timeline.arrived(request, arrived);
                log.iter_mut().for_each(|log| log.arrived(request, arrived));
            }
            Self::Caller(completions) => completions.arrived(request, arrived),
        }
    }

    pub(super) fn trimmed(&mut self, arrived: &Arrived) {
        match self {
            Self::Nobody => {}
            Self::Log(log) => log.trimmed(arrived),
            Self::Timeline(timeline, log) => {
                timeline.trimmed(arrived);
                log.iter_mut().for_each(|log| log.trimmed(arrived));
            }
            Self::Caller(completions) => completions.done.push((arrived.number, arrived.arrival_ns)),
        }
    }

    #[inline]
    pub(super) fn completed(&mut self, done: &Completed<'_>) {
        match self {
            Self::Nobody => {}
            Self::Log(log) => log.completed(done),
            Self::Timeline(timeline, log) => {
                timeline.completed(done);
                log.iter_mut().for_each(|log| log.completed(done));
            }
            Self::Caller(completions) => completions.completed(done),
        }
    }

    /// Reports the first failure to write.
    pub(crate) fn check(&mut self) -> Result<(), SimError> {
        match self {
            Self::Log(log) => log.check(),
            Self::Timeline(timeline, log) => {
                timeline.check()?;
                log.as_mut().map_or(Ok(()), |log| log.check())
            }
            Self::Nobody | Self::Caller(_) => Ok(()),
        }
    }

    #[inline]
    pub(super) fn timeline(&mut self) -> Option<&mut Timeline> {
        if let Self::Timeline(timeline, _) = self { Some(timeline) } else { None }
    }

    /// The run has ended. Returns the table of requests, if it is wanted.
    pub(crate) fn finish(&mut self, end_ns: u64) -> Result<Option<RequestTable>, SimError> {
        match std::mem::replace(self, Self::Nobody) {
            Self::Log(log) => log.finish().map(Some),
            Self::Timeline(timeline, log) => {
                timeline.finish(end_ns)?;
                log.map(|log| log.finish()).transpose()
            }
            Self::Nobody | Self::Caller(_) => Ok(None),
        }
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
