//! Statistics of requests that do not depend on contents.

use arrow_array::RecordBatch;
use flashtwin_trace::{NO_CONTENT, Op, PageQuality, Requests};

use super::arrivals::Arrivals;
use super::sizes::Sizes;
use super::trains::TrainCounts;
use crate::input::Accumulator;
use crate::page_ops::{PAGE_BYTES, at};
use crate::rows::batch_of;
use crate::value_counts::percent;

#[derive(Clone, Debug, Default)]
pub(crate) struct Requested {
    pub(crate) count: [u64; Op::COUNT],
    pub(crate) bytes: [u64; Op::COUNT],
    pub(crate) sizes: [Sizes; 3],
    pub(crate) arrivals: Arrivals,
    pub(crate) trains: TrainCounts,
    /// Writes that are to be on the medium before they are answered.
    pub(crate) durable_writes: u64,
    /// Page reads and page writes with a known content, and those of them whose content is zeroes.
    pub(crate) known: [u64; 2],
    pub(crate) zeroes: [u64; 2],
    pub(crate) sequential: u64,
    /// Page writes and page trims that cover only a part of their 4 KB page, were no contents recorded.
    partial_writes: u64,
    partial_trims: u64,
    volumes: Vec<Volume>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Volume {
    count: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
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
        at(&mut self.volumes, number, Volume::default())
    }
}

impl Accumulator for Requested {
    fn add(&mut self, requests: &Requests<'_>) {
        self.arrivals.add(requests.time_ns);
        for index in 0..requests.len() {
            let (op, length) = (requests.op[index], requests.length_bytes[index]);
            self.count[op as usize] += 1;
            if op == Op::Flush {
                self.volume(requests.volume[index]).count[op as usize] += 1;
                continue;
            }
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
            if op.moves_data() {
                let kind = op as usize;
                let contents = requests.contents(index).iter();
                self.known[kind] += contents.clone().filter(|&&content| content != NO_CONTENT).count() as u64;
                if let Some(zero) = requests.zero_content {
                    self.zeroes[kind] += contents.filter(|&&content| content == zero).count() as u64;
                }
            }
            match op {
                Op::Read | Op::Flush => {}
                Op::Write => {
                    self.partial_writes += partial_pages(start, end);
                    self.durable_writes += u64::from(requests.is_durable(index));
                }
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
    pub(crate) fn page_quality(&self) -> PageQuality {
        let (partial_writes, partial_trims) = (self.partial_writes, self.partial_trims);
        PageQuality { partial_writes, partial_trims, ..PageQuality::default() }
    }

    pub(crate) fn zero_percent(&self, op: Op) -> Option<f64> {
        percent(self.zeroes[op as usize], self.known[op as usize])
    }

    pub(crate) fn of(&self, op: Op) -> u64 {
        self.count[op as usize]
    }

    pub(crate) fn by_volume(&self, names: &[String]) -> RecordBatch {
        let volume = |number: usize| self.volumes.get(number).copied().unwrap_or_default();
        let mut volumes: Vec<(&str, Volume)> =
            names.iter().enumerate().map(|(number, name)| (name.as_str(), volume(number))).collect();
        volumes.sort_unstable();
        let row = |&(name, Volume { count, bytes, furthest_end, .. }): &(&str, Volume)| VolumeRow {
            volume: name.to_owned(),
            reads: count[Op::Read as usize],
            writes: count[Op::Write as usize],
            trims: count[Op::Trim as usize],
            flushes: count[Op::Flush as usize],
            read_bytes: bytes[Op::Read as usize],
            write_bytes: bytes[Op::Write as usize],
            span_bytes: furthest_end,
        };
        batch_of(&volumes.iter().map(row).collect::<Vec<_>>())
    }
}

crate::rows! {
    /// One row a volume, in order of their names.
    pub(crate) struct VolumeRow in "volumes" {
        /// Name of the volume.
        volume: String,
        /// Read requests.
        reads: u64,
        /// Write requests.
        writes: u64,
        /// Trim requests.
        trims: u64,
        /// Flushes.
        flushes: u64,
        /// Bytes of reads.
        read_bytes: u64,
        /// Bytes of writes.
        write_bytes: u64,
        /// From the volume's beginning to the end of its furthest request.
        span_bytes: u64,
    }
}
