//! Requests arrive: reads are decided at once, writes as soon as they can be ([`super::undecided`]), and
//! what the flash must do is queued.

use flashtwin_bits::prefetch;
use flashtwin_ftl::{Content, FlashOp, Host, IDLE_STEP, Lpn, OpKind, ReadOutcome, ReadTarget, Unit};
use flashtwin_nand::Ppn;
use flashtwin_trace::{Op as HostOp, Window};

use super::flush::NO_EPOCH;
use super::ledger::{Charge, Ledger};
use super::pool::{NONE, NOT_STARTED, Op, Request, Work};
use super::tables::Then;
use super::unit::Queue;
use super::{Arrived, Controller, Engine, FOREVER, Observer};
use crate::error::SimError;

/// How many page operations ahead memory is asked for the controller's tables. A table's entry says where in the next
/// table to look, so that there are several distances, each for the table after: [`Controller::prefetch_far`],
/// `prefetch_near`, `prefetch_next`, `prefetch_last`. A few operations are about as long as memory takes to answer.
pub(super) const FAR: usize = 16;
pub(super) const NEAR: usize = 8;
const NEXT: usize = 4;
const LAST: usize = 2;
/// How many page operations or requests ahead memory is asked for the columns of the trace.
const COLUMN: usize = 64;
/// Entries of a column of 32-bit numbers that share a cache line: one request for memory serves them all.
const LINE: usize = 16;

/// How the requests of a window become arrivals.
#[derive(Debug, Clone, Copy)]
pub struct Arrivals<'a> {
    /// The window; a trace in memory is a single one.
    pub window: Window<'a>,
    /// Requests under way at any time; 0: by the trace's clock.
    pub queue_depth: u32,
    /// The trace's clock runs this many times faster.
    pub speed: f64,
    /// Whether a write of part of a page reads the rest first.
    pub read_modify_write: bool,
}

impl Arrivals<'_> {
    /// Asks the memory for the columns of requests to come. Each column is read in order, but there are more
    /// of them side by side than a processor's own prefetching follows.
    #[inline]
    fn look_ahead(&self, index: usize) {
        if index.is_multiple_of(LINE / 2) {
            prefetch(self.window.time_ns, index + COLUMN);
            prefetch(self.window.first_page_op, index + COLUMN);
            prefetch(self.window.op, index + COLUMN);
            prefetch(self.window.marks, index + COLUMN);
        }
    }

    /// Request `index` of the window as it arrives at `arrival_ns`.
    #[cold]
    #[inline(never)]
    fn arrived(&self, index: usize, arrival_ns: u64) -> Arrived {
        let window = &self.window;
        Arrived {
            number: window.first_request + index as u64,
            kind: window.op[index],
            pages: window.first_page_op[index + 1] - window.first_page_op[index],
            time_ns: window.time_ns[index],
            arrival_ns,
        }
    }

    /// Arrival of request `index` of the window by the trace's clock, in simulated nanoseconds.
    #[inline]
    pub fn arrival_ns(&self, index: usize) -> u64 {
        self.simulated_ns(self.window.time_ns[index])
    }

    /// A time of the trace's clock in simulated nanoseconds.
    #[inline]
    pub fn simulated_ns(&self, time_ns: i64) -> u64 {
        let time_ns = time_ns as u64;
        if self.speed == 1.0 {
            return time_ns;
        }
        (time_ns as f64 / self.speed) as u64
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Gets ready for a window's requests.
    pub fn begin_window(&mut self) {
        self.ahead = [0; 2];
    }

    /// Lets time pass until request `index` of the window arrives, and takes it in.
    ///
    /// # Errors
    /// What the controller reports, or a rule of the medium that was broken.
    #[inline]
    pub fn serve(&mut self, arrivals: &Arrivals<'_>, index: usize) -> Result<(), SimError> {
        arrivals.look_ahead(index);
        let arrival = if arrivals.queue_depth == 0 {
            arrivals.arrival_ns(index)
        } else {
            self.next_place(arrivals.queue_depth)
        };
        self.first_arrival_ns = self.first_arrival_ns.min(arrival);
        let taken_in = arrival + self.controller_ns;
        if taken_in >= self.checkpoint_ns {
            self.checkpoint_until(taken_in);
        }
        while self.step(taken_in) {}
        self.now_ns = taken_in;
        let held = self.hold();
        self.take_in(arrivals, index, arrival)?;
        self.release(held);
        self.tell_jobs_done();
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Closed loop: when the next request arrives. The first `depth` requests take a place each at time 0; every
    /// later one takes the place of a request that is complete, the moment that this one leaves it.
    fn next_place(&mut self, depth: u32) -> u64 {
        if self.places < depth {
            self.places += 1;
            return 0;
        }
        while self.places_freed_ns.is_empty() && self.step(FOREVER) {}
        self.places_freed_ns.pop_front().unwrap_or(self.now_ns)
    }

    /// A request is complete.
    #[inline]
    pub(super) fn leave(&mut self, kind: HostOp) {
        self.counts.requests[kind as usize] += 1;
        self.last_response_ns = self.now_ns;
        if self.places > 0 {
            self.places_freed_ns.push_back(self.now_ns);
        }
    }

    #[inline]
    fn take_in(&mut self, arrivals: &Arrivals<'_>, index: usize, arrival_ns: u64) -> Result<(), SimError> {
        let trace = &arrivals.window;
        let kind = trace.op[index];
        let followed = self.observer.follows_requests().then(|| arrivals.arrived(index, arrival_ns));
        let pages = trace.first_page_op[index] as usize..trace.first_page_op[index + 1] as usize;
        self.counts.page_ops[kind as usize] += pages.len() as u64;
        if kind == HostOp::Trim {
            // A trim of part of a page leaves the page.
            for at in pages.filter(|&at| !trace.is_partial(index, at)) {
                self.trim_cached(Lpn::new(trace.lpn[at]));
                self.trim_page(Lpn::new(trace.lpn[at]));
            }
            if self.tables.is_some() {
                self.controller.begin_jobs(&mut self.own_ops)?;
                self.queue_own(false);
            }
            self.leave(HostOp::Trim);
            if let Some(arrived) = &followed {
                self.observer.trimmed(arrived);
            }
            return Ok(());
        }
        let durable = trace.is_durable(index);
        let epoch = if kind == HostOp::Write { self.flushes.write_begins(durable) } else { NO_EPOCH };
        let request = self.requests.insert(Request::new(arrival_ns, pages.len() as u32, epoch));
        if let Some(arrived) = &followed {
            self.observer.arrived(request, arrived);
        }
        if kind == HostOp::Flush {
            return self.take_in_flush(request);
        }
        if pages.is_empty() {
            self.requests[request].pages_left = 1;
            self.page_done(request, None, |_, _| ());
            return Ok(());
        }
        if kind == HostOp::Read {
            for at in pages {
                self.look_ahead(trace, at);
                self.read_page(Lpn::new(trace.lpn[at]), request)?;
                self.controller.begin_jobs(&mut self.own_ops)?;
                self.queue_own(false);
            }
            return Ok(());
        }
        if self.write_cache.is_some() {
            if !self.flushes.passes_cache(durable) {
                return self.cache_pages(arrivals, index, pages, request);
            }
            // What the cache has of the pages is out of date.
            for at in pages.clone() {
                self.trim_cached(Lpn::new(trace.lpn[at]));
            }
        }
        self.write_pages(arrivals, index, &pages, request)
    }

    /// What a page operation writes.
    #[inline]
    pub(super) fn host_page(&self, trace: &Window<'_>, at: usize) -> Host {
        let lpn = trace.lpn[at];
        let address = if self.wants_address { trace.lpn_address[lpn as usize] } else { 0 };
        Host { lpn: Lpn::new(lpn), address, content: Content::new(trace.content[at]) }
    }

    /// Lets the controller ask for the memory that the next page operations will need.
    #[inline]
    pub(super) fn look_ahead(&mut self, trace: &Window<'_>, at: usize) {
        if at.is_multiple_of(LINE) {
            prefetch(trace.lpn, at + COLUMN);
            prefetch(trace.content, at + COLUMN);
        }
        if let (Some(lpn), Some(content)) = (Self::ahead(trace.lpn, at), Self::ahead(trace.content, at)) {
            let writes = self.writes_ahead(trace, at);
            self.controller.prefetch_far(Lpn::new(lpn[FAR]), Content::new(content[FAR]), writes[0]);
            if self.wants_address {
                prefetch(trace.lpn_address, lpn[FAR] as usize);
            }
            self.controller.prefetch_near(Lpn::new(lpn[NEAR]), Content::new(content[NEAR]), writes[1]);
            self.controller.prefetch_next(Lpn::new(lpn[NEXT]), Content::new(content[NEXT]));
            self.controller.prefetch_last(Lpn::new(lpn[LAST]));
            if self.wants_address {
                self.prefetch_place(trace.lpn_address[lpn[NEXT] as usize]);
            }
        }
    }

    /// A column from page operation `at` to the one far ahead, if the trace goes on for so long.
    #[inline]
    fn ahead(column: &[u32], at: usize) -> Option<&[u32; FAR + 1]> {
        column.get(at..)?.first_chunk()
    }

    /// Asks for the state of the block and of the unit that a write to `address` will probably go to.
    #[inline]
    fn prefetch_place(&self, address: u64) {
        if let Some(ppn) = self.controller.prefetch_place(address) {
            self.blocks.prefetch(self.geometry.block_index(ppn));
            self.units.prefetch(self.unit_of_plane[self.geometry.plane(ppn)]);
        }
    }

    /// Whether the page operations far and near ahead are writes, where the controller wants to know.
    #[inline]
    fn writes_ahead(&mut self, trace: &Window<'_>, at: usize) -> [bool; 2] {
        if !self.wants_kind {
            return [true; 2];
        }
        let mut writes = [true; 2];
        for (write, (request, at)) in writes.iter_mut().zip(self.ahead.iter_mut().zip([at + FAR, at + NEAR]))
        {
            while trace.first_page_op[*request + 1] as usize <= at {
                *request += 1;
            }
            *write = trace.op[*request] == HostOp::Write;
        }
        writes
    }

    #[inline]
    fn read_page(&mut self, lpn: Lpn, request: u32) -> Result<(), SimError> {
        if self.read_cached(lpn, request) {
            return Ok(());
        }
        if let Some(write) = self.undecided.newest(lpn) {
            self.read_undecided(write, request);
            return Ok(());
        }
        self.read_decided(lpn, request, None)
    }

    /// Serves a read of a page all of whose writes are decided; `charged` has what the read waited for before.
    #[inline]
    pub(super) fn read_decided(
        &mut self,
        lpn: Lpn,
        request: u32,
        charged: Option<Box<Ledger>>,
    ) -> Result<(), SimError> {
        let (controller, loads, _) = self.controller_and_loads();
        let outcome = controller.read(lpn, &loads)?;
        let errand = self.looked_up();
        match outcome {
            ReadOutcome::Flash { target, data, .. } => {
                if let Some(ppn) = self.place_on_flash(target.ppn) {
                    let target = ReadTarget { ppn, ..target };
                    if errand == NONE {
                        self.queue_host_read(target, data, request, charged);
                    } else {
                        self.keep(&target);
                        self.set_out(errand, Then::Read { target: Some((target, data)), request, charged });
                    }
                    return Ok(());
                }
                if self.awaited.is_some() {
                    return self.read_when_programmed(lpn, (target, data), request, errand, charged);
                }
                self.counts.pages.buffer_reads += 1;
            }
            ReadOutcome::Unmapped => {}
        }
        match errand {
            NONE => self.read_without_flash(request, charged),
            errand => self.set_out(errand, Then::Read { target: None, request, charged }),
        }
        Ok(())
    }

    /// Completes a page read that controller RAM serves, or that finds nothing.
    #[inline(never)]
    fn read_without_flash(&mut self, request: u32, charged: Option<Box<Ledger>>) {
        self.page_done(request, None, |_, ledger| ledger.add_all(charged.as_deref()));
    }

    /// Whether the flash holds what the controller's tables say that this page holds. Otherwise the data are
    /// still on their way there ([`Engine::place_on_flash`]).
    #[inline]
    pub(super) fn holds(&self, ppn: Ppn) -> bool {
        self.flash.is_programmed(&self.geometry, ppn)
            && !self.blocks.erase_is_pending(self.geometry.block_index(ppn))
    }

    #[inline]
    pub(super) fn queue_host_read(
        &mut self,
        target: ReadTarget,
        data: u64,
        request: u32,
        charged: Option<Box<Ledger>>,
    ) {
        let unit = self.unit_of_plane[target.plane];
        let chip = self.units[unit].chip;
        if target.redirected {
            self.counts.pages.redirected_reads += 1;
            self.observer.redirected(chip);
        }
        let charged = match self.merging {
            None => charged,
            Some(_) => match self.join_read(chip, (target, data), request, charged) {
                Ok(()) => return,
                Err(charged) => charged,
            },
        };
        let slot = self.queue_read(target, request, Work::HostRead, NONE);
        if let Some(ledger) = charged {
            self.note_charged(slot, ledger);
        }
        if self.merging.is_some() {
            self.may_be_joined(unit, slot, data);
        }
    }

    /// Notes what was charged to an operation before it came to its unit.
    #[cold]
    pub(super) fn note_charged(&mut self, slot: u32, ledger: Box<Ledger>) {
        self.ops[slot].charged = true;
        self.charged.insert(slot, ledger);
    }

    /// What was charged to an operation before it came to its unit.
    #[cold]
    pub(super) fn take_charged(&mut self, slot: u32) -> Option<Box<Ledger>> {
        self.charged.remove(&slot)
    }

    #[inline]
    pub(super) fn queue_read(&mut self, target: ReadTarget, request: u32, work: Work, other: u32) -> u32 {
        let pins_block = self.geometry.plane(target.ppn) == target.plane;
        if pins_block {
            self.blocks.read_begins(self.geometry.block_index(target.ppn));
        }
        let unit = self.unit_of_plane[target.plane];
        let ReadTarget { redirected, ppn, .. } = target;
        let op = Op { pins_block, redirected, other, request, ready_ns: self.now_ns, ..Op::new(ppn, work) };
        self.enqueue(unit, Queue::Reads, op)
    }

    /// Queues an operation. Inlined, so that its parts are written to their slot: a processor does not read
    /// back in one piece what it has just written in several, but waits until memory has it.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, unit: Unit, queue: Queue, op: Op) -> u32 {
        let slot = self.ops.insert(op);
        self.line_up(unit, queue, slot);
        slot
    }

    fn line_up(&mut self, unit: Unit, queue: Queue, slot: u32) {
        self.units[unit].push(queue, slot, &mut self.ops);
        match queue {
            Queue::Reads => {
                self.load_up(unit, true);
                self.suspend_for_read(unit);
            }
            Queue::Writes => self.load_up(unit, false),
            // The controller's own work is load only while it is in service, and no request waits for it.
            Queue::Background | Queue::Idle => return self.dispatch_or_hold(unit),
        }
        self.dispatch_or_hold(unit);
        self.note_wait(unit, slot);
    }

    /// Notes by whom the unit was held until now if a host's operation that came to it must wait.
    #[inline]
    pub(super) fn note_wait(&mut self, unit: Unit, slot: u32) {
        let op = &mut self.ops[slot];
        if op.start_ns == NOT_STARTED && op.work.host_waits() {
            (op.waits, op.came_ns) = (true, self.now_ns);
            let unit = &self.units[unit];
            self.waits.begin(slot, &unit.held, unit.held_now(self.now_ns));
        }
    }

    /// The life of its block in which a host page just decided will be programmed. A block may
    /// have lived and died several times in the tables while its erases wait for the flash; the
    /// page's number alone does not tell those lives apart.
    #[inline]
    fn life_of_program(&self, ppn: Ppn) -> u32 {
        let block = self.geometry.block_index(ppn);
        let life = self.blocks.decided_life(block);
        // Of the erases that the same write made the controller order, those of a block that
        // the page opens came before the page; those of a block that it closes, after.
        if self.own_ops.is_empty() || self.geometry.page_in_block(ppn) != 0 {
            return life;
        }
        let erases =
            |order: &&FlashOp| order.kind == OpKind::Erase && self.geometry.block_index(order.ppn) == block;
        self.blocks.later(life, self.own_ops.iter().filter(erases).count() as u32)
    }

    /// Queues the program of a host's page; `place` is for [`super::write_buffer`], `charged` is what was charged to it before its decision,
    /// where that is more than its hash and the queue there.
    #[inline]
    pub(super) fn queue_program(
        &mut self,
        ppn: Ppn,
        request: u32,
        place: u32,
        hashed: bool,
        charged: Option<Box<Ledger>>,
    ) {
        let unit = self.unit_of_plane[self.geometry.plane(ppn)];
        let life = self.life_of_program(ppn);
        // A rule of answering needs one of them or none.
        let other = if place == NONE { self.epoch_of_program(request) } else { place };
        let op = Op { request, life, hashed, other, ..Op::new(ppn, Work::HostProgram) };
        let slot = self.enqueue(unit, Queue::Writes, op);
        if let Some(ledger) = charged {
            self.note_charged(slot, ledger);
        }
    }

    /// Completes a page write, just decided, that needs nothing from the flash: a duplicate, or one that is
    /// complete as soon as controller RAM has it.
    #[inline]
    pub(super) fn complete_in_ram(&mut self, request: u32, hashed: bool, charged: Option<Box<Ledger>>) {
        self.page_done(request, None, |engine, ledger| match charged {
            Some(charged) => ledger.add(&charged),
            None => engine.charge_hashing(ledger, request, hashed, engine.now_ns),
        });
    }

    /// Charges the time until its decision, at `decided_ns`, of a page write that waited for nothing but
    /// the hash unit.
    #[inline]
    pub(super) fn charge_hashing(&self, ledger: &mut Ledger, request: u32, hashed: bool, decided_ns: u64) {
        if let Some(hash) = self.hash.as_ref().filter(|_| hashed) {
            let since_ns = self.requests[request].arrival_ns + self.controller_ns;
            let in_unit_ns = decided_ns.saturating_sub(since_ns);
            ledger.charge(Charge::Hash, hash.hash_ns().min(in_unit_ns));
            ledger.charge(Charge::HashQueue, in_unit_ns.saturating_sub(hash.hash_ns()));
        }
    }

    /// Queues what the controller ordered on its own account.
    #[inline]
    pub(super) fn queue_own(&mut self, offline: bool) {
        if self.own_ops.is_empty() {
            return;
        }
        let ordered = std::mem::take(&mut self.own_ops);
        let held = self.hold();
        // The orders may concern blocks all over the device, none of them in the processor's cache.
        for order in &ordered {
            self.blocks.prefetch(self.geometry.block_index(order.ppn));
        }
        for (at, order) in ordered.iter().enumerate() {
            let work = match order.kind {
                OpKind::Read => Work::OwnRead,
                OpKind::Program => Work::OwnProgram,
                OpKind::Erase => Work::OwnErase,
            };
            if order.kind == OpKind::Read && !offline && order.job >= IDLE_STEP && !self.holds(order.ppn) {
                // The page is on its way to the flash. Its copy takes the data from controller RAM, which keeps them
                // until the copy is programmed.
                self.counts.own_buffer_reads[order.cause as usize] += 1;
                self.note_further_move(&ordered[at..]);
                continue;
            }
            if order.kind == OpKind::Erase {
                self.blocks.erase_decided(self.geometry.block_index(order.ppn));
                self.forget_moves_to(self.geometry.block_index(order.ppn));
            }
            let unit = self.unit_of_plane[self.geometry.plane(order.ppn)];
            let FlashOp { urgent, cause, job, .. } = *order;
            // The controller decided for the block's life as its tables have it now, erases under way included.
            let life = self.blocks.decided_life(self.geometry.block_index(order.ppn));
            let op = Op { urgent, offline, cause, job, life, ..Op::new(order.ppn, work) };
            if offline && self.carry_out_offline(unit, op) {
                continue;
            }
            let idle = job < IDLE_STEP && !urgent && !offline;
            let slot = self.enqueue(unit, if idle { Queue::Idle } else { Queue::Background }, op);
            if work == Work::OwnRead && !offline {
                self.note_move(slot, &ordered[at..]);
            }
        }
        self.release(held);
        self.own_ops = ordered;
        self.own_ops.clear();
    }

    /// Ends a profiling period. What the controller then does costs the host nothing (the
    /// mirror serves it): it is handed to `inspect` and carried out in no time, but in order.
    ///
    /// # Errors
    /// What the controller reports.
    pub fn end_period(&mut self, inspect: impl FnOnce(&[FlashOp])) -> Result<(), SimError> {
        self.controller.end_period(&mut self.own_ops)?;
        inspect(&self.own_ops);
        self.queue_own(true);
        self.tell_jobs_done();
        Ok(())
    }
}
