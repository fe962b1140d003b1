//! Which kind of request comes next, where requests come in trains.

use super::trains::{Stretch, TrainsPlan};
use crate::random::Random;

/// Stretches after which a share of reads that was off by chance is made up for.
const MADE_UP_AFTER: f64 = 64.0;

#[derive(Debug)]
pub(super) struct Course {
    all: [u64; 2],
    left: [u64; 2],
    /// Kind and number of the requests of the present stretch, and of the one that the same train goes on with.
    now: (usize, u64),
    then: (usize, u64),
    horizon: f64,
}

impl Course {
    pub(super) fn new(all: [u64; 2], trains: &TrainsPlan) -> Course {
        let horizon = MADE_UP_AFTER / trains.stretches_per_request();
        Course { all, left: all, now: (0, 0), then: (0, 0), horizon }
    }

    pub(super) fn is_over(&self) -> bool {
        self.now.1 == 0
    }

    pub(super) fn turn(&mut self) -> bool {
        self.now = std::mem::take(&mut self.then);
        self.now.1 > 0
    }

    pub(super) fn begin(&mut self, stretch: Stretch, random: &mut Random) {
        let main = self.draw(random);
        let Stretch { requests, minor } = stretch;
        if minor == 0 {
            self.now = (main, u64::from(requests));
            return;
        }
        // Write-back comes first: the reads of such a train wait behind it.
        let writes = if main == WRITE { requests - minor } else { minor };
        self.now = (WRITE, u64::from(writes));
        self.then = (READ, u64::from(requests - writes));
    }

    fn draw(&self, random: &mut Random) -> usize {
        let whole = (self.all[READ] + self.all[WRITE]) as f64;
        let share = self.all[READ] as f64 / whole;
        let to_come = (self.left[READ] + self.left[WRITE]) as f64;
        let behind = self.left[READ] as f64 - share * to_come;
        usize::from(!random.chance(share + behind / self.horizon))
    }

    /// The kind of the next request, and how many of the same are sure to follow it, itself included.
    pub(super) fn kind(&mut self) -> (usize, u64) {
        if self.left[self.now.0] == 0 {
            self.now.0 = 1 - self.now.0;
        }
        (self.now.0, self.now.1.min(self.left[self.now.0]))
    }

    pub(super) fn step(&mut self) {
        self.left[self.now.0] = self.left[self.now.0].saturating_sub(1);
        self.now.1 = self.now.1.saturating_sub(1);
    }
}

pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;

#[cfg(test)]
mod tests {
    use super::super::trains::tests::some;
    use super::*;

    fn kinds(all: [u64; 2], stretch: Stretch) -> Vec<usize> {
        let mut course = Course::new(all, &some(0.0, 0.0));
        let mut random = Random::new(1, 0);
        let mut kinds = Vec::new();
        for _ in 0..all[0] + all[1] {
            if course.is_over() && !course.turn() {
                course.begin(stretch, &mut random);
            }
            kinds.push(course.kind().0);
            course.step();
        }
        kinds
    }

    fn reads(kinds: &[usize]) -> u64 {
        kinds.iter().filter(|&&kind| kind == READ).count() as u64
    }

    #[test]
    fn every_request_has_a_kind_and_every_part_its_share() {
        for all in [[20_000, 80_000], [4_000, 96_000], [70_000, 30_000], [0, 10_000], [10_000, 0]] {
            let kinds = kinds(all, Stretch { requests: 10, minor: 0 });
            assert_eq!(reads(&kinds), all[0]);
            let share = all[0] as f64 / kinds.len() as f64;
            for part in kinds.chunks(kinds.len() / 10) {
                let off = reads(part) as f64 - share * part.len() as f64;
                // Trains of ten requests, made up for within some sixty: five standard deviations.
                assert!(off.abs() < 500.0, "{all:?}: {off}");
            }
        }
    }
}
