//! Wait ledgers of many requests by response time, so that the slowest can be reported separately.

use crate::engine::Charge;

/// Steps of each doubling of the response time, as a power of two.
const STEPS_SHIFT: u32 = 5;

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    count: u64,
    charges_ns: [u128; Charge::COUNT],
}

/// One row for each thirty-second part of a doubling, so requests of a row differ by no more than 3.2 %.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledgers {
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) count: u64,
    pub(crate) from_ns: u64,
    /// Fraction of the lowest row that belongs to this share.
    pub(crate) first_part: f64,
    /// Sums by [`Charge`]. Where a row is cut, its part of each is rounded down.
    pub(crate) charges_ns: [u128; Charge::COUNT],
}

impl Share {
    pub(crate) fn total_ns(&self) -> u128 {
        self.charges_ns.iter().sum()
    }
}

/// The number of a time on a scale with 2^`SHIFT` steps in each doubling.
#[inline]
pub(super) fn step_of<const SHIFT: u32>(time_ns: u64) -> usize {
    let doubling = (time_ns | 1).ilog2().saturating_sub(SHIFT);
    ((u64::from(doubling) << SHIFT) + (time_ns >> doubling)) as usize
}

pub(super) fn step_ns<const SHIFT: u32>(step: usize) -> u64 {
    let step = step as u64;
    let doubling = (step >> SHIFT).saturating_sub(1);
    (step - (doubling << SHIFT)) << doubling
}

#[inline]
pub(super) fn row_of(total_ns: u64) -> usize {
    step_of::<STEPS_SHIFT>(total_ns)
}

pub(super) fn from_ns(row: usize) -> u64 {
    step_ns::<STEPS_SHIFT>(row)
}

impl Ledgers {
    pub(super) fn add_row(&mut self, row: usize, count: u64, charges_ns: &[u128; Charge::COUNT]) {
        if row >= self.rows.len() {
            self.rows.resize(row + 1, Row::default());
        }
        let row = &mut self.rows[row];
        row.count += count;
        row.charges_ns.iter_mut().zip(charges_ns).for_each(|(sum, ns)| *sum += ns);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (at, row) in other.rows.iter().enumerate().filter(|(_, row)| row.count > 0) {
            self.add_row(at, row.count, &row.charges_ns);
        }
    }

    pub(crate) fn whole(&self) -> Share {
        self.slowest(self.rows.iter().map(|row| row.count).sum())
    }

    pub(crate) fn slowest(&self, requests: u64) -> Share {
        let mut share = Share { count: 0, from_ns: 0, first_part: 1.0, charges_ns: [0; Charge::COUNT] };
        for at in (0..self.rows.len()).rev().filter(|&at| self.rows[at].count > 0) {
            let missing = requests - share.count;
            if missing == 0 {
                break;
            }
            let count = self.rows[at].count.min(missing);
            let part = |sum: u128| sum * u128::from(count) / u128::from(self.rows[at].count);
            share
                .charges_ns
                .iter_mut()
                .zip(self.rows[at].charges_ns)
                .for_each(|(mine, sum)| *mine += part(sum));
            share.count += count;
            share.from_ns = from_ns(at);
            share.first_part = count as f64 / self.rows[at].count as f64;
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use flashtwin_ftl::Rng;

    use super::*;
    use crate::engine::Ledger;

    #[test]
    fn rows_follow_one_another_and_are_narrow() {
        for total in (0..5_000u64).chain((5..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])) {
            let row = row_of(total);
            assert!(from_ns(row) <= total && (total == u64::MAX || total < from_ns(row + 1)), "{total}");
            assert!((total - from_ns(row)) as f64 <= total as f64 / f64::from(1 << STEPS_SHIFT));
        }
        assert!(row_of(u64::MAX) < 2_000);
    }

    #[test]
    fn sums_are_those_of_a_sorted_list_of_ledgers() {
        let mut rng = Rng::stream(7, "ledgers");
        let mut parts = [Ledgers::default(), Ledgers::default()];
        let mut list = Vec::new();
        for at in 0..4_000 {
            // Far apart, so that no two of different times share a row.
            let time = 1_000u64 << rng.below(20);
            let charge = rng.below(Charge::COUNT as u32) as usize;
            let mut ledger = Ledger::default();
            ledger.charge(Charge::ALL[charge], time / 4);
            ledger.charge(Charge::Flash, time - time / 4);
            parts[at % 2].add_row(row_of(time), 1, &Charge::ALL.map(|charge| u128::from(ledger.of(charge))));
            list.push((time, ledger));
        }
        let mut all = Ledgers::default();
        parts.iter().for_each(|part| all.add(part));
        list.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        let sum = |requests: usize| {
            let mut sums = [0u128; Charge::COUNT];
            for (_, ledger) in &list[..requests] {
                sums.iter_mut()
                    .zip(Charge::ALL)
                    .for_each(|(sum, charge)| *sum += u128::from(ledger.of(charge)));
            }
            sums
        };
        // Where a time ends, nothing is cut.
        let ends: Vec<usize> = (1..4_000).filter(|&at| list[at].0 != list[at - 1].0).chain([4_000]).collect();
        for requests in ends {
            let share = all.slowest(requests as u64);
            assert_eq!((share.count, share.charges_ns), (requests as u64, sum(requests)));
            assert_eq!(share.from_ns, from_ns(row_of(list[requests - 1].0)));
        }
        assert_eq!(all.whole().charges_ns, sum(4_000));
        let times: u128 = list.iter().map(|(time, _)| u128::from(*time)).sum();
        assert_eq!(all.whole().total_ns(), times);
        // A part of the slowest requests: their number times the mean ledger.
        let slowest = list.iter().filter(|(time, _)| *time == list[0].0).count() as u64;
        let (half, full) = (all.slowest(slowest / 2), all.slowest(slowest));
        for (half, full) in half.charges_ns.iter().zip(full.charges_ns) {
            assert_eq!(*half, full * u128::from(slowest / 2) / u128::from(slowest));
        }
    }
}
