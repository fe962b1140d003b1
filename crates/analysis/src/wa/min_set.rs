//! A set of integers that knows its lowest member.

const WORD: usize = 64;

/// One bit each, under a tree of 64-way summaries: an operation touches a word a level, four for 16 million integers.
pub(super) struct MinSet {
    /// The members first; then, level by level, which words of the level below are not 0.
    levels: Vec<Vec<u64>>,
}

impl MinSet {
    pub(super) fn new(bound: usize) -> MinSet {
        let mut levels = vec![vec![0; bound.div_ceil(WORD).max(1)]];
        let mut words = levels[0].len();
        while words > 1 {
            words = words.div_ceil(WORD);
            levels.push(vec![0; words]);
        }
        MinSet { levels }
    }

    #[inline]
    pub(super) fn insert(&mut self, mut member: usize) {
        for level in &mut self.levels {
            let word = &mut level[member / WORD];
            let was_empty = *word == 0;
            *word |= 1 << (member % WORD);
            if !was_empty {
                break;
            }
            member /= WORD;
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, mut member: usize) {
        for level in &mut self.levels {
            let word = &mut level[member / WORD];
            *word &= !(1 << (member % WORD));
            if *word != 0 {
                break;
            }
            member /= WORD;
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        let mut member = 0;
        for level in self.levels.iter().rev() {
            let word = level[member];
            if word == 0 {
                return None;
            }
            member = member * WORD + word.trailing_zeros() as usize;
        }
        Some(member)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sample::mix;

    #[test]
    fn agrees_with_an_ordered_set() {
        for bound in [1, 64, 65, 4096, 4097, 300_000] {
            let (mut set, mut reference) = (MinSet::new(bound), BTreeSet::new());
            for step in 0..20_000 {
                let random = mix(step);
                // Few members at times, so that the set runs empty.
                let member = (random >> 8) as usize % bound;
                if random % 5 < 2 {
                    set.insert(member);
                    reference.insert(member);
                } else if let Some(&first) = reference.first() {
                    let member = if random.is_multiple_of(2) { first } else { member };
                    set.remove(member);
                    reference.remove(&member);
                }
                assert_eq!(set.first(), reference.first().copied(), "bound {bound}, step {step}");
            }
        }
    }
}
