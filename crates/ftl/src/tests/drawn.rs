//! Random options: for each number its extremes, usual values, and thresholds. A value listed twice
//! is drawn twice as often.

/// Percent of the steps that trim: mostly none, some, many.
pub(super) const TRIM_PERCENT: [u32; 4] = [0, 0, 5, 25];
/// Percent of the steps that read: none to nearly all.
pub(super) const READ_PERCENT: [u32; 4] = [0, 20, 50, 90];
/// Percent of the writes that touch parts of pages.
pub(super) const PARTIAL_PERCENT: [u32; 3] = [0, 10, 50];
/// Percent of the steps on the first tenth of the pages: as many as on any other tenth, half, most.
pub(super) const HOT_PERCENT: [u32; 3] = [10, 50, 90];
/// Steps from one audit to the next: each, and seldom (primes, to fall anywhere).
pub(super) const AUDIT_EVERY: [u32; 3] = [1, 17, 101];
/// Steps of a period: several periods a run, a few, one.
pub(super) const PERIOD_EVERY: [u32; 3] = [20, 100, 1000];
/// Steps from one checkpoint to the next; 0, mostly: there are none.
pub(super) const CHECKPOINT_EVERY: [u32; 4] = [0, 0, 3, 50];
/// Bytes of mapping tables in RAM, where that is limited: one page (of 64 bytes) mostly, two, five and a part, many.
pub(super) const TABLE_BYTES: [u64; 5] = [64, 64, 2 * 64, 5 * 64 + 63, 20 * 64];

/// Entries of a fingerprint store that is limited: the least, and so few that some are evicted.
pub(super) const FEW_FINGERPRINTS: [u32; 2] = [1, 20];
/// Pages that share a sample: each by itself mostly, and more.
pub(super) const SAMPLING_PAGES: [u32; 4] = [1, 1, 3, 8];
/// Most background jobs at a time: one, so few that some are dropped, enough.
pub(super) const JOBS: [u32; 3] = [1, 5, 4096];

/// Room for copies over the footprint: none, scarce, plenty, more than a device has.
pub(super) const ALPHA: [f64; 4] = [0.0, 0.1, 1.0, 30.0];
/// Ends of periods from one at which unearned copies are dropped to the next.
pub(super) const ADJUST_EVERY: [u32; 3] = [1, 2, 7];
/// Pages of a class of priority-LRU: one, few, more than there are.
pub(super) const CLASS_PAGES: [u32; 3] = [1, 4, 4096];
/// Copies that a read is worth: one mostly, less, more.
pub(super) const COPIES_PER_READ: [f64; 6] = [1.0, 1.0, 1.0, 0.1, 0.25, 2.5];
/// Most copies of a content, the first included: mostly more than there are chips, and limits that are met.
pub(super) const MOST_COPIES: [u32; 7] = [256, 256, 256, 256, 2, 3, 1];
/// Popularity that earns a copy: mostly the first read's.
pub(super) const LEAST_POPULARITY: [u32; 5] = [1, 1, 1, 2, 3];

/// Orders of the static allocation: ways first, planes first, and two between.
pub(super) const ORDERS: [&str; 4] = ["CWDP", "PDWC", "DPCW", "WCPD"];
/// How often the mean a load must be for HIPA to avoid the die: just above it, more, never.
pub(super) const HIPA_THRESHOLD: [f64; 3] = [1.0, 1.5, 1000.0];
/// Weight of HIPA's newest load sample: hardly any, some, all.
pub(super) const HIPA_WEIGHT: [f64; 3] = [0.001, 0.25, 1.0];
/// Interval of HIPA's load samples: almost none, two usual ones, longer than a run.
pub(super) const HIPA_SAMPLE_US: [f64; 4] = [0.001, 30.0, 100.0, 1e9];
/// Bits of a filter an entry: nearly always wrong, often, seldom.
pub(super) const BLOOM_BITS_PER_PAGE: [u32; 3] = [1, 3, 10];
/// Hashes of a filter.
pub(super) const BLOOM_HASHES: [u32; 3] = [1, 2, 7];
/// Share of dead entries at which a filter is rebuilt: soon, at half, never.
pub(super) const BLOOM_REBUILD: [f64; 3] = [0.1, 0.5, 1.0];
/// Most pages that a read may choose from: its own alone, two, more than there are channels.
pub(super) const CANDIDATES: [u32; 3] = [1, 2, 16];

/// Share of free blocks at which collection starts: as late as can be, the default, half, nearly at once.
pub(super) const GC_START: [f64; 4] = [0.0, 0.05, 0.5, 0.95];
/// Share at which it stops: one block above where it starts, and later.
pub(super) const GC_STOP: [f64; 2] = [0.0, 0.3];
/// Free blocks with which it goes ahead of the host: the last one, two, more than a plane has.
pub(super) const GC_URGENT: [u32; 3] = [1, 2, 40];
/// Valid pages that it moves for a page written: one, some, the default, more than a block has.
pub(super) const GC_STEP_PAGES: [u32; 4] = [1, 3, 8, 1000];
/// Partitions where the trace decides on them: none, and more and more.
pub(super) const PARTITIONS: [u32; 4] = [1, 2, 3, 5];
/// Share of the logical pages written from one emptying of a filter of hot pages to the next: a few, the default, several
/// times all.
pub(super) const WINDOW: [f64; 3] = [0.01, 0.25, 3.0];
/// Bits of such a filter for each write of a window: nearly always wrong, the paper's, hardly ever wrong.
pub(super) const FILTER_BITS: [u32; 3] = [1, 8, 64];
/// Erases that blocks may differ by before data are moved: one, two, the default.
pub(super) const WEAR_THRESHOLD: [u32; 3] = [1, 2, 16];
/// Blocks collected between two whose data are moved: one mostly.
pub(super) const WEAR_EVERY: [u32; 3] = [1, 1, 7];
