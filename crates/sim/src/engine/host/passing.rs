//! Requests come to the controller from the front end ([`super::front`]), where there is one. They leave by it in
//! [`super::leaving`]. A drive without a front end calls nothing here.

use flashtwin_trace::{Op as HostOp, Window};

use super::front::{Coming, Front, Leaving, Passing};
use super::{Arrivals, Backend, Controller, Engine, Observer};
use crate::error::SimError;

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// Limits the requests of each submission queue that are under way. A request that finds its
    /// queue full at its time of the trace is submitted when one of the queue is answered. 0: no
    /// limit.
    pub fn limit_queues(&mut self, limit: u32) {
        if limit > 0 {
            self.front.get_or_insert_with(|| Box::new(Front::open(self.controller_ns))).limit_queues(limit);
        }
    }

    /// Carries out the next event of the front end.
    pub(super) fn step_front(&mut self, now_ns: u64) {
        self.array.advance_to(now_ns);
        match self.front.as_mut().and_then(|front| front.pop(now_ns)) {
            None => {}
            Some(Passing::In(coming)) => self.come_in(&coming),
            Some(Passing::Out(Leaving { request, ledger, server, .. })) => {
                self.answer_at_front(request, HostOp::Read, &ledger, server);
            }
        }
        self.note_delayed();
    }

    /// A request comes to the controller.
    fn come_in(&mut self, coming: &Coming) {
        let held = self.array.hold();
        if let Err(error) = self.take_in_copy(coming) {
            self.accounts.fail(error);
        }
        self.release(held);
        if coming.asked.kind == HostOp::Trim {
            let now_ns = self.array.now_ns();
            if let Some(front) = &mut self.front {
                front.answered(now_ns, &coming.ticket);
            }
        }
    }

    fn take_in_copy(&mut self, coming: &Coming) -> Result<(), SimError> {
        let Coming { asked, due_ns, .. } = coming;
        let (lpn, content) = asked.lpns_and_contents();
        // The window is that of the one request.
        self.look_ahead.begin_window();
        let addresses = self.front.as_mut().map(|front| front.lend_addresses()).unwrap_or_default();
        let window = Window {
            first_request: asked.number,
            time_ns: &[asked.time_ns],
            op: &[asked.kind],
            marks: &[asked.marks],
            first_page_op: &[0, asked.pages()],
            lpn,
            content,
            lpn_address: &addresses,
        };
        let read_modify_write = asked.read_modify_write;
        let arrivals = Arrivals { window, queue_depth: 0, speed: 1.0, read_modify_write };
        let taken_in = self.take_in(&arrivals, 0, due_ns - self.controller_ns);
        if let Some(front) = &mut self.front {
            front.take_back(addresses);
        }
        taken_in
    }
}
