//! Deduplication: which pages are fingerprinted, which fingerprints are kept, which duplicates are found later.
//!
//! Sources: CA-SSD paper 4.1; CAFTL (Chen et al., FAST 2011) for sampling, reference counts and out-of-line.

mod config;
mod eviction;
mod history;
#[cfg(test)]
pub(crate) mod plain;
mod sampling;
mod store;

pub(crate) use config::unlimited;
pub use config::{DedupConfig, Entries, OutOfLinePolicy, TableKind};
pub use eviction::EvictionPolicy;
pub(crate) use history::History;
pub use sampling::sample_of;
pub(crate) use store::FingerprintStore;
