//! The more popular, the more copies (RR-SSD paper II.D, third choice).

use super::Degree;
use crate::decimal::times;

pub(super) struct Popularity {
    pub(super) per_read: f64,
}

impl Degree for Popularity {
    /// With one copy a read, a counter that saturates at chips - 1 is exactly sufficient, which is
    /// the paper's argument for its width.
    fn copies(&self, popularity: u8, chips: u32) -> u32 {
        let earned = times(u64::from(popularity), self.per_read);
        (1 + earned).min(u64::from(chips)) as u32
    }
}
