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

/// First come, first served; since every page takes equally long, results come out in
/// order and a queue of (time, consequence) suffices.
#[derive(Debug)]
pub(crate) struct HashUnit {
    hash_ns: u64,
    lanes_free_ns: VecDeque<u64>,
    ready: VecDeque<(u64, Hashed)>,
    pub(crate) pages: u64,
}

impl HashUnit {
    pub(crate) fn new(hash_ns: u64, lanes: u32) -> Self {
        Self { hash_ns, lanes_free_ns: vec![0; lanes as usize].into(), ready: VecDeque::new(), pages: 0 }
    }

    /// Takes a page in; returns when its hash will be ready.
    #[inline]
    pub(crate) fn submit(&mut self, now_ns: u64) -> u64 {
        self.pages += 1;
        // Lanes finish in the order they were taken, so the front is the next one free.
        let free = self.lanes_free_ns.pop_front().unwrap_or(0);
        let done = free.max(now_ns) + self.hash_ns;
        self.lanes_free_ns.push_back(done);
        done
    }

    #[inline]
    pub(crate) fn then(&mut self, time_ns: u64, what: Hashed) {
        self.ready.push_back((time_ns, what));
    }

    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.ready.front().map_or(u64::MAX, |ready| ready.0)
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, Hashed)> {
        self.ready.pop_front()
    }
}
