//! Random options: for each number its extremes, usual values, and thresholds. A value listed twice
//! is drawn twice as often.

pub(super) const TRIM_PERCENT: [u32; 4] = [0, 0, 5, 25];
pub(super) const READ_PERCENT: [u32; 4] = [0, 20, 50, 90];
pub(super) const PARTIAL_PERCENT: [u32; 3] = [0, 10, 50];
/// Percent of the steps on the first tenth of the pages: as many as on any other tenth, half, most.
pub(super) const HOT_PERCENT: [u32; 3] = [10, 50, 90];
pub(super) const AUDIT_EVERY: [u32; 3] = [1, 17, 101];
pub(super) const PERIOD_EVERY: [u32; 3] = [20, 100, 1000];
/// Steps from one checkpoint to the next; 0, mostly: there are none.
pub(super) const CHECKPOINT_EVERY: [u32; 4] = [0, 0, 3, 50];
/// Bytes of mapping tables in RAM, where that is limited: one page (of 64 bytes) mostly, two, five and a part, many.
pub(super) const TABLE_BYTES: [u64; 5] = [64, 64, 2 * 64, 5 * 64 + 63, 20 * 64];

pub(super) const FEW_FINGERPRINTS: [u32; 2] = [1, 20];
pub(super) const SAMPLING_PAGES: [u32; 4] = [1, 1, 3, 8];
pub(super) const JOBS: [u32; 3] = [1, 5, 4096];

pub(super) const ALPHA: [f64; 4] = [0.0, 0.1, 1.0, 30.0];
/// Ends of periods from one at which unearned copies are dropped to the next.
pub(super) const ADJUST_EVERY: [u32; 3] = [1, 2, 7];
pub(super) const CLASS_PAGES: [u32; 3] = [1, 4, 4096];
pub(super) const COPIES_PER_READ: [f64; 6] = [1.0, 1.0, 1.0, 0.1, 0.25, 2.5];
/// Most copies of a content, the first included: mostly more than there are chips, and limits that are met.
pub(super) const MOST_COPIES: [u32; 7] = [256, 256, 256, 256, 2, 3, 1];
pub(super) const LEAST_POPULARITY: [u32; 5] = [1, 1, 1, 2, 3];

/// Orders of the static allocation: ways first, planes first, and two between.
pub(super) const ORDERS: [&str; 4] = ["CWDP", "PDWC", "DPCW", "WCPD"];
/// How often the mean a load must be for HIPA to avoid the die: just above it, more, never.
pub(super) const HIPA_THRESHOLD: [f64; 3] = [1.0, 1.5, 1000.0];
pub(super) const HIPA_WEIGHT: [f64; 3] = [0.001, 0.25, 1.0];
pub(super) const HIPA_SAMPLE_US: [f64; 4] = [0.001, 30.0, 100.0, 1e9];
pub(super) const BLOOM_BITS_PER_PAGE: [u32; 3] = [1, 3, 10];
pub(super) const BLOOM_HASHES: [u32; 3] = [1, 2, 7];
pub(super) const BLOOM_REBUILD: [f64; 3] = [0.1, 0.5, 1.0];
pub(super) const CANDIDATES: [u32; 3] = [1, 2, 16];

/// Share of free blocks at which collection starts: as late as can be, the default, half, nearly at once.
pub(super) const GC_START: [f64; 4] = [0.0, 0.05, 0.5, 0.95];
pub(super) const GC_STOP: [f64; 2] = [0.0, 0.3];
/// Free blocks with which it goes ahead of the host: the last one, two, more than a plane has.
pub(super) const GC_URGENT: [u32; 3] = [1, 2, 40];
pub(super) const GC_STEP_PAGES: [u32; 4] = [1, 3, 8, 1000];
pub(super) const PARTITIONS: [u32; 4] = [1, 2, 3, 5];
/// Share of the logical pages written from one emptying of a filter of hot pages to the next: a few, the default, several
/// times all.
pub(super) const WINDOW: [f64; 3] = [0.01, 0.25, 3.0];
pub(super) const FILTER_BITS: [u32; 3] = [1, 8, 64];
pub(super) const WEAR_THRESHOLD: [u32; 3] = [1, 2, 16];
pub(super) const WEAR_EVERY: [u32; 3] = [1, 1, 7];
