//! What a drive has counted so far. The results of a run are its increase since the warm-up ended.

use flashtwin_ftl::{Counters, Ftl};
use flashtwin_trace::Op;

use crate::engine::{Engine, EngineCounts};
use crate::metrics::Metrics;

#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) time_ns: u64,
    pub(crate) engine: EngineCounts,
    pub(crate) ftl: Counters,
    /// Bytes that requests address, by kind.
    pub(crate) bytes: [u64; Op::COUNT],
    pub(crate) pages_hashed: u64,
    pub(crate) chip_erases: Vec<u64>,
    pub(crate) chip_busy_ns: Vec<u64>,
    pub(crate) channel_busy_ns: Vec<u64>,
    pub(crate) victim_pages: Vec<u64>,
    /// Of each partition: pages written and moved.
    pub(crate) partition_pages: Vec<[u64; 2]>,
}

impl Totals {
    pub(crate) fn of(engine: &Engine<Ftl, Metrics>, bytes: [u64; Op::COUNT]) -> Self {
        let ftl = engine.controller();
        Self {
            time_ns: engine.now_ns(),
            engine: engine.accounts().counts,
            ftl: *ftl.counters(),
            bytes,
            pages_hashed: engine.pages_hashed(),
            chip_erases: ftl.chip_erases().to_vec(),
            chip_busy_ns: engine.chip_busy_ns().to_vec(),
            channel_busy_ns: engine.channel_busy_ns(),
            victim_pages: ftl.victim_pages().to_vec(),
            partition_pages: ftl
                .partition_sizes()
                .iter()
                .map(|size| [size.pages_written, size.pages_moved])
                .collect(),
        }
    }

    /// The increase since `before`, which is empty where nothing is to be taken off.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            time_ns: self.time_ns - before.time_ns,
            engine: self.engine.since(&before.engine),
            ftl: self.ftl.since(&before.ftl),
            bytes: std::array::from_fn(|kind| self.bytes[kind] - before.bytes[kind]),
            pages_hashed: self.pages_hashed - before.pages_hashed,
            chip_erases: increase(&self.chip_erases, &before.chip_erases),
            chip_busy_ns: increase(&self.chip_busy_ns, &before.chip_busy_ns),
            channel_busy_ns: increase(&self.channel_busy_ns, &before.channel_busy_ns),
            victim_pages: increase(&self.victim_pages, &before.victim_pages),
            partition_pages: increase(
                self.partition_pages.as_flattened(),
                before.partition_pages.as_flattened(),
            )
            .as_chunks()
            .0
            .to_vec(),
        }
    }
}

fn increase(now: &[u64], before: &[u64]) -> Vec<u64> {
    let before = before.iter().chain(std::iter::repeat(&0));
    now.iter().zip(before).map(|(now, before)| now - before).collect()
}
