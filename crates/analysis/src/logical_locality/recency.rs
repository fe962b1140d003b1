//! When each page was last touched, as far back as the last few thousand requests.

use std::collections::VecDeque;
use std::ops::Range;

use super::chunks::{ChunkEntry, Chunks, part};
use super::pages::Pages;
use super::pages::{CHUNK_PAGES, GROUP_PAGES};

/// Some page at this distance was touched at this time, and none nearer was touched as late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) distance: u32,
    pub(super) time: u32,
}

/// Takes 4.3 KB for each chunk of 1,024 pages that a request of the window touches, for any footprint.
pub(super) struct Recency {
    window: u32,
    now: u32,
    chunks: Chunks,
    /// Oldest first, within the window.
    touched: VecDeque<(u32, u32)>,
    /// Scratch: the chunks around a request, the places to search on either side, and the results below.
    near: Vec<ChunkEntry>,
    below: Vec<Part>,
    above: Vec<Part>,
    steps: Vec<Step>,
}

/// Pages of one group, where a later touch than among all nearer pages may be found.
#[derive(Clone, Copy)]
struct Part {
    place: ChunkEntry,
    group: usize,
    /// Bit n for the n-th page of the group.
    pages: u32,
}

impl Part {
    fn page(&self, nth: u32) -> u64 {
        self.place.number * CHUNK_PAGES + (self.group * GROUP_PAGES) as u64 + u64::from(nth)
    }
}

impl Recency {
    pub(super) fn new(window: u32) -> Recency {
        Recency {
            window,
            now: window + 1,
            chunks: Chunks::default(),
            touched: VecDeque::new(),
            near: Vec::new(),
            below: Vec::new(),
            above: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Forgets everything, and gets ready to count up to `requests` more.
    pub(super) fn restart(&mut self, requests: u32) {
        let needed = requests.saturating_add(self.window) + 1;
        if self.now.checked_add(needed).is_some() {
            // Everything falls out of the window.
            self.now += self.window + 1;
        } else {
            *self = Recency::new(self.window);
        }
    }

    pub(super) fn now(&self) -> u32 {
        self.now
    }

    #[inline]
    pub(super) fn touch(&mut self, pages: Pages) {
        let now = self.now;
        self.now += 1;
        self.expire();
        for number in pages.chunks() {
            let slot = self.chunks.touch(pages, number, now);
            self.touched.push_back((now, slot));
        }
    }

    /// Chunks that no request of the window touched are free for others.
    #[inline]
    fn expire(&mut self) {
        while let Some(&(time, slot)) = self.touched.front()
            && time + self.window < self.now
        {
            self.touched.pop_front();
            self.chunks.free_unless_touched_after(slot, time);
        }
    }

    #[inline]
    pub(super) fn prepare(&self, pages: Pages, distance_max: u32) {
        self.chunks.prefetch(pages, distance_max);
    }

    /// Shows `visit` the pages up to `distance_max` away in order of distance, each only if it was touched within the
    /// window and later than all nearer.
    #[inline]
    pub(super) fn surroundings(&mut self, pages: Pages, distance_max: u32, mut visit: impl FnMut(Step)) {
        self.expire();
        let oldest = self.now - self.window - 1;
        let mut search = Search { newest: self.now - 1, time: oldest };
        self.near.clear();
        self.chunks.find(pages.widened(distance_max), oldest, &mut self.near);
        for &place in self.near.iter().filter(|place| pages.reach(place.number)) {
            self.chunks.raise(place, pages.within(place.number), &mut search.time);
        }
        if search.time > oldest {
            visit(Step { distance: 0, time: search.time });
        }
        if search.is_over() || distance_max == 0 {
            return;
        }
        let (below, above) = pages.sides(distance_max);
        self.below.clear();
        if let Some(below) = below {
            parts::<false>(&self.chunks, &self.near, below, search, &mut self.below);
        }
        self.above.clear();
        parts::<true>(&self.chunks, &self.near, above, search, &mut self.above);
        self.steps_below(pages, search);
        self.both_sides(pages, search, visit);
    }

    fn steps_below(&mut self, pages: Pages, mut search: Search) {
        self.steps.clear();
        for part in &self.below {
            let (whole, times) = self.chunks.group(part.place.slot, part.group);
            let distance = |nth: u32| (pages.first - part.page(nth)) as u32;
            if search.improves(whole) {
                let nearest = u32::BITS - 1 - part.pages.leading_zeros();
                self.steps.push(Step { distance: distance(nearest), time: search.time });
            }
            each::<false>(later(times, search.time) & part.pages, |nth| {
                if search.improves(times[nth as usize]) {
                    self.steps.push(Step { distance: distance(nth), time: search.time });
                }
            });
        }
    }

    /// In order with those among lower pages.
    #[inline]
    fn both_sides(&self, pages: Pages, mut search: Search, mut visit: impl FnMut(Step)) {
        let mut shown = search.time;
        let mut show = |step: Step| {
            if step.time > shown {
                shown = step.time;
                visit(step);
            }
        };
        let mut lower = self.steps.iter().copied().peekable();
        let mut higher = |step: Step| {
            while let Some(step) = lower.next_if(|lower| lower.distance <= step.distance) {
                show(step);
            }
            show(step);
        };
        for part in &self.above {
            let (whole, times) = self.chunks.group(part.place.slot, part.group);
            let distance = |nth: u32| (part.page(nth) - pages.last) as u32;
            if search.improves(whole) {
                let nearest = part.pages.trailing_zeros();
                higher(Step { distance: distance(nearest), time: search.time });
            }
            each::<true>(later(times, search.time) & part.pages, |nth| {
                if search.improves(times[nth as usize]) {
                    higher(Step { distance: distance(nth), time: search.time });
                }
            });
        }
        lower.for_each(show);
    }
}

/// The parts of one side, nearest first, that may have a later touch than all nearer ones. Prefetches them together.
#[inline]
fn parts<const UP: bool>(
    chunks: &Chunks,
    near: &[ChunkEntry],
    side: Pages,
    search: Search,
    parts: &mut Vec<Part>,
) {
    let mut time = search.time;
    let mut chunk = |place: &ChunkEntry| {
        if place.latest <= time || !side.reach(place.number) {
            return;
        }
        let range = side.within(place.number);
        let latest = chunks.latest(place.slot);
        let groups = range.start / GROUP_PAGES..range.end.div_ceil(GROUP_PAGES);
        each::<UP>(later(latest, time) & bits(groups), |group| {
            let group = group as usize;
            if latest[group] <= time {
                return;
            }
            chunks.prefetch_group(place.slot, group);
            let part = part(&range, group);
            parts.push(Part { place: *place, group, pages: bits(part.clone()) });
            if part.len() == GROUP_PAGES {
                // The latest touch is among these pages, so from here on only later ones matter.
                time = latest[group];
            }
        });
    };
    if UP { near.iter().for_each(&mut chunk) } else { near.iter().rev().for_each(&mut chunk) }
}

/// Bit n for each of 32 times that is later than `time`.
#[inline(always)]
fn later(times: &[u32; 32], time: u32) -> u32 {
    times.iter().zip(0..).fold(0, |bits, (&other, nth)| bits | u32::from(other > time) << nth)
}

/// The bits of a range that does not reach beyond 32.
#[inline(always)]
fn bits(range: Range<usize>) -> u32 {
    (((1u64 << range.len()) - 1) << range.start) as u32
}

/// Visits the bits that are set, from the lowest up or from the highest down.
#[inline(always)]
fn each<const UP: bool>(mut bits: u32, mut visit: impl FnMut(u32)) {
    while bits != 0 {
        let bit = if UP { bits.trailing_zeros() } else { u32::BITS - 1 - bits.leading_zeros() };
        bits &= !(1 << bit);
        visit(bit);
    }
}

/// The latest time found so far, and the latest there can be.
#[derive(Clone, Copy)]
struct Search {
    newest: u32,
    time: u32,
}

impl Search {
    #[inline(always)]
    fn improves(&mut self, time: u32) -> bool {
        let better = time > self.time;
        if better {
            self.time = time;
        }
        better
    }

    fn is_over(&self) -> bool {
        self.time == self.newest
    }
}
