//! What every crate here needs close to the machine, written once: numbers mixed ([`mix`]), memory asked for ahead
//! ([`prefetch`], [`prefetch_if_there`]), slots used again ([`Slab`]), tables on huge pages ([`HugeSlice`]).
//!
//! It knows nothing of flash or traces, and depends on nothing of ours.

mod huge_slice;
mod mixing;
mod prefetch;
mod slab;

pub use huge_slice::{HugeSlice, Zero};
pub use mixing::{STEP, SplitMix64, mix};
pub use prefetch::{prefetch, prefetch_if_there};
pub use slab::Slab;
