//! A channel: one data transfer at a time, first come, first served; commands in between.

/// Transfers are served in order of request and have known lengths, so their ends are known at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bus {
    pub(crate) free_ns: u64,
    command_free_ns: u64,
    pub(crate) busy_ns: u64,
}

impl Bus {
    /// Commands go between bursts of data. Behind data, dies of a busy channel would sense in step and leave it idle.
    #[inline]
    pub(crate) fn command(&mut self, now_ns: u64, length_ns: u64) -> u64 {
        self.command_free_ns = self.command_free_ns.max(now_ns) + length_ns;
        self.free_ns = self.free_ns.max(now_ns) + length_ns;
        self.busy_ns += length_ns;
        self.command_free_ns
    }

    /// Returns when the transfer ends.
    #[inline]
    pub(crate) fn transfer(&mut self, now_ns: u64, length_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + length_ns;
        self.busy_ns += length_ns;
        self.free_ns
    }
}
