//! How far a piece of work is, and whether to stop.

/// Told how far a long piece of work is; asked whether to give up. `()` is for callers who want neither.
pub trait Progress: Sync {
    /// `done` of `total` bytes of the (compressed) input are read, or of the work's units; `total` is 0 if unknown.
    fn update(&self, done: u64, total: u64);

    /// Whether the caller wants the work to end now; asked about once a megabyte of input.
    fn cancelled(&self) -> bool {
        false
    }
}

impl Progress for () {
    fn update(&self, _done: u64, _total: u64) {}
}
