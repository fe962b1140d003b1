//! Answers of the write cache on their way to the host: DRAM and link take `engine.write_cache_us`.
//!
//! This is a delay and no queue, so any number may be under way, and they arrive in the order in which they left.

use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) due_ns: u64,
    pub(super) request: u32,
    pub(super) waited_ns: u64,
}

#[derive(Debug)]
pub(super) struct RamAnswers {
    pub(super) delay_ns: u64,
    queue: VecDeque<Answer>,
    /// When the next one arrives; `u64::MAX` when there is none.
    next_ns: u64,
}

impl RamAnswers {
    pub(super) fn new(delay_ns: u64) -> Self {
        Self { delay_ns, queue: VecDeque::new(), next_ns: u64::MAX }
    }

    #[inline]
    pub(super) fn next_time(&self) -> u64 {
        self.next_ns
    }

    pub(super) fn send(&mut self, now_ns: u64, request: u32, waited_ns: u64) {
        self.queue.push_back(Answer { due_ns: now_ns + self.delay_ns, request, waited_ns });
        self.note_next();
    }

    pub(super) fn pop(&mut self) -> Option<Answer> {
        let next = self.queue.pop_front();
        self.note_next();
        next
    }

    fn note_next(&mut self) {
        self.next_ns = self.queue.front().map_or(u64::MAX, |answer| answer.due_ns);
    }
}
