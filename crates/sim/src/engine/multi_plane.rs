//! Multi-plane commands: one command for several planes of a die, on which the array works at once.
//!
//! ONFI 4.0, multi-plane operations: each plane's command and data pass over the channel one
//! after the other, then all planes sense, program or erase together; data are read out plane by plane.

use super::pool::{NONE, Op, Work};
use super::service::WINDOW;
use super::unit::Queue;
use super::{Controller, Engine, Observer};
use crate::config::MultiPlane;
use flashtwin_ftl::Unit;
use flashtwin_nand::Plane;

/// The rule of multi-plane commands, and the idle units held back until all operations of this moment are queued.
#[derive(Debug)]
pub(super) struct Together {
    rule: MultiPlane,
    planes_per_die: u32,
    dies_per_unit: u32,
    holding: bool,
    held: Vec<Unit>,
}

/// Whether this call of [`Engine::hold`] began to hold units back.
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

    /// Die within the unit and plane within the die. A read of `any-chip` redirection counts as a read of the
    /// same place on the chip that serves it.
    fn place(&self, plane: Plane) -> (u32, u32) {
        (plane.number() / self.planes_per_die % self.dies_per_unit, plane.number() % self.planes_per_die)
    }
}

/// Read, program or erase: a command has one kind of operation.
fn kind(work: Work) -> u8 {
    match work {
        Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => 0,
        Work::HostProgram | Work::OwnProgram => 1,
        Work::OwnErase => 2,
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Holds idle units back from now on, so that operations queued at the same time can share a command. Of
    /// nested calls the outermost counts.
    #[inline]
    pub(super) fn hold(&mut self) -> Held {
        let begins = self.together.rule != MultiPlane::None && !self.together.holding;
        self.together.holding |= begins;
        Held(begins)
    }

    /// Dispatches the units that were held back.
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

    /// Dispatches a unit: now, or at [`Engine::release`] where units are held back.
    #[inline]
    pub(super) fn dispatch_or_hold(&mut self, unit: Unit) {
        if !self.together.holding {
            self.dispatch(unit);
        } else if self.is_idle(unit) && !self.together.held.contains(&unit) {
            self.together.held.push(unit);
        }
    }

    /// Takes up the companions of an operation that starts, chained to it by `next`. Returns the number of planes
    /// of the command.
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
                // The controller's own operations on a plane keep their order: none behind this one may go first.
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
            self.counts.pages.multi_plane_commands += 1;
            self.counts.pages.multi_plane_ops += planes;
        }
        planes
    }

    /// Whether a queued operation may share the command of one that starts.
    fn goes_with(&self, first: &Op, candidate: u32) -> bool {
        let op = &self.ops[candidate];
        let page = |op: &Op| self.geometry.page_in_block(op.ppn);
        let anywhere = self.together.rule == MultiPlane::AnyPage || op.work == Work::OwnErase;
        let same_kind = kind(op.work) == kind(first.work) && !op.offline;
        let on_flash = op.work != Work::OwnRead || self.flash_has(candidate);
        same_kind && on_flash && (anywhere || page(op) == page(first)) && self.may_start(candidate)
    }

    /// The number of operations chained behind one of a command in service.
    #[inline]
    pub(super) fn planes_after(&self, slot: u32) -> u64 {
        let (mut count, mut next) = (0, self.ops[slot].next);
        while next != NONE {
            (count, next) = (count + 1, self.ops[next].next);
        }
        count
    }

    /// Calls `what` for each operation of a command; `what` may end the operation.
    #[inline]
    pub(super) fn each_of_command(&mut self, first: u32, mut what: impl FnMut(&mut Self, u32)) {
        let mut slot = first;
        while slot != NONE {
            let next = self.ops[slot].next;
            what(self, slot);
            slot = next;
        }
    }

    /// Reports each operation of a starting command to the observer.
    #[inline]
    pub(super) fn tell_started(&mut self, first: u32, what: &'static str, unit: Unit) {
        let now = self.now_ns;
        self.each_of_command(first, |engine, slot| {
            engine.observer.started(now, what, unit, engine.ops[slot].ppn);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_has_its_place_in_its_die_and_the_die_in_its_unit() {
        // Two dies of two planes share a unit, or each is one.
        let places = |planes_per_unit: u32| {
            let together = Together::new(MultiPlane::SamePage, 2, planes_per_unit);
            [0, 1, 2, 3, 6, 7].map(|plane| together.place(Plane::new(plane)))
        };
        assert_eq!(places(4), [(0, 0), (0, 1), (1, 0), (1, 1), (1, 0), (1, 1)]);
        assert_eq!(places(2), [(0, 0), (0, 1), (0, 0), (0, 1), (0, 0), (0, 1)]);
    }

    #[test]
    fn reads_programs_and_erases_share_no_command() {
        let reads = [Work::HostRead, Work::ReadBeforeWrite, Work::TableRead, Work::OwnRead].map(kind);
        let programs = [Work::HostProgram, Work::OwnProgram].map(kind);
        let erase = kind(Work::OwnErase);
        assert!(reads.iter().all(|&read| read == reads[0]) && programs[0] == programs[1]);
        assert!(reads[0] != programs[0] && programs[0] != erase && erase != reads[0]);
    }
}
