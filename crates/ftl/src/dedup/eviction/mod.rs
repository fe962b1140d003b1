//! Eviction of fingerprints from a full store.

mod foreign;
mod lru_writes;
mod reference_count;

use crate::foreign::Foreign;
use crate::ids::Content;
use crate::policies::policies;

/// The order in which the entries of a full fingerprint store are evicted. The store reports every
/// change, and never calls it while empty.
pub(crate) trait Eviction: Send + flashtwin_bits::State {
    /// `content` has been entered; one LPN points to it, or is about to.
    fn entered(&mut self, content: Content);

    fn written(&mut self, content: Content);

    /// `references` LPNs point to an entry's content now. Called only where [`Eviction::counts_references`].
    fn recounted(&mut self, _content: Content, _references: u32) {}

    fn counts_references(&self) -> bool {
        false
    }

    fn left(&mut self, content: Content);

    /// The entry to evict for a new one; [`Eviction::left`] follows. `None` while there is none.
    fn give_way(&mut self) -> Option<Content>;

    fn prefetch(&self, content: Content);

    fn prefetch_neighbours(&self, content: Content);

    fn bytes(&self) -> u64;
}

policies! {
    /// Entry that a full fingerprint store drops.
    pub enum EvictionPolicy;
    pub(crate) fn build(contents: u32, capacity: u32, foreign: &Foreign) -> Box<dyn Eviction>;
    @ name [] => Box::new(foreign::ForeignEviction::new(name, foreign, contents, capacity));

    /// The least recently written content (CA-SSD paper 4.1).
    #[default]
    LruWrites => Box::new(lru_writes::LruWrites::new(contents));
    /// The content with the fewest logical pages, among the least recently written half of the
    /// entries (CAFTL), by counts that age (LFU with dynamic ageing, Arlitt et al. 2000).
    ReferenceCount => Box::new(reference_count::ReferenceCount::new(contents, capacity));
}
