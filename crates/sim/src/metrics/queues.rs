use flashtwin_bits::By;
use flashtwin_nand::Chip;

/// Bins of a series. When time outgrows them, neighbours are merged.
const MAX_BINS: u64 = 512;
/// Width of the first bins: 2^16 ns.
const FIRST_SHIFT: u32 = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bin {
    /// Queue length x nanoseconds.
    pub(crate) area: u64,
    pub(crate) max: u32,
}

#[derive(Debug, Clone, Copy)]
struct Queue {
    length: u32,
    since_ns: u64,
    current: u64,
    bin: Bin,
}

/// At most 512 bins of equal width, which doubles when they are full.
#[derive(Debug, Clone)]
pub(crate) struct QueueSeries {
    shift: u32,
    queues: By<Chip, Vec<Queue>>,
    bins: By<Chip, Vec<Vec<Bin>>>,
}

impl QueueSeries {
    pub(crate) fn new(chips: u32) -> Self {
        let idle = Queue { length: 0, since_ns: 0, current: 0, bin: Bin::default() };
        Self {
            shift: FIRST_SHIFT,
            queues: By::new(vec![idle; chips as usize]),
            bins: By::new(vec![Vec::new(); chips as usize]),
        }
    }

    pub(crate) fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    #[inline]
    pub(crate) fn change(&mut self, chip: Chip, now_ns: u64, length: u32) {
        if now_ns >> self.shift != self.queues[chip].current {
            self.advance(chip, now_ns);
        }
        let state = &mut self.queues[chip];
        state.bin.area += u64::from(state.length) * (now_ns - state.since_ns);
        state.since_ns = now_ns;
        state.length = length;
        state.bin.max = state.bin.max.max(length);
    }

    #[cold]
    fn advance(&mut self, chip: Chip, now_ns: u64) {
        while now_ns >> self.shift >= MAX_BINS {
            self.widen();
        }
        let target = now_ns >> self.shift;
        let state = &mut self.queues[chip];
        while state.current < target {
            let end = (state.current + 1) << self.shift;
            state.bin.area += u64::from(state.length) * (end - state.since_ns);
            self.bins[chip].push(state.bin);
            state.since_ns = end;
            state.current += 1;
            state.bin = Bin { area: 0, max: state.length };
        }
    }

    fn widen(&mut self) {
        self.shift += 1;
        for (state, bins) in self.queues.iter_mut().zip(self.bins.iter_mut()) {
            let merge = |a: Bin, b: Bin| Bin { area: a.area + b.area, max: a.max.max(b.max) };
            // The bin under way is merged with its left neighbour where it is a right half.
            if state.current % 2 == 1
                && let Some(left) = bins.pop()
            {
                state.bin = merge(left, state.bin);
            }
            *bins =
                bins.chunks(2).map(|pair| merge(pair[0], pair.get(1).copied().unwrap_or_default())).collect();
            state.current /= 2;
        }
    }

    pub(crate) fn restart(&mut self, now_ns: u64) {
        self.finish(now_ns);
        self.bins.iter_mut().for_each(|bins| bins.fill(Bin::default()));
        self.queues.iter_mut().for_each(|queue| queue.bin = Bin { area: 0, max: queue.length });
    }

    pub(crate) fn finish(&mut self, end_ns: u64) -> Vec<Vec<Bin>> {
        for chip in self.queues.ids() {
            let length = self.queues[chip].length;
            self.change(chip, end_ns, length);
        }
        // Another chip may have widened the bins after one was brought up to date.
        let mut all = Vec::new();
        for (state, bins) in self.queues.iter().zip(self.bins.iter()) {
            let mut bins = bins.clone();
            bins.push(state.bin);
            all.push(bins);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashtwin_ftl::Rng;

    #[test]
    fn bins_match_a_plain_list_in_area_and_maximum() {
        let mut rng = Rng::stream(5, "queues");
        for span in [1_000, 100_000, 10_000_000u32] {
            let mut series = QueueSeries::new(2);
            let mut changes = vec![(0u64, 0u32)];
            let mut now = 0;
            for _ in 0..3_000 {
                now += u64::from(rng.below(span));
                let length = rng.below(9);
                series.change(Chip::new(0), now, length);
                changes.push((now, length));
            }
            let end = now + 17;
            let bins = series.finish(end);
            let width = series.width_ns();
            assert_eq!(bins[0].len() as u64, end / width + 1);
            assert_eq!(bins[1].len(), bins[0].len());
            assert!(bins[0].len() as u64 <= MAX_BINS);
            changes.push((end, 0));
            for (at, bin) in bins[0].iter().enumerate() {
                let (from, to) = (at as u64 * width, (at as u64 + 1) * width);
                let mut area = 0;
                let mut max = 0;
                for pair in changes.windows(2) {
                    let (start, stop) = (pair[0].0.max(from), pair[1].0.min(to));
                    area += u64::from(pair[0].1) * stop.saturating_sub(start);
                    let inside = pair[0].0 < to && (pair[1].0 > from || (pair[0].0 >= from));
                    if inside {
                        max = max.max(pair[0].1);
                    }
                }
                assert_eq!((bin.area, bin.max), (area, max), "bin {at} of {} ({width} ns)", bins[0].len());
            }
        }
    }
}
