//! The flash array: units (chips, dies or planes) that serve one operation at a time, the channels
//! between them and the controller, and the state of each block.
//!
//! The array decides only the order in which waiting operations are served. Its user hands in
//! operations ([`Backend::submit`], [`Backend::read_for_host`], [`Backend::carry_out_orders`]), and
//! [`Backend::step`] returns the ends of operations. It knows no requests, contents or tables: the
//! numbers in [`Op::request`] and [`Op::other`] are its user's. It calls only the accounts, so that
//! a test needs no controller and no host.
//!
//! One event list holds at most one event a unit (the end of the stage that the unit is in). A bus
//! serves transfers first come, first served, so the end of a transfer is known in advance and
//! needs no event.

mod backend;
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
mod program_waits;
mod readiness;
mod senses;
mod stages;
mod submission;
mod suspension;
mod telling;
#[cfg(test)]
pub(crate) mod tests;
mod unit;

use flashtwin_bits::By;
use flashtwin_ftl::Unit;
use flashtwin_nand::{Block, Channel, Chip, FlashArray, Geometry, NandDevice, Plane, Ppn, Timing};

use super::accounts::{Accounts, Observer, OpenLedger};
use super::pool::{NONE, Pool};
use crate::config::{Concurrency, EngineConfig, MultiPlane, WriteCompletes};
use crate::event_queue::EventQueue;
use block_states::BlockStates;
use bus::Bus;
use loads::Loads;
use merging::Merging;
use moves::Moves;
use multi_plane::MultiPlaneRule;
use program_units::ProgramUnits;
use program_waits::ProgramWaits;
use suspension::Suspension;
use unit::{Stage, UnitState};

pub(crate) use backend::Backend;
pub(crate) use merging::MergedRead;
pub(crate) use multi_plane::UnitHold;
pub(crate) use op::{NOT_STARTED, Op, Work};
pub(crate) use program_waits::AwaitedRead;
pub(crate) use unit::Queue;

/// The due time of a unit without a pending event.
const NO_EVENT: u64 = u64::MAX;

/// The meaning of a stage's end for the user of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Nothing: the operation goes on, or the unit has begun another one.
    None,
    /// The data of a program are in the register of the chip, and so are those of the operations behind it in its
    /// command ([`Backend::next_of_command`]). Only where a write is complete by that.
    DataIn(u32),
    /// One read of a command that works on several planes has delivered its data: to be given to [`Backend::end`]. The
    /// unit goes on with the next.
    DataOut(u32),
    /// A command is done, and the unit has nothing in service. Each of its operations, of which this is the first
    /// ([`Backend::next_of_command`]), is to be given to [`Backend::end`], and the unit then to [`Backend::dispatch`].
    Command(u32),
    /// The unit has been idle for as long as background jobs must wait.
    Idle,
}

/// Events of the array that its user must handle before its next decision.
#[derive(Debug, Default)]
pub struct News {
    /// Background jobs of which an operation has ended.
    pub(crate) jobs_done: Vec<u32>,
    /// Blocks that were erased, and of which no other erase is ordered.
    pub(crate) erased: Vec<Block>,
}

/// The flash of one device with its channels.
pub struct Array {
    geometry: Geometry,
    timing: Timing,
    /// Simulated time so far.
    now_ns: u64,
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
    collection_in_turn: bool,
    suspension: Suspension,
    multi_plane: MultiPlaneRule,
    /// Whether several operations may be one command.
    shares_commands: bool,
    /// Programs that wait for the rest of their unit; none where pages are programmed one by one, without parity.
    program_units: Option<Box<ProgramUnits>>,
    /// How long a unit must have been idle before work of background jobs begins.
    idle_ns: u64,
    /// Reads that wait for the program of their page; none where controller RAM serves them.
    awaited: Option<Box<ProgramWaits>>,
    /// Reads that wait and may be joined; none where reads are not merged.
    merging: Option<Merging>,
    /// Events that the user has not handled yet.
    news: News,
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
            collection_in_turn: config.collection_in_turn,
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

    /// Whether this page has been programmed, as the controller's tables assume. Otherwise its data
    /// are still on their way ([`Backend::place_on_flash`]).
    #[inline]
    fn holds(&self, ppn: Ppn) -> bool {
        self.flash.is_programmed(&self.geometry, ppn)
            && !self.blocks.erase_is_pending(self.geometry.block_index(ppn))
    }

    /// tR of the flash page that holds a page.
    #[inline]
    fn sense_ns(&self, ppn: Ppn) -> u64 {
        match self.timing.read_types_ns.is_empty() {
            true => self.timing.read_ns,
            false => self.timing.read_ns_of(self.geometry.flash_page(ppn)),
        }
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
    fn is_idle(&self, unit: Unit) -> bool {
        self.units[unit].stage == Stage::Idle
    }
}
