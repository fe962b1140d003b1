//! The hashing unit: pages wait for a lane in order of arrival. Without lanes it is a pipeline. Its pages are not in
//! [`super::waits`], because the time of a hash is known when its page arrives.

use std::collections::VecDeque;

/// Results come out in the order of arrival, so one queue of (time, page write) suffices.
#[derive(Debug, Clone)]
pub(crate) struct HashUnit {
    hash_ns: u64,
    lanes_free_ns: VecDeque<u64>,
    queue: VecDeque<(u64, u32)>,
    pages: u64,
}

impl HashUnit {
    pub(crate) fn new(hash_ns: u64, lanes: u32) -> Self {
        Self { hash_ns, lanes_free_ns: vec![0; lanes as usize].into(), queue: VecDeque::new(), pages: 0 }
    }

    pub(crate) fn hash_ns(&self) -> u64 {
        self.hash_ns
    }

    #[inline]
    pub(crate) fn takes_no_time(&self) -> bool {
        self.hash_ns == 0
    }

    pub(crate) fn lanes(&self) -> u64 {
        self.lanes_free_ns.len() as u64
    }

    #[inline]
    pub(crate) fn queue_length(&self) -> u32 {
        self.queue.len() as u32
    }

    #[inline]
    pub(crate) fn pass(&mut self) {
        self.pages += 1;
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    #[inline]
    pub(crate) fn submit(&mut self, now_ns: u64, write: u32) {
        self.pages += 1;
        // Lanes finish in the order they were taken, so the front is the next one free.
        let lane = self.lanes_free_ns.pop_front();
        let done_ns = lane.unwrap_or(0).max(now_ns) + self.hash_ns;
        if lane.is_some() {
            self.lanes_free_ns.push_back(done_ns);
        }
        self.queue.push_back((done_ns, write));
    }

    pub(crate) fn last_span_ns(&self) -> Option<(u64, u64)> {
        self.queue.back().map(|&(done_ns, _)| (done_ns - self.hash_ns, done_ns))
    }

    #[inline]
    pub(crate) fn waiting(&self, before: usize) -> Option<u32> {
        self.queue.get(before).map(|&(_, write)| write)
    }

    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.queue.front().map_or(u64::MAX, |&(time_ns, _)| time_ns)
    }

    pub(crate) fn pop_at(&mut self, time_ns: u64) -> Option<u32> {
        if self.next_time() == time_ns { self.pop().map(|(_, write)| write) } else { None }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, u32)> {
        self.queue.pop_front()
    }
}
