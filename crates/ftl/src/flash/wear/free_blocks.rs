//! The free blocks of a plane, in the order in which they are used.
//!
//! A block is free for the tables once its erase is ordered, but the flash may be far behind. So such a block is used
//! only when the plane has no erased one, and then the one whose erase comes first.

use crate::sabotage::sabotaged;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Blocks by number within the plane, those of the lowest rank first; among equals the lowest number. The
/// rank is the erase count, or the turn in which the block was erased where wear does not count.
#[derive(Clone, Default)]
pub(crate) struct FreeBlocks {
    erased: BinaryHeap<Reverse<(u32, u32)>>,
    /// Rank and number of the blocks whose erase is ordered and not carried out, in that order.
    ordered: VecDeque<(u32, u32)>,
}

impl FreeBlocks {
    pub(crate) fn len(&self) -> u32 {
        (self.erased.len() + self.ordered.len()) as u32
    }

    pub(crate) fn push(&mut self, rank: u32, in_plane: u32) {
        self.erased.push(Reverse((rank, in_plane)));
    }

    pub(crate) fn push_ordered(&mut self, rank: u32, in_plane: u32) {
        self.ordered.push_back((rank, in_plane));
    }

    pub(crate) fn erased(&mut self, in_plane: u32) {
        // Erases of a plane are carried out in the order in which they were ordered, with few exceptions.
        if let Some(at) = self.ordered.iter().position(|entry| entry.1 == in_plane)
            && let Some((rank, in_plane)) = self.ordered.remove(at)
        {
            self.push(rank, in_plane);
        }
    }

    /// The erased block of the lowest rank; without one, the block whose erase comes first.
    pub(crate) fn take_first(&mut self) -> Option<u32> {
        match self.erased.pop() {
            Some(Reverse((_, in_plane))) => Some(in_plane),
            None => self.ordered.pop_front().map(|(_, in_plane)| in_plane),
        }
    }

    /// The erased block of the highest rank and number; without one, the block whose erase comes first.
    pub(crate) fn take_last(&mut self) -> Option<u32> {
        if self.erased.is_empty() {
            return self.take_first();
        }
        let mut blocks = std::mem::take(&mut self.erased).into_vec();
        let last = (0..blocks.len()).max_by_key(|&at| blocks[at].0);
        let taken = last.map(|at| match sabotaged!(KeptFree) {
            true => blocks[at].0.1,
            false => blocks.swap_remove(at).0.1,
        });
        self.erased = blocks.into();
        taken
    }

    pub(crate) fn remove(&mut self, in_plane: u32) -> bool {
        let before = self.len();
        self.erased.retain(|Reverse((_, other))| *other != in_plane);
        self.ordered.retain(|&(_, other)| other != in_plane);
        self.len() < before
    }

    pub(crate) fn level(&mut self) {
        self.erased = self.erased.drain().map(|Reverse((_, in_plane))| Reverse((0, in_plane))).collect();
        self.ordered.iter_mut().for_each(|entry| entry.0 = 0);
    }
}

flashtwin_bits::state!(value FreeBlocks { erased, ordered });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn the_first_and_the_last_are_those_of_a_sorted_list() {
        let mut rng = Rng::stream(1, "free blocks");
        let (mut free, mut sorted) = (FreeBlocks::default(), Vec::<(u32, u32)>::new());
        let mut ordered = Vec::<(u32, u32)>::new();
        for block in 0..20_000 {
            let next = |ordered: &mut Vec<(u32, u32)>| (!ordered.is_empty()).then(|| ordered.remove(0).1);
            sorted.sort_unstable();
            match rng.below(6) {
                0 if sorted.is_empty() => assert_eq!(free.take_first(), next(&mut ordered)),
                0 => assert_eq!(free.take_first(), Some(sorted.remove(0).1)),
                1 => {
                    let last = sorted.pop().map(|last| last.1).or_else(|| next(&mut ordered));
                    assert_eq!(free.take_last(), last);
                }
                2 if rng.below(4) == 0 => {
                    let before = sorted.len() + ordered.len();
                    sorted.retain(|entry| entry.1 != block / 2);
                    ordered.retain(|entry| entry.1 != block / 2);
                    assert_eq!(free.remove(block / 2), sorted.len() + ordered.len() < before);
                }
                2 => {
                    let rank = rng.below(50);
                    free.push(rank, block);
                    sorted.push((rank, block));
                }
                3 if !ordered.is_empty() => {
                    let erased = ordered.remove(rng.below(ordered.len() as u32) as usize);
                    free.erased(erased.1);
                    sorted.push(erased);
                }
                _ => {
                    let rank = rng.below(50);
                    free.push_ordered(rank, block);
                    ordered.push((rank, block));
                }
            }
            free.erased(u32::MAX);
            assert_eq!(free.len() as usize, sorted.len() + ordered.len());
        }
        free.level();
        let least = sorted.iter().map(|entry| entry.1).min();
        assert_eq!(free.take_first(), least.or(ordered.first().map(|entry| entry.1)), "by number alone");
    }

    #[test]
    fn ordered_erase_waits_while_erased_blocks_last() {
        let mut free = FreeBlocks::default();
        free.push_ordered(1, 10);
        free.push_ordered(2, 11);
        free.push(9, 12);
        assert_eq!((free.take_first(), free.len()), (Some(12), 2), "worn, but erased");
        free.erased(11);
        assert_eq!(free.take_first(), Some(11), "erased by now");
        assert_eq!(free.take_last(), Some(10), "none is erased: the next erase");
        assert_eq!((free.take_first(), free.take_last()), (None, None));
    }
}
