//! Access to the controller's internals for tests.

use crate::content::replication::{PriorityLru, Replicator};
use crate::content::{Candidate, ContentMap};
use crate::ftl::{Ftl, Scheme};
use crate::inverted::InvertedMap;
use crate::jobs::Jobs;
use crate::op::FlashOp;
use crate::page::PageMap;
use crate::page::spread::Spreader;

pub(crate) enum Map<'a> {
    Page(&'a PageMap),
    Content(&'a ContentMap),
    Inverted(&'a InvertedMap),
}

impl Ftl {
    pub(crate) fn map(&self) -> Map<'_> {
        match &self.tables {
            Scheme::Page(scheme) => Map::Page(scheme.map()),
            Scheme::Content(scheme) => Map::Content(&scheme.tables.map),
            Scheme::Inverted(scheme) => Map::Inverted(&scheme.tables.map),
        }
    }

    pub(crate) fn contents_mut(&mut self) -> &mut ContentMap {
        match &mut self.tables {
            Scheme::Content(scheme) => &mut scheme.tables.map,
            Scheme::Page(_) | Scheme::Inverted(_) => unreachable!("the options say content"),
        }
    }

    pub(crate) fn spreader(&self) -> Option<&Spreader> {
        match &self.tables {
            Scheme::Page(scheme) => scheme.spreader(),
            Scheme::Content(_) | Scheme::Inverted(_) => None,
        }
    }

    pub(crate) fn recency(&self) -> Option<&PriorityLru> {
        match &self.tables {
            Scheme::Content(scheme) => scheme.replicator.as_ref().and_then(Replicator::recency),
            Scheme::Page(_) | Scheme::Inverted(_) => None,
        }
    }

    pub(crate) fn jobs_under_way(&self) -> u32 {
        match &self.tables {
            Scheme::Page(scheme) => scheme.spreader().map_or(0, Spreader::jobs_under_way),
            Scheme::Content(scheme) => scheme.jobs.len(),
            Scheme::Inverted(_) => 0,
        }
    }

    /// No job is begun from now on: the test orders and ends reads itself.
    pub(crate) fn refuse_jobs(&mut self) {
        if let Scheme::Content(scheme) = &mut self.tables {
            scheme.jobs = Jobs::new(0);
        }
    }

    pub(crate) fn fingerprint_read(&mut self, page: Candidate) {
        if let Scheme::Content(scheme) = &mut self.tables {
            scheme.fingerprint_read(page, &mut self.flash).unwrap();
        }
    }

    pub(crate) fn dedup_by_hand(&mut self, budget: u32, ops: &mut Vec<FlashOp>, pages: &mut Vec<Candidate>) {
        if let Scheme::Content(scheme) = &mut self.tables {
            scheme.dedup_by_hand(budget, &mut self.flash, ops, pages).unwrap();
        }
    }
}
