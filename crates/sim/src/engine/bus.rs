//! A channel: one transfer at a time, first come, first served.

/// Since transfers are served in the order they are asked for and their lengths are known,
/// the time a transfer ends is known at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bus {
    free_ns: u64,
    pub(crate) busy_ns: u64,
}

impl Bus {
    /// Asks for the channel at `now_ns` for `length_ns`; returns when the transfer ends.
    #[inline]
    pub(crate) fn transfer(&mut self, now_ns: u64, length_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + length_ns;
        self.busy_ns += length_ns;
        self.free_ns
    }
}
