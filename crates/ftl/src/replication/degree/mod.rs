//! How many copies a content earns. One policy a file; one row registers its name.

mod few_of_many;
mod many_of_few;
mod popularity;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many physical copies a content should have, the first included.
pub trait Degree: Send {
    /// Copies for a content whose counter stands at `popularity` (at least 1 read) on a
    /// device of `chips` chips. At most one copy a chip is made whatever is answered.
    fn copies(&self, popularity: u8, chips: u32) -> u32;
}

/// How many copies a content earns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DegreePolicy {
    /// One more for every read in the period, up to one a chip (RR-SSD paper II.D, the
    /// proportional choice).
    #[default]
    Popularity,
    /// One on every chip, for as many contents as fit.
    ManyOfFew,
    /// `ftl.replication.few_copies` for every content that was read.
    FewOfMany,
}

impl DegreePolicy {
    /// Builds the policy.
    pub fn build(self, few_copies: u32) -> Box<dyn Degree> {
        match self {
            Self::Popularity => Box::new(popularity::Popularity),
            Self::ManyOfFew => Box::new(many_of_few::ManyOfFew),
            Self::FewOfMany => Box::new(few_of_many::FewOfMany { copies: few_copies }),
        }
    }
}
