//! Any chip that does not hold the content (RR-SSD paper IV.B.3, "Random").

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::{ChipSet, ChipView, Placement, may_hold};
use crate::rng::Rng;

#[derive(Clone)]
pub(super) struct Random {
    pub(super) rng: Rng,
}

impl Placement for Random {
    fn choose(&mut self, _home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let candidates: Vec<Chip> = chips.ids().filter(|&chip| may_hold(chip, chips, holds)).collect();
        if candidates.is_empty() {
            return None;
        }
        Some(candidates[self.rng.below(candidates.len() as u32) as usize])
    }
}

flashtwin_bits::state!(Random { rng });
