//! Response times by ranges of the trace (blocks), so that runs of one trace can be compared range by range.

use super::ledgers::{step_ns, step_of};

/// Blocks of a trace whose length is known.
const BLOCKS: u64 = 100;
/// Most blocks of a trace whose length is not known. When there are more, neighbours are merged.
const MOST_BLOCKS: u64 = 200;
/// Buckets of each doubling of the time, as a power of two.
const BUCKETS_SHIFT: u32 = 6;

/// The requests of one kind in one block. Sums and counts wrap, because what belongs to another block is taken out
/// before it is added.
#[derive(Debug, Clone)]
pub(crate) struct BlockTimes {
    sum_ns: u128,
    pub(crate) first_arrival_ns: u64,
    pub(crate) last_arrival_ns: u64,
    buckets: Vec<u32>,
}

impl Default for BlockTimes {
    fn default() -> Self {
        Self { sum_ns: 0, first_arrival_ns: u64::MAX, last_arrival_ns: 0, buckets: Vec::new() }
    }
}

impl BlockTimes {
    /// Of `sum_ns` in all, and of times from `least_ns` to `most_ns`, so many in each range.
    pub(super) fn of(sum_ns: u128, (least_ns, most_ns): (u64, u64), count: impl Fn(u64, u64) -> u64) -> Self {
        let (first, end) = (step_of::<BUCKETS_SHIFT>(least_ns), step_of::<BUCKETS_SHIFT>(most_ns) + 1);
        let mut buckets = vec![0; end];
        for (bucket, requests) in buckets.iter_mut().enumerate().skip(first) {
            let (lower_ns, upper_ns) = range_ns(bucket);
            *requests = count(lower_ns, upper_ns) as u32;
        }
        Self { sum_ns, buckets, ..Self::default() }
    }

    #[inline]
    fn note_arrival(&mut self, arrival_ns: u64) {
        self.first_arrival_ns = self.first_arrival_ns.min(arrival_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
    }

    fn add(&mut self, other: &Self) {
        self.first_arrival_ns = self.first_arrival_ns.min(other.first_arrival_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(other.last_arrival_ns);
        self.change(other, u128::wrapping_add, u32::wrapping_add);
    }

    fn take_out(&mut self, other: &Self) {
        self.change(other, u128::wrapping_sub, u32::wrapping_sub);
    }

    /// One request more or less.
    fn change_one(&mut self, total_ns: u64, sum: fn(u128, u128) -> u128, count: fn(u32, u32) -> u32) {
        let bucket = step_of::<BUCKETS_SHIFT>(total_ns);
        self.buckets.resize(self.buckets.len().max(bucket + 1), 0);
        self.sum_ns = sum(self.sum_ns, total_ns.into());
        self.buckets[bucket] = count(self.buckets[bucket], 1);
    }

    fn change(&mut self, other: &Self, sum: fn(u128, u128) -> u128, count: fn(u32, u32) -> u32) {
        self.sum_ns = sum(self.sum_ns, other.sum_ns);
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(mine, theirs)| *mine = count(*mine, *theirs));
    }

    pub(crate) fn sum_ns(&self) -> u64 {
        u64::try_from(self.sum_ns).unwrap_or(u64::MAX)
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(|&requests| u64::from(requests)).sum()
    }

    /// Lowest and highest time, and number of requests, of each bucket that has any.
    pub(crate) fn histogram(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        let counted = self.buckets.iter().enumerate().filter(|(_, requests)| **requests > 0);
        counted.map(|(bucket, &requests)| {
            let (lower_ns, upper_ns) = range_ns(bucket);
            (lower_ns, upper_ns, requests)
        })
    }
}

fn range_ns(bucket: usize) -> (u64, u64) {
    (step_ns::<BUCKETS_SHIFT>(bucket), step_ns::<BUCKETS_SHIFT>(bucket + 1).wrapping_sub(1))
}

/// The requests of one kind, in blocks of equal numbers of requests of all kinds, in the order of the trace.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    requests_each: u64,
    /// Requests before this one do not count.
    first: u64,
    /// The first request of the open block, whose requests complete now, and how many the block has from it on.
    begin: u64,
    open_requests: u64,
    open: BlockTimes,
    times: Vec<BlockTimes>,
}

impl Blocks {
    /// Blocks of a trace of so many requests; of `None`, whose length is not known, they grow.
    pub(super) fn new(requests: Option<u64>) -> Self {
        let requests_each = requests.map_or(1, |requests| requests.div_ceil(BLOCKS).max(1));
        Self::begun(requests_each, 0)
    }

    /// The same blocks without requests; those before `first` will not count.
    pub(super) fn restarted(&self, first: u64) -> Self {
        Self::begun(self.requests_each, first)
    }

    fn begun(requests_each: u64, first: u64) -> Self {
        let open_requests = requests_each - first % requests_each;
        let (open, times) = (BlockTimes::default(), Vec::new());
        Self { requests_each, first, begin: first, open_requests, open, times }
    }

    pub(super) fn counts(&self, number: u64) -> bool {
        number >= self.first
    }

    /// Whether a request is of another block than the open one.
    #[inline]
    pub(super) fn is_of_another(&self, number: u64) -> bool {
        number.wrapping_sub(self.begin) >= self.open_requests
    }

    /// A request of the open block.
    #[inline]
    pub(super) fn note_arrival(&mut self, arrival_ns: u64) {
        self.open.note_arrival(arrival_ns);
    }

    /// A request of an earlier block will be counted with the open one. Returns whether it is such a request.
    pub(super) fn move_to_earlier(&mut self, number: u64, arrival_ns: u64, total_ns: u64) -> bool {
        let is_earlier = number < self.begin;
        if is_earlier {
            self.open.change_one(total_ns, u128::wrapping_sub, u32::wrapping_sub);
            let block = self.block(number);
            block.change_one(total_ns, u128::wrapping_add, u32::wrapping_add);
            block.note_arrival(arrival_ns);
        }
        is_earlier
    }

    pub(super) fn count(&mut self, counted: &BlockTimes) {
        self.open.add(counted);
    }

    /// Opens the block of a later request. What was `counted` with the last one will be counted again.
    pub(super) fn open(&mut self, number: u64, counted: &BlockTimes) {
        self.close();
        while number / self.requests_each >= MOST_BLOCKS {
            self.merge_neighbours();
        }
        (self.begin, self.open_requests) = (number - number % self.requests_each, self.requests_each);
        self.open.take_out(counted);
    }

    fn close(&mut self) {
        let closed = std::mem::take(&mut self.open);
        self.block(self.begin).add(&closed);
    }

    fn block(&mut self, number: u64) -> &mut BlockTimes {
        let block = (number / self.requests_each) as usize;
        if block >= self.times.len() {
            self.times.resize_with(block + 1, BlockTimes::default);
        }
        &mut self.times[block]
    }

    fn merge_neighbours(&mut self) {
        self.requests_each *= 2;
        let mut halves = std::mem::take(&mut self.times).into_iter();
        while let Some(mut block) = halves.next() {
            block.add(&halves.next().unwrap_or_default());
            self.times.push(block);
        }
    }

    pub(super) fn rows(kinds: [(&'static str, &Self); 3]) -> Vec<BlockRow> {
        // Blocks of a kind that came seldom may have grown less.
        let requests_each = kinds.iter().map(|(_, blocks)| blocks.requests_each).max().unwrap_or(1);
        let mut rows = Vec::new();
        for (kind, blocks) in kinds {
            let mut blocks = blocks.clone();
            blocks.close();
            while blocks.requests_each < requests_each {
                blocks.merge_neighbours();
            }
            let counted = (0..).zip(blocks.times).filter(|(_, times)| times.count() > 0);
            rows.extend(counted.map(|(block, times)| (block, u64::from(block) * requests_each, kind, times)));
        }
        rows.sort_by_key(|&(block, ..)| block);
        rows
    }
}

/// A block, its first request, the kind, and their times.
pub(crate) type BlockRow = (u32, u64, &'static str, BlockTimes);

#[cfg(test)]
mod tests {
    use flashtwin_ftl::Rng;

    use crate::engine::Ledger;
    use crate::metrics::Response;

    /// A request: number, kind, arrival, time.
    type Asked = (u64, usize, u64, u64);
    const KINDS: [&str; 3] = ["read", "write", "flush"];

    /// Requests that complete out of order, up to 50 under way, over several periods.
    fn followed(requests: &[Asked], known: bool, rng: &mut Rng) -> [Response; 3] {
        let mut kinds = [(); 3].map(|()| Response::new(known.then_some(requests.len() as u64)));
        let mut under_way: Vec<Option<Asked>> = vec![None; 50];
        let mut end = |slot: usize, next: Option<Asked>| {
            if let Some((number, kind, arrival, total)) = under_way[slot] {
                kinds[kind].record(number, arrival, total, &Ledger::default());
                if number % 1_500 == 0 {
                    for kind in &mut kinds {
                        kind.end_period();
                    }
                }
            }
            under_way[slot] = next;
        };
        requests.iter().for_each(|&asked| end(rng.below(50) as usize, Some(asked)));
        (0..50).for_each(|slot| end(slot, None));
        for kind in &mut kinds {
            kind.end_period();
        }
        kinds
    }

    fn drawn(requests: u64, rng: &mut Rng) -> Vec<Asked> {
        let kind = |rng: &mut Rng| [0, 0, 1, 2][rng.below(4) as usize];
        (0..requests).map(|at| (at, kind(rng), at * 10, u64::from(rng.below(1 << 20)))).collect()
    }

    #[test]
    fn blocks_hold_what_a_list_of_requests_says() {
        let mut rng = Rng::stream(5, "blocks");
        for (requests, known) in [(0, true), (1, true), (4_321, true), (101, false), (25_601, false)] {
            let list = drawn(requests, &mut rng);
            let [reads, writes, flushes] = followed(&list, known, &mut rng);
            let rows = Response::block_rows([&reads, &writes, &flushes]);
            let each = rows.iter().find(|row| row.0 > 0).map_or(1, |row| row.1 / u64::from(row.0));
            let blocks = rows.last().map_or(0, |row| row.0 + 1);
            assert!(blocks <= if known { 100 } else { 200 });
            assert!(requests <= 100 || blocks >= 90);
            let mut left = list.len();
            for (_, first, kind, times) in rows {
                let of_block = first..first + each;
                let kind = KINDS.iter().position(|name| *name == kind).unwrap();
                let of = |one: &&Asked| one.1 == kind && of_block.contains(&one.0);
                let own: Vec<&Asked> = list.iter().filter(of).collect();
                assert_eq!(
                    (times.count(), times.sum_ns()),
                    (own.len() as u64, own.iter().map(|one| one.3).sum())
                );
                let ends = (times.first_arrival_ns, times.last_arrival_ns);
                assert_eq!(ends, (own[0].2, own[own.len() - 1].2));
                for (lower, upper, count) in times.histogram() {
                    let inside = own.iter().filter(|one| (lower..=upper).contains(&one.3)).count();
                    assert_eq!(count as usize, inside);
                    assert!((upper - lower) as f64 <= lower as f64 / 64.0);
                }
                left -= own.len();
            }
            assert_eq!(left, 0);
        }
    }

    #[test]
    fn times_of_centuries_neither_overflow_nor_are_lost() {
        let mut kind = Response::new(Some(21));
        let mut none = Response::new(Some(21));
        (0..20).for_each(|at| kind.record(at, 1 << 60, 1 << 62, &Ledger::default()));
        kind.record(20, 0, u64::MAX, &Ledger::default());
        kind.end_period();
        none.end_period();
        let rows = Response::block_rows([&kind, &none, &none]);
        assert_eq!(rows.iter().map(|row| row.3.count()).sum::<u64>(), 21);
        let last = &rows[20].3;
        assert_eq!(last.histogram().collect::<Vec<_>>(), [(127 << 57, u64::MAX, 1)]);
        let mut all = rows.into_iter().map(|row| row.3).reduce(|mut all, block| {
            all.add(&block);
            all
        });
        assert_eq!(all.take().map(|all| all.sum_ns()), Some(u64::MAX));
    }
}
