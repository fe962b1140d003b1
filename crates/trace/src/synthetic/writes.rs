//! Page writes of a synthetic workload: to which pages they go and which values they bring.

use std::collections::VecDeque;

use super::order::Order;
use super::places::Places;
use super::plan::{Plan, ValuesPlan};
use super::pool::{Extent, GROUP, NONE, Occurrence};
use super::renewed::Renewed;
use super::runs::Runs;
use crate::random::Random;

#[derive(Clone, Copy, Debug)]
struct Held {
    value: u32,
    entry: u32,
}

/// The writes of a workload. Pages of the address space: first those that are overwritten, behind them those that are
/// written once and then read, and at the end those that are only read.
#[derive(Debug)]
pub(super) struct Writes {
    order: Order,
    pub(super) runs: Runs,
    /// The content of each page that has been written and may be overwritten, by [`Places::index`].
    held: Vec<Held>,
    /// Which of the pages that may be overwritten is written next.
    places: Places,
    /// How many pages are still to be written once and then kept to be read.
    to_keep: u64,
    /// How many pages were to be kept and could not be, because no run fitted. The plan of the reads takes it over.
    pub(super) not_kept: u64,
    /// The end of the pages that are written to be kept next: that part of the address space fills downwards.
    keep_next: u64,
    /// How many pages are still to be written once with contents that others hold, too, and the end of the next.
    to_share: u64,
    share_next: u64,
    /// The content of their last write, and how many more of them may hold it.
    sharing: (Held, u32),
    /// How many page writes of the whole workload are to bring the content that their page already holds.
    same_content: u64,
    pages: u64,
    pages_done: u64,
    same_done: u64,
    /// How many page writes may bring back a value that no page holds any more; `None`: left to chance.
    reborn: Option<u64>,
    reborn_done: u64,
    /// How many values are still to be written that were read before.
    read_before: u64,
    /// Runs of values that were read from pages which lay there, and not written; kept while some are to be.
    read: Vec<Extent>,
    /// With this probability, 0 to 1, a value that is to be read is drawn by its popularity among writes.
    agreement: f64,
    recent: [u64; RECENT],
    /// How many runs of overwrites there were: the next one's place in `recent`, modulo its length.
    next_recent: usize,
    sizes: Vec<u32>,
    random: Random,
    /// Runs that were written to be kept and have not been read yet.
    pub(super) kept: VecDeque<Extent>,
    pub(super) renewed: Renewed,
}

/// Pages to be kept are written this much faster than evenly, so that enough of the workload is left to read them.
const KEPT_EARLIER: f64 = 1.15;

/// Places looked at to find one whose overwriting loses few values that no other page holds and that come again.
const TRIES: u32 = 16;

const RECENT: usize = 64;
/// Stands in `recent` for a run that has not been yet.
const NOWHERE: u64 = u64::MAX;

impl Writes {
    pub(super) fn new(plan: &Plan, values: &ValuesPlan, runs: Runs, random: Random) -> Writes {
        let shared = values.pages_shared;
        let fresh = plan.footprint - values.pages_read() - shared;
        let mut order = Order::new(&values.writes);
        let renewed = Renewed::new(values, runs.pages / plan.days);
        order.reserved = values.pages_kept + renewed.left;
        Writes {
            order,
            held: Vec::with_capacity(fresh as usize),
            places: Places::new(fresh, plan.overwrite_skew),
            to_keep: values.pages_kept,
            not_kept: 0,
            keep_next: fresh + shared + values.pages_kept,
            to_share: shared,
            share_next: fresh + shared,
            sharing: (Held { value: NONE, entry: NONE }, 0),
            same_content: values.same_content,
            pages: runs.pages,
            runs,
            pages_done: 0,
            same_done: 0,
            reborn: values.reborn,
            reborn_done: 0,
            read_before: values.read_before,
            read: Vec::new(),
            agreement: values.agreement,
            recent: [NOWHERE; RECENT],
            next_recent: 0,
            sizes: Vec::new(),
            random,
            kept: VecDeque::new(),
            renewed,
        }
    }

    /// Goes on with another round of as many writes, in the pages of which those to be kept lie from `base` on.
    pub(super) fn go_on(&mut self, values: &ValuesPlan, runs: Runs, base: u64, random: Random) {
        self.order.go_on(&values.writes);
        self.renewed.go_on(values);
        self.order.reserved = values.later.kept + self.renewed.left;
        // All occurrences of the last round's values have come.
        self.held.iter_mut().for_each(|held| held.entry = NONE);
        self.kept.clear();
        self.sharing.1 = 0;
        self.read_before = values.read_before;
        self.read.clear();
        (self.to_keep, self.not_kept) = (values.later.kept, 0);
        self.keep_next = base + values.later.kept;
        (self.pages, self.pages_done) = (runs.pages, 0);
        (self.same_done, self.reborn_done) = (0, 0);
        self.runs = runs;
        self.random = random;
    }

    /// Makes the next run of at most `room` requests: its first page, the pages of each request, the `values` of pages.
    /// New values are numbered from `next_value`.
    pub(super) fn next(&mut self, room: u64, next_value: &mut u32, values: &mut Vec<u32>) -> (u64, &[u32]) {
        let left = self.runs.pages;
        let values_left = self.order.unseen_lasting().saturating_sub(self.to_keep);
        let renews =
            self.renewed.room(self.runs.mean_pages(), &mut self.random).filter(|&most| most <= values_left);
        self.runs.next(
            self.places.top,
            renews.map_or(room, |most| most.min(room)),
            &mut self.sizes,
            &mut self.random,
        );
        let pages: u64 = self.sizes.iter().copied().map(u64::from).sum();
        self.renewed.note(pages);
        values.clear();
        let start = if let Some(start) = renews.and_then(|_| self.renewed.take(pages)) {
            self.renew(start, pages, next_value, values)
        } else if self.keeps(pages, left) {
            self.keep(pages, next_value, values)
        } else if self.shares(pages, left) {
            self.share(pages, next_value, values)
        } else {
            self.overwrite(pages, left, next_value, values)
        };
        (start, &self.sizes)
    }

    /// The first of `pages` written pages in a row, at a place drawn as overwrites are; none where fewer are written.
    pub(super) fn live(&mut self, pages: u64) -> Option<u64> {
        self.places.again(pages, &mut self.random)
    }

    pub(super) fn contents(&self, start: u64, pages: u64, values: &mut Vec<u32>) {
        values.clear();
        values.extend((start..start + pages).map(|page| self.held[self.places.index(page)].value));
    }

    /// Whether the run in hand, of `pages` pages, is written to be kept; `left` page writes are still to come.
    fn keeps(&mut self, pages: u64, left: u64) -> bool {
        if self.to_keep == 0 {
            return false;
        }
        if self.to_keep < pages || self.order.unseen_lasting() < self.to_keep {
            self.not_kept += std::mem::take(&mut self.to_keep);
            self.order.reserved = self.renewed.left;
            return false;
        }
        let share = self.to_keep as f64 / left as f64 * KEPT_EARLIER;
        self.random.unit() <= share
    }

    fn keep(&mut self, pages: u64, next_value: &mut u32, values: &mut Vec<u32>) -> u64 {
        self.places.forget();
        self.to_keep -= pages;
        self.keep_next -= pages;
        self.order.reserved = self.to_keep + self.renewed.left;
        // Pages have numbers of 32 bits, as in every replay.
        let extent = Extent { start: self.keep_next as u32, pages: pages as u32, value: *next_value, cut: 0 };
        self.kept.push_back(extent);
        self.first_values(pages, next_value, values);
        self.keep_next
    }

    /// Writes pages that are read every day; nobody else overwrites them.
    fn renew(&mut self, start: u32, pages: u64, next_value: &mut u32, values: &mut Vec<u32>) -> u64 {
        self.places.forget();
        self.order.reserved = self.to_keep + self.renewed.left;
        self.first_values(pages, next_value, values);
        for (page, &value) in (start..).zip(&*values) {
            self.renewed.set(page, value);
        }
        u64::from(start)
    }

    /// Values for pages that are to be read, written for the first time.
    fn first_values(&mut self, pages: u64, next_value: &mut u32, values: &mut Vec<u32>) {
        for _ in 0..pages {
            let evenly = self.agreement == 0.0 || self.random.unit() > self.agreement;
            let held = match self.order.first(evenly, &mut self.random) {
                Occurrence::First { entry } => self.new_value(entry, next_value),
                again @ Occurrence::Again { .. } => self.value(again, next_value),
            };
            self.hold(held);
            values.push(held.value);
        }
        self.pages_done += pages;
    }

    fn shares(&mut self, pages: u64, left: u64) -> bool {
        self.to_share >= pages
            && self.random.below(left.saturating_sub(self.to_keep + self.renewed.left).max(1)) < self.to_share
    }

    fn share(&mut self, pages: u64, next_value: &mut u32, values: &mut Vec<u32>) -> u64 {
        self.places.forget();
        self.to_share -= pages;
        self.share_next -= pages;
        for _ in 0..pages {
            let (before, more) = self.sharing;
            if more > 0 && self.order.take(before.entry, before.value) {
                self.sharing.1 -= 1;
                self.hold(before);
                values.push(before.value);
                continue;
            }
            let occurrence = match self.order.first_of_several(&mut self.random) {
                Some(first) => first,
                None => self.order.next(&mut self.random),
            };
            let held = self.value(occurrence, next_value);
            self.sharing = (held, GROUP - 1);
            self.hold(held);
            values.push(held.value);
        }
        self.pages_done += pages;
        self.share_next
    }

    fn overwrite(&mut self, pages: u64, left: u64, next_value: &mut u32, values: &mut Vec<u32>) -> u64 {
        // Of the page writes left, some will be of pages to be kept; the others are overwrites.
        let left = left.saturating_sub(self.to_keep + self.to_share + self.renewed.left);
        // A value written lately will probably be written again. So if rewrites of the same content are behind, pages
        // written lately are overwritten, in the hope of meeting their value.
        let behind = self.same_due() && self.recent.iter().any(|&start| start != NOWHERE);
        let wanted = if behind {
            Some(self.recent[self.random.below(RECENT as u64) as usize]).filter(|&start| start != NOWHERE)
        } else if self.reborn_too_many() {
            self.place_of_fewest_last(pages)
        } else {
            None
        };
        let start = self.places.choose(pages, left, wanted, &mut self.random);
        self.recent[self.next_recent % RECENT] = start;
        self.next_recent += 1;
        self.held.resize(self.places.used() as usize, Held { value: NONE, entry: NONE });
        for page in start..start + pages {
            let index = self.places.index(page);
            let old = self.held[index];
            let held = self.page(old, next_value);
            self.hold(held);
            self.release(old);
            self.held[index] = held;
            values.push(held.value);
        }
        start
    }

    #[inline]
    fn same_due(&self) -> bool {
        let (done, wanted) = (u128::from(self.same_done), u128::from(self.same_content));
        done < wanted && done * u128::from(self.pages) < wanted * u128::from(self.pages_done)
    }

    #[inline]
    fn reborn_too_many(&self) -> bool {
        self.reborn.is_some_and(|reborn| {
            u128::from(self.reborn_done) * u128::from(self.pages)
                >= u128::from(reborn) * u128::from(self.pages_done)
        })
    }

    /// Of some places that were written before, the one with the fewest pages that alone hold a value to come.
    fn place_of_fewest_last(&mut self, pages: u64) -> Option<u64> {
        let mut best = None;
        for _ in 0..TRIES {
            let start = self.places.again(pages, &mut self.random)?;
            let last = (start..start + pages)
                .map(|page| self.held[self.places.index(page)])
                .filter(|held| self.order.entries.is_last(held.entry, held.value))
                .count();
            if best.is_none_or(|(fewest, _)| last < fewest) {
                best = Some((last, start));
            }
            if last == 0 {
                break;
            }
        }
        best.map(|(_, start)| start)
    }

    #[inline]
    fn hold(&mut self, held: Held) {
        if self.reborn.is_some() {
            self.order.entries.hold(held.entry, held.value);
        }
    }

    #[inline]
    fn release(&mut self, held: Held) {
        if self.reborn.is_some() {
            self.order.entries.release(held.entry, held.value);
        }
    }

    /// Chooses the content for a page that holds `old`: the same where that is due, else the next in order.
    #[inline]
    fn page(&mut self, old: Held, next_value: &mut u32) -> Held {
        self.pages_done += 1;
        if self.same_due() && self.order.take(old.entry, old.value) {
            self.same_done += 1;
            return old;
        }
        let occurrence = self.order.next(&mut self.random);
        let held = self.value(occurrence, next_value);
        self.same_done += u64::from(held.value == old.value);
        held
    }

    #[inline]
    fn value(&mut self, occurrence: Occurrence, next_value: &mut u32) -> Held {
        match occurrence {
            Occurrence::Again { entry, what, copies } => {
                self.reborn_done += u64::from(copies == 0);
                Held { value: what.value, entry }
            }
            Occurrence::First { entry } => match self.value_read_before() {
                Some(value) => self.named(entry, value),
                None => self.new_value(entry, next_value),
            },
        }
    }

    fn new_value(&mut self, entry: u32, next_value: &mut u32) -> Held {
        let value = *next_value;
        *next_value += 1;
        self.named(entry, value)
    }

    fn named(&mut self, entry: u32, value: u32) -> Held {
        self.order.entries.name(entry, Extent { start: 0, pages: 1, value, cut: 0 });
        Held { value, entry }
    }

    /// A value read that lay there, where one is due: these are spread evenly over the values written first.
    fn value_read_before(&mut self) -> Option<u32> {
        if self.read_before == 0 || self.read.is_empty() {
            return None;
        }
        let first_writes = (self.order.unseen() + 1).saturating_sub(self.to_keep).max(1);
        if self.random.below(first_writes) >= self.read_before {
            return None;
        }
        self.read_before -= 1;
        let at = self.random.below(self.read.len() as u64) as usize;
        let run = &mut self.read[at];
        run.pages -= 1;
        let value = run.value + run.pages;
        if run.pages == 0 {
            self.read.swap_remove(at);
        }
        Some(value)
    }

    pub(super) fn has_read(&mut self, run: Extent) {
        if self.read_before > 0 && run.pages > 0 {
            self.read.push(run);
        }
    }
}
