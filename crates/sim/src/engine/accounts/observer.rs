//! Who is told what happens: the types of the reports, and the trait of those who want them.

use flashtwin_ftl::Unit;
use flashtwin_nand::{Chip, Ppn};
use flashtwin_trace::Op as HostOp;

use super::ledger::Ledger;

/// A request as it comes.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// The request's place in the trace, from 0.
    pub number: u64,
    /// Read, write, trim or flush.
    pub kind: HostOp,
    /// Number of its page operations.
    pub pages: u32,
    /// Arrival by the trace's clock.
    pub time_ns: i64,
    /// Arrival in simulated time.
    pub arrival_ns: u64,
}

/// A request of the host's that is complete.
#[derive(Debug)]
pub struct Completed<'a> {
    /// The slot that the request had while it was under way; slots are used again.
    pub request: u32,
    /// Read, write or flush.
    pub kind: HostOp,
    /// Arrival in simulated time.
    pub arrival_ns: u64,
    /// Its response time.
    pub total_ns: u64,
    /// To what the response time is charged.
    pub ledger: &'a Ledger,
    /// What served the page that was complete last; `None` where that was controller RAM.
    pub server: Option<ServedBy>,
}

/// What served a page on the flash.
#[derive(Debug, Clone, Copy)]
pub struct ServedBy {
    /// The chip.
    pub chip: Chip,
    /// Whether the page was read there although another place holds the home copy.
    pub redirected: bool,
}

/// What an engine reports while it runs. The default does nothing.
pub trait Observer {
    /// Whether [`Observer::arrived`] and [`Observer::trimmed`] are of interest.
    fn follows_requests(&self) -> bool {
        false
    }
    /// A read, a write or a flush has come and got a slot.
    fn arrived(&mut self, _request: u32, _arrived: &Arrived) {}
    /// A trim has come, and is complete.
    fn trimmed(&mut self, _arrived: &Arrived) {}
    /// A request is complete.
    fn completed(&mut self, _done: &Completed<'_>) {}
    /// A chip's queue (waiting and in service) changed to `length`.
    fn queue_changed(&mut self, _chip: Chip, _now_ns: u64, _length: u32) {}
    /// The hash unit's queue (waiting and in service) changed to `length` pages.
    fn hash_queue_changed(&mut self, _now_ns: u64, _length: u32) {}
    /// The flash starts an operation: for tests that compare command sequences.
    fn started(&mut self, _now_ns: u64, _what: &'static str, _unit: Unit, _ppn: Ppn) {}
    /// A unit of the chip served the host's read or program.
    fn served(&mut self, _chip: Chip, _program: bool) {}
    /// A read was sent to this chip although another holds the home copy.
    fn redirected(&mut self, _chip: Chip) {}
}
