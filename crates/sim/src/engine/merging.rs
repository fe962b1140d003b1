//! Reads that wait for the same data at the same chip: one is served, all are complete.
//!
//! Sources: SSDsim (Hu et al., ICS 2011) for reads of one page, DS-FTL paper, section 4.3.2, for twins.
//! Only a read that still waits can be joined: one in service has begun too early for whoever comes now.

use flashtwin_bits::Slab;
use flashtwin_ftl::{ReadTarget, Unit};
use flashtwin_nand::{Chip, Ppn};
use hashbrown::HashMap;

use super::ledger::{HoldTimes, Ledger, charge_wait};
use super::pool::{NONE, NOT_STARTED, Op};
use super::{Controller, Engine, Observer, ServedBy};
use crate::config::MergeReads;

/// A host read that joined another.
#[derive(Debug, Clone)]
struct Joined {
    request: u32,
    /// Whether another place than this chip holds the home copy.
    redirected: bool,
    /// What was charged to its request before it joined; `None` for nothing.
    charged: Option<Box<Ledger>>,
    /// When the read joined.
    came_ns: u64,
    /// While the party waits: by holder, how long the unit had been held in all when this read joined.
    /// Once the party's read begins: by holder, how long the unit was held from then until the beginning.
    held: HoldTimes,
}

/// A read that waits in a unit's queue, and the reads that have joined it.
#[derive(Debug)]
struct Party {
    /// The chip of the read that waits, and the name of its data: see [`Merging::key`].
    key: (Chip, u64),
    /// The unit in whose queue the read waits.
    unit: Unit,
    joined: Vec<Joined>,
}

/// The reads that may be joined. The operation of such a read has the number of its party in `other`.
#[derive(Debug)]
pub(super) struct Merging {
    /// Whether reads of twins (pages of equal content) are merged, not only reads of one page.
    twins: bool,
    /// The number of the party that waits, by its key.
    waiting: HashMap<(Chip, u64), u32>,
    parties: Slab<Party>,
}

impl Merging {
    pub(super) fn of(rule: MergeReads) -> Option<Self> {
        let twins = rule == MergeReads::SameContent;
        let merges = rule != MergeReads::None;
        merges.then(|| Self { twins, waiting: HashMap::new(), parties: Slab::new() })
    }

    /// What a read of the page `ppn` has in common with those that it may be merged with: the chip, and either
    /// the page or, where twins count, the name `data` that the controller gave to its content.
    fn key(&self, chip: Chip, ppn: Ppn, data: u64) -> (Chip, u64) {
        (chip, if self.twins { data } else { u64::from(ppn.number()) })
    }

    /// The party of a read that waits, if there is one.
    fn find(&mut self, key: (Chip, u64)) -> Option<&mut Party> {
        let party = *self.waiting.get(&key)?;
        self.parties.get_mut(party as usize)
    }

    /// Makes the party of a read that has begun to wait at a unit; returns its number.
    fn wait(&mut self, key: (Chip, u64), unit: Unit) -> u32 {
        let party = self.parties.insert_with(
            || Party { key, unit, joined: Vec::new() },
            |party| (party.key, party.unit) = (key, unit),
        );
        self.waiting.insert(key, party);
        party
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Lets a host read join one that waits at its chip for the same data. `charged` is what was charged
    /// to its request before; where no such read waits, `Err` gives it back.
    pub(super) fn join_read(
        &mut self,
        chip: Chip,
        (target, data): (ReadTarget, u64),
        request: u32,
        charged: Option<Box<Ledger>>,
    ) -> Result<(), Option<Box<Ledger>>> {
        let now = self.now_ns;
        let Some(party) =
            self.merging.as_mut().and_then(|merging| merging.find(merging.key(chip, target.ppn, data)))
        else {
            return Err(charged);
        };
        let held = self.units[party.unit].held_until(now);
        party.joined.push(Joined { request, redirected: target.redirected, charged, came_ns: now, held });
        self.counts.pages.merged_reads += 1;
        Ok(())
    }

    /// A host read has been queued. Unless it was taken up at once, by itself or in another's command, later reads
    /// may join it.
    pub(super) fn may_be_joined(&mut self, unit: Unit, slot: u32, data: u64) {
        let Op { ppn, start_ns, .. } = self.ops[slot];
        if start_ns != NOT_STARTED {
            return;
        }
        let chip = self.units[unit].chip;
        if let Some(merging) = &mut self.merging {
            self.ops[slot].other = merging.wait(merging.key(chip, ppn, data), unit);
        }
    }

    /// A host read begins: from now on nobody can join it, and the waits of those that did are over.
    #[inline]
    pub(super) fn close_party(&mut self, unit: Unit, party: u32) {
        let Some(merging) = self.merging.as_mut().filter(|_| party != NONE) else { return };
        let party = &mut merging.parties[party as usize];
        merging.waiting.remove(&party.key);
        let held = &self.units[unit].held;
        for read in &mut party.joined {
            read.held.iter_mut().zip(held).for_each(|(then, now)| *then = now - *then);
        }
    }

    /// A host read is complete, and with it the reads that joined it, in the order in which they came.
    #[inline]
    pub(super) fn complete_party(&mut self, op: &Op, chip: Chip) {
        if op.other != NONE {
            self.complete_joined(op, chip);
        }
    }

    #[inline(never)]
    fn complete_joined(&mut self, op: &Op, chip: Chip) {
        let Some(merging) = &mut self.merging else { return };
        let mut joined = std::mem::take(&mut merging.parties[op.other as usize].joined);
        for Joined { request, redirected, charged, came_ns, held } in joined.drain(..) {
            self.page_done(request, Some(ServedBy { chip, redirected }), |engine, ledger| {
                ledger.add_all(charged.as_deref());
                charge_wait(ledger, op.start_ns - came_ns, &held);
                engine.charge_command(ledger, op.start_ns, engine.timing.read_ns, 0);
            });
        }
        if let Some(merging) = &mut self.merging {
            merging.parties[op.other as usize].joined = joined;
            merging.parties.free(op.other);
        }
    }
}
