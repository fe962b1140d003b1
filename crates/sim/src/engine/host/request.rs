//! A request in flight.

use super::super::pool::{NONE, Slot};
use super::flush::Epoch;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// Its place in the trace.
    pub(crate) number: u64,
    pub(crate) arrival_ns: u64,
    pub(crate) pages_left: u32,
    /// The epoch in which flushes wait for a write ([`super::flush`]); `NO_EPOCH` of a read or a flush.
    pub(crate) epoch: Epoch,
    /// The page of the write cache, or of the write buffer, that it brings to the flash; [`NONE`] for a host's request.
    pub(crate) destages: u32,
    next: u32,
}

impl Request {
    pub(crate) fn new(number: u64, arrival_ns: u64, pages_left: u32, epoch: Epoch) -> Self {
        Self { number, arrival_ns, pages_left, epoch, destages: NONE, next: NONE }
    }

    pub(crate) fn destaging(arrival_ns: u64, page: u32, epoch: Epoch) -> Self {
        Self { destages: page, ..Self::new(0, arrival_ns, 1, epoch) }
    }
}

impl Slot for Request {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}
