use flashtwin_trace::Op;
use schemars::JsonSchema;
use serde::Serialize;

use crate::finished::FinishedRun;

/// Requests served per second of simulated time, from the first arrival to the last response. In an
/// open loop the trace's clock sets the rate of requests, so this is the requested rate unless the
/// device falls behind. In a closed loop (`replay.queue_depth`) it is the device's limit.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Throughput {
    /// Arrival of the first request; `null` without any.
    first_arrival_ns: Option<u64>,
    /// Completion of the last request; `null` without any. The controller's own work may go on.
    last_response_ns: Option<u64>,
    /// Time between the two.
    span_ns: Option<u64>,
    /// Requests of all kinds a second, trims and flushes included; like all rates, `null` if the
    /// span is 0.
    requests_per_s: Option<f64>,
    /// Of read requests.
    read: Rate,
    /// Of write requests.
    write: Rate,
    /// Of reads and writes.
    all: Rate,
    /// Flushes a second.
    flushes_per_s: Option<f64>,
}

/// Bytes are those that the requests address, not whole pages.
#[derive(Debug, Serialize, JsonSchema)]
struct Rate {
    /// Bytes.
    bytes: u64,
    /// Requests a second.
    iops: Option<f64>,
    /// Megabytes (10^6 bytes) a second.
    mb_per_s: Option<f64>,
}

impl Throughput {
    pub(super) fn of(run: &FinishedRun<'_>) -> Throughput {
        let served_ns = run.engine.served_ns();
        let span_ns = served_ns.map(|(first, last)| last - first);
        let a_second = |amount: f64| {
            span_ns.filter(|&span_ns| span_ns > 0).map(|span_ns| amount / (span_ns as f64 / 1e9))
        };
        let rate = |kinds: &[Op]| {
            let sum =
                |of_kinds: &[u64; Op::COUNT]| kinds.iter().map(|&kind| of_kinds[kind as usize]).sum::<u64>();
            let (requests, bytes) = (sum(&run.counted.engine.requests), sum(&run.counted.bytes));
            Rate { bytes, iops: a_second(requests as f64), mb_per_s: a_second(bytes as f64 / 1e6) }
        };
        Throughput {
            first_arrival_ns: served_ns.map(|(first, _)| first),
            last_response_ns: served_ns.map(|(_, last)| last),
            span_ns,
            requests_per_s: a_second(run.counted.engine.requests.iter().sum::<u64>() as f64),
            read: rate(&[Op::Read]),
            write: rate(&[Op::Write]),
            all: rate(&[Op::Read, Op::Write]),
            flushes_per_s: a_second(run.counted.engine.requests[Op::Flush as usize] as f64),
        }
    }
}
