//! Page reads: runs over pages whose contents do not change.

use std::collections::HashMap;

use super::kinds::KindPlan;
use super::order::Order;
use super::plan::{LaterPages, Renewal, ValuesPlan};
use super::pool::{Extent, Occurrence};
use super::writes::Writes;
use crate::random::Random;
use flashtwin_bits::mix;

/// The reads of a workload. Each goes to an extent: pages that lay there before the trace or that it wrote and kept.
#[derive(Debug)]
pub(super) struct Reads {
    order: Order,
    requests: u64,
    runs: u64,
    /// Of the runs to come, those that go to pages which are overwritten.
    live_runs: u64,
    sizes: Sizes,
    /// Pages that lay on the device before the trace and have not been read yet.
    there: u64,
    /// The end of those that are read next: that part of the address space is read downwards.
    there_next: u64,
    /// Pages that the trace writes to be read and that have not been read yet.
    kept: u64,
    /// Pages that lay there before the trace and are still to be read in place of others with the same values.
    copies: u64,
    /// About how many page reads of values read before are still to come; `copies` of them are spread over these.
    repeats: u64,
    /// Pages of the mean extent among those that the trace writes: a whole run of writes, or a part of one.
    kept_pages: f64,
    /// Pages of the mean run of reads.
    run_pages: f64,
    /// How many pages more than mean runs the extents chosen so far bring, all their reads counted.
    surplus: f64,
    /// The same as `surplus` for extents that every day reads again.
    surplus_every_day: f64,
    renewal: Option<Renewal>,
    /// The day for which pages were renewed last.
    day: u64,
    /// Whether every run of reads is a single request, so that none follows the one before.
    single: bool,
    /// Extents read last, of which some are read once more where runs turn out shorter than planned.
    recent: Vec<Extent>,
    random: Random,
}

#[derive(Debug)]
struct Sizes {
    /// For each range of random numbers its last number, ascending up to 2^64 - 1, and a number of pages.
    bounds: Vec<(u64, u32)>,
    mean: f64,
}

impl Sizes {
    fn new(plan: &KindPlan) -> Sizes {
        let mut before = 0u128;
        let bounds = plan.sizes.iter().map(|&(pages, count)| {
            before += u128::from(count);
            let bound = (before << 64) / u128::from(plan.requests.max(1));
            (bound.min(u128::from(u64::MAX)) as u64, pages)
        });
        Sizes { bounds: bounds.collect(), mean: plan.pages as f64 / plan.requests.max(1) as f64 }
    }

    fn differ(&self) -> bool {
        self.bounds.len() > 1
    }

    /// The size of request `index` of an extent: with the same cut always the same.
    #[inline]
    fn of(&self, cut: u32, index: u64) -> u32 {
        if let [(_, pages)] = self.bounds[..] {
            return pages;
        }
        let number = mix(u64::from(cut) ^ mix(index + 1));
        self.bounds.iter().find(|(bound, _)| number <= *bound).map_or(1, |&(_, pages)| pages)
    }
}

/// From this many reads on, an extent's length makes up for extents that were too long or too short.
const OFTEN: u64 = 2;
const TRIES: u64 = 8;
/// Extents after which pages that were too many or too few, of those read every day, are made up for.
const MADE_UP_AFTER: f64 = 8.0;
const RECENT: usize = 1024;
/// A run of writes that is longer than this number of mean runs of reads is read in parts.
const LONG: f64 = 4.0;

impl Reads {
    pub(super) fn new(kinds: &[KindPlan; 2], values: &ValuesPlan, from: u64, random: Random) -> Reads {
        let [plan, writes] = kinds;
        let run_pages = plan.pages as f64 / plan.runs.max(1) as f64;
        let written = writes.pages as f64 / writes.runs.max(1) as f64;
        let sizes = Sizes::new(plan);
        let in_parts = sizes.differ() || written > run_pages * LONG;
        Reads {
            order: Order::new(&values.reads),
            requests: plan.requests,
            runs: plan.runs,
            live_runs: values.live_runs,
            sizes,
            there: values.pages_there,
            // Behind pages enough for those that were to be kept and are not.
            there_next: from + values.pages_there + values.pages_kept + values.pages_copied,
            kept: values.pages_kept,
            copies: values.pages_copied,
            repeats: plan.pages.saturating_sub(values.pages_there + values.pages_kept),
            kept_pages: if in_parts { run_pages } else { written.max(1.0) },
            run_pages,
            surplus: 0.0,
            surplus_every_day: 0.0,
            renewal: values.renewal,
            day: 1,
            single: plan.runs == plan.requests,
            recent: Vec::with_capacity(RECENT),
            random,
        }
    }

    /// Goes on with another round of as many reads, in which pages from `base` on are read for the first time.
    pub(super) fn go_on(&mut self, plan: &KindPlan, values: &ValuesPlan, base: u64, random: Random) {
        let LaterPages { there, kept, copied } = values.later;
        self.order.go_on(&values.reads);
        (self.requests, self.runs, self.live_runs) = (plan.requests, plan.runs, values.live_runs);
        (self.there, self.kept, self.copies) = (there, kept, copied);
        self.there_next = base + values.later.addresses();
        self.repeats = plan.pages.saturating_sub(there + kept);
        self.surplus = 0.0;
        self.random = random;
    }

    /// Runs to come. They may turn out shorter than planned: then some extents are read once more.
    pub(super) fn left(&self) -> u64 {
        if self.requests > 0 { self.runs.max(1) } else { 0 }
    }

    pub(super) fn not_kept(&mut self, pages: u64) {
        self.kept -= pages;
        self.there += pages;
    }

    /// The next run: the first page, the `values` of pages, and the sizes of the requests.
    /// `writes` has the extents that the trace kept and nobody has read, and learns of values that lay there.
    pub(super) fn next(
        &mut self,
        writes: &mut Writes,
        next_value: &mut u32,
        sizes: &mut Vec<u32>,
        values: &mut Vec<u32>,
    ) -> u64 {
        self.runs = self.runs.saturating_sub(1);
        let extent = self.extent(writes, next_value);
        self.order.settle(extent);
        self.renew(writes);
        self.remember(extent);
        self.cut(extent, sizes);
        values.clear();
        values.extend(extent.value..extent.value + extent.pages);
        let start = u64::from(extent.start);
        writes.renewed.look(start, values);
        start
    }

    /// Asks, when a day begins, for new contents of the pages that it reads again.
    fn renew(&mut self, writes: &mut Writes) {
        let day = self.order.day();
        let Some(renewal) = self.renewal.filter(|_| day > self.day) else { return };
        self.day = day;
        writes.renewed.begin_day();
        let mut starts = HashMap::new();
        for extent in self.order.every_day() {
            // What was read in several places is read in one again, so that it stays the same.
            if let Some(&start) = starts.get(&extent.value) {
                extent.start = start;
                continue;
            }
            starts.insert(extent.value, extent.start);
            for from in (0..extent.pages).step_by(renewal.pages as usize) {
                if self.random.chance(renewal.share) {
                    writes.renewed.ask(extent.start + from, renewal.pages.min(extent.pages - from));
                }
            }
        }
    }

    /// The next run to pages that are overwritten: the first page, and the sizes; none if it goes elsewhere.
    pub(super) fn next_live(&mut self, writes: &mut Writes, sizes: &mut Vec<u32>) -> Option<u64> {
        if self.live_runs == 0 || self.random.below(self.runs.max(1)) >= self.live_runs {
            return None;
        }
        let (pages, cut) = self.cut_to(self.run_pages, false, 1);
        let page = writes.live(pages)?;
        self.runs = self.runs.saturating_sub(1);
        self.live_runs -= 1;
        self.cut(Extent { start: 0, pages: pages as u32, value: 0, cut }, sizes);
        Some(page)
    }

    fn cut(&mut self, extent: Extent, sizes: &mut Vec<u32>) {
        sizes.clear();
        let mut left = extent.pages;
        for index in 0..self.requests {
            if left == 0 {
                break;
            }
            let size = self.sizes.of(extent.cut, index).min(left);
            sizes.push(size);
            left -= size;
        }
        self.requests -= sizes.len() as u64;
    }

    fn extent(&mut self, writes: &mut Writes, next_value: &mut u32) -> Extent {
        if self.order.left() == 0 {
            return self.once_more();
        }
        match self.order.next(&mut self.random) {
            Occurrence::Again { entry, what, .. } => self.again(entry, what, writes),
            Occurrence::First { entry } => {
                let repeats = u64::from(self.order.entries.left(entry));
                // Where no page is left that has not been read, one that has been must do.
                let extent = match self.first(repeats, writes, next_value) {
                    Some(extent) => extent,
                    None => self.once_more(),
                };
                self.order.entries.name(entry, extent);
                let more = (repeats + 1) as f64 * (f64::from(extent.pages) - self.run_pages);
                if self.order.recurs() > 0 {
                    self.surplus_every_day += more;
                } else {
                    self.surplus += more;
                }
                extent
            }
        }
    }

    fn remember(&mut self, extent: Extent) {
        if self.recent.len() < RECENT {
            self.recent.push(extent);
        } else {
            self.recent[(self.runs % RECENT as u64) as usize] = extent;
        }
    }

    /// One of the extents read lately; nothing before the first one.
    fn once_more(&mut self) -> Extent {
        match self.recent.len() as u64 {
            0 => Extent { start: 0, pages: 0, value: 0, cut: 0 },
            extents => self.recent[self.random.below(extents) as usize],
        }
    }

    /// Where an extent is read again: where it was last, or where the same values lie too.
    #[inline]
    fn again(&mut self, entry: u32, what: Extent, writes: &mut Writes) -> Extent {
        let pages = u64::from(what.pages);
        let repeats = self.repeats.max(1);
        self.repeats = self.repeats.saturating_sub(pages);
        if self.copies < pages || self.random.below(repeats) >= self.copies {
            return what;
        }
        self.copies -= pages;
        self.there_next -= pages;
        let copy = Extent { start: self.there_next as u32, ..what };
        self.order.rename(entry, copy);
        writes.renewed.copy(what, copy.start);
        copy
    }

    /// An extent that has not been read, and will be `repeats` times more.
    fn first(&mut self, repeats: u64, writes: &mut Writes, next_value: &mut u32) -> Option<Extent> {
        let written = &mut writes.kept;
        if !written.is_empty()
            && (self.there == 0 || self.random.chance(self.kept_extents() / self.extents()))
        {
            let (pages, cut) = self.length(repeats);
            let in_parts = self.sizes.differ();
            if in_parts {
                // Requests of a size of their own are not to be cut short: one of the runs has room for them.
                let tried = written.len().min(TRIES as usize);
                let roomy = (0..tried).find(|&at| u64::from(written[at].pages) >= pages);
                written.swap(0, roomy.unwrap_or(0));
            }
            let extent = written.front_mut()?;
            // From the end, so that two parts read one after the other do not look like one.
            let in_parts = in_parts || f64::from(extent.pages) > self.run_pages * LONG;
            let pages = if in_parts { (pages as u32).min(extent.pages) } else { extent.pages };
            extent.pages -= pages;
            let (start, value) = (extent.start + extent.pages, extent.value + extent.pages);
            if extent.pages == 0 {
                written.pop_front();
            }
            self.kept = self.kept.saturating_sub(u64::from(pages));
            return Some(Extent { start, pages, value, cut });
        }
        let (pages, cut) = self.length(repeats);
        let pages = pages.min(self.there);
        if pages == 0 {
            return None;
        }
        self.there -= pages;
        self.there_next -= pages;
        let value = *next_value;
        *next_value += pages as u32;
        let extent = Extent { start: self.there_next as u32, pages: pages as u32, value, cut };
        writes.has_read(extent);
        Some(extent)
    }

    /// Extents still to be read for the first time, and about how many of them are runs that the trace writes.
    fn extents(&self) -> f64 {
        (self.order.unseen() + 1) as f64
    }

    fn kept_extents(&self) -> f64 {
        self.kept as f64 / self.kept_pages
    }

    /// How many pages the extent has that is read next, and how it is cut into requests.
    fn length(&mut self, repeats: u64) -> (u64, u32) {
        let every_day = self.order.recurs() > 0;
        let often = repeats + 1 >= OFTEN;
        let wanted = if often || every_day {
            let surplus = if every_day { self.surplus_every_day } else { self.surplus };
            // Extents that are read once vary in length: others make up for one that is too long.
            let over = if often { (repeats + 1) as f64 } else { MADE_UP_AFTER };
            (self.run_pages - surplus / over).clamp(self.run_pages / 2.0, self.run_pages * 2.0)
        } else {
            // Such that the extents left have the pages left: the last one takes all of them.
            if self.extents() == 1.0 && !self.single {
                return (self.there.max(1), self.random.next() as u32);
            }
            self.there as f64 / (self.extents() - self.kept_extents()).max(1.0)
        };
        self.cut_to(wanted, often, repeats)
    }

    /// How many pages an extent of about `wanted` gets, and its cut. Those read `often` come near to it; others vary.
    fn cut_to(&mut self, wanted: f64, often: bool, repeats: u64) -> (u64, u32) {
        let mean = (wanted / self.sizes.mean).max(1.0);
        let requests = if self.single {
            1
        } else if often {
            mean as u64
        } else {
            // Geometric, from 1; its tail is cut where it would be one in 10^9.
            let more = libm::log(self.random.unit()) / libm::log1p(-1.0 / (mean + 1e-9));
            1 + more.min(21.0 * mean) as u64
        };
        // Extents that are read often keep the surplus small: of some, the one nearest to `wanted`.
        let tries = if often && !self.single { (repeats + 1).min(TRIES) } else { 1 };
        let mut best = (0, 0, f64::INFINITY);
        for number in 0..tries {
            let cut = self.random.next() as u32;
            let requests = requests.max(1) + number % 2;
            let pages: u64 = (0..requests).map(|index| u64::from(self.sizes.of(cut, index))).sum();
            let error = (pages as f64 - wanted).abs();
            if error < best.2 {
                best = (pages, cut, error);
            }
        }
        (best.0, best.1)
    }
}
