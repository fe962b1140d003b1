//! Page writes that the controller has not decided yet. They wait for pages of the mapping tables, for
//! their old page, for the sample of their run, for the hash unit, or for an earlier write of their page.
//!
//! A drive knows whether a page must be programmed only when its hash is known (RR-SSD paper III.B), and it
//! can write a page only when it has all of it. So the controller is asked then, with the loads of that
//! moment, and not before. Until then the page is in controller RAM: reads of it are served from there and
//! count towards its content as soon as that is known; a trim takes effect after it.

use std::collections::VecDeque;
use std::ops::Range;

use flashtwin_ftl::dedup::sample_of;
use flashtwin_ftl::{Content, Host, Lpn};
use hashbrown::HashMap;

use super::super::accounts::Accounts;
use super::super::pool::Slot;
use super::look_ahead::{FAR, NEAR};
use super::newest::Newest;
use super::tables::Then;
use super::{Arrivals, Charge, Controller, Engine, Ledger, NONE, Observer, OpenLedger, Pool};
use crate::config::WriteCompletes;
use crate::error::SimError;

/// Whether a page write goes through the hash unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fingerprint {
    /// The system does not look at contents, or the sample of the page's run was not found.
    No,
    /// Yes. Of pages that share a sample, these are the sample, and all of them once the sample is found.
    Yes,
    /// As soon as it is known whether the content of its sample was found: then yes, else no.
    AsSample,
}

/// How far a page write has come. One that does not go through the hash unit stays in `Needs` until it is
/// decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for what it needs, or for an earlier write of its page.
    Needs,
    /// It waits for the hash unit or is in it; the unit serves page writes in the order in which they come.
    Hashing,
    /// Its hash is known. It waits for a page of the fingerprint store, or for an earlier write that does.
    Known,
}

/// A page write that the controller has not decided yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageWrite {
    page: Host,
    request: u32,
    /// The undecided write of the same page that came just before this one, which must be decided first.
    before: u32,
    /// The undecided write of the same page that came just after this one.
    behind: u32,
    /// Next free slot.
    next: u32,
    /// How many of these it still waits for: its tables, its old page, its sample.
    needs: u8,
    fingerprint: Fingerprint,
    stage: Stage,
    /// It has waited for nothing but the hash unit, so that its wait can be worked out from its request.
    plain: bool,
    /// It is the sample of other pages, which wait for it: [`Undecided::followers`].
    is_sample: bool,
    /// It is in [`Undecided::due`].
    due: bool,
    /// The page is trimmed as soon as it is written.
    trimmed: bool,
    /// Reads that it served from controller RAM: the controller is told of them once the content is known.
    reads: u32,
    /// What it was charged so far, where it waited for more than the hash unit.
    charged: OpenLedger,
    /// When it came to the hash unit.
    entered_ns: u64,
}

impl Slot for PageWrite {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// All page writes that are not decided yet.
#[derive(Debug)]
pub(super) struct Undecided {
    writes: Pool<PageWrite>,
    /// By logical page, its newest undecided write.
    newest: Newest,
    /// By the write that is a sample: the writes that share it.
    followers: HashMap<u32, Vec<u32>>,
    /// By write: the requests that read its page and wait for it, and since when; only where controller RAM
    /// serves no reads.
    readers: HashMap<u32, Vec<(u32, u64)>>,
    /// Writes that may have all they need, to be looked at one after the other: deciding one may let others
    /// go on, which are appended here rather than decided within its decision.
    due: VecDeque<u32>,
    /// Whether somebody is working through `due`.
    looking: bool,
}

impl Undecided {
    pub(super) fn new() -> Self {
        Self {
            writes: Pool::new(),
            newest: Newest::new(),
            followers: HashMap::new(),
            readers: HashMap::new(),
            due: VecDeque::new(),
            looking: false,
        }
    }

    /// The newest undecided write of a logical page.
    #[inline]
    pub(super) fn newest(&self, lpn: Lpn) -> Option<u32> {
        Some(self.newest.of(lpn)).filter(|&write| write != NONE)
    }

    /// Charges part of the wait of a page write, unless its request is complete and nobody asks.
    pub(super) fn charge<O: Observer>(&mut self, write: u32, ledger: &Ledger, accounts: &mut Accounts<O>) {
        let write = &mut self.writes[write];
        if write.request != NONE {
            write.plain = false;
            accounts.charge(&mut write.charged, ledger);
        }
    }

    /// Whether the page of a write is trimmed as soon as it is written.
    pub(super) fn is_trimmed(&self, write: u32) -> bool {
        self.writes[write].trimmed
    }

    /// A read was served from controller RAM, which has the page of a write.
    pub(super) fn count_read(&mut self, write: u32) {
        self.writes[write].reads += 1;
    }

    /// A request waits since `since_ns` for a write, to read its page.
    pub(super) fn wait_to_read(&mut self, write: u32, request: u32, since_ns: u64) {
        self.readers.entry(write).or_default().push((request, since_ns));
    }

    /// The requests that waited for a write to read its page, and since when.
    pub(super) fn take_readers(&mut self, write: u32) -> Vec<(u32, u64)> {
        self.readers.remove(&write).unwrap_or_default()
    }

    /// A page write has arrived.
    #[inline]
    fn insert(&mut self, page: Host, request: u32, fingerprint: Fingerprint) -> u32 {
        let slot = self.writes.insert(PageWrite {
            page,
            request,
            before: NONE,
            behind: NONE,
            next: NONE,
            needs: 0,
            fingerprint,
            stage: Stage::Needs,
            plain: true,
            is_sample: false,
            due: false,
            trimmed: false,
            reads: 0,
            charged: OpenLedger::NONE,
            entered_ns: 0,
        });
        let before = self.newest.replace(page.lpn, slot);
        if before != NONE {
            self.writes[slot].before = before;
            self.writes[before].behind = slot;
        }
        slot
    }

    /// A page write is decided.
    #[inline]
    fn remove(&mut self, slot: u32) -> PageWrite {
        let write = self.writes[slot];
        match write.behind {
            NONE => self.newest.remove(write.page.lpn),
            behind => self.writes[behind].before = NONE,
        }
        self.writes.remove(slot);
        write
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Takes in the pages of a request to write, in runs that share a sample.
    pub(super) fn write_pages(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        pages: &Range<usize>,
        request: u32,
    ) -> Result<(), SimError> {
        let request = self.tell_of_pages(request, pages.len());
        for first in pages.clone().step_by(self.sampling_pages) {
            let run = first..pages.end.min(first + self.sampling_pages);
            if run.len() == 1 {
                let fingerprint = if self.hash.is_some() { Fingerprint::Yes } else { Fingerprint::No };
                self.write_page_of(arrivals, index, first, request, fingerprint)?;
            } else {
                self.write_run(arrivals, index, run, request)?;
            }
        }
        Ok(())
    }

    /// Completes the request where writes are complete as soon as controller RAM has them, whatever its
    /// pages still need. Returns the request to tell when a page is written; [`NONE`] where it was told now.
    fn tell_of_pages(&mut self, request: u32, pages: usize) -> u32 {
        if self.write_completes != WriteCompletes::Buffered {
            return request;
        }
        (0..pages).for_each(|_| self.page_done(request, None, |_, _| ()));
        NONE
    }

    /// Takes in one page of a request; returns its number among the undecided writes, `None` if it is decided.
    #[inline]
    fn write_page_of(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        at: usize,
        request: u32,
        fingerprint: Fingerprint,
    ) -> Result<Option<u32>, SimError> {
        self.look_ahead(&arrivals.window, at);
        let partial = arrivals.window.is_partial(index, at);
        self.accounts.counts.pages.partial_writes += u64::from(partial);
        let page = self.host_page(&arrivals.window, at);
        self.write_page(page, partial && arrivals.read_modify_write, request, fingerprint)
    }

    /// Takes in pages that share a sample: the sample goes to the hash unit first, the others wait for
    /// what is found of it. A page whose rest must be read first would keep them waiting, so that it is
    /// no sample if another page can be.
    #[inline(never)]
    fn write_run(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        run: Range<usize>,
        request: u32,
    ) -> Result<(), SimError> {
        let trace = &arrivals.window;
        let whole: Range<usize> = run.start + usize::from(trace.is_partial(index, run.start))
            ..run.end - usize::from(trace.is_partial(index, run.end - 1));
        let among = if whole.is_empty() { run.clone() } else { whole };
        let sample = among.start + sample_of(Content::named(&trace.content[among]));
        self.look_ahead(trace, sample);
        let partial = trace.is_partial(index, sample);
        self.accounts.counts.pages.partial_writes += u64::from(partial);
        let page = self.host_page(trace, sample);
        let slot = self.undecided.insert(page, request, Fingerprint::Yes);
        // It may be decided as soon as all of its run wait for it.
        (self.undecided.writes[slot].is_sample, self.undecided.writes[slot].needs) = (true, 1);
        self.prepare_page(slot, partial && arrivals.read_modify_write)?;
        let mut followers = Vec::with_capacity(run.len() - 1);
        for at in run.filter(|&at| at != sample) {
            let fingerprint = Fingerprint::AsSample;
            followers.extend(self.write_page_of(arrivals, index, at, request, fingerprint)?);
        }
        self.undecided.followers.insert(slot, followers);
        self.undecided.writes[slot].needs -= 1;
        self.look_at(slot)
    }

    /// Takes in a page write. Decides it at once if it waits for nothing; otherwise returns its number.
    #[inline]
    pub(super) fn write_page(
        &mut self,
        page: Host,
        partial: bool,
        request: u32,
        fingerprint: Fingerprint,
    ) -> Result<Option<u32>, SimError> {
        let at_once = match fingerprint {
            Fingerprint::No => true,
            Fingerprint::Yes => self.hash.as_ref().is_some_and(|hash| hash.takes_no_time()),
            Fingerprint::AsSample => false,
        };
        let prepared = partial || self.tables.is_some();
        if at_once && !prepared && self.undecided.newest(page.lpn).is_none() {
            if fingerprint == Fingerprint::Yes
                && let Some(hash) = &mut self.hash
            {
                hash.pass();
            }
            self.decide(page, fingerprint == Fingerprint::Yes, request, OpenLedger::NONE)?;
            return Ok(None);
        }
        let slot = self.undecided.insert(page, request, fingerprint);
        let alone = !prepared && self.undecided.writes[slot].before == NONE;
        if alone && fingerprint == Fingerprint::Yes {
            self.note_arrival(page.lpn);
            self.enter(slot);
        } else {
            self.prepare_page(slot, partial)?;
        }
        Ok(Some(slot))
    }

    /// Reads what a page write needs before it can be hashed: pages of the tables, its old page.
    #[inline(never)]
    fn prepare_page(&mut self, slot: u32, partial: bool) -> Result<(), SimError> {
        let PageWrite { page, before, .. } = self.undecided.writes[slot];
        // The data of a write that is not decided yet are in RAM, and so is what a trim leaves of it.
        let partial = partial && before == NONE;
        let there = match partial && self.array.awaits_programs() {
            true => self.place_there(page.lpn)?,
            false => None,
        };
        if partial || self.tables.is_some() {
            let (controller, loads, _) = self.controller_and_loads();
            let chosen = controller.prepare_write(page.lpn, partial, &loads)?;
            let old = self.old_page(chosen, there);
            let errand = self.looked_up();
            let waits_for_old = old.is_some();
            self.undecided.writes[slot].needs += u8::from(waits_for_old || errand != NONE);
            match old {
                Some((old, false)) => {
                    self.await_old_page(old, slot, errand);
                }
                Some((old, true)) if errand == NONE => {
                    self.read_old_page(old, slot);
                }
                old if errand != NONE => {
                    let old = old.map(|(old, _)| old);
                    old.iter().for_each(|old| self.array.pin(old));
                    self.set_out(errand, Then::Write { write: slot, old });
                }
                _ => {}
            }
        }
        self.note_arrival(page.lpn);
        self.look_at(slot)
    }

    #[inline]
    fn note_arrival(&mut self, lpn: Lpn) {
        if !self.array.awaits_programs() {
            // Not where reads wait for writes: such a read may reach the flash after a newer write has arrived.
            self.controller.arrived(lpn);
        }
    }

    /// A page write has one of the things that it needs: its old page, or pages of the mapping tables.
    pub(super) fn got_what_it_needs(&mut self, slot: u32) {
        self.undecided.writes[slot].needs -= 1;
        if let Err(error) = self.look_at(slot) {
            self.accounts.fail(error);
        }
    }

    /// Lets a page write go on if it can, and every write that becomes due by that.
    #[inline]
    fn look_at(&mut self, slot: u32) -> Result<(), SimError> {
        self.note_due(slot);
        if self.undecided.looking { Ok(()) } else { self.look_at_all() }
    }

    #[inline]
    fn note_due(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.undecided.writes[slot].due, true) {
            self.undecided.due.push_back(slot);
        }
    }

    fn look_at_all(&mut self) -> Result<(), SimError> {
        self.undecided.looking = true;
        while let Some(slot) = self.undecided.due.pop_front() {
            self.undecided.writes[slot].due = false;
            self.try_enter(slot)?;
        }
        self.undecided.looking = false;
        Ok(())
    }

    /// Sends a page write to the hash unit, or decides it, once it has what it needs and no earlier write of
    /// the same page is in its way. An earlier write that is at the hash unit is not in the way of a later one
    /// that goes there as well: the unit keeps their order.
    fn try_enter(&mut self, slot: u32) -> Result<(), SimError> {
        let write = self.undecided.writes[slot];
        if write.needs > 0 || write.stage == Stage::Hashing || write.fingerprint == Fingerprint::AsSample {
            return Ok(());
        }
        if write.stage == Stage::Known {
            return if write.before == NONE { self.decide_waiting(slot) } else { Ok(()) };
        }
        let hashes = write.fingerprint == Fingerprint::Yes;
        if write.before != NONE && !(hashes && self.undecided.writes[write.before].stage != Stage::Needs) {
            self.undecided.writes[slot].plain = false;
            return Ok(());
        }
        match &mut self.hash {
            Some(hash) if hashes && !hash.takes_no_time() => self.enter(slot),
            hash => {
                let now = self.array.now_ns;
                hash.iter_mut().filter(|_| hashes).for_each(|hash| hash.pass());
                let entry = &mut self.undecided.writes[slot];
                entry.entered_ns = now;
                if hashes {
                    entry.stage = Stage::Hashing;
                    return self.look_up_hash(slot);
                }
                self.decide_waiting(slot)?;
            }
        }
        Ok(())
    }

    /// Looks the hash of a page write up in the fingerprint store: at once, or after a read of the page of the
    /// store that would hold it.
    #[inline]
    fn look_up_hash(&mut self, slot: u32) -> Result<(), SimError> {
        if self.pages_fingerprints { self.look_up_on_flash(slot) } else { self.decide_waiting(slot) }
    }

    fn look_up_on_flash(&mut self, slot: u32) -> Result<(), SimError> {
        let write = self.undecided.writes[slot];
        self.controller.look_up_fingerprint(write.page.content)?;
        let errand = self.looked_up();
        if errand == NONE && write.before == NONE {
            return self.decide_waiting(slot);
        }
        if write.request != NONE {
            let charged = self.charges_before_decision(&write);
            self.undecided.writes[slot].charged = OpenLedger::NONE;
            self.undecided.charge(slot, &charged, &mut self.accounts);
        }
        let entry = &mut self.undecided.writes[slot];
        (entry.stage, entry.needs) = (Stage::Known, u8::from(errand != NONE));
        if write.behind != NONE {
            // The later write of the same page may be hashed during this read.
            self.note_due(write.behind);
        }
        if errand != NONE {
            self.set_out(errand, Then::Write { write: slot, old: None });
        }
        Ok(())
    }

    /// Sends a page write to the hash unit.
    #[inline]
    fn enter(&mut self, slot: u32) {
        let Some(hash) = &mut self.hash else { return };
        let now = self.array.now_ns;
        hash.submit(now, slot);
        self.accounts.observer.hash_queue_changed(now, hash.queue_length());
        let entry = &mut self.undecided.writes[slot];
        (entry.stage, entry.entered_ns) = (Stage::Hashing, now);
        let behind = entry.behind;
        if behind != NONE {
            self.note_due(behind);
        }
    }

    /// The hash unit is done with a page write.
    #[inline]
    pub(super) fn hashed(&mut self, slot: u32) {
        if let Some(hash) = &self.hash {
            self.accounts.observer.hash_queue_changed(self.array.now_ns, hash.queue_length());
        }
        self.look_ahead_in_queue();
        if let Err(error) = self.look_up_hash(slot).and_then(|()| self.look_at_all()) {
            self.accounts.fail(error);
        }
    }

    /// Prefetches the tables for the writes next in the hash unit's queue. They were prefetched on arrival, but a
    /// long queue outlasts the processor's cache.
    #[inline]
    fn look_ahead_in_queue(&self) {
        let Some(hash) = &self.hash else { return };
        if let Some(slot) = hash.waiting(FAR) {
            let Host { lpn, content, .. } = self.undecided.writes[slot].page;
            self.controller.prefetch_far(lpn, content, true);
        }
        if let Some(slot) = hash.waiting(NEAR) {
            let Host { lpn, content, .. } = self.undecided.writes[slot].page;
            self.controller.prefetch_near(lpn, content, true);
        }
    }

    /// Decides a page write that waited, then does what was put off until its decision: counts the reads that
    /// it served from RAM, sends the reads that waited for it, trims the page, and lets its followers go on.
    fn decide_waiting(&mut self, slot: u32) -> Result<(), SimError> {
        let write = self.undecided.remove(slot);
        let mut charged = OpenLedger::NONE;
        if !write.plain && write.request != NONE {
            let ledger = self.charges_before_decision(&write);
            self.accounts.charge(&mut charged, &ledger);
        }
        let PageWrite { page, request, .. } = write;
        let fingerprinted = write.fingerprint == Fingerprint::Yes;
        let programmed = self.decide(page, fingerprinted, request, charged)?;
        for _ in 0..write.reads {
            self.controller.was_read_in_ram(page.lpn);
            self.controller.begin_jobs(&mut self.own_ops)?;
            self.queue_own(false);
        }
        if !self.undecided.readers.is_empty() {
            self.let_readers_go(slot, page.lpn)?;
        }
        if write.trimmed {
            self.controller.trim(page.lpn);
            self.controller.begin_jobs(&mut self.own_ops)?;
            self.queue_own(false);
        }
        if write.is_sample {
            self.sample_decided(slot, !programmed);
        }
        if write.behind != NONE {
            self.note_due(write.behind);
        }
        Ok(())
    }

    /// The ledger of a page write up to its decision: reads of what it needed, then queue and service of the hash
    /// unit. The rest of the time is the wait for an earlier write of the same page, or for the sample of its run.
    /// A write in [`Stage::Known`] has those charged already, with the read of its fingerprint's page.
    fn charges_before_decision(&mut self, write: &PageWrite) -> Ledger {
        let mut ledger = self.accounts.close(write.charged).unwrap_or_default();
        let since_ns = self.requests[write.request].arrival_ns + self.controller_ns;
        if write.stage == Stage::Known {
            let so_far_ns = since_ns + ledger.total_ns();
            ledger.charge(Charge::Order, self.array.now_ns.saturating_sub(so_far_ns));
            return ledger;
        }
        let missing = write.entered_ns.saturating_sub(since_ns).saturating_sub(ledger.total_ns());
        let samples = self.sampling_pages > 1 && !write.is_sample;
        ledger.charge(if samples { Charge::HashQueue } else { Charge::Order }, missing);
        if let Some(hash) = self.hash.as_ref().filter(|_| write.stage == Stage::Hashing) {
            let hash_ns = hash.hash_ns().min(self.array.now_ns - write.entered_ns);
            ledger.charge(Charge::Hash, hash_ns);
            ledger.charge(Charge::HashQueue, self.array.now_ns - write.entered_ns - hash_ns);
        }
        ledger
    }

    /// The sample of a run is decided; `found`: as a duplicate. Its followers are fingerprinted only then.
    fn sample_decided(&mut self, sample: u32, found: bool) {
        let followers = self.undecided.followers.remove(&sample).unwrap_or_default();
        for slot in followers {
            let write = &mut self.undecided.writes[slot];
            write.plain = false;
            write.fingerprint = if found { Fingerprint::Yes } else { Fingerprint::No };
            self.note_due(slot);
        }
    }

    /// The controller decides a page write: its program is queued, or its request completes in RAM. Returns
    /// whether there is a program.
    #[inline]
    fn decide(
        &mut self,
        page: Host,
        fingerprinted: bool,
        request: u32,
        charged: OpenLedger,
    ) -> Result<bool, SimError> {
        let (controller, loads, own_ops) = self.controller_and_loads();
        let outcome = controller.write(page, fingerprinted, &loads, own_ops)?;
        self.looked_up();
        match outcome.program {
            Some((ppn, _)) => {
                let (request, place, charged) = self.ask_for_place(request, fingerprinted, charged);
                self.queue_program(ppn, request, place, fingerprinted, charged);
            }
            None if request == NONE => {}
            None => self.complete_in_ram(request, fingerprinted, charged),
        }
        self.queue_own(false);
        Ok(outcome.program.is_some())
    }

    /// Trims a page: at once, or after the decision of its newest write.
    pub(super) fn trim_page(&mut self, lpn: Lpn) {
        match self.undecided.newest(lpn) {
            Some(write) => self.undecided.writes[write].trimmed = true,
            None => self.controller.trim(lpn),
        }
    }
}
