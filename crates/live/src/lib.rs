//! Real bytes: what a simulator's controller decides, carried out on a file that keeps what hosts write.

#![warn(missing_docs)]

pub mod drive;
mod export;
pub mod store;

pub use drive::Drive;
pub use export::{Export, Extent, Writing};
