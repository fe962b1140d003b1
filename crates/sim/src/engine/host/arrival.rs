//! Requests arrive one after the other, and time passes until each does.

use flashtwin_bits::prefetch;
use flashtwin_ftl::{FlashOp, Handles};
use flashtwin_trace::Window;

use super::super::accounts::{Arrived, Extent};
use super::front::{Front, HostRequest};
use super::look_ahead::{COLUMN, LINE};
use super::{Controller, Decider, Engine, FOREVER, Interface, Observer};
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
    /// These columns are more than a processor's own prefetching follows.
    #[inline]
    fn look_ahead(&self, index: usize) {
        if index.is_multiple_of(LINE / 2) {
            prefetch(self.window.time_ns, index + COLUMN);
            prefetch(self.window.first_page_op, index + COLUMN);
            prefetch(self.window.op, index + COLUMN);
            prefetch(self.window.marks, index + COLUMN);
        }
    }

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
            extent: self.extent(index),
        }
    }

    pub(super) fn extent(&self, index: usize) -> Extent {
        let Window { volume, offset_bytes, length_bytes, .. } = self.window;
        Extent {
            volume: volume.get(index).copied().unwrap_or(0),
            offset_bytes: offset_bytes.get(index).copied().unwrap_or(0),
            length_bytes: length_bytes.get(index).copied().unwrap_or(0),
        }
    }

    /// Arrival of request `index` of the window by the trace's clock, in simulated nanoseconds.
    #[inline]
    pub fn arrival_ns(&self, index: usize) -> u64 {
        self.simulated_ns(self.window.time_ns[index])
    }

    #[inline]
    pub fn simulated_ns(&self, time_ns: i64) -> u64 {
        simulated_ns(time_ns, self.speed)
    }
}

/// A time of the trace's clock, in simulated nanoseconds.
#[inline]
pub(crate) fn simulated_ns(time_ns: i64, speed: f64) -> u64 {
    if speed == 1.0 { time_ns as u64 } else { scaled_ns(time_ns, speed) }
}

/// Not inlined, because the compiler would divide each time and then choose.
#[inline(never)]
fn scaled_ns(time_ns: i64, speed: f64) -> u64 {
    (time_ns as u64 as f64 / speed) as u64
}

impl<C: Controller, O: Observer> Engine<C, O> {
    pub fn begin_window(&mut self) {
        self.decider.look_ahead.begin_window();
    }

    /// Lets time pass until the request arrives, and takes it in.
    #[inline]
    pub fn serve(&mut self, arrivals: &Arrivals<'_>, index: usize) -> Result<(), SimError> {
        arrivals.look_ahead(index);
        if self.decider.interface.front.is_some() {
            return self.come_to_front(arrivals, index);
        }
        let arrival = if arrivals.queue_depth == 0 {
            arrivals.arrival_ns(index)
        } else {
            self.next_slot_ns(arrivals.queue_depth)
        };
        self.decider.back.accounts.arrived(arrival);
        let taken_in = arrival + self.decider.interface.controller_ns;
        if taken_in >= self.checkpoints.next_ns {
            self.checkpoint_until(taken_in);
        }
        while self.step(taken_in) {}
        self.decider.back.array.advance_to(taken_in);
        let held = self.decider.back.array.hold();
        self.decider.take_in(arrivals, index, arrival)?;
        self.decider.back.release(held);
        self.decider.back.tell_jobs_done();
        self.pad_if_waited_for();
        self.decider.back.accounts.take_failure()
    }

    #[cold]
    #[inline(never)]
    fn come_to_front(&mut self, arrivals: &Arrivals<'_>, index: usize) -> Result<(), SimError> {
        let now_ns = match arrivals.queue_depth {
            0 => arrivals.arrival_ns(index),
            depth => self.next_slot_ns(depth),
        };
        self.decider.back.accounts.arrived(now_ns);
        if now_ns >= self.checkpoints.next_ns {
            self.checkpoint_until(now_ns);
        }
        while self.step(now_ns) {}
        self.decider.back.array.advance_to(now_ns);
        let Decider { back, interface, look_ahead, .. } = &mut self.decider;
        if let Some(front) = &mut interface.front {
            if look_ahead.wants_address || back.accounts.observer.follows_requests() {
                front.know_addresses(arrivals.window.lpn_address);
            }
            front.offer(now_ns, HostRequest::of(arrivals, index));
        }
        interface.note_delayed();
        // Other events at the same time wait: without a front end, they would follow the request as well.
        while self.decider.interface.front_is_next(now_ns) {
            self.decider.step_front(now_ns);
        }
        self.decider.back.tell_jobs_done();
        self.pad_if_waited_for();
        self.decider.back.accounts.take_failure()
    }

    /// The first `depth` requests take a slot each at time 0. Every later one takes the slot of a complete request.
    fn next_slot_ns(&mut self, depth: u32) -> u64 {
        if self.decider.interface.slots.take_new(depth) {
            return 0;
        }
        while self.decider.interface.slots.all_taken() && self.step(FOREVER) {}
        self.decider.interface.slots.take_freed().unwrap_or(self.now_ns())
    }

    /// Operations of the replication phase are passed to `inspect` and carried out in no time, because the mirror
    /// serves the host.
    pub fn end_period(&mut self, inspect: impl FnOnce(&[FlashOp])) -> Result<(), SimError> {
        let back = &mut self.decider.back;
        back.controller.end_period(&mut back.own_ops)?;
        inspect(&back.own_ops);
        back.queue_own(true);
        back.tell_jobs_done();
        Ok(())
    }

    /// Writes come with placement handles.
    pub fn direct_by(&mut self, handles: Option<Handles>) {
        self.decider.handles = handles;
    }

    /// Limits the requests under way in each submission queue; 0: no limit. Others are submitted as those are answered.
    pub fn limit_queues(&mut self, limit: u32) {
        if limit > 0 {
            let Interface { front, controller_ns, .. } = &mut self.decider.interface;
            front.get_or_insert_with(|| Box::new(Front::open(*controller_ns))).limit_queues(limit);
        }
    }
}
