//! One command for several planes of a die: the array works on all of them at once.
//!
//! ONFI 4.0, multi-plane operations: each plane's command and data pass over the channel one
//! after the other, then all planes sense, program or erase together; data are read out plane by plane.

use super::pool::{NONE, Op, Work};
use super::unit::Queue;
use super::{Controller, Engine, Observer};
use crate::config::MultiPlane;
use flashtwin_ftl::Unit;
use flashtwin_nand::Plane;

/// Waiting operations that are looked at for a command that starts.
const WINDOW: u32 = 64;

/// Which operations go together, and the units that wait until all have come that come now.
#[derive(Debug)]
pub(super) struct Together {
    rule: MultiPlane,
    planes_per_die: u32,
    dies_per_unit: u32,
    holding: bool,
    held: Vec<Unit>,
}

/// Whether units are held since [`Engine::hold`].
#[must_use]
pub(super) struct Held(bool);

impl Held {
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.0
    }
}

impl Together {
    pub(super) fn new(rule: MultiPlane, planes_per_die: u32, planes_per_unit: u32) -> Self {
        let dies_per_unit = (planes_per_unit / planes_per_die).max(1);
        Self { rule, planes_per_die, dies_per_unit, holding: false, held: Vec::new() }
    }

    /// Die of the unit and plane of the die. A read that any chip may serve stands for one of the same
    /// place on the chip that does.
    fn place(&self, plane: Plane) -> (u32, u32) {
        (plane.number() / self.planes_per_die % self.dies_per_unit, plane.number() % self.planes_per_die)
    }
}

/// What the array does; only the same goes together.
fn kind(work: Work) -> u8 {
    match work {
        Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => 0,
        Work::HostProgram | Work::OwnProgram => 1,
        Work::OwnErase => 2,
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Idle units wait from now on, so that pages that come at the same time can go together. Of
    /// nested calls, the outermost counts.
    #[inline]
    pub(super) fn hold(&mut self) -> Held {
        let begins = self.together.rule != MultiPlane::None && !self.together.holding;
        self.together.holding |= begins;
        Held(begins)
    }

    /// Lets the units go that were held.
    #[inline]
    pub(super) fn release(&mut self, held: Held) {
        if held.0 {
            self.let_go();
        }
    }

    #[cold]
    fn let_go(&mut self) {
        self.together.holding = false;
        let mut units = std::mem::take(&mut self.together.held);
        for &unit in &units {
            self.dispatch(unit);
        }
        units.clear();
        self.together.held = units;
    }

    /// Starts the next operation of a unit, or does so when what comes now has come.
    #[inline]
    pub(super) fn dispatch_or_hold(&mut self, unit: Unit) {
        if !self.together.holding {
            self.dispatch(unit);
        } else if self.is_idle(unit) && !self.together.held.contains(&unit) {
            self.together.held.push(unit);
        }
    }

    /// Takes up the operations that go together with one that starts, chained to it. Returns how many
    /// planes the command works on.
    #[inline]
    pub(super) fn take_up_companions(&mut self, unit: Unit, queue: Queue, slot: u32) -> u64 {
        if self.together.rule == MultiPlane::None { 1 } else { self.gather(unit, queue, slot) }
    }

    #[cold]
    fn gather(&mut self, unit: Unit, queue: Queue, slot: u32) -> u64 {
        let first = self.ops[slot];
        let (die, plane) = self.together.place(self.geometry.plane(first.ppn));
        let mut free = (u64::MAX >> (64 - self.together.planes_per_die)) & !(1 << plane);
        let (mut last, mut before, mut looked_at) = (slot, NONE, 0);
        let mut candidate = self.units[unit].head(queue);
        while candidate != NONE && free != 0 && looked_at < WINDOW {
            looked_at += 1;
            let (on, plane) = self.together.place(self.geometry.plane(self.ops[candidate].ppn));
            if on != die || free & (1 << plane) == 0 || !self.goes_with(&first, candidate) {
                // The controller's own work on a plane is done in the order in which it was decided.
                if on == die && matches!(queue, Queue::Background | Queue::Idle) {
                    free &= !(1 << plane);
                }
                before = candidate;
                candidate = self.ops[candidate].next;
                continue;
            }
            free &= !(1 << plane);
            let after = self.ops[candidate].next;
            self.units[unit].pop_after(queue, before, &mut self.ops);
            self.ops[last].next = candidate;
            last = candidate;
            self.ops[candidate].next = NONE;
            self.take_up(unit, candidate);
            candidate = after;
        }
        let planes = 1 + self.planes_after(slot);
        if planes > 1 {
            self.counts.multi_plane_commands += 1;
            self.counts.multi_plane_ops += planes;
        }
        planes
    }

    /// Whether a waiting operation may be part of the command of one that starts.
    fn goes_with(&self, first: &Op, candidate: u32) -> bool {
        let op = &self.ops[candidate];
        let page = |op: &Op| self.geometry.page_in_block(op.ppn);
        let anywhere = self.together.rule == MultiPlane::AnyPage || op.work == Work::OwnErase;
        let same_kind = kind(op.work) == kind(first.work) && !op.offline;
        let on_flash = op.work != Work::OwnRead || self.flash_has(candidate);
        same_kind && on_flash && (anywhere || page(op) == page(first)) && self.may_start(candidate)
    }

    /// How many operations are chained to this one of a command in service.
    #[inline]
    pub(super) fn planes_after(&self, slot: u32) -> u64 {
        let (mut count, mut next) = (0, self.ops[slot].next);
        while next != NONE {
            (count, next) = (count + 1, self.ops[next].next);
        }
        count
    }

    /// Does something with each operation of a command, which may end it.
    #[inline]
    pub(super) fn each_of_command(&mut self, first: u32, mut what: impl FnMut(&mut Self, u32)) {
        let mut slot = first;
        while slot != NONE {
            let next = self.ops[slot].next;
            what(self, slot);
            slot = next;
        }
    }

    /// Tells the observer what the flash starts.
    #[inline]
    pub(super) fn tell_started(&mut self, first: u32, what: &'static str, unit: Unit) {
        let now = self.now_ns;
        self.each_of_command(first, |engine, slot| {
            engine.observer.started(now, what, unit, engine.ops[slot].ppn);
        });
    }
}
