//! The chips that follow the home chip (RR-SSD paper IV.B.3, "Static").

use super::{ChipSet, ChipView, Placement, open};

pub(super) struct Successors;

impl Placement for Successors {
    fn choose(&mut self, home: u32, chips: &[ChipView], holds: &ChipSet) -> Option<u32> {
        let count = chips.len() as u32;
        (1..count).map(|step| (home + step) % count).find(|&chip| open(chip, chips, holds))
    }
}
