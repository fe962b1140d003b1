//! Runs of pages, and the chunks they are kept in.

use std::ops::{Range, RangeInclusive};

/// Neighbouring pages that are kept together.
pub(super) const CHUNK_PAGES: u64 = (GROUPS * GROUP_PAGES) as u64;
/// Pages whose latest touch is kept as well.
pub(super) const GROUP_PAGES: usize = 32;
pub(super) const GROUPS: usize = 32;

/// A run of pages of one volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pages {
    pub(super) volume: u32,
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Pages {
    #[inline]
    pub(super) fn chunks(&self) -> RangeInclusive<u64> {
        self.first / CHUNK_PAGES..=self.last / CHUNK_PAGES
    }

    #[inline]
    pub(super) fn reach(&self, number: u64) -> bool {
        self.chunks().contains(&number)
    }

    /// Those in a chunk that they reach, counted from its beginning.
    #[inline]
    pub(super) fn within(&self, number: u64) -> Range<usize> {
        let base = number * CHUNK_PAGES;
        let start = self.first.saturating_sub(base);
        let end = (self.last + 1 - base).min(CHUNK_PAGES);
        start as usize..end as usize
    }

    #[inline]
    pub(super) fn widened(&self, distance: u32) -> Pages {
        let first = self.first.saturating_sub(u64::from(distance));
        Pages { first, last: self.last + u64::from(distance), ..*self }
    }

    /// The pages 1 to `distance` away, below (if there are any) and above; `distance` is not 0.
    #[inline]
    pub(super) fn sides(&self, distance: u32) -> (Option<Pages>, Pages) {
        let all = self.widened(distance);
        let below = self.first.checked_sub(1).map(|last| Pages { last, ..all });
        (below, Pages { first: self.last + 1, ..all })
    }
}
