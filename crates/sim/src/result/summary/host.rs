use flashtwin_ftl::PageCounts;
use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{Charge, EngineCounts, EnginePageCounts};
use crate::finished::FinishedRun;
use crate::metrics::{Ledgers, Metrics, Share, Tally};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RequestCounts {
    /// Read requests completed.
    read: u64,
    /// Write requests completed.
    write: u64,
    /// Trim requests completed.
    trim: u64,
    /// Flushes completed.
    flush: u64,
    /// Requests completed, of all kinds; `trace.requests` without those of the warm-up.
    completed: u64,
}

impl RequestCounts {
    pub(super) fn of(counts: &EngineCounts) -> RequestCounts {
        let [read, write, trim, flush] = counts.requests;
        RequestCounts { read, write, trim, flush, completed: read + write + trim + flush }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Responses {
    /// Of read requests.
    read: Response,
    /// Of write requests.
    write: Response,
    /// Of flushes.
    flush: Response,
    /// Of reads and writes. Trims have none.
    all: Response,
}

impl Responses {
    pub(super) fn of(metrics: &Metrics) -> Responses {
        let (reads, writes) = (&metrics.reads.whole, &metrics.writes.whole);
        let mut all = reads.clone();
        all.add(writes);
        Responses {
            read: Response::of(reads, &metrics.reads.ledgers().whole()),
            write: Response::of(writes, &metrics.writes.ledgers().whole()),
            flush: Response::of(&metrics.flushes.whole, &metrics.flushes.ledgers().whole()),
            all: Response::of(&all, &all_ledgers(metrics).whole()),
        }
    }
}

pub(in crate::result) fn all_ledgers(metrics: &Metrics) -> Ledgers {
    let mut all = Ledgers::default();
    all.add(metrics.reads.ledgers());
    all.add(metrics.writes.ledgers());
    all
}

/// Response times of one kind of requests. Mean, deviation, least and greatest are exact;
/// percentiles are at most 0.1 % too high.
#[derive(Debug, Serialize, JsonSchema)]
struct Response {
    /// Requests.
    count: u64,
    /// Mean.
    mean_ns: Option<f64>,
    /// Standard deviation of the population.
    stddev_ns: Option<f64>,
    /// Least.
    min_ns: Option<u64>,
    /// Greatest.
    max_ns: Option<u64>,
    /// Median.
    p50_ns: Option<u64>,
    /// 90th percentile.
    p90_ns: Option<u64>,
    /// 95th percentile.
    p95_ns: Option<u64>,
    /// 99th percentile.
    p99_ns: Option<u64>,
    /// 99.9th percentile.
    p99_9_ns: Option<u64>,
    /// 99.99th percentile.
    p99_99_ns: Option<u64>,
    /// The mean in parts.
    split: Split,
}

impl Response {
    fn of(tally: &Tally, ledger: &Share) -> Response {
        let some = |value: u64| (tally.count > 0).then_some(value);
        Response {
            count: tally.count,
            mean_ns: tally.mean_ns(),
            stddev_ns: tally.stddev_ns(),
            min_ns: some(tally.min_ns),
            max_ns: some(tally.max_ns),
            p50_ns: tally.percentile_ns(50.0),
            p90_ns: tally.percentile_ns(90.0),
            p95_ns: tally.percentile_ns(95.0),
            p99_ns: tally.percentile_ns(99.0),
            p99_9_ns: tally.percentile_ns(99.9),
            p99_99_ns: tally.percentile_ns(99.99),
            split: Split::of(ledger),
        }
    }
}

/// Means of the parts, waiting and service apart; the eight sum to `mean_ns`. For a request with
/// several pages, the last completed page counts. The table `wait_ledger` has the holders of the
/// unit during the wait.
#[derive(Debug, Serialize, JsonSchema)]
struct Split {
    /// Waiting for the unit (chip, die or plane, by `engine.concurrency`).
    queueing_ns: Option<f64>,
    /// Waiting for a busy channel.
    channel_wait_ns: Option<f64>,
    /// Waiting for the hash unit.
    hash_wait_ns: Option<f64>,
    /// Waiting for mapping-table pages, for the page's own program, for a place in the write cache
    /// or in power-protected RAM, for a slot of the controller or the host's link, or (a flush) for
    /// earlier writes.
    other_wait_ns: Option<f64>,
    /// Service: hashing.
    hash_ns: Option<f64>,
    /// Service: command and data on the channel, and data on the host's link.
    transfer_ns: Option<f64>,
    /// Service: tR or tPROG; 0 for a write that completes earlier.
    flash_ns: Option<f64>,
    /// Service: `engine.controller_us`, and `engine.write_cache_us` where RAM answers.
    controller_ns: Option<f64>,
}

impl Split {
    fn of(share: &Share) -> Split {
        let mean = |charges: &[Charge]| {
            let sum: u128 = charges.iter().map(|&charge| share.charges_ns[charge as usize]).sum();
            (share.count > 0).then(|| sum as f64 / share.count as f64)
        };
        let unit: Vec<Charge> = Charge::ALL.into_iter().filter(|charge| charge.part() == "unit").collect();
        Split {
            queueing_ns: mean(&unit),
            channel_wait_ns: mean(&[Charge::Channel]),
            hash_wait_ns: mean(&[Charge::HashQueue]),
            other_wait_ns: mean(&[
                Charge::Tables,
                Charge::PageProgram,
                Charge::CachePlace,
                Charge::EarlierWrites,
                Charge::Slot,
                Charge::Link,
            ]),
            hash_ns: mean(&[Charge::Hash]),
            transfer_ns: mean(&[Charge::Transfer]),
            flash_ns: mean(&[Charge::Flash]),
            controller_ns: mean(&[Charge::Controller]),
        }
    }
}

/// Page operations of the host, and their outcomes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PageOps {
    /// Page reads of the host.
    read: u64,
    /// Page writes of the host.
    write: u64,
    /// Page trims of the host.
    trim: u64,
    /// Page reads of unwritten or trimmed pages.
    unmapped_reads: u64,
    /// Pages that went through the hash unit.
    pages_hashed: u64,
    #[serde(flatten)]
    served: EnginePageCounts,
    #[serde(flatten)]
    decided: PageCounts,
}

impl PageOps {
    pub(super) fn of(run: &FinishedRun<'_>) -> PageOps {
        let (counts, counters) = (&run.counted.engine, &run.counted.ftl);
        let [read, write, trim, _] = counts.page_ops;
        PageOps {
            read,
            write,
            trim,
            unmapped_reads: counters.unmapped_reads + counts.undecided_unmapped_reads,
            pages_hashed: run.counted.pages_hashed,
            served: counts.pages,
            decided: counters.pages,
        }
    }
}
