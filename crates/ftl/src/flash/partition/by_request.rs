//! Partitions that come with each write: a stream or placement handle that the host names, or the size of its request.

use super::PartitionAssignment;
use crate::ids::Lpn;

/// The handle of a write that has none. No partition has this number.
pub const NO_HANDLE: u8 = u8::MAX;

/// How a driver finds the placement handle of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handles {
    /// The number of its stream.
    Streams,
    /// By its bytes: from how many on it has the second and each further handle.
    Sizes(Vec<u64>),
}

impl Handles {
    /// The handle of a request of this stream and as many bytes.
    pub fn of(&self, stream: u16, bytes: u32) -> u8 {
        match self {
            Self::Streams => u8::try_from(stream).unwrap_or(NO_HANDLE),
            Self::Sizes(starts) => starts.partition_point(|&start| start <= bytes.into()) as u8,
        }
    }
}

#[derive(Clone)]
pub(super) struct ByRequest {
    last: u8,
}

impl ByRequest {
    pub(super) fn new(partitions: u32) -> Self {
        Self { last: partitions.saturating_sub(1) as u8 }
    }
}

impl PartitionAssignment for ByRequest {
    #[inline]
    fn written(&mut self, _lpn: Lpn, handle: u8) -> u8 {
        handle
    }

    /// Pages are written again as the drive ages, before the host's first handle.
    fn partition(&self, _lpn: Lpn) -> u8 {
        self.last
    }
}

flashtwin_bits::state!(ByRequest {} kept { last });
