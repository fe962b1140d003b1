//! The chip whose stored contents are read least, however full or worn it is.

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::{ChipSet, ChipView, Placement, may_hold};

#[derive(Clone)]
pub(super) struct LeastPopular;

impl Placement for LeastPopular {
    fn choose(&mut self, _home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        chips
            .ids()
            .filter(|&chip| may_hold(chip, chips, holds))
            // The first of equals: the choice depends on nothing but the arguments.
            .min_by_key(|&chip| chips[chip].popularity)
    }
}

flashtwin_bits::state!(LeastPopular {});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn popularity_alone_decides_among_the_chips_that_may_be_chosen() {
        let chip = ChipView { free_pages: 100, blocks: 10, popularity: 5 << 16, ..ChipView::default() };
        let mut chips = vec![chip; 4];
        chips[2] = ChipView { free_pages: 1, erases: 900, popularity: 1 << 16, ..chip };
        let mut holds = ChipSet::default();
        let chosen = |chips: &[ChipView], holds: &ChipSet| {
            LeastPopular.choose(Chip::new(0), By::new(chips), holds).map(Chip::number)
        };
        holds.insert(Chip::new(0));
        assert_eq!(chosen(&chips, &holds), Some(2), "space and wear do not count");
        chips[2].free_pages = 0;
        assert_eq!(chosen(&chips, &holds), Some(1), "a full chip is no candidate");
        holds.insert(Chip::new(1));
        holds.insert(Chip::new(3));
        assert_eq!(chosen(&chips, &holds), None);
    }
}
