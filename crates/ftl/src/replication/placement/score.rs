//! S / (E x Pop), RR-SSD's own placement.

use super::{ChipSet, ChipView, Placement, open};

pub(super) struct Score;

/// Whether `a` scores higher than `b`, in exact integers. E is the mean erase count plus
/// one and Pop the stored popularity plus one read, so that a new device has a score.
fn higher(a: &ChipView, b: &ChipView) -> bool {
    let cost = |chip: &ChipView| {
        // (erases / blocks + 1) x (popularity + 1), times blocks; blocks are equal per chip.
        u128::from(chip.erases + chip.blocks) * u128::from(chip.popularity + (1 << 16))
    };
    u128::from(a.free_pages) * cost(b) > u128::from(b.free_pages) * cost(a)
}

impl Placement for Score {
    fn choose(&mut self, _home: u32, chips: &[ChipView], holds: &ChipSet) -> Option<u32> {
        let mut best: Option<u32> = None;
        for chip in (0..chips.len() as u32).filter(|&chip| open(chip, chips, holds)) {
            if best.is_none_or(|best| higher(&chips[chip as usize], &chips[best as usize])) {
                best = Some(chip);
            }
        }
        best
    }
}
