//! Requests arrive, one after the other: time passes until each does, and it is taken in ([`super::taking_in`]) or given to
//! the front end ([`super::front`]).

use flashtwin_bits::prefetch;
use flashtwin_ftl::FlashOp;
use flashtwin_trace::Window;

use super::super::accounts::Arrived;
use super::front::Asked;
use super::look_ahead::{COLUMN, LINE};
use super::{Backend, Controller, Engine, FOREVER, Observer};
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
    /// Prefetches the columns of requests to come. Each column is read in order, but there are more
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
    pub(super) fn arrived(&self, index: usize, arrival_ns: u64) -> Arrived {
        let window = &self.window;
        let first_page = window.lpn.get(window.first_page_op[index] as usize);
        let has_pages = window.first_page_op[index + 1] > window.first_page_op[index];
        let first_page =
            first_page.filter(|_| has_pages).and_then(|&lpn| window.lpn_address.get(lpn as usize));
        Arrived {
            number: window.first_request + index as u64,
            kind: window.op[index],
            pages: window.first_page_op[index + 1] - window.first_page_op[index],
            time_ns: window.time_ns[index],
            arrival_ns,
            first_page: first_page.copied(),
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
    /// A controller error, or a broken rule of the medium.
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

    /// Lets time pass until the host has request `index` of the window, and gives it to the front end.
    #[cold]
    #[inline(never)]
    fn come_to_front(&mut self, arrivals: &Arrivals<'_>, index: usize) -> Result<(), SimError> {
        let now_ns = match arrivals.queue_depth {
            0 => arrivals.arrival_ns(index),
            depth => self.next_slot_ns(depth),
        };
        self.accounts.arrived(now_ns);
        if now_ns >= self.checkpoints.next_ns {
            self.checkpoint_until(now_ns);
        }
        while self.step(now_ns) {}
        self.array.advance_to(now_ns);
        if let Some(front) = &mut self.front {
            if self.look_ahead.wants_address || self.accounts.observer.follows_requests() {
                front.know_addresses(arrivals.window.lpn_address);
            }
            front.offer(now_ns, Asked::of(arrivals, index));
        }
        self.note_delayed();
        // Other events at the same time wait: without a front end, they would follow the request as
        // well.
        while self.delayed_ns <= now_ns && self.ram_answers.next_time() > now_ns {
            self.step_front(now_ns);
        }
        self.tell_jobs_done();
        self.pad_if_waited_for();
        self.accounts.take_failure()
    }

    /// Closed loop: when the next request arrives. The first `depth` requests take a slot each at time 0; every
    /// later one takes the slot of a request that is complete, the moment that this one gives it back.
    fn next_slot_ns(&mut self, depth: u32) -> u64 {
        if self.slots.take_new(depth) {
            return 0;
        }
        while self.slots.all_taken() && self.step(FOREVER) {}
        self.slots.take_freed().unwrap_or(self.array.now_ns())
    }

    /// Ends a profiling period. The controller's operations of the replication phase cost the host
    /// nothing (the mirror serves it): they are passed to `inspect` and carried out in no time, but
    /// in order.
    ///
    /// # Errors
    /// A controller error.
    pub fn end_period(&mut self, inspect: impl FnOnce(&[FlashOp])) -> Result<(), SimError> {
        self.controller.end_period(&mut self.own_ops)?;
        inspect(&self.own_ops);
        self.queue_own(true);
        self.tell_jobs_done();
        Ok(())
    }
}
