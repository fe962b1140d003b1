//! A policy from outside, which sees the copies with their chips and loads.

use std::cell::RefCell;

use flashtwin_nand::{Geometry, Ppn};

use super::Redirection;
use crate::foreign::{Foreign, ForeignName, Rule};
use crate::loads::LoadView;
use crate::op::ReadTarget;

/// Copies that a policy sees at most, the first included.
const COPIES: usize = 256;

#[derive(Clone)]
pub(super) struct ForeignRedirection(RefCell<Rule>);

impl ForeignRedirection {
    pub(super) fn new(name: ForeignName, foreign: &Foreign) -> Self {
        Self(RefCell::new(foreign.rule("redirection", name, &[COPIES; 3])))
    }
}

impl Redirection for ForeignRedirection {
    fn choose(&self, home: Ppn, replicas: &[Ppn], loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget {
        let seen = &replicas[..replicas.len().min(COPIES - 1)];
        let mut chosen = home;
        if !seen.is_empty() {
            let mut rule = self.0.borrow_mut();
            rule.fill([home].iter().chain(seen).map(|&ppn| {
                let plane = geometry.plane(ppn);
                let (load, second) = loads.of_plane(plane, geometry);
                [geometry.chip_of_plane(plane).index() as i64, i64::from(load), i64::from(second)]
            }));
            let copies = seen.len() as i64 + 1;
            let is_right = |answer| (0..copies).contains(&answer);
            let expected = "the place of a copy, from 0 to one less than `copies`";
            let answer = rule.answer(copies, expected, is_right).unwrap_or_default() as usize;
            chosen = if answer == 0 { home } else { seen[answer - 1] };
        }
        ReadTarget { ppn: chosen, plane: geometry.plane(chosen), redirected: chosen != home }
    }

    fn reads_replicas(&self) -> bool {
        true
    }
}

impl flashtwin_bits::State for ForeignRedirection {
    fn save(&self, to: &mut flashtwin_bits::Saver<'_>) -> flashtwin_bits::StateResult {
        self.0.borrow().save(to)
    }

    fn load(&mut self, from: &mut flashtwin_bits::Loader<'_>) -> flashtwin_bits::StateResult {
        self.0.get_mut().load(from)
    }
}
