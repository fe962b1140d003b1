//! Requests leave: they give back their slots, and pass the front end ([`super::front`]), where there is one. Their data go
//! out over the link, and the host has its answer.

use flashtwin_trace::Op as HostOp;

use super::super::accounts::{Completed, Ledger, ServedBy};
use super::front::Leaving;
use super::{Backend, Controller, Engine, NO_EVENT, Observer};

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// A request is complete.
    #[inline]
    pub(super) fn leave(&mut self, kind: HostOp) {
        self.accounts.left(kind, self.array.now_ns());
        self.slots.give_back(self.array.now_ns());
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
    pub(super) fn answer_at_front(
        &mut self,
        request: u32,
        kind: HostOp,
        ledger: &Ledger,
        server: Option<ServedBy>,
    ) {
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

    /// Notes when the next answer of the write cache is there, or the front end acts next.
    #[cold]
    pub(super) fn note_delayed(&mut self) {
        let front_ns = self.front.as_ref().map_or(NO_EVENT, |front| front.next_ns());
        self.delayed_ns = self.ram_answers.next_time().min(front_ns);
    }
}
