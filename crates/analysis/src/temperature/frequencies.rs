//! Update frequencies, the greedy partitions they need, and the lowest ratio for a number of partitions.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Numbers of writes that have an entry in a table, at most.
const COMMON: usize = 1 << 16;

/// Entries that these pages need: few for the thousands of small volumes that a file may have.
fn common_of(writes: &[u32]) -> usize {
    writes.iter().fold(0, |most, &writes| most.max(writes as usize)).saturating_add(1).min(COMMON)
}

/// `f_min` is not given beyond this ratio (SWC paper, section 3.1, footnote 1).
const F_MIN_MOST: Ratio = Ratio { numerator: 1000, denominator: 1 };

/// Exact: at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// The value of `ratio` without rounding; `None` unless it is finite and from 1 to below 2^53.
    pub fn new(ratio: f64) -> Option<Ratio> {
        if !(1.0..9_007_199_254_740_992.0).contains(&ratio) {
            return None;
        }
        // 53 bits of mantissa: below 2^53 and with an exponent of 0 to 52, both are integers.
        let exponent = (ratio.to_bits() >> 52) as i32 - 1023;
        let denominator = 1 << (52 - exponent);
        Some(Ratio { numerator: (ratio * denominator as f64) as u64, denominator })
    }

    /// Neither is 0, and `low` is not the larger.
    fn of(high: u32, low: u32) -> Ratio {
        Ratio { numerator: high.into(), denominator: low.into() }
    }

    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    fn compare(self, high: u32, low: u32) -> Ordering {
        // At most 53 + 32 bits.
        let ours = u128::from(self.numerator) * u128::from(low);
        (u128::from(high) * u128::from(self.denominator)).cmp(&ours)
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Ratio) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ratio {}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.numerator, other.denominator).cmp(&product(other.numerator, self.denominator))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frequencies {
    levels: Vec<(u32, u64)>,
}

impl Frequencies {
    /// A page without writes has no update frequency.
    pub fn of(writes: &[u32]) -> Frequencies {
        let mut common = vec![0u64; common_of(writes)];
        let mut rare = BTreeMap::new();
        for &writes in writes {
            match common.get_mut(writes as usize) {
                Some(pages) => *pages += 1,
                None => *rare.entry(writes).or_insert(0) += 1,
            }
        }
        let common = (1u32..).zip(common.into_iter().skip(1)).filter(|&(_, pages)| pages > 0);
        let mut levels: Vec<(u32, u64)> = common.chain(rare).collect();
        levels.reverse();
        Frequencies { levels }
    }

    /// Numbers of writes with their numbers of pages, hottest first.
    pub fn levels(&self) -> &[(u32, u64)] {
        &self.levels
    }

    /// Greedy partitions with a ratio of at most `ratio` each: the hottest page that is left begins a partition, which
    /// takes every page j with f_j >= f_i / ratio (SWC paper, section 3.1).
    pub fn partitions(&self, ratio: Ratio) -> Partitioning {
        self.greedy(usize::MAX, |high, low| ratio.compare(high, low).is_le()).unwrap_or_default()
    }

    /// The lowest ratio for which the greedy scheme needs at most `partitions` partitions; missing without any pages or
    /// partitions. Exact: it is the ratio of two frequencies that occur. If some ratio suffices, so does the highest
    /// that really occurs in its partitions. If none strictly below suffices, it is the lowest. Bisection saves most
    /// steps.
    pub fn lowest_ratio(&self, partitions: u32) -> Option<Ratio> {
        let most = partitions as usize;
        let mut best = self.greedy(most, |_, _| true)?.ratio?;
        let mut too_low = 1.0;
        // Distances shrink to less than the resolution of the numbers compared.
        for _ in 0..32 {
            let middle = f64::sqrt(too_low * best.value());
            let Some(ratio) = Ratio::new(middle).filter(|ratio| *ratio < best) else { break };
            match self.greedy(most, |high, low| ratio.compare(high, low).is_le()) {
                Some(Partitioning { ratio: Some(lower), .. }) => best = lower,
                _ => too_low = middle,
            }
        }
        // Below a ratio of 1 a page would not fit its own partition.
        while best > Ratio::of(1, 1) {
            match self.greedy(most, |high, low| best.compare(high, low).is_lt()) {
                Some(Partitioning { ratio: Some(lower), .. }) => best = lower,
                _ => break,
            }
        }
        Some(best)
    }

    /// f_min(N): [`Frequencies::lowest_ratio`], missing beyond 1,000 (SWC paper, section 3.1).
    pub fn f_min(&self, partitions: u32) -> Option<f64> {
        self.lowest_ratio(partitions).filter(|ratio| *ratio <= F_MIN_MOST).map(Ratio::value)
    }

    /// Hottest first; `None` beyond `most`. A frequency must fit with itself, and with all between two that fit.
    fn greedy(&self, most: usize, fits: impl Fn(u32, u32) -> bool) -> Option<Partitioning> {
        let mut partitioning = Partitioning::default();
        let mut left = self.levels.as_slice();
        while let Some(&(highest, _)) = left.first() {
            if partitioning.lowest.len() >= most {
                return None;
            }
            let taken = left.partition_point(|&(frequency, _)| fits(highest, frequency));
            let lowest = left[taken - 1].0;
            partitioning.lowest.push(lowest);
            partitioning.ratio = partitioning.ratio.max(Some(Ratio::of(highest, lowest)));
            left = &left[taken..];
        }
        Some(partitioning)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Partitioning {
    /// Hottest partition first.
    pub lowest: Vec<u32>,
    /// f_r: the largest ratio of two frequencies in one partition; missing without partitions.
    pub ratio: Option<Ratio>,
}

impl Partitioning {
    pub fn len(&self) -> usize {
        self.lowest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lowest.is_empty()
    }

    /// The partition of each page given its writes; `None` when 8 bits cannot number them. Cold pages go to the
    /// coldest.
    pub fn of_pages(&self, writes: &[u32]) -> Option<Vec<u8>> {
        let coldest = u8::try_from(self.len().saturating_sub(1)).ok()?;
        let partition =
            |frequency: u32| (self.lowest.partition_point(|&lowest| lowest > frequency) as u8).min(coldest);
        let common: Vec<u8> = (0..common_of(writes) as u32).map(partition).collect();
        let look_up = |&f: &u32| common.get(f as usize).copied().unwrap_or_else(|| partition(f));
        Some(writes.iter().map(look_up).collect())
    }
}
