//! The chips that follow the home chip (RR-SSD paper IV.B.3, "Static").

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::{ChipSet, ChipView, Placement, may_hold};

#[derive(Clone)]
pub(super) struct Successors;

impl Placement for Successors {
    fn choose(&mut self, home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let count = chips.len() as u32;
        (1..count)
            .map(|step| Chip::new((home.number() + step) % count))
            .find(|&chip| may_hold(chip, chips, holds))
    }
}

flashtwin_bits::state!(Successors {});
