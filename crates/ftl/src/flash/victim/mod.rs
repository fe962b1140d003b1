//! Which closed block is collected next. One policy a file; one row registers its name.

mod closed_set;
mod cost_benefit;
mod d_choices;
mod fifo;
mod foreign;
mod greedy;

use flashtwin_nand::{Block, Geometry, Plane};

use crate::flash::block_table::BlockTable;
use crate::foreign::Foreign;
use crate::policies::policies;

/// Chooses the block that garbage collection takes next. The owner reports every block that closes and every page of a
/// closed block that becomes invalid.
pub trait VictimSelection: Send + dyn_clone::DynClone + flashtwin_bits::State {
    /// `block` has been filled and holds `valid` valid pages; or it was chosen, found wholly valid, and put back.
    fn closed(&mut self, block: Block, valid: u32);

    /// A page of closed `block` became invalid; `valid` remain.
    fn invalidated(&mut self, block: Block, valid: u32);

    /// Closed `block` with `valid` valid pages is taken out without having been chosen: wear levelling moves it.
    fn withdrawn(&mut self, block: Block, valid: u32);

    /// Takes out the next victim of `plane` and returns it; `None` when no block of the plane is closed.
    fn choose(&mut self, plane: Plane, blocks: &BlockTable) -> Option<Block>;
}

dyn_clone::clone_trait_object!(VictimSelection);

policies! {
    /// Choice of the next block to collect (the victim).
    pub enum VictimPolicy;
    pub fn build(choices: u32, geometry: &Geometry, seed: u64, foreign: &Foreign) -> Box<dyn VictimSelection>;
    @ name [] => Box::new(foreign::ForeignVictim::new(name, foreign, geometry));

    /// Greedy: the block with the fewest valid pages; among equals the one that has had that count
    /// for longest (among those closed before the plane first looked for a victim, the lowest
    /// number).
    #[default]
    Greedy => Box::new(greedy::Greedy::new(geometry));
    /// The block that was closed first.
    Fifo => Box::new(fifo::Fifo::new(geometry));
    /// Cost-benefit: the block with the largest age x (1 - u) / (2 u), u being its share of valid
    /// pages and its age the number of blocks the plane has closed since it changed (Rosenblum and
    /// Ousterhout, 1992).
    CostBenefit => Box::new(cost_benefit::CostBenefit::new(geometry));
    /// The block with the fewest valid pages of `gc.choices` blocks drawn at random (Van Houdt,
    /// 2013).
    DChoices => Box::new(d_choices::DChoices::new(geometry, choices, seed));
    /// A random block, unless it is wholly valid.
    Random => Box::new(d_choices::DChoices::new(geometry, 1, seed));
}
