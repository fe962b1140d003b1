//! From logical pages to physical ones.

mod cache;
mod content_map;
mod history;
mod inverted;
mod page_map;
mod replica_sets;

pub use cache::{CacheBytes, Lookup, MappingCacheConfig, PagingSizes};
pub(crate) use cache::{Layout, Paging};
pub(crate) use content_map::{ContentMap, Released};
pub(crate) use history::History;
pub(crate) use inverted::InvertedMap;
pub(crate) use page_map::PageMap;
pub(crate) use replica_sets::ReplicaSets;

/// No content, or one that nobody knows.
pub(crate) const NO_CONTENT: u32 = u32::MAX;

/// No virtual page number.
pub const NO_VPN: u32 = u32::MAX;
