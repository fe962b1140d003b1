//! Of the pages of a write that belong together, one is fingerprinted first; the others only if it is on flash.
//!
//! Source: CAFTL (Chen et al., FAST 2011), which takes the page whose first bytes are the largest, so that equal data
//! give equal samples. Here contents are numbers: the page whose number has the largest hash.

use crate::ids::Content;
use flashtwin_bits::{STEP, mix};

fn hash(content: Content) -> u64 {
    mix(u64::from(content.number()).wrapping_add(STEP))
}

/// Position of the sample among pages written together, by their contents; 0 for an empty list. It is written first.
pub fn sample_of(contents: &[Content]) -> usize {
    (0..contents.len()).rev().max_by_key(|&at| hash(contents[at])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_contents_give_the_same_sample_in_any_order() {
        let mut first = 0;
        for start in 0..1_000 {
            let run = [start, start + 7, start * 3 + 1_000_000].map(Content::new);
            let turned = [run[2], run[0], run[1]];
            let sample = sample_of(&run);
            assert_eq!(run[sample], turned[sample_of(&turned)]);
            first += u32::from(sample == 0);
        }
        assert!((250..420).contains(&first), "each place is as likely: {first} of 1000");
        assert_eq!(sample_of(&[Content::new(9); 3]), 0);
        assert_eq!(sample_of(&[]), 0);
    }
}
