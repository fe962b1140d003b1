//! Program units: neighbouring pages of a block that a die programs at once.
//!
//! Controller RAM keeps a page until its unit is full. Then the pages are transferred one after the other and
//! programmed in one tPROG. Parity is a command without a page.

use std::collections::BTreeMap;

use flashtwin_ftl::{Cause, IDLE_STEP, NO_JOB, Unit};
use flashtwin_nand::{Block, NandDevice, Plane};

use super::{Accounts, Array, NONE, Observer, Op, Pool, Queue, Work};

#[derive(Debug, Clone, Copy)]
struct OpenUnit {
    first: u32,
    last: u32,
}

#[derive(Debug, Clone)]
pub(super) struct ProgramUnits {
    pages: u32,
    /// At most one in a life of a block ([`Op::life`]): pages of the next life come before the last ones of this life if
    /// the data of those are still being read. Ordered, so that the last ones are programmed in a fixed order.
    open: BTreeMap<(Block, u32), OpenUnit>,
    /// By slot of an operation: the next of its unit, [`NONE`] behind the last.
    behind: Vec<u32>,
    host_gathered: u32,
    pub(super) host_under_way: u32,
    /// Units that bring one of parity (0: none); units since the last one, of the host's and of the controller's own.
    data_units: u32,
    since_parity: [u32; 2],
    next_parity: u32,
}

impl ProgramUnits {
    /// None if every page is a unit of its own and there is no parity.
    pub(super) fn of(device: &NandDevice) -> Option<Box<Self>> {
        let pages = device.geometry.program_pages;
        (pages > 1 || device.parity_stripe > 0).then(|| {
            Box::new(Self {
                pages,
                open: BTreeMap::new(),
                behind: Vec::new(),
                host_gathered: 0,
                host_under_way: 0,
                data_units: device.parity_stripe.saturating_sub(1),
                since_parity: [0; 2],
                next_parity: 0,
            })
        })
    }

    fn add(&mut self, life: (Block, u32), slot: u32, host: bool) {
        self.host_gathered += u32::from(host);
        if self.behind.len() <= slot as usize {
            self.behind.resize(slot as usize + 1, NONE);
        }
        self.behind[slot as usize] = NONE;
        let unit = self.open.entry(life).or_insert(OpenUnit { first: slot, last: slot });
        if unit.last != slot {
            self.behind[unit.last as usize] = slot;
            unit.last = slot;
        }
    }

    /// Returns the unit's first operation.
    fn close(&mut self, life: (Block, u32), ops: &Pool<Op>) -> Option<u32> {
        let first = self.open.remove(&life)?.first;
        let hosts = self.chain(first).filter(|&slot| ops[slot].work == Work::HostProgram).count() as u32;
        self.host_gathered -= hosts;
        self.host_under_way += hosts;
        Some(first)
    }

    fn chain(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(first), |&slot| {
            Some(self.behind[slot as usize]).filter(|&next| next != NONE)
        })
    }

    /// Chains the operations of a unit that starts, by [`Op::next`]. Returns their number.
    pub(super) fn start(&self, first: u32, ops: &mut Pool<Op>) -> u64 {
        let mut pages = 0;
        for slot in self.chain(first) {
            ops[slot].next = self.behind[slot as usize];
            pages += 1;
        }
        pages
    }

    fn brings_parity(&mut self, host: bool) -> bool {
        let since = &mut self.since_parity[usize::from(!host)];
        *since += 1;
        let due = self.data_units > 0 && *since == self.data_units;
        *since = if due { 0 } else { *since };
        due
    }
}

impl Array {
    #[inline]
    pub(crate) fn gathers(&self) -> bool {
        self.geometry.program_pages > 1
    }

    /// Those that wait for the rest of their unit, and those whose unit is full and not programmed.
    pub(crate) fn host_pages_in_units(&self) -> (u32, u32) {
        self.program_units.as_ref().map_or((0, 0), |units| (units.host_gathered, units.host_under_way))
    }

    /// A program waits for the rest of its unit, which is queued with the last page.
    #[inline(never)]
    pub(super) fn gather_program<O: Observer>(
        &mut self,
        unit: Unit,
        queue: Queue,
        slot: u32,
        accounts: &mut Accounts<O>,
    ) {
        let op = self.ops[slot];
        let (host, life) = (op.work == Work::HostProgram, (self.geometry.block_index(op.ppn), op.life));
        if host {
            self.load_up(unit, false, accounts);
        }
        if self.gathers() {
            // Controller RAM has the page: nothing of a job is left to do, and the unit takes its time.
            self.note_job_done(&op);
            self.ops[slot].job = if op.job == NO_JOB { NO_JOB } else { IDLE_STEP };
            self.ops[slot].offline = false;
        }
        let Some(units) = &mut self.program_units else { return };
        units.add(life, slot, host);
        if self.geometry.begins_unit(self.geometry.page_in_block(op.ppn) + 1) {
            self.queue_unit(unit, queue, life, accounts);
        }
        self.note_wait(unit, slot, accounts);
    }

    fn queue_unit<O: Observer>(
        &mut self,
        unit: Unit,
        queue: Queue,
        life: (Block, u32),
        accounts: &mut Accounts<O>,
    ) {
        let Some(units) = &mut self.program_units else { return };
        let Some(first) = units.close(life, &self.ops) else { return };
        let urgent = units.chain(first).any(|slot| self.ops[slot].urgent);
        let host = self.ops[first].work == Work::HostProgram;
        let brings_parity = units.brings_parity(host);
        self.ops[first].urgent = urgent;
        let queue = if host { Queue::Writes } else { queue };
        self.units[unit].push(queue, first, &mut self.ops);
        self.dispatch_or_hold(unit, accounts);
        if brings_parity {
            self.queue_parity(host, accounts);
        }
    }

    fn queue_parity<O: Observer>(&mut self, host: bool, accounts: &mut Accounts<O>) {
        let Some(units) = &mut self.program_units else { return };
        let unit = Unit::new(units.next_parity);
        units.next_parity = (units.next_parity + 1) % self.units.len() as u32;
        let plane = Plane::new(unit.number() * (self.geometry.planes() / self.units.len() as u32));
        let (queue, cause) = if host { (Queue::Writes, Cause::Host) } else { (Queue::Background, Cause::Gc) };
        let op = Op { cause, ..Op::new(self.geometry.ppn(plane, 0, 0), Work::Parity) };
        let slot = self.ops.insert(op);
        accounts.counts.parity_pages += u64::from(units.pages);
        self.units[unit].push(queue, slot, &mut self.ops);
        self.dispatch_or_hold(unit, accounts);
    }

    pub(crate) fn program_open_units<O: Observer>(&mut self, accounts: &mut Accounts<O>) {
        while let Some(&life) = self.program_units.as_ref().and_then(|units| units.open.keys().next()) {
            let unit = self.unit_of_plane[self.geometry.plane_of_block(life.0)];
            self.queue_unit(unit, Queue::Background, life, accounts);
        }
    }
}

#[cfg(test)]
mod tests {
    use flashtwin_nand::Ppn;

    use super::*;

    #[test]
    fn pages_of_the_next_life_have_a_unit_of_their_own() {
        let mut device =
            flashtwin_nand::NandDevice::from_toml(flashtwin_nand::device_toml("rr-ssd").unwrap()).unwrap();
        device.geometry.program_pages = 3;
        let mut units = ProgramUnits::of(&device).unwrap();
        let [this, next] = [0, 1].map(|life| (Block::new(7), life));
        let mut ops = Pool::new();
        // The data of the last page are read while the host writes pages that wait for the erase.
        for life in [this, this, next, this, next] {
            let slot = ops.insert(Op::new(Ppn::new(0), Work::OwnProgram));
            units.add(life, slot, false);
        }
        let closed = [this, next].map(|life| units.close(life, &ops).unwrap());
        assert_eq!(closed.map(|first| units.chain(first).collect::<Vec<_>>()), [vec![0, 1, 3], vec![2, 4]]);
    }
}
