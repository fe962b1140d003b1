use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read = 0,
    Write = 1,
    Flush = 2,
    Trim = 3,
    WriteZeroes = 4,
    BlockStatus = 5,
}

impl Operation {
    pub const ALL: [Operation; 6] = [
        Operation::Read,
        Operation::Write,
        Operation::Flush,
        Operation::Trim,
        Operation::WriteZeroes,
        Operation::BlockStatus,
    ];

    pub fn name(self) -> &'static str {
        ["read", "write", "flush", "trim", "write_zeroes", "block_status"][self as usize]
    }
}

/// Times are counted up to 1 µs, 2 µs, 4 µs and so on, the last range without limit.
pub const TIME_RANGES: usize = 24;

pub(crate) fn range_of(time_ns: u64) -> usize {
    let microseconds = time_ns.div_ceil(1000);
    (64 - microseconds.saturating_sub(1).leading_zeros() as usize).min(TIME_RANGES - 1)
}

#[derive(Debug, Default)]
struct Counted {
    requests: AtomicU64,
    errors: AtomicU64,
    bytes: AtomicU64,
    time_ns: AtomicU64,
    times: [AtomicU64; TIME_RANGES],
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    operations: [Counted; Operation::ALL.len()],
    pub(crate) connections: AtomicU64,
    pub(crate) connections_in_all: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) in_flight: AtomicU64,
}

impl Counters {
    pub(crate) fn count(&self, operation: Operation, bytes: u64, time: Duration, failed: bool) {
        let counted = &self.operations[operation as usize];
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        counted.requests.fetch_add(1, Relaxed);
        counted.times[range_of(time_ns)].fetch_add(1, Relaxed);
        counted.time_ns.fetch_add(time_ns, Relaxed);
        if failed {
            counted.errors.fetch_add(1, Relaxed);
        } else {
            counted.bytes.fetch_add(bytes, Relaxed);
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        let operations = Operation::ALL.map(|operation| {
            let counted = &self.operations[operation as usize];
            OperationFigures {
                operation: operation.name(),
                requests: counted.requests.load(Relaxed),
                errors: counted.errors.load(Relaxed),
                bytes: counted.bytes.load(Relaxed),
                time_ns: counted.time_ns.load(Relaxed),
                times: counted.times.each_ref().map(|count| count.load(Relaxed)),
            }
        });
        Figures {
            operations: operations.to_vec(),
            connections: self.connections.load(Relaxed),
            connections_in_all: self.connections_in_all.load(Relaxed),
            connections_refused: self.connections_refused.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
        }
    }
}

#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Figures {
    pub operations: Vec<OperationFigures>,
    pub connections: u64,
    pub connections_in_all: u64,
    pub connections_refused: u64,
    pub in_flight: u64,
}

#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct OperationFigures {
    pub operation: &'static str,
    pub requests: u64,
    pub errors: u64,
    /// Requested by operations without errors.
    pub bytes: u64,
    /// From the last byte of each request to before the first of its reply, added up.
    pub time_ns: u64,
    /// By the ranges of [`TIME_RANGES`].
    pub times: [u64; TIME_RANGES],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_up_to_powers_of_two() {
        let counters = Counters::default();
        for (nanoseconds, range) in [
            (0, 0),
            (1000, 0),
            (1001, 1),
            (2000, 1),
            (2001, 2),
            (4000, 2),
            (4001, 3),
            (u64::MAX, TIME_RANGES - 1),
        ] {
            let before = counters.figures().operations[0].times[range];
            counters.count(Operation::Read, 1, Duration::from_nanos(nanoseconds), false);
            assert_eq!(counters.figures().operations[0].times[range], before + 1, "{nanoseconds} ns");
        }
    }
}
