//! What is asked for, whatever it holds.

use flashtwin_trace::{Op, Requests};

use super::arrivals::Arrivals;
use super::sizes::Sizes;
use super::trains::TrainCounts;
use crate::Accumulator;

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
    pub(crate) has_content: bool,
    volumes: Vec<Volume>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Volume {
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
        self.has_content |= matches!(requests.content_start, [first, .., last] if first < last);
        for index in 0..requests.len() {
            let (op, length) = (requests.op[index], requests.length_bytes[index]);
            self.count[op as usize] += 1;
            self.bytes[op as usize] += u64::from(length);
            self.sizes[op as usize].add(length);
            let start = requests.offset_bytes[index];
            let end = start + u64::from(length);
            let volume = self.volume(requests.volume[index]);
            let sequential = volume.last_end.replace(end) == Some(start);
            volume.furthest_end = volume.furthest_end.max(end);
            self.sequential += u64::from(sequential);
            self.trains.add(requests.time_ns[index], op, sequential);
        }
    }
}

impl Requested {
    /// Requests of one kind.
    pub(crate) fn of(&self, op: Op) -> u64 {
        self.count[op as usize]
    }
}
