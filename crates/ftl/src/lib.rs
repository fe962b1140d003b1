//! The decisions of a controller: mapping, allocation, garbage collection, replication, redirection, without a clock.
//!
//! Give [`Ftl`] a page operation and the chips' loads: it changes its tables and answers with flash operations. It
//! draws every random number from a seeded stream and does no I/O.

mod config;
mod content;
mod controller;
mod counts;
mod decimal;
pub mod dedup;
mod error;
mod flash;
pub mod foreign;
mod ftl;
mod host;
mod ids;
mod image;
mod inspection;
mod inverted;
mod jobs;
mod lists;
mod loads;
mod names;
mod op;
mod page;
mod paging;
mod policies;
pub mod redirection;
mod restore;
mod rng;
mod sabotage;
mod scheme;
#[cfg(test)]
mod tests;

pub use config::{FtlConfig, Mapping, ZeroPage};
pub use content::replication;
pub use content::replication::{ReplicationConfig, ReplicationPolicy};
pub use controller::{Controller, Hints};
pub use counts::Count;
pub use dedup::{DedupConfig, Entries};
pub use error::{FtlError, FtlResult, RangeError};
pub use flash::allocation::AllocationConfig;
pub use flash::block_table::BlockTable;
pub use flash::counters::{
    CopyingCounts, Counters, DedupCounts, MappingCounts, PageCounts, PartitionSize, Peak, PlaneContents,
    PlaneWrites, ReplicationCounts, SpreadCounts, TableSizes, WearCounts,
};
pub use flash::partition::{Handles, NO_HANDLE, PartitionConfig, PartitionPolicy};
pub use flash::wear::{WearConfig, WearPolicy};
pub use flash::{GcConfig, allocation, idle, partition, victim, wear};
pub use ftl::Ftl;
pub use ids::{Content, Lpn, NO_CONTENT, NO_VPN, TablePage, Unit, Vpn};
pub use image::{BlockImage, BlockUse, OpenFor, PageImage};
pub use jobs::BackgroundConfig;
pub use loads::LoadView;
pub use op::{
    Cause, DataName, FlashOp, Host, IDLE_STEP, Lookup, NO_JOB, OpKind, PagingSizes, ReadOutcome, ReadTarget,
    WriteOutcome,
};
pub use page::spread;
pub use page::spread::SpreadConfig;
pub use paging::{CacheBytes, MappingCacheConfig};
pub use redirection::RedirectionConfig;
pub use restore::{RestoreError, Restoring};
pub use rng::Rng;
