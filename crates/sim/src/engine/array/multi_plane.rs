//! Commands of several operations: multi-plane commands (ONFI 4.0), whose planes are loaded and read out in turn and
//! work together, and reads of one flash page (`nand.sense_pages`), which is sensed once.

use super::unit::WINDOW;
use super::{Accounts, Array, NONE, Observer, Op, Queue, Work};
use crate::config::MultiPlane;
use flashtwin_bits::mix;
use flashtwin_ftl::Unit;
use flashtwin_nand::{Block, Geometry, Plane, Ppn};

#[derive(Debug, Clone)]
pub(super) struct MultiPlaneRule {
    pub(super) rule: MultiPlane,
    planes_per_die: u32,
    dies_per_unit: u32,
    pub(super) may_hold: bool,
    pub(super) holding: bool,
    pub(super) held: Vec<Unit>,
}

/// How many host reads wait for each flash page, by a hash of it: most of those that start have no companion, and the
/// window would be searched in vain, each operation of it a miss of the processor's cache where queues are long.
#[derive(Debug, Clone)]
pub(super) struct WaitingSenses {
    pub(super) counts: Vec<u32>,
}

impl WaitingSenses {
    const BITS: u32 = 18;

    /// `None` where each read senses for itself.
    pub(super) fn of(geometry: &Geometry) -> Option<Self> {
        (geometry.sense_pages > 1).then(|| Self { counts: vec![0; 1 << Self::BITS] })
    }

    #[inline]
    pub(super) fn of_page(&mut self, geometry: &Geometry, ppn: Ppn) -> &mut u32 {
        let (block, flash_page) = place_of_sense(geometry, ppn);
        let page = u64::from(block.number()) << 32 | u64::from(flash_page);
        &mut self.counts[(mix(page) >> (64 - Self::BITS)) as usize]
    }
}

fn place_of_sense(geometry: &Geometry, ppn: Ppn) -> (Block, u32) {
    (geometry.block_index(ppn), geometry.flash_page(ppn))
}

/// Whether this call of [`Array::hold`] began to hold units back.
#[must_use]
pub(crate) struct UnitHold(pub(crate) bool);

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

    /// Die within the unit and plane within the die. A redirected read counts as one of the same place on its chip.
    fn place(&self, plane: Plane) -> (u32, u32) {
        (plane.number() / self.planes_per_die % self.dies_per_unit, plane.number() % self.planes_per_die)
    }
}

fn kind(work: Work) -> u8 {
    match work {
        Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => 0,
        Work::HostProgram | Work::OwnProgram => 1,
        Work::OwnErase => 2,
        Work::Parity => 3,
    }
}

impl Array {
    /// Chains companions for the command of one that starts, by `next`. Returns the number of planes.
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

    fn goes_with(&self, first: &Op, candidate: u32) -> bool {
        let op = &self.ops[candidate];
        let page = |op: &Op| self.geometry.page_in_block(op.ppn);
        let anywhere = self.multi_plane.rule == MultiPlane::AnyPage || op.work == Work::OwnErase;
        let same_kind = kind(op.work) == kind(first.work) && !op.offline;
        let on_flash = op.work != Work::OwnRead || self.flash_has(candidate);
        same_kind && on_flash && (anywhere || page(op) == page(first)) && self.may_start(candidate)
    }

    #[inline]
    pub(super) fn planes_after(&self, slot: u32) -> u64 {
        let (mut count, mut next) = (0, self.ops[slot].next);
        while next != NONE {
            (count, next) = (count + 1, self.ops[next].next);
        }
        count
    }

    /// Chains reads of the flash page of one that starts, by `next`. Returns the number of pages.
    pub(super) fn gather_sense(&mut self, unit: Unit, queue: Queue, slot: u32) -> u64 {
        let (first, most) = (self.ops[slot], u64::from(self.geometry.sense_pages));
        if let Some(waiting) = &mut self.waiting_senses
            && queue == Queue::Reads
            && *waiting.of_page(&self.geometry, first.ppn) == 0
        {
            return 1;
        }
        let wanted = place_of_sense(&self.geometry, first.ppn);
        let (mut last, mut before, mut pages) = (slot, NONE, 1);
        let mut candidate = self.units[unit].head(queue);
        for _ in 0..WINDOW {
            if candidate == NONE || pages == most {
                break;
            }
            let op = &self.ops[candidate];
            let after = op.next;
            let joins =
                op.work == first.work && !op.offline && place_of_sense(&self.geometry, op.ppn) == wanted;
            if joins && (queue == Queue::Reads || self.flash_has(candidate)) {
                self.units[unit].pop_after(queue, before, &mut self.ops);
                self.ops[last].next = candidate;
                self.ops[candidate].next = NONE;
                (last, pages) = (candidate, pages + 1);
            } else if op.work == Work::OwnErase {
                // A read behind it may need the block's new data.
                break;
            } else {
                before = candidate;
            }
            candidate = after;
        }
        pages
    }

    #[inline]
    pub(super) fn sense_awaited(&mut self, ppn: Ppn) {
        if let Some(waiting) = &mut self.waiting_senses {
            *waiting.of_page(&self.geometry, ppn) += 1;
        }
    }

    #[inline]
    pub(super) fn sense_begun(&mut self, ppn: Ppn) {
        if let Some(waiting) = &mut self.waiting_senses {
            *waiting.of_page(&self.geometry, ppn) -= 1;
        }
    }

    pub(super) fn longest_sense_ns(&self, first: u32) -> u64 {
        let next = |&slot: &u32| Some(self.ops[slot].next).filter(|&next| next != NONE);
        std::iter::successors(Some(first), next)
            .map(|slot| self.sense_ns(self.ops[slot].ppn))
            .max()
            .unwrap_or(0)
    }

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
