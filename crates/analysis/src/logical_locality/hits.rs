//! How many requests hit another within a distance and a time.

use super::recency::Step;

const PENDING_MAX: usize = 1 << 14;
/// Cells of a page of memory. Most pages of a short trace's table are never touched.
const BLOCK_CELLS: usize = 1024;

/// Requests by the distances and times within which they hit another. A request's hits form a staircase: the further
/// away one looks, the sooner one finds a hit. Only its corners are written down; sums over both directions are the
/// counts.
pub(super) struct Hits {
    distance_max: u32,
    time_max: u32,
    /// Differences of counts, wrapping: row = distance, column = time - 1.
    corners: Vec<u32>,
    /// By block of cells, whether any is not 0.
    touched: Vec<bool>,
    /// Twice the cell, and 1 where the difference goes down. Many at a time, because the table exceeds the cache.
    pending: Vec<u32>,
    /// Differences that no longer fit into `corners`; empty until there are any.
    earlier: Vec<i64>,
    /// Requests since `earlier` was brought up to date.
    recent: u32,
    pub(super) requests: u64,
}

impl Hits {
    pub(super) fn new(distance_max: u32, time_max: u32) -> Hits {
        let cells = (distance_max as usize + 1) * time_max as usize;
        Hits {
            distance_max,
            time_max,
            corners: vec![0; cells],
            touched: vec![false; cells.div_ceil(BLOCK_CELLS)],
            pending: Vec::new(),
            earlier: Vec::new(),
            recent: 0,
            requests: 0,
        }
    }

    #[inline]
    pub(super) fn request(&mut self) -> Staircase<'_> {
        if self.recent == i32::MAX as u32 {
            self.save();
        }
        self.recent += 1;
        self.requests += 1;
        if self.pending.len() + self.distance_max as usize * 2 > PENDING_MAX {
            self.write();
        }
        Staircase { pending: &mut self.pending, width: self.time_max, before: None }
    }

    fn write(&mut self) {
        for &corner in &self.pending {
            let cell = corner as usize / 2;
            self.touched[cell / BLOCK_CELLS] = true;
            let count = &mut self.corners[cell];
            *count = count.wrapping_add(1).wrapping_sub(corner % 2 * 2);
        }
        self.pending.clear();
    }

    fn save(&mut self) {
        self.write();
        self.earlier.resize(self.corners.len(), 0);
        for (total, corner) in self.earlier.iter_mut().zip(&mut self.corners) {
            // Fewer than 2^31 requests moved it by one each, so its sign is known.
            *total += i64::from(std::mem::take(corner) as i32);
        }
        self.recent = 0;
    }

    pub(super) fn times(&self) -> usize {
        self.time_max as usize
    }

    /// Requests that hit another within each of these distances (rows, ascending) and time (column, from 1 on).
    pub(super) fn counts(mut self, distances: &[u32]) -> Vec<u64> {
        self.write();
        let width = self.time_max as usize;
        let mut corners = vec![0; width];
        let mut counts = Vec::with_capacity(distances.len() * width);
        let mut wanted = distances.iter().copied().peekable();
        for distance in 0..=self.distance_max {
            self.add_row(distance as usize * width, &mut corners);
            if wanted.next_if_eq(&distance).is_some() {
                let mut sum = 0i64;
                counts.extend(corners.iter().map(|corner| {
                    sum += corner;
                    sum as u64
                }));
            }
        }
        counts
    }

    fn add_row(&self, first: usize, sums: &mut [i64]) {
        if let Some(earlier) = self.earlier.get(first..first + sums.len()) {
            sums.iter_mut().zip(earlier).for_each(|(sum, corner)| *sum += corner);
        }
        let (mut start, end) = (first, first + sums.len());
        while start < end {
            let block = start / BLOCK_CELLS;
            let behind = end.min((block + 1) * BLOCK_CELLS);
            if self.touched[block] {
                let corners = &self.corners[start..behind];
                let sums = &mut sums[start - first..];
                sums.iter_mut().zip(corners).for_each(|(sum, &corner)| *sum += i64::from(corner as i32));
            }
            start = behind;
        }
    }
}

/// In order of distance.
pub(super) struct Staircase<'a> {
    pending: &'a mut Vec<u32>,
    width: u32,
    before: Option<u32>,
}

impl Staircase<'_> {
    /// From the distance of `step` on, the request hits another within `now - step.time`.
    #[inline]
    pub(super) fn step(&mut self, step: Step, now: u32) {
        let row = step.distance * self.width;
        let column = now - step.time - 1;
        self.pending.push((row + column) * 2);
        if let Some(before) = self.before.replace(column) {
            self.pending.push((row + before) * 2 + 1);
        }
    }
}
