//! Bringing the occurrences of things into an order: at random, or with repeats close together.

use super::births::Births;
use super::popularity::Multiplicities;
use crate::random::Random;

pub(super) const NONE: u32 = u32::MAX;

/// An item of an order: for writes a value, for reads pages that hold consecutive values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u32,
    pub(super) pages: u32,
    pub(super) value: u32,
    pub(super) cut: u32,
}

const NOTHING: Extent = Extent { start: 0, pages: 0, value: NONE, cut: 0 };

/// A thing that has occurred and will again.
#[derive(Clone, Copy, Debug)]
struct Entry {
    what: Extent,
    left: u32,
    copies: u32,
    of_a_day: bool,
    next: u32,
}

/// The entries of all pools; freed ones are used again, so there are as many as things wait at the same time.
#[derive(Debug)]
pub(super) struct Entries {
    entries: Vec<Entry>,
    free: u32,
}

impl Entries {
    pub(super) fn new() -> Entries {
        Entries { entries: Vec::new(), free: NONE }
    }

    #[inline]
    pub(super) fn name(&mut self, entry: u32, what: Extent) {
        if entry != NONE {
            self.entries[entry as usize].what = what;
        }
    }

    /// Moves the entry to other pages with the same value, unless it has no occurrence left.
    #[inline]
    pub(super) fn rename(&mut self, entry: u32, what: Extent) {
        if self.awaits(entry, what.value).is_some() {
            self.entries[entry as usize].what = what;
        }
    }

    pub(super) fn left(&self, entry: u32) -> u32 {
        self.entries.get(entry as usize).map_or(0, |entry| entry.left)
    }

    /// Whether occurrences of `value`, for which `entry` stood, are to come; and if so, whether it is one of a day.
    #[inline]
    pub(super) fn awaits(&self, entry: u32, value: u32) -> Option<bool> {
        let entry = self.entries.get(entry as usize)?;
        (entry.what.value == value && entry.left > 0).then_some(entry.of_a_day)
    }

    #[inline]
    pub(super) fn hold(&mut self, entry: u32, value: u32) {
        if self.awaits(entry, value).is_some() {
            self.entries[entry as usize].copies += 1;
        }
    }

    #[inline]
    pub(super) fn release(&mut self, entry: u32, value: u32) {
        if self.awaits(entry, value).is_some() {
            self.entries[entry as usize].copies -= 1;
        }
    }

    /// Whether a page is the only one that holds `value`, which will be written again.
    #[inline]
    pub(super) fn is_last(&self, entry: u32, value: u32) -> bool {
        self.awaits(entry, value).is_some() && self.entries[entry as usize].copies == 1
    }

    fn make(&mut self, left: u32, of_a_day: bool) -> u32 {
        let made = Entry { what: NOTHING, left, copies: 0, of_a_day, next: NONE };
        if self.free == NONE {
            self.entries.push(made);
            return (self.entries.len() - 1) as u32;
        }
        let entry = self.free;
        self.free = self.entries[entry as usize].next;
        self.entries[entry as usize] = made;
        entry
    }

    fn free(&mut self, entry: u32) {
        self.entries[entry as usize] =
            Entry { what: NOTHING, left: 0, copies: 0, of_a_day: false, next: self.free };
        self.free = entry;
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Most pages that hold a value, of those that are written once and share their values.
pub(super) const GROUP: u32 = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Closeness {
    pub(super) share: f64,
    /// Most occurrences between such a repeat and the one it repeats; all distances are equally likely.
    pub(super) within: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// A thing for the first time. Its entry must be named, if it has one: it will occur again.
    First { entry: u32 },
    /// A repeat, while `copies` pages hold it.
    Again { entry: u32, what: Extent, copies: u32 },
}

/// Occurrences still to be put into an order. A waiting item occurs again at the first of `left` points in the rest of
/// the order, or at a near point if the repeat is to be close. Where no repeat is due, a new item occurs, drawn by
/// popularity. Without closeness that is the order of shuffled occurrences. Counts are exact, for any draw.
#[derive(Debug)]
pub(super) struct Pool {
    births: Births,
    queue: Queue,
    closeness: Closeness,
    of_a_day: bool,
    /// Occurrences in all, and of things seen that are to come.
    horizon: u64,
    waiting: u64,
}

impl Pool {
    pub(super) fn new(multiplicities: &Multiplicities, closeness: Closeness, of_a_day: bool) -> Pool {
        let horizon = multiplicities.occurrences();
        Pool {
            births: Births::new(multiplicities),
            queue: Queue::new(horizon),
            closeness,
            of_a_day,
            horizon,
            waiting: 0,
        }
    }

    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.births.occurrences() + self.waiting
    }

    pub(super) fn unseen(&self) -> u64 {
        self.births.things()
    }

    /// Draws the next occurrence; there must be one. The last `reserved` unseen things are used only at the end.
    #[inline]
    pub(super) fn next(&mut self, entries: &mut Entries, reserved: u64, random: &mut Random) -> Occurrence {
        if self.waiting > 0 {
            let may = self.births.things() > reserved;
            if !may || self.queue.is_due(self.now(), random) {
                return self.again(entries, random);
            }
        }
        self.first(entries, false, random)
    }

    #[inline]
    fn now(&self) -> u64 {
        self.horizon - self.left()
    }

    #[inline]
    pub(super) fn first(&mut self, entries: &mut Entries, evenly: bool, random: &mut Random) -> Occurrence {
        let times = if evenly { self.births.evenly(random) } else { self.births.by_popularity(random) };
        self.born(times, entries, random)
    }

    /// An unseen thing that will come again, by popularity; none if there are no such things beside `reserved` others.
    pub(super) fn first_of_several(
        &mut self,
        entries: &mut Entries,
        reserved: u64,
        random: &mut Random,
    ) -> Option<Occurrence> {
        if self.births.things() <= reserved || !self.births.has_several() {
            return None;
        }
        let times = self.births.one_of_several(random);
        Some(self.born(times, entries, random))
    }

    #[inline]
    fn born(&mut self, times: u32, entries: &mut Entries, random: &mut Random) -> Occurrence {
        if times == 1 {
            return Occurrence::First { entry: NONE };
        }
        let entry = entries.make(times - 1, self.of_a_day);
        self.waiting += u64::from(times - 1);
        self.wait(entries, entry, times - 1, random);
        Occurrence::First { entry }
    }

    #[inline]
    pub(super) fn again(&mut self, entries: &mut Entries, random: &mut Random) -> Occurrence {
        loop {
            let entry = self.queue.pop(entries);
            let Entry { what, left, copies, .. } = entries.entries[entry as usize];
            if left == 0 {
                // Its occurrences were taken out of turn.
                entries.free(entry);
                continue;
            }
            self.waiting -= 1;
            if left == 1 {
                entries.free(entry);
            } else {
                entries.entries[entry as usize].left = left - 1;
                self.wait(entries, entry, left - 1, random);
            }
            return Occurrence::Again { entry, what, copies };
        }
    }

    #[inline]
    pub(super) fn take(&mut self, entries: &mut Entries, entry: u32) {
        entries.entries[entry as usize].left -= 1;
        self.waiting -= 1;
    }

    #[inline]
    fn wait(&mut self, entries: &mut Entries, entry: u32, left: u32, random: &mut Random) {
        let now = self.now();
        let Closeness { share, within } = self.closeness;
        let due = if share > 0.0 && random.unit() <= share {
            now + 1 + random.below(within)
        } else {
            // Only the repeats that are not close have the rest of the order to fill.
            let spread = 1.0 + (1.0 - share) * f64::from(left - 1);
            let rest = self.horizon.saturating_sub(now) as f64;
            let first =
                if left == 1 { random.unit() } else { -libm::expm1(libm::log(random.unit()) / spread) };
            now + (rest * first) as u64
        };
        self.queue.push(entries, entry, due);
    }

    pub(super) fn close(&mut self, entries: &mut Entries) {
        while self.queue.length > 0 {
            let entry = self.queue.pop(entries);
            entries.free(entry);
        }
    }
}

/// Entries by the time they are due, in buckets of equal length; within a bucket the last one goes first.
#[derive(Debug)]
struct Queue {
    buckets: Vec<Bucket>,
    shift: u32,
    cursor: usize,
    length: u64,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    head: u32,
    length: u32,
}

/// Most buckets: 1 MB, and with 10^7 occurrences about 76 to a bucket.
const BUCKETS_MAX: u64 = 1 << 17;

impl Queue {
    fn new(horizon: u64) -> Queue {
        let shift = (0..63).find(|shift| horizon >> shift < BUCKETS_MAX).unwrap_or(63);
        let buckets = vec![Bucket { head: NONE, length: 0 }; (horizon >> shift) as usize + 1];
        Queue { buckets, shift, cursor: 0, length: 0 }
    }

    /// Whether an entry is to go now: those of a bucket are spread over it evenly.
    #[inline]
    fn is_due(&mut self, now: u64, random: &mut Random) -> bool {
        let bucket = (now >> self.shift) as usize;
        while self.cursor < bucket && self.buckets[self.cursor].length == 0 {
            self.cursor += 1;
        }
        if self.cursor < bucket {
            return true;
        }
        let length = u64::from(self.buckets[self.cursor].length);
        if self.cursor > bucket || length == 0 {
            return false;
        }
        let left = ((bucket as u64 + 1) << self.shift) - now;
        length >= left || random.below(left) < length
    }

    #[inline]
    fn push(&mut self, entries: &mut Entries, entry: u32, due: u64) {
        let index = ((due >> self.shift) as usize).clamp(self.cursor, self.buckets.len() - 1);
        let bucket = &mut self.buckets[index];
        entries.entries[entry as usize].next = bucket.head;
        bucket.head = entry;
        bucket.length += 1;
        self.length += 1;
    }

    #[inline]
    fn pop(&mut self, entries: &Entries) -> u32 {
        while self.buckets[self.cursor].length == 0 {
            self.cursor += 1;
        }
        let bucket = &mut self.buckets[self.cursor];
        let entry = bucket.head;
        bucket.head = entries.entries[entry as usize].next;
        bucket.length -= 1;
        self.length -= 1;
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::super::popularity::{Class, Skew};
    use super::*;

    fn order(multiplicities: &Multiplicities, closeness: Closeness, seed: u64) -> Vec<u32> {
        let (mut entries, mut random) = (Entries::new(), Random::new(seed, 0));
        let mut pool = Pool::new(multiplicities, closeness, false);
        let (mut next, mut order) = (0, Vec::new());
        while pool.left() > 0 {
            order.push(match pool.next(&mut entries, 0, &mut random) {
                Occurrence::First { entry } => {
                    entries.name(entry, Extent { start: 0, pages: 1, value: next, cut: 0 });
                    next += 1;
                    next - 1
                }
                Occurrence::Again { what, .. } => what.value,
            });
        }
        order
    }

    fn gaps(order: &[u32]) -> Vec<usize> {
        let mut last = std::collections::HashMap::new();
        let again = |(at, &thing)| last.insert(thing, at).map(|before| at - before);
        order.iter().enumerate().filter_map(again).collect()
    }

    #[test]
    fn without_closeness_things_appear_as_in_a_shuffle() {
        // A thing with m occurrences is among the first part x with probability 1 - (1 - x)^m.
        let skew = Skew { accesses_share: 0.5, things_share: 0.05 };
        let multiplicities = Multiplicities::new(20_000, 100_000, skew).unwrap();
        let order = order(&multiplicities, Closeness::default(), 3);
        for part in [0.05, 0.2, 0.5, 0.8] {
            let upto = (order.len() as f64 * part) as usize;
            let seen = f64::from(order[..upto].iter().max().unwrap() + 1);
            let unseen = |class: &Class| class.things as f64 * (1.0f64 - part).powi(class.times as i32);
            let expected = 20_000.0 - multiplicities.classes.iter().map(unseen).sum::<f64>();
            assert!((seen / expected - 1.0).abs() < 0.03, "{part}: {seen} {expected}");
        }
    }

    #[test]
    fn distances_of_a_random_order_have_their_closed_form() {
        // m points at random among T: a gap is longer than g with probability (1 - g/T)^m.
        let multiplicities = Multiplicities::of_one_kind(2_000, 20);
        let order = order(&multiplicities, Closeness::default(), 5);
        let gaps = gaps(&order);
        for part in [0.01, 0.03, 0.1] {
            let limit = part * order.len() as f64;
            let longer = gaps.iter().filter(|&&gap| gap as f64 > limit).count() as f64 / gaps.len() as f64;
            let expected = (1.0f64 - part).powi(20);
            assert!((longer - expected).abs() < 0.02, "{part}: {longer} {expected}");
        }
    }

    #[test]
    fn close_repeats_are_close_in_the_share_asked_for() {
        let multiplicities = Multiplicities::of_one_kind(20_000, 3);
        let order = order(&multiplicities, Closeness { share: 0.6, within: 50 }, 5);
        let close = gaps(&order).iter().filter(|&&gap| gap <= 60).count() as f64 / 40_000.0;
        assert!((close - 0.6).abs() < 0.02, "{close}");
    }

    #[test]
    fn entries_are_used_again() {
        let multiplicities = Multiplicities::of_one_kind(50_000, 2);
        let (mut entries, mut random) = (Entries::new(), Random::new(1, 0));
        let mut pool = Pool::new(&multiplicities, Closeness { share: 1.0, within: 10 }, false);
        while pool.left() > 0 {
            if let Occurrence::First { entry } = pool.next(&mut entries, 0, &mut random) {
                entries.name(entry, Extent { start: 0, pages: 1, value: 0, cut: 0 });
            }
        }
        assert!(entries.len() < 30_000, "{}", entries.len());
    }
}
