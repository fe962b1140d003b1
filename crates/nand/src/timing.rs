//! How long flash operations and bus transfers take, in integer nanoseconds.

/// Durations of a device's operations, computed once from its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// tR: array to page register.
    pub read_ns: u64,
    /// tPROG: page register to array.
    pub program_ns: u64,
    /// tBERS: one block.
    pub erase_ns: u64,
    /// Page and metadata over the channel, one way.
    pub transfer_ns: u64,
    /// Command and address cycles that precede every operation on the channel.
    pub command_ns: u64,
}
