//! The host interface: requests under way until the host has their answers. It orders no flash operations.

use std::collections::VecDeque;

use flashtwin_ftl::{Host, Lpn, Rng};
use flashtwin_trace::Op as HostOp;

use super::flush::{Epoch, Flushes, NO_EPOCH};
use super::front::{Front, OutgoingRead};
use super::read_cache::ReadCache;
use super::slots::Slots;
use super::write_cache::WriteCache;
use super::{
    Books, Charge, Completed, Ledger, NO_EVENT, NONE, Observer, OpenLedger, Pool, Request, ServedBy,
};
use crate::config::EngineConfig;

#[derive(Clone)]
pub(super) struct RamAnswer {
    pub(super) due_ns: u64,
    request: u32,
    /// Of the write cache: the wait for a place.
    waited_ns: u64,
    /// Of the write buffer and the read cache: all of the response time.
    charged: OpenLedger,
}

/// The least time, after the controller's own, of a write that the write buffer answers.
#[derive(Clone)]
struct BufferFloor {
    is_some: bool,
    least_ns: u64,
    spread_ns: u64,
    seed: u64,
}

impl BufferFloor {
    const MOST_MEANS: u64 = 10;

    fn of(config: &EngineConfig, seed: u64) -> Self {
        let (least_ns, spread_ns) = (config.write_cache_ns(), config.write_cache_spread_ns());
        let is_some = config.write_completes.is_in_ram() && least_ns + spread_ns > 0;
        Self { is_some, least_ns, spread_ns, seed: Rng::stream(seed, "write buffer").next_u64() }
    }

    /// Drawn by the request's number, so that it is the same as often as it is asked for.
    fn of_request(&self, number: u64) -> u64 {
        let mut rng = Rng::stream(self.seed ^ number, "answer");
        self.least_ns + rng.exponential(self.spread_ns, Self::MOST_MEANS)
    }
}

#[derive(Clone)]
pub(super) struct Interface {
    pub(super) requests: Pool<Request>,
    pub(super) slots: Slots,
    pub(super) front: Option<Box<Front>>,
    pub(super) write_cache: Option<WriteCache>,
    pub(super) read_cache: Option<Box<ReadCache>>,
    /// Answers of controller RAM on their way to the host, in order.
    ram_answers: VecDeque<RamAnswer>,
    ram_delay_ns: u64,
    buffer_floor: BufferFloor,
    pub(super) delayed_ns: u64,
    pub(super) flushes: Flushes,
    pub(super) controller_ns: u64,
}

impl Interface {
    pub(super) fn new(config: &EngineConfig, page_bytes: u32, seed: u64) -> Self {
        Self {
            requests: Pool::new(),
            slots: Slots::default(),
            front: Front::of(config, page_bytes, seed),
            write_cache: WriteCache::of(config),
            read_cache: ReadCache::of(config),
            ram_answers: VecDeque::new(),
            ram_delay_ns: config.write_cache_ns(),
            buffer_floor: BufferFloor::of(config, seed),
            delayed_ns: NO_EVENT,
            flushes: Flushes::new(config),
            controller_ns: config.controller_ns(),
        }
    }

    #[inline]
    pub(super) fn taken_in_ns(&self, request: u32) -> u64 {
        self.requests[request].arrival_ns + self.controller_ns
    }

    /// One page of a request is complete. Returns the request if that was its last page.
    #[inline]
    pub(super) fn end_page(&mut self, request: u32) -> Option<Request> {
        let entry = &mut self.requests[request];
        entry.pages_left -= 1;
        if entry.pages_left > 0 { None } else { Some(*entry) }
    }

    #[inline(always)] // A call would copy request, ledger and server of each request to memory.
    pub(super) fn complete_pages<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        (slot, request): (u32, &Request),
        ledger: &Ledger,
        server: Option<ServedBy>,
    ) {
        let kind = if request.epoch == NO_EPOCH { HostOp::Read } else { HostOp::Write };
        if kind == HostOp::Write && self.buffer_floor.is_some && server.is_none() {
            let due_ns =
                request.arrival_ns + self.controller_ns + self.buffer_floor.of_request(request.number);
            if due_ns > books.now_ns {
                return self.answer_from_buffer(books, slot, due_ns, ledger);
            }
        }
        if let Some(cache) = &mut self.read_cache {
            cache.answered(slot);
        }
        self.complete(books, (slot, request, kind), ledger, server);
        self.is_safe(books, request.epoch);
    }

    /// RAM has all of a write, or needs none of it, but DRAM and link are not done yet.
    #[inline(never)]
    fn answer_from_buffer<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        request: u32,
        due_ns: u64,
        ledger: &Ledger,
    ) {
        let mut charged = OpenLedger::NONE;
        books.accounts.charge(&mut charged, ledger);
        books.accounts.charge(&mut charged, &Ledger::only(Charge::Controller, due_ns - books.now_ns));
        self.requests[request].pages_left = 1;
        self.answer_later(RamAnswer { due_ns, request, waited_ns: 0, charged });
    }

    fn answer_later(&mut self, answer: RamAnswer) {
        // Requests arrive in order, but a page may have its hash or its place later than those of the next.
        let at = self.ram_answers.partition_point(|other| other.due_ns <= answer.due_ns);
        self.ram_answers.insert(at, answer);
        self.note_delayed();
    }

    #[inline(always)] // A call would pass seven words for each request.
    fn complete<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        (request, &Request { number, arrival_ns, .. }, kind): (u32, &Request, HostOp),
        ledger: &Ledger,
        server: Option<ServedBy>,
    ) {
        let total_ns = books.now_ns - arrival_ns;
        debug_assert_eq!(ledger.total_ns(), total_ns, "{ledger:?}");
        if self.front.is_some() {
            return self.leave_by_front(books, (request, kind), ledger, server);
        }
        self.requests.remove(request);
        self.leave(books, kind);
        let done = Completed { request, number, kind, arrival_ns, total_ns, ledger, server };
        books.accounts.observer.completed(&done);
    }

    #[inline]
    pub(super) fn leave<O: Observer>(&mut self, books: &mut Books<'_, O>, kind: HostOp) {
        books.accounts.left(kind, books.now_ns);
        self.slots.give_back(books.now_ns);
    }

    /// When a request was submitted that comes to the controller at `arrival_ns`.
    #[cold]
    pub(super) fn submitted_ns(&self, arrival_ns: u64) -> u64 {
        self.front.as_ref().map_or(arrival_ns, |front| front.entering().submitted_ns)
    }

    #[cold]
    #[inline(never)]
    fn leave_by_front<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        (request, kind): (u32, HostOp),
        ledger: &Ledger,
        server: Option<ServedBy>,
    ) {
        let mut ledger = *ledger;
        let Some(front) = &mut self.front else { return };
        let due_ns = front.send_out(books.now_ns, request, kind, &mut ledger);
        let leaving = OutgoingRead { due_ns, request, ledger, server };
        if due_ns > books.now_ns {
            front.wait_for_data(leaving);
        } else {
            self.answer_at_front(books, kind, &leaving);
        }
        self.note_delayed();
    }

    pub(super) fn answer_at_front<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        kind: HostOp,
        &OutgoingRead { request, ref ledger, server, .. }: &OutgoingRead,
    ) {
        let Some(ticket) = self.front.as_ref().map(|front| *front.ticket(request)) else { return };
        let arrival_ns = ticket.submitted_ns;
        let total_ns = books.now_ns - arrival_ns;
        debug_assert_eq!(ledger.total_ns(), total_ns, "{ledger:?}");
        let number = self.requests[request].number;
        self.requests.remove(request);
        self.leave(books, kind);
        let done = Completed { request, number, kind, arrival_ns, total_ns, ledger, server };
        books.accounts.observer.completed(&done);
        if let Some(front) = &mut self.front {
            front.answered(books.now_ns, &ticket);
        }
    }

    #[cold]
    pub(super) fn note_delayed(&mut self) {
        let front_ns = self.front.as_ref().map_or(NO_EVENT, |front| front.next_ns());
        self.delayed_ns = self.next_ram_answer_ns().min(front_ns);
    }

    fn next_ram_answer_ns(&self) -> u64 {
        self.ram_answers.front().map_or(NO_EVENT, |answer| answer.due_ns)
    }

    pub(super) fn pop_ram_answer(&mut self) -> Option<RamAnswer> {
        let answer = self.ram_answers.pop_front();
        self.note_delayed();
        answer
    }

    pub(super) fn front_is_next(&self, now_ns: u64) -> bool {
        self.delayed_ns <= now_ns && self.next_ram_answer_ns() > now_ns
    }

    /// The epoch that a program of a request must keep; none if the request is complete already.
    #[inline]
    pub(super) fn epoch_of_program(&mut self, request: u32) -> u32 {
        if !self.flushes.register_is_volatile() {
            return NONE;
        }
        let epoch = self.requests[request].epoch;
        self.flushes.program_begins(epoch).bits()
    }

    #[inline]
    pub(super) fn is_safe<O: Observer>(&mut self, books: &mut Books<'_, O>, epoch: Epoch) {
        if epoch != NO_EPOCH && self.flushes.is_safe(epoch) {
            self.complete_flushes(books);
        }
    }

    pub(super) fn flush<O: Observer>(&mut self, books: &mut Books<'_, O>, request: u32) {
        if self.flushes.answers_at_once() {
            return self.complete_flush(books, request);
        }
        self.flushes.wait(request);
        self.complete_flushes(books);
    }

    #[cold]
    fn complete_flushes<O: Observer>(&mut self, books: &mut Books<'_, O>) {
        while let Some(flush) = self.flushes.next_complete() {
            self.complete_flush(books, flush);
        }
    }

    fn complete_flush<O: Observer>(&mut self, books: &mut Books<'_, O>, request: u32) {
        let flush = self.requests[request];
        let mut ledger = Ledger::only(Charge::Controller, self.controller_ns);
        ledger.charge(Charge::EarlierWrites, books.now_ns - flush.arrival_ns - self.controller_ns);
        self.complete(books, (request, &flush, HostOp::Flush), &ledger, None);
    }

    pub(super) fn cache_page<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        page: Host,
        handle: u8,
        partial: bool,
        request: u32,
    ) {
        let Some(cache) = &mut self.write_cache else { return };
        let taken = cache.write(page, handle, partial, request);
        books.accounts.counts.pages.absorbed_writes += u64::from(taken.absorbed);
        if !taken.waits {
            self.complete_cached(books, request);
        }
    }

    /// Serves a host's read of a page from the cache. Returns whether it is there.
    #[inline]
    pub(super) fn read_cached<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        lpn: Lpn,
        request: u32,
    ) -> bool {
        if !self.write_cache.as_ref().is_some_and(|cache| cache.has(lpn)) {
            return false;
        }
        books.accounts.counts.pages.cache_reads += 1;
        self.complete_cached(books, request);
        true
    }

    pub(super) fn trim_cached<O: Observer>(&mut self, books: &mut Books<'_, O>, lpn: Lpn) {
        let Some(cache) = &mut self.write_cache else { return };
        let (dirty, next) = cache.trim(lpn);
        books.accounts.counts.pages.absorbed_writes += u64::from(dirty);
        if let Some(next) = next {
            self.complete_cached(books, next);
        }
    }

    #[inline(never)]
    pub(super) fn destaged<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        number: u32,
        &Request { destages, epoch, .. }: &Request,
    ) {
        self.requests.remove(number);
        if let Some(next) = self.write_cache.as_mut().and_then(|cache| cache.arrived(destages)) {
            self.complete_cached(books, next);
        }
        self.is_safe(books, epoch);
    }

    /// A page of a request has its place in the cache, or was found there: the answer leaves for the host.
    fn complete_cached<O: Observer>(&mut self, books: &mut Books<'_, O>, request: u32) {
        let waited_ns = books.now_ns - self.taken_in_ns(request);
        let answer = RamAnswer { due_ns: books.now_ns, request, waited_ns, charged: OpenLedger::NONE };
        if self.ram_delay_ns == 0 {
            return self.answered(books, answer);
        }
        self.answer_later(RamAnswer { due_ns: books.now_ns + self.ram_delay_ns, ..answer });
    }

    /// The read cache serves a page. `charged` has the waits before.
    pub(super) fn answer_cached_read<O: Observer>(
        &mut self,
        books: &mut Books<'_, O>,
        request: u32,
        mut charged: OpenLedger,
    ) {
        let own_ns = self.controller_ns + self.ram_delay_ns;
        books.accounts.charge(&mut charged, &Ledger::only(Charge::Controller, own_ns));
        let due_ns = books.now_ns + self.ram_delay_ns;
        let answer = RamAnswer { due_ns, request, waited_ns: 0, charged };
        match self.ram_delay_ns {
            0 => self.answered(books, answer),
            _ => self.answer_later(answer),
        }
    }

    /// The data of a page are others from now on.
    #[inline]
    pub(super) fn page_changed(&mut self, lpn: Lpn) {
        if let Some(cache) = &mut self.read_cache {
            cache.page_changed(lpn);
        }
    }

    /// The host has the answer for a page that a cache took or served, or for a write that the buffer took.
    pub(super) fn answered<O: Observer>(&mut self, books: &mut Books<'_, O>, answer: RamAnswer) {
        let RamAnswer { request: number, waited_ns, charged, .. } = answer;
        let charged = books.accounts.close(charged);
        let Some(request) = self.end_page(number) else { return };
        let ledger = charged.unwrap_or_else(|| {
            let mut ledger = Ledger::only(Charge::Controller, self.controller_ns + self.ram_delay_ns);
            ledger.charge(Charge::CachePlace, waited_ns);
            ledger
        });
        self.complete_pages(books, (number, &request), &ledger, None);
    }
}
