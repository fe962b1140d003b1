//! Which thing appears next for the first time.

use super::popularity::{Class, Multiplicities};
use crate::random::Random;

/// Things that have not occurred yet, drawn without replacement: by popularity or evenly.
#[derive(Debug)]
pub(super) struct Births {
    times: Vec<u32>,
    things: Tree,
    occurrences: Tree,
    single: u64,
}

impl Births {
    pub(super) fn new(multiplicities: &Multiplicities) -> Births {
        let classes = &multiplicities.classes;
        Births {
            times: classes.iter().map(|class| class.times).collect(),
            things: Tree::new(classes.iter().map(|class| class.things)),
            single: classes.last().filter(|class| class.times == 1).map_or(0, |class| class.things),
            occurrences: Tree::new(classes.iter().map(|&Class { times, things }| things * u64::from(times))),
        }
    }

    pub(super) fn things(&self) -> u64 {
        self.things.total
    }

    pub(super) fn occurrences(&self) -> u64 {
        self.occurrences.total
    }

    /// Takes a thing left, as the first of a random order of all occurrences would be; how often it occurs.
    #[inline]
    pub(super) fn by_popularity(&mut self, random: &mut Random) -> u32 {
        let class = self.occurrences.find(random.below(self.occurrences.total));
        self.take(class)
    }

    pub(super) fn has_several(&self) -> bool {
        self.occurrences.total > self.single
    }

    /// Takes one of the things left that occur more than once, by popularity; there must be one.
    pub(super) fn one_of_several(&mut self, random: &mut Random) -> u32 {
        // Those that occur once are the last class.
        let class = self.occurrences.find(random.below(self.occurrences.total - self.single));
        self.take(class)
    }

    pub(super) fn evenly(&mut self, random: &mut Random) -> u32 {
        let class = self.things.find(random.below(self.things.total));
        self.take(class)
    }

    fn take(&mut self, class: usize) -> u32 {
        let times = self.times[class];
        self.single -= u64::from(times == 1);
        self.things.subtract(class, 1);
        self.occurrences.subtract(class, u64::from(times));
        times
    }
}

/// Sums of weights that change (P. M. Fenwick, Software: Practice and Experience 24(3), 1994).
#[derive(Debug)]
struct Tree {
    /// Entry `i`, from 1, sums the weights of as many classes up to `i` as its lowest bit says.
    sums: Vec<u64>,
    total: u64,
}

impl Tree {
    fn new(weights: impl ExactSizeIterator<Item = u64>) -> Tree {
        let mut sums = vec![0; weights.len() + 1];
        let mut total = 0;
        for (index, weight) in weights.enumerate() {
            sums[index + 1] += weight;
            total += weight;
            let entry = index + 1;
            let parent = entry + (entry & entry.wrapping_neg());
            if parent < sums.len() {
                sums[parent] += sums[entry];
            }
        }
        Tree { sums, total }
    }

    /// The class in which the running sum of weights passes `position`, which is below the total.
    #[inline]
    fn find(&self, mut position: u64) -> usize {
        let mut class = 0;
        let mut step = self.sums.len().next_power_of_two() / 2;
        while step > 0 {
            let next = class + step;
            if next < self.sums.len() && self.sums[next] <= position {
                position -= self.sums[next];
                class = next;
            }
            step /= 2;
        }
        class
    }

    #[inline]
    fn subtract(&mut self, class: usize, weight: u64) {
        self.total -= weight;
        let mut entry = class + 1;
        while entry < self.sums.len() {
            self.sums[entry] -= weight;
            entry += entry & entry.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Multiplicities {
        let class = |times, things| Class { times, things };
        Multiplicities { classes: vec![class(50, 1), class(9, 3), class(4, 10), class(1, 60)] }
    }

    #[test]
    fn the_first_is_drawn_by_weight() {
        const DRAWS: u64 = 40_000;
        let (mut popular, mut even) = ([0u64; 51], [0u64; 51]);
        let mut random = Random::new(7, 1);
        for _ in 0..DRAWS {
            popular[Births::new(&some()).by_popularity(&mut random) as usize] += 1;
            even[Births::new(&some()).evenly(&mut random) as usize] += 1;
        }
        // Of 177 occurrences and 74 things; four standard deviations are under 0.01.
        for (counts, whole, weights) in [(popular, 177.0, [50, 27, 40, 60]), (even, 74.0, [1, 3, 10, 60])] {
            for (times, weight) in [50usize, 9, 4, 1].into_iter().zip(weights) {
                let share = counts[times] as f64 / DRAWS as f64;
                assert!((share - f64::from(weight) / whole).abs() < 0.01, "{times}: {share}");
            }
        }
    }
}
