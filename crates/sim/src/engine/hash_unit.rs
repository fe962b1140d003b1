//! The hashing unit: pages wait for a lane in order of arrival, each takes the same time.

use std::collections::VecDeque;

/// What follows when a page's hash is ready.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hashed {
    /// A unit has a program that may start.
    Wake(u32),
    /// The page was a duplicate: this request's page is complete.
    Complete(u32),
}

/// First come, first served; results come out in order, so that a queue of (time, consequence)
/// suffices.
#[derive(Debug)]
pub(crate) struct HashUnit {
    hash_ns: u64,
    lanes_free_ns: VecDeque<u64>,
    ready: VecDeque<(u64, Hashed)>,
    /// When the last of those taken in comes out.
    last_ns: u64,
    pub(crate) pages: u64,
}

impl HashUnit {
    pub(crate) fn new(hash_ns: u64, lanes: u32) -> Self {
        Self {
            hash_ns,
            lanes_free_ns: vec![0; lanes as usize].into(),
            ready: VecDeque::new(),
            last_ns: 0,
            pages: 0,
        }
    }

    /// Takes a page in; returns when its hash will be ready.
    #[inline]
    pub(crate) fn submit(&mut self, now_ns: u64) -> u64 {
        self.pages += 1;
        // Lanes finish in the order they were taken, so the front is the next one free.
        let free = self.lanes_free_ns.pop_front().unwrap_or(0);
        let done = free.max(now_ns) + self.hash_ns;
        self.lanes_free_ns.push_back(done);
        self.last_ns = self.last_ns.max(done);
        self.last_ns
    }

    /// Lets a page that is not hashed pass, behind those before it (its sample among them: what is
    /// found there decides that this page is not hashed). Returns when it is through.
    #[inline]
    pub(crate) fn pass(&mut self, now_ns: u64) -> u64 {
        self.last_ns = self.last_ns.max(now_ns);
        self.last_ns
    }

    #[inline]
    pub(crate) fn then(&mut self, time_ns: u64, what: Hashed) {
        self.ready.push_back((time_ns, what));
    }

    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.ready.front().map_or(u64::MAX, |ready| ready.0)
    }

    /// Takes what is ready at this very time, if anything is.
    pub(crate) fn pop_at(&mut self, time_ns: u64) -> Option<(u64, Hashed)> {
        if self.next_time() == time_ns { self.pop() } else { None }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, Hashed)> {
        self.ready.pop_front()
    }
}
