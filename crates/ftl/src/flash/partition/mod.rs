//! Partitions of the host's pages by temperature, each with active blocks of its own. One policy a file.
//!
//! Pages that are updated equally often die together, so collection finds nearly empty blocks (SWC paper 3.1, 3.2).
//! Collection moves a page within its partition. A block changes its partition when it is erased.

mod bloom_filters;
mod by_request;
mod foreign;
mod told;

pub use by_request::{Handles, NO_HANDLE};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::RangeError;
use crate::foreign::Foreign;
use crate::ids::Lpn;
use crate::policies::policies;

/// Most partitions that a block can name.
const MOST: u32 = 32;

/// Says to which partition a page of the host goes. 0 is the hottest.
pub trait PartitionAssignment: Send + dyn_clone::DynClone + flashtwin_bits::State {
    /// Gives a policy that [is told](PartitionPolicy::is_told) the partition of each page.
    fn tell(&mut self, _of_page: Vec<u8>) {}

    /// The host writes a page with this handle: its partition. A number of none stands for the last one.
    fn written(&mut self, lpn: Lpn, handle: u8) -> u8;

    /// The partition of a page that is written again without the host's doing; teaches nothing.
    fn partition(&self, lpn: Lpn) -> u8;

    /// Forgets the statistics so far, as preloading ends.
    fn forget(&mut self) {}

    /// Bytes that it takes in a controller's RAM.
    fn ram_bytes(&self) -> u64 {
        0
    }

    /// Bytes that it takes in the simulator.
    fn bytes(&self) -> u64 {
        0
    }
}

dyn_clone::clone_trait_object!(PartitionAssignment);

policies! {
    /// How pages are separated by temperature.
    pub enum PartitionPolicy;
    fn build(config: &PartitionConfig, footprint_pages: u32, foreign: &Foreign) -> Option<Box<dyn PartitionAssignment>>;
    @ name ["asks-by-window", "partitions"] => Some(Box::new(foreign::ForeignPartition::new(name, foreign, config.partitions, config.window_writes(footprint_pages), footprint_pages)));

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
    BloomFilters => Some(Box::new(bloom_filters::BloomFilters::new(config.window_writes(footprint_pages), config.filter_bits)));
    /// As the host says: each volume of the trace in a partition of its own, by its number; those beyond
    /// the number of partitions share the last one. A partition is a stream, or a placement handle of
    /// FDP (NVMe TP4146), and its reclaim unit a block of every plane.
    #[schemars(extend("x-traits" = ["partitions"]))]
    Volumes => Some(Box::new(told::Told::with_each_write(config.partitions)));
    /// As the host says, by address: `ftl.partition.ranges`.
    #[schemars(extend("x-traits" = ["partitions"]))]
    Ranges => Some(Box::new(told::Told::with_each_write(config.partitions)));
    /// As the host says with each write: its stream, by number (column `stream` of the trace). A write without
    /// a stream, or whose number is not below that of the partitions, goes to the last partition and is counted
    /// (`page_ops.writes_without_handle`). What is on the drive before the trace came without a stream.
    #[schemars(extend("x-traits" = ["partitions"]))]
    Streams => Some(Box::new(by_request::ByRequest::new(config.partitions)));
    /// By the bytes of the request that writes a page: `ftl.partition.sizes`. What is on the drive before the
    /// trace is in the last partition.
    #[schemars(extend("x-traits" = ["partitions"]))]
    Sizes => Some(Box::new(by_request::ByRequest::new(config.partitions)));
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
    /// Whether the driver says the partitions, of each page beforehand or with each write.
    pub fn is_told(self) -> bool {
        !matches!(self, Self::None | Self::BloomFilters)
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
    /// For `policy = "ranges"`: where the second and each further partition begins, in bytes, KiB (K), MiB
    /// (M), GiB (G) or TiB (T), ascending. Volumes of a trace lie one behind another. For example `"64G, 96G"`.
    #[schemars(extend("x-when" = "ftl.partition.policy = ranges"))]
    pub ranges: String,
    /// For `policy = "sizes"`: from how many bytes on a request is of the second and each further partition,
    /// written as `ranges` are. For example `"16K, 1M"`.
    #[schemars(extend("x-when" = "ftl.partition.policy = sizes"))]
    pub sizes: String,
    /// For `policy = "bloom-filters"`: share of the logical pages that the host writes until the
    /// oldest of the four filters is emptied. For a policy of your own: until it is asked again. For
    /// example 0.5.
    #[schemars(extend("x-when" = "ftl.partition.policy = bloom-filters or asks-by-window"))]
    pub window: f64,
    /// For `policy = "bloom-filters"`: bits of one filter for each write of a window. For example
    /// 16; 8 in the paper (4,096 bits and 512 writes).
    #[schemars(extend("x-when" = "ftl.partition.policy = bloom-filters"))]
    pub filter_bits: u32,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        let (policy, isolation) = (PartitionPolicy::default(), Isolation::default());
        let (ranges, sizes) = ("64G".to_owned(), "64K".to_owned());
        Self { policy, partitions: 2, isolation, ranges, sizes, window: 0.25, filter_bits: 8 }
    }
}

impl PartitionConfig {
    pub(crate) fn count(&self) -> u32 {
        if self.policy == PartitionPolicy::None { 1 } else { self.partitions }
    }

    /// Writes of the host in a window.
    fn window_writes(&self, footprint_pages: u32) -> u64 {
        ((f64::from(footprint_pages) * self.window) as u64).max(1)
    }

    /// Partitions whose collection needs no open block of its own.
    pub(crate) fn collected_with_others(&self) -> u32 {
        if self.isolation == Isolation::Initial { self.count() - 1 } else { 0 }
    }

    /// Where the second and each further partition begins, in bytes.
    pub fn range_starts(&self) -> Result<Vec<u64>, RangeError> {
        self.starts("partition.ranges", &self.ranges)
    }

    /// How a driver finds the handle that a write comes with; `None` where none does.
    pub fn handles(&self) -> Option<Handles> {
        match self.policy {
            PartitionPolicy::Streams => Some(Handles::Streams),
            PartitionPolicy::Sizes => self.size_starts().ok().map(Handles::Sizes),
            _ => None,
        }
    }

    fn size_starts(&self) -> Result<Vec<u64>, RangeError> {
        self.starts("partition.sizes", &self.sizes)
    }

    fn starts(&self, key: &'static str, text: &str) -> Result<Vec<u64>, RangeError> {
        let expected = "one start in bytes, K, M, G or T for each partition but the first, ascending, such as \"64G, 96G\"";
        let start = |text: &str| -> Option<u64> {
            let (number, shift) = match text.trim().split_at_checked(text.trim().len().checked_sub(1)?)? {
                (number, "K") => (number, 10),
                (number, "M") => (number, 20),
                (number, "G") => (number, 30),
                (number, "T") => (number, 40),
                _ => (text.trim(), 0),
            };
            number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
        };
        let starts: Option<Vec<u64>> = text.split(',').filter(|_| !text.is_empty()).map(start).collect();
        starts
            .filter(|starts| {
                starts.is_sorted_by(|a, b| a < b) && starts.len() + 1 == self.partitions as usize
            })
            .ok_or_else(|| (key, text.to_owned(), expected))
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
        match self.policy {
            PartitionPolicy::Ranges => self.range_starts().map(drop)?,
            PartitionPolicy::Sizes => self.size_starts().map(drop)?,
            _ => {}
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

#[derive(Clone)]
pub(crate) struct Partitions {
    assignment: Option<Box<dyn PartitionAssignment>>,
    /// That of the host's next write.
    pub(crate) handle: u8,
    /// Page writes of the host by partition; empty with one for all.
    writes: Vec<u64>,
    /// Pages that collection moved out of blocks of each.
    moves: Vec<u64>,
}

impl Partitions {
    pub(crate) fn new(config: &PartitionConfig, footprint_pages: u32, foreign: &Foreign) -> Self {
        let told_apart = if config.count() > 1 { config.count() as usize } else { 0 };
        let assignment = config.policy.build(config, footprint_pages, foreign);
        let (writes, moves) = (vec![0; told_apart], vec![0; told_apart]);
        Self { assignment, handle: NO_HANDLE, writes, moves }
    }

    pub(crate) fn tell(&mut self, of_page: Vec<u8>) {
        if let Some(assignment) = &mut self.assignment {
            assignment.tell(of_page);
        }
    }

    #[inline]
    pub(crate) fn written(&mut self, lpn: Lpn, without_handle: &mut u64) -> u8 {
        let Some(assignment) = &mut self.assignment else { return 0 };
        let (handle, last) =
            (assignment.written(lpn, self.handle), self.writes.len().saturating_sub(1) as u8);
        *without_handle += u64::from(handle > last);
        let partition = handle.min(last);
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

flashtwin_bits::state!(Partitions { assignment, writes, moves } kept { handle });
