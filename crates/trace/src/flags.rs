//! Rare properties of requests: bits of the trace's column `flags`.

/// The request is to be on the medium before it is answered (forced unit access, FUA).
pub const DURABLE: u8 = 1;
/// The bits of the submission queue: where they begin. Those between are a recorder's.
pub const QUEUE_SHIFT: u32 = 3;
/// Submission queues that requests can be of.
pub const QUEUES: usize = 1 << (u8::BITS - QUEUE_SHIFT);
pub(crate) const ALL: u8 = DURABLE | (u8::MAX << QUEUE_SHIFT);

#[inline]
pub(crate) fn queue(bits: u8) -> u8 {
    bits >> QUEUE_SHIFT
}
