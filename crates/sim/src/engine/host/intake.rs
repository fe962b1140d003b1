//! The intake of requests: reads are decided at once ([`super::reads`]), writes as soon as they can be ([`super::writes`]).

use flashtwin_ftl::Lpn;
use flashtwin_trace::{Op as HostOp, Window};

use super::flush::NO_EPOCH;
use super::front::{FrontEvent, IncomingRequest};
use super::{Arrivals, Controller, Decider, Observer, Request};
use crate::error::SimError;

impl<C: Controller, O: Observer> Decider<C, O> {
    #[inline(always)] // A call for every request, and its other caller is seldom used.
    pub(super) fn take_in(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        arrival_ns: u64,
    ) -> Result<(), SimError> {
        let trace = &arrivals.window;
        let kind = trace.op[index];
        let followed = self.back.accounts.observer.follows_requests();
        let followed = followed.then(|| arrivals.arrived(index, self.interface.submitted_ns(arrival_ns)));
        let pages = trace.first_page_op[index] as usize..trace.first_page_op[index + 1] as usize;
        self.back.accounts.counts.page_ops[kind as usize] += pages.len() as u64;
        if kind == HostOp::Trim {
            // A trim of part of a page leaves the page.
            for at in pages.filter(|&at| !trace.is_partial(index, at)) {
                self.interface.trim_cached(&mut self.back.books(), Lpn::new(trace.lpn[at]));
                self.trim_page(Lpn::new(trace.lpn[at]));
            }
            if self.tables.is_some() {
                self.back.begin_jobs()?;
            }
            self.interface.leave(&mut self.back.books(), HostOp::Trim);
            if let Some(arrived) = &followed {
                let now_ns = self.back.now_ns();
                self.back.accounts.observer.trimmed(arrived, now_ns);
            }
            return Ok(());
        }
        let durable = trace.is_durable(index);
        let epoch =
            if kind == HostOp::Write { self.interface.flushes.write_begins(durable) } else { NO_EPOCH };
        let number = trace.first_request + index as u64;
        let request = Request::new(number, arrival_ns, pages.len() as u32, epoch);
        let request = self.interface.requests.insert(request);
        if let Some(front) = &mut self.interface.front {
            front.is_taken_in(request);
        }
        if let Some(arrived) = &followed {
            self.back.accounts.observer.arrived(request, arrived);
        }
        if kind == HostOp::Flush {
            return self.take_in_flush(request);
        }
        if pages.is_empty() {
            self.interface.requests[request].pages_left = 1;
            self.page_done(request, None, |_, _| ());
            return Ok(());
        }
        if kind == HostOp::Read {
            for at in pages {
                self.look_ahead(trace, at);
                self.read_page(Lpn::new(trace.lpn[at]), request)?;
                self.back.begin_jobs()?;
            }
            return Ok(());
        }
        if let Some(handles) = &self.handles {
            let bytes = trace.length_bytes.get(index).copied().unwrap_or(0);
            self.page_ops.handle = handles.of(trace.stream_of(index), bytes);
        }
        let passes_ram = self.interface.flushes.passes_ram(durable);
        if passes_ram {
            self.back.ask_for_padding();
        }
        if self.interface.write_cache.is_some() {
            if !passes_ram {
                return self.cache_pages(arrivals, index, pages, request);
            }
            // The cached data of the pages are out of date.
            for at in pages.clone() {
                self.interface.trim_cached(&mut self.back.books(), Lpn::new(trace.lpn[at]));
            }
        }
        self.write_pages(arrivals, index, &pages, request)
    }

    /// Takes in a flush. Where RAM is volatile, all pages of the write cache and of open units go to the flash now.
    #[cold]
    fn take_in_flush(&mut self, request: u32) -> Result<(), SimError> {
        if self.interface.flushes.empties_ram() {
            self.flush_cache()?;
            self.back.ask_for_padding();
        }
        self.interface.flush(&mut self.back.books(), request);
        Ok(())
    }

    pub(super) fn step_front(&mut self, now_ns: u64) {
        let Self { back, interface, .. } = self;
        back.array.advance_to(now_ns);
        match interface.front.as_mut().and_then(|front| front.pop(now_ns)) {
            None => {}
            Some(FrontEvent::In(coming)) => self.come_in(&coming),
            Some(FrontEvent::Out(leaving)) => {
                interface.answer_at_front(&mut back.books(), HostOp::Read, &leaving);
            }
        }
        self.interface.note_delayed();
    }

    fn come_in(&mut self, coming: &IncomingRequest) {
        let held = self.back.array.hold();
        if let Err(error) = self.take_in_copy(coming) {
            self.back.accounts.fail(error);
        }
        self.back.release(held);
        if coming.asked.kind == HostOp::Trim {
            let now_ns = self.back.now_ns();
            if let Some(front) = &mut self.interface.front {
                front.answered(now_ns, &coming.ticket);
            }
        }
    }

    fn take_in_copy(&mut self, coming: &IncomingRequest) -> Result<(), SimError> {
        let IncomingRequest { asked, due_ns, .. } = coming;
        let (lpn, content) = asked.lpns_and_contents();
        // The window is that of the one request.
        self.look_ahead.begin_window();
        let front = self.interface.front.as_mut();
        let addresses = front.map(|front| std::mem::take(&mut front.addresses)).unwrap_or_default();
        let window = Window {
            first_request: asked.number,
            time_ns: &[asked.time_ns],
            op: &[asked.kind],
            volume: &[asked.extent.volume],
            offset_bytes: &[asked.extent.offset_bytes],
            length_bytes: &[asked.extent.length_bytes],
            stream: &[asked.stream],
            marks: &[asked.marks],
            first_page_op: &[0, asked.pages()],
            lpn,
            content,
            lpn_address: &addresses,
        };
        let read_modify_write = asked.read_modify_write;
        let arrivals = Arrivals { window, queue_depth: 0, speed: 1.0, read_modify_write };
        let taken_in = self.take_in(&arrivals, 0, due_ns - self.interface.controller_ns);
        if let Some(front) = &mut self.interface.front {
            front.addresses = addresses;
        }
        taken_in
    }
}
