//! Pages that are read every day and overwritten in place in between.

use std::collections::{HashMap, VecDeque};

use super::plan::ValuesPlan;
use super::pool::Extent;
use crate::random::Random;

/// Renewals come this much faster than evenly, so that they are before the reads of the day.
const EARLIER: f64 = 3.0;

#[derive(Debug, Default)]
pub(super) struct Renewed {
    /// The content of each page that was overwritten, or took the place of one.
    contents: HashMap<u32, u32>,
    /// First page and number of those that today still renews, in the order of the day's reads, and their pages.
    due: VecDeque<(u32, u32)>,
    due_pages: u64,
    /// Page writes of a day, and of this one.
    writes_of_day: u64,
    written_today: u64,
    /// Pages still to be renewed in the round.
    pub(super) left: u64,
}

impl Renewed {
    pub(super) fn new(values: &ValuesPlan, writes_of_day: u64) -> Renewed {
        Renewed { left: values.renewed().0, writes_of_day, ..Renewed::default() }
    }

    pub(super) fn go_on(&mut self, values: &ValuesPlan) {
        self.left = values.renewed().1;
    }

    /// Those that yesterday had no writes for stay as they are.
    pub(super) fn begin_day(&mut self) {
        self.left = self.left.saturating_sub(std::mem::take(&mut self.due_pages));
        self.due.clear();
        self.written_today = 0;
    }

    pub(super) fn ask(&mut self, start: u32, pages: u32) {
        self.due_pages += u64::from(pages);
        match self.due.back_mut() {
            Some((first, count)) if *first + *count == start => *count += pages,
            _ => self.due.push_back((start, pages)),
        }
    }

    /// How many pages the next run of writes may have if it is to renew some; `None`: it goes elsewhere, where runs have
    /// `mean` pages.
    pub(super) fn room(&self, mean: f64, random: &mut Random) -> Option<u64> {
        let &(_, pages) = self.due.front()?;
        let to_come = self.writes_of_day.saturating_sub(self.written_today).max(1);
        // Of pages, not of runs: those of a renewal are shorter.
        let share = (self.due_pages as f64 * EARLIER / to_come as f64).min(1.0);
        let runs = share * mean / (share * mean + (1.0 - share) * f64::from(pages));
        random.chance(runs).then_some(u64::from(pages))
    }

    pub(super) fn note(&mut self, pages: u64) {
        self.written_today += pages;
    }

    /// The first of `pages` pages in a row that are due, which then are not any more; none if there are fewer in a row.
    pub(super) fn take(&mut self, pages: u64) -> Option<u32> {
        let (start, count) = self.due.front_mut().filter(|(_, count)| u64::from(*count) >= pages)?;
        let first = *start;
        (*start, *count) = (*start + pages as u32, *count - pages as u32);
        if *count == 0 {
            self.due.pop_front();
        }
        self.due_pages -= pages;
        self.left = self.left.saturating_sub(pages);
        Some(first)
    }

    pub(super) fn set(&mut self, page: u32, value: u32) {
        self.contents.insert(page, value);
    }

    /// Puts what pages from `start` on hold by now in the place of `values`.
    pub(super) fn look(&self, start: u64, values: &mut [u32]) {
        if self.contents.is_empty() {
            return;
        }
        for (page, value) in (start as u32..).zip(values) {
            *value = self.contents.get(&page).copied().unwrap_or(*value);
        }
    }

    /// Pages from `to` on hold the same as the pages of an extent.
    pub(super) fn copy(&mut self, from: Extent, to: u32) {
        for at in 0..from.pages {
            if let Some(&value) = self.contents.get(&(from.start + at)) {
                self.contents.insert(to + at, value);
            }
        }
    }
}
