//! Counts of values that span many orders of magnitude.

/// Bits of a value's leading digits that are kept: values up to 2^6 exactly, larger ones to 3 %.
const BITS: u32 = 5;

/// Buckets are exact for small values and 1/32 octave wide for large ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogHistogram {
    counts: Vec<u64>,
    total: u64,
}

impl LogHistogram {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
    }

    /// For each bucket in use its largest value, and the share of values up to it.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (u64, f64)> {
        let mut below = 0;
        self.counts.iter().enumerate().filter(|&(_, &count)| count > 0).map(move |(bucket, &count)| {
            below += count;
            (largest(bucket), below as f64 / self.total as f64)
        })
    }
}

fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

fn largest(bucket: usize) -> u64 {
    let shift = (bucket as u64 >> BITS).saturating_sub(1);
    let lead = bucket as u64 - (shift << BITS);
    // In u128 because the highest bucket ends at 2^64 - 1.
    (((u128::from(lead) + 1) << shift) - 1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_values_without_gap() {
        assert_eq!(bucket(0), 0);
        for value in (0..4096).chain([1 << 40, u64::MAX / 3, u64::MAX]) {
            let end = largest(bucket(value));
            assert!(end >= value && (end - value) as f64 <= value as f64 / 32.0, "{value} in ..={end}");
            assert!(end == u64::MAX || bucket(end + 1) == bucket(end) + 1);
        }
    }

    #[test]
    fn small_values_are_exact() {
        let mut histogram = LogHistogram::default();
        [3, 3, 7, 60].into_iter().for_each(|value| histogram.add(value));
        let points: Vec<_> = histogram.cumulative().collect();
        assert_eq!(points, [(3, 0.5), (7, 0.75), (60, 1.0)]);
    }
}
