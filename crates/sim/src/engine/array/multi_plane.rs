//! Multi-plane commands: one command for several planes of a die, on which the array works at once.
//!
//! ONFI 4.0, multi-plane operations: each plane's command and data pass over the channel one
//! after the other, then all planes sense, program or erase together; data are read out plane by plane.

use super::unit::WINDOW;
use super::{Accounts, Array, NONE, Observer, Op, Queue, Work};
use crate::config::MultiPlane;
use flashtwin_ftl::Unit;
use flashtwin_nand::{Geometry, Plane};

/// The rule of multi-plane commands, and the idle units held back until all operations of this moment are queued.
#[derive(Debug)]
pub(super) struct MultiPlaneRule {
    rule: MultiPlane,
    planes_per_die: u32,
    dies_per_unit: u32,
    /// Whether idle units are held back: reads of one flash page may share a command as well.
    may_hold: bool,
    holding: bool,
    held: Vec<Unit>,
}

/// Whether this call of [`Array::hold`] began to hold units back.
#[must_use]
pub struct UnitHold(pub(crate) bool);

impl UnitHold {
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.0
    }
}

impl MultiPlaneRule {
    pub(super) fn new(rule: MultiPlane, geometry: &Geometry, planes_per_unit: u32) -> Self {
        let planes_per_die = geometry.planes_per_die;
        let dies_per_unit = (planes_per_unit / planes_per_die).max(1);
        let may_hold = rule != MultiPlane::None || geometry.sense_pages > 1;
        Self { rule, planes_per_die, dies_per_unit, may_hold, holding: false, held: Vec::new() }
    }

    /// Whether no commands are shared by planes.
    pub(super) fn is_none(&self) -> bool {
        self.rule == MultiPlane::None
    }

    /// Holds units back from now on; of nested calls the outermost counts.
    #[inline]
    pub(super) fn hold(&mut self) -> UnitHold {
        let begins = self.may_hold && !self.holding;
        self.holding |= begins;
        UnitHold(begins)
    }

    /// Whether units are held back.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.holding
    }

    /// Holds an idle unit back.
    pub(super) fn hold_back(&mut self, unit: Unit) {
        if !self.held.contains(&unit) {
            self.held.push(unit);
        }
    }

    /// No unit is held back any more: those that were. The list comes back, empty, for its memory.
    pub(super) fn let_go(&mut self) -> Vec<Unit> {
        self.holding = false;
        std::mem::take(&mut self.held)
    }

    pub(super) fn keep_list(&mut self, emptied: Vec<Unit>) {
        self.held = emptied;
    }

    /// Die within the unit and plane within the die. A read of `any-chip` redirection counts as a read of the
    /// same place on the chip that serves it.
    fn place(&self, plane: Plane) -> (u32, u32) {
        (plane.number() / self.planes_per_die % self.dies_per_unit, plane.number() % self.planes_per_die)
    }
}

/// Read, program or erase, or parity: a command has one kind of operation.
fn kind(work: Work) -> u8 {
    match work {
        Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => 0,
        Work::HostProgram | Work::OwnProgram => 1,
        Work::OwnErase => 2,
        Work::Parity => 3,
    }
}

impl Array {
    /// Chains the operations of a queue to one that starts which may share its command, by `next`. Returns the number of
    /// planes of the command.
    pub(super) fn gather(&mut self, unit: Unit, queue: Queue, slot: u32) -> u64 {
        let first = self.ops[slot];
        let (die, plane) = self.multi_plane.place(self.geometry.plane(first.ppn));
        let mut free = (u64::MAX >> (64 - self.multi_plane.planes_per_die)) & !(1 << plane);
        let (mut last, mut before, mut looked_at) = (slot, NONE, 0);
        let mut candidate = self.units[unit].head(queue);
        while candidate != NONE && free != 0 && looked_at < WINDOW {
            looked_at += 1;
            let (on, plane) = self.multi_plane.place(self.geometry.plane(self.ops[candidate].ppn));
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
            candidate = after;
        }
        1 + self.planes_after(slot)
    }

    /// Whether a queued operation may share the command of one that starts.
    fn goes_with(&self, first: &Op, candidate: u32) -> bool {
        let op = &self.ops[candidate];
        let page = |op: &Op| self.geometry.page_in_block(op.ppn);
        let anywhere = self.multi_plane.rule == MultiPlane::AnyPage || op.work == Work::OwnErase;
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

    /// Reports each operation of a starting command to the observer.
    #[inline]
    pub(super) fn tell_started<O: Observer>(
        &mut self,
        first: u32,
        what: &'static str,
        unit: Unit,
        accounts: &mut Accounts<O>,
    ) {
        let mut slot = first;
        while slot != NONE {
            accounts.observer.started(self.now_ns, what, unit, self.ops[slot].ppn);
            slot = self.ops[slot].next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::device;
    use super::*;

    #[test]
    fn a_plane_has_its_place_in_its_die_and_the_die_in_its_unit() {
        // Two dies of two planes share a unit, or each is one.
        let places = |planes_per_unit: u32| {
            let rule = MultiPlaneRule::new(MultiPlane::SamePage, &device().geometry, planes_per_unit);
            [0, 1, 2, 3, 6, 7].map(|plane| rule.place(Plane::new(plane)))
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
