//! Requests arrive: reads are decided at once ([`super::reads`]), writes as soon as they can be ([`super::writes`]),
//! and what the flash must do is queued.

use flashtwin_bits::prefetch;
use flashtwin_ftl::{FlashOp, Lpn};
use flashtwin_trace::{Op as HostOp, Window};

use super::super::accounts::Arrived;
use super::flush::NO_EPOCH;
use super::look_ahead::{COLUMN, LINE};
use super::{Backend, Controller, Engine, FOREVER, Observer, Request};
use crate::error::SimError;

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

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// Gets ready for a window's requests.
    pub fn begin_window(&mut self) {
        self.look_ahead.begin_window();
    }

    /// Lets time pass until request `index` of the window arrives, and takes it in.
    ///
    /// # Errors
    /// What the controller reports, or a rule of the medium that was broken.
    #[inline]
    pub fn serve(&mut self, arrivals: &Arrivals<'_>, index: usize) -> Result<(), SimError> {
        arrivals.look_ahead(index);
        if self.front.is_some() {
            return self.come_to_front(arrivals, index);
        }
        let arrival = if arrivals.queue_depth == 0 {
            arrivals.arrival_ns(index)
        } else {
            self.next_slot_ns(arrivals.queue_depth)
        };
        self.accounts.arrived(arrival);
        let taken_in = arrival + self.controller_ns;
        if taken_in >= self.checkpoints.next_ns {
            self.checkpoint_until(taken_in);
        }
        while self.step(taken_in) {}
        self.array.advance_to(taken_in);
        let held = self.array.hold();
        self.take_in(arrivals, index, arrival)?;
        self.release(held);
        self.tell_jobs_done();
        self.pad_if_waited_for();
        self.accounts.take_failure()
    }

    /// Closed loop: when the next request arrives. The first `depth` requests take a slot each at time 0; every
    /// later one takes the slot of a request that is complete, the moment that this one gives it back.
    pub(super) fn next_slot_ns(&mut self, depth: u32) -> u64 {
        if self.slots.take_new(depth) {
            return 0;
        }
        while self.slots.all_taken() && self.step(FOREVER) {}
        self.slots.take_freed().unwrap_or(self.array.now_ns())
    }

    /// Takes in a request that comes to the controller at `arrival_ns`.
    #[inline]
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
            // What the cache has of the pages is out of date.
            for at in pages.clone() {
                self.trim_cached(Lpn::new(trace.lpn[at]));
            }
            self.ask_for_padding();
        }
        self.write_pages(arrivals, index, &pages, request)
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
