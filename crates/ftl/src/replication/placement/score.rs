//! S / (E x Pop), RR-SSD's own placement; on-line S / (E x Pop x QL).

use super::{ChipSet, ChipView, Placement, open};

pub(super) struct Score;

/// E x Pop: the mean erase count plus one and the stored popularity plus one read, so that a
/// new device has a score; times the blocks of a chip, which are equal for all. It would
/// take 2^24 erases of every block and 2^16 reads of a million contents to saturate.
#[inline]
fn cost(chip: &ChipView) -> u64 {
    let wear = (chip.erases + chip.blocks).saturating_mul(chip.popularity + (1 << 16));
    wear.saturating_mul(u64::from(chip.load) + 1)
}

impl Placement for Score {
    fn choose(&mut self, _home: u32, chips: &[ChipView], holds: &ChipSet) -> Option<u32> {
        let mut best: Option<(u32, u64, u64)> = None;
        for chip in (0..chips.len() as u32).filter(|&chip| open(chip, chips, holds)) {
            let (free, cost) = (chips[chip as usize].free_pages, cost(&chips[chip as usize]));
            // free / cost > best free / best cost, in exact integers.
            let higher = best.is_none_or(|(_, best_free, best_cost)| {
                u128::from(free) * u128::from(best_cost) > u128::from(best_free) * u128::from(cost)
            });
            if higher {
                best = Some((chip, free, cost));
            }
        }
        best.map(|(chip, _, _)| chip)
    }
}
