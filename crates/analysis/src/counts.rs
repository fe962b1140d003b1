//! How often each of many things occurs.

use std::cmp::Reverse;

use flashtwin_bits::prefetch_if_there;
use hashbrown::HashMap;

use crate::page_ops::at;

/// Counts by number, 4 bytes each. Those above 32 bits, of which a trace has few, continue in a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    low: Vec<u32>,
    /// What a count has beyond `u32::MAX`.
    beyond: HashMap<u32, u64>,
}

impl Counts {
    #[inline]
    pub(crate) fn add_one(&mut self, number: u32) {
        let low = at(&mut self.low, number, 0);
        match low.checked_add(1) {
            Some(more) => *low = more,
            None => *self.beyond.entry(number).or_default() += 1,
        }
    }

    /// 0 also of a number that never occurred.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> u64 {
        match self.low(number) {
            u32::MAX => u64::from(u32::MAX) + self.beyond.get(&number).copied().unwrap_or(0),
            low => low.into(),
        }
    }

    #[inline]
    fn low(&self, number: u32) -> u32 {
        self.low.get(number as usize).copied().unwrap_or(0)
    }

    pub(crate) fn reset(&mut self, number: u32) {
        if self.low.get_mut(number as usize).map(std::mem::take) == Some(u32::MAX) {
            self.beyond.remove(&number);
        }
    }

    #[inline]
    pub(crate) fn prefetch(&self, number: u32) {
        prefetch_if_there(&self.low, number as usize);
    }

    pub(crate) fn len(&self) -> usize {
        self.low.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.low.len() as u32).map(|number| self.get(number))
    }

    /// Those above 0, the largest first, under new numbers.
    pub(crate) fn descending(&self) -> Counts {
        let mut low: Vec<u32> = self.low.iter().copied().filter(|&count| count > 0).collect();
        low.sort_unstable_by(|a, b| b.cmp(a));
        let mut beyond: Vec<u64> = self.beyond.values().copied().collect();
        beyond.sort_unstable_by(|a, b| b.cmp(a));
        Counts { low, beyond: (0..).zip(beyond).collect() }
    }

    /// The numbers by falling count; those of equal count stay in order of first appearance.
    pub(crate) fn ranks(&self, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        // Count and number in one integer: sorted several times faster than pairs.
        let key = |number| u64::from(!self.low(number)) << 32 | u64::from(number);
        let mut keys: Vec<u64> = numbers.map(key).collect();
        keys.sort_unstable();
        let mut order: Vec<u32> = keys.into_iter().map(|key| key as u32).collect();
        let full = order.partition_point(|&number| self.low(number) == u32::MAX);
        order[..full].sort_by_key(|&number| Reverse(self.get(number)));
        order
    }
}

impl FromIterator<u64> for Counts {
    fn from_iter<T: IntoIterator<Item = u64>>(counts: T) -> Counts {
        let mut made = Counts::default();
        for (number, count) in (0..).zip(counts) {
            let low = u32::try_from(count).unwrap_or(u32::MAX);
            made.low.push(low);
            if count > low.into() {
                made.beyond.insert(number, count - u64::from(low));
            }
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_32_bits_stay_exact() {
        const FULL: u64 = u32::MAX as u64;
        let mut counts: Counts = [3, FULL + 2, 0, FULL - 1, FULL, FULL + 7].into_iter().collect();
        (0..2).for_each(|_| counts.add_one(3));
        counts.add_one(7);
        let expected = [3, FULL + 2, 0, FULL + 1, FULL, FULL + 7, 0, 1];
        assert!(counts.iter().take(expected.len()).eq(expected));
        assert!(counts.descending().iter().eq([FULL + 7, FULL + 2, FULL + 1, FULL, 3, 1]));
        assert_eq!(counts.ranks((0..8).filter(|&number| counts.get(number) > 0)), [5, 1, 3, 4, 0, 7]);
        counts.reset(5);
        counts.add_one(5);
        assert_eq!((counts.get(5), counts.get(1), counts.get(99)), (1, FULL + 2, 0));
    }
}
