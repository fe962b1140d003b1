//! Scores of the chips from a policy from outside, which is asked for them again at intervals.

use flashtwin_nand::Chip;

use crate::foreign::{Foreign, ForeignName, Rule};
use crate::loads::LoadView;

/// Scores stand where the chips' loads do: the smallest one wins, and the rules for equals are those of loads.
pub(crate) struct Scores {
    rule: Rule,
    every_ns: u64,
    due_ns: u64,
    /// What the policy said, and 1 for each time that the chip was chosen since.
    scores: Vec<u32>,
    chosen: Vec<u32>,
}

impl Scores {
    pub(crate) fn new(name: ForeignName, every_ns: u64, foreign: &Foreign, chips: u32) -> Self {
        let rule = foreign.rule(name.family(), name, &[chips as usize; 2]);
        let none = vec![0; chips as usize];
        Self { rule, every_ns, due_ns: 0, scores: none.clone(), chosen: none }
    }

    /// The same loads, but for those of the chips, which are scores.
    #[inline]
    pub(crate) fn view<'a>(&'a mut self, loads: &LoadView<'a>) -> LoadView<'a> {
        if loads.now_ns >= self.due_ns {
            self.renew(loads);
        }
        LoadView { units_decide: false, ..LoadView::new(&self.scores, *loads.unit).at(loads.now_ns) }
    }

    #[inline]
    pub(crate) fn choose(&mut self, chip: Chip) {
        self.chosen[chip.index()] += 1;
        self.scores[chip.index()] = self.scores[chip.index()].saturating_add(1);
    }

    #[cold]
    fn renew(&mut self, loads: &LoadView<'_>) {
        self.due_ns = loads.now_ns.saturating_add(self.every_ns);
        let rows = loads.chip.iter().zip(&self.chosen);
        self.rule.fill(rows.map(|(&load, &chosen)| [i64::from(load), i64::from(chosen)]));
        let chips = self.scores.len();
        let is_right = |answer: &[i64]| {
            answer.len() == chips && answer.iter().all(|&score| u32::try_from(score).is_ok())
        };
        let chosen: i64 = self.chosen.iter().map(|&times| i64::from(times)).sum();
        let expected = "a score for each chip, from 0 to 4294967295";
        if let Some(answer) = self.rule.list(chosen, expected, is_right) {
            self.scores = answer.into_iter().map(|score| score as u32).collect();
        }
        self.chosen.fill(0);
    }
}

flashtwin_bits::state!(Scores { rule, due_ns, scores, chosen } kept { every_ns });
