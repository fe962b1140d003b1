//! The host's side: requests and their page operations, from their arrival to their answer.
//!
//! Four structs, each with the methods for its own state. A struct calls only those below it:
//!
//! | struct | owns |
//! | --- | --- |
//! | [`Engine`] | the clock: arrivals, events, checkpoints |
//! | [`Decider`] | page operations and their waits: mapping tables, hash unit, write buffer |
//! | [`Interface`] | requests until their answer: front end, write and read cache, flushes |
//! | [`BackEnd`] | the controller, and the array that carries out its orders |
//!
//! A page write is decided when its hash is known, a page read when it arrives.
//!
//! Rare paths, and those of few systems, are kept out of line (`cold`, `inline(never)`). Inlined
//! into the functions that serve every page operation, they no longer fitted into a processor's
//! first-level instruction cache together.

mod arrival;
mod back_end;
mod clock;
mod completions;
mod decider;
mod decisions;
mod destaging;
mod flush;
mod front;
mod hash_unit;
mod holds;
mod intake;
mod interface;
mod look_ahead;
mod page_op;
mod read_cache;
mod reads;
mod request;
mod slots;
mod table_reads;
mod tables;
#[cfg(test)]
mod tests;
mod waits;
mod write_buffer;
mod write_cache;
mod write_table;
mod writes;

use flashtwin_bits::By;
pub use flashtwin_ftl::Controller;
use flashtwin_ftl::{Content, TablePage};
use flashtwin_nand::{Chip, FlashArray, NandDevice};

use super::accounts::{Accounts, Books, Charge, Completed, Ledger, Observer, OpenLedger, ServedBy};
use super::array::{Array, Completion};
use super::pool::{NONE, Pool};
use crate::config::EngineConfig;
use back_end::BackEnd;
use decider::Decider;
use hash_unit::HashUnit;
use interface::Interface;
use page_op::PageOps;
use request::Request;
use tables::Tables;
use waits::Waits;

pub use arrival::Arrivals;
pub(crate) use arrival::simulated_ns;

const NO_EVENT: u64 = u64::MAX;

/// A time that no event has: 584 years. Serving up to here is serving all that is pending.
const FOREVER: u64 = u64::MAX - 1;

/// Conditions that page operations wait for, for example the arrival of a mapping-table page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Condition {
    /// This page of the mapping tables is in RAM.
    TablePage(TablePage),
    /// The controller has decided this page write.
    Decision(u32),
    /// The earlier write of the same page has reached the hash unit (which keeps order) or is decided.
    EarlierWrite(u32),
    /// It is known whether the content of this page write, a sample of other pages, was found.
    Sample(u32),
}

#[derive(Debug, Clone)]
struct Checkpoints {
    next_ns: u64,
    every_ns: u64,
}

#[derive(Clone)]
pub struct Engine<C, O> {
    decider: Decider<C, O>,
    checkpoints: Checkpoints,
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// An idle device at time 0. The seed drives random events in the array.
    pub fn new(
        mut controller: C,
        observer: O,
        device: &NandDevice,
        config: &EngineConfig,
        flash: FlashArray,
        hashes: bool,
        seed: u64,
    ) -> Self {
        controller.erases_take_time();
        let back = BackEnd::new(controller, observer, Array::new(device, config, flash, seed));
        let interface = Interface::new(config, device.geometry.page_bytes, seed);
        Self {
            decider: Decider::new(back, interface, config, hashes),
            checkpoints: Checkpoints { next_ns: NO_EVENT, every_ns: NO_EVENT },
        }
    }

    pub fn controller(&self) -> &C {
        &self.decider.back.controller
    }

    pub(crate) fn controller_mut(&mut self) -> &mut C {
        &mut self.decider.back.controller
    }

    /// A content's number is another's from now on.
    pub(crate) fn forget_cached(&mut self, content: Content) {
        if let Some(cache) = &mut self.decider.interface.read_cache {
            cache.forget_content(content);
        }
    }

    pub fn accounts(&self) -> &Accounts<O> {
        &self.decider.back.accounts
    }

    pub(crate) fn accounts_mut(&mut self) -> &mut Accounts<O> {
        &mut self.decider.back.accounts
    }

    pub fn into_observer(self) -> O {
        self.decider.back.accounts.observer
    }

    pub(crate) fn channel_busy_ns(&self) -> Vec<u64> {
        self.decider.back.array.channel_busy_ns()
    }

    pub fn chip_busy_ns(&self) -> By<Chip, Vec<u64>> {
        self.decider.back.array.chip_busy_ns()
    }

    /// Operations waiting and in service at each chip, now.
    pub fn queue_lengths(&self) -> &By<Chip, Vec<u32>> {
        self.decider.back.array.queue_lengths()
    }

    pub fn now_ns(&self) -> u64 {
        self.decider.back.now_ns()
    }

    /// When the first request arrived and when the last one was complete, in simulated time; `None` before any.
    pub fn served_ns(&self) -> Option<(u64, u64)> {
        self.accounts().served_ns()
    }

    /// Whether requests pass a front end: submission queues with a limit, slots, or a link.
    pub(crate) fn has_front(&self) -> bool {
        self.decider.interface.front.is_some()
    }

    pub(crate) fn pages_hashed(&self) -> u64 {
        self.decider.hash.as_ref().map_or(0, HashUnit::pages)
    }

    /// Lanes of the hash unit, and the time of a page; `None` for a system that does not hash.
    pub(crate) fn hash_unit(&self) -> Option<(u64, u64)> {
        self.decider.hash.as_ref().map(|hash| (hash.lanes(), hash.hash_ns()))
    }
}
