//! What is asked for, whatever it holds.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use flashtwin_trace::{Op, PageQuality, Requests};

use super::arrivals::Arrivals;
use super::sizes::Sizes;
use super::trains::TrainCounts;
use crate::Accumulator;
use crate::page_ops::PAGE_BYTES;
use crate::table::table;

/// Counts requests, bytes and places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requested {
    /// Requests by kind.
    pub(crate) count: [u64; 3],
    /// Bytes by kind.
    pub(crate) bytes: [u64; 3],
    pub(crate) sizes: [Sizes; 3],
    pub(crate) arrivals: Arrivals,
    pub(crate) trains: TrainCounts,
    /// Requests that begin where the one before them on their volume ended.
    pub(crate) sequential: u64,
    /// Page writes and page trims that cover only a part of their 4 KB page, were no contents recorded.
    partial_writes: u64,
    partial_trims: u64,
    volumes: Vec<Volume>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Volume {
    /// Requests by kind.
    count: [u64; 3],
    /// Bytes by kind.
    bytes: [u64; 3],
    /// Where the last request ended.
    last_end: Option<u64>,
    furthest_end: u64,
}

impl Requested {
    /// Bytes from each volume's beginning to the end of its furthest request, summed over volumes.
    pub(crate) fn span_bytes(&self) -> u64 {
        self.volumes.iter().fold(0, |sum, volume| sum.saturating_add(volume.furthest_end))
    }

    fn volume(&mut self, number: u32) -> &mut Volume {
        let number = number as usize;
        if number >= self.volumes.len() {
            self.volumes.resize(number + 1, Volume::default());
        }
        &mut self.volumes[number]
    }
}

impl Accumulator for Requested {
    fn add(&mut self, requests: &Requests<'_>) {
        self.arrivals.add(requests.time_ns);
        for index in 0..requests.len() {
            let (op, length) = (requests.op[index], requests.length_bytes[index]);
            self.count[op as usize] += 1;
            self.bytes[op as usize] += u64::from(length);
            self.sizes[op as usize].add(length);
            let start = requests.offset_bytes[index];
            let end = start + u64::from(length);
            let volume = self.volume(requests.volume[index]);
            volume.count[op as usize] += 1;
            volume.bytes[op as usize] += u64::from(length);
            let sequential = volume.last_end.replace(end) == Some(start);
            volume.furthest_end = volume.furthest_end.max(end);
            self.sequential += u64::from(sequential);
            match op {
                Op::Read => {}
                Op::Write => self.partial_writes += partial_pages(start, end),
                Op::Trim => self.partial_trims += partial_pages(start, end),
            }
            self.trains.add(requests.time_ns[index], op, sequential);
        }
    }
}

/// How many pages the bytes from `start` up to `end` cover in part.
#[inline]
fn partial_pages(start: u64, end: u64) -> u64 {
    let page = u64::from(PAGE_BYTES);
    let ends = [start, end].map(|edge| u64::from(!edge.is_multiple_of(page)));
    match start / page == (end - 1) / page {
        true => ends[0] | ends[1],
        false => ends[0] + ends[1],
    }
}

impl Requested {
    /// What is noticed about pages of a trace without contents.
    pub(crate) fn page_quality(&self) -> PageQuality {
        let (partial_writes, partial_trims) = (self.partial_writes, self.partial_trims);
        PageQuality { partial_writes, partial_trims, ..PageQuality::default() }
    }

    /// Requests of one kind.
    pub(crate) fn of(&self, op: Op) -> u64 {
        self.count[op as usize]
    }

    /// The table `volumes`, in order of their names: `volume`, `reads`, `writes`, `trims` (requests),
    /// `read_bytes`, `write_bytes`, `span_bytes` (from its beginning to the end of its furthest request).
    pub(crate) fn by_volume(&self, names: &[String]) -> RecordBatch {
        let mut rows: Vec<(&str, Volume)> = names
            .iter()
            .enumerate()
            .map(|(number, name)| (name.as_str(), self.volumes.get(number).copied().unwrap_or_default()))
            .collect();
        rows.sort_unstable();
        let column = |of: fn(&Volume) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(_, volume)| of(volume))))
        };
        table(vec![
            ("volume", Arc::new(StringArray::from_iter_values(rows.iter().map(|(name, _)| name)))),
            ("reads", column(|volume| volume.count[Op::Read as usize])),
            ("writes", column(|volume| volume.count[Op::Write as usize])),
            ("trims", column(|volume| volume.count[Op::Trim as usize])),
            ("read_bytes", column(|volume| volume.bytes[Op::Read as usize])),
            ("write_bytes", column(|volume| volume.bytes[Op::Write as usize])),
            ("span_bytes", column(|volume| volume.furthest_end)),
        ])
    }
}
