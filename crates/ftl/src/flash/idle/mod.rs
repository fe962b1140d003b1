//! Whether planes collect while their die has nothing else to do. One policy a file; one row registers its name.

mod reserve;

use flashtwin_nand::Geometry;

use crate::policies::policies;

/// Decides whether a plane goes on collecting in idle time.
///
/// The driver offers idle time when a die has been idle for `engine.idle_us`, and again after each step. A step moves one
/// page, and erases the block if that was its last one, so that a request that comes meanwhile waits for one operation.
/// For example, with 10 blocks wanted and 8 free, a plane moves pages until two more blocks are erased.
pub trait IdleCollection: Send {
    /// Whether a plane with `free_blocks` free blocks wants a step.
    fn wants(&self, free_blocks: u32) -> bool;

    /// Whether a block with `valid_pages` valid pages is worth collecting in idle time.
    fn takes(&self, valid_pages: u32) -> bool;
}

policies! {
    /// Whether planes collect in idle time of their die.
    pub enum IdlePolicy;
    pub fn build(free: f64, valid: f64, geometry: &Geometry) -> Option<Box<dyn IdleCollection>>;

    /// No: a plane collects only behind a page that is written to it.
    #[default]
    None => None;
    /// Until the share `gc.idle_reserve` of the plane's blocks is free, ready for bursts; blocks
    /// with more than the share `gc.idle_valid` of valid pages are left alone.
    #[schemars(extend("x-traits" = ["collects-in-idle-time"]))]
    Reserve => Some(Box::new(reserve::Reserve::new(free, valid, geometry)));
}
