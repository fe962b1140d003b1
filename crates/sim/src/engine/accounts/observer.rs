//! The engine's reports, and the trait of their receivers.

use flashtwin_ftl::{Cause, Lpn, OpKind, Unit};
use flashtwin_nand::{Block, Channel, Chip, Ppn};
use flashtwin_trace::Op as HostOp;

use super::ledger::{Charge, Ledger};

#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// The request's place in the trace, from 0.
    pub number: u64,
    pub kind: HostOp,
    pub pages: u32,
    /// Arrival by the trace's clock.
    pub time_ns: i64,
    /// Arrival in simulated time.
    pub arrival_ns: u64,
    /// Its first page on the host's address space; `None` of a flush.
    pub first_page: Option<u64>,
    pub extent: Extent,
}

/// The bytes that a request addresses, as the trace has them; zeroes where only its pages are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Extent {
    pub volume: u32,
    pub offset_bytes: u64,
    pub length_bytes: u32,
}

#[derive(Debug)]
pub struct Completed<'a> {
    /// The slot that the request had while it was under way; slots are used again.
    pub request: u32,
    pub number: u64,
    pub kind: HostOp,
    pub arrival_ns: u64,
    /// Its response time.
    pub total_ns: u64,
    pub ledger: &'a Ledger,
    /// The server of the page that completed last; `None` for controller RAM.
    pub server: Option<ServedBy>,
}

#[derive(Debug, Clone, Copy)]
pub struct ServedBy {
    pub chip: Chip,
    /// Whether the page was read there although another place holds the home copy.
    pub redirected: bool,
}

#[derive(Debug)]
pub struct Command<'a> {
    pub unit: Unit,
    pub channel: Channel,
    /// The operation and its cause.
    pub name: &'static str,
    pub kind: OpKind,
    /// Against whom it is held while the unit has it.
    pub holder: Charge,
    /// Why it happens, where the controller ordered it on its own account.
    pub cause: Cause,
    /// The page of each of its operations; of an erase, the block's first.
    pub pages: &'a [Ppn],
    /// The slot of the request that waits for it.
    pub request: Option<u32>,
    pub begin_ns: u64,
    /// When the array is done with it unless it is suspended; of a read, the data have to come out then.
    pub end_ns: u64,
    pub array_ns: u64,
    /// Beginning and end of the time that the channel gives to its cycles, and to the data of a program.
    pub channel_ns: (u64, u64),
}

#[derive(Debug, Clone, Copy)]
pub struct Hashing {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub request: Option<u32>,
}

/// Receives reports of a running engine. By default it ignores them.
pub trait Observer {
    /// Whether [`Observer::arrived`], [`Observer::trimmed`] and [`Observer::programmed`] are of interest.
    fn follows_requests(&self) -> bool {
        false
    }
    /// A read, a write or a flush has come and got a slot.
    fn arrived(&mut self, _request: u32, _arrived: &Arrived) {}
    /// A trim has come, and is complete.
    fn trimmed(&mut self, _arrived: &Arrived, _now_ns: u64) {}
    /// The controller has chosen a flash page for one that the host wrote.
    fn programmed(&mut self, _lpn: Lpn) {}
    fn completed(&mut self, _done: &Completed<'_>) {}
    /// A chip's queue (waiting and in service) changed to `length`.
    fn queue_changed(&mut self, _chip: Chip, _now_ns: u64, _length: u32) {}
    /// The hash unit's queue (waiting and in service) changed to `length` pages.
    fn hash_queue_changed(&mut self, _now_ns: u64, _length: u32) {}
    /// The flash starts an operation: for tests that compare command sequences.
    fn started(&mut self, _now_ns: u64, _what: &'static str, _unit: Unit, _ppn: Ppn) {}
    /// Whether [`Observer::command_begins`] and the methods behind it are wanted.
    fn follows_commands(&self) -> bool {
        false
    }
    fn command_begins(&mut self, _command: &Command<'_>) {}
    /// The data of the read that the unit has in service pass over the channel, from one time to another.
    fn data_come_out(&mut self, _unit: Unit, _channel_ns: (u64, u64)) {}
    /// The command that the unit has in service will stand still at this time.
    fn command_stops(&mut self, _unit: Unit, _at_ns: u64) {}
    /// The command that stood still goes on, and will end at the second of these times.
    fn command_goes_on(&mut self, _unit: Unit, _span_ns: (u64, u64)) {}
    /// A block has been erased, by a command or in no time.
    fn erased(&mut self, _block: Block, _now_ns: u64) {}
    fn hashing(&mut self, _hashing: &Hashing) {}
    /// A unit of the chip served the host's read or program.
    fn served(&mut self, _chip: Chip, _program: bool) {}
    /// A read was sent to this chip although another holds the home copy.
    fn redirected(&mut self, _chip: Chip) {}
}
