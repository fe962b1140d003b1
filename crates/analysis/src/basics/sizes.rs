//! Sizes of requests.

use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;

/// Sizes of the requests of one kind, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RequestBytes {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median; of an even number of requests the mean of the middle two.
    pub median: Option<f64>,
}

/// How often each size occurs. Real workloads use few sizes, mostly the one used last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    counts: HashMap<u32, u64>,
    /// Since it was last entered in `counts`.
    last: (u32, u64),
}

impl Sizes {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        if self.last.0 == bytes {
            self.last.1 += 1;
        } else {
            self.enter_last();
            self.last = (bytes, 1);
        }
    }

    fn enter_last(&mut self) {
        let (bytes, times) = std::mem::take(&mut self.last);
        if times > 0 {
            *self.counts.entry(bytes).or_insert(0) += times;
        }
    }

    pub(crate) fn ascending(&mut self) -> Vec<(u32, u64)> {
        self.enter_last();
        let mut sizes: Vec<(u32, u64)> = self.counts.iter().map(|(&size, &count)| (size, count)).collect();
        sizes.sort_unstable();
        sizes
    }
}

pub(crate) fn request_bytes(sizes: &[(u32, u64)]) -> RequestBytes {
    let count: u64 = sizes.iter().map(|&(_, count)| count).sum();
    if count == 0 {
        return RequestBytes::default();
    }
    let sum: u64 = sizes.iter().map(|&(size, count)| u64::from(size) * count).sum();
    let at = |rank: u64| {
        let mut behind = 0;
        let found = sizes.iter().find(|&&(_, count)| {
            behind += count;
            behind > rank
        });
        found.map_or(0.0, |&(size, _)| f64::from(size))
    };
    RequestBytes {
        mean: Some(sum as f64 / count as f64),
        median: Some((at((count - 1) / 2) + at(count / 2)) / 2.0),
    }
}
