//! Requests pass the front end ([`super::front`]), where there is one: into the controller, and out to the host.
//!
//! All of this is out of line, behind a test that a drive without a front end always answers in the same way.

use flashtwin_trace::{Op as HostOp, Window};

use super::super::accounts::{Completed, Ledger, ServedBy};
use super::front::{Asked, Coming, Front, Leaving, Passing};
use super::{Arrivals, Backend, Controller, Engine, FOREVER, Observer};
use crate::error::SimError;

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// From now on, at most so many requests of each submission queue are under way. One that comes by the trace's clock
    /// and finds its queue full is submitted when one of the queue is answered. 0: any number.
    pub fn limit_queues(&mut self, limit: u32) {
        if limit > 0 {
            self.front.get_or_insert_with(|| Box::new(Front::open(self.controller_ns))).limit_queues(limit);
        }
    }

    /// Lets time pass until the host has request `index` of the window, and gives it to the front end.
    #[cold]
    #[inline(never)]
    pub(super) fn come_to_front(&mut self, arrivals: &Arrivals<'_>, index: usize) -> Result<(), SimError> {
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
            if self.look_ahead.wants_address {
                front.know_addresses(arrivals.window.lpn_address);
            }
            front.offer(now_ns, Asked::of(arrivals, index));
        }
        self.note_delayed();
        // Not what else happens now: without a front end, that would come after the request as well.
        while self.delayed_ns <= now_ns && self.ram_answers.next_time() > now_ns {
            self.step_front(now_ns);
        }
        self.tell_jobs_done();
        self.pad_if_waited_for();
        self.accounts.take_failure()
    }

    /// Lets time pass until all requests have been taken in.
    #[cold]
    pub(super) fn let_all_in(&mut self) {
        while self.front.as_ref().is_some_and(|front| front.keeps_any()) {
            let next_ns = self.next_step_ns();
            if next_ns >= self.checkpoints.next_ns && next_ns < FOREVER {
                self.checkpoint_until(next_ns);
            } else if !self.step(FOREVER) {
                break;
            }
        }
    }

    /// What is due next at the front end happens.
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

    /// When a request was submitted that comes to the controller at `arrival_ns`.
    #[cold]
    pub(super) fn submitted_ns(&self, arrival_ns: u64) -> u64 {
        self.front.as_ref().map_or(arrival_ns, |front| front.entering().submitted_ns)
    }

    /// The controller is done with a request, whose ledger has its time since it came there.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_by_front(
        &mut self,
        request: u32,
        kind: HostOp,
        ledger: &Ledger,
        server: Option<ServedBy>,
    ) {
        let (now_ns, mut ledger) = (self.array.now_ns(), *ledger);
        let Some(front) = &mut self.front else { return };
        let due_ns = front.send_out(now_ns, request, kind, &mut ledger);
        if due_ns > now_ns {
            front.wait_for_data(Leaving { due_ns, request, ledger, server });
        } else {
            self.answer_at_front(request, kind, &ledger, server);
        }
        self.note_delayed();
    }

    /// The host has its answer.
    fn answer_at_front(&mut self, request: u32, kind: HostOp, ledger: &Ledger, server: Option<ServedBy>) {
        let now_ns = self.array.now_ns();
        let Some(ticket) = self.front.as_ref().map(|front| *front.ticket(request)) else { return };
        let arrival_ns = ticket.submitted_ns;
        let total_ns = now_ns - arrival_ns;
        debug_assert_eq!(ledger.total_ns(), total_ns, "{ledger:?}");
        self.requests.remove(request);
        self.leave(kind);
        self.accounts.observer.completed(&Completed { request, kind, arrival_ns, total_ns, ledger, server });
        if let Some(front) = &mut self.front {
            front.answered(now_ns, &ticket);
        }
    }
}
