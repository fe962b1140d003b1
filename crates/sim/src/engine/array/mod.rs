//! The flash array: units (chips, dies or planes) that serve one operation at a time, the channels between them and the
//! controller, and what is on each block.
//!
//! The array decides nothing but the order in which waiting operations are served. It is given operations
//! ([`Array::submit`], [`Array::read_for_host`], [`Array::carry_out_orders`]) and answers [`Array::step`] with what has
//! ended. It knows no requests, contents or tables: the numbers in [`Op::request`] and [`Op::other`] are its user's. It
//! calls nobody but the accounts, so that a test needs no controller and no host.
//!
//! One event list holds at most one event a unit (the end of the stage that the unit is in). A bus serves transfers first
//! come, first served, so the end of a transfer is known when it is asked for and needs no event.

mod awaited;
mod block_states;
mod bus;
mod dispatch;
mod idle;
mod loads;
mod medium;
mod merging;
mod moves;
mod multi_plane;
mod op;
mod orders;
mod program_units;
mod readiness;
mod senses;
mod stages;
mod submission;
mod suspension;
#[cfg(test)]
pub(crate) mod tests;
mod unit;

use flashtwin_bits::By;
use flashtwin_ftl::{LoadView, ReadTarget, Unit};
use flashtwin_nand::{Block, Channel, Chip, FlashArray, Geometry, NandDevice, Plane, Ppn, Timing};

use super::accounts::{Accounts, Charge, Ledger, Observer, OpenLedger};
use super::pool::{NONE, Pool};
use crate::config::{Concurrency, EngineConfig, MultiPlane, WriteCompletes};
use crate::event_queue::EventQueue;
use awaited::Awaited;
use block_states::BlockStates;
use bus::Bus;
use loads::Loads;
use merging::Merging;
use moves::Moves;
use multi_plane::MultiPlaneRule;
use program_units::ProgramUnits;
use suspension::Suspension;
use unit::{Stage, UnitState};

pub(crate) use awaited::AwaitedRead;
pub(crate) use multi_plane::Held;
pub(crate) use op::{NOT_STARTED, Op, Work};
pub(crate) use unit::Queue;

/// The due time of a unit without a pending event.
const NO_EVENT: u64 = u64::MAX;

/// What the end of a unit's stage means to whoever uses the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// Nothing: the operation goes on, or the unit has begun another one.
    None,
    /// The data of a program are in the register of the chip, and so are those of the operations behind it in its
    /// command ([`Array::next_of_command`]). Only where a write is complete by that.
    DataIn(u32),
    /// One read of a command that works on several planes has delivered its data: to be given to [`Array::end`]. The
    /// unit goes on with the next.
    DataOut(u32),
    /// A command is done, and the unit has nothing in service. Each of its operations, of which this is the first
    /// ([`Array::next_of_command`]), is to be given to [`Array::end`], and the unit then to [`Array::dispatch`].
    Command(u32),
    /// The unit has been idle for as long as background jobs must wait.
    Idle,
}

/// What happened in the array that its user must hear of before it decides anything else.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Background jobs of which an operation has ended.
    pub(crate) jobs_done: Vec<u32>,
    /// Blocks that were erased, and of which no other erase is ordered.
    pub(crate) erased: Vec<Block>,
}

/// The flash of one device with its channels.
pub(crate) struct Array {
    geometry: Geometry,
    timing: Timing,
    /// Simulated time so far.
    pub(crate) now_ns: u64,
    events: EventQueue,
    units: By<Unit, Vec<UnitState>>,
    unit_of_plane: By<Plane, Vec<Unit>>,
    ops: Pool<Op>,
    buses: By<Channel, Vec<Bus>>,
    flash: FlashArray,
    blocks: BlockStates,
    moves: Moves,
    loads: Loads,
    /// Whether the end of a program's data transfer is reported ([`Completion::DataIn`]).
    reports_data_in: bool,
    reads_before_write: u32,
    reads_before_urgent: bool,
    suspension: Suspension,
    multi_plane: MultiPlaneRule,
    /// Whether several operations may be one command.
    shares_commands: bool,
    /// Programs that wait for the rest of their unit; none where pages are programmed one by one, without parity.
    program_units: Option<Box<ProgramUnits>>,
    /// How long a unit must have been idle before work of background jobs begins.
    idle_ns: u64,
    /// Reads that wait for the program of their page; none where controller RAM serves them.
    awaited: Option<Box<Awaited>>,
    /// Reads that wait and may be joined; none where reads are not merged.
    merging: Option<Merging>,
    /// What the user has not heard of yet.
    pub(crate) news: News,
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

impl Array {
    /// An idle array at time 0.
    pub(crate) fn new(device: &NandDevice, config: &EngineConfig, flash: FlashArray, seed: u64) -> Self {
        let geometry = device.geometry.clone();
        let planes_per_unit = geometry.planes_per_chip() / units_in_chip(config.concurrency, &geometry);
        let units = idle_units(config.concurrency, &geometry);
        let read_ns = device.timing.command_ns + device.timing.read_ns + device.timing.transfer_ns;
        Self {
            now_ns: 0,
            events: EventQueue::new(units.len()),
            unit_of_plane: units_of_planes(planes_per_unit, &geometry),
            ops: Pool::new(),
            buses: By::new(vec![Bus::default(); geometry.channels as usize]),
            flash,
            blocks: BlockStates::new(geometry.block_index_len()),
            moves: Moves::new(geometry.block_index_len()),
            loads: Loads::new(config.load, geometry.chips() as usize, units.len(), read_ns),
            units,
            reports_data_in: config.write_completes == WriteCompletes::Transferred,
            reads_before_write: config.reads_before_write,
            reads_before_urgent: config.reads_before_urgent,
            suspension: Suspension::new(config, seed),
            multi_plane: MultiPlaneRule::new(config.multi_plane, &geometry, planes_per_unit),
            shares_commands: config.multi_plane != MultiPlane::None || geometry.program_pages > 1,
            program_units: ProgramUnits::of(device),
            idle_ns: config.idle_ns(),
            awaited: (!config.buffer_reads).then(Box::default),
            merging: Merging::of(config.merge_reads),
            news: News::default(),
            timing: device.timing.clone(),
            geometry,
        }
    }

    /// Busy time of each channel.
    pub(crate) fn channel_busy_ns(&self) -> Vec<u64> {
        self.buses.iter().map(|bus| bus.busy_ns).collect()
    }

    /// Busy time of each chip: the mean over its units.
    pub(crate) fn chip_busy_ns(&self) -> By<Chip, Vec<u64>> {
        let per_chip = self.units.len() / self.loads.chips();
        let chips = self.units.chunks(per_chip);
        By::new(
            chips.map(|units| units.iter().map(|unit| unit.busy_ns).sum::<u64>() / per_chip as u64).collect(),
        )
    }

    /// Operations waiting and in service at each chip, now.
    pub(crate) fn queue_lengths(&self) -> &By<Chip, Vec<u32>> {
        self.loads.queue_lengths()
    }

    /// The planes that each unit serves.
    pub(crate) fn planes_of_units(&self) -> Vec<Vec<Plane>> {
        let planes: Vec<Plane> = self.geometry.all_planes().collect();
        planes.chunks(planes.len() / self.units.len()).map(<[Plane]>::to_vec).collect()
    }

    /// The chip that a unit is a part of.
    #[inline]
    pub(crate) fn chip(&self, unit: Unit) -> Chip {
        self.units[unit].chip
    }

    /// An operation that waits or is in service.
    #[inline]
    pub(crate) fn op(&self, slot: u32) -> &Op {
        &self.ops[slot]
    }

    #[inline]
    pub(crate) fn op_mut(&mut self, slot: u32) -> &mut Op {
        &mut self.ops[slot]
    }

    /// The slot that the next operation will have.
    pub(crate) fn next_slot(&self) -> u32 {
        self.ops.next_slot()
    }

    /// The loads as the controller may see them now.
    #[inline]
    pub(crate) fn load_view(&mut self) -> LoadView<'_> {
        self.loads.view(&self.units, &self.suspension, self.now_ns)
    }

    /// The same, and whether the flash has what the controller's tables say that a page holds.
    pub(crate) fn loads_and_pages(&mut self) -> (LoadView<'_>, impl Fn(Ppn) -> bool + '_) {
        let Self { loads, units, suspension, flash, blocks, geometry, now_ns, .. } = self;
        let loads = loads.view(units, suspension, *now_ns);
        (loads, |ppn: Ppn| {
            flash.is_programmed(geometry, ppn) && !blocks.erase_is_pending(geometry.block_index(ppn))
        })
    }

    /// Whether the flash holds what the controller's tables say that this page holds. Otherwise the data are
    /// still on their way there ([`Array::place_on_flash`]).
    #[inline]
    fn holds(&self, ppn: Ppn) -> bool {
        self.flash.is_programmed(&self.geometry, ppn)
            && !self.blocks.erase_is_pending(self.geometry.block_index(ppn))
    }

    /// Pins the page that an operation will read later: its block must not be erased before.
    #[inline]
    pub(crate) fn pin(&mut self, target: &ReadTarget) {
        if self.geometry.plane(target.ppn) == target.plane {
            self.blocks.read_begins(self.geometry.block_index(target.ppn));
        }
    }

    pub(crate) fn unpin(&mut self, target: &ReadTarget) {
        if self.geometry.plane(target.ppn) == target.plane {
            self.blocks.read_ends(self.geometry.block_index(target.ppn));
        }
    }

    /// Pins a page that [`Op::pins_block`] of its read will let go of.
    pub(crate) fn pin_page(&mut self, ppn: Ppn) {
        self.blocks.read_begins(self.geometry.block_index(ppn));
    }

    /// Asks the memory for the state of the block and of the unit that an operation on this page will need.
    #[inline]
    pub(crate) fn prefetch(&self, ppn: Ppn) {
        self.blocks.prefetch(self.geometry.block_index(ppn));
        self.units.prefetch(self.unit_of_plane[self.geometry.plane(ppn)]);
    }

    /// Asks the memory for what the next event will look at. It pays for operations that waited for idle
    /// time: they were queued so long ago that the processor's cache has dropped them.
    #[inline]
    pub(crate) fn prefetch_event(&self) {
        let state = &self.units[Unit::new(self.events.next().1)];
        self.ops.prefetch(state.current);
        self.ops.prefetch(state.head(Queue::Idle));
    }

    /// How long the array itself works on an operation.
    #[inline]
    pub(crate) fn array_ns(&self, work: Work, ppn: Ppn) -> u64 {
        match work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => self.sense_ns(ppn),
            Work::HostProgram | Work::OwnProgram | Work::Parity => self.timing.program_ns,
            Work::OwnErase => self.timing.erase_ns,
        }
    }

    /// tR of the flash page that holds a page.
    #[inline]
    fn sense_ns(&self, ppn: Ppn) -> u64 {
        match self.timing.read_types_ns.is_empty() {
            true => self.timing.read_ns,
            false => self.timing.read_ns_of(self.geometry.flash_page(ppn)),
        }
    }

    /// Charges a command that began at `start_ns` and ends now. The array worked for `array_ns` of it and
    /// stood still for `lost_ns`; command cycles and data took their fixed time on the channel. In what is
    /// left, the command waited for the channel, which carried something else.
    #[inline]
    pub(crate) fn charge_command(&self, ledger: &mut Ledger, start_ns: u64, array_ns: u64, lost_ns: u64) {
        let transfer_ns = self.timing.command_ns + self.timing.transfer_ns;
        ledger.charge(Charge::Suspension, lost_ns);
        ledger.charge(Charge::Transfer, transfer_ns);
        ledger.charge(Charge::Flash, array_ns);
        ledger.charge(Charge::Channel, self.now_ns - start_ns - lost_ns - transfer_ns - array_ns);
    }

    #[inline]
    fn load_up<O: Observer>(&mut self, unit: Unit, read: bool, accounts: &mut Accounts<O>) {
        let chip = self.units[unit].chip;
        self.loads.up(unit, chip, read);
        accounts.observer.queue_changed(chip, self.now_ns, self.loads.queue_length(chip));
    }

    #[inline]
    fn load_down<O: Observer>(&mut self, unit: Unit, read: bool, accounts: &mut Accounts<O>) {
        let chip = self.units[unit].chip;
        self.loads.down(unit, chip, read);
        accounts.observer.queue_changed(chip, self.now_ns, self.loads.queue_length(chip));
    }

    /// The stage that a unit is in now will end at `time_ns`.
    #[inline]
    fn expect(&mut self, unit: Unit, time_ns: u64) {
        self.units[unit].event_ns = time_ns;
        self.events.set(unit.number(), time_ns);
    }

    #[inline]
    pub(crate) fn is_idle(&self, unit: Unit) -> bool {
        self.units[unit].stage == Stage::Idle
    }
}
