//! The flash back end of a device as the host's side uses it. [`Array`] is one; tests of the host bring another.

use flashtwin_ftl::{FlashOp, LoadView, ReadTarget, Unit};
use flashtwin_nand::{Chip, Ppn};

use super::super::accounts::{Charge, Ledger};
use super::unit::Queue;
use super::{
    Accounts, Array, AwaitedRead, Completion, MergedRead, NO_EVENT, News, Observer, Op, OpenLedger, UnitHold,
    Work,
};

/// A flash back end: takes operations, and reports their ends as time passes.
pub trait Backend {
    /// Simulated time so far.
    fn now_ns(&self) -> u64;

    /// Nothing ends until this time.
    fn advance_to(&mut self, now_ns: u64);

    /// When the next stage of a unit ends; `u64::MAX` where none is under way.
    fn next_event_ns(&self) -> u64;

    /// Advances to the next event, the end of a unit's stage. Returns the unit and the meaning for
    /// the caller, who calls [`Backend::end_event`] when all of it is done.
    fn step<O: Observer>(&mut self, accounts: &mut Accounts<O>) -> (Unit, Completion);

    /// The next operation of a command in service; `NONE` behind the last. Call it before ending
    /// the operation.
    fn next_of_command(&self, slot: u32) -> u32;

    /// Ends an operation that was reported complete: updates the back end and returns the
    /// operation. Its slot may be reused from now on.
    fn end<O: Observer>(&mut self, unit: Unit, slot: u32, accounts: &mut Accounts<O>) -> Op;

    /// Starts the next operation of an idle unit, if one may start.
    fn dispatch<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>);

    /// The event of a unit is over.
    fn end_event(&mut self, unit: Unit);

    /// Events that the host must handle before its next decision. The host takes out those it has
    /// handled.
    fn news(&mut self) -> &mut News;

    /// Queues an operation at the unit of its page; its slot.
    fn submit<O: Observer>(&mut self, queue: Queue, op: Op, accounts: &mut Accounts<O>) -> u32;

    /// Queues a read of a page that is on flash.
    fn read<O: Observer>(&mut self, target: &ReadTarget, op: Op, accounts: &mut Accounts<O>) -> u32;

    /// Queues a host's read of a page that is on flash, with the name of its data, for reads that may be merged.
    fn read_for_host<O: Observer>(
        &mut self,
        page: (&ReadTarget, u64),
        request: u32,
        charged: OpenLedger,
        accounts: &mut Accounts<O>,
    );

    /// Takes operations that the controller ordered on its own account. `offline`: in the
    /// replication phase the mirror serves the host, so operations take no time unless they must
    /// follow another.
    fn carry_out_orders<O: Observer>(
        &mut self,
        ordered: &[FlashOp],
        offline: bool,
        accounts: &mut Accounts<O>,
    );

    /// The life (erase count) of the block in which a host page just decided will be programmed.
    /// `ordered`: the operations that the same decision made the controller order.
    fn life_of_program(&self, ppn: Ppn, ordered: &[FlashOp]) -> u32;

    /// Whether reads wait for the program of their page; otherwise controller RAM serves them.
    fn awaits_programs(&self) -> bool;

    /// Enters a read among those that wait for a program; its number there. It has not come to its chip yet
    /// ([`Backend::awaited_read_comes`]): other things may have to be read first.
    fn await_program<O: Observer>(&mut self, read: AwaitedRead, accounts: &mut Accounts<O>) -> u32;

    /// The read reaches its chip; `waited`: its charges meanwhile.
    fn awaited_read_comes<O: Observer>(&mut self, at: u32, waited: OpenLedger, accounts: &mut Accounts<O>);

    /// Holds idle units back from now on, so that operations queued at the same time can share a command. Of nested calls
    /// the outermost counts.
    fn hold(&mut self) -> UnitHold;

    /// Dispatches the units that were held back.
    fn release<O: Observer>(&mut self, held: UnitHold, accounts: &mut Accounts<O>);

    /// The slot that the next operation will have.
    fn next_slot(&self) -> u32;

    /// An operation that waits or is in service.
    fn op(&self, slot: u32) -> &Op;

    /// The same, to be changed.
    fn op_mut(&mut self, slot: u32) -> &mut Op;

    /// The reads that joined one that is over, in the order in which they came. To be given back, for their memory, to
    /// [`Backend::forget_merged`].
    fn take_merged(&mut self, merged: u32) -> Vec<MergedRead>;

    /// Nobody asks for those reads any more.
    fn forget_merged(&mut self, merged: u32, joined: Vec<MergedRead>);

    /// The flash page with the data that the controller's tables give for this page; `None` if the
    /// data are in controller RAM, on their way to the flash.
    fn place_on_flash(&self, ppn: Ppn) -> Option<Ppn>;

    /// Pins the page that an operation will read later: its block must not be erased before.
    fn pin(&mut self, target: &ReadTarget);

    /// Nobody will read the page later.
    fn unpin(&mut self, target: &ReadTarget);

    /// Pins a page that [`Op::pins_block`] of its read will release.
    fn pin_page(&mut self, ppn: Ppn);

    /// The loads as the controller may see them now.
    fn load_view(&mut self) -> LoadView<'_>;

    /// The loads, and a test for pages whose data have reached the flash.
    fn loads_and_pages(&mut self) -> (LoadView<'_>, impl Fn(Ppn) -> bool);

    /// Whether a unit is idle with nothing queued and nothing suspended, and has been for long enough.
    fn has_idle_time(&mut self, unit: Unit) -> bool;

    /// The chip that a unit is a part of.
    fn chip(&self, unit: Unit) -> Chip;

    /// Whether programs gather in units.
    fn gathers(&self) -> bool;

    /// Pages of the host's in units that are not full, and in units that wait for their die or are in service.
    fn host_pages_in_units(&self) -> (u32, u32);

    /// Programs the units that are not full as they are.
    fn program_open_units<O: Observer>(&mut self, accounts: &mut Accounts<O>);

    /// How long the array itself works on an operation on this page.
    fn array_ns(&self, work: Work, ppn: Ppn) -> u64;

    /// How long the operation that a unit served last stood still.
    fn lost_ns(&self, unit: Unit) -> u64;

    /// Charges a command that began at `start_ns` and ends now. The array worked for `array_ns` of
    /// it and was suspended for `lost_ns`; command cycles and data took their fixed time on the
    /// channel. In the remaining time the command waited for a busy channel.
    fn charge_command(&self, ledger: &mut Ledger, start_ns: u64, array_ns: u64, lost_ns: u64);

    /// Prefetches the state of the block and of the unit that an operation on this page will need.
    fn prefetch(&self, _ppn: Ppn) {}

    /// Prefetches the state that the next event needs.
    fn prefetch_event(&self) {}
}

impl Backend for Array {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    #[inline]
    fn next_event_ns(&self) -> u64 {
        self.events.next().0
    }

    #[inline]
    fn step<O: Observer>(&mut self, accounts: &mut Accounts<O>) -> (Unit, Completion) {
        self.step(accounts)
    }

    #[inline]
    fn next_of_command(&self, slot: u32) -> u32 {
        self.ops[slot].next
    }

    #[inline]
    fn end<O: Observer>(&mut self, unit: Unit, slot: u32, accounts: &mut Accounts<O>) -> Op {
        self.end(unit, slot, accounts)
    }

    #[inline]
    fn dispatch<O: Observer>(&mut self, unit: Unit, accounts: &mut Accounts<O>) {
        self.dispatch(unit, accounts);
    }

    #[inline]
    fn end_event(&mut self, unit: Unit) {
        // Most often the unit has begun another stage, whose end has replaced the event already.
        if self.units[unit].event_ns == NO_EVENT {
            self.events.set(unit.number(), NO_EVENT);
        }
    }

    #[inline]
    fn news(&mut self) -> &mut News {
        &mut self.news
    }

    #[inline(always)]
    fn submit<O: Observer>(&mut self, queue: Queue, op: Op, accounts: &mut Accounts<O>) -> u32 {
        self.submit(queue, op, accounts)
    }

    #[inline(always)]
    fn read<O: Observer>(&mut self, target: &ReadTarget, op: Op, accounts: &mut Accounts<O>) -> u32 {
        self.read(target, op, accounts)
    }

    #[inline]
    fn read_for_host<O: Observer>(
        &mut self,
        page: (&ReadTarget, u64),
        request: u32,
        charged: OpenLedger,
        accounts: &mut Accounts<O>,
    ) {
        self.read_for_host(page, request, charged, accounts);
    }

    fn carry_out_orders<O: Observer>(
        &mut self,
        ordered: &[FlashOp],
        offline: bool,
        accounts: &mut Accounts<O>,
    ) {
        self.carry_out_orders(ordered, offline, accounts);
    }

    #[inline]
    fn life_of_program(&self, ppn: Ppn, ordered: &[FlashOp]) -> u32 {
        self.life_of_program(ppn, ordered)
    }

    #[inline]
    fn awaits_programs(&self) -> bool {
        self.awaited.is_some()
    }

    fn await_program<O: Observer>(&mut self, read: AwaitedRead, accounts: &mut Accounts<O>) -> u32 {
        self.await_program(read, accounts)
    }

    fn awaited_read_comes<O: Observer>(&mut self, at: u32, waited: OpenLedger, accounts: &mut Accounts<O>) {
        self.awaited_read_comes(at, waited, accounts);
    }

    #[inline]
    fn hold(&mut self) -> UnitHold {
        self.hold()
    }

    #[inline]
    fn release<O: Observer>(&mut self, held: UnitHold, accounts: &mut Accounts<O>) {
        self.release(held, accounts);
    }

    fn next_slot(&self) -> u32 {
        self.ops.next_slot()
    }

    #[inline]
    fn op(&self, slot: u32) -> &Op {
        &self.ops[slot]
    }

    #[inline]
    fn op_mut(&mut self, slot: u32) -> &mut Op {
        &mut self.ops[slot]
    }

    fn take_merged(&mut self, merged: u32) -> Vec<MergedRead> {
        self.take_merged(merged)
    }

    fn forget_merged(&mut self, merged: u32, joined: Vec<MergedRead>) {
        self.forget_merged(merged, joined);
    }

    #[inline]
    fn place_on_flash(&self, ppn: Ppn) -> Option<Ppn> {
        self.place_on_flash(ppn)
    }

    #[inline]
    fn pin(&mut self, target: &ReadTarget) {
        if self.geometry.plane(target.ppn) == target.plane {
            self.blocks.read_begins(self.geometry.block_index(target.ppn));
        }
    }

    fn unpin(&mut self, target: &ReadTarget) {
        if self.geometry.plane(target.ppn) == target.plane {
            self.blocks.read_ends(self.geometry.block_index(target.ppn));
        }
    }

    fn pin_page(&mut self, ppn: Ppn) {
        self.blocks.read_begins(self.geometry.block_index(ppn));
    }

    #[inline]
    fn load_view(&mut self) -> LoadView<'_> {
        self.loads.view(&self.units, &self.suspension, self.now_ns)
    }

    fn loads_and_pages(&mut self) -> (LoadView<'_>, impl Fn(Ppn) -> bool) {
        let Self { loads, units, suspension, flash, blocks, geometry, now_ns, .. } = self;
        let loads = loads.view(units, suspension, *now_ns);
        (loads, |ppn: Ppn| {
            flash.is_programmed(geometry, ppn) && !blocks.erase_is_pending(geometry.block_index(ppn))
        })
    }

    fn has_idle_time(&mut self, unit: Unit) -> bool {
        self.has_idle_time(unit)
    }

    #[inline]
    fn chip(&self, unit: Unit) -> Chip {
        self.units[unit].chip
    }

    #[inline]
    fn gathers(&self) -> bool {
        self.gathers()
    }

    #[inline]
    fn host_pages_in_units(&self) -> (u32, u32) {
        self.host_pages_in_units()
    }

    fn program_open_units<O: Observer>(&mut self, accounts: &mut Accounts<O>) {
        self.program_open_units(accounts);
    }

    #[inline]
    fn array_ns(&self, work: Work, ppn: Ppn) -> u64 {
        match work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => self.sense_ns(ppn),
            Work::HostProgram | Work::OwnProgram | Work::Parity => self.timing.program_ns,
            Work::OwnErase => self.timing.erase_ns,
        }
    }

    #[inline]
    fn lost_ns(&self, unit: Unit) -> u64 {
        self.units[unit].lost_ns
    }

    #[inline]
    fn charge_command(&self, ledger: &mut Ledger, start_ns: u64, array_ns: u64, lost_ns: u64) {
        let transfer_ns = self.timing.command_ns + self.timing.transfer_ns;
        ledger.charge(Charge::Suspension, lost_ns);
        ledger.charge(Charge::Transfer, transfer_ns);
        ledger.charge(Charge::Flash, array_ns);
        ledger.charge(Charge::Channel, self.now_ns - start_ns - lost_ns - transfer_ns - array_ns);
    }

    #[inline]
    fn prefetch(&self, ppn: Ppn) {
        self.blocks.prefetch(self.geometry.block_index(ppn));
        self.units.prefetch(self.unit_of_plane[self.geometry.plane(ppn)]);
    }

    /// Worth it for operations that waited for idle time: they were queued so long ago that the
    /// processor's cache has dropped them.
    #[inline]
    fn prefetch_event(&self) {
        let state = &self.units[Unit::new(self.events.next().1)];
        self.ops.prefetch(state.current);
        self.ops.prefetch(state.head(Queue::Idle));
    }
}
