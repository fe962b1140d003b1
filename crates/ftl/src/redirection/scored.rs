//! The copy on the chip with the smallest score of a policy from outside serves the read; otherwise as `replicas`.

use std::cell::RefCell;

use flashtwin_nand::{Geometry, Ppn};

use super::Redirection;
use super::replicas::Replicas;
use super::ties::Ties;
use crate::loads::LoadView;
use crate::op::ReadTarget;
use crate::scores::Scores;

pub(super) struct ScoredRedirection {
    scores: RefCell<Scores>,
    copies: Replicas,
}

impl ScoredRedirection {
    pub(super) fn new(scores: Scores, ties: Ties) -> Self {
        Self { scores: RefCell::new(scores), copies: Replicas { ties } }
    }
}

impl Redirection for ScoredRedirection {
    fn choose(&self, home: Ppn, replicas: &[Ppn], loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget {
        if replicas.is_empty() {
            return self.copies.choose(home, replicas, loads, geometry);
        }
        let mut scores = self.scores.borrow_mut();
        let target = self.copies.choose(home, replicas, &scores.view(loads), geometry);
        scores.choose(geometry.chip_of_plane(target.plane));
        target
    }

    fn reads_replicas(&self) -> bool {
        true
    }
}

impl flashtwin_bits::State for ScoredRedirection {
    fn save(&self, to: &mut flashtwin_bits::Saver<'_>) -> flashtwin_bits::StateResult {
        self.scores.borrow().save(to)?;
        self.copies.save(to)
    }

    fn load(&mut self, from: &mut flashtwin_bits::Loader<'_>) -> flashtwin_bits::StateResult {
        self.scores.get_mut().load(from)?;
        self.copies.load(from)
    }
}
