//! Which of several equally loaded copies serves a read. RR-SSD names no rule, and the rule moves its figures.

use std::cell::Cell;

use flashtwin_bits::{Loader, Saver, SplitMix64, State, StateResult};
use flashtwin_nand::Chip;

use crate::policies::policies;
use crate::rng::Rng;

policies! {
    /// Copy that serves a read where several are equally loaded. The papers name no rule.
    pub enum TieRule;

    /// The home copy; if that is more loaded, the oldest copy, or with `any-chip` the next chip after
    /// the home chip.
    #[default]
    Home;
    /// The one on the chip of the lowest number.
    Lowest;
    /// The one on the next chip after that of the last read.
    NextInTurn;
    /// The one on the next chip after a chip drawn at random.
    Random;
}

#[derive(Debug, Clone)]
pub(super) struct Ties {
    rule: TieRule,
    /// The chip after that of the last read.
    turn: Cell<u32>,
    random: Cell<u64>,
}

impl Ties {
    pub(super) fn new(rule: TieRule, seed: u64) -> Self {
        let random = Rng::stream(seed, "ties of redirection").next_u64();
        Self { rule, turn: Cell::new(0), random: Cell::new(random) }
    }

    /// The chip that comes first among equals, where it is not the home copy's. The others follow it by number.
    #[inline]
    pub(super) fn first_chip(&self, chips: usize) -> Option<usize> {
        match self.rule {
            TieRule::Home => None,
            TieRule::Lowest => Some(0),
            TieRule::NextInTurn => Some(self.turn.get() as usize % chips),
            TieRule::Random => {
                let mut numbers = SplitMix64(self.random.get());
                let drawn = numbers.next();
                self.random.set(numbers.0);
                Some(((u128::from(drawn) * chips as u128) >> 64) as usize)
            }
        }
    }

    #[inline]
    pub(super) fn took(&self, chip: Chip) {
        if self.rule == TieRule::NextInTurn {
            self.turn.set(chip.number() + 1);
        }
    }
}

impl State for Ties {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        self.turn.get().save(to)?;
        self.random.get().save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        self.turn.get_mut().load(from)?;
        self.random.get_mut().load(from)
    }
}
