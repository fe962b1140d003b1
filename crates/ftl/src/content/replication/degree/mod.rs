//! How many copies a content earns. One policy a file; one row registers its name.

mod few_of_many;
mod many_of_few;
mod popularity;

use crate::policies::policies;

/// How many physical copies a content should have, the first included.
pub trait Degree: Send {
    /// Copies for a content whose counter stands at `popularity` (at least 1 read) on a device of
    /// `chips` chips. The caller makes at most one copy a chip.
    fn copies(&self, popularity: u8, chips: u32) -> u32;
}

policies! {
    /// Number of copies that a content earns.
    pub enum DegreePolicy;
    pub fn build(copies_per_read: f64, few_copies: u32) -> Box<dyn Degree>;

    /// In proportion to its reads in the period, `ftl.replication.copies_per_read` for each, up to
    /// one a chip (RR-SSD paper II.D, the proportional choice).
    #[default]
    Popularity => Box::new(popularity::Popularity { per_read: copies_per_read });
    /// One on every chip, for as many contents as fit.
    ManyOfFew => Box::new(many_of_few::ManyOfFew);
    /// `ftl.replication.few_copies` for every content that was read.
    FewOfMany => Box::new(few_of_many::FewOfMany { copies: few_copies });
}

/// Copies that a content earns, by its counter: the policy's answer, within the common limits.
pub(super) struct Degrees([u32; 256]);

impl Degrees {
    /// Contents read less often than `least_popularity` get no copies, the others up to `most_copies`.
    pub(super) fn new(policy: &dyn Degree, chips: u32, least_popularity: u32, most_copies: u32) -> Self {
        Self(std::array::from_fn(|popularity| match popularity as u8 {
            unpopular if u32::from(unpopular) < least_popularity => 1,
            popularity => policy.copies(popularity, chips).min(chips).clamp(1, most_copies),
        }))
    }

    /// Copies of a content whose counter stands at `popularity`, the first included.
    #[inline]
    pub(super) fn copies(&self, popularity: u8) -> u32 {
        self.0[popularity as usize]
    }
}
