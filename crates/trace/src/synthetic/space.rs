//! How many distinct contents the pages hold that a trace writes.

use super::pool::NONE;
use super::writes::Avoided;

/// Pages that hold each value written, and the number of values that is to be held.
#[derive(Debug)]
pub(super) struct Space {
    /// Pages that hold each value.
    holders: Vec<u32>,
    /// Values that a page holds.
    held: u64,
    /// Of these, those that were written to be kept: they stay.
    pub(super) kept: u64,
    /// Values to be held by a page that is overwritten, on average, beside those that are kept.
    wanted: f64,
}

/// With this share of the contents wanted, or more, overwrites go where they go.
const NEAR: f64 = 0.998;

impl Space {
    /// `contents` are to be held by `pages` that are overwritten, and by no page that is kept.
    pub(super) fn new(contents: u64, pages: u64) -> Space {
        Space { holders: Vec::new(), held: 0, kept: 0, wanted: contents as f64 / pages.max(1) as f64 }
    }

    #[inline]
    pub(super) fn hold(&mut self, value: u32) {
        let value = value as usize;
        if value >= self.holders.len() {
            self.holders.resize(value + 1, 0);
        }
        self.holders[value] += 1;
        self.held += u64::from(self.holders[value] == 1);
    }

    #[inline]
    pub(super) fn release(&mut self, value: u32) {
        if value != NONE {
            self.holders[value as usize] -= 1;
            self.held -= u64::from(self.holders[value as usize] == 0);
        }
    }

    #[inline]
    pub(super) fn is_alone(&self, value: u32) -> bool {
        self.holders.get(value as usize).is_some_and(|&pages| pages == 1)
    }

    /// Which pages are rather not overwritten, so that as many contents are held as should be by `pages`.
    #[inline]
    pub(super) fn avoided(&self, pages: u64) -> Option<Avoided> {
        let (held, wanted) = (self.held.saturating_sub(self.kept) as f64, self.wanted * pages as f64);
        match held {
            _ if held > wanted => Some(Avoided::Shared),
            _ if held < wanted * NEAR => Some(Avoided::Alone),
            _ => None,
        }
    }
}
