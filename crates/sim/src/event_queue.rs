//! Pending completions, earliest first.

const NEVER: u64 = u64::MAX;

/// Due time of each unit's pending completion, and the first of them: a tournament in which the earlier time wins, and
/// of equals the lower number, so the order never depends on that of calls. A change takes one comparison a level and
/// no unpredictable branches, as a heap would.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventQueue {
    times: Vec<u64>,
    /// The winner of each match; match 1 is the last, and those of match `m` are won in `2 m` and `2 m + 1`.
    winners: Vec<u32>,
}

impl EventQueue {
    pub(crate) fn new(units: usize) -> Self {
        let leaves = units.next_power_of_two().max(2);
        let mut winners = vec![0; leaves];
        for (at, winner) in winners.iter_mut().enumerate().skip(1) {
            // With nothing pending, the lowest number below each match.
            let level = at.ilog2();
            *winner = ((at - (1 << level)) * (leaves >> level)) as u32;
        }
        Self { times: vec![NEVER; leaves], winners }
    }

    /// The first of the units, and when it is due; `u64::MAX` when nothing is pending.
    #[inline]
    pub(crate) fn next(&self) -> (u64, u32) {
        let unit = self.winners.get(1).copied().unwrap_or(0);
        (self.times.get(unit as usize).copied().unwrap_or(NEVER), unit)
    }

    /// Sets the due time of a unit's pending completion; `u64::MAX`: there is none.
    #[inline]
    pub(crate) fn set(&mut self, unit: u32, time_ns: u64) {
        self.times[unit as usize] = time_ns;
        // Who plays on the lowest level: the unit and its neighbour; above: the winner and that of the neighbouring match.
        let mut best = (time_ns, unit);
        let mut rival = unit ^ 1;
        let mut at = (self.times.len() + unit as usize) / 2;
        loop {
            let theirs = self.times[rival as usize];
            let loses = (theirs < best.0) | ((theirs == best.0) & (rival < best.1));
            best = if loses { (theirs, rival) } else { best };
            self.winners[at] = best.1;
            if at == 1 {
                return;
            }
            rival = self.winners[at ^ 1];
            at /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EventQueue, NEVER};
    use flashtwin_ftl::Rng;

    #[test]
    fn the_first_is_the_first_of_a_plain_list() {
        let mut rng = Rng::stream(1, "events");
        for units in [1, 2, 3, 16, 33, 300] {
            let mut ours = EventQueue::new(units);
            let mut plain = vec![NEVER; units];
            for _ in 0..20_000 {
                let (time, unit) = ours.next();
                let first = (0..units).min_by_key(|&unit| (plain[unit], unit)).unwrap_or(0);
                assert_eq!((time, unit as usize), (plain[first], first));
                let unit = if rng.below(2) == 0 { unit } else { rng.below(units as u32) };
                let time = if rng.below(3) == 0 { NEVER } else { u64::from(rng.below(1000)) };
                ours.set(unit, time);
                plain[unit as usize] = time;
            }
        }
    }
}
