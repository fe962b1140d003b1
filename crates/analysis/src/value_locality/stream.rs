//! One stream of accesses on its way to a miss-ratio curve.

use super::curve::{Histogram, MissRatioCurve};
use super::stack::{FIRST_ACCESS, StackDistances};
use crate::sample::{GROUPS, Sample};

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) id: u32,
    /// Only where sampled.
    pub(super) place: GroupPosition,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupPosition {
    group: u8,
    id: u32,
}

#[derive(Default)]
pub(super) struct GroupPositions {
    places: Vec<GroupPosition>,
    counts: [u32; GROUPS],
}

impl GroupPositions {
    pub(super) fn push(&mut self, group: usize) {
        self.places.push(GroupPosition { group: group as u8, id: self.counts[group] });
        self.counts[group] += 1;
    }

    pub(super) fn len(&self) -> u32 {
        self.places.len() as u32
    }

    pub(super) fn item(&self, id: u32) -> Item {
        Item { id, place: self.places[id as usize] }
    }
}

pub(super) struct Stream {
    sample: Sample,
    /// All accesses, of items that the sample keeps or not.
    pub(super) accesses: u64,
    all: Distances,
    /// Each group of a sample as a smaller sample: the scatter of their results gives the error.
    groups: Vec<Distances>,
    /// Accesses to popular contents.
    popular: Histogram,
    distances: Vec<u32>,
}

#[derive(Default)]
struct Distances {
    stack: StackDistances,
    histogram: Histogram,
}

impl Distances {
    #[inline]
    fn access(&mut self, id: u32) -> Option<u32> {
        let distance = self.stack.access(id);
        self.histogram.add(distance);
        distance
    }
}

impl Stream {
    pub(super) fn new(sample: Sample) -> Stream {
        let groups = if sample.is_all() { 0 } else { GROUPS };
        Stream {
            sample,
            accesses: 0,
            all: Distances::default(),
            groups: std::iter::repeat_with(Distances::default).take(groups).collect(),
            popular: Histogram::default(),
            distances: Vec::new(),
        }
    }

    /// Accesses to items by number, if nothing is sampled. `is_popular` selects the popular ones.
    pub(super) fn access_all(&mut self, ids: &[u32], is_popular: impl Fn(u32) -> bool) {
        self.accesses += ids.len() as u64;
        self.distances.clear();
        self.all.stack.access_all(ids, &mut self.distances);
        for (&id, &distance) in ids.iter().zip(&self.distances) {
            let distance = Some(distance).filter(|&distance| distance != FIRST_ACCESS);
            self.all.histogram.add(distance);
            if is_popular(id) {
                self.popular.add(distance);
            }
        }
    }

    /// An access to an item of the sample, not counted in `accesses`.
    pub(super) fn sampled(&mut self, item: Item, is_popular: bool) {
        self.groups[usize::from(item.place.group)].access(item.place.id);
        let distance = self.all.access(item.id);
        if is_popular {
            self.popular.add(distance);
        }
    }

    /// `None` without accesses or when the sample has none of them.
    pub(super) fn finish(self) -> Option<Curves> {
        if self.all.histogram.accesses == 0 {
            return None;
        }
        let (accesses, rate) = (self.accesses as f64, self.sample.rate);
        let popular_seen = self.popular.accesses;
        let group_rate = rate / GROUPS as f64;
        Some(Curves {
            items: (f64::from(self.all.stack.items()) / rate).round() as u64,
            accesses: self.accesses,
            rate,
            all: self.all.histogram.curve(accesses, rate),
            groups: self
                .groups
                .into_iter()
                .map(|group| group.histogram.curve(accesses, group_rate))
                .collect(),
            // How many accesses all popular contents get is known from the sample only.
            popular: (popular_seen > 0).then(|| self.popular.curve(popular_seen as f64 / rate, rate)),
        })
    }
}

pub(super) struct Curves {
    pub(super) items: u64,
    pub(super) accesses: u64,
    rate: f64,
    pub(super) all: MissRatioCurve,
    groups: Vec<MissRatioCurve>,
    pub(super) popular: Option<MissRatioCurve>,
}

impl Curves {
    /// Standard error of the miss fraction of a cache; `None` unless sampled. The groups are 16 independent samples, so
    /// their mean varies by their standard deviation / 4, and less as the sample approaches the whole.
    pub(super) fn error(&self, entries: u64) -> Option<f64> {
        let count = self.groups.len() as f64;
        let found: Vec<f64> = self.groups.iter().map(|group| group.miss_fraction(entries)).collect();
        let mean = found.iter().sum::<f64>() / count;
        let squares: f64 = found.iter().map(|fraction| (fraction - mean).powi(2)).sum();
        (count > 1.0).then(|| (squares / (count * (count - 1.0)) * (1.0 - self.rate)).sqrt())
    }
}
