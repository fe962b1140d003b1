//! How many copies a content earns. One row a policy (RR-SSD paper II.D).

use super::ReplicationConfig;
use crate::decimal::times;
use crate::foreign::Foreign;
use crate::policies::policies;

policies! {
    /// Number of copies that a content earns.
    pub enum DegreePolicy;
    @ name [];

    /// In proportion to its reads in the period, `ftl.replication.copies_per_read` for each, up to
    /// one a chip (RR-SSD paper II.D, the proportional choice).
    #[default]
    Popularity;
    /// One on every chip, for as many contents as fit.
    ManyOfFew;
    /// `ftl.replication.few_copies` for every content that was read.
    FewOfMany;
}

/// Copies that a content earns, by its counter: the first included, at most one a chip.
#[derive(Clone)]
pub(super) struct Degrees([u32; 256]);

impl Degrees {
    pub(super) fn new(rules: &ReplicationConfig, chips: u32, foreign: &Foreign) -> Self {
        let mut foreign = match rules.degree {
            DegreePolicy::Foreign(name) => Some(foreign.rule("degree", name, &[])),
            _ => None,
        };
        let mut earned = |popularity: u8| match rules.degree {
            // With one copy a read, a counter that saturates at chips - 1 suffices: the paper's argument for its width.
            DegreePolicy::Popularity => 1 + times(u64::from(popularity), rules.copies_per_read),
            DegreePolicy::ManyOfFew => u64::from(chips),
            DegreePolicy::FewOfMany => u64::from(rules.few_copies),
            DegreePolicy::Foreign(_) => {
                let is_right = |answer| (1..=i64::from(chips)).contains(&answer);
                let expected = "a number of copies, from 1 to `drive.chips`";
                let rule = foreign.as_mut();
                rule.and_then(|rule| rule.answer(popularity.into(), expected, is_right)).unwrap_or(1) as u64
            }
        };
        Self(std::array::from_fn(|popularity| match popularity as u8 {
            unpopular if u32::from(unpopular) < rules.least_popularity => 1,
            popularity => (earned(popularity).min(u64::from(chips)) as u32).clamp(1, rules.most_copies),
        }))
    }

    /// Copies of a content whose counter stands at `popularity`, the first included.
    #[inline]
    pub(super) fn copies(&self, popularity: u8) -> u32 {
        self.0[popularity as usize]
    }
}
