//! The host's side: requests and their page operations, from their arrival to their answer.
//!
//! The host's side owns the controller and drives it and the array. It asks the controller what a page operation needs
//! and where it goes, sends the array what that makes necessary, and goes on when the array says what has ended. A page
//! write is decided when its hash is known, a page read when it arrives.
//!
//! What is rare, or done in few systems only, is kept out of line (`cold`, `inline(never)`): compiled into the functions
//! that serve every page operation, it lay between their instructions, and all of them together no longer fitted into a
//! processor's first cache.

mod arrival;
mod completions;
mod decisions;
mod flush;
mod hash_unit;
mod jobs;
mod look_ahead;
mod newest;
mod page_op;
mod ram_answers;
mod reads;
mod request;
mod tables;
mod waits;
mod write_buffer;
mod write_cache;
mod writes;

use std::collections::VecDeque;

use flashtwin_bits::By;
pub use flashtwin_ftl::Controller;
use flashtwin_ftl::{FlashOp, LoadView};
use flashtwin_nand::{Chip, FlashArray, NandDevice, Plane};
use flashtwin_trace::Op as HostOp;

use super::accounts::{Accounts, Charge, Completed, Ledger, Observer, OpenLedger, ServedBy};
use super::array::{Array, Completion};
use super::pool::{NONE, Pool};
use crate::config::{EngineConfig, WriteCompletes};
use crate::error::SimError;
use flush::{Flushes, NO_EPOCH};
use hash_unit::HashUnit;
use look_ahead::LookAhead;
use page_op::PageOps;
use ram_answers::RamAnswers;
use request::Request;
use tables::Tables;
use waits::Waits;
use write_buffer::WriteBuffer;
use write_cache::WriteCache;

pub use arrival::Arrivals;

/// No event is to come.
const NO_EVENT: u64 = u64::MAX;

/// A time that no event has: 584 years. Serving up to here is serving all that is pending.
const FOREVER: u64 = u64::MAX - 1;

/// The event engine of one device: the host's side, with the array and the accounts that it uses.
pub struct Engine<C, O> {
    /// Decides what the flash has to do.
    pub controller: C,
    /// Counts, ledgers and the observer.
    pub accounts: Accounts<O>,
    array: Array,
    requests: Pool<Request>,
    /// Closed loop: how many of the queue's places were taken for the first time; 0 in an open loop.
    places: u32,
    /// Closed loop: when each place was freed that no later request has taken yet, first freed first.
    places_freed_ns: VecDeque<u64>,
    hash: Option<HashUnit>,
    write_completes: WriteCompletes,
    write_buffer: WriteBuffer,
    write_cache: Option<WriteCache>,
    ram_answers: RamAnswers,
    /// Which writes a flush waits for, and the flushes that do.
    flushes: Flushes,
    /// What page operations need of the mapping tables; none where all tables are in RAM.
    tables: Option<Box<Tables>>,
    /// When the changed mapping tables are written next.
    checkpoint_ns: u64,
    /// Time from one checkpoint to the next.
    checkpoint_every_ns: u64,
    controller_ns: u64,
    /// The planes of each unit, where the controller uses idle time.
    planes_of_units: Option<Vec<Vec<Plane>>>,
    look_ahead: LookAhead,
    /// Most pages of a write that share a sample, which alone is hashed unless it is a duplicate.
    sampling_pages: usize,
    /// Whether a page write that has its hash may wait for a page of the fingerprint store.
    pages_fingerprints: bool,
    /// What the controller has just ordered on its own account, not yet queued.
    own_ops: Vec<FlashOp>,
    /// Page operations that wait, and what for.
    page_ops: PageOps,
    waits: Waits,
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// An idle device at time 0.
    pub fn new(
        mut controller: C,
        observer: O,
        device: &NandDevice,
        config: &EngineConfig,
        flash: FlashArray,
        hashes: bool,
    ) -> Self {
        let array = Array::new(device, config, flash);
        controller.erases_take_time();
        Self {
            look_ahead: LookAhead::new(&controller),
            sampling_pages: controller.sampling_pages().max(1) as usize,
            pages_fingerprints: controller.pages_fingerprints(),
            tables: controller.pages_tables().then(Box::default),
            planes_of_units: controller.works_in_idle_time().then(|| array.planes_of_units()),
            controller,
            accounts: Accounts::new(observer),
            array,
            requests: Pool::new(),
            places: 0,
            places_freed_ns: VecDeque::new(),
            hash: hashes.then(|| HashUnit::new(config.hash_ns(), config.hash_lanes)),
            write_completes: config.write_completes,
            write_buffer: WriteBuffer::new(config.write_buffer_pages),
            write_cache: WriteCache::of(config),
            ram_answers: RamAnswers::new(config.write_cache_ns()),
            flushes: Flushes::new(config),
            checkpoint_ns: u64::MAX,
            checkpoint_every_ns: u64::MAX,
            controller_ns: config.controller_ns(),
            own_ops: Vec::new(),
            page_ops: PageOps::new(),
            waits: Waits::default(),
        }
    }

    /// Simulated time so far.
    pub fn now_ns(&self) -> u64 {
        self.array.now_ns
    }

    /// When the first request arrived and when the last one was complete, in simulated time; `None` before any.
    pub fn served_ns(&self) -> Option<(u64, u64)> {
        self.accounts.served_ns()
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

    /// Pages that the hash unit took in.
    pub fn pages_hashed(&self) -> u64 {
        self.hash.as_ref().map_or(0, HashUnit::pages)
    }

    /// Lanes of the hash unit, and how long they were busy, all together; `None` for a system that does
    /// not hash.
    pub fn hash_unit_busy(&self) -> Option<(u64, u64)> {
        self.hash.as_ref().map(|hash| (hash.lanes(), hash.busy_ns()))
    }

    /// The loads as the controller may see them now, beside the controller itself.
    #[inline]
    fn controller_and_loads(&mut self) -> (&mut C, LoadView<'_>, &mut Vec<FlashOp>) {
        (&mut self.controller, self.array.load_view(), &mut self.own_ops)
    }

    /// Carries out the next pending event at or before `limit_ns`; `false` when there is none.
    #[inline]
    fn step(&mut self, limit_ns: u64) -> bool {
        let flash = self.array.next_event_ns();
        let hashed = self.hash.as_ref().map_or(NO_EVENT, HashUnit::next_time);
        let answered = self.ram_answers.next_time();
        let next = flash.min(hashed).min(answered);
        if next > limit_ns || next == NO_EVENT {
            return false;
        }
        // Of a hash and a stage that end at the same time, the hash goes first: the program that it
        // makes ready then counts as load for whatever the end of the stage lets be decided.
        if answered == next {
            self.answer();
        } else if flash < hashed {
            self.step_array();
        } else if let Some((time_ns, write)) = self.hash.as_mut().and_then(HashUnit::pop) {
            self.array.now_ns = time_ns;
            let held = self.array.hold();
            self.hashed(write);
            if held.holds() {
                // Pages hashed at the same time may go to the flash as one multi-plane command.
                while let Some(write) = self.hash.as_mut().and_then(|hash| hash.pop_at(time_ns)) {
                    self.hashed(write);
                }
            }
            self.release(held);
        }
        self.tell_jobs_done();
        self.array.prefetch_event();
        true
    }

    /// The next answer of the write cache has reached the host.
    #[cold]
    fn answer(&mut self) {
        if let Some(answer) = self.ram_answers.pop() {
            self.array.now_ns = answer.due_ns;
            self.answered(answer.request, answer.waited_ns);
        }
    }

    /// When something will happen by itself next; `u64::MAX` if nothing will.
    fn next_step_ns(&self) -> u64 {
        let hashed = self.hash.as_ref().map_or(NO_EVENT, HashUnit::next_time);
        self.array.next_event_ns().min(hashed).min(self.ram_answers.next_time())
    }

    /// Whether anything is going to happen by itself.
    fn step_is_pending(&self) -> bool {
        self.next_step_ns() != NO_EVENT
    }

    /// One page of a request is complete, served by `server`. `charge` enters the page's time into a ledger that has the
    /// controller's own already. It is called for the last page of the request only, whose time is the
    /// request's.
    #[inline]
    fn page_done(&mut self, request: u32, server: Option<ServedBy>, charge: impl FnOnce(&Self, &mut Ledger)) {
        let entry = &mut self.requests[request];
        entry.pages_left -= 1;
        if entry.pages_left > 0 {
            return;
        }
        let Request { arrival_ns, epoch, destages, .. } = *entry;
        if destages != NONE {
            self.requests.remove(request);
            self.destaged(destages);
            return self.is_safe(epoch);
        }
        let mut ledger = Ledger::only(Charge::Controller, self.controller_ns);
        charge(self, &mut ledger);
        let total_ns = self.array.now_ns - arrival_ns;
        debug_assert_eq!(ledger.total_ns(), total_ns, "{ledger:?}");
        self.requests.remove(request);
        let kind = if epoch == NO_EPOCH { HostOp::Read } else { HostOp::Write };
        self.leave(kind);
        let done = Completed { request, kind, arrival_ns, total_ns, ledger: &ledger, server };
        self.accounts.observer.completed(&done);
        self.is_safe(epoch);
    }

    /// The same for a page that controller RAM serves, or that finds nothing: its time is what was charged to it.
    #[inline(never)]
    fn page_done_in_ram(&mut self, request: u32, charged: OpenLedger) {
        let charged = self.accounts.close(charged);
        self.page_done(request, None, |_, ledger| ledger.add_all(charged.as_ref()));
    }

    /// Lets time pass until `time_ns`.
    ///
    /// # Errors
    /// What the controller reports, or a rule of the medium that was broken.
    pub fn advance(&mut self, time_ns: u64) -> Result<(), SimError> {
        if time_ns >= self.checkpoint_ns {
            self.checkpoint_until(time_ns);
        }
        while self.step(time_ns) {}
        self.array.now_ns = self.array.now_ns.max(time_ns);
        self.accounts.take_failure()
    }

    /// When something will happen by itself next; `None` if nothing will.
    pub fn next_event_ns(&self) -> Option<u64> {
        let next = self.next_step_ns().min(self.checkpoint_ns);
        (next != NO_EVENT).then_some(next)
    }

    /// Serves everything that is under way; what the write cache holds goes to the flash last.
    ///
    /// # Errors
    /// What the controller reports, or a rule of the medium that was broken.
    pub fn drain(&mut self) -> Result<(), SimError> {
        // Idle time after the last request is nobody's.
        self.planes_of_units = None;
        while self.step(FOREVER) {}
        self.flush_cache()?;
        while self.step(FOREVER) {}
        self.accounts.take_failure()
    }
}
