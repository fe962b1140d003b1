//! A policy from outside, which sees the chips as a table.

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::{ChipSet, ChipView, Placement, may_hold};
use crate::foreign::Rule;

#[derive(Clone)]
pub(super) struct ForeignPlacement {
    pub(super) rule: Rule,
}

impl Placement for ForeignPlacement {
    fn choose(&mut self, home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let may = |chip| may_hold(chip, chips, holds);
        if !chips.ids().any(may) {
            return None;
        }
        self.rule.fill(chips.ids().map(|chip| {
            let [free, stored, erases, blocks, popularity, load, received] = chips[chip].columns();
            [free, stored, erases, blocks, popularity, load, received, i64::from(may(chip))]
        }));
        let count = chips.len() as i64;
        let is_right = |answer| (0..count).contains(&answer) && may(Chip::new(answer as u32));
        let expected = "a chip whose `may` is 1, or -1 for none";
        self.rule.choice(home.index() as i64, expected, is_right).map(|chip| Chip::new(chip as u32))
    }
}

flashtwin_bits::state!(ForeignPlacement { rule });
