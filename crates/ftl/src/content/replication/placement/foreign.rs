//! A policy from outside, which sees the chips as a table.

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::{ChipSet, ChipView, Placement, may_hold};
use crate::foreign::Rule;

pub(super) struct ForeignPlacement(pub(super) Rule);

impl Placement for ForeignPlacement {
    fn choose(&mut self, home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let may = |chip| may_hold(chip, chips, holds);
        if !chips.ids().any(may) {
            return None;
        }
        self.0.fill(chips.ids().map(|chip| {
            let [free, stored, erases, blocks, popularity, load, received] = chips[chip].columns();
            [free, stored, erases, blocks, popularity, load, received, i64::from(may(chip))]
        }));
        let count = chips.len() as i64;
        let is_right = |answer| (0..count).contains(&answer) && may(Chip::new(answer as u32));
        let expected = "a chip whose `may` is 1, or -1 for none";
        self.0.choice(home.index() as i64, expected, is_right).map(|chip| Chip::new(chip as u32))
    }
}

impl flashtwin_bits::State for ForeignPlacement {
    fn save(&self, to: &mut flashtwin_bits::Saver<'_>) -> flashtwin_bits::StateResult {
        self.0.save(to)
    }

    fn load(&mut self, from: &mut flashtwin_bits::Loader<'_>) -> flashtwin_bits::StateResult {
        self.0.load(from)
    }
}
