//! Partitions of the host's pages by temperature, each with active blocks of its own. One policy a file.
//!
//! Pages that are updated equally often die together, so collection finds nearly empty blocks (SWC paper 3.1, 3.2).
//! Collection moves a page within its partition. A block changes its partition when it is erased.

mod bloom_filters;
mod told;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::RangeError;
use crate::ids::Lpn;
use crate::policies::policies;

/// Most partitions that a block can name.
const MOST: u32 = 32;

/// Says to which partition a page of the host goes. 0 is the hottest.
pub trait PartitionAssignment: Send + flashtwin_bits::State {
    /// Gives a policy that [is told](PartitionPolicy::is_told) the partition of each page.
    fn tell(&mut self, _of_page: Vec<u8>) {}

    /// The host writes a page: its partition, below the number of partitions.
    fn written(&mut self, lpn: Lpn) -> u8;

    /// The partition of a page that is written again without the host's doing; teaches nothing.
    fn partition(&self, lpn: Lpn) -> u8;

    /// Forgets the statistics so far, as preloading ends.
    fn forget(&mut self);

    /// Bytes that it takes in a controller's RAM.
    fn ram_bytes(&self) -> u64;

    /// Bytes that it takes in the simulator.
    fn bytes(&self) -> u64;
}

policies! {
    /// How pages are separated by temperature.
    pub enum PartitionPolicy;
    fn build(config: &PartitionConfig, footprint_pages: u32) -> Option<Box<dyn PartitionAssignment>>;

    /// No separation: all pages are in one partition.
    #[default]
    None => None;
    /// By the number of writes of each page in the whole trace, known before it begins: the lowest
    /// ratio of update frequencies within a partition that this number of partitions allows (SWC
    /// paper 3.1). No controller knows the future; this is the bound for the other policies.
    #[schemars(extend("x-traits" = ["partitions", "bound"]))]
    Offline => Some(Box::new(told::Told::beforehand(config.partitions)));
    /// As the pages are written, hot from cold, by several Bloom filters (Park and Du, MSST 2011).
    #[schemars(extend("x-traits" = ["partitions"]))]
    BloomFilters => Some(Box::new(bloom_filters::BloomFilters::new(footprint_pages, config.window, config.filter_bits)));
    /// As the host says: each volume of the trace in a partition of its own, by its number; those beyond
    /// the number of partitions share the last one. A partition is a stream, or a placement handle of
    /// FDP (NVMe TP4146), and its reclaim unit a block of every plane.
    #[schemars(extend("x-traits" = ["partitions"]))]
    Volumes => Some(Box::new(told::Told::with_each_write(config.partitions)));
    /// As the host says, by address: `ftl.partition.ranges`.
    #[schemars(extend("x-traits" = ["partitions"]))]
    Ranges => Some(Box::new(told::Told::with_each_write(config.partitions)));
}

policies! {
    /// Pages that collection may put into one block (NVMe TP4146).
    pub enum Isolation;

    /// Pages of one partition: it stays apart (persistently isolated).
    #[default]
    Persistent;
    /// Pages of any: only the writes of the host are apart (initially isolated). Wear levelling keeps
    /// partitions.
    Initial;
}

impl PartitionPolicy {
    /// Whether the driver knows the partition of each page beforehand, and says so.
    pub fn is_told(self) -> bool {
        matches!(self, Self::Offline | Self::Volumes | Self::Ranges)
    }
}

/// Partitions of the host's data by temperature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PartitionConfig {
    /// How pages are separated by temperature.
    #[schemars(extend("x-when" = "always"))]
    pub policy: PartitionPolicy,
    /// Partitions, from 1 to 32; 2 for `policy = "bloom-filters"`. Each has two active blocks in
    /// every plane, one for the host and one for collection (`isolation = "initial"`: one for the collection of all).
    /// For example 4.
    pub partitions: u32,
    /// Pages that collection may put into one block.
    #[schemars(extend("x-when" = "partitions"))]
    pub isolation: Isolation,
    /// For `policy = "ranges"`: where the second and each further partition begins, in bytes, GiB (G) or
    /// TiB (T), ascending. Volumes of a trace lie one behind another. For example `"64G, 96G"`.
    #[schemars(extend("x-when" = "ftl.partition.policy = ranges"))]
    pub ranges: String,
    /// For `policy = "bloom-filters"`: share of the logical pages that the host writes until the
    /// oldest of the four filters is emptied. For example 0.5.
    #[schemars(extend("x-when" = "ftl.partition.policy = bloom-filters"))]
    pub window: f64,
    /// For `policy = "bloom-filters"`: bits of one filter for each write of a window. For example
    /// 16; 8 in the paper (4,096 bits and 512 writes).
    #[schemars(extend("x-when" = "ftl.partition.policy = bloom-filters"))]
    pub filter_bits: u32,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        let (isolation, ranges) = (Isolation::default(), "64G".to_owned());
        Self { policy: PartitionPolicy::None, partitions: 2, isolation, ranges, window: 0.25, filter_bits: 8 }
    }
}

impl PartitionConfig {
    pub(crate) fn count(&self) -> u32 {
        if self.policy == PartitionPolicy::None { 1 } else { self.partitions }
    }

    /// Partitions whose collection needs no open block of its own.
    pub(crate) fn collected_with_others(&self) -> u32 {
        if self.isolation == Isolation::Initial { self.count() - 1 } else { 0 }
    }

    /// Where the second and each further partition begins, in bytes.
    pub fn range_starts(&self) -> Result<Vec<u64>, RangeError> {
        let wrong = || {
            (
                "partition.ranges",
                self.ranges.clone(),
                "one start in bytes, G or T for each partition but the first, ascending, such as \"64G, 96G\"",
            )
        };
        let start = |text: &str| -> Option<u64> {
            let (number, shift) = match text.trim().split_at_checked(text.trim().len().checked_sub(1)?)? {
                (number, "G") => (number, 30),
                (number, "T") => (number, 40),
                _ => (text.trim(), 0),
            };
            number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
        };
        let starts: Option<Vec<u64>> =
            self.ranges.split(',').filter(|_| !self.ranges.is_empty()).map(start).collect();
        starts
            .filter(|starts| {
                starts.is_sorted_by(|a, b| a < b) && starts.len() + 1 == self.partitions as usize
            })
            .ok_or_else(wrong)
    }

    pub(crate) fn check(&self) -> Result<(), RangeError> {
        let partitions = self.partitions.to_string();
        if !(1..=MOST).contains(&self.partitions) {
            return Err(("partition.partitions", partitions, "from 1 to 32"));
        }
        if self.policy == PartitionPolicy::BloomFilters && self.partitions != 2 {
            let expected = "2, as ftl.partition.policy = \"bloom-filters\" tells hot pages from cold ones";
            return Err(("partition.partitions", partitions, expected));
        }
        if self.policy == PartitionPolicy::Ranges {
            self.range_starts()?;
        }
        if !(self.window > 0.0 && self.window <= 100.0) {
            let expected = "a share of the logical pages, above 0 and up to 100";
            return Err(("partition.window", self.window.to_string(), expected));
        }
        if !(1..=64).contains(&self.filter_bits) {
            return Err(("partition.filter_bits", self.filter_bits.to_string(), "from 1 to 64"));
        }
        Ok(())
    }
}

pub(crate) struct Partitions {
    assignment: Option<Box<dyn PartitionAssignment>>,
    /// Page writes of the host by partition; empty with one for all.
    writes: Vec<u64>,
    /// Pages that collection moved out of blocks of each.
    moves: Vec<u64>,
}

impl Partitions {
    pub(crate) fn new(config: &PartitionConfig, footprint_pages: u32) -> Self {
        let told_apart = if config.count() > 1 { config.count() as usize } else { 0 };
        let assignment = config.policy.build(config, footprint_pages);
        Self { assignment, writes: vec![0; told_apart], moves: vec![0; told_apart] }
    }

    pub(crate) fn tell(&mut self, of_page: Vec<u8>) {
        if let Some(assignment) = &mut self.assignment {
            assignment.tell(of_page);
        }
    }

    #[inline]
    pub(crate) fn written(&mut self, lpn: Lpn) -> u8 {
        let Some(assignment) = &mut self.assignment else { return 0 };
        let partition = assignment.written(lpn);
        if let Some(writes) = self.writes.get_mut(usize::from(partition)) {
            *writes += 1;
        }
        partition
    }

    pub(crate) fn of(&self, lpn: Lpn) -> u8 {
        self.assignment.as_ref().map_or(0, |assignment| assignment.partition(lpn))
    }

    pub(crate) fn writes(&self) -> &[u64] {
        &self.writes
    }

    #[inline]
    pub(crate) fn moved(&mut self, partition: u8) {
        if let Some(moves) = self.moves.get_mut(usize::from(partition)) {
            *moves += 1;
        }
    }

    pub(crate) fn moves(&self) -> &[u64] {
        &self.moves
    }

    pub(crate) fn forget(&mut self) {
        self.writes.fill(0);
        self.moves.fill(0);
        if let Some(assignment) = &mut self.assignment {
            assignment.forget();
        }
    }

    /// Bytes in a controller's RAM, and in the simulator.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        self.assignment.as_ref().map_or((0, 0), |assignment| (assignment.ram_bytes(), assignment.bytes()))
    }
}

flashtwin_bits::state!(Partitions { assignment, writes, moves });
