//! What the controller decides: mapping, allocation, garbage collection, replication
//! and redirection, as a state machine without a clock.
//!
//! Give [`Ftl`] a page operation and a view of the chips' loads; it changes its tables
//! and answers with flash operations. Driven by an event engine it is a simulator,
//! driven by nothing it counts writes. It keeps no time, draws every random number from
//! a seeded stream, and does no I/O.

pub mod allocation;
mod blocks;
mod checker;
mod config;
mod counters;
mod counts;
mod decimal;
pub mod dedup;
mod error;
mod figures;
mod ftl;
mod gc;
mod host;
mod huge_slice;
mod jobs;
mod mapping;
mod op;
pub mod partition;
mod prefetch;
mod preload;
pub mod redirection;
pub mod replication;
mod rng;
pub mod spread;
#[cfg(test)]
mod tests;
pub mod victim;
pub mod wear;

pub use blocks::BlockTable;
pub use config::{
    AllocationConfig, BackgroundConfig, DedupConfig, Entries, FtlConfig, GcConfig, MappingCacheConfig,
    MappingForm, RangeError, RedirectionConfig, ReplicationConfig, ReplicationPolicy, SpreadConfig,
};
pub use counters::{CopyingCounts, Counters, MappingCounts, TableSizes};
pub use counts::Count;
pub use error::FtlError;
pub use figures::{PartitionSize, PlaneContents};
pub use ftl::{Ftl, Peak};
pub use host::Host;
pub use huge_slice::{HugeSlice, Zero};
pub use mapping::{CacheBytes, Lookup, NO_VPN, PagingSizes};
pub use op::{Cause, FlashOp, LoadView, NO_JOB, OpKind, ReadOutcome, ReadTarget, WriteOutcome};
pub use partition::{PartitionConfig, PartitionPolicy};
pub use prefetch::prefetch;
pub use rng::Rng;
pub use wear::{WearConfig, WearPolicy};
