//! The more popular, the more copies (RR-SSD paper II.D, third choice).

use super::Degree;

pub(super) struct Popularity;

impl Degree for Popularity {
    /// A counter that saturates at chips - 1 is exactly what this needs, which is the
    /// paper's argument for its width.
    fn copies(&self, popularity: u8, chips: u32) -> u32 {
        (1 + u32::from(popularity)).min(chips)
    }
}
