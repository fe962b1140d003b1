//! When things happen: arrivals, queues, buses, dies. The engine decides nothing but the order in
//! which waiting operations are served; what the operations are, the controller decides.
//!
//! One event list holds at most one event a unit (the end of the stage that the unit is in); arrivals
//! come from the trace and results of the hash unit from a queue of their own, both in order already.
//! A page write is decided when its hash is known, a page read when it arrives. A bus serves transfers
//! first come, first served, so the end of a transfer is known when it is asked for and needs no event.
//!
//! What is rare, or done in few systems only, is kept out of line (`cold`, `inline(never)`): compiled into the functions
//! that serve every page operation, it lay between their instructions, and all of them together no longer fitted into a
//! processor's first cache.

mod arrival;
mod awaited;
mod block_states;
mod bus;
mod flush;
mod hash_unit;
mod jobs;
mod ledger;
mod loads;
mod merging;
mod moves;
mod multi_plane;
mod newest;
mod pool;
mod ram_answers;
mod service;
mod suspension;
mod tables;
mod undecided;
mod unit;
mod write_buffer;
mod write_cache;

use flashtwin_bits::By;
pub use flashtwin_ftl::Controller;
use flashtwin_ftl::{Cause, FlashOp, LoadView, Unit, counts};
use flashtwin_nand::{Channel, Chip, FlashArray, Geometry, NandDevice, Plane, Ppn, Timing};
use flashtwin_trace::Op as HostOp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::config::{Concurrency, EngineConfig, WriteCompletes};
use crate::error::SimError;
use crate::event_queue::EventQueue;
use awaited::Awaited;
use block_states::BlockStates;
use bus::Bus;
use flush::{Flushes, NO_EPOCH};
use hash_unit::HashUnit;
use ledger::Waits;
use loads::Loads;
use merging::Merging;
use moves::Moves;
use multi_plane::Together;
use pool::{Op, Pool, Request};
use ram_answers::RamAnswers;
use suspension::Suspension;
use tables::Tables;
use undecided::Undecided;
use unit::{Stage, UnitState};
use write_buffer::WriteBuffer;
use write_cache::WriteCache;

pub use arrival::Arrivals;
pub use ledger::{Charge, Ledger};

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

counts! {
    /// Counts that only the engine knows. What is a part of the results as it is stands in the struct of that part; what
    /// only goes into figures that are worked out stands here.
    pub struct EngineCounts {
        /// Requests completed: reads, writes, trims, flushes.
        pub requests: [u64; HostOp::COUNT],
        /// Page operations: reads, writes, trims; flushes have none.
        pub page_ops: [u64; HostOp::COUNT],
        /// What became of page operations.
        pub pages: EnginePageCounts,
        /// What page operations waited for pages of the mapping tables.
        pub tables: TableWaitCounts,
        /// Of the reads from controller RAM, those of pages whose newest write was not decided yet.
        pub undecided_reads: u64,
        /// Page reads of pages whose newest write was not decided yet but had been trimmed already: answered
        /// without flash.
        pub undecided_unmapped_reads: u64,
        /// Old pages of partial writes that were still in controller RAM.
        pub old_page_buffer_reads: u64,
        /// Reads on the controller's own account, by cause, that never reached the flash: served from
        /// controller RAM, or of a background job whose block was erased before the read's turn came.
        pub own_buffer_reads: [u64; Cause::COUNT],
        /// What the flash carried out, on whosever account: reads, programs, erases.
        pub flash_ops: [u64; 3],
        /// How long the page operations that waited for pages of the mapping tables did so, summed.
        pub table_wait_ns: u64,
    }
}

counts! {
    /// What became of page operations: these fields and their comments are the results'.
    #[derive(Serialize, JsonSchema)]
    pub struct EnginePageCounts {
        /// Page reads answered from controller RAM: the page was still on its way to the flash.
        pub buffer_reads: u64,
        /// Page reads, those of the old pages of partial writes included, that waited for the program of their page
        /// (`engine.buffer_reads = false`).
        pub awaited_reads: u64,
        /// Page reads sent to another chip than the home copy's, or to a less loaded twin (not those from RAM).
        pub redirected_reads: u64,
        /// Page reads that joined another one waiting at the same chip.
        pub merged_reads: u64,
        /// Page reads served by the write cache.
        pub cache_reads: u64,
        /// Page writes whose page was written again or trimmed before it left the write cache.
        pub absorbed_writes: u64,
        /// Page writes of part of a page.
        pub partial_writes: u64,
        /// Times that a program or an erase was stopped for reads.
        pub suspensions: u64,
        /// Commands that worked on several planes.
        pub multi_plane_commands: u64,
        /// Operations that those commands carried out.
        pub multi_plane_ops: u64,
    }
}

counts! {
    /// Waiting for pages of the mapping tables: these fields and their comments are the results'.
    #[derive(Serialize, JsonSchema)]
    pub struct TableWaitCounts {
        /// How often a page operation of the host waited for pages of the tables (a write may do so again when its hash
        /// is known, where the fingerprint store is paged).
        pub waits: u64,
    }
}

/// The event engine of one device.
pub struct Engine<C, O> {
    /// Decides what the flash has to do.
    pub controller: C,
    /// Is told what happened, and when.
    pub observer: O,
    geometry: Geometry,
    timing: Timing,
    now_ns: u64,
    events: EventQueue,
    units: By<Unit, Vec<UnitState>>,
    unit_of_plane: By<Plane, Vec<Unit>>,
    ops: Pool<Op>,
    requests: Pool<Request>,
    /// When the first request arrived; [`NO_EVENT`] before it.
    first_arrival_ns: u64,
    /// When the last request so far was complete.
    last_response_ns: u64,
    /// Closed loop: how many of the queue's places were taken for the first time; 0 in an open loop.
    places: u32,
    /// Closed loop: when each place was freed that no later request has taken yet, first freed first.
    places_freed_ns: std::collections::VecDeque<u64>,
    buses: By<Channel, Vec<Bus>>,
    hash: Option<HashUnit>,
    flash: FlashArray,
    blocks: BlockStates,
    moves: Moves,
    loads: Loads,
    write_completes: WriteCompletes,
    reads_before_write: u32,
    suspension: Suspension,
    together: Together,
    write_buffer: WriteBuffer,
    write_cache: Option<WriteCache>,
    ram_answers: RamAnswers,
    /// Which writes a flush waits for, and the flushes that do.
    flushes: Flushes,
    /// Reads that wait for the program of their page; none where controller RAM serves them.
    awaited: Option<Box<Awaited>>,
    /// Page operations that wait for pages of the mapping tables; none where all tables are in RAM.
    tables: Option<Box<Tables>>,
    /// When the changed mapping tables are written next.
    checkpoint_ns: u64,
    /// Time from one checkpoint to the next.
    checkpoint_every_ns: u64,
    controller_ns: u64,
    /// How long a unit must have been idle before work of background jobs begins.
    idle_ns: u64,
    /// The planes of each unit, where the controller uses idle time.
    planes_of_units: Option<Vec<Vec<Plane>>>,
    wants_address: bool,
    wants_kind: bool,
    /// The requests to which the page operations [`arrival::FAR`] and [`arrival::NEAR`] ahead belong.
    ahead: [usize; 2],
    /// Most pages of a write that share a sample, which alone is hashed unless it is a duplicate.
    sampling_pages: usize,
    /// Whether a page write that has its hash may wait for a page of the fingerprint store.
    pages_fingerprints: bool,
    /// What the controller has just ordered on its own account, not yet queued.
    own_ops: Vec<FlashOp>,
    /// Background jobs of which an operation has ended since the controller was last told.
    jobs_done: Vec<u32>,
    /// Reads that wait and may be joined; none where reads are not merged.
    merging: Option<Merging>,
    /// Page writes that are not decided yet.
    undecided: Undecided,
    /// By operation: what its request waited for before the operation came to its unit, where that was
    /// anything else than the hash unit.
    charged: hashbrown::HashMap<u32, Box<Ledger>>,
    /// By whom units were held while operations waited for them.
    waits: Waits,
    /// The first error met in an event, which [`Engine::serve`] or [`Engine::drain`] returns.
    failed: Option<SimError>,
    /// Counts so far.
    pub counts: EngineCounts,
}

fn units_in_chip(concurrency: Concurrency, geometry: &Geometry) -> u32 {
    match concurrency {
        Concurrency::Chip => 1,
        Concurrency::Die => geometry.dies_per_chip,
        Concurrency::Plane => geometry.planes_per_chip(),
    }
}

/// The units of a device that does nothing.
fn idle_units(concurrency: Concurrency, geometry: &Geometry) -> By<Unit, Vec<UnitState>> {
    let per_chip = units_in_chip(concurrency, geometry);
    let chips = (0..geometry.chips() * per_chip).map(|unit| Chip::new(unit / per_chip));
    By::new(chips.map(|chip| UnitState::new(chip, geometry.channel_of_chip(chip))).collect())
}

/// The unit that serves each plane.
fn units_of_planes(planes_per_unit: u32, geometry: &Geometry) -> By<Plane, Vec<Unit>> {
    By::new(geometry.all_planes().map(|plane| Unit::new(plane.number() / planes_per_unit)).collect())
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
        let geometry = device.geometry.clone();
        let planes_per_unit = geometry.planes_per_chip() / units_in_chip(config.concurrency, &geometry);
        let units = idle_units(config.concurrency, &geometry);
        let read_ns = device.timing.command_ns + device.timing.read_ns + device.timing.transfer_ns;
        let tables = controller.pages_tables().then(Box::default);
        controller.erases_take_time();
        let uses_idle_time = controller.works_in_idle_time();
        Self {
            wants_address: controller.wants_address(),
            wants_kind: controller.wants_kind(),
            ahead: [0; 2],
            sampling_pages: controller.sampling_pages().max(1) as usize,
            pages_fingerprints: controller.pages_fingerprints(),
            controller,
            observer,
            now_ns: 0,
            events: EventQueue::new(units.len()),
            unit_of_plane: units_of_planes(planes_per_unit, &geometry),
            ops: Pool::new(),
            requests: Pool::new(),
            first_arrival_ns: NO_EVENT,
            last_response_ns: 0,
            places: 0,
            places_freed_ns: std::collections::VecDeque::new(),
            buses: By::new(vec![Bus::default(); geometry.channels as usize]),
            hash: hashes.then(|| HashUnit::new(config.hash_ns(), config.hash_lanes)),
            flash,
            blocks: BlockStates::new(geometry.block_index_len()),
            moves: Moves::new(geometry.block_index_len()),
            loads: Loads::new(config.load, geometry.chips() as usize, units.len(), read_ns),
            units,
            write_completes: config.write_completes,
            reads_before_write: config.reads_before_write,
            suspension: Suspension::new(config),
            together: Together::new(config.multi_plane, geometry.planes_per_die, planes_per_unit),
            write_buffer: WriteBuffer::new(config.write_buffer_pages),
            write_cache: WriteCache::of(config),
            ram_answers: RamAnswers::new(config.write_cache_ns()),
            flushes: Flushes::new(config),
            awaited: (!config.buffer_reads).then(Box::default),
            tables,
            checkpoint_ns: u64::MAX,
            checkpoint_every_ns: u64::MAX,
            controller_ns: config.controller_ns(),
            idle_ns: config.idle_ns(),
            planes_of_units: uses_idle_time.then(|| jobs::planes_of_units(planes_per_unit, &geometry)),
            own_ops: Vec::new(),
            jobs_done: Vec::new(),
            merging: Merging::of(config.merge_reads),
            undecided: Undecided::new(),
            charged: hashbrown::HashMap::new(),
            waits: Waits::default(),
            failed: None,
            counts: EngineCounts::default(),
            timing: device.timing.clone(),
            geometry,
        }
    }

    /// Simulated time so far.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// When the first request arrived and when the last one was complete, in simulated time; `None` before any.
    pub fn served_ns(&self) -> Option<(u64, u64)> {
        (self.first_arrival_ns != NO_EVENT).then_some((self.first_arrival_ns, self.last_response_ns))
    }

    /// Busy time of each channel.
    pub fn channel_busy_ns(&self) -> Vec<u64> {
        self.buses.iter().map(|bus| bus.busy_ns).collect()
    }

    /// Busy time of each chip: the mean over its units.
    pub fn chip_busy_ns(&self) -> By<Chip, Vec<u64>> {
        let per_chip = self.units.len() / self.loads.chips();
        let chips = self.units.chunks(per_chip);
        By::new(
            chips.map(|units| units.iter().map(|unit| unit.busy_ns).sum::<u64>() / per_chip as u64).collect(),
        )
    }

    /// Operations waiting and in service at each chip, now.
    pub fn queue_lengths(&self) -> &By<Chip, Vec<u32>> {
        self.loads.queue_lengths()
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
        let loads = self.loads.view(&self.units, &self.suspension, self.now_ns);
        (&mut self.controller, loads, &mut self.own_ops)
    }

    #[inline]
    fn load_up(&mut self, unit: Unit, read: bool) {
        let chip = self.units[unit].chip;
        self.loads.up(unit, chip, read);
        self.observer.queue_changed(chip, self.now_ns, self.loads.queue_length(chip));
    }

    #[inline]
    fn load_down(&mut self, unit: Unit, read: bool) {
        let chip = self.units[unit].chip;
        self.loads.down(unit, chip, read);
        self.observer.queue_changed(chip, self.now_ns, self.loads.queue_length(chip));
    }

    /// The stage that a unit is in now will end at `time_ns`.
    #[inline]
    fn expect(&mut self, unit: Unit, time_ns: u64) {
        self.units[unit].event_ns = time_ns;
        self.events.set(unit.number(), time_ns);
    }

    /// Carries out the next pending event at or before `limit_ns`; `false` when there is none.
    #[inline]
    fn step(&mut self, limit_ns: u64) -> bool {
        let (flash, unit) = self.events.next();
        let unit = Unit::new(unit);
        let hashed = self.hash.as_ref().map_or(u64::MAX, HashUnit::next_time);
        let answered = self.ram_answers.next_time();
        let next = flash.min(hashed).min(answered);
        if next > limit_ns || next == u64::MAX {
            return false;
        }
        // Of a hash and a stage that end at the same time, the hash goes first: the program that it
        // makes ready then counts as load for whatever the end of the stage lets be decided.
        if answered == next {
            self.answer();
        } else if flash < hashed {
            self.units[unit].event_ns = NO_EVENT;
            self.now_ns = flash;
            self.end_stage(unit);
            // Most often the unit has begun another stage, whose end has replaced the event already.
            if self.units[unit].event_ns == NO_EVENT {
                self.events.set(unit.number(), NO_EVENT);
            }
        } else if let Some((time_ns, write)) = self.hash.as_mut().and_then(HashUnit::pop) {
            self.now_ns = time_ns;
            let held = self.hold();
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
        self.prefetch_event();
        true
    }

    /// The next answer of the write cache has reached the host.
    #[cold]
    fn answer(&mut self) {
        if let Some(answer) = self.ram_answers.pop() {
            self.now_ns = answer.due_ns;
            self.answered(answer.request, answer.waited_ns);
        }
    }

    /// Asks the memory for what the next event will look at. It pays for operations that waited for idle
    /// time: they were queued so long ago that the processor's cache has dropped them.
    #[inline]
    fn prefetch_event(&self) {
        let state = &self.units[Unit::new(self.events.next().1)];
        self.ops.prefetch(state.current);
        self.ops.prefetch(state.head(unit::Queue::Idle));
    }

    /// When something will happen by itself next; `u64::MAX` if nothing will.
    fn next_step_ns(&self) -> u64 {
        let hashed = self.hash.as_ref().map_or(u64::MAX, HashUnit::next_time);
        self.events.next().0.min(hashed).min(self.ram_answers.next_time())
    }

    /// Whether anything is going to happen by itself.
    fn step_is_pending(&self) -> bool {
        self.next_step_ns() != u64::MAX
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
        if destages != pool::NONE {
            self.requests.remove(request);
            self.destaged(destages);
            return self.is_safe(epoch);
        }
        let mut ledger = Ledger::only(Charge::Controller, self.controller_ns);
        charge(self, &mut ledger);
        let total_ns = self.now_ns - arrival_ns;
        debug_assert_eq!(ledger.total_ns(), total_ns, "{ledger:?}");
        self.requests.remove(request);
        let kind = if epoch == NO_EPOCH { HostOp::Read } else { HostOp::Write };
        self.leave(kind);
        self.observer.completed(&Completed { request, kind, arrival_ns, total_ns, ledger: &ledger, server });
        self.is_safe(epoch);
    }
}

/// The due time of a unit without a pending event.
const NO_EVENT: u64 = u64::MAX;

/// A time that no event has: 584 years. Serving up to here is serving all that is pending.
pub(crate) const FOREVER: u64 = u64::MAX - 1;

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Lets time pass until `time_ns`.
    ///
    /// # Errors
    /// What the controller reports, or a rule of the medium that was broken.
    pub fn advance(&mut self, time_ns: u64) -> Result<(), SimError> {
        if time_ns >= self.checkpoint_ns {
            self.checkpoint_until(time_ns);
        }
        while self.step(time_ns) {}
        self.now_ns = self.now_ns.max(time_ns);
        self.failed.take().map_or(Ok(()), Err)
    }

    /// When something will happen by itself next; `None` if nothing will.
    pub fn next_event_ns(&self) -> Option<u64> {
        let next = self.next_step_ns().min(self.checkpoint_ns);
        (next != u64::MAX).then_some(next)
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
        self.failed.take().map_or(Ok(()), Err)
    }

    fn is_idle(&self, unit: Unit) -> bool {
        self.units[unit].stage == Stage::Idle
    }
}
