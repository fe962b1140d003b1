//! The contents that are accessed most.

use super::KINDS;
use crate::counts::Counts;

/// By kind the fewest contents with half of the accesses (CA-SSD paper, Fig. 4). Of equals those that appear first.
#[derive(Clone, Debug, Default)]
pub(crate) struct PopularContents {
    members: [Vec<u64>; KINDS],
    count: [u64; KINDS],
}

impl PopularContents {
    pub(crate) fn new(counts: [&Counts; KINDS]) -> PopularContents {
        let mut popular = PopularContents::default();
        for (kind, counts) in counts.into_iter().enumerate() {
            let (above, equal) = threshold(counts);
            let mut left = equal.1;
            popular.members[kind] = vec![0; counts.len().div_ceil(64)];
            for (content, count) in counts.iter().enumerate() {
                let tie = count == equal.0 && left > 0;
                left -= u64::from(tie);
                if count > equal.0 || tie {
                    popular.members[kind][content / 64] |= 1 << (content % 64);
                }
            }
            popular.count[kind] = above + equal.1;
        }
        popular
    }

    #[inline]
    pub(super) fn contains(&self, kind: usize, content: u32) -> bool {
        let word = self.members[kind].get(content as usize / 64);
        word.is_some_and(|word| word >> (content % 64) & 1 == 1)
    }

    pub(super) fn count(&self, kind: usize) -> u64 {
        self.count[kind]
    }
}

/// The number of contents above a count, that count, and how many of those with just that count are popular.
fn threshold(counts: &Counts) -> (u64, (u64, u64)) {
    let sorted = counts.descending();
    let total: u64 = sorted.iter().sum();
    let mut sum = 0;
    let half = sorted.iter().position(|count| {
        sum += count;
        sum * 2 >= total
    });
    let Some(last) = half else { return (0, (u64::MAX, 0)) };
    let least = sorted.get(last as u32);
    let above = sorted.iter().take_while(|&count| count > least).count();
    (above as u64, (least, (last + 1 - above) as u64))
}
