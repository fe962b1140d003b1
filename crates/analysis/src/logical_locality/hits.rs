//! How many requests hit another within a distance and a time.

use super::recency::Step;

const PENDING_MAX: usize = 1 << 14;

/// Requests by the distances and times within which they hit another. A request's hits form a staircase: the further
/// away one looks, the sooner one finds a hit. Only its corners are written down; sums over both directions are the
/// counts.
pub(super) struct Hits {
    distance_max: u32,
    time_max: u32,
    /// Differences of counts, wrapping: row = distance, column = time - 1.
    corners: Vec<u32>,
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
        let (corners, pending) = (vec![0; cells], Vec::with_capacity(PENDING_MAX));
        Hits { distance_max, time_max, corners, pending, earlier: Vec::new(), recent: 0, requests: 0 }
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
            let count = &mut self.corners[corner as usize / 2];
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

    /// Requests that hit another within each distance (row) and time (column, from 1 on).
    pub(super) fn counts(mut self) -> Vec<u64> {
        self.save();
        let width = self.time_max as usize;
        let mut counts: Vec<u64> = Vec::with_capacity(self.earlier.len());
        for distance in 0..=self.distance_max as usize {
            let mut sum = 0;
            for time in 0..width {
                let cell = distance * width + time;
                sum += self.earlier[cell];
                let nearer = if distance == 0 { 0 } else { counts[cell - width] };
                counts.push(nearer.wrapping_add_signed(sum));
            }
        }
        counts
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
