//! Pending completions, earliest first.

/// A 4-ary heap of (time, unit) pairs. Each unit has at most one pending completion, so
/// equal times are decided by unit and the order never depends on insertion.
///
/// Four children share a cache line, which halves the levels of a binary heap.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: Vec<(u64, u32)>,
}

impl EventQueue {
    /// An empty queue with room for `units` events.
    pub fn new(units: usize) -> Self {
        Self { heap: Vec::with_capacity(units) }
    }

    /// Time of the earliest event; `u64::MAX` when there is none.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.heap.first().map_or(u64::MAX, |event| event.0)
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time_ns: u64, unit: u32) {
        self.heap.push((time_ns, unit));
        let mut at = self.heap.len() - 1;
        let event = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= event {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = event;
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else { return Some(last) };
        self.sift_down(last);
        Some(first)
    }

    #[inline]
    fn sift_down(&mut self, event: (u64, u32)) {
        let len = self.heap.len();
        let mut at = 0;
        loop {
            let child = 4 * at + 1;
            if child >= len {
                break;
            }
            let mut least = child;
            for other in child + 1..(child + 4).min(len) {
                if self.heap[other] < self.heap[least] {
                    least = other;
                }
            }
            if event <= self.heap[least] {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::EventQueue;
    use flashtwin_ftl::Rng;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn events_come_out_as_from_the_standard_heap() {
        let mut rng = Rng::stream(1, "events");
        let mut ours = EventQueue::new(8);
        let mut standard = BinaryHeap::new();
        for _ in 0..100_000 {
            if rng.below(2) == 0 && standard.len() < 300 {
                let event = (u64::from(rng.below(1000)), rng.below(1 << 20));
                ours.push(event.0, event.1);
                standard.push(Reverse(event));
            } else {
                assert_eq!(ours.pop(), standard.pop().map(|Reverse(event)| event));
            }
            assert_eq!(ours.next_time(), standard.peek().map_or(u64::MAX, |Reverse(event)| event.0));
        }
    }
}
