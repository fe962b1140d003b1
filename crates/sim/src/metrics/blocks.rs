//! Response times by ranges of the trace (blocks), so that runs of one trace can be compared range by range.

use super::ledgers::{step_ns, step_of};

/// Blocks of a trace whose length is known.
const BLOCKS: u64 = 100;
/// Most blocks of a trace whose length is not known. When there are more, neighbours are merged.
const MOST_BLOCKS: u64 = 200;
/// Buckets of each doubling of the time, as a power of two.
const BUCKETS_SHIFT: u32 = 6;
/// Read, write, flush.
const KINDS: usize = 3;

/// The requests of one kind in one block.
#[derive(Debug, Clone)]
pub(crate) struct BlockTimes {
    pub(crate) sum_ns: u64,
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
    #[inline]
    fn add(&mut self, arrival_ns: u64, total_ns: u64) {
        self.sum_ns = self.sum_ns.saturating_add(total_ns);
        self.first_arrival_ns = self.first_arrival_ns.min(arrival_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
        let bucket = step_of::<BUCKETS_SHIFT>(total_ns);
        match self.buckets.get_mut(bucket) {
            Some(requests) => *requests += 1,
            None => self.add_further(bucket),
        }
    }

    #[cold]
    fn add_further(&mut self, bucket: usize) {
        // By whole doublings, so that this is seldom.
        self.buckets.resize((bucket + 1).next_multiple_of(1 << BUCKETS_SHIFT), 0);
        self.buckets[bucket] += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.first_arrival_ns = self.first_arrival_ns.min(other.first_arrival_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(other.last_arrival_ns);
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(mine, theirs)| *mine += theirs);
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(|&requests| u64::from(requests)).sum()
    }

    /// Lowest and highest time, and number of requests, of each bucket that has any.
    pub(crate) fn histogram(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        let step = step_ns::<BUCKETS_SHIFT>;
        let counted = self.buckets.iter().enumerate().filter(|(_, requests)| **requests > 0);
        counted.map(move |(at, &requests)| (step(at), step(at + 1).wrapping_sub(1), requests))
    }
}

/// Blocks of equal numbers of requests of the trace, in its order.
#[derive(Debug)]
pub(crate) struct Blocks {
    requests_each: u64,
    /// The block of the last arrival, and its first request.
    current: u32,
    begin: u64,
    /// The block of each request under way, by the engine's slots.
    of_slot: Vec<u32>,
    times: Vec<[BlockTimes; KINDS]>,
}

impl Blocks {
    /// Blocks of a trace of so many requests; of `None`, whose length is not known, they grow.
    pub(crate) fn new(requests: Option<u64>) -> Self {
        let requests_each = requests.map_or(1, |requests| requests.div_ceil(BLOCKS).max(1));
        Self { requests_each, current: 0, begin: 0, of_slot: Vec::new(), times: vec![Default::default()] }
    }

    /// A request has come and got a slot.
    #[inline]
    pub(super) fn arrived(&mut self, slot: u32, number: u64) {
        if number.wrapping_sub(self.begin) >= self.requests_each {
            self.change_block(number);
        }
        match self.of_slot.get_mut(slot as usize) {
            Some(block) => *block = self.current,
            None => self.take_slot(slot),
        }
    }

    #[cold]
    fn take_slot(&mut self, slot: u32) {
        self.of_slot.resize(slot as usize + 1, 0);
        self.of_slot[slot as usize] = self.current;
    }

    #[cold]
    fn change_block(&mut self, number: u64) {
        while number / self.requests_each >= MOST_BLOCKS {
            self.merge_neighbours();
        }
        self.current = (number / self.requests_each) as u32;
        self.begin = u64::from(self.current) * self.requests_each;
        let blocks = self.times.len().max(self.current as usize + 1);
        self.times.resize_with(blocks, Default::default);
    }

    fn merge_neighbours(&mut self) {
        self.requests_each *= 2;
        self.of_slot.iter_mut().for_each(|block| *block /= 2);
        let mut halves = std::mem::take(&mut self.times).into_iter();
        while let Some(mut block) = halves.next() {
            for (mine, theirs) in block.iter_mut().zip(halves.next().unwrap_or_default()) {
                mine.merge(&theirs);
            }
            self.times.push(block);
        }
    }

    #[inline]
    pub(super) fn completed(&mut self, slot: u32, kind: usize, arrival_ns: u64, total_ns: u64) {
        // The engine reports each arrival before its completion, so the slot is known.
        let block = self.of_slot[slot as usize];
        self.times[block as usize][kind].add(arrival_ns, total_ns);
    }

    /// Block, its first request, kind and times of all that have requests.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, u64, &'static str, &BlockTimes)> {
        let kinds = |(block, times)| (0..KINDS).map(move |kind| (block, kind, times));
        (0..).zip(&self.times).flat_map(kinds).filter_map(
            |(block, kind, times): (u32, usize, &[_; KINDS])| {
                let first = u64::from(block) * self.requests_each;
                let times: &BlockTimes = &times[kind];
                (!times.buckets.is_empty()).then_some((block, first, ["read", "write", "flush"][kind], times))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use flashtwin_ftl::Rng;

    use super::*;

    /// A request: number, kind, arrival, time.
    type Asked = (u64, usize, u64, u64);

    /// Requests that complete out of order, up to 50 under way, in slots that are used again.
    fn followed(requests: &[Asked], known: bool, rng: &mut Rng) -> Blocks {
        let mut blocks = Blocks::new(known.then_some(requests.len() as u64));
        let mut under_way: Vec<Option<Asked>> = vec![None; 50];
        let mut end = |blocks: &mut Blocks, slot: usize, next: Option<Asked>| {
            if let Some((_, kind, arrival, total)) = under_way[slot] {
                blocks.completed(slot as u32, kind, arrival, total);
            }
            under_way[slot] = next;
        };
        for &asked in requests {
            let slot = rng.below(50) as usize;
            end(&mut blocks, slot, Some(asked));
            blocks.arrived(slot as u32, asked.0);
        }
        (0..50).for_each(|slot| end(&mut blocks, slot, None));
        blocks
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
            let blocks = followed(&list, known, &mut rng);
            assert!(blocks.times.len() <= if known { 100 } else { 200 });
            assert!(requests <= 100 || blocks.times.len() >= 90);
            let mut left = list.len();
            for (_, first, kind, times) in blocks.rows() {
                let of_block = first..first + blocks.requests_each;
                let kind = ["read", "write", "flush"].iter().position(|name| *name == kind).unwrap();
                let of = |one: &&Asked| one.1 == kind && of_block.contains(&one.0);
                let own: Vec<&Asked> = list.iter().filter(of).collect();
                assert_eq!(
                    (times.count(), times.sum_ns),
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
        let mut times = BlockTimes::default();
        (0..20).for_each(|_| times.add(1 << 60, 1 << 62));
        times.add(0, u64::MAX);
        assert_eq!((times.count(), times.sum_ns), (21, u64::MAX));
        assert_eq!(times.histogram().last().map(|(_, upper, count)| (upper, count)), Some((u64::MAX, 1)));
    }
}
