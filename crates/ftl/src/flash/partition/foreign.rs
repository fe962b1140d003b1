//! A policy from outside, asked for the partitions of all pages at once as each window of the host's writes begins.

use super::{PartitionAssignment, told::named_bytes};
use crate::foreign::{Foreign, ForeignName, Rule};
use crate::ids::Lpn;

pub(super) struct ForeignPartition {
    rule: Rule,
    of_page: Vec<u8>,
    /// Writes of each page since the policy was last asked.
    writes: Vec<u32>,
    /// The number of the host's write that wrote each page last, from 1; 0 before.
    written: Vec<u64>,
    last: u64,
    window: u64,
    left: u64,
    coldest: u8,
}

impl ForeignPartition {
    pub(super) fn new(
        name: ForeignName,
        foreign: &Foreign,
        partitions: u32,
        window: u64,
        footprint_pages: u32,
    ) -> Self {
        let (pages, coldest) = (footprint_pages as usize, partitions.saturating_sub(1) as u8);
        Self {
            rule: foreign.rule("partition", name, &[pages; 3]),
            of_page: vec![coldest; pages],
            writes: vec![0; pages],
            written: vec![0; pages],
            last: 0,
            window,
            left: 0,
            coldest,
        }
    }

    fn ask(&mut self) {
        let Self { rule, of_page, writes, written, coldest, .. } = self;
        let pages = of_page.iter().zip(writes.iter()).zip(written.iter());
        rule.fill(pages.map(|((&of, &writes), &written)| [i64::from(writes), written as i64, i64::from(of)]));
        let is_right = |answer: &[i64]| {
            answer.len() == of_page.len() && answer.iter().all(|at| (0..=i64::from(*coldest)).contains(at))
        };
        let expected = "a partition for each page of the table, from 0 to one less than `partitions`";
        if let Some(answer) = rule.list(i64::from(*coldest) + 1, expected, is_right) {
            *of_page = answer.into_iter().map(|partition| partition as u8).collect();
        }
        self.writes.fill(0);
        self.left = self.window;
    }
}

impl PartitionAssignment for ForeignPartition {
    fn written(&mut self, lpn: Lpn) -> u8 {
        if self.left == 0 {
            self.ask();
        }
        self.left -= 1;
        self.last += 1;
        self.writes[lpn.index()] += 1;
        self.written[lpn.index()] = self.last;
        self.partition(lpn)
    }

    fn partition(&self, lpn: Lpn) -> u8 {
        self.of_page[lpn.index()]
    }

    fn forget(&mut self) {
        self.writes.fill(0);
        self.written.fill(0);
        (self.last, self.left) = (0, 0);
    }

    /// Those of the answer alone: what the policy remembers is not known.
    fn ram_bytes(&self) -> u64 {
        named_bytes(self.coldest, self.of_page.len())
    }

    fn bytes(&self) -> u64 {
        self.of_page.len() as u64 * (1 + 4 + 8)
    }
}

flashtwin_bits::state!(ForeignPartition { rule, of_page, writes, written, last, left } kept { window, coldest });

#[cfg(test)]
mod tests {
    use super::super::{PartitionConfig, Partitions};
    use super::*;
    use crate::foreign::stub;

    #[test]
    fn what_a_window_wrote_decides_from_the_next_one_on() {
        // Written twice: hot. Not at all, and before in an even write: as it was. Otherwise cold.
        let foreign = stub::lists(|_, pages| {
            let of = |page: &Vec<i64>| match page[..] {
                [0, written, partition] if written > 0 && written % 2 == 0 => partition,
                [writes, ..] => i64::from(writes < 2),
                _ => unreachable!("a page has columns"),
            };
            pages.iter().map(of).collect()
        });
        let policy = stub::named("partition");
        let config = PartitionConfig { policy, window: 1.0, ..PartitionConfig::default() };
        let mut partitions = Partitions::new(&config, 4, &foreign);
        let mut window = |pages: [u32; 4]| pages.map(|page| partitions.written(Lpn::new(page)));
        assert_eq!(
            window([3, 1, 3, 1]),
            [1, 1, 1, 1],
            "asked before the first write, of which it knows nothing"
        );
        assert_eq!(window([1, 3, 0, 0]), [0, 0, 1, 1], "1 and 3 were written twice");
        assert_eq!(window([0, 1, 2, 3]), [0, 1, 1, 1], "1 and 3 were written once");
        assert_eq!(window([0, 0, 0, 0]), [1; 4]);
        assert_eq!(window([1, 2, 3, 0]), [1, 1, 1, 0]);
        partitions.forget();
        assert_eq!((partitions.of(Lpn::new(0)), partitions.written(Lpn::new(0))), (0, 1));
        assert_eq!(partitions.bytes(), (1, 4 * 13));
    }
}
