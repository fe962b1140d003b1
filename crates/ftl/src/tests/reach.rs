//! Access to the controller's internals for tests.

use crate::content::replication::{PriorityLru, Replicator};
use crate::content::{Candidate, ContentMap};
use crate::ftl::{Form, Ftl};
use crate::inverted::InvertedMap;
use crate::jobs::Jobs;
use crate::op::FlashOp;
use crate::page::PageMap;
use crate::page::spread::Spreader;

/// The map of a controller, by its form.
pub(crate) enum Map<'a> {
    Page(&'a PageMap),
    Content(&'a ContentMap),
    Inverted(&'a InvertedMap),
}

impl Ftl {
    pub(crate) fn map(&self) -> Map<'_> {
        match &self.tables {
            Form::Page(side) => Map::Page(side.map()),
            Form::Content(side) => Map::Content(&side.tables.map),
            Form::Inverted(side) => Map::Inverted(&side.map),
        }
    }

    pub(crate) fn contents_mut(&mut self) -> &mut ContentMap {
        match &mut self.tables {
            Form::Content(side) => &mut side.tables.map,
            Form::Page(_) | Form::Inverted(_) => unreachable!("the options say content"),
        }
    }

    pub(crate) fn spreader(&self) -> Option<&Spreader> {
        match &self.tables {
            Form::Page(side) => side.spreader(),
            Form::Content(_) | Form::Inverted(_) => None,
        }
    }

    /// The classes of priority-LRU, where that is the policy of replication.
    pub(crate) fn recency(&self) -> Option<&PriorityLru> {
        match &self.tables {
            Form::Content(side) => side.replicator.as_ref().and_then(Replicator::recency),
            Form::Page(_) | Form::Inverted(_) => None,
        }
    }

    pub(crate) fn jobs_under_way(&self) -> u32 {
        match &self.tables {
            Form::Page(side) => side.spreader().map_or(0, Spreader::jobs_under_way),
            Form::Content(side) => side.jobs.len(),
            Form::Inverted(_) => 0,
        }
    }

    /// No job is begun from now on: the test orders and ends reads itself.
    pub(crate) fn refuse_jobs(&mut self) {
        if let Form::Content(side) = &mut self.tables {
            side.jobs = Jobs::new(0);
        }
    }

    pub(crate) fn fingerprint_read(&mut self, page: Candidate) {
        if let Form::Content(side) = &mut self.tables {
            side.fingerprint_read(page, &mut self.flash).unwrap();
        }
    }

    pub(crate) fn dedup_by_hand(&mut self, budget: u32, ops: &mut Vec<FlashOp>, pages: &mut Vec<Candidate>) {
        if let Form::Content(side) = &mut self.tables {
            side.dedup_by_hand(budget, &mut self.flash, ops, pages).unwrap();
        }
    }
}
