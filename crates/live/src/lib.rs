//! Real bytes: what a simulator's controller decides, carried out on a file that keeps what hosts write.

#![warn(missing_docs)]

mod export;

pub use export::{Export, Extent, Writing};
