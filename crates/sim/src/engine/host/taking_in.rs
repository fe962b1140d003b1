//! Requests are taken in by the controller: reads are decided at once ([`super::reads`]), writes as soon as they can be
//! ([`super::writes`]), and work for the flash is queued.

use flashtwin_ftl::Lpn;
use flashtwin_trace::Op as HostOp;

use super::flush::NO_EPOCH;
use super::{Arrivals, Backend, Controller, Engine, Observer, Request};
use crate::error::SimError;

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// Takes in a request that comes to the controller at `arrival_ns`.
    #[inline(always)] // A call for every request, and its other caller is seldom used.
    pub(super) fn take_in(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        arrival_ns: u64,
    ) -> Result<(), SimError> {
        let trace = &arrivals.window;
        let kind = trace.op[index];
        let followed = self.accounts.observer.follows_requests();
        let followed = followed.then(|| arrivals.arrived(index, self.submitted_ns(arrival_ns)));
        let pages = trace.first_page_op[index] as usize..trace.first_page_op[index + 1] as usize;
        self.accounts.counts.page_ops[kind as usize] += pages.len() as u64;
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
                self.accounts.observer.trimmed(arrived);
            }
            return Ok(());
        }
        let durable = trace.is_durable(index);
        let epoch = if kind == HostOp::Write { self.flushes.write_begins(durable) } else { NO_EPOCH };
        let request = self.requests.insert(Request::new(arrival_ns, pages.len() as u32, epoch));
        if let Some(front) = &mut self.front {
            front.is_taken_in(request);
        }
        if let Some(arrived) = &followed {
            self.accounts.observer.arrived(request, arrived);
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
            // The cached data of the pages are out of date.
            for at in pages.clone() {
                self.trim_cached(Lpn::new(trace.lpn[at]));
            }
            self.ask_for_padding();
        }
        self.write_pages(arrivals, index, &pages, request)
    }

    /// Takes in a flush. Where the write cache is volatile, all its dirty pages leave for the flash now.
    #[cold]
    fn take_in_flush(&mut self, request: u32) -> Result<(), SimError> {
        if self.flushes.answers_at_once() {
            self.complete_flush(request);
            return Ok(());
        }
        if self.flushes.empties_cache() {
            self.flush_cache()?;
            self.ask_for_padding();
        }
        self.flushes.wait(request);
        self.complete_flushes();
        Ok(())
    }
}
