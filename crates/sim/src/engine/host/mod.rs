//! The host's side: requests and their page operations, from their arrival to their answer.
//!
//! The host's side owns the controller and drives it and the array. It asks the controller for the
//! needs and the place of a page operation, sends flash operations to the array, and goes on when
//! the array reports their ends. A page write is decided when its hash is known, a page read when
//! it arrives.
//!
//! Rare paths, and those of few systems, are kept out of line (`cold`, `inline(never)`). Inlined
//! into the functions that serve every page operation, they no longer fitted into a processor's
//! first-level instruction cache together.

mod answers;
mod arrival;
mod clock;
mod completions;
mod decisions;
mod destaging;
#[cfg(test)]
mod fake_array;
mod flush;
mod front;
mod hash_unit;
mod jobs;
mod leaving;
mod look_ahead;
mod newest;
mod padding;
mod page_op;
mod passing;
mod ram_answers;
mod reads;
mod request;
mod slots;
mod table_reads;
mod tables;
mod taking_in;
#[cfg(test)]
mod tests;
mod waits;
mod write_buffer;
mod write_cache;
mod writes;

use flashtwin_bits::By;
pub use flashtwin_ftl::Controller;
use flashtwin_ftl::{FlashOp, TablePage};
use flashtwin_nand::{Chip, FlashArray, NandDevice, Plane};

use super::accounts::{Accounts, Charge, Completed, Ledger, Observer, OpenLedger, ServedBy};
use super::array::{Array, Backend, Completion};
use super::pool::{NONE, Pool};
use crate::config::{EngineConfig, WriteCompletes};
use flush::Flushes;
use front::Front;
use hash_unit::HashUnit;
use look_ahead::LookAhead;
use page_op::PageOps;
use ram_answers::RamAnswers;
use request::Request;
use slots::Slots;
use tables::Tables;
use waits::Waits;
use write_buffer::WriteBuffer;
use write_cache::WriteCache;

pub use arrival::Arrivals;

/// No event is to come.
const NO_EVENT: u64 = u64::MAX;

/// A time that no event has: 584 years. Serving up to here is serving all that is pending.
const FOREVER: u64 = u64::MAX - 1;

/// Conditions that page operations wait for, for example the arrival of a mapping-table page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Condition {
    /// This page of the mapping tables is in RAM.
    TablePage(TablePage),
    /// The controller has decided this page write.
    Decision(u32),
    /// This page write is not in the way of a later write of its page any more: it has come to the hash unit, which keeps
    /// their order, or it is decided.
    EarlierWrite(u32),
    /// It is known whether the content of this page write, a sample of other pages, was found.
    Sample(u32),
    /// The write cache has a place.
    CachePlace,
    /// The power-protected RAM has a place.
    BufferPlace,
}

/// Checkpoints of the mapping tables: when the changed ones are written.
#[derive(Debug)]
struct Checkpoints {
    next_ns: u64,
    every_ns: u64,
}

/// The event engine of one device: the host's side, with the array and the accounts that it uses. Tests of the host bring
/// an array of their own.
pub struct Engine<C, O, B = Array> {
    /// Decides the flash operations.
    pub controller: C,
    /// Counts, ledgers and the observer.
    pub accounts: Accounts<O>,
    array: B,
    requests: Pool<Request>,
    slots: Slots,
    hash: Option<HashUnit>,
    write_completes: WriteCompletes,
    write_buffer: WriteBuffer,
    write_cache: Option<WriteCache>,
    ram_answers: RamAnswers,
    /// The front end that requests pass on their way in and out; `None` if it takes no time.
    front: Option<Box<Front>>,
    /// When the next answer of the write cache is there, or the front end acts next.
    delayed_ns: u64,
    /// Which writes a flush waits for, and the flushes that do.
    flushes: Flushes,
    /// Whether the host waits for pages of which some may be in open program units.
    pads_units: bool,
    /// Waits of page operations for mapping tables; `None` where all tables are in RAM.
    tables: Option<Box<Tables>>,
    checkpoints: Checkpoints,
    /// Time of the controller itself for each request.
    controller_ns: u64,
    /// The planes of each unit, where the controller uses idle time.
    planes_of_units: Option<Vec<Vec<Plane>>>,
    look_ahead: LookAhead,
    /// Most pages of a write that share a sample, which alone is hashed unless it is a duplicate.
    sampling_pages: usize,
    /// Whether a page write that has its hash may wait for a page of the fingerprint store.
    pages_fingerprints: bool,
    /// Operations that the controller has just ordered on its own account, not yet queued.
    own_ops: Vec<FlashOp>,
    /// Page operations under way; `waits` has their conditions.
    page_ops: PageOps,
    waits: Waits,
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// An idle device at time 0. The seed drives random events in the array.
    pub fn new(
        controller: C,
        observer: O,
        device: &NandDevice,
        config: &EngineConfig,
        flash: FlashArray,
        hashes: bool,
        seed: u64,
    ) -> Self {
        let array = Array::new(device, config, flash, seed);
        let planes_of_units = controller.works_in_idle_time().then(|| array.planes_of_units());
        let front = Front::of(config, device.geometry.page_bytes);
        Self { planes_of_units, front, ..Self::on(array, controller, observer, config, hashes) }
    }

    /// Busy time of each channel.
    pub fn channel_busy_ns(&self) -> Vec<u64> {
        self.array.channel_busy_ns()
    }

    /// Busy time of each chip: the mean over its units.
    pub fn chip_busy_ns(&self) -> By<Chip, Vec<u64>> {
        self.array.chip_busy_ns()
    }

    /// Operations waiting and in service at each chip, now.
    pub fn queue_lengths(&self) -> &By<Chip, Vec<u32>> {
        self.array.queue_lengths()
    }
}

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// The host's side of an idle device at time 0, without idle time for the controller and without a front end.
    fn on(array: B, mut controller: C, observer: O, config: &EngineConfig, hashes: bool) -> Self {
        controller.erases_take_time();
        Self {
            look_ahead: LookAhead::new(&controller),
            sampling_pages: controller.sampling_pages().max(1) as usize,
            pages_fingerprints: controller.pages_fingerprints(),
            tables: controller.pages_tables().then(Box::default),
            planes_of_units: None,
            controller,
            accounts: Accounts::new(observer),
            array,
            requests: Pool::new(),
            slots: Slots::default(),
            hash: hashes.then(|| HashUnit::new(config.hash_ns(), config.hash_lanes)),
            write_completes: config.write_completes,
            write_buffer: WriteBuffer::new(config.write_buffer_pages),
            write_cache: WriteCache::of(config),
            ram_answers: RamAnswers::new(config.write_cache_ns()),
            front: None,
            delayed_ns: NO_EVENT,
            flushes: Flushes::new(config),
            pads_units: false,
            checkpoints: Checkpoints { next_ns: NO_EVENT, every_ns: NO_EVENT },
            controller_ns: config.controller_ns(),
            own_ops: Vec::new(),
            page_ops: PageOps::new(),
            waits: Waits::default(),
        }
    }

    /// Simulated time so far.
    pub fn now_ns(&self) -> u64 {
        self.array.now_ns()
    }

    /// When the first request arrived and when the last one was complete, in simulated time; `None` before any.
    pub fn served_ns(&self) -> Option<(u64, u64)> {
        self.accounts.served_ns()
    }

    /// Whether requests pass a front end: submission queues with a limit, slots, or a link.
    pub fn has_front(&self) -> bool {
        self.front.is_some()
    }

    /// Pages that the hash unit took in.
    pub fn pages_hashed(&self) -> u64 {
        self.hash.as_ref().map_or(0, HashUnit::pages)
    }

    /// Lanes of the hash unit, and how long they were busy, all together; `None` for a system that does
    /// not hash.
    pub fn hash_unit_busy(&self) -> Option<(u64, u64)> {
        self.hash.as_ref().map(|hash| (hash.lanes(), hash.busy_ns()))
    }
}
