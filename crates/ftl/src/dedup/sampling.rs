//! Of the pages of a write that belong together, one is fingerprinted first; only if its content
//! is on flash are the others.
//!
//! Source: CAFTL (Chen et al., FAST 2011), which takes the page whose first bytes are the largest:
//! a choice by content, so that the same data give the same sample wherever they are written.
//! Here contents are numbers; the page is the one whose number has the largest hash.

/// How far the pages of a run have been written.
#[derive(Debug)]
pub(crate) struct Sampling {
    /// Pages of a run.
    pub(crate) pages: u32,
    /// Pages of the run that are still to come.
    left: u32,
    /// What is done with them.
    fingerprint: Option<bool>,
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit depends on all.
fn hash(content: u32) -> u64 {
    let mut z = u64::from(content).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Sampling {
    /// One sample for `pages` pages.
    pub(crate) fn new(pages: u32) -> Self {
        Self { pages, left: 0, fingerprint: None }
    }

    /// The next `pages` pages written are a run; the first of them is its sample, to be chosen
    /// among `candidates`. Returns its place there; among equals the first.
    pub(crate) fn begin(&mut self, candidates: &[u32], pages: u32) -> usize {
        (self.left, self.fingerprint) = (pages, None);
        let place = (0..candidates.len()).rev().max_by_key(|&at| hash(candidates[at]));
        place.unwrap_or(0)
    }

    /// Whether the page that is written now is fingerprinted: a page of no run, a sample, and a
    /// page whose sample was found.
    #[inline]
    pub(crate) fn fingerprints(&self) -> bool {
        self.left == 0 || self.fingerprint.unwrap_or(true)
    }

    /// A page has been written; `found`: its fingerprint was known.
    #[inline]
    pub(crate) fn written(&mut self, found: bool) {
        if self.left > 0 {
            self.left -= 1;
            self.fingerprint.get_or_insert(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_decides_for_its_run_and_for_no_other_page() {
        let mut sampling = Sampling::new(3);
        assert!(sampling.fingerprints(), "a page of no run");
        sampling.written(false);
        for found in [true, false] {
            sampling.begin(&[4, 5, 6], 3);
            assert!(sampling.fingerprints(), "the sample");
            sampling.written(found);
            for _ in 0..2 {
                assert_eq!(sampling.fingerprints(), found);
                // What becomes of the others decides nothing.
                sampling.written(!found);
            }
            assert!(sampling.fingerprints(), "the run has ended");
            sampling.written(false);
        }
    }

    #[test]
    fn the_same_contents_give_the_same_sample_in_any_order() {
        let mut sampling = Sampling::new(3);
        let mut first = 0;
        for start in 0..1_000 {
            let run = [start, start + 7, start * 3 + 1_000_000];
            let turned = [run[2], run[0], run[1]];
            let sample = sampling.begin(&run, 3);
            assert_eq!(run[sample], turned[sampling.begin(&turned, 3)]);
            first += u32::from(sample == 0);
        }
        assert!((250..420).contains(&first), "each place is as likely: {first} of 1000");
        assert_eq!(sampling.begin(&[9, 9, 9], 3), 0);
        assert_eq!(sampling.begin(&[], 3), 0);
    }
}
