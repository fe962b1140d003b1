//! The erased blocks of a plane, in the order in which they are used.

use crate::sabotage::sabotaged;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Blocks by number within the plane, those of the lowest rank first; among equals the lowest number. The
/// rank is the erase count, or the turn in which the block was erased where wear does not count.
#[derive(Default)]
pub(crate) struct FreeBlocks {
    heap: BinaryHeap<Reverse<(u32, u32)>>,
}

impl FreeBlocks {
    pub(crate) fn len(&self) -> u32 {
        self.heap.len() as u32
    }

    pub(crate) fn push(&mut self, rank: u32, in_plane: u32) {
        self.heap.push(Reverse((rank, in_plane)));
    }

    /// The block of the lowest rank.
    pub(crate) fn take_first(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse((_, in_plane))| in_plane)
    }

    /// The block of the highest rank; among equals the highest number. A pass over the free blocks, which is
    /// little beside the block that is moved for it.
    pub(crate) fn take_last(&mut self) -> Option<u32> {
        let mut blocks = std::mem::take(&mut self.heap).into_vec();
        let last = (0..blocks.len()).max_by_key(|&at| blocks[at].0);
        let taken = last.map(|at| match sabotaged!(KeptFree) {
            true => blocks[at].0.1,
            false => blocks.swap_remove(at).0.1,
        });
        self.heap = blocks.into();
        taken
    }

    /// Every rank is 0 from now on.
    pub(crate) fn level(&mut self) {
        self.heap = self.heap.drain().map(|Reverse((_, in_plane))| Reverse((0, in_plane))).collect();
    }
}

flashtwin_bits::state!(value FreeBlocks { heap });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn the_first_and_the_last_are_those_of_a_sorted_list() {
        let mut rng = Rng::stream(1, "free blocks");
        let (mut free, mut sorted) = (FreeBlocks::default(), Vec::<(u32, u32)>::new());
        for block in 0..5_000 {
            match rng.below(4) {
                0 => {
                    sorted.sort_unstable();
                    let first = (!sorted.is_empty()).then(|| sorted.remove(0).1);
                    assert_eq!(free.take_first(), first);
                }
                1 => {
                    sorted.sort_unstable();
                    assert_eq!(free.take_last(), sorted.pop().map(|last| last.1));
                }
                _ => {
                    let rank = rng.below(50);
                    free.push(rank, block);
                    sorted.push((rank, block));
                }
            }
            assert_eq!(free.len() as usize, sorted.len());
        }
        free.level();
        let least = sorted.iter().map(|entry| entry.1).min();
        assert_eq!(free.take_first(), least, "by number alone");
    }
}
