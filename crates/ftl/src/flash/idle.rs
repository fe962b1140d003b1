//! Whether planes collect while their die has nothing else to do.
//!
//! The driver offers idle time when a die has been idle for `engine.idle_us`, and after each step. A step moves one
//! page (and erases an emptied block), so that a request waits for one operation.

use flashtwin_nand::Geometry;

use crate::policies::policies;

policies! {
    /// Whether planes collect in idle time of their die.
    pub enum IdlePolicy;
    pub(super) fn build(free: f64, valid: f64, geometry: &Geometry) -> Option<Reserve>;

    /// No: a plane collects only behind a page that is written to it.
    #[default]
    None => None;
    /// Until the share `gc.idle_reserve` of the plane's blocks is free, ready for bursts; blocks
    /// with more than the share `gc.idle_valid` of valid pages are left alone.
    #[schemars(extend("x-traits" = ["collects-in-idle-time"]))]
    Reserve => Some(Reserve::new(free, valid, geometry));
}

/// The watermark of background collection: a drive goes on collecting in idle time until a pool of erased blocks is full,
/// so that a burst finds them. Blocks that lie ready hold no outdated pages, so a larger pool costs programs: collection
/// takes blocks earlier, while more of their pages are valid. On a drive with less spare space than the pool, it would
/// never end: every page that the host outdates would move a whole block. So a block that is mostly valid is left.
#[derive(Clone)]
pub(super) struct Reserve {
    blocks: u32,
    most_valid: u32,
}

impl Reserve {
    fn new(share: f64, valid: f64, geometry: &Geometry) -> Self {
        Self {
            blocks: (share * f64::from(geometry.blocks_per_plane)).ceil() as u32,
            most_valid: (valid * f64::from(geometry.pages_per_block)).floor() as u32,
        }
    }

    pub(super) fn wants(&self, free_blocks: u32) -> bool {
        free_blocks < self.blocks
    }

    pub(super) fn takes(&self, valid_pages: u32) -> bool {
        valid_pages <= self.most_valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::geometry;

    #[test]
    fn reserve_is_rounded_up_and_valid_pages_down() {
        let reserve = Reserve::new(0.25, 0.7, &geometry([1, 1, 1, 1, 10, 4]));
        assert_eq!([0, 2, 3, 10].map(|free| reserve.wants(free)), [true, true, false, false]);
        assert_eq!([0, 2, 3].map(|valid| reserve.takes(valid)), [true, true, false]);
    }
}
