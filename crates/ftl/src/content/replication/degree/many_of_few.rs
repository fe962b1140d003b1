//! Many copies of few contents (RR-SSD paper II.D, first choice, rejected there).

use super::Degree;

pub(super) struct ManyOfFew;

impl Degree for ManyOfFew {
    fn copies(&self, popularity: u8, chips: u32) -> u32 {
        if popularity == 0 { 1 } else { chips }
    }
}
