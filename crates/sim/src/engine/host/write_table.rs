//! The newest undecided write of each logical page.

use flashtwin_ftl::Lpn;

use super::NONE;

/// Room to begin with: more than the writes that most hash units keep waiting.
const FIRST_ROOM: usize = 64;

/// Open addressing and linear probing, at most half full. Removals leave no mark: entries behind move up (Knuth, The
/// Art of Computer Programming 3, 6.4, algorithm R). A general map cost a replay of `rr-ssd` 1.5 % more instructions.
#[derive(Debug, Clone)]
pub(super) struct WriteTable {
    /// Logical page and write; [`NONE`] for a write: nothing is here.
    places: Vec<(Lpn, u32)>,
    len: usize,
}

impl WriteTable {
    pub(super) fn new() -> Self {
        Self { places: vec![(Lpn::new(0), NONE); FIRST_ROOM], len: 0 }
    }

    #[inline]
    fn home(&self, lpn: Lpn) -> usize {
        // The upper bits of a product spread pages that follow one another (Fibonacci hashing, in the same chapter).
        let hash = lpn.number().wrapping_mul(0x9e37_79b1);
        ((u64::from(hash) * self.places.len() as u64) >> 32) as usize
    }

    #[inline]
    fn find(&self, lpn: Lpn) -> usize {
        let mut at = self.home(lpn);
        while self.places[at].1 != NONE && self.places[at].0 != lpn {
            at = self.after(at);
        }
        at
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn of(&self, lpn: Lpn) -> u32 {
        if self.len == 0 { NONE } else { self.places[self.find(lpn)].1 }
    }

    /// Returns the write before, or [`NONE`].
    #[inline]
    pub(super) fn replace(&mut self, lpn: Lpn, write: u32) -> u32 {
        let at = self.find(lpn);
        let before = std::mem::replace(&mut self.places[at], (lpn, write)).1;
        if before == NONE {
            self.len += 1;
            if 2 * self.len > self.places.len() {
                self.grow();
            }
        }
        before
    }

    #[inline]
    pub(super) fn remove(&mut self, lpn: Lpn) {
        let mut hole = self.find(lpn);
        let mut at = self.after(hole);
        while self.places[at].1 != NONE {
            // It may stand anywhere from its home on.
            let mask = self.places.len() - 1;
            let from_home = at.wrapping_sub(self.home(self.places[at].0)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.places[hole] = self.places[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.places[hole].1 = NONE;
        self.len -= 1;
    }

    #[cold]
    fn grow(&mut self) {
        let room = 2 * self.places.len();
        for (lpn, write) in std::mem::replace(&mut self.places, vec![(Lpn::new(0), NONE); room]) {
            if write != NONE {
                let at = self.find(lpn);
                self.places[at] = (lpn, write);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use flashtwin_ftl::Rng;

    use super::*;

    #[test]
    fn it_holds_what_a_plain_map_holds() {
        let mut rng = Rng::stream(1, "newest");
        // Few pages: most have a write. Many: the table grows, and chains meet.
        for pages in [1, 40, 3_000] {
            let (mut ours, mut plain) = (WriteTable::new(), HashMap::new());
            for write in 0..40_000 {
                let lpn = Lpn::new(rng.below(pages) * 1_000_003);
                assert_eq!(ours.of(lpn), plain.get(&lpn).copied().unwrap_or(NONE));
                if rng.below(2) == 0 && plain.remove(&lpn).is_some() {
                    ours.remove(lpn);
                } else {
                    assert_eq!(ours.replace(lpn, write), plain.insert(lpn, write).unwrap_or(NONE));
                }
                assert_eq!(ours.len, plain.len());
            }
            assert!(pages == 1 || ours.places.len() >= 2 * plain.len() && !plain.is_empty());
        }
    }
}
