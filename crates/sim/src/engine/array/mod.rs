//! The flash array: units (chips, dies or planes) that serve one operation at a time, channels, and block states. It
//! decides only the order in which waiting operations are served. There is at most one event a unit, the end of its
//! stage; the end of a transfer is known at once, because a bus serves in order.

mod batches;
mod block_states;
mod bus;
mod command_report;
mod dispatch;
mod loads;
mod medium;
mod merging;
mod multi_plane;
mod op;
mod orders;
mod program_units;
mod program_waits;
mod relocation;
mod stages;
mod submission;
mod suspension;
#[cfg(test)]
pub(crate) mod tests;
mod unit;

use flashtwin_bits::By;
use flashtwin_ftl::{LoadView, NO_JOB, ReadTarget, Unit};
use flashtwin_nand::{Block, Channel, Chip, FlashArray, Geometry, NandDevice, Plane, Ppn, Timing};

use super::accounts::{Accounts, Observer, OpenLedger};
use super::pool::{NONE, Pool};
use crate::config::{Concurrency, EngineConfig, MultiPlane, WriteCompletes};
use crate::event_queue::EventQueue;
use batches::Batches;
use block_states::BlockStates;
use bus::Bus;
use loads::Loads;
use merging::Merging;
use multi_plane::{MultiPlaneRule, WaitingSenses};
use program_units::ProgramUnits;
use program_waits::ProgramWaits;
use relocation::Relocations;
use suspension::Suspension;
use unit::{Stage, UnitState};

pub(crate) use multi_plane::UnitHold;
pub(crate) use op::{NOT_STARTED, Op, Work};
pub(crate) use program_waits::AwaitedRead;
pub(crate) use unit::Queue;

const NO_EVENT: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The operation goes on, or the unit has begun another one.
    None,
    /// A program's data, and those behind it in its command, are in the register. Only where that completes a write.
    DataIn(u32),
    /// One read of a command on several planes is out and goes to [`Array::end`]. The unit goes on with the next.
    DataOut(u32),
    /// A command is done. Its operations, from this one on ([`Array::next_of_command`]), go to [`Array::end`], and then
    /// the unit to [`Array::dispatch`].
    Command(u32),
    Idle,
}

/// Events that the user must handle before its next decision. It takes out those that it has handled.
#[derive(Debug, Clone, Default)]
pub(crate) struct News {
    pub(crate) jobs_done: Vec<u32>,
    /// Blocks that were erased, without another erase ordered.
    pub(crate) erased: Vec<Block>,
}

#[derive(Clone)]
pub(crate) struct Array {
    geometry: Geometry,
    timing: Timing,
    now_ns: u64,
    events: EventQueue,
    pub(crate) units: By<Unit, Vec<UnitState>>,
    unit_of_plane: By<Plane, Vec<Unit>>,
    pub(crate) ops: Pool<Op>,
    buses: By<Channel, Vec<Bus>>,
    flash: FlashArray,
    blocks: BlockStates,
    relocations: Relocations,
    loads: Loads,
    reports_data_in: bool,
    reads_before_write: u32,
    reads_before_urgent: bool,
    collection_in_turn: bool,
    /// `None` where collection waits for no batch.
    batches: Option<Box<Batches>>,
    suspension: Suspension,
    multi_plane: MultiPlaneRule,
    waiting_senses: Option<WaitingSenses>,
    shares_commands: bool,
    /// `None` where pages are programmed one by one, without parity.
    program_units: Option<Box<ProgramUnits>>,
    idle_ns: u64,
    awaited: Option<Box<ProgramWaits>>,
    merging: Option<Merging>,
    pub(crate) news: News,
}

fn units_in_chip(concurrency: Concurrency, geometry: &Geometry) -> u32 {
    match concurrency {
        Concurrency::Chip => 1,
        Concurrency::Die => geometry.dies_per_chip,
        Concurrency::Plane => geometry.planes_per_chip(),
    }
}

fn idle_units(concurrency: Concurrency, geometry: &Geometry) -> By<Unit, Vec<UnitState>> {
    let per_chip = units_in_chip(concurrency, geometry);
    let chips = (0..geometry.chips() * per_chip).map(|unit| Chip::new(unit / per_chip));
    By::new(chips.map(|chip| UnitState::new(chip, geometry.channel_of_chip(chip))).collect())
}

impl Array {
    pub(crate) fn new(device: &NandDevice, config: &EngineConfig, flash: FlashArray, seed: u64) -> Self {
        let geometry = device.geometry.clone();
        let planes_per_unit = geometry.planes_per_chip() / units_in_chip(config.concurrency, &geometry);
        let units = idle_units(config.concurrency, &geometry);
        let unit_of = |plane: Plane| Unit::new(plane.number() / planes_per_unit);
        let read_ns = device.timing.command_ns + device.timing.read_ns + device.timing.transfer_ns;
        Self {
            now_ns: 0,
            events: EventQueue::new(units.len()),
            unit_of_plane: By::new(geometry.all_planes().map(unit_of).collect()),
            ops: Pool::new(),
            buses: By::new(vec![Bus::default(); geometry.channels as usize]),
            flash,
            blocks: BlockStates::new(geometry.block_index_len()),
            relocations: Relocations::new(geometry.block_index_len()),
            batches: Batches::of(config, units.len()),
            loads: Loads::new(config.load, geometry.chips() as usize, units.len(), read_ns),
            units,
            reports_data_in: config.write_completes == WriteCompletes::Transferred,
            reads_before_write: config.reads_before_write,
            reads_before_urgent: config.reads_before_urgent,
            collection_in_turn: config.collection_in_turn,
            suspension: Suspension::new(config, seed),
            multi_plane: MultiPlaneRule::new(config.multi_plane, &geometry, planes_per_unit),
            waiting_senses: WaitingSenses::of(&geometry),
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

    pub(crate) fn channel_busy_ns(&self) -> Vec<u64> {
        self.buses.iter().map(|bus| bus.busy_ns).collect()
    }

    /// Busy time of each chip: the mean over its units.
    pub(crate) fn chip_busy_ns(&self) -> By<Chip, Vec<u64>> {
        let per_chip = self.units.len() / self.loads.chips();
        let busy_ns = |unit: &UnitState| unit.busy_ns + unit.held_now(self.now_ns).1;
        let chips = self.units.chunks(per_chip);
        By::new(chips.map(|units| units.iter().map(busy_ns).sum::<u64>() / per_chip as u64).collect())
    }

    pub(crate) fn queue_lengths(&self) -> &By<Chip, Vec<u32>> {
        self.loads.queue_lengths()
    }

    pub(crate) fn planes_of_units(&self) -> Vec<Vec<Plane>> {
        let planes: Vec<Plane> = self.geometry.all_planes().collect();
        planes.chunks(planes.len() / self.units.len()).map(<[Plane]>::to_vec).collect()
    }

    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    pub(crate) fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    #[inline]
    pub(crate) fn next_event_ns(&self) -> u64 {
        self.events.next().0
    }

    /// [`NONE`] behind the last. Call it before ending the operation.
    #[inline]
    pub(crate) fn next_of_command(&self, slot: u32) -> u32 {
        self.ops[slot].next
    }

    #[inline]
    pub(crate) fn awaits_programs(&self) -> bool {
        self.awaited.is_some()
    }

    /// Pins the page that an operation will read later: its block must not be erased before.
    #[inline]
    pub(crate) fn pin(&mut self, target: &ReadTarget) {
        if self.geometry.plane(target.ppn) == target.plane {
            self.pin_page(target.ppn);
        }
    }

    pub(crate) fn unpin(&mut self, target: &ReadTarget) {
        if self.geometry.plane(target.ppn) == target.plane {
            self.blocks.read_ends(self.geometry.block_index(target.ppn));
        }
    }

    #[inline]
    pub(crate) fn pin_page(&mut self, ppn: Ppn) {
        self.blocks.read_begins(self.geometry.block_index(ppn));
    }

    #[inline]
    pub(crate) fn load_view(&mut self) -> LoadView<'_> {
        self.loads.view(&self.units, &self.suspension, self.now_ns)
    }

    /// The loads, and a test for pages whose data have reached the flash.
    pub(crate) fn loads_and_pages(&mut self) -> (LoadView<'_>, impl Fn(Ppn) -> bool) {
        let Self { loads, units, suspension, flash, blocks, geometry, now_ns, .. } = self;
        let loads = loads.view(units, suspension, *now_ns);
        (loads, |ppn: Ppn| {
            flash.is_programmed(geometry, ppn) && !blocks.erase_is_pending(geometry.block_index(ppn))
        })
    }

    #[inline]
    pub(crate) fn prefetch(&self, ppn: Ppn) {
        self.blocks.prefetch(self.geometry.block_index(ppn));
        self.units.prefetch(self.unit_of_plane[self.geometry.plane(ppn)]);
    }

    /// For operations that waited for idle time, because the processor's cache has dropped them.
    #[inline]
    pub(crate) fn prefetch_event(&self) {
        let state = &self.units[Unit::new(self.events.next().1)];
        self.ops.prefetch(state.current);
        self.ops.prefetch(state.head(Queue::Idle));
    }

    /// Whether the page was programmed, as the tables assume. If not, see [`Array::place_on_flash`].
    #[inline]
    fn holds(&self, ppn: Ppn) -> bool {
        self.flash.is_programmed(&self.geometry, ppn)
            && !self.blocks.erase_is_pending(self.geometry.block_index(ppn))
    }

    #[inline]
    pub(super) fn may_start(&self, op: u32) -> bool {
        let op = &self.ops[op];
        match op.work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead | Work::Parity => true,
            Work::HostProgram => {
                self.flash.is_next(&self.geometry, op.ppn)
                    && self.blocks.life(self.geometry.block_index(op.ppn)) == op.life
            }
            Work::OwnProgram => {
                // A job's program, or a unit with one, waits apart: its block may be in an earlier life.
                self.flash.is_next(&self.geometry, op.ppn)
                    && (op.job == NO_JOB && self.program_units.is_none()
                        || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
            }
            Work::OwnErase => {
                let block = self.geometry.block_index(op.ppn);
                self.flash.is_full(&self.geometry, block) && !self.blocks.has_reads(block)
            }
        }
    }

    /// If not, the read is a background job's: its page is still in controller RAM, or was erased during the wait.
    #[inline]
    pub(super) fn flash_has(&self, slot: u32) -> bool {
        let op = &self.ops[slot];
        self.flash.is_programmed(&self.geometry, op.ppn)
            && (op.job == NO_JOB || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
    }

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
