//! The receivers of single requests: tables of requests and of volumes, a timeline, the caller of the engine.

use super::ByVolume;
use crate::engine::{Arrived, Command, Completed, Hashing};
use crate::error::SimError;
use crate::requests::{HostRequests, RequestLog, RequestTable};
use crate::timeline::Timeline;
use flashtwin_ftl::Lpn;

#[derive(Debug, Default)]
pub(crate) struct Receivers {
    /// Whether there is any, because each request asks.
    wanted: bool,
    log: Option<Box<RequestLog>>,
    by_volume: Option<Box<ByVolume>>,
    pub(super) timeline: Option<Box<Timeline>>,
    /// Number and end of each completed request, for the caller of the engine, who takes them from time to time.
    pub(crate) completions: Option<Vec<(u64, u64)>>,
    /// Completed requests for a host in virtual time.
    pub(crate) for_host: Option<Box<HostRequests>>,
    /// Tables leave out requests before this one.
    first: u64,
    /// By the engine's slots, which are used again.
    under_way: Vec<Option<Arrived>>,
}

/// Of a drive without files that grow: it has no timeline and no log.
impl Clone for Receivers {
    fn clone(&self) -> Self {
        let Self { wanted, log, by_volume, timeline, completions, for_host, first, under_way } = self;
        debug_assert!(log.is_none() && timeline.is_none(), "nobody clones what is being written");
        Self {
            wanted: *wanted,
            log: None,
            by_volume: by_volume.clone(),
            timeline: None,
            completions: completions.clone(),
            for_host: for_host.clone(),
            first: *first,
            under_way: under_way.clone(),
        }
    }
}

impl Receivers {
    pub(crate) fn new(
        log: Option<RequestLog>,
        by_volume: Option<ByVolume>,
        timeline: Option<Timeline>,
    ) -> Self {
        let wanted = log.is_some() || by_volume.is_some() || timeline.is_some();
        let (log, by_volume, timeline) = (log.map(Box::new), by_volume.map(Box::new), timeline.map(Box::new));
        Self { wanted, log, by_volume, timeline, ..Self::default() }
    }

    pub(crate) fn restart(&mut self, first: u64) {
        self.first = first;
        self.by_volume.iter_mut().for_each(|volumes| volumes.restart());
    }

    pub(crate) fn to_caller() -> Self {
        Self { wanted: true, completions: Some(Vec::new()), ..Self::default() }
    }

    /// The same for a host in virtual time, too.
    pub(crate) fn and_host(self) -> Self {
        Self { wanted: true, for_host: Some(Box::default()), ..self }
    }

    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    pub(super) fn arrived(&mut self, request: u32, arrived: &Arrived) {
        let slot = request as usize;
        self.under_way.resize(self.under_way.len().max(slot + 1), None);
        self.under_way[slot] = Some(*arrived);
        self.timeline.iter_mut().for_each(|timeline| timeline.arrived(request, arrived));
    }

    pub(super) fn trimmed(&mut self, arrived: &Arrived, now_ns: u64) {
        if arrived.number >= self.first {
            self.log.iter_mut().for_each(|log| log.trimmed(arrived));
            self.by_volume.iter_mut().for_each(|volumes| volumes.completed(arrived, None));
        }
        self.timeline.iter_mut().for_each(|timeline| timeline.trimmed(arrived));
        self.completions.iter_mut().for_each(|done| done.push((arrived.number, arrived.arrival_ns)));
        self.for_host.iter_mut().for_each(|host| host.trimmed(arrived, now_ns));
    }

    /// `elsewhere`: another drive answers the host.
    #[inline]
    pub(super) fn completed(&mut self, done: &Completed<'_>, elsewhere: bool) {
        if self.is_wanted() {
            self.tell_completed(done, elsewhere);
        }
    }

    #[cold]
    fn tell_completed(&mut self, done: &Completed<'_>, elsewhere: bool) {
        // The engine reports each arrival before its completion, so the slot is filled.
        let Some(arrived) = self.under_way.get_mut(done.request as usize).and_then(Option::take) else {
            return;
        };
        self.timeline.iter_mut().for_each(|timeline| timeline.completed(&arrived, done));
        if !elsewhere {
            self.answered(&arrived, done);
        }
    }

    pub(super) fn answered(&mut self, arrived: &Arrived, done: &Completed<'_>) {
        if done.number >= self.first {
            self.log.iter_mut().for_each(|log| log.completed(arrived, done));
            self.by_volume.iter_mut().for_each(|volumes| volumes.completed(arrived, Some(done.total_ns)));
        }
        let end_ns = done.arrival_ns + done.total_ns;
        self.completions.iter_mut().for_each(|done| done.push((arrived.number, end_ns)));
        self.for_host.iter_mut().for_each(|host| host.completed(arrived, done));
    }

    pub(super) fn programmed(&mut self, lpn: Lpn) {
        self.by_volume.iter_mut().for_each(|volumes| volumes.programmed(lpn));
    }

    pub(crate) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// `None` for a trace of one volume.
    pub(crate) fn by_volume(&self) -> Option<&ByVolume> {
        self.by_volume.as_deref()
    }

    pub(super) fn command_begins(&mut self, command: &Command<'_>) {
        let number = self.number(command.request);
        self.timeline.iter_mut().for_each(|timeline| timeline.command_begins(command, number));
    }

    pub(super) fn hashing(&mut self, hashing: &Hashing) {
        let number = self.number(hashing.request);
        self.timeline.iter_mut().for_each(|timeline| timeline.hashing(hashing, number));
    }

    /// The place in the trace of the host's request in a slot of the engine.
    fn number(&self, slot: Option<u32>) -> Option<u64> {
        Some((*self.under_way.get(slot? as usize)?)?.number)
    }

    pub(crate) fn check(&mut self) -> Result<(), SimError> {
        self.timeline.as_mut().map_or(Ok(()), |timeline| timeline.check())?;
        self.log.as_mut().map_or(Ok(()), |log| log.check())
    }

    /// Returns the table of requests, if it is wanted.
    pub(crate) fn finish(&mut self, end_ns: u64) -> Result<Option<RequestTable>, SimError> {
        self.timeline.take().map_or(Ok(()), |timeline| timeline.finish(end_ns))?;
        self.log.take().map(|log| log.finish()).transpose()
    }
}
