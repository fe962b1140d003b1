//! Few copies of many contents (RR-SSD paper II.D, second choice, rejected there).

use super::Degree;

pub(super) struct FewOfMany {
    pub(super) copies: u32,
}

impl Degree for FewOfMany {
    fn copies(&self, popularity: u8, chips: u32) -> u32 {
        if popularity == 0 { 1 } else { self.copies.min(chips) }
    }
}
