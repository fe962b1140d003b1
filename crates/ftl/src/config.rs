//! Keys of each family, and the checks across families. Doc comments are the reference manual's text.

use flashtwin_nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::replication::{ReplicationConfig, ReplicationPolicy};
use crate::dedup::{DedupConfig, TableKind};
use crate::error::RangeError;
use crate::flash::GcConfig;
use crate::flash::allocation::AllocationConfig;
use crate::flash::blocks::Stream;
use crate::flash::partition::PartitionConfig;
use crate::flash::wear::WearConfig;
use crate::foreign::{Foreign, ForeignName};
use crate::jobs::BackgroundConfig;
use crate::names;
use crate::page::spread::{SpreadConfig, SpreadPolicy};
use crate::paging::{MappingCacheConfig, Shape};
use crate::redirection::RedirectionConfig;

/// Policies of the controller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Mapping scheme: `page` (LPN -> PPN) or `content` (LPN -> VPN -> PPN, pages of equal content
    /// share a flash page; CA-SSD paper, RR-SSD paper III.B).
    #[schemars(extend("x-design" = "whether pages of equal content share a flash page (CA-SSD)"))]
    pub mapping: Mapping,
    /// Pages of nothing but zeroes: `stored` like others (as in the papers), or `mapped`. For
    /// example `mapped`: a drive that deallocates has a mark for them anyway, and sees zeroes as
    /// they come in. Only for contents known to be zeroes.
    #[schemars(extend("x-moves" = "reads and writes of zeroes: whether they take a flash page"))]
    pub zero_page: ZeroPage,
    /// Mapping tables on flash, and their cache in RAM.
    pub mapping_cache: MappingCacheConfig,
    /// Where host pages are written.
    pub allocation: AllocationConfig,
    /// Garbage collection.
    pub gc: GcConfig,
    /// Deduplication; used by `mapping = "content"`.
    #[schemars(extend("x-when" = "deduplicates", "x-design" = "how duplicates are found and what is kept of their fingerprints (CA-SSD, CAFTL)"))]
    pub dedup: DedupConfig,
    /// Choice of the chip that serves a read.
    #[schemars(extend("x-design" = "which copy a read may be served from (RR-SSD)"))]
    pub redirection: RedirectionConfig,
    /// Copies of popular contents; used by `mapping = "content"`.
    #[schemars(extend("x-when" = "replicates", "x-design" = "which contents are copied, when and where to (RR-SSD, PBLRU)"))]
    pub replication: ReplicationConfig,
    /// Duplicates on different channels; used by `mapping = "page"`.
    #[schemars(extend("x-when" = "spreads", "x-design" = "how duplicates come to lie on different channels (DS-FTL)"))]
    pub spread: SpreadConfig,
    /// Partitions of the host's data by temperature.
    #[schemars(extend("x-when" = "partitions", "x-design" = "how hot pages are told from cold ones (SWC; Park and Du)"))]
    pub partition: PartitionConfig,
    /// Wear levelling.
    pub wear: WearConfig,
    /// Work in idle time.
    #[schemars(extend("x-when" = "background-jobs"))]
    pub background: BackgroundConfig,
    /// Makes the policies from outside that other keys name.
    #[serde(skip)]
    pub foreign: Foreign,
}

/// Mapping scheme.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// LPN -> PPN; every write programs a page.
    #[default]
    Page,
    /// LPN -> VPN -> PPN with reference counts; equal contents share a page.
    #[schemars(extend("x-traits" = ["deduplicates", "looks-at-contents"]))]
    Content,
}

/// Pages of nothing but zeroes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZeroPage {
    /// Like any other page.
    #[default]
    Stored,
    /// In the mapping table only, like a trimmed page: neither hashed nor programmed, and read without
    /// the flash.
    Mapped,
}

impl FtlConfig {
    /// Whether decisions depend on contents: such a system cannot do without them.
    pub fn looks_at_contents(&self) -> bool {
        self.mapping == Mapping::Content || self.spread.policy != SpreadPolicy::None
    }

    /// Partitions of the host's data.
    pub fn partitions(&self) -> u32 {
        self.partition.count()
    }

    /// Kinds of data with an active block of their own in each plane.
    pub fn streams(&self) -> u32 {
        Stream::in_use(&self.partition, self.wear.levels())
    }

    /// Blocks that a plane reserves: one for each kind of data, those of the translation pages, one for collection.
    pub fn reserved_blocks(&self, geometry: &Geometry) -> u32 {
        let table_blocks = match self.mapping_cache.is_on() {
            false => 0,
            true => self.table_shape().most_blocks(geometry),
        };
        self.streams() + table_blocks + 1
    }

    /// Pages of a write that share a sample; 1 where every page is fingerprinted or contents are ignored.
    pub(crate) fn sampling_pages(&self) -> u32 {
        match self.mapping {
            Mapping::Page => 1,
            Mapping::Content => self.dedup.sampling_pages,
        }
    }

    pub(crate) fn table_shape(&self) -> Shape {
        let pages = self.pages_fingerprints();
        Shape {
            two_levels: self.mapping == Mapping::Content,
            fingerprints: pages.then_some(self.dedup.fingerprint_entries),
        }
    }

    fn pages_fingerprints(&self) -> bool {
        self.mapping_cache.fingerprints && self.mapping_cache.is_on() && self.mapping == Mapping::Content
    }

    /// Checks numbers and relations between keys; the error names the first key that is out of range.
    pub fn check(&self, geometry: &Geometry) -> Result<(), RangeError> {
        self.check_foreign()?;
        self.gc.check()?;
        self.replication.check(geometry.chips())?;
        self.allocation.check()?;
        self.background.check()?;
        self.spread.check()?;
        self.partition.check()?;
        self.wear.check()?;
        self.check_spreading(geometry)?;
        self.check_replication(geometry)?;
        self.check_tables(geometry)
    }

    fn check_spreading(&self, geometry: &Geometry) -> Result<(), RangeError> {
        let wrong = |expected| Err(("spread.policy", "duplicates".into(), expected));
        if self.spread.policy == SpreadPolicy::None {
            return Ok(());
        }
        if self.mapping != Mapping::Page {
            return wrong("ftl.mapping = \"page\" (a content-addressed map keeps no duplicates)");
        }
        if geometry.channels > 64 {
            return wrong("a device of at most 64 channels");
        }
        Ok(())
    }

    fn check_replication(&self, geometry: &Geometry) -> Result<(), RangeError> {
        let replicates = self.replication.policy != ReplicationPolicy::None;
        let wrong = |expected| {
            let name = match self.replication.policy {
                ReplicationPolicy::Foreign(name) => name.text().into(),
                policy => names::in_configurations(policy),
            };
            Err(("replication.policy", name, expected))
        };
        if replicates && self.mapping != Mapping::Content {
            return wrong("ftl.mapping = \"content\" (only a content-addressed map can hold several copies)");
        }
        self.dedup.check(replicates)?;
        if replicates && geometry.chips() > 256 {
            return wrong("a device of at most 256 chips");
        }
        Ok(())
    }

    fn check_tables(&self, geometry: &Geometry) -> Result<(), RangeError> {
        if self.mapping_cache.fingerprints && !self.pages_fingerprints() {
            return Err((
                "mapping_cache.fingerprints",
                "true".into(),
                "false, or ftl.mapping = \"content\" with ftl.mapping_cache.bytes or checkpoint_s (the store shares their pages)",
            ));
        }
        self.mapping_cache.check(geometry)?;
        if self.mapping_cache.is_on()
            && self.mapping == Mapping::Content
            && self.dedup.tables == TableKind::Inverted
        {
            return Err((
                "dedup.tables",
                "inverted".into(),
                "\"two-level\", or ftl.mapping_cache.bytes = \"unlimited\" and no checkpoints (inverted tables stay in RAM)",
            ));
        }
        Ok(())
    }
}

impl FtlConfig {
    /// Keys with a policy from outside: below `ftl`, the key's family, and the policy.
    pub fn foreign_names(&self) -> Vec<(&'static str, &'static str, ForeignName)> {
        let names = [
            ("gc.victim", "victim", self.gc.victim.foreign()),
            ("allocation.policy", "allocation", self.allocation.policy.foreign()),
            ("redirection.policy", "redirection", self.redirection.policy.foreign()),
            ("replication.placement", "placement", self.replication.placement.foreign()),
            ("replication.policy", "replication.period", self.replication.policy.foreign()),
            ("replication.degree", "degree", self.replication.degree.foreign()),
            ("partition.policy", "partition", self.partition.policy.foreign()),
            ("dedup.eviction", "eviction", self.dedup.eviction.foreign()),
        ];
        names.into_iter().filter_map(|(key, family, name)| Some((key, family, name?))).collect()
    }

    pub(crate) fn check_foreign(&self) -> Result<(), RangeError> {
        match self.foreign_names().iter().find(|(_, family, name)| name.family() != *family) {
            Some(&(key, _, name)) => {
                Err((key, name.text().into(), "a policy that `ft.policy` made for this family"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_that_share_or_spread_pages_need_contents() {
        let (page, none) = (Mapping::Page, SpreadPolicy::None);
        for (mapping, policy, needed) in
            [(page, none, false), (page, SpreadPolicy::Duplicates, true), (Mapping::Content, none, true)]
        {
            let spread = SpreadConfig { policy, ..SpreadConfig::default() };
            let config = FtlConfig { mapping, spread, ..FtlConfig::default() };
            assert_eq!(config.looks_at_contents(), needed, "{mapping:?}, {policy:?}");
        }
    }
}
