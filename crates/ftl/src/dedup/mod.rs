//! Deduplication: which pages of a write are fingerprinted, which fingerprints are kept, and what
//! is found later.
//!
//! Sources: CA-SSD paper 4.1; CAFTL (Chen et al., FAST 2011) for sampling, the store by reference
//! count and out-of-line deduplication.

mod eviction;
pub(crate) mod out_of_line;
mod sampling;
mod store;
mod write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use eviction::EvictionPolicy;
pub use out_of_line::{Candidate, OutOfLinePolicy};
pub use sampling::sample_of;
pub(crate) use store::FingerprintStore;

/// The tables of a content-addressed SSD. Both forms cause the same flash traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableForm {
    /// LPN -> VPN -> PPN with reference counts, content -> VPN (CAFTL; RR-SSD paper III.B).
    #[default]
    TwoLevel,
    /// LPN -> PPN, content -> PPN, and the inverse of both (CA-SSD paper 4.1: LPT, iLPT, HPT,
    /// iHPT).
    Inverted,
}
