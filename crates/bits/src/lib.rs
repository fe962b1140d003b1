//! Low-level tools shared by all crates:
//! - mixed numbers ([`mix`], [`fnv1a`]);
//! - prefetches ([`prefetch`], [`prefetch_if_there`]);
//! - reused slots ([`Slab`]);
//! - tables and columns on huge pages ([`HugeSlice`], [`try_with_capacity`]);
//! - memory limits ([`memory_limits`]);
//! - ids and tables indexed by them ([`ids!`], [`By`]);
//! - states that outlive a run ([`State`]).
//!
//! It knows nothing of flash or traces, and depends on nothing of ours.

mod capacity;
mod huge_slice;
mod ids;
mod limits;
mod mixing;
mod prefetch;
mod slab;
mod state;

pub use capacity::{SpareMemory, try_with_capacity, zeros};
pub use huge_slice::{HugeSlice, Zero};
pub use ids::{By, Id};
pub use limits::{MemoryLimits, memory_limits};
pub use mixing::{FNV1A_BASIS, STEP, SplitMix64, fnv1a, mix};
pub use prefetch::{prefetch, prefetch_if_there};
pub use slab::Slab;
pub use state::{Loader, Saver, State, StateResult, unfit};
