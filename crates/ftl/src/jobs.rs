//! Background jobs: work of several flash operations in idle time. They carry the job's number
//! ([`crate::FlashOp::job`]), and the driver reports when each is done. Then the controller decides the next step.

use flashtwin_bits::{Loader, Saver, Slab, State, StateResult, unfit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{RangeError, at_least_one};

/// Work in idle time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackgroundConfig {
    /// Most jobs that wait for idle time or are under way; further ones are dropped and counted.
    /// For example 256.
    #[schemars(extend("x-moves" = "reads and writes: which work in idle time is dropped"))]
    pub jobs: u32,
}

impl Default for BackgroundConfig {
    fn default() -> Self {
        Self { jobs: 4096 }
    }
}

impl BackgroundConfig {
    pub(crate) fn check(&self) -> Result<(), RangeError> {
        at_least_one([("background.jobs", self.jobs)])
    }
}

/// A cache line, where the work is not too large.
#[derive(Clone)]
#[repr(align(64))]
struct Slot<T> {
    work: Option<T>,
    ops_left: u32,
}

/// Jobs under way, up to a limit, because a device without idle time must not collect work without end.
#[derive(Clone)]
pub(crate) struct Jobs<T> {
    slots: Slab<Slot<T>>,
    limit: u32,
}

impl<T> Jobs<T> {
    pub(crate) fn new(limit: u32) -> Self {
        Self { slots: Slab::new(), limit }
    }

    pub(crate) fn len(&self) -> u32 {
        self.slots.taken()
    }

    /// Begins a job of `ops` operations, at least one; `None` when too many wait already.
    pub(crate) fn begin(&mut self, work: T, ops: u32) -> Option<u32> {
        debug_assert!(ops > 0);
        if self.len() >= self.limit {
            return None;
        }
        Some(self.slots.insert(Slot { work: Some(work), ops_left: ops }))
    }

    pub(crate) fn under_way(&self, job: u32) -> Option<(&T, u32)> {
        let slot = self.slots.get(job as usize)?;
        Some((slot.work.as_ref()?, slot.ops_left))
    }

    /// One operation of a job is done; its work, when it was the last one.
    pub(crate) fn op_done(&mut self, job: u32) -> Option<T> {
        let slot = self.slots.get_mut(job as usize)?;
        slot.ops_left = slot.ops_left.saturating_sub(1);
        if slot.ops_left > 0 {
            return None;
        }
        let work = slot.work.take()?;
        self.slots.free(job);
        Some(work)
    }
}

/// Between page operations of preloading no job is under way: only how many there were at once is left.
impl<T> State for Jobs<T> {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        if self.len() > 0 {
            return Err(unfit("background jobs are under way"));
        }
        self.slots.save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        self.slots.load(from)
    }
}

impl<T> State for Slot<T> {
    fn save(&self, _to: &mut Saver<'_>) -> StateResult {
        Ok(())
    }

    fn load(&mut self, _from: &mut Loader<'_>) -> StateResult {
        Ok(())
    }

    fn blank() -> Option<Self> {
        Some(Self { work: None, ops_left: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn job_under_way_has_its_work_and_open_operations() {
        let mut jobs = Jobs::new(10);
        let job = jobs.begin("work", 3).unwrap();
        assert_eq!(jobs.under_way(job), Some((&"work", 3)));
        assert_eq!(jobs.op_done(job), None);
        assert_eq!((jobs.under_way(job), jobs.under_way(job + 1)), (Some((&"work", 2)), None));
        assert_eq!([jobs.op_done(job), jobs.op_done(job)], [None, Some("work")]);
        assert_eq!(jobs.under_way(job), None);
        assert_eq!(jobs.op_done(job), None, "told once too often");
    }

    #[test]
    fn saved_jobs_go_on_with_the_same_numbers() {
        let mut jobs = Jobs::new(10);
        let begun: Vec<u32> = (0..4).map(|work| jobs.begin(work, 1).unwrap()).collect();
        let mut bytes = Vec::new();
        assert!(jobs.save(&mut Saver::new(&mut bytes)).is_err(), "four are under way");
        begun.iter().for_each(|&job| assert!(jobs.op_done(job).is_some()));
        let mut loaded = Jobs::new(10);
        crate::tests::reload(&jobs, &mut loaded);
        assert_eq!(loaded.len(), 0);
        let numbers = |jobs: &mut Jobs<u32>| (0..6).map(|work| jobs.begin(work, 1)).collect::<Vec<_>>();
        assert_eq!(numbers(&mut loaded), numbers(&mut jobs));
    }

    #[test]
    fn jobs_stay_within_the_limit_and_numbers_are_unique() {
        let mut rng = Rng::stream(3, "jobs");
        let mut jobs = Jobs::new(5);
        let mut open: Vec<(u32, u32)> = Vec::new();
        for work in 0..2_000 {
            match jobs.begin(work, 1) {
                Some(job) => {
                    assert!(open.iter().all(|&(other, _)| other != job));
                    open.push((job, work));
                }
                None => assert_eq!(open.len(), 5),
            }
            if rng.below(2) == 0 && !open.is_empty() {
                let (job, work) = open.swap_remove(rng.below(open.len() as u32) as usize);
                assert_eq!(jobs.op_done(job), Some(work));
            }
            assert_eq!(jobs.len() as usize, open.len());
        }
    }
}
