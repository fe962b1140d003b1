//! Lanes: as few tracks as overlapping slices need.

use std::collections::BTreeSet;

const TAKEN: u64 = u64::MAX;

#[derive(Debug, Default)]
pub(super) struct Lanes {
    free_ns: Vec<u64>,
    given_back: BTreeSet<u32>,
}

impl Lanes {
    /// Slices in order of their beginnings need no more lanes than ever overlap: [0, 5), [3, 8) and [6, 9) need two.
    pub(super) fn take(&mut self, begin_ns: u64) -> u32 {
        let free = self.given_back.iter().find(|&&lane| self.free_ns[lane as usize] <= begin_ns).copied();
        let lane = free.unwrap_or(self.free_ns.len() as u32);
        if !self.given_back.remove(&lane) {
            self.free_ns.push(TAKEN);
        }
        self.free_ns[lane as usize] = TAKEN;
        lane
    }

    pub(super) fn give_back(&mut self, lane: u32, end_ns: u64) {
        self.free_ns[lane as usize] = end_ns;
        self.given_back.insert(lane);
    }

    pub(super) fn take_for(&mut self, begin_ns: u64, end_ns: u64) -> u32 {
        let lane = self.take(begin_ns);
        self.give_back(lane, end_ns);
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_lane_is_taken() {
        let mut lanes = Lanes::default();
        assert_eq!([0, 1, 2].map(|at| lanes.take(at)), [0, 1, 2]);
        lanes.give_back(1, 5);
        lanes.give_back(0, 7);
        assert_eq!(lanes.take(5), 1, "lane 0 is taken until 7");
        assert_eq!(lanes.take(6), 3);
        assert_eq!(lanes.take(7), 0);
    }

    #[test]
    fn spans_that_only_touch_share_a_lane() {
        let mut lanes = Lanes::default();
        let spans = [(0, 10), (0, 10), (10, 20), (10, 30), (20, 20), (20, 25)];
        assert_eq!(spans.map(|(begin, end)| lanes.take_for(begin, end)), [0, 1, 0, 1, 0, 0]);
    }
}
