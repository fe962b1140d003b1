//! Any chip that does not hold the content (RR-SSD paper IV.B.3, "Random").

use super::{ChipSet, ChipView, Placement, open};
use crate::rng::Rng;

pub(super) struct Random {
    pub(super) rng: Rng,
}

impl Placement for Random {
    fn choose(&mut self, _home: u32, chips: &[ChipView], holds: &ChipSet) -> Option<u32> {
        let candidates: Vec<u32> = (0..chips.len() as u32).filter(|&chip| open(chip, chips, holds)).collect();
        if candidates.is_empty() {
            return None;
        }
        Some(candidates[self.rng.below(candidates.len() as u32) as usize])
    }
}
