//! Controller RAM in which a page waits for its program: `engine.write_completes` is `buffered` or `hashed`.
//!
//! A page gets a place when it arrives (`buffered`), or when it has its hash and is no duplicate (`hashed`, RR-SSD paper
//! III.A), and the host hears of it. The place is free again when the page is programmed or found to be a duplicate. A
//! page without a place gets the next free one, or completes when it needs none any more, whichever comes first. Flash
//! operations are the same as with any other rule; only the host hears earlier.
//!
//! For the flash each page belongs to a request of its own, because the host's may be answered long before. Behind
//! volatile RAM a flush waits for these requests too, and a write with FUA never has one.

use std::collections::VecDeque;

use super::{Controller, Decider, Observer, OpenLedger, Request};
use crate::config::WriteCompletes;

/// [`Request::destages`] of a page that has a place. For another it is the number of its wait.
pub(super) const HAS_PLACE: u32 = u32::MAX - 1;
/// Numbers of waits before they repeat. The old ones are long over by then.
const NUMBERS: u32 = 1 << 31;

/// A page that waits for a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingPage {
    /// The page's own request, and the host's.
    pub(super) own: u32,
    pub(super) hosts: u32,
    /// Its time before it began to wait: a ledger, or that of its hash.
    pub(super) charged: OpenLedger,
    pub(super) hashed: bool,
    pub(super) since_ns: u64,
}

#[derive(Debug, Clone)]
pub(super) struct WriteBuffer {
    /// 0: as many as are wanted.
    places: u32,
    taken: u32,
    /// In order; `None` where a page needs no place any more, except at the front.
    waiting: VecDeque<Option<WaitingPage>>,
    /// The number of the first wait.
    first: u32,
}

impl WriteBuffer {
    pub(super) fn new(places: u32) -> Self {
        Self { places, taken: 0, waiting: VecDeque::new(), first: 0 }
    }

    fn take_place(&mut self) -> bool {
        let free = self.places == 0 || self.taken < self.places;
        self.taken += u32::from(free);
        free
    }

    /// The number that the next page to wait has.
    fn next_number(&self) -> u32 {
        (self.first + self.waiting.len() as u32) % NUMBERS
    }

    pub(super) fn end_wait(&mut self, number: u32) -> Option<WaitingPage> {
        let at = number.wrapping_sub(self.first) % NUMBERS;
        let page = self.waiting.get_mut(at as usize)?.take();
        self.drop_ended();
        page
    }

    fn drop_ended(&mut self) {
        while let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            self.first = (self.first + 1) % NUMBERS;
        }
    }

    /// A place is given up. Returns the page that gets it.
    pub(super) fn give_up_place(&mut self) -> Option<WaitingPage> {
        let next = self.waiting.front_mut().and_then(Option::take);
        self.taken -= u32::from(next.is_none());
        self.drop_ended();
        next
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl<C: Controller, O: Observer> Decider<C, O> {
    /// The request to which a page of a host's write belongs that comes to controller RAM by `rule`, and whether its
    /// hash is still to be charged.
    #[inline]
    pub(super) fn take_to_buffer(
        &mut self,
        rule: WriteCompletes,
        request: u32,
        hashed: bool,
        charged: OpenLedger,
    ) -> (u32, bool, OpenLedger) {
        if self.write_completes == rule {
            self.buffer_page(request, hashed, charged)
        } else {
            (request, hashed, charged)
        }
    }

    #[inline(never)]
    fn buffer_page(&mut self, hosts: u32, hashed: bool, charged: OpenLedger) -> (u32, bool, OpenLedger) {
        let Request { arrival_ns, epoch, .. } = self.interface.requests[hosts];
        if epoch.is_durable() {
            return (hosts, hashed, charged);
        }
        let epoch = self.interface.flushes.page_is_buffered(epoch);
        let buffer = &mut self.write_buffer;
        let has_place = buffer.take_place();
        let destages = if has_place { HAS_PLACE } else { buffer.next_number() };
        let own = self.interface.requests.insert(Request::destaging(arrival_ns, destages, epoch));
        if has_place {
            self.complete_in_ram(hosts, hashed, charged);
        } else {
            let since_ns = self.back.now_ns();
            self.write_buffer.waiting.push_back(Some(WaitingPage { own, hosts, charged, hashed, since_ns }));
        }
        // The wait has the charges until now. Those of the hash follow from the times of the request.
        (own, hashed && !charged.is_some(), OpenLedger::NONE)
    }
}
