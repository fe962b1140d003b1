//! The front end of a drive: submission queues, the slots of the controller, and the host's link.
//!
//! A request keeps its slot until it is answered. Data of a write come in before it is taken in, data of a read go out
//! before the answer, one request's at a time in each direction (PCIe is full duplex). All but reads keep their order,
//! so that a flush or a trim does not overtake a write. Requests are copied, because their window may be gone later.

use std::collections::VecDeque;

use flashtwin_trace::{Op as HostOp, marks};

use super::super::accounts::{Charge, Extent, Ledger, ServedBy};
use super::holds::{HoldRules, Holds};
use super::{Arrivals, NO_EVENT};
use crate::config::{Arbitration, EngineConfig};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct HostRequest {
    pub(super) number: u64,
    pub(super) time_ns: i64,
    pub(super) kind: HostOp,
    pub(super) marks: u8,
    pub(super) stream: u16,
    pub(super) extent: Extent,
    pub(super) read_modify_write: bool,
    lpns_and_contents: Box<[u32]>,
}

impl HostRequest {
    pub(super) fn of(arrivals: &Arrivals<'_>, index: usize) -> Self {
        let window = &arrivals.window;
        let pages = window.page_ops_of(index);
        Self {
            number: window.first_request + index as u64,
            time_ns: window.time_ns[index],
            kind: window.op[index],
            marks: window.marks[index],
            stream: window.stream_of(index),
            extent: arrivals.extent(index),
            read_modify_write: arrivals.read_modify_write,
            lpns_and_contents: [&window.lpn[pages.clone()], &window.content[pages]].concat().into(),
        }
    }

    pub(super) fn pages(&self) -> u32 {
        self.lpns_and_contents.len() as u32 / 2
    }

    pub(super) fn lpns_and_contents(&self) -> (&[u32], &[u32]) {
        self.lpns_and_contents.split_at(self.pages() as usize)
    }

    fn queue(&self) -> usize {
        usize::from(self.marks >> marks::QUEUE_SHIFT)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Ticket {
    pub(super) submitted_ns: u64,
    queue: usize,
    pages: u32,
    /// Waits for a slot and for the link on the way in, and the time of its own data.
    slot_wait_ns: u64,
    link_wait_ns: u64,
    data_ns: u64,
    /// Wait for the end of a hold.
    held_ns: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct IncomingRequest {
    /// When it is taken in, the controller's own time included.
    pub(super) due_ns: u64,
    /// How many got a slot before it.
    order: u64,
    pub(super) ticket: Ticket,
    pub(super) asked: HostRequest,
}

#[derive(Debug, Clone)]
pub(super) struct OutgoingRead {
    pub(super) due_ns: u64,
    pub(super) request: u32,
    pub(super) ledger: Ledger,
    pub(super) server: Option<ServedBy>,
}

#[derive(Debug, Clone)]
pub(super) enum FrontEvent {
    In(IncomingRequest),
    /// The data of a read have reached the host.
    Out(OutgoingRead),
}

#[derive(Debug, Clone, Default)]
struct Queue {
    /// Requests not yet submitted, as the queue is full.
    held: VecDeque<HostRequest>,
    /// Requests that wait for a slot: number of earlier submissions in all queues, and time of this one.
    submitted: VecDeque<(u64, u64, HostRequest)>,
    under_way: u32,
}

#[derive(Debug, Clone, Default)]
struct Direction {
    free_ns: u64,
}

impl Direction {
    /// Returns the wait of the data, and when they have arrived.
    fn send(&mut self, now_ns: u64, data_ns: u64) -> (u64, u64) {
        let begin_ns = self.free_ns.max(now_ns);
        self.free_ns = begin_ns + data_ns;
        (begin_ns - now_ns, self.free_ns)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Front {
    limit: u32,
    free: u64,
    holds: Option<Box<Holds>>,
    /// When anything happened last.
    now_ns: u64,
    arbitration: Arbitration,
    /// Requests that a queue sends in a turn, and those that it has sent in this one.
    burst: u32,
    sent: u32,
    page_ns: f64,
    controller_ns: u64,
    /// By their numbers, up to the last one that a request came to.
    queues: Vec<Queue>,
    /// Submitted so far, and of these, those that got a slot.
    submitted: u64,
    begun: u64,
    turn: usize,
    inward: Direction,
    outward: Direction,
    /// On their way in: reads, and the others, which the link keeps in order.
    coming: [VecDeque<IncomingRequest>; 2],
    leaving: VecDeque<OutgoingRead>,
    /// By the engine's slot; `entering` is that of the request that is being taken in.
    tickets: Vec<Ticket>,
    entering: Ticket,
    pub(super) addresses: Vec<u64>,
}

impl Front {
    pub(super) fn of(config: &EngineConfig, page_bytes: u32, seed: u64) -> Option<Box<Self>> {
        let holds = HoldRules::of(config).map(|rules| Holds::new(rules, seed));
        let is_some = config.slots > 0 || config.link_mb_s > 0.0 || holds.is_some();
        let mut front = Self {
            arbitration: config.arbitration,
            burst: config.arbitration_burst,
            holds,
            ..Self::open(config.controller_ns())
        };
        if config.slots > 0 {
            front.free = config.slots.into();
        }
        if config.link_mb_s > 0.0 {
            front.page_ns = f64::from(page_bytes) * 1000.0 / config.link_mb_s;
        }
        is_some.then(|| Box::new(front))
    }

    /// A front end that requests pass in no time, but for the controller's own.
    pub(super) fn open(controller_ns: u64) -> Self {
        Self {
            limit: u32::MAX,
            free: u64::MAX,
            holds: None,
            now_ns: 0,
            arbitration: Arbitration::Fifo,
            burst: 1,
            sent: 0,
            page_ns: 0.0,
            controller_ns,
            queues: Vec::new(),
            submitted: 0,
            begun: 0,
            turn: 0,
            inward: Direction::default(),
            outward: Direction::default(),
            coming: Default::default(),
            leaving: VecDeque::new(),
            tickets: Vec::new(),
            entering: Ticket::default(),
            addresses: Vec::new(),
        }
    }

    pub(super) fn limit_queues(&mut self, limit: u32) {
        self.limit = limit;
    }

    pub(super) fn know_addresses(&mut self, addresses: &[u64]) {
        if self.addresses.len() < addresses.len() {
            self.addresses = addresses.to_vec();
        }
    }

    pub(super) fn next_ns(&self) -> u64 {
        let coming = (0..2).filter_map(|way| self.comes_ns(way));
        let leaving = self.leaving.front().map(|leaving| leaving.due_ns);
        coming.chain(leaving).min().unwrap_or(NO_EVENT)
    }

    /// When the first request on this way is taken in, unless a hold begins before.
    fn comes_ns(&self, way: usize) -> Option<u64> {
        let due_ns = self.coming[way].front()?.due_ns;
        let holds = self.holds.as_ref().filter(|_| way == 1);
        Some(holds.map_or(due_ns, |holds| holds.goes_on_ns(due_ns, self.free == 0, self.now_ns)))
    }

    pub(super) fn keeps_any(&self) -> bool {
        let waits = |queue: &Queue| !queue.held.is_empty() || !queue.submitted.is_empty();
        self.coming.iter().any(|coming| !coming.is_empty()) || self.queues.iter().any(waits)
    }

    pub(super) fn offer(&mut self, now_ns: u64, asked: HostRequest) {
        let number = asked.queue();
        if number >= self.queues.len() {
            self.queues.resize_with(number + 1, Queue::default);
        }
        self.queues[number].held.push_back(asked);
        self.submit(now_ns, number);
        self.give_slots(now_ns);
    }

    fn submit(&mut self, now_ns: u64, number: usize) {
        let queue = &mut self.queues[number];
        while queue.under_way < self.limit
            && let Some(asked) = queue.held.pop_front()
        {
            queue.under_way += 1;
            queue.submitted.push_back((self.submitted, now_ns, asked));
            self.submitted += 1;
        }
    }

    fn give_slots(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        while self.free > 0
            && let Some(number) = self.next_queue()
            && let Some((_, submitted_ns, asked)) = self.queues[number].submitted.pop_front()
        {
            self.take_turn(number);
            self.free -= 1;
            self.begin(now_ns, submitted_ns, asked);
        }
    }

    fn next_queue(&self) -> Option<usize> {
        let first = |number: usize| Some(self.queues[number].submitted.front()?.0);
        let waiting = (0..self.queues.len()).filter(|&number| first(number).is_some());
        match self.arbitration {
            Arbitration::Fifo => waiting.min_by_key(|&number| first(number)),
            Arbitration::RoundRobin => waiting.min_by_key(|&number| (number < self.turn, number)),
        }
    }

    fn take_turn(&mut self, number: usize) {
        self.sent = if number == self.turn { self.sent + 1 } else { 1 };
        self.turn = number;
        if self.sent >= self.burst {
            (self.turn, self.sent) = (number + 1, 0);
        }
    }

    fn begin(&mut self, now_ns: u64, submitted_ns: u64, asked: HostRequest) {
        let (queue, pages) = (asked.queue(), asked.pages());
        let data_ns = if asked.kind == HostOp::Write { self.data_ns(pages) } else { 0 };
        let is_read = asked.kind == HostOp::Read;
        let (link_wait_ns, there_ns) = if is_read { (0, now_ns) } else { self.inward.send(now_ns, data_ns) };
        let slot_wait_ns = now_ns - submitted_ns;
        let ticket = Ticket { submitted_ns, queue, pages, slot_wait_ns, link_wait_ns, data_ns, held_ns: 0 };
        let due_ns = there_ns + self.controller_ns;
        self.coming[usize::from(!is_read)].push_back(IncomingRequest {
            due_ns,
            order: self.begun,
            ticket,
            asked,
        });
        self.begun += 1;
    }

    fn data_ns(&self, pages: u32) -> u64 {
        (f64::from(pages) * self.page_ns).round() as u64
    }

    /// The next event up to `now_ns`. An answer precedes an arriving request, which may get its slot.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<FrontEvent> {
        self.now_ns = now_ns;
        if let Some(holds) = &mut self.holds {
            holds.advance_to(now_ns);
        }
        if self.leaving.front().is_some_and(|leaving| leaving.due_ns <= now_ns) {
            return self.leaving.pop_front().map(FrontEvent::Out);
        }
        let first = |way: usize| self.coming[way].front().map(|coming| (coming.due_ns, coming.order));
        let next = (0..2).filter(|&way| self.comes_ns(way).is_some_and(|comes_ns| comes_ns <= now_ns));
        let way = next.min_by_key(|&way| first(way))?;
        let mut coming = self.coming[way].pop_front()?;
        if way == 1
            && let Some(holds) = &mut self.holds
        {
            holds.went_on(coming.asked.kind == HostOp::Write, now_ns);
            coming.ticket.held_ns = now_ns - coming.due_ns;
            coming.due_ns = now_ns;
        }
        self.entering = coming.ticket;
        Some(FrontEvent::In(coming))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn is_taken_in(&mut self, request: u32) {
        let slot = request as usize;
        if slot >= self.tickets.len() {
            self.tickets.resize(slot + 1, Ticket::default());
        }
        self.tickets[slot] = self.entering;
    }

    pub(super) fn entering(&self) -> &Ticket {
        &self.entering
    }

    pub(super) fn ticket(&self, request: u32) -> &Ticket {
        &self.tickets[request as usize]
    }

    /// Charges the request's waits in the front end. Returns when its data are at the host.
    pub(super) fn send_out(&mut self, now_ns: u64, request: u32, kind: HostOp, ledger: &mut Ledger) -> u64 {
        let Ticket { pages, slot_wait_ns, mut link_wait_ns, mut data_ns, held_ns, .. } =
            *self.ticket(request);
        let mut there_ns = now_ns;
        if kind == HostOp::Read {
            let out_ns = self.data_ns(pages);
            let (waits_ns, ends_ns) = self.outward.send(now_ns, out_ns);
            (link_wait_ns, data_ns, there_ns) = (link_wait_ns + waits_ns, data_ns + out_ns, ends_ns);
        }
        ledger.charge(Charge::Slot, slot_wait_ns);
        ledger.charge(Charge::Link, link_wait_ns);
        ledger.charge(Charge::Transfer, data_ns);
        ledger.charge(Charge::CachePlace, held_ns);
        there_ns
    }

    pub(super) fn wait_for_data(&mut self, leaving: OutgoingRead) {
        self.leaving.push_back(leaving);
    }

    pub(super) fn answered(&mut self, now_ns: u64, ticket: &Ticket) {
        self.queues[ticket.queue].under_way -= 1;
        self.free += 1;
        self.submit(now_ns, ticket.queue);
        self.give_slots(now_ns);
    }
}

#[cfg(test)]
mod tests;
