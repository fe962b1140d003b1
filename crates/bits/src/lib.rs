//! Low-level tools shared by all crates. They know nothing of flash or traces, and depend on nothing of ours.

mod capacity;
mod huge_slice;
mod ids;
mod limits;
mod mixing;
mod prefetch;
mod roomy;
mod slab;
mod state;

pub use capacity::{SpareMemory, try_with_capacity, zeros};
pub use huge_slice::{HugeSlice, Zero};
pub use ids::{By, Id};
pub use limits::{MemoryLimits, memory_limits};
pub use mixing::{FNV1A_BASIS, STEP, SplitMix64, fnv1a, mix};
pub use prefetch::{prefetch, prefetch_if_there};
pub use roomy::Roomy;
pub use slab::Slab;
pub use state::{Loader, Saver, State, StateResult, load_more, unfit};
