//! Page writes that the controller has not decided yet. They wait for mapping tables, for their old page, for the
//! sample of their run, for the hash unit, or for an earlier write of their page.
//!
//! A drive knows whether a page must be programmed only when its hash is known (RR-SSD paper III.B), and it can write a
//! page only when it has all of it. So the controller is asked then, with the loads of that moment. Until then the page
//! is in controller RAM: reads of it are served from there and count towards its content as soon as that is known, and
//! a trim takes effect after it.

use std::ops::Range;

use flashtwin_ftl::dedup::sample_of;
use flashtwin_ftl::{Content, Host};

use super::page_op::{Fingerprint, PageOp, State};
use super::{Arrivals, Condition, Controller, Decider, NONE, Observer, OpenLedger};
use crate::config::WriteCompletes;
use crate::error::SimError;

impl<C: Controller, O: Observer> Decider<C, O> {
    pub(super) fn write_pages(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        pages: &Range<usize>,
        request: u32,
    ) -> Result<(), SimError> {
        let mut first = pages.start;
        while first < pages.end {
            let mut run = first..pages.end.min(first + self.sampling_pages);
            // A page that needs no fingerprint is no sample, and ends the run of those before it.
            if run.len() > 1 {
                let unhashed = |at: &usize| !self.is_hashed(Content::new(arrivals.window.content[*at]));
                run.end = run.clone().find(unhashed).unwrap_or(run.end).max(first + 1);
            }
            first = run.end;
            if run.len() == 1 {
                let fingerprint = self.fingerprint_of(Content::new(arrivals.window.content[run.start]));
                self.write_page_of(arrivals, index, run.start, request, fingerprint)?;
            } else {
                self.write_run(arrivals, index, run, request)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn is_hashed(&self, content: Content) -> bool {
        self.hash.is_some() && !self.back.controller.maps(content)
    }

    #[inline]
    pub(super) fn fingerprint_of(&self, content: Content) -> Fingerprint {
        if self.is_hashed(content) { Fingerprint::Yes } else { Fingerprint::No }
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
        self.back.accounts.counts.pages.partial_writes += u64::from(partial);
        let page = self.look_ahead.host_page(&arrivals.window, at);
        let (request, ..) = self.take_to_buffer(WriteCompletes::Buffered, request, false, OpenLedger::NONE);
        self.write_page(page, partial && arrivals.read_modify_write, request, fingerprint)
    }

    /// Takes in pages that share a sample. The sample goes to the hash unit first, and the others wait for its result.
    /// A page that needs a read first would delay them, so another page is the sample if possible.
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
        self.back.accounts.counts.pages.partial_writes += u64::from(partial);
        let page = self.look_ahead.host_page(trace, sample);
        let (own, ..) = self.take_to_buffer(WriteCompletes::Buffered, request, false, OpenLedger::NONE);
        let slot = self.page_ops.insert_write(page, own, Fingerprint::Yes);
        // It may be decided as soon as all of its run wait for it.
        (self.page_ops[slot].is_sample, self.page_ops[slot].needs) = (true, 1);
        self.prepare_page(slot, partial && arrivals.read_modify_write)?;
        for at in run.filter(|&at| at != sample) {
            let fingerprint = Fingerprint::AsSample;
            if let Some(follower) = self.write_page_of(arrivals, index, at, request, fingerprint)? {
                self.waits.wait(Condition::Sample(slot), follower);
            }
        }
        self.page_ops[slot].needs -= 1;
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
        if at_once && !prepared && self.page_ops.newest(page.lpn).is_none() {
            if fingerprint == Fingerprint::Yes
                && let Some(hash) = &mut self.hash
            {
                hash.pass();
            }
            let handle = self.page_ops.handle;
            self.decide(page, handle, fingerprint == Fingerprint::Yes, request, OpenLedger::NONE)?;
            return Ok(None);
        }
        let slot = self.page_ops.insert_write(page, request, fingerprint);
        let alone = !prepared && self.page_ops[slot].before == NONE;
        if alone && fingerprint == Fingerprint::Yes {
            self.back.note_arrival(page.lpn);
            self.enter(slot);
        } else {
            self.prepare_page(slot, partial)?;
        }
        Ok(Some(slot))
    }

    #[inline(never)]
    fn prepare_page(&mut self, slot: u32, partial: bool) -> Result<(), SimError> {
        let PageOp { page, before, .. } = self.page_ops[slot];
        // The data of a pending write are in RAM, and so is the part that a trim leaves.
        let partial = partial && before == NONE;
        let there = match partial && self.back.array.awaits_programs() {
            true => self.back.programmed_copy(page.lpn)?,
            false => None,
        };
        if partial || self.tables.is_some() {
            let (controller, loads, _) = self.back.controller_and_loads();
            let chosen = controller.prepare_write(page.lpn, partial, &loads)?;
            let old = self.back.old_page(chosen, there);
            let walk = self.looked_up();
            let waits_for_old = old.is_some();
            self.page_ops[slot].needs += u8::from(waits_for_old || walk != NONE);
            match old {
                Some((old, false)) => {
                    self.await_old_page(old, slot, walk);
                }
                Some((old, true)) if walk == NONE => {
                    self.back.read_old_page(old, slot);
                }
                old if walk != NONE => {
                    let old = old.map(|(old, _)| old);
                    old.iter().for_each(|old| self.back.array.pin(old));
                    self.page_ops[slot].state = State::Preparing(old);
                    self.wait_for_tables(walk, slot);
                }
                _ => {}
            }
        }
        self.back.note_arrival(page.lpn);
        self.look_at(slot)
    }

    pub(super) fn got_what_it_needs(&mut self, slot: u32) {
        self.page_ops[slot].needs -= 1;
        if let Err(error) = self.look_at(slot) {
            self.back.accounts.fail(error);
        }
    }

    #[inline]
    pub(super) fn hashed(&mut self, slot: u32) {
        if let Some(hash) = &self.hash {
            self.back.accounts.observer.hash_queue_changed(self.back.now_ns(), hash.queue_length());
        }
        self.look_ahead_in_queue();
        if let Err(error) = self.look_up_hash(slot).and_then(|()| self.look_at_all()) {
            self.back.accounts.fail(error);
        }
    }

    #[inline]
    fn look_at(&mut self, slot: u32) -> Result<(), SimError> {
        self.page_ops.note_due(slot);
        if self.page_ops.looking { Ok(()) } else { self.look_at_all() }
    }

    fn look_at_all(&mut self) -> Result<(), SimError> {
        self.page_ops.looking = true;
        while let Some(slot) = self.page_ops.next_due() {
            self.try_enter(slot)?;
        }
        self.page_ops.looking = false;
        Ok(())
    }

    /// Sends a page write to the hash unit, or decides it, once its reads are done and no earlier write of the page is
    /// in its way. An earlier write at the hash unit is not, because the unit keeps their order.
    fn try_enter(&mut self, slot: u32) -> Result<(), SimError> {
        let write = self.page_ops[slot];
        if write.needs > 0 || write.state == State::Hashing || write.fingerprint == Fingerprint::AsSample {
            return Ok(());
        }
        let hashes = write.fingerprint == Fingerprint::Yes;
        let hashed = write.state == State::Hashed;
        if write.before != NONE
            && (hashed || !hashes || matches!(self.page_ops[write.before].state, State::Preparing(_)))
        {
            self.page_ops[slot].plain = false;
            self.waits.wait(Condition::EarlierWrite(write.before), slot);
            return Ok(());
        }
        if hashed {
            return self.decide_waiting(slot);
        }
        match &mut self.hash {
            Some(hash) if hashes && !hash.takes_no_time() => self.enter(slot),
            hash => {
                let now = self.back.now_ns();
                hash.iter_mut().filter(|_| hashes).for_each(|hash| hash.pass());
                let entry = &mut self.page_ops[slot];
                entry.since_ns = now;
                if hashes {
                    entry.state = State::Hashing;
                    return self.look_up_hash(slot);
                }
                self.decide_waiting(slot)?;
            }
        }
        Ok(())
    }
}
