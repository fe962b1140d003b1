//! The controller's configuration. Doc comments are the reference manual's text.

use flashtwin_nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::allocation::{AllocationPolicy, Order};
use crate::blocks::Stream;
use crate::dedup::{EvictionPolicy, OutOfLinePolicy, TableForm};
use crate::mapping::CacheBytes;
pub use crate::mapping::MappingCacheConfig;
use crate::partition::PartitionConfig;
use crate::redirection::RedirectionPolicy;
use crate::replication::degree::DegreePolicy;
use crate::replication::placement::{PlacementPolicy, ScorePopularity};
pub use crate::spread::SpreadConfig;
use crate::spread::SpreadPolicy;
use crate::victim::VictimPolicy;
use crate::wear::WearConfig;

/// What the controller decides, policy by policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// How logical pages find their physical page: `page` (LPN -> PPN) or `content`
    /// (LPN -> VPN -> PPN, equal contents share a page; CA-SSD paper, RR-SSD paper III.B).
    pub mapping: MappingForm,
    /// Mapping tables on flash, and what of them is in RAM.
    pub mapping_cache: MappingCacheConfig,
    /// Where host pages are written.
    pub allocation: AllocationConfig,
    /// Garbage collection.
    pub gc: GcConfig,
    /// Deduplication; used by `mapping = "content"`.
    pub dedup: DedupConfig,
    /// Which chip serves a read.
    pub redirection: RedirectionConfig,
    /// Copies of popular contents; used by `mapping = "content"`.
    pub replication: ReplicationConfig,
    /// Duplicates on different channels; used by `mapping = "page"`.
    pub spread: SpreadConfig,
    /// Partitions of the host's data by temperature.
    pub partition: PartitionConfig,
    /// Wear levelling.
    pub wear: WearConfig,
    /// Work in idle time.
    pub background: BackgroundConfig,
}

/// How logical pages find their physical page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MappingForm {
    /// LPN -> PPN; every write programs a page.
    #[default]
    Page,
    /// LPN -> VPN -> PPN with reference counts; equal contents share a page.
    Content,
}

/// Where host pages are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AllocationConfig {
    /// Which plane a host page goes to.
    pub policy: AllocationPolicy,
    /// For `static`, `dynamic` and `hipa`: the levels from the fastest changing to the slowest: C(hannel),
    /// W(ay, a chip of the channel), D(ie), P(lane) in any order.
    pub order: Order,
    /// For `hipa`: a die is avoided when its predicted load exceeds the mean so many times.
    pub hipa_threshold: f64,
    /// For `hipa`: weight of the newest look at the loads in the prediction, an exponentially weighted mean;
    /// above 0, up to 1. Not given in the papers.
    pub hipa_weight: f64,
    /// For `hipa`: time from one look at the loads to the next, in microseconds; from 0.001 to 1e9. Not given in
    /// the papers; four looks, which the default weight makes most of a prediction, are about a page program.
    pub hipa_sample_us: f64,
}

impl Default for AllocationConfig {
    fn default() -> Self {
        Self {
            policy: AllocationPolicy::default(),
            order: Order::default(),
            hipa_threshold: 1.5,
            hipa_weight: 0.25,
            hipa_sample_us: 100.0,
        }
    }
}

/// Garbage collection, plane by plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Which closed block is collected next.
    pub victim: VictimPolicy,
    /// For `victim = "d-choices"`: how many blocks are drawn.
    pub choices: u32,
    /// A plane starts collecting when its free blocks fall to this share of its blocks
    /// (never fewer than `urgent` + 1 blocks).
    pub start: f64,
    /// It stops when its free blocks reach this share (never fewer than one block above
    /// where it starts).
    pub stop: f64,
    /// With this many free blocks or fewer, collection goes ahead of the host. At least 1.
    pub urgent: u32,
    /// Valid pages moved per host page written while a plane collects: work proceeds in
    /// bounded steps.
    pub step_pages: u32,
}

impl Default for GcConfig {
    fn default() -> Self {
        Self { victim: VictimPolicy::Greedy, choices: 10, start: 0.05, stop: 0.05, urgent: 1, step_pages: 8 }
    }
}

/// Capacity of the fingerprint store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Entries {
    /// At most this many; `eviction` says which one goes.
    Limited(u32),
    /// Every content on flash is known: written `"unlimited"`.
    #[default]
    #[serde(with = "unlimited")]
    #[schemars(with = "String")]
    Unlimited,
}

pub(crate) mod unlimited {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("unlimited")
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "unlimited" {
            return Ok(());
        }
        Err(D::Error::custom("expected a whole number or \"unlimited\""))
    }
}

/// Deduplication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DedupConfig {
    /// Form of the tables: `two-level` (LPN -> VPN -> PPN with reference counts) or `inverted`
    /// (LPN -> PPN, content -> PPN and the inverse of both; CA-SSD paper 4.1). The flash traffic is
    /// the same; what they need of RAM and change per page moved differs.
    pub tables: TableForm,
    /// Entries of the fingerprint store: a number, or `"unlimited"`. Evicted entries are
    /// dropped, so that a later duplicate is written again (CA-SSD paper 5.2: 16384,
    /// 131072, 262144).
    pub fingerprint_entries: Entries,
    /// Which entry of a full fingerprint store goes.
    pub eviction: EvictionPolicy,
    /// Pages of a write that share a sample: the write is cut into runs of so many pages, of each
    /// run one page is fingerprinted first, and the others only if its content is on flash; else
    /// they are written without a fingerprint (CAFTL). 1: every page is fingerprinted.
    pub sampling_pages: u32,
    /// Which pages are deduplicated after they were written, in idle time.
    pub out_of_line: OutOfLinePolicy,
}

impl Default for DedupConfig {
    fn default() -> Self {
        Self {
            tables: TableForm::default(),
            fingerprint_entries: Entries::default(),
            eviction: EvictionPolicy::default(),
            sampling_pages: 1,
            out_of_line: OutOfLinePolicy::default(),
        }
    }
}

impl DedupConfig {
    /// Whether every content on flash is found when it is written again.
    pub(crate) fn knows_all(&self) -> bool {
        self.fingerprint_entries == Entries::Unlimited && self.sampling_pages == 1
    }

    /// Checks numbers and relations between keys, for a content-addressed system.
    fn check(&self, replicates: bool) -> Result<(), RangeError> {
        if self.fingerprint_entries == Entries::Limited(0) {
            return Err(("dedup.fingerprint_entries", "0".into(), "at least 1, or \"unlimited\""));
        }
        if self.sampling_pages == 0 {
            return Err(("dedup.sampling_pages", "0".into(), "at least 1, which is without sampling"));
        }
        if self.tables == TableForm::TwoLevel {
            return Ok(());
        }
        let needs = |cure| Err(("dedup.tables", "inverted".into(), cure));
        if replicates {
            return needs(
                "\"two-level\", or ftl.replication.policy = \"none\" (inverted tables hold one page a content)",
            );
        }
        if self.eviction == EvictionPolicy::ReferenceCount {
            return needs(
                "\"two-level\", or ftl.dedup.eviction = \"lru-writes\" (inverted tables keep no reference counts)",
            );
        }
        if self.out_of_line != OutOfLinePolicy::None {
            return needs("\"two-level\", or ftl.dedup.out_of_line = \"none\"");
        }
        Ok(())
    }
}

/// Which chip serves a read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedirectionConfig {
    /// Which of the copies is read.
    pub policy: RedirectionPolicy,
}

/// When copies are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicationPolicy {
    /// Never.
    #[default]
    None,
    /// At the end of each period, from the most popular content down (RR-SSD paper III.B).
    EndOfPeriod,
    /// As soon as a read earns one, in idle time (RR-SSD paper IV.B.4). Period ends still zero the
    /// counters and drop what is no longer earned.
    OnLine,
    /// As soon as a page has been read often and recently enough, in idle time: priority-LRU over
    /// physical pages (PBLRU, as in RR-SSD paper IV.B.3). It knows no periods, degrees or placements.
    PriorityLru,
}

impl ReplicationPolicy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::EndOfPeriod, Self::OnLine, Self::PriorityLru];
}

/// Copies of popular contents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplicationConfig {
    /// When copies are made.
    pub policy: ReplicationPolicy,
    /// Space for replicas beyond the trace's non-deduplicated footprint, as a share of it
    /// (RR-SSD paper: alpha; 0 is its ISO-capacity analysis: only what deduplication saved).
    pub alpha: f64,
    /// How many copies a content earns.
    pub degree: DegreePolicy,
    /// For `degree = "few-of-many"`: copies of every content that was read, the first included.
    pub few_copies: u32,
    /// For `degree = "popularity"`: copies that a read earns, in whole copies rounded down: with 0.25 every
    /// fourth read earns one. Above 0, up to 256. The RR-SSD paper gives no number ("the more popular, the more
    /// copies", II.D); with 1 a counter of log2(chips) bits is exactly as wide as it has to be.
    pub copies_per_read: f64,
    /// Most copies of a content, the first included, whatever the degree; 1 to 256. There is never more than
    /// one on a chip.
    pub most_copies: u32,
    /// Contents read less often than this in a period get no copies, whatever the degree; at least 1, and at
    /// most what a counter can reach, the number of chips less one.
    pub least_popularity: u32,
    /// Which chip receives a copy.
    pub placement: PlacementPolicy,
    /// For `placement = "score"`: the popularity of a chip, Pop.
    pub score_popularity: ScorePopularity,
    /// Replicas beyond what their content's popularity earns are dropped at every so many
    /// period ends (RR-SSD paper III.B: less often than replication; weekly for daily periods).
    pub adjust_every: u32,
    /// For `policy = "priority-lru"`: pages of a class. The least recent page of a full class falls to the
    /// class of half its number of reads. Not given in the paper.
    pub class_pages: u32,
}

impl Default for ReplicationConfig {
    fn default() -> Self {
        Self {
            policy: ReplicationPolicy::None,
            alpha: 0.0,
            degree: DegreePolicy::Popularity,
            few_copies: 2,
            copies_per_read: 1.0,
            most_copies: 256,
            least_popularity: 1,
            placement: PlacementPolicy::Score,
            score_popularity: ScorePopularity::Mean,
            adjust_every: 7,
            class_pages: 4096,
        }
    }
}

impl ReplicationConfig {
    /// Whether copies are earned by the popularity of contents.
    fn counts_popularity(&self) -> bool {
        matches!(self.policy, ReplicationPolicy::EndOfPeriod | ReplicationPolicy::OnLine)
    }

    /// Checks what a content may earn.
    fn check(&self, chips: u32) -> Result<(), RangeError> {
        let Self { copies_per_read, most_copies, least_popularity, .. } = *self;
        if !(copies_per_read > 0.0 && copies_per_read <= 256.0) {
            let expected = "a number of copies above 0, up to 256";
            return Err(("replication.copies_per_read", copies_per_read.to_string(), expected));
        }
        if !(1..=256).contains(&most_copies) {
            return Err(("replication.most_copies", most_copies.to_string(), "1 to 256 copies"));
        }
        if least_popularity == 0 || self.counts_popularity() && least_popularity > chips.max(2) - 1 {
            let expected = "at least 1, and at most the chips less one, where the counters of reads end";
            return Err(("replication.least_popularity", least_popularity.to_string(), expected));
        }
        Ok(())
    }
}

/// Work in idle time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackgroundConfig {
    /// Most jobs that may wait for idle time or be under way; what comes on top is dropped and
    /// counted.
    pub jobs: u32,
}

impl Default for BackgroundConfig {
    fn default() -> Self {
        Self { jobs: 4096 }
    }
}

/// A number out of range: the key below `ftl`, its value, what was expected.
pub type RangeError = (&'static str, String, &'static str);

impl FtlConfig {
    /// Whether decisions depend on contents: such a system cannot do without them.
    pub fn looks_at_contents(&self) -> bool {
        self.mapping == MappingForm::Content || self.spread.policy != SpreadPolicy::None
    }

    /// Partitions of the host's data.
    pub fn partitions(&self) -> u32 {
        self.partition.count()
    }

    /// Kinds of data that do not share an active block. A plane keeps back a block for each, and one
    /// more to collect with.
    pub fn streams(&self) -> u32 {
        Stream::count(self.partitions(), self.wear.levels())
    }

    /// Pages of a write that share a sample; 1 for a system that does not look at contents.
    pub(crate) fn pages_per_sample(&self) -> u32 {
        match self.mapping {
            MappingForm::Page => 1,
            MappingForm::Content => self.dedup.sampling_pages,
        }
    }

    /// Checks the cache of mapping tables.
    fn check_tables(&self, geometry: &Geometry) -> Result<(), RangeError> {
        let MappingCacheConfig { bytes, checkpoint_s, fingerprints } = self.mapping_cache;
        if fingerprints && !self.pages_fingerprints() {
            return Err((
                "mapping_cache.fingerprints",
                "true".into(),
                "false, or ftl.mapping = \"content\" with ftl.mapping_cache.bytes or checkpoint_s (the store shares their pages)",
            ));
        }
        // Up to a century, so that it is a number of nanoseconds.
        if !(0.0..=3.2e9).contains(&checkpoint_s) {
            return Err((
                "mapping_cache.checkpoint_s",
                checkpoint_s.to_string(),
                "0 (never) or a number of seconds up to 3.2e9",
            ));
        }
        match bytes {
            CacheBytes::Limited(few) if few < u64::from(geometry.page_bytes) => {
                return Err((
                    "mapping_cache.bytes",
                    few.to_string(),
                    "at least one page of the device (nand.page_bytes), or \"unlimited\"",
                ));
            }
            _ => {}
        }
        if self.mapping_cache.is_on()
            && self.mapping == MappingForm::Content
            && self.dedup.tables == TableForm::Inverted
        {
            return Err((
                "dedup.tables",
                "inverted".into(),
                "\"two-level\", or ftl.mapping_cache.bytes = \"unlimited\" and no checkpoints (inverted tables stay in RAM)",
            ));
        }
        Ok(())
    }

    /// Checks numbers and relations between keys.
    ///
    /// # Errors
    /// The first key that is out of range, with its value and what was expected.
    pub fn check(&self, geometry: &Geometry) -> Result<(), RangeError> {
        let share = |key, value: f64| {
            if (0.0..1.0).contains(&value) {
                return Ok(());
            }
            Err((key, value.to_string(), "a share from 0 up to but not including 1"))
        };
        share("gc.start", self.gc.start)?;
        share("gc.stop", self.gc.stop)?;
        let at_least_one = |key, value: u32| match value {
            0 => Err((key, "0".to_owned(), "at least 1")),
            _ => Ok(()),
        };
        at_least_one("gc.urgent", self.gc.urgent)?;
        at_least_one("gc.step_pages", self.gc.step_pages)?;
        at_least_one("gc.choices", self.gc.choices)?;
        at_least_one("replication.adjust_every", self.replication.adjust_every)?;
        at_least_one("replication.class_pages", self.replication.class_pages)?;
        at_least_one("replication.few_copies", self.replication.few_copies)?;
        self.replication.check(geometry.chips())?;
        let threshold = self.allocation.hipa_threshold;
        if !(1.0..=1000.0).contains(&threshold) {
            return Err(("allocation.hipa_threshold", threshold.to_string(), "a factor from 1 to 1000"));
        }
        let weight = self.allocation.hipa_weight;
        if !(weight > 0.0 && weight <= 1.0) {
            return Err(("allocation.hipa_weight", weight.to_string(), "a weight above 0, up to 1"));
        }
        let sample = self.allocation.hipa_sample_us;
        if !(0.001..=1e9).contains(&sample) {
            return Err(("allocation.hipa_sample_us", sample.to_string(), "0.001 to 1e9 microseconds"));
        }
        let alpha = self.replication.alpha;
        if !(alpha.is_finite() && alpha >= 0.0) {
            return Err(("replication.alpha", alpha.to_string(), "a share of the footprint, 0 or more"));
        }
        at_least_one("background.jobs", self.background.jobs)?;
        self.spread.check()?;
        self.partition.check()?;
        self.wear.check()?;
        if self.spread.policy != SpreadPolicy::None {
            let wrong = |expected| Err(("spread.policy", "duplicates".into(), expected));
            if self.mapping != MappingForm::Page {
                return wrong("ftl.mapping = \"page\" (a content-addressed map keeps no duplicates)");
            }
            if geometry.channels > 64 {
                return wrong("a device of at most 64 channels");
            }
        }
        let replicates = self.replication.policy != ReplicationPolicy::None;
        let policy = match self.replication.policy {
            ReplicationPolicy::None => "none",
            ReplicationPolicy::EndOfPeriod => "end-of-period",
            ReplicationPolicy::OnLine => "on-line",
            ReplicationPolicy::PriorityLru => "priority-lru",
        }
        .to_owned();
        if replicates && self.mapping != MappingForm::Content {
            return Err((
                "replication.policy",
                policy,
                "ftl.mapping = \"content\" (only a content-addressed map can hold several copies)",
            ));
        }
        self.dedup.check(replicates)?;
        self.check_tables(geometry)?;
        if replicates && geometry.chips() > 256 {
            return Err(("replication.policy", policy, "a device of at most 256 chips"));
        }
        Ok(())
    }
}
