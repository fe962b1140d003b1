/// Durations of a device's operations, computed once from its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// tR: array to page register; the mean where it differs by type of page.
    pub read_ns: u64,
    /// tR by type of flash page; empty: [`Timing::read_ns`] for all.
    pub read_types_ns: Vec<u64>,
    /// tPROG: page register to array.
    pub program_ns: u64,
    /// tBERS: one block.
    pub erase_ns: u64,
    /// Page and metadata over the channel, one way.
    pub transfer_ns: u64,
    /// Command and address cycles that precede every operation on the channel.
    pub command_ns: u64,
}

impl Timing {
    /// A flash page's type is its number in its block modulo the number of types.
    #[inline]
    pub fn read_ns_of(&self, flash_page: u32) -> u64 {
        match self.read_types_ns.len() {
            0 => self.read_ns,
            types => self.read_types_ns[flash_page as usize % types],
        }
    }
}
